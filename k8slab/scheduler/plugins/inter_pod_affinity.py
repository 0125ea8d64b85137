"""Place Pods near those they want near, and away from those they do not: Filter by required terms, Score by others.

It works both ways: a Pod on a Node may keep a new one away by its anti-affinity, and draws or repels it by its
preferred terms. What is "near" is a topology key: two Nodes with the same value of that label are one place.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity (plugin.go, filtering.go, scoring.go)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.labels import NOTHING, Labels
from k8slab.api.objects import Object
from k8slab.api.scheme import NAMESPACES
from k8slab.scheduler.config_args import with_defaults
from k8slab.scheduler.framework import (
    MAX_NODE_SCORE,
    NO_AFFINITY,
    SKIP,
    SUCCESS,
    ActionType,
    AffinityTerm,
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
    WeightedAffinityTerm,
    labels_of,
    matches_all_terms,
    matches_any_term,
    namespace_of,
    pod_affinity_terms,
)

__all__ = ["InterPodAffinity"]

_FILTER_STATE = "PreFilterInterPodAffinity"
_SCORE_STATE = "PreScoreInterPodAffinity"

_NOT_NEAR = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match pod affinity rules", plugin="InterPodAffinity"
)
_TOO_NEAR = Status(Code.UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules", plugin="InterPodAffinity")
_UNWANTED = Status(
    Code.UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules", plugin="InterPodAffinity"
)

_Pairs = dict[tuple[str, str], int]
"""(topology key, value) -> how many matches there are."""


def _count(pairs: _Pairs, labels: Labels, key: str, change: int) -> None:
    """Add to the pair that a Node with these labels is in; pairs at 0 are dropped."""
    value = labels.get(key)
    if value is None:
        return
    total = pairs.get((key, value), 0) + change
    if total:
        pairs[key, value] = total
    else:
        pairs.pop((key, value), None)


class _FilterState:
    """Matches by topology pair. `repelled_by`: anti-affinity terms of Pods on Nodes that the Pod matches; `near` and
    `far`: Pods that match all its own affinity terms, and its single anti-affinity terms."""

    __slots__ = ("anti_terms", "far", "labels", "namespace", "namespace_labels", "near", "repelled_by", "terms")

    def __init__(
        self,
        pod: Object,
        terms: Sequence[AffinityTerm],
        anti_terms: Sequence[AffinityTerm],
        namespace_labels: Labels | None,
    ) -> None:
        self.namespace, self.labels = namespace_of(pod), labels_of(pod)
        self.terms, self.anti_terms, self.namespace_labels = terms, anti_terms, namespace_labels
        self.repelled_by: _Pairs = {}
        self.near: _Pairs = {}
        self.far: _Pairs = {}

    def update(self, info: PodInfo, node_labels: Labels, change: int) -> None:
        """A Pod is (`change` 1) or is no longer (-1) on a Node."""
        self._add_repelled(self.repelled_by, info, node_labels, change)
        self._add_near(self.near, info, node_labels, change)
        self._add_far(self.far, info, node_labels, change)

    def _add_repelled(self, pairs: _Pairs, info: PodInfo, node_labels: Labels, change: int) -> None:
        for term in info.affinity.required_anti:
            if term.matches(self.namespace, self.labels, self.namespace_labels):
                _count(pairs, node_labels, term.topology_key, change)

    def _add_near(self, pairs: _Pairs, info: PodInfo, node_labels: Labels, change: int) -> None:
        if matches_all_terms(self.terms, info.namespace, info.labels):
            for term in self.terms:
                _count(pairs, node_labels, term.topology_key, change)

    def _add_far(self, pairs: _Pairs, info: PodInfo, node_labels: Labels, change: int) -> None:
        for term in self.anti_terms:
            if term.matches(info.namespace, info.labels):
                _count(pairs, node_labels, term.topology_key, change)

    def add_up(self, handle: Handle) -> None:
        """Count over all Nodes."""

        def repelled(node: NodeInfo) -> _Pairs:
            pairs: _Pairs = {}
            for key in node.with_affinity:
                self._add_repelled(pairs, node.pods[key], node.labels, 1)
            return pairs

        def near(node: NodeInfo) -> _Pairs:
            pairs: _Pairs = {}
            for info in node.pods.values():
                self._add_near(pairs, info, node.labels, 1)
            return pairs

        def far(node: NodeInfo) -> _Pairs:
            pairs: _Pairs = {}
            for info in node.pods.values():
                self._add_far(pairs, info, node.labels, 1)
            return pairs

        if handle.snapshot().nodes_with_affinity:  # mostly nobody has terms
            self.repelled_by = handle.tally(("repelled", _known_by(self)), repelled)
        if self.terms:
            self.near = handle.tally(("near", *self.terms), near)
        if self.anti_terms:
            self.far = handle.tally(("far", *self.anti_terms), far)

    def clone(self) -> _FilterState:
        copy: _FilterState = _FilterState.__new__(_FilterState)
        for name in _FilterState.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.repelled_by, copy.near, copy.far = dict(self.repelled_by), dict(self.near), dict(self.far)
        return copy

    def has_affinity(self, labels: Labels) -> bool:
        """Whether every term has a match at this Node's places.

        The first of a group of Pods that want to be together may go anywhere that has the labels: it matches its
        own terms, and nobody else does anywhere.
        """
        found = True
        for term in self.terms:
            value = labels.get(term.topology_key)
            if value is None:
                return False
            if self.near.get((term.topology_key, value), 0) <= 0:
                found = False
        return found or (not self.near and matches_all_terms(self.terms, self.namespace, self.labels))

    def has_anti_affinity(self, labels: Labels) -> bool:
        """Whether a Pod it does not want near is at one of this Node's places."""
        return bool(self.far) and any(
            self.far.get((term.topology_key, labels.get(term.topology_key, "")), 0) > 0
            for term in self.anti_terms
            if term.topology_key in labels
        )

    def is_repelled(self, labels: Labels) -> bool:
        """Whether a Pod that does not want it near is at one of this Node's places."""
        return bool(self.repelled_by) and any(self.repelled_by.get(pair, 0) > 0 for pair in labels.items())


