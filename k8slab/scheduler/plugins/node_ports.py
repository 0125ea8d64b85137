"""Filter: the host ports a Pod asks for must be free on the Node.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    HostPorts,
    NodeInfo,
    PreFilterResult,
    QueueingHint,
    Status,
    host_ports,
)

__all__ = ["NodePorts"]

_STATE = "PreFilterNodePorts"
_CONFLICT = Status(Code.UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports", plugin="NodePorts")


class NodePorts:
    name = "NodePorts"
    node_local = True

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        pass

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        wanted = host_ports(pod)
        if not wanted:
            return None, SKIP
        state.write(_STATE, wanted)
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        used = node.used_ports
        return _CONFLICT if any(used.conflicts(port) for port in state.read(_STATE)) else SUCCESS

    def sign_pod(self, pod: Object) -> Mapping[str, Any]:
        return {"hostPorts()": host_ports(pod)}

    def events_to_register(self) -> list[ClusterEventWithHint]:
        deleted = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
        return [
            ClusterEventWithHint(deleted, self._after_pod_deleted),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),
        ]

    def _after_pod_deleted(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        if old is None or not old["spec"].get("nodeName"):
            return QueueingHint.QUEUE_SKIP
        freed = HostPorts()
        freed.add(host_ports(old))
        helps = any(freed.conflicts(port) for port in host_ports(pod))
        return QueueingHint.of(helps)
