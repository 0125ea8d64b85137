"""How many Nodes of a group the pending Pods need: first-fit decreasing, with the filters as the rules of the bins.

The groups of Pods come in order of size (CPU and memory, each as a part of the template's). A group's Pods are tried
on the Nodes made so far; what is left fills one new Node after the other.

Upstream: cluster-autoscaler/estimator/binpacking_estimator.go, decreasing_pod_orderer.go, threshold_based_limiter.go,
static_threshold.go, sng_capacity_threshold.go, cluster_capacity_threshold.go
Simplified: no limit in time (--max-nodegroup-binpacking-duration: computing takes no virtual time), and without
--fastpath-binpacking-enabled, which upstream has off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from k8slab.api.objects import Object
from k8slab.autoscaling.cluster_autoscaler.cluster_snapshot import ClusterSnapshot, SchedulingFailure
from k8slab.autoscaling.cluster_autoscaler.equivalence import PodGroup
from k8slab.autoscaling.cluster_autoscaler.node_groups import NodeGroup
from k8slab.autoscaling.cluster_autoscaler.templates import fresh_node
from k8slab.scheduler import NodeInfo, PodInfo

__all__ = ["BinpackingNodeEstimator", "Estimate", "EstimationContext", "node_limit", "order_by_size"]

_SPREAD_REASON = "node(s) didn't match pod topology spread constraints"


@dataclass(frozen=True, slots=True)
class EstimationContext:
    """What caps an estimate beside the group's own size. 0 nodes in all: no limit."""

    max_nodes_total: int = 0
    max_nodes_per_scaleup: int = 1_000
    current_node_count: int = 0
    similar_groups: tuple[NodeGroup, ...] = ()


@dataclass(slots=True)
class Estimate:
    """So many Nodes take these Pods. `nodes`: by name of an imagined Node, the Pods on it (empty ones do not count).

    As upstream, a Node that is there already counts, too, where spreading over hosts sent one of the Pods to it.
    """

    node_count: int
    pods: list[PodInfo]
    nodes: dict[str, list[PodInfo]] = field(default_factory=dict)


def node_limit(group: NodeGroup, context: EstimationContext) -> int:
    """How many Nodes may be imagined at most; -1: none. The smallest of the limits that there are.

    >>> from k8slab.autoscaling.cluster_autoscaler.estimator import EstimationContext, _smallest
    >>> _smallest(1_000, 0, 7), _smallest(1_000, -1, 7)
    (7, -1)
    """
    free = sum(max(one.max_size - one.target_size, 0) for one in (group, *context.similar_groups))
    cluster = 0
    if context.max_nodes_total:
        cluster = context.max_nodes_total - context.current_node_count
        cluster = -1 if cluster <= 0 else cluster
    return _smallest(context.max_nodes_per_scaleup, free or -1, cluster)


def _smallest(*limits: int) -> int:
    """The smallest; 0 is no limit, and anything below is none at all."""
    if any(limit < 0 for limit in limits):
        return -1
    return min((limit for limit in limits if limit > 0), default=0)


def order_by_size(groups: Iterable[PodGroup], template: NodeInfo) -> list[PodGroup]:
    """The largest first: CPU plus memory, each as a part of what the template has. Equals stay in their order."""
    room = template.allocatable

    def score(group: PodGroup) -> float:
        asked = group.exemplar.requested
        cpu = asked.milli_cpu / room.milli_cpu if room.milli_cpu > 0 else 0.0
        return cpu + (asked.memory / room.memory if room.memory > 0 else 0.0)

    return sorted(groups, key=lambda group: -score(group))


class BinpackingNodeEstimator:
    """One estimate after the other on the same snapshot, which stands as before when each is done."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._snapshot = snapshot
        self._template: NodeInfo | None = None
        self._limit = 0
        self._made: dict[str, None] = {}
        self._used: dict[str, list[PodInfo]] = {}
        self._last = ""
        self._scheduled: list[PodInfo] = []

    def estimate(
        self, groups: Sequence[PodGroup], template: NodeInfo, node_group: NodeGroup, context: EstimationContext
    ) -> Estimate:
        """Nodes like `template` for these Pods, each of which fits on an empty one by itself."""
        self._template, self._limit = template, node_limit(node_group, context)
        self._made, self._used, self._last, self._scheduled = {}, {}, "", []
        self._snapshot.fork()
        try:
            may_add = True
            for group in order_by_size(groups, template):
                rest = self._on_made_nodes(group.pods)
                if may_add:
                    may_add = self._on_new_nodes(rest)
        finally:
            self._snapshot.revert()
        return Estimate(len(self._used), self._scheduled, self._used)

    def _on_made_nodes(self, pods: Sequence[PodInfo]) -> Sequence[PodInfo]:
        """Put Pods on the Nodes made for others; returns those from the first on that found no place."""
        if not self._made:
            return pods
        for index, pod in enumerate(pods):
            name = self._snapshot.schedule_on_any(pod, lambda info: info.name in self._made)
            if not name:
                return pods[index:]
            self._track(pod, name)
        return ()

    def _on_new_nodes(self, pods: Sequence[PodInfo]) -> bool:
        """Fill Nodes one after the other. False: no more may be added."""
        for pod in pods:
            if self._last and self._on_last(pod):
                continue
            if self._last and self._last not in self._used:
                return True  # it did not fit on an empty Node: another empty one would be no better
            if self._limit < 0 or (self._limit and len(self._made) >= self._limit):
                return False
            self._add_node()
            if self._snapshot.schedule_pod(pod, self._last) is not None:
                return True
            self._track(pod, self._last)
        return True

    def _on_last(self, pod: PodInfo) -> bool:
        """On the Node that is being filled; where spreading over hosts forbids it, on any other."""
        failure = self._snapshot.schedule_pod(pod, self._last)
        if failure is None:
            self._track(pod, self._last)
            return True
        if not (_spreads_over_hosts(pod.pod) and _is_spread(failure)):
            return False
        name = self._snapshot.schedule_on_any(pod, lambda info: info.name != self._last)
        if name:
            self._track(pod, name)
        return bool(name)

    def _track(self, pod: PodInfo, node_name: str) -> None:
        self._used.setdefault(node_name, []).append(pod)
        self._scheduled.append(pod)

    def _add_node(self) -> None:
        assert self._template is not None  # set by estimate
        info = fresh_node(self._template, f"{self._template.name}-e-{len(self._made)}")
        self._snapshot.add_node_info(info)
        self._made[info.name], self._last = None, info.name


def _is_spread(failure: SchedulingFailure) -> bool:
    return _SPREAD_REASON in failure.reasons


def _spreads_over_hosts(pod: Object) -> bool:
    constraints = pod["spec"].get("topologySpreadConstraints") or ()
    return any(constraint.get("topologyKey") == "kubernetes.io/hostname" for constraint in constraints)
