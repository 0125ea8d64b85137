"""Filter by `nodeSelector` and required node affinity; Score by preferred node affinity.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.node_affinity import (
    NodeSelector,
    PreferredSchedulingTerms,
    RequiredNodeAffinity,
    required_node_affinity,
)
from k8slab.api.objects import Object
from k8slab.scheduler.framework import (
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
    PreFilterResult,
    QueueingHint,
    Status,
)
from k8slab.scheduler.plugins.normalize_score import default_normalize_score

__all__ = ["NodeAffinity"]

_FILTER_STATE = "PreFilterNodeAffinity"
_SCORE_STATE = "PreScoreNodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_NOT_THE_PODS = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector", plugin="NodeAffinity"
)
_NOT_ENFORCED = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    "node(s) didn't match scheduler-enforced node affinity",
    plugin="NodeAffinity",
)
_CONFLICT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "pod affinity terms conflict")


def _node_affinity(pod: Object) -> Mapping[str, Any]:
    affinity: Mapping[str, Any] = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    return affinity


def _named_nodes(terms: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """The Nodes the terms name by `metadata.name`; None: some term leaves the name open, so any Node may do."""
    names: frozenset[str] = frozenset()
    for term in terms:
        of_term: frozenset[str] | None = None
        for requirement in term.get("matchFields") or ():
            if requirement.get("key") == "metadata.name" and requirement.get("operator") == "In":
                values = frozenset(requirement.get("values") or ())
                of_term = values if of_term is None else of_term & values
        if of_term is None:
            return None
        names |= of_term
    return names


class NodeAffinity:
    """Args: `addedAffinity`, a nodeAffinity that every Pod of the profile has in addition to its own."""

    name = "NodeAffinity"
    node_local = True

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        added = args.get("addedAffinity") or {}
        required, preferred = added.get(_REQUIRED), added.get(_PREFERRED)
        self._added_required = NodeSelector(required, f"addedAffinity.{_REQUIRED}") if required is not None else None
        self._added_preferred = (
            PreferredSchedulingTerms(preferred, f"addedAffinity.{_PREFERRED}") if preferred else None
        )

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        required = _node_affinity(pod).get(_REQUIRED)
        if required is None and self._added_required is None and pod["spec"].get("nodeSelector") is None:
            return None, SKIP
        state.write(_FILTER_STATE, required_node_affinity(pod))
        terms = (required or {}).get("nodeSelectorTerms")
        if not terms:
            return None, SUCCESS
        names = _named_nodes(terms)
        if names is None:
            return None, SUCCESS
        return (PreFilterResult(names), SUCCESS) if names else (None, _CONFLICT)

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        if self._added_required is not None and not self._added_required.matches(_of(node)):
            return _NOT_ENFORCED
        return SUCCESS if _matches(state.read(_FILTER_STATE), _of(node)) else _NOT_THE_PODS

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        terms = _node_affinity(pod).get(_PREFERRED)
        try:
            preferred = PreferredSchedulingTerms(terms) if terms is not None else None
        except ValueError as error:
            return Status(Code.ERROR, str(error))
        if preferred is None and self._added_preferred is None:
            return SKIP
        state.write(_SCORE_STATE, [p for p in (self._added_preferred, preferred) if p is not None])
        return SUCCESS

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        """The sum of the weights of the preferred terms the Node matches."""
        return sum(preferred.score(_of(node)) for preferred in state.read(_SCORE_STATE))

    def normalize_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo], scores: list[int]
    ) -> list[int]:
        return default_normalize_score(scores, reverse=False)

    def sign_pod(self, pod: Object) -> Mapping[str, Any]:
        return {
            "spec.nodeSelector": pod["spec"].get("nodeSelector"),
            "spec.affinity.nodeAffinity": _node_affinity(pod) or None,
        }

    def events_to_register(self) -> list[ClusterEventWithHint]:
        event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return [ClusterEventWithHint(event, self._after_node_change)]

    def _after_node_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """It helps when the Node matches now and did not before.

        As upstream: whether the Node matched `addedAffinity` before is not asked, and terms that do not parse queue the
        Pod again.
        """
        required = required_node_affinity(pod)
        if new is None or (self._added_required is not None and not self._added_required.matches(new)):
            return QueueingHint.QUEUE_SKIP
        try:
            helps = required.matches(new) and (old is None or not required.matches(old))
        except ValueError:
            return QueueingHint.QUEUE
        return QueueingHint.of(helps)


def _of(node: NodeInfo) -> Object:
    """The Node object; the cycle only sees Nodes that exist."""
    if node.node is None:
        raise ValueError(f"node {node.name}: no Node object is known")
    return node.node


def _matches(required: RequiredNodeAffinity, node: Object) -> bool:
    try:
        return required.matches(node)
    except ValueError:
        return False  # terms that do not parse match nothing, as upstream keeps it for compatibility
