"""Spread Pods over zones, hosts or other domains: Filter by the skew a placement would make, Score by how crowded.

The skew of a domain is its number of matching Pods minus that of the emptiest domain. DoNotSchedule constraints
filter, ScheduleAnyway constraints score; Pods without constraints are scored by default ones.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread (plugin.go, filtering.go, scoring.go)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.node_affinity import required_node_affinity
from k8slab.api.objects import Object
from k8slab.scheduler.config_args import with_defaults
from k8slab.scheduler.framework import (
    MAX_NODE_SCORE,
    SKIP,
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    PodInfo,
    PreFilterResult,
    QueueingHint,
    Status,
    labels_of,
    namespace_of,
    uid_of,
)
from k8slab.scheduler.plugins.spread_constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULT_CONSTRAINTS,
    InclusionPolicies,
    TopologySpreadConstraint,
    count_matching,
    default_selector,
    has_all_keys,
    own_constraints,
    parse_constraints,
)

__all__ = ["PodTopologySpread"]

_FILTER_STATE = "PreFilterPodTopologySpread"
_SCORE_STATE = "PreScorePodTopologySpread"
_HOSTNAME = "kubernetes.io/hostname"
_NOBODY = (1 << 31) - 1
"""How many matching Pods the emptiest domain has when there is no domain."""

_TOO_SKEWED = Status(
    Code.UNSCHEDULABLE, "node(s) didn't match pod topology spread constraints", plugin="PodTopologySpread"
)
_NO_LABEL = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    "node(s) didn't match pod topology spread constraints (missing required label)",
    plugin="PodTopologySpread",
)


class _CriticalPaths:
    """The two emptiest domains of a constraint; `least` is exact.

    Two are enough for a dry run of preemption: it moves Pods of one Node, so of one domain, whose count is set
    here; the other entry is the emptiest among the rest.
    """

    __slots__ = ("first", "second")

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.first: tuple[int, str | None] = (_NOBODY, None)
        self.second: tuple[int, str | None] = (_NOBODY, None)
        for value, count in counts.items():
            self.set(value, count)

    @property
    def least(self) -> int:
        return self.first[0]

    def set(self, value: str, count: int) -> None:
        """The domain `value` has `count` matching Pods now."""
        if value == self.first[1]:
            self.first = (count, value)
        elif value == self.second[1]:
            self.second = (count, value)
        elif count < self.first[0]:
            self.first, self.second = (count, value), self.first
        elif count < self.second[0]:
            self.second = (count, value)
        if self.first[0] > self.second[0]:
            self.first, self.second = self.second, self.first

    def clone(self) -> _CriticalPaths:
        copy = _CriticalPaths({})
        copy.first, copy.second = self.first, self.second
        return copy


class _FilterState:
    """Per constraint: matching Pods by domain, the emptiest domains, and whether the Pod counts itself."""

    __slots__ = ("constraints", "counts", "critical_paths", "self_match")

    def __init__(self, constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str]) -> None:
        self.constraints = constraints
        self.self_match = [int(constraint.selector.matches(labels)) for constraint in constraints]
        self.counts: list[dict[str, int]] = [{} for _ in constraints]
        self.critical_paths: list[_CriticalPaths] = []

    def least(self, index: int) -> int:
        """Matching Pods in the emptiest domain; 0 while there are fewer domains than minDomains."""
        too_few = len(self.counts[index]) < self.constraints[index].min_domains
        return 0 if too_few else self.critical_paths[index].least

    def clone(self) -> _FilterState:
        copy = _FilterState(self.constraints, {})
        copy.self_match = self.self_match
        copy.counts = [dict(counts) for counts in self.counts]
        copy.critical_paths = [paths.clone() for paths in self.critical_paths]
        return copy


class _ScoreState:
    """Per constraint: matching Pods by domain (hosts are counted when they are scored), and the weight of a Pod."""

    __slots__ = ("constraints", "counts", "ignored", "weights")

    def __init__(self, constraints: Sequence[TopologySpreadConstraint]) -> None:
        self.constraints = constraints
        self.counts: list[dict[str, int]] = [{} for _ in constraints]
        self.ignored: set[str] = set()
        self.weights: list[float] = []

    def find_domains(self, feasible: Sequence[NodeInfo], require_all: bool) -> None:
        """The domains of the feasible Nodes. Small topologies weigh less a Pod, so that large ones are not drowned."""
        for node in feasible:
            labels = node.labels
            if require_all and not has_all_keys(labels, self.constraints):
                self.ignored.add(node.name)
                continue
            for index, constraint in enumerate(self.constraints):
                if constraint.topology_key != _HOSTNAME:
                    self.counts[index].setdefault(labels.get(constraint.topology_key, ""), 0)
        for index, constraint in enumerate(self.constraints):
            by_host = constraint.topology_key == _HOSTNAME
            size = len(feasible) - len(self.ignored) if by_host else len(self.counts[index])
            self.weights.append(math.log(size + 2))


class PodTopologySpread:
    """Args: `defaultingType` System (the default) or List with `defaultConstraints`, for Pods without constraints."""

    name = "PodTopologySpread"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle
        args = with_defaults("PodTopologySpread", args, FeatureGates())
        self._is_system = args["defaultingType"] == "System"
        self._defaults: Sequence[Mapping[str, Any]] = (
            SYSTEM_DEFAULT_CONSTRAINTS if self._is_system else args.get("defaultConstraints") or ()
        )

    # -- filter ------------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        try:
            constraints = self._hard_constraints(pod)
        except ValueError as error:
            return None, Status(Code.ERROR, str(error))
        if not constraints:
            return None, SKIP
        found = _FilterState(constraints, labels_of(pod))
        for (index, value), count in self._count(pod, constraints, constraints).items():
            found.counts[index][value] = count
        found.critical_paths = [_CriticalPaths(counts) for counts in found.counts]
        state.write(_FILTER_STATE, found)
        return None, SUCCESS

    def _count(
        self,
        pod: Object,
        constraints: Sequence[TopologySpreadConstraint],
        needs_keys_of: Sequence[TopologySpreadConstraint],
    ) -> dict[tuple[int, str], int]:
        """Matching Pods by (index of the constraint, domain), on the Nodes that count for it."""
        namespace, policies = namespace_of(pod), self._policies(pod)

        def contribute(node: NodeInfo) -> dict[tuple[int, str], int]:
            labels = node.labels
            part: dict[tuple[int, str], int] = {}
            if has_all_keys(labels, needs_keys_of):
                for index, constraint in enumerate(constraints):
                    if policies.include(constraint, node):
                        matching = count_matching(node.pods.values(), constraint.selector, namespace)
                        part[index, labels.get(constraint.topology_key, "")] = matching
            return part

        key = (self.name, namespace, tuple(constraints), tuple(needs_keys_of), policies.signature(constraints))
        return self._handle.tally(key, contribute)

    def add_pod(self, state: CycleState, pod: Object, to_add: PodInfo, node: NodeInfo) -> Status:
        return self._update(state.read(_FILTER_STATE), pod, to_add, node, 1)

    def remove_pod(self, state: CycleState, pod: Object, to_remove: PodInfo, node: NodeInfo) -> Status:
        return self._update(state.read(_FILTER_STATE), pod, to_remove, node, -1)

    def _update(self, found: _FilterState, pod: Object, moved: PodInfo, node: NodeInfo, change: int) -> Status:
        if moved.namespace != namespace_of(pod) or not has_all_keys(node.labels, found.constraints):
            return SUCCESS
        policies = self._policies(pod)
        for index, constraint in enumerate(found.constraints):
            if constraint.selector.matches(moved.labels) and policies.include(constraint, node):
                value, counts = node.labels[constraint.topology_key], found.counts[index]
                counts[value] = counts.get(value, 0) + change
                found.critical_paths[index].set(value, counts[value])
        return SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        found: _FilterState = state.read(_FILTER_STATE)
        labels = node.labels
        for index, constraint in enumerate(found.constraints):
            value = labels.get(constraint.topology_key)
            if value is None:
                return _NO_LABEL
            skew = found.counts[index].get(value, 0) + found.self_match[index] - found.least(index)
            if skew > constraint.max_skew:
                return _TOO_SKEWED
        return SUCCESS

    # -- score -------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        try:
            constraints = self._constraints(pod, SCHEDULE_ANYWAY)
        except ValueError as error:
            problem = "obtaining pod's soft topology spread constraints"
            return Status(Code.ERROR, f"calculating preScoreState: {problem}: {error}")
        if not constraints:
            return SKIP
        # The system's defaults also spread over the hosts of a cluster whose Nodes have no zone.
        require_all = bool(pod["spec"].get("topologySpreadConstraints")) or not self._is_system
        found = _ScoreState(constraints)
        found.find_domains(nodes, require_all)
        by_place = [constraint for constraint in constraints if constraint.topology_key != _HOSTNAME]
        totals = self._count(pod, by_place, constraints if require_all else ()) if by_place else {}
        for counts, constraint in zip(found.counts, constraints, strict=True):
            for value in counts:
                counts[value] = totals.get((by_place.index(constraint), value), 0)
        state.write(_SCORE_STATE, found)
        return SUCCESS

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        """How crowded the Node's domains are: fewer is better. `maxSkew - 1` waters small differences down."""
        found: _ScoreState = state.read(_SCORE_STATE)
        if node.name in found.ignored:
            return 0
        labels, crowd = node.labels, 0.0
        for index, constraint in enumerate(found.constraints):
            value = labels.get(constraint.topology_key)
            if value is None:
                continue
            if constraint.topology_key == _HOSTNAME:
                count = count_matching(node.pods.values(), constraint.selector, namespace_of(pod))
            else:
                count = found.counts[index][value]
            crowd += count * found.weights[index] + (constraint.max_skew - 1)
        return _round(crowd)

    def normalize_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo], scores: list[int]
    ) -> list[int]:
        """The least crowded Node gets 100; Nodes that lack a topology label get 0."""
        ignored = state.read(_SCORE_STATE).ignored
        counted = [score for node, score in zip(nodes, scores, strict=True) if node.name not in ignored]
        least, most = min(counted, default=0), max(counted, default=0)
        if most == 0:
            return [0 if node.name in ignored else MAX_NODE_SCORE for node in nodes]
        return [
            0 if node.name in ignored else MAX_NODE_SCORE * (most + least - score) // most
            for node, score in zip(nodes, scores, strict=True)
        ]

    # -- queueing hints ----------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        changes = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION | ActionType.DELETE
        pod = ClusterEvent(EventResource.POD, changes)
        changes = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        node = ClusterEvent(EventResource.NODE, changes)
        return [
            ClusterEventWithHint(pod, self._after_pod_change),
            ClusterEventWithHint(node, self._after_node_change),
        ]

    def _after_pod_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """A Pod that some constraint counts came or left, or began or ceased to be counted."""
        if not all(_is_involved(changed, pod) for changed in (old, new) if changed is not None):
            return QueueingHint.QUEUE_SKIP
        try:
            constraints = self._hard_constraints(pod)
        except ValueError:
            return QueueingHint.QUEUE
        if old is not None and new is not None:
            tolerates_more = uid_of(new) == uid_of(pod) and _tolerations(new) != _tolerations(old)
            if tolerates_more and any(constraint.honors_taints for constraint in constraints):
                return QueueingHint.QUEUE
            changed = any(c.selector.matches(labels_of(old)) != c.selector.matches(labels_of(new)) for c in constraints)
            return QueueingHint.of(changed)
        labels = labels_of(new if new is not None else old)
        counts = any(constraint.selector.matches(labels) for constraint in constraints)
        return QueueingHint.of(counts)

    def _after_node_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """A Node with all topology keys came or left, or one changed its domain or its taints."""
        try:
            constraints = self._hard_constraints(pod)
        except ValueError:
            return QueueingHint.QUEUE
        before = old is not None and has_all_keys(labels_of(old), constraints)
        after = new is not None and has_all_keys(labels_of(new), constraints)
        if old is None or new is None:
            return QueueingHint.of(before or after)
        if before != after:
            return QueueingHint.QUEUE
        moved = any(labels_of(old).get(c.topology_key) != labels_of(new).get(c.topology_key) for c in constraints)
        return QueueingHint.of(after and (moved or _taints(old) != _taints(new)))

    # -- inside ------------------------------------------------------------------------------------

    def _constraints(self, pod: Object, action: str) -> list[TopologySpreadConstraint]:
        """The Pod's constraints of this kind, or the default ones if it has none of any kind. ValueError: see there."""
        features = self._handle.features
        own = own_constraints(pod)
        labels = labels_of(pod)
        if own:
            return parse_constraints(own, labels, action, features)
        constraints = parse_constraints(self._defaults, labels, action, features)
        if not constraints:
            return []
        selector = default_selector(pod, self._handle.lister)
        return [] if selector.empty else [constraint._replace(selector=selector) for constraint in constraints]

    def _hard_constraints(self, pod: Object) -> list[TopologySpreadConstraint]:
        """Those that filter. ValueError with upstream's text for a selector that does not parse."""
        try:
            return self._constraints(pod, DO_NOT_SCHEDULE)
        except ValueError as error:
            what = "obtaining pod's hard topology spread constraints"
            raise ValueError(f"get constraints from pod: {what}: {error}") from None

    def _policies(self, pod: Object) -> InclusionPolicies:
        return InclusionPolicies(pod, required_node_affinity(pod), self._handle.features)


def _tolerations(pod: Object) -> Any:
    return pod["spec"].get("tolerations") or []


def _taints(node: Object) -> Any:
    return (node.get("spec") or {}).get("taints") or []


def _is_involved(changed: Object, pod: Object) -> bool:
    """The Pod itself, or one on a Node in its namespace."""
    placed = bool((changed.get("spec") or {}).get("nodeName"))
    return uid_of(changed) == uid_of(pod) or (placed and namespace_of(changed) == namespace_of(pod))


def _round(value: float) -> int:
    """Go's math.Round for numbers of 0 and more: halves away from zero (Python's goes to the even one)."""
    whole = math.floor(value)
    return whole + 1 if value - whole >= 0.5 else whole
