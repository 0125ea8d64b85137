"""Which Nodes are unneeded, since when, and which of them may go now.

Each loop plays the removal of candidates through, one after the other, on a fork of the snapshot: a Node whose Pods
find places is unneeded, and no longer a place for the next one's. Only what stays unneeded long enough is deleted.

Upstream: cluster-autoscaler/core/scaledown/planner/planner.go, core/scaledown/unneeded/nodes.go,
processors/scaledowncandidates (sorting: empty Nodes first), core/scaledown/budgets/budgets.go
Simplified: no limit in time for the simulation (computing takes no virtual time), no groups that go as a whole, no
minimum of cores and memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k8slab.api.objects import Object
from k8slab.autoscaling.cluster_autoscaler.cluster_snapshot import ClusterSnapshot
from k8slab.autoscaling.cluster_autoscaler.cluster_state import ClusterStateRegistry
from k8slab.autoscaling.cluster_autoscaler.deletion_tracker import NodeDeletionTracker
from k8slab.autoscaling.cluster_autoscaler.drainability import DrainContext, pods_to_move
from k8slab.autoscaling.cluster_autoscaler.hinting_simulator import HintingSimulator
from k8slab.autoscaling.cluster_autoscaler.node_groups import NodeGroup, NodeGroups
from k8slab.autoscaling.cluster_autoscaler.node_state import has_scale_down_disabled
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.pod_state import recreatable
from k8slab.autoscaling.cluster_autoscaler.removal import (
    NodeToBeRemoved,
    RemovalSimulator,
    UnremovableNode,
    UnremovableNodes,
    UnremovableReason,
    check_eligible,
)
from k8slab.autoscaling.cluster_autoscaler.utilization import Utilization
from k8slab.scheduler import PodInfo

__all__ = ["Planner", "UnneededNode"]

_KNOWN_OWNERS = ("StatefulSet", "Job", "ReplicaSet", "ReplicationController")


@dataclass(slots=True)
class UnneededNode:
    """A Node that could go, and since when that is so."""

    removal: NodeToBeRemoved
    since_ms: int
    threshold_ms: int

    def removable_at_ms(self) -> int:
        """The last moment at which it is still too early."""
        return self.since_ms + self.threshold_ms


class Planner:
    """Remembers from loop to loop what is unneeded.

    Of the last loop: `utilizations` by Node, `considered` the candidates in the order in which they were looked at.
    """

    def __init__(
        self,
        groups: NodeGroups,
        registry: ClusterStateRegistry,
        options: AutoscalingOptions,
        tracker: NodeDeletionTracker,
    ) -> None:
        self._groups = groups
        self._registry = registry
        self._options = options
        self._tracker = tracker
        self._simulator = RemovalSimulator()
        self._injector = HintingSimulator()
        self.unneeded: dict[str, UnneededNode] = {}
        self.unremovable = UnremovableNodes()
        self.utilizations: dict[str, Utilization] = {}
        self.considered: list[str] = []
        self._last_update_ms: int | None = None
        self._min_interval_ms = max(options.scale_down_unneeded_time_ms, 1)

    def clear(self) -> None:
        """Forget what is unneeded: nothing is certain any more."""
        self.unneeded = {}

    # -- once a loop --------------------------------------------------------------------------------

    def update(
        self,
        candidates: Sequence[Object],
        destinations: Sequence[Object],
        snapshot: ClusterSnapshot,
        context: DrainContext,
    ) -> None:
        """Find out which candidates are unneeded. The snapshot stands as before when this is done."""
        now_ms = context.now_ms
        if self._last_update_ms is not None:
            self._min_interval_ms = max(min(self._min_interval_ms, now_ms - self._last_update_ms), 1)
        self._last_update_ms = now_ms
        going = dict.fromkeys(self._tracker.in_progress())
        snapshot.fork()
        self._inject_evicted(snapshot, context)
        names = [node["metadata"]["name"] for node in candidates if node["metadata"]["name"] not in going]
        places = {n["metadata"]["name"]: True for n in destinations if n["metadata"]["name"] not in going}
        self.considered = self._sorted(names, snapshot, context)
        removable = self._categorize(self.considered, places, snapshot, context)
        snapshot.revert()
        self._note(removable, now_ms)
        self._simulator.drop_old_hints()
        self._injector.drop_old_hints()

    def _inject_evicted(self, snapshot: ClusterSnapshot, context: DrainContext) -> None:
        """Pods evicted a moment ago and not yet made anew will need their place."""
        waiting: dict[str, int] = {}
        pods = []
        for pod in self._tracker.recent_evictions(context.now_ms):
            if not recreatable([pod.pod]):
                continue
            owner = _known_owner(pod.pod)
            missing = None if owner is None else _missing_replicas(owner, pod.namespace, context)
            if missing is not None:
                uid = str((owner or {}).get("uid"))
                if waiting.get(uid, 0) >= missing:
                    continue
                waiting[uid] = waiting.get(uid, 0) + 1
            spec = {name: value for name, value in pod.pod["spec"].items() if name != "nodeName"}
            metadata = {**pod.pod["metadata"], "name": f"{pod.pod['metadata']['name']}-evicted"}
            pods.append(PodInfo({**pod.pod, "metadata": metadata, "spec": spec}))
        self._injector.try_schedule_pods(snapshot, pods, break_on_failure=True)

    def _sorted(self, names: Sequence[str], snapshot: ClusterSnapshot, context: DrainContext) -> list[str]:
        """Empty Nodes first, then those that were unneeded already, then the rest, each in its order."""
        bare = DrainContext(context.options, context.now_ms)

        def rank(name: str) -> tuple[int, int]:
            info = snapshot.get(name)
            moves = pods_to_move(info.pods.values(), bare) if info is not None else None
            is_empty = moves is not None and moves.blocking is None and not moves.pods
            waits = is_empty and moves is not None and bool(moves.on_completion_pods)
            return (1 if waits else 0 if is_empty else 2), (0 if name in self.unneeded else 1)

        return sorted(names, key=rank)

    def _categorize(
        self, names: Sequence[str], places: dict[str, bool], snapshot: ClusterSnapshot, context: DrainContext
    ) -> list[NodeToBeRemoved]:
        self.unremovable.update([info.name for info in snapshot.node_infos()], context.now_ms)
        recheck_ms = context.now_ms + self._options.unremovable_node_recheck_timeout_ms
        self.utilizations, removable = {}, list[NodeToBeRemoved]()
        limit = self._limit()
        for name in self._eligible(names, snapshot, context):
            if len(removable) >= limit:
                break
            found = self._simulator.simulate(name, snapshot, places, context)
            if isinstance(found, UnremovableNode):
                self.unremovable.add(found, recheck_ms)
                continue
            found.is_risky = not context.pdbs.can_remove_in_parallel(found.pods)
            places.pop(name, None)
            context.pdbs.remove_pods(found.pods)
            removable.append(found)
        return removable

    def _eligible(self, names: Sequence[str], snapshot: ClusterSnapshot, context: DrainContext) -> list[str]:
        eligible = []
        for name in names:
            info = snapshot.get(name)
            if info is None or info.node is None:
                self.unremovable.add(UnremovableNode(name, UnremovableReason.UNEXPECTED_ERROR))
                continue
            if self.unremovable.is_recent(name):
                self.unremovable.add(UnremovableNode(name, UnremovableReason.RECENTLY_UNREMOVABLE))
                continue
            reason, found = check_eligible(info, self._groups, self._registry, self._options, context.now_ms)
            if found is not None:
                self.utilizations[name] = found
            if reason is not None:
                self.unremovable.add(UnremovableNode(name, reason))
            else:
                eligible.append(name)
        return eligible

    def _limit(self) -> int:
        """More unneeded Nodes than can be deleted soon are not worth the work of finding them."""
        most = self._options.max_scale_down_parallelism
        interval = self._min_interval_ms
        loops = max(self._options.scale_down_unneeded_time_ms, interval) // interval
        return min(len(self.unneeded) + 2 * most, most * loops + most)

    def _note(self, removable: Sequence[NodeToBeRemoved], now_ms: int) -> None:
        """Keep the time since when a Node is unneeded; one that is not any more begins anew the next time."""
        noted = {}
        for found in removable:
            known = self.unneeded.get(found.name)
            group = self._groups.group_of(found.node)
            assert group is not None  # it was eligible
            own = self._registry.options_of(group)
            ready = self._registry.is_node_ready(found.node)
            threshold = own.scale_down_unneeded_time_ms if ready else own.scale_down_unready_time_ms
            noted[found.name] = UnneededNode(found, now_ms if known is None else known.since_ms, threshold)
        self.unneeded = noted

    def unneeded_by_group(self) -> dict[str, list[str]]:
        """Names of the unneeded Nodes, by group."""
        found: dict[str, list[str]] = {}
        for name, one in self.unneeded.items():
            group = self._groups.group_of(one.removal.node)
            if group is not None:
                found.setdefault(group.id, []).append(name)
        return found

    # -- what may go --------------------------------------------------------------------------------

    def nodes_to_delete(self, now_ms: int) -> tuple[list[NodeToBeRemoved], list[NodeToBeRemoved]]:
        """(empty Nodes, Nodes to drain) that may go now, less what --max-scale-down-parallelism and
        --max-drain-parallelism leave for later. The drains that a budget may hold up come last."""
        sizes = {group.id: group.target_size for group in self._groups}
        empty, drain = list[NodeToBeRemoved](), list[NodeToBeRemoved]()
        ordered = sorted(self.unneeded.values(), key=lambda one: bool(one.removal.pods))
        for one in ordered:
            reason = self._unremovable_reason(one, sizes, now_ms)
            if reason is None and one.removal.on_completion_pods:
                reason = UnremovableReason.BLOCKED_BY_ON_COMPLETION_POD
            if reason is not None:
                self.unremovable.add(UnremovableNode(one.removal.name, reason))
            else:
                (drain if one.removal.pods else empty).append(one.removal)
        drain.sort(key=lambda found: found.is_risky)
        return self._cropped(empty, drain)

    def _unremovable_reason(self, one: UnneededNode, sizes: dict[str, int], now_ms: int) -> UnremovableReason | None:
        node = one.removal.node
        if has_scale_down_disabled(node):
            return UnremovableReason.SCALE_DOWN_DISABLED_ANNOTATION
        if one.threshold_ms > 0 and one.removable_at_ms() >= now_ms:
            ready = self._registry.is_node_ready(node)
            return UnremovableReason.NOT_UNNEEDED_LONG_ENOUGH if ready else UnremovableReason.NOT_UNREADY_LONG_ENOUGH
        group = self._groups.group_of(node)
        if group is None:
            return UnremovableReason.NOT_AUTOSCALED
        if sizes[group.id] - self._tracker.count(group.id) <= group.min_size:
            return UnremovableReason.NODE_GROUP_MIN_SIZE_REACHED
        sizes[group.id] -= 1
        return None

    def _cropped(
        self, empty: list[NodeToBeRemoved], drain: list[NodeToBeRemoved]
    ) -> tuple[list[NodeToBeRemoved], list[NodeToBeRemoved]]:
        """As many as may be deleted at once, less those under way."""
        options, tracker = self._options, self._tracker
        budget = options.max_scale_down_parallelism - len(tracker.empty) - len(tracker.drained)
        empty = _by_group(empty, self._groups)[: max(budget, 0)]
        drains = min(options.max_drain_parallelism - len(tracker.drained), budget - len(empty))
        return empty, _by_group(drain, self._groups)[: max(drains, 0)]


def _by_group(found: Sequence[NodeToBeRemoved], groups: NodeGroups) -> list[NodeToBeRemoved]:
    """Those of one group together, the groups in the order of their first Nodes."""
    sorted_out: dict[str, list[NodeToBeRemoved]] = {}
    for one in found:
        group: NodeGroup | None = groups.group_of(one.node)
        sorted_out.setdefault("" if group is None else group.id, []).append(one)
    return [one for together in sorted_out.values() for one in together]


def _known_owner(pod: Object) -> Object | None:
    """The first owner of a kind whose replicas can be counted, be it the controller or not."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("kind") in _KNOWN_OWNERS), None)


def _missing_replicas(owner: Object, namespace: str, context: DrainContext) -> int | None:
    """How many Pods the owner still has to make; None: nobody knows, so the place is kept.

    Of a StatefulSet only Pods of its current revision are there; a Job makes no more than its completions need.
    """
    found = (context.controllers or {}).get((str(owner["kind"]), namespace, str(owner.get("name"))))
    if found is None:
        return None
    spec, status = found.get("spec") or {}, found.get("status") or {}
    wanted, there = {
        "Job": (spec.get("parallelism"), status.get("active")),
        "StatefulSet": (spec.get("replicas"), status.get("currentReplicas")),
    }.get(owner["kind"], (spec.get("replicas"), status.get("replicas")))
    wanted = 1 if wanted is None else wanted
    if owner["kind"] == "Job" and spec.get("completions") is not None:
        wanted = min(wanted, spec["completions"] - (status.get("succeeded") or 0))
    return int(max(wanted - (there or 0), 0))