class _ScoreState:
    """Weights by topology key and value; the Pod's own preferences; its namespace's labels."""

    __slots__ = ("anti_terms", "labels", "namespace", "namespace_labels", "scores", "terms")

    def __init__(
        self,
        pod: Object,
        terms: Sequence[WeightedAffinityTerm],
        anti_terms: Sequence[WeightedAffinityTerm],
        namespace_labels: Labels | None,
    ) -> None:
        self.namespace, self.labels = namespace_of(pod), labels_of(pod)
        self.terms, self.anti_terms, self.namespace_labels = terms, anti_terms, namespace_labels
        self.scores: dict[str, dict[str, int]] = {}

    def add_up(self, handle: Handle, hard_weight: int) -> None:
        """Count over all Nodes. Without preferences of the Pod's own, only those of others count."""
        has_preferences = bool(self.terms or self.anti_terms)
        if not has_preferences and not handle.snapshot().nodes_with_affinity:
            return

        def contribute(node: NodeInfo) -> _Pairs:
            pairs: _Pairs = {}
            for key in node.pods if has_preferences else node.with_affinity:
                self._count(pairs, node.pods[key], node.labels, hard_weight)
            return pairs

        question = ("scores", hard_weight, _known_by(self), (*self.terms,), (*self.anti_terms,))
        for (key, value), weight in handle.tally(question, contribute).items():
            self.scores.setdefault(key, {})[value] = weight

    def _count(self, pairs: _Pairs, info: PodInfo, node_labels: Labels, hard_weight: int) -> None:
        """What a Pod on a Node with these labels is worth to the new one, and the new one to it."""

        def add(weighted: WeightedAffinityTerm, sign: int) -> None:
            key = weighted.term.topology_key
            value = node_labels.get(key)
            if value is not None:
                pairs[key, value] = pairs.get((key, value), 0) + sign * weighted.weight

        for own, sign in ((self.terms, 1), (self.anti_terms, -1)):
            for weighted in own:
                if weighted.term.matches(info.namespace, info.labels):
                    add(weighted, sign)
        if info.affinity is NO_AFFINITY:
            return
        hard = [WeightedAffinityTerm(hard_weight, term) for term in info.affinity.required] if hard_weight else []
        for others, sign in ((hard, 1), (info.affinity.preferred, 1), (info.affinity.preferred_anti, -1)):
            for weighted in others:
                if weighted.term.matches(self.namespace, self.labels, self.namespace_labels):
                    add(weighted, sign)


def _known_by(state: _FilterState | _ScoreState) -> Hashable:
    """What the terms of other Pods see of the new one."""
    of_namespace = None if state.namespace_labels is None else tuple(sorted(state.namespace_labels.items()))
    return state.namespace, tuple(sorted(state.labels.items())), of_namespace


