"""Autoscaling: how many replicas, how many nodes.

`cloud` is the simulated cloud that sells the machines; `cluster_autoscaler` decides which groups of them grow and shrink.
"""

__all__: list[str] = []
