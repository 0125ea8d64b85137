"""Autoscaling: how many Pods, and how many nodes.

>>> from k8slab.autoscaling import Bounds, History, HorizontalPodAutoscaler, Scale
>>> History().normalize(Bounds(min_replicas=2, max_replicas=10), current=3, desired=12, now_ms=0).replicas
6
>>> queue = {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"averageValue": "10"}}}
>>> hpa = {"metadata": {"name": "mail"}, "spec": {"minReplicas": 1, "maxReplicas": 10, "metrics": [queue]}}
>>> decision = HorizontalPodAutoscaler().decide(hpa, Scale(2, 2), [], [[45_000]], now_ms=0)
>>> decision.desired, decision.recommendation
(4, 5)

`hpa` decides how many replicas a workload has: from metrics (`hpa.metrics`), through windows and policies, to the
scale subresource. `cloud` is the simulated cloud that sells machines; `cluster_autoscaler` decides which groups of
nodes grow and shrink, `karpenter` has nodes made to measure, and `gpu` is about the dearest of them. All stand above
the controllers, for autoscalers simulate what those and the scheduler would do.

The caller's duties: see the packages.

Simplified: no vertical autoscaler.
"""

import k8slab.autoscaling.kinds  # noqa: F401
from k8slab.autoscaling.cloud import Cloud, Instance, InstanceType, Pool, catalogue
from k8slab.autoscaling.cluster_autoscaler import (
    AutoscalingOptions,
    ClusterAutoscaler,
    NodeGroup,
    NodeGroupConfig,
    PackingStory,
    RemovalStory,
    StaticAutoscaler,
)
from k8slab.autoscaling.gpu import Allocator, ColdStart, GpuNode, MigGpu, Placer, QueueScaler, Task, TimeSlicing
from k8slab.autoscaling.hpa import (
    Bounds,
    Decision,
    History,
    HorizontalController,
    HorizontalPodAutoscaler,
    PodFacts,
    PodMetric,
    ReplicaCalculator,
    Scale,
    Tolerances,
)
from k8slab.autoscaling.hpa.metrics import CustomMetrics, ExternalMetrics, MetricsServer
from k8slab.autoscaling.hpa.simulation import LoadPoint, Run, Workload, simulate
from k8slab.autoscaling.hpa.story import AutoscalerStory
from k8slab.autoscaling.karpenter import Karpenter, KarpenterStory, NodeClaim, NodePool, Requirements

__all__ = [
    "Allocator",
    "AutoscalerStory",
    "AutoscalingOptions",
    "Bounds",
    "Cloud",
    "ClusterAutoscaler",
    "ColdStart",
    "CustomMetrics",
    "Decision",
    "ExternalMetrics",
    "GpuNode",
    "History",
    "HorizontalController",
    "HorizontalPodAutoscaler",
    "Instance",
    "InstanceType",
    "Karpenter",
    "KarpenterStory",
    "LoadPoint",
    "MetricsServer",
    "MigGpu",
    "NodeClaim",
    "NodeGroup",
    "NodeGroupConfig",
    "NodePool",
    "PackingStory",
    "Placer",
    "PodFacts",
    "PodMetric",
    "Pool",
    "QueueScaler",
    "RemovalStory",
    "ReplicaCalculator",
    "Requirements",
    "Run",
    "Scale",
    "StaticAutoscaler",
    "Task",
    "TimeSlicing",
    "Tolerances",
    "Workload",
    "catalogue",
    "simulate",
]
