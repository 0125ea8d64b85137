"""Is a node still heard of? What the controller remembers of each, and what follows from that.

A kubelet shows that it lives by renewing its Lease or by changing its status. Silent for longer than the grace period,
its conditions become Unknown.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (tryUpdateNodeHealth, nodeHealthData)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.pods import get_condition
from k8slab.api.times import parse_time, rfc3339

__all__ = ["GracePeriods", "NodeHealth", "Observation", "observe", "unknown_conditions"]

CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""What becomes Unknown. NetworkUnavailable is not the kubelet's."""


@dataclass(frozen=True, slots=True)
class GracePeriods:
    """Upstream's flags node-monitor-grace-period and node-startup-grace-period, in milliseconds."""

    monitor_ms: int = 50_000
    startup_ms: int = 60_000


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """`ready`: the Ready condition as last seen; `probe_ms`: when the node was last heard of; `renewed_ms`: the
    newest renewal of its Lease."""

    ready: Object | None
    probe_ms: int
    transition_ms: int
    renewed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a node.

    `observed` is its Ready condition as it was found (made up if it has none), `current` as it is to be.
    `conditions`, if not None, must be written to its status; `after_write` is to be remembered if that succeeds,
    else `health`.
    """

    health: NodeHealth
    after_write: NodeHealth
    observed: Object
    current: Object | None
    conditions: list[Object] | None
    silent_ms: int


def observe(
    node: Object, lease: Object | None, health: NodeHealth | None, now_ms: int, grace: GracePeriods
) -> Observation:
    """Compare a node with what is remembered of it."""
    ready = get_condition(node, "Ready")
    created = node["metadata"].get("creationTimestamp") or rfc3339(now_ms)
    if ready is None:
        observed: Object = _condition("Ready", created, created)
        grace_ms = grace.startup_ms
        health = replace(health, ready=None) if health else NodeHealth(None, parse_time(created), parse_time(created))
    else:
        observed, grace_ms = ready, grace.monitor_ms
    saved_ms, renewed_ms = health.renewed_ms if health else None, _renewal(lease)
    health = _heard(health, ready, now_ms)
    if renewed_ms is not None and (saved_ms is None or saved_ms < renewed_ms):
        health = replace(health, renewed_ms=renewed_ms, probe_ms=now_ms)
    silent_ms = now_ms - health.probe_ms
    if silent_ms <= grace_ms:
        return Observation(health, health, observed, ready, None, silent_ms)
    conditions = unknown_conditions(node, now_ms)
    current = next(condition for condition in conditions if condition["type"] == "Ready")
    if current == observed:
        return Observation(health, health, observed, current, None, silent_ms)
    after = NodeHealth(current, health.probe_ms, now_ms, renewed_ms if lease is not None else None)
    return Observation(health, after, observed, current, conditions, silent_ms)


def unknown_conditions(node: Object, now_ms: int) -> list[Object]:
    """The node's conditions with those that come from the kubelet Unknown; missing ones are added."""
    now = rfc3339(now_ms)
    conditions = list((node.get("status") or {}).get("conditions") or ())
    for kind in CONDITIONS:
        for index, condition in enumerate(conditions):
            if condition["type"] == kind:
                if condition.get("status") != "Unknown":
                    conditions[index] = {
                        **condition,
                        "status": "Unknown",
                        "reason": "NodeStatusUnknown",
                        "message": "Kubelet stopped posting node status.",
                        "lastTransitionTime": now,
                    }
                break
        else:
            never = {"reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status."}
            conditions.append(_condition(kind, node["metadata"].get("creationTimestamp"), now) | never)
    return conditions


def _heard(health: NodeHealth | None, ready: Object | None, now_ms: int) -> NodeHealth:
    """A change of the status is a sign of life. What was known of the Lease is forgotten with it, as upstream."""
    if health is None or (health.ready is None) != (ready is None):
        return NodeHealth(ready, now_ms, now_ms)
    if health.ready is None or ready is None or health.ready.get("lastHeartbeatTime") == ready.get("lastHeartbeatTime"):
        return health
    has_moved = health.ready.get("lastTransitionTime") != ready.get("lastTransitionTime")
    return NodeHealth(ready, now_ms, now_ms if has_moved else health.transition_ms)


def _renewal(lease: Object | None) -> int | None:
    renewed = ((lease or {}).get("spec") or {}).get("renewTime")
    return None if renewed is None else parse_time(renewed)


def _condition(kind: str, heartbeat: str | None, transition: str | None) -> dict[str, Any]:
    condition = {"type": kind, "status": "Unknown", "lastHeartbeatTime": heartbeat, "lastTransitionTime": transition}
    return {field: value for field, value in condition.items() if value is not None}
