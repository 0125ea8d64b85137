"""The Cluster Autoscaler: groups of equal Nodes grow for Pods that find no place, and shrink where little is asked for.

    >>> import random
    >>> from k8slab.autoscaling.cloud import Cloud, catalogue
    >>> from k8slab.autoscaling.cluster_autoscaler import AutoscalingOptions, ClusterView, NodeGroupConfig, NodeGroups
    >>> from k8slab.autoscaling.cluster_autoscaler import StaticAutoscaler
    >>> from k8slab.scheduler import Framework
    >>> groups = NodeGroups(Cloud(catalogue(), random.Random(7)), [NodeGroupConfig("pool", "m5.large", max_size=8)])
    >>> autoscaler = StaticAutoscaler(groups, Framework.from_profile(), AutoscalingOptions(), random.Random(7))
    >>> pending = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    >>> pods = [{"metadata": {"name": f"web-{n}"}, "status": {"conditions": [pending]},
    ...          "spec": {"containers": [{"resources": {"requests": {"cpu": "900m"}}}]}} for n in range(10)]
    >>> result = autoscaler.run_once(ClusterView(nodes=(), pods=pods), now_ms=10_000)
    >>> [str(info) for info in result.scale_up.infos], len(result.scale_up.triggered)
    (['{pool 0->5 (max: 8)}'], 10)

`StaticAutoscaler` is a mechanism: `run_once` reads a `ClusterView` and returns effects. Its parts stand alone, too:
`BinpackingNodeEstimator`, the expanders, `drainable` (why a Pod keeps its Node), `Planner`, `ExponentialBackoff`.
`ClusterAutoscaler` is the process that runs it every ten seconds before an API server, taints, drains and deletes.

Duties of the caller of `run_once`: carry the effects out in order, report each deletion with `deletion_ended` and each
eviction with `tracker.register_eviction`, and let the cloud `step`.

Upstream: cluster-autoscaler (release 1.36)
Simplified: each module says what it leaves out; Nodes are decided on by requests alone, as upstream does.
"""

import k8slab.autoscaling.cluster_autoscaler.kinds  # noqa: F401  (adds the rows of this package)
from k8slab.autoscaling.cluster_autoscaler.autoscaler import ClusterAutoscaler
from k8slab.autoscaling.cluster_autoscaler.backoff import ExponentialBackoff
from k8slab.autoscaling.cluster_autoscaler.cluster_snapshot import ClusterSnapshot, SchedulingFailure
from k8slab.autoscaling.cluster_autoscaler.cluster_state import ClusterStateRegistry, Readiness
from k8slab.autoscaling.cluster_autoscaler.drainability import (
    RULES,
    BlockingPod,
    BlockingReason,
    DrainContext,
    Outcome,
    PodMoveInfo,
    Verdict,
    drainable,
    pods_to_move,
)
from k8slab.autoscaling.cluster_autoscaler.equivalence import PodGroup, build_pod_groups
from k8slab.autoscaling.cluster_autoscaler.estimator import BinpackingNodeEstimator, Estimate, EstimationContext
from k8slab.autoscaling.cluster_autoscaler.expanders import Chosen, ExpanderStrategy, Option, parse_priorities
from k8slab.autoscaling.cluster_autoscaler.node_groups import (
    CloudProviderError,
    GroupInstance,
    InstanceError,
    NodeGroup,
    NodeGroupConfig,
    NodeGroups,
)
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.packing_story import PackingStory, RemovalStory
from k8slab.autoscaling.cluster_autoscaler.pdb import RemainingPdbTracker
from k8slab.autoscaling.cluster_autoscaler.planner import Planner, UnneededNode
from k8slab.autoscaling.cluster_autoscaler.removal import NodeToBeRemoved, UnremovableNode, UnremovableReason
from k8slab.autoscaling.cluster_autoscaler.scale_up import (
    ScaleUpInfo,
    ScaleUpResult,
    ScaleUpStatus,
    balance,
    is_similar,
)
from k8slab.autoscaling.cluster_autoscaler.static_autoscaler import RunResult, StaticAutoscaler
from k8slab.autoscaling.cluster_autoscaler.utilization import Utilization, utilization
from k8slab.autoscaling.cluster_autoscaler.view import (
    ClusterView,
    Effect,
    RecordEvent,
    SetSoftTaint,
    StartDeletion,
    WriteStatus,
)

__all__ = [
    "RULES",
    "AutoscalingOptions",
    "BinpackingNodeEstimator",
    "BlockingPod",
    "BlockingReason",
    "Chosen",
    "CloudProviderError",
    "ClusterAutoscaler",
    "ClusterSnapshot",
    "ClusterStateRegistry",
    "ClusterView",
    "DrainContext",
    "Effect",
    "Estimate",
    "EstimationContext",
    "ExpanderStrategy",
    "ExponentialBackoff",
    "GroupInstance",
    "InstanceError",
    "NodeGroup",
    "NodeGroupConfig",
    "NodeGroups",
    "NodeToBeRemoved",
    "Option",
    "Outcome",
    "PackingStory",
    "Planner",
    "PodGroup",
    "PodMoveInfo",
    "Readiness",
    "RecordEvent",
    "RemainingPdbTracker",
    "RemovalStory",
    "RunResult",
    "ScaleUpInfo",
    "ScaleUpResult",
    "ScaleUpStatus",
    "SchedulingFailure",
    "SetSoftTaint",
    "StartDeletion",
    "StaticAutoscaler",
    "UnneededNode",
    "UnremovableNode",
    "UnremovableReason",
    "Utilization",
    "Verdict",
    "WriteStatus",
    "balance",
    "build_pod_groups",
    "drainable",
    "is_similar",
    "parse_priorities",
    "pods_to_move",
    "utilization",
]
