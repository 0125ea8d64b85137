"""PostFilter: could evicting less important Pods make room?

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
pkg/scheduler/framework/preemption/preemption.go
Simplified: it never evicts. Pods of lower priority are not considered as victims, so every Node that preemption
might help reports "No preemption victims found for incoming pod"; nominated Nodes are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.diagnosis import Diagnosis, FitError
from k8slab.scheduler.framework import Code, CycleState, Handle, NodeStatuses, PostFilterResult, Status

__all__ = ["DefaultPreemption"]

_NO_VICTIMS = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "No preemption victims found for incoming pod")
_NOT_HELPFUL = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "Preemption is not helpful for scheduling")


class DefaultPreemption:
    name = "DefaultPreemption"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle

    def post_filter(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        if pod["spec"].get("preemptionPolicy") == "Never":
            return None, Status(Code.UNSCHEDULABLE, "preemption: not eligible due to preemptionPolicy=Never.")
        diagnosis = Diagnosis()
        diagnosis.node_to_status.absent = _NOT_HELPFUL
        nodes = self._handle.snapshot().nodes
        for node in nodes:
            # Unschedulable: something on the Node is in the way. UnschedulableAndUnresolvable: the Node itself is.
            if statuses.get(node.name).code is Code.UNSCHEDULABLE:
                diagnosis.node_to_status.set(node.name, _NO_VICTIMS)
        return PostFilterResult(), Status(Code.UNSCHEDULABLE, f"preemption: {FitError(len(nodes), diagnosis)}")
