"""Two memories of the EndpointSlice controller: what it wrote, and when what it saw had changed.

Upstream: endpointslice/util/endpointslice_tracker.go, endpointslice/util/trigger_time_tracker.go
"""

from __future__ import annotations

from collections.abc import Iterable

from k8slab.api.objects import Object, key_of
from k8slab.api.pods import get_condition

__all__ = ["EndpointSliceTracker", "TriggerTimeTracker"]

_DELETION_EXPECTED = -1


def _service_key(slice: Object) -> str:
    metadata = slice["metadata"]
    return f"{metadata.get('namespace', '')}/{(metadata.get('labels') or {}).get('kubernetes.io/service-name', '')}"


class EndpointSliceTracker:
    """The generation of every slice as last written, by Service: a cache that shows an older one is stale."""

    def __init__(self) -> None:
        self._generations: dict[str, dict[str, int]] = {}

    def has(self, slice: Object) -> bool:
        return slice["metadata"]["uid"] in self._generations.get(_service_key(slice), {})

    def should_sync(self, slice: Object) -> bool:
        """Somebody else wrote it."""
        known = self._generations.get(_service_key(slice), {}).get(slice["metadata"]["uid"])
        return known is None or slice["metadata"].get("generation", 0) > known

    def stale_slices(self, service_key: str, slices: Iterable[Object]) -> bool:
        """The cache is behind: it shows an older generation, a slice that was deleted, or lacks one written."""
        known = self._generations.get(service_key)
        if known is None:
            return False
        shown = {slice["metadata"]["uid"]: slice["metadata"].get("generation", 0) for slice in slices}
        for uid, generation in known.items():
            if uid in shown:
                if generation == _DELETION_EXPECTED or generation > shown[uid]:
                    return True
            elif generation != _DELETION_EXPECTED:
                return True
        return False

    def update(self, slice: Object) -> None:
        """`slice` came back from a write."""
        generations = self._generations.setdefault(_service_key(slice), {})
        generations[slice["metadata"]["uid"]] = slice["metadata"].get("generation", 0)

    def expect_deletion(self, slice: Object) -> None:
        self._generations.setdefault(_service_key(slice), {})[slice["metadata"]["uid"]] = _DELETION_EXPECTED

    def handle_deletion(self, slice: Object) -> bool:
        """The slice is gone. False: nobody here deleted it."""
        generation = self._generations.get(_service_key(slice), {}).pop(slice["metadata"]["uid"], None)
        return generation in (None, _DELETION_EXPECTED)

    def delete_service(self, service_key: str) -> None:
        self._generations.pop(service_key, None)

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        for key, generations in self._generations.items():
            for uid, generation in generations.items():
                assert generation >= _DELETION_EXPECTED, f"slice {uid} of {key} has generation {generation}"


class TriggerTimeTracker:
    """Since when the state that a sync writes down has been true: the annotation last-change-trigger-time, from which
    the latency of Service programming is measured. Times are RFC 3339 texts in UTC, which sort as times."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, str]] = {}
        self._services: dict[str, str] = {}

    def compute(self, service: Object, pods: Iterable[Object]) -> str:
        """The earliest of the times that changed since the last call for this Service, "" if none did. The first
        call gives the Service's creation."""
        key = key_of(service)
        known = key in self._services
        before, now = self._pods.get(key, {}), {}
        changed: list[str] = []
        for pod in pods:
            ready = get_condition(pod, "Ready")
            since = (ready or {}).get("lastTransitionTime") or ""
            if since:
                name = pod["metadata"]["name"]
                now[name] = since
                if since > before.get(name, ""):
                    changed.append(since)
        created: str = service["metadata"].get("creationTimestamp") or ""
        if created > self._services.get(key, ""):
            changed.append(created)
        self._pods[key], self._services[key] = now, created
        return min(changed, default="") if known else created

    def delete_service(self, service_key: str) -> None:
        self._pods.pop(service_key, None)
        self._services.pop(service_key, None)
