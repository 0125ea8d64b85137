"""The status ConfigMap: how the groups are, for people, in YAML.

Upstream: cluster-autoscaler/clusterstate/api/types.go, clusterstate.go (GetStatus), clusterstate/utils/status.go
"""

from __future__ import annotations

from typing import Any

import yaml

from k8slab.api.times import micro_time, rfc3339
from k8slab.autoscaling.cluster_autoscaler.cluster_state import ClusterStateRegistry, Readiness
from k8slab.autoscaling.cluster_autoscaler.node_groups import InstanceError, NodeGroup

__all__ = ["StatusWriter", "last_updated"]

_MAX_ERROR = 500
_TRUNCATED = "<truncated>"


def last_updated(now_ms: int) -> str:
    """The time as Go writes it into the annotation: `2026-01-01 00:00:07 +0000 UTC`.

    >>> last_updated(7_000), last_updated(7_250)
    ('2026-01-01 00:00:07 +0000 UTC', '2026-01-01 00:00:07.25 +0000 UTC')
    """
    date, time = micro_time(now_ms).rstrip("Z").split("T")
    return f"{date} {time.rstrip('0').rstrip('.')} +0000 UTC"


class StatusWriter:
    """Remembers the conditions of the last time: `lastTransitionTime` changes only with the status."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], tuple[str, str]] = {}

    def text(self, registry: ClusterStateRegistry, groups: list[NodeGroup], now_ms: int) -> str:
        """The YAML for the key `status`."""
        told = [self._group(registry, group, now_ms) for group in groups]
        status = {
            "time": last_updated(now_ms),
            "autoscalerStatus": "Running",
            "clusterWide": self._cluster(registry, told),
            "nodeGroups": told,
        }
        return yaml.safe_dump(status, sort_keys=False, default_flow_style=False, width=1 << 20)

    def _condition(self, who: str, name: str, status: str, probed_ms: int) -> dict[str, Any]:
        probed = rfc3339(probed_ms)
        known = self._since.get((who, name))
        since = known[1] if known is not None and known[0] == status else probed
        self._since[(who, name)] = (status, since)
        return {"lastProbeTime": probed, "lastTransitionTime": since}

    def _group(self, registry: ClusterStateRegistry, group: NodeGroup, now_ms: int) -> dict[str, Any]:
        id, at = group.id, registry.updated_ms
        health = "Healthy" if registry.is_group_healthy(id) else "Unhealthy"
        up, error = self._scale_up(registry, id, now_ms)
        candidates = registry.candidates.get(id, [])
        down = "CandidatesPresent" if candidates else "NoCandidates"
        return {
            "name": id,
            "health": {
                "status": health,
                "nodeCounts": _counts(registry.readiness.get(id, Readiness())),
                "cloudProviderTarget": registry.acceptable[id].current_target,
                "minSize": group.min_size,
                "maxSize": group.max_size,
                **self._condition(id, "health", health, at),
            },
            "scaleUp": {"status": up, **error, **self._condition(id, "scaleUp", up, at)},
            "scaleDown": {
                "status": down,
                **({"candidates": len(candidates)} if candidates else {}),
                **self._condition(id, "scaleDown", down, at),
            },
        }

    def _scale_up(self, registry: ClusterStateRegistry, id: str, now_ms: int) -> tuple[str, dict[str, Any]]:
        if registry.is_scaling_up(id):
            return "InProgress", {}
        if not registry.is_group_healthy(id):
            return "Unhealthy", {}
        error = registry.backoff.error(id, now_ms)
        if isinstance(error, InstanceError):
            message = error.message
            if len(message) > _MAX_ERROR:
                message = message[: _MAX_ERROR - len(_TRUNCATED)] + _TRUNCATED
            return "Backoff", {"backoffInfo": {"errorCode": error.code, "errorMessage": message}}
        return "NoActivity", {}

    def _cluster(self, registry: ClusterStateRegistry, told: list[dict[str, Any]]) -> dict[str, Any]:
        at = registry.updated_ms
        health = "Healthy" if registry.is_cluster_healthy() else "Unhealthy"
        growing = any(group["scaleUp"]["status"] == "InProgress" for group in told)
        up = "InProgress" if growing else "NoActivity"
        candidates = sum(len(names) for names in registry.candidates.values())
        down = "CandidatesPresent" if candidates else "NoCandidates"
        return {
            "health": {
                "status": health,
                "nodeCounts": _counts(registry.total),
                **self._condition("", "health", health, at),
            },
            "scaleUp": {"status": up, **self._condition("", "scaleUp", up, at)},
            "scaleDown": {
                "status": down,
                **({"candidates": candidates} if candidates else {}),
                **self._condition("", "scaleDown", down, at),
            },
        }


def _counts(readiness: Readiness) -> dict[str, Any]:
    registered: dict[str, Any] = {
        "total": len(readiness.registered),
        "ready": len(readiness.ready),
        "notStarted": len(readiness.not_started),
        "suspended": 0,
    }
    if readiness.deleted:
        registered["beingDeleted"] = len(readiness.deleted)
    registered["unready"] = {"total": len(readiness.unready), "resourceUnready": 0}
    return {
        "registered": registered,
        "longUnregistered": len(readiness.long_unregistered),
        "unregistered": len(readiness.unregistered),
    }