class InterPodAffinity:
    """Args: `hardPodAffinityWeight` (1), what a required term of a Pod on a Node is worth when the new Pod matches it;
    `ignorePreferredTermsOfExistingPods` (false), for new Pods that have no preferences themselves."""

    name = "InterPodAffinity"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        args = with_defaults("InterPodAffinity", args, FeatureGates())
        self._hard_weight: int = args["hardPodAffinityWeight"]
        self._ignores_preferred = bool(args.get("ignorePreferredTermsOfExistingPods"))
        self._handle = handle

    # -- filter ------------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        own = pod_affinity_terms(pod)
        if own.error:
            return None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"parsing pod: {own.error}")
        terms, anti_terms = self._merged(own.required), self._merged(own.required_anti)
        found = _FilterState(pod, terms, anti_terms, self._namespace_labels(pod))
        found.add_up(self._handle)
        if not found.repelled_by and not terms and not anti_terms:
            return None, SKIP
        state.write(_FILTER_STATE, found)
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: Object, to_add: PodInfo, node: NodeInfo) -> Status:
        state.read(_FILTER_STATE).update(to_add, node.labels, 1)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Object, to_remove: PodInfo, node: NodeInfo) -> Status:
        state.read(_FILTER_STATE).update(to_remove, node.labels, -1)
        return SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        found: _FilterState = state.read(_FILTER_STATE)
        labels = node.labels
        if not found.has_affinity(labels):
            return _NOT_NEAR
        if found.has_anti_affinity(labels):
            return _TOO_NEAR
        return _UNWANTED if found.is_repelled(labels) else SUCCESS

    # -- score -------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        own = pod_affinity_terms(pod)
        if own.error:
            return Status(Code.ERROR, f"failed to parse pod: {own.error}")
        has_preferences = bool(own.preferred or own.preferred_anti)
        if self._ignores_preferred and not has_preferences:
            return SKIP
        terms, anti_terms = self._merged_weighted(own.preferred), self._merged_weighted(own.preferred_anti)
        found = _ScoreState(pod, terms, anti_terms, self._namespace_labels(pod))
        found.add_up(self._handle, self._hard_weight)
        if not found.scores:
            return SKIP
        state.write(_SCORE_STATE, found)
        return SUCCESS

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        """The sum of the weights at this Node's places; negative when those who repel outweigh."""
        labels, scores = node.labels, state.read(_SCORE_STATE).scores
        return sum(of_key.get(labels[key], 0) for key, of_key in scores.items() if key in labels)

    def normalize_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo], scores: list[int]
    ) -> list[int]:
        """The highest becomes 100, the lowest 0; all equal: 0."""
        least, most = min(scores, default=0), max(scores, default=0)
        if most == least:
            return [0] * len(scores)
        return [int(float(MAX_NODE_SCORE) * ((score - least) / (most - least))) for score in scores]

    # -- queueing hints ----------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        pod = ClusterEvent(EventResource.POD, ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE)
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return [
            ClusterEventWithHint(pod, self._after_pod_change),
            ClusterEventWithHint(node, self._after_node_change),
        ]

    def _after_pod_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """Somebody it wants near came, or somebody it does not want near, or who does not want it near, left.

        A namespaceSelector of the Pod's own terms is not looked at here, as upstream (issue 141953): such a Pod
        waits for another event or for the timeout.
        """
        changed = new if new is not None else old
        if changed is None or not all((obj.get("spec") or {}).get("nodeName") for obj in (old, new) if obj is not None):
            return QueueingHint.QUEUE_SKIP
        own, namespace = pod_affinity_terms(pod), namespace_of(changed)
        if own.error:
            return QueueingHint.QUEUE
        before = old is not None and matches_all_terms(own.required, namespace, labels_of(old))
        after = new is not None and matches_all_terms(own.required, namespace, labels_of(new))
        was_far = old is not None and matches_any_term(own.required_anti, namespace, labels_of(old))
        is_far = new is not None and matches_any_term(own.required_anti, namespace, labels_of(new))
        freed = new is None and old is not None and self._repels(old, pod)
        helps = (after and not before) or (was_far and not is_far) or freed
        return QueueingHint.of(helps)

    def _repels(self, other: Object, pod: Object) -> bool:
        """Whether a required anti-affinity term of `other` is about `pod`."""
        labels = self._namespace_labels(pod)
        terms = pod_affinity_terms(other).required_anti
        return any(term.matches(namespace_of(pod), labels_of(pod), labels) for term in terms)

    def _after_node_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """A Node came into a place that a term speaks of, or left one that is to be avoided."""
        own = pod_affinity_terms(pod)
        if own.error:
            return QueueingHint.QUEUE
        before, after = labels_of(old), labels_of(new)
        near = any(
            term.topology_key in after and after[term.topology_key] != before.get(term.topology_key)
            for term in own.required
        )
        far = any(after.get(term.topology_key) != before.get(term.topology_key) for term in own.required_anti)
        return QueueingHint.of(near or far)

    # -- inside ------------------------------------------------------------------------------------

    def _merge(self, term: AffinityTerm) -> AffinityTerm:
        """Write the namespaces out that a term of the new Pod selects; one that selects all stays as it is."""
        if term.namespace_selector.empty or term.namespace_selector == NOTHING:
            return term
        selects = term.namespace_selector.matches
        found = (ns["metadata"] for ns in self._handle.lister.list(NAMESPACES))
        selected = [metadata["name"] for metadata in found if selects(metadata.get("labels"))]
        return term._replace(namespaces=term.namespaces.union(selected), namespace_selector=NOTHING)

    def _merged(self, terms: Iterable[AffinityTerm]) -> list[AffinityTerm]:
        return [self._merge(term) for term in terms]

    def _merged_weighted(self, terms: Iterable[WeightedAffinityTerm]) -> list[WeightedAffinityTerm]:
        return [weighted._replace(term=self._merge(weighted.term)) for weighted in terms]

    def _namespace_labels(self, pod: Object) -> Labels | None:
        """Those of the Pod's namespace; None when it is not known."""
        namespace = self._handle.lister.get(NAMESPACES, namespace_of(pod))
        return None if namespace is None else namespace["metadata"].get("labels")
