"""Autoscaling: how many Pods, and how many nodes.

`hpa` decides how many replicas a workload has; `cluster_autoscaler` and `karpenter` decide which machines there are,
bought from the simulated `cloud`.

>>> from k8slab.autoscaling.hpa import Bounds, History
>>> History().normalize(Bounds(min_replicas=2, max_replicas=10), current=3, desired=12, now_ms=0).replicas
6
"""

__all__: list[str] = []
