"""Filter: a cordoned Node takes only Pods that tolerate node.kubernetes.io/unschedulable.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.tolerations import any_tolerates
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

__all__ = ["NodeUnschedulable"]

_UNSCHEDULABLE = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) were unschedulable", plugin="NodeUnschedulable")
_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def _tolerates_cordon(pod: Object) -> bool:
    # The taint has the empty value: a toleration with `value: x` does not match it.
    return any_tolerates(pod["spec"].get("tolerations") or (), _TAINT)


class NodeUnschedulable:
    name = "NodeUnschedulable"
    node_local = True

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        pass

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        return SUCCESS if not node.unschedulable or _tolerates_cordon(pod) else _UNSCHEDULABLE

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
        now = bool(((new or {}).get("spec") or {}).get("unschedulable"))
        before = old is None or bool((old.get("spec") or {}).get("unschedulable"))
        return QueueingHint.of(before and not now)

    def _after_toleration_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        same = new is not None and new["metadata"].get("uid") == pod["metadata"].get("uid")
        return QueueingHint.of(same and new is not None and _tolerates_cordon(new))
