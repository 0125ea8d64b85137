"""PostFilter of dynamic resource allocation, for Pods without claims: it has nothing to give back, and says so.

That sentence stands in every FailedScheduling event since 1.34, because the plugin is part of the default profile.
Unless a plugin before it in PreFilter rejected the Pod: then its state was never written, and it says "not found".

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
Simplified: no ResourceClaims. A Pod with `spec.resourceClaims` is rejected in PreFilter, since nothing here could
allocate for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import (
    SKIP,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    NodeStatuses,
    PostFilterResult,
    PreFilterResult,
    Status,
)

__all__ = ["DynamicResources"]

_STATE = "DynamicResources"


class DynamicResources:
    name = "DynamicResources"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        pass

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        if pod["spec"].get("resourceClaims"):
            return None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "resource claims are not simulated")
        state.write(_STATE, ())
        return None, SKIP

    def events_to_register(self) -> list[ClusterEventWithHint]:
        """Nodes only: claims, device classes and resource slices are not simulated."""
        return [ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL))]

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        """Upstream rates which alternative of a claim's request a Node can give: without claims 0 everywhere."""
        return 0

    def post_filter(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        try:
            state.read(_STATE)
        except KeyError:
            return None, Status(Code.ERROR, "not found")
        return None, Status(Code.UNSCHEDULABLE, "no new claims to deallocate")
