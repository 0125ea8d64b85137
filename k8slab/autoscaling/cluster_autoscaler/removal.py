"""Which Nodes could go: not marked against it, asked for little, and every Pod has another place.

Upstream: cluster-autoscaler/core/scaledown/eligibility/eligibility.go, simulator/cluster.go (RemovalSimulator),
core/scaledown/unremovable/nodes.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from k8slab.api.objects import Object
from k8slab.autoscaling.cluster_autoscaler.cluster_snapshot import ClusterSnapshot
from k8slab.autoscaling.cluster_autoscaler.cluster_state import ClusterStateRegistry
from k8slab.autoscaling.cluster_autoscaler.drainability import BlockingPod, DrainContext, pods_to_move
from k8slab.autoscaling.cluster_autoscaler.hinting_simulator import HintingSimulator
from k8slab.autoscaling.cluster_autoscaler.node_groups import NodeGroups
from k8slab.autoscaling.cluster_autoscaler.node_state import (
    TO_BE_DELETED_TAINT,
    has_scale_down_disabled,
    is_ready,
    taint_time_ms,
    unix_seconds,
)
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.utilization import Utilization, gpu_resource, utilization
from k8slab.scheduler import NodeInfo, PodInfo

__all__ = [
    "NodeToBeRemoved",
    "RemovalSimulator",
    "UnremovableNode",
    "UnremovableNodes",
    "UnremovableReason",
    "check_eligible",
]

_BEING_DELETED_MS = 5 * 60_000  # MaxCloudProviderNodeDeletionTime


class UnremovableReason(StrEnum):
    """Why a Node stays."""

    SCALE_DOWN_DISABLED_ANNOTATION = "ScaleDownDisabledAnnotation"
    SCALE_DOWN_UNREADY_DISABLED = "ScaleDownUnreadyDisabled"
    NOT_AUTOSCALED = "NotAutoscaled"
    NOT_UNNEEDED_LONG_ENOUGH = "NotUnneededLongEnough"
    NOT_UNREADY_LONG_ENOUGH = "NotUnreadyLongEnough"
    NODE_GROUP_MIN_SIZE_REACHED = "NodeGroupMinSizeReached"
    CURRENTLY_BEING_DELETED = "CurrentlyBeingDeleted"
    NOT_UNDERUTILIZED = "NotUnderutilized"
    NOT_UNNEEDED_OTHER_REASON = "NotUnneededOtherReason"
    RECENTLY_UNREMOVABLE = "RecentlyUnremovable"
    NO_PLACE_TO_MOVE_PODS = "NoPlaceToMovePods"
    BLOCKED_BY_POD = "BlockedByPod"
    UNEXPECTED_ERROR = "UnexpectedError"
    NO_NODE_INFO = "NoNodeInfo"
    BLOCKED_BY_ON_COMPLETION_POD = "BlockedByOnCompletionPod"


@dataclass(frozen=True, slots=True)
class UnremovableNode:
    """A Node that stays, and why; `blocking`: the Pod that keeps it."""

    name: str
    reason: UnremovableReason
    blocking: BlockingPod | None = None


@dataclass(slots=True)
class NodeToBeRemoved:
    """A Node that could go. `moves`: where each of its Pods fits (by uid). `is_risky`: a budget does not allow all its
    Pods to go at once."""

    node: Object
    pods: list[PodInfo] = field(default_factory=list)
    daemon_set_pods: list[PodInfo] = field(default_factory=list)
    on_completion_pods: list[PodInfo] = field(default_factory=list)
    moves: dict[str, str] = field(default_factory=dict)
    is_risky: bool = False

    @property
    def name(self) -> str:
        found: str = self.node["metadata"]["name"]
        return found


class UnremovableNodes:
    """The Nodes that stay. Those that a simulation kept are not asked again before their time."""

    def __init__(self) -> None:
        self._until: dict[str, int] = {}
        self.reasons: dict[str, UnremovableNode] = {}

    def update(self, names: Iterable[str], now_ms: int) -> None:
        """A new loop, with these Nodes."""
        self.reasons = {}
        there = dict.fromkeys(names)
        self._until = {name: until for name, until in self._until.items() if name in there and until > now_ms}

    def add(self, node: UnremovableNode, until_ms: int | None = None) -> None:
        self.reasons[node.name] = node
        if until_ms is not None:
            self._until[node.name] = until_ms

    def is_recent(self, name: str) -> bool:
        return name in self._until


def check_eligible(
    info: NodeInfo, groups: NodeGroups, registry: ClusterStateRegistry, options: AutoscalingOptions, now_ms: int
) -> tuple[UnremovableReason | None, Utilization | None]:
    """What keeps a Node whatever its Pods are, None: nothing; and how much of it is requested, if that was asked."""
    assert info.node is not None  # candidates are Nodes that exist
    node = info.node
    marked = taint_time_ms(node, TO_BE_DELETED_TAINT)
    if marked is not None and now_ms - marked < _BEING_DELETED_MS:
        return UnremovableReason.CURRENTLY_BEING_DELETED, None
    if has_scale_down_disabled(node):
        return UnremovableReason.SCALE_DOWN_DISABLED_ANNOTATION, None
    group = groups.group_of(node)
    if group is None:
        return UnremovableReason.NOT_AUTOSCALED, None
    own = registry.options_of(group)
    found = utilization(info, own, now_ms)
    if found is None:
        return UnremovableReason.UNEXPECTED_ERROR, None
    if not options.scale_down_unready_enabled and not is_ready(node):
        return UnremovableReason.SCALE_DOWN_UNREADY_DISABLED, None
    gpu = gpu_resource(info)
    threshold = own.scale_down_gpu_utilization_threshold if gpu else own.scale_down_utilization_threshold
    return (UnremovableReason.NOT_UNDERUTILIZED if found.value > threshold else None), found


class RemovalSimulator:
    """Plays the removal of Nodes through on a snapshot; what succeeds stays played, for the next."""

    def __init__(self) -> None:
        self._hints = HintingSimulator()

    def simulate(
        self, name: str, snapshot: ClusterSnapshot, destinations: Mapping[str, object], context: DrainContext
    ) -> NodeToBeRemoved | UnremovableNode:
        """Remove one Node. `destinations`: names of the Nodes that its Pods may go to."""
        info = snapshot.get(name)
        if info is None or info.node is None:
            return UnremovableNode(name, UnremovableReason.NO_NODE_INFO)
        moves = pods_to_move(info.pods.values(), context)
        if moves.blocking is not None:
            return UnremovableNode(name, UnremovableReason.BLOCKED_BY_POD, moves.blocking)
        snapshot.fork()
        placed = self._place(info, moves.pods, snapshot, destinations, context.now_ms)
        if len(placed) != len(moves.pods):
            snapshot.revert()
            return UnremovableNode(name, UnremovableReason.NO_PLACE_TO_MOVE_PODS)
        snapshot.remove_node_info(name)
        snapshot.commit()
        return NodeToBeRemoved(info.node, moves.pods, moves.daemon_set_pods, moves.on_completion_pods, placed)

    def _place(
        self,
        info: NodeInfo,
        pods: list[PodInfo],
        snapshot: ClusterSnapshot,
        destinations: Mapping[str, object],
        now_ms: int,
    ) -> dict[str, str]:
        """Its Pods elsewhere. The Node stays as a ghost without Pods, tainted: spreading still counts it as a place."""
        if not pods:
            return {}
        assert info.node is not None  # asked before
        taint = {"key": TO_BE_DELETED_TAINT, "value": str(unix_seconds(now_ms)), "effect": "NoSchedule"}
        spec = info.node.get("spec") or {}
        ghost = {**info.node, "spec": {**spec, "taints": [*(spec.get("taints") or ()), taint]}}
        snapshot.replace_node_info(NodeInfo.of(ghost))
        moving = [_without_node(pod) for pod in pods]
        return self._hints.try_schedule_pods(
            snapshot,
            moving,
            break_on_failure=True,
            accept=lambda other: other.name in destinations and other.name != info.name,
        )

    def drop_old_hints(self) -> None:
        self._hints.drop_old_hints()


def _without_node(info: PodInfo) -> PodInfo:
    """The Pod as its controller would make it anew: on no Node yet."""
    spec = {name: value for name, value in info.pod["spec"].items() if name != "nodeName"}
    return info.with_pod({**info.pod, "spec": spec})
