"""PreEnqueue: a Pod with `spec.schedulingGates` stays out of the queue until all of them are removed.

Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import (
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    EventResource,
    Handle,
    QueueingHint,
    Status,
)

__all__ = ["SchedulingGates"]


class SchedulingGates:
    name = "SchedulingGates"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        pass

    def pre_enqueue(self, pod: Object) -> Status:
        gates = [gate["name"] for gate in (pod.get("spec") or {}).get("schedulingGates") or ()]
        if not gates:
            return SUCCESS
        return Status(
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"waiting for scheduling gates: [{' '.join(gates)}]", plugin=self.name
        )

    def events_to_register(self) -> list[ClusterEventWithHint]:
        event = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return [ClusterEventWithHint(event, self._after_gates_removed)]

    def _after_gates_removed(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        same = new is not None and new["metadata"].get("uid") == pod["metadata"].get("uid")
        return QueueingHint.of(same)
