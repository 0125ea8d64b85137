"""Filter: `spec.nodeName` names the one Node that will do.

Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go
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
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    Status,
)

__all__ = ["NodeName"]

_NO_MATCH = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match the requested node name", plugin="NodeName"
)


class NodeName:
    name = "NodeName"
    node_local = True

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        pass

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        wanted = pod["spec"].get("nodeName")
        return SUCCESS if not wanted or wanted == node.name else _NO_MATCH

    def sign_pod(self, pod: Object) -> Mapping[str, Any]:
        return {"spec.nodeName": pod["spec"].get("nodeName")}

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD))]
