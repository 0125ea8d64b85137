"""The network of Pods.

>>> from k8slab.network.ipam import IPPool
>>> IPPool("default", "10.0.0.0/16").block_size
26
"""

__all__: list[str] = []
