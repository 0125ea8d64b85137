"""Autoscaling: how many Pods, and how many nodes.

>>> from k8slab.autoscaling.hpa import Bounds, History
>>> History().normalize(Bounds(min_replicas=2, max_replicas=10), current=3, desired=12, now_ms=0).replicas
6
"""
