"""Autoscaling: how many replicas, how many nodes.

`cloud` is the simulated cloud that sells the machines; `cluster_autoscaler` decides which groups grow and shrink.
"""

__all__: list[str] = []
