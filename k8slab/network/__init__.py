"""The network of Pods.

>>> from k8slab.network.ipam import IPPool, blocks_from
>>> pool = IPPool("default", "10.0.0.0/16")
>>> pool.block_size, len(list(blocks_from(pool, "node-a")))
(26, 1024)

Simplified: addresses only, so far.
"""

__all__: list[str] = []
