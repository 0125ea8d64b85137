"""Filter by NoSchedule and NoExecute taints; Score by PreferNoSchedule ones.

Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
Simplified: the operators Gt and Lt (gate TaintTolerationComparisonOperators, alpha) are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.tolerations import any_tolerates, find_matching_untolerated_taint, is_scheduling_taint
from k8slab.scheduler.framework import (
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    QueueingHint,
    Status,
)
from k8slab.scheduler.plugins.normalize_score import default_normalize_score

__all__ = ["TaintToleration"]

_STATE = "PreScoreTaintToleration"
_UNTOLERATED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had untolerated taint(s)", plugin="TaintToleration")


def _has_untolerated(taints: Sequence[Mapping[str, Any]], pod: Object) -> bool:
    tolerations = pod["spec"].get("tolerations") or ()
    return find_matching_untolerated_taint(taints, tolerations, is_scheduling_taint) is not None


class TaintToleration:
    name = "TaintToleration"
    node_local = True

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        pass

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        return _UNTOLERATED if node.taints and _has_untolerated(node.taints, pod) else SUCCESS

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        tolerations = pod["spec"].get("tolerations") or ()
        state.write(_STATE, [t for t in tolerations if t.get("effect") in (None, "", "PreferNoSchedule")])
        return SUCCESS

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        """How many PreferNoSchedule taints the Pod does not tolerate: fewer is better."""
        if not node.taints:
            return 0
        tolerations = state.read(_STATE)
        return sum(
            taint.get("effect") == "PreferNoSchedule" and not any_tolerates(tolerations, taint) for taint in node.taints
        )

    def normalize_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo], scores: list[int]
    ) -> list[int]:
        return default_normalize_score(scores, reverse=True)

    def sign_pod(self, pod: Object) -> Mapping[str, Any]:
        return {"spec.tolerations": pod["spec"].get("tolerations")}

    def events_to_register(self) -> list[ClusterEventWithHint]:
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        pod = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION)
        return [
            ClusterEventWithHint(node, self._after_node_change),
            ClusterEventWithHint(pod, self._after_toleration_change),
        ]

    def _after_node_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        before = old is None or _has_untolerated((old.get("spec") or {}).get("taints") or (), pod)
        now = _has_untolerated(((new or {}).get("spec") or {}).get("taints") or (), pod)
        return QueueingHint.of(before and not now)

    def _after_toleration_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        same = new is not None and new["metadata"].get("uid") == pod["metadata"].get("uid")
        return QueueingHint.of(same)
