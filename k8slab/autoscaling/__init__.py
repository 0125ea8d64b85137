"""Autoscaling: how many Pods, and how many nodes.

>>> import random
>>> from k8slab.autoscaling.cloud import Cloud, Pool, catalogue
>>> cloud = Cloud(catalogue(), random.Random(7))
>>> cloud.launch(Pool("m5.large", "region-1a", "on-demand"), now_ms=0).instance.state.value
'pending'

`cloud` is the simulated cloud that sells the machines; `cluster_autoscaler` decides which groups grow and shrink.

The caller's duties: see the packages.

Simplified: no vertical autoscaler.
"""

__all__: list[str] = []
