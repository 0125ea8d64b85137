"""Hints which zone or node an endpoint is meant for, from spec.trafficDistribution.

Upstream: endpointslice/trafficdist/trafficdist.go, endpointslice/reconciler.go (validTrafficDistribution)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.objects import Object

__all__ = ["set_hints"]

_CLOSE = ("PreferClose", "PreferSameZone", "PreferSameNode")
_ANNOTATIONS = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")

Slice = dict[str, Any]


def _uses_annotation(service: Object) -> bool:
    """The older annotation, set to Auto, overrides the field."""
    annotations = service["metadata"].get("annotations") or {}
    value = next((annotations[key] for key in _ANNOTATIONS if key in annotations), "")
    return value in ("Auto", "auto")


def _hints(endpoint: Object, distribution: str | None) -> dict[str, Any] | None:
    """What the endpoint's hints should be. One that is not ready keeps what it has under a distribution."""
    if distribution is None:
        return None
    if not (endpoint.get("conditions") or {}).get("ready"):
        return endpoint.get("hints")
    hints: dict[str, Any] = {}
    if endpoint.get("zone") is not None:
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if distribution == "PreferSameNode" and endpoint.get("nodeName") is not None:
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    return hints or None


def _with_hints(slice: Object, distribution: str | None) -> Slice:
    endpoints = []
    for endpoint in slice.get("endpoints") or ():
        hints = _hints(endpoint, distribution)
        rest = {key: value for key, value in endpoint.items() if key != "hints"}
        endpoints.append({**rest, "hints": hints} if hints else rest)
    return {**slice, "endpoints": endpoints}


def set_hints(
    service: Object, create: Sequence[Slice], update: Sequence[Slice], unchanged: Sequence[Object]
) -> tuple[list[Slice], list[Slice]]:
    """Slices to create and to update with their hints set; unchanged ones with wrong hints join the updates."""
    wanted = service["spec"].get("trafficDistribution")
    distribution = wanted if wanted in _CLOSE and not _uses_annotation(service) else None
    stale = []
    for slice in unchanged:
        before = [endpoint.get("hints") for endpoint in slice.get("endpoints") or ()]
        if before != [_hints(endpoint, distribution) for endpoint in slice.get("endpoints") or ()]:
            stale.append(slice)
    return (
        [_with_hints(slice, distribution) for slice in create],
        [_with_hints(slice, distribution) for slice in (*update, *stale)],
    )
