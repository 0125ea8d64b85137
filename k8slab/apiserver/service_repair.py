"""Tells of Services whose addresses or ports cannot be theirs: by Events, and in the trace.

A server gives out nothing twice. Such Services come from elsewhere: etcd was restored, a server ran with other ranges.

Upstream: pkg/registry/core/service/{ipallocator,portallocator}/controller
Simplified: the Events of one Service are not counted up, each finding is told once; every server tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from k8slab.api.errors import StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import EVENTS
from k8slab.api.times import rfc3339
from k8slab.api.transport import Request
from k8slab.apiserver.allocators import Finding, Holdings, ServiceRanges
from k8slab.apiserver.registry.allocation import service_ports
from k8slab.apiserver.watchcache import Change, WatchCache

if TYPE_CHECKING:
    from k8slab.apiserver.server import APIServer

__all__ = ["ServiceRepair"]


class ServiceRepair:
    """Follows the watch cache of Services. It writes only when it finds something."""

    def __init__(self, server: APIServer, cache: WatchCache, ranges: ServiceRanges, lane: str) -> None:
        self.lane = lane
        self.server = server
        self.cache = cache
        self.ranges = ranges
        self.holdings = Holdings(ranges)
        self._told: dict[Finding, None] = {}
        self._events = 0
        cache.on_change = self._changed

    def _changed(self, change: Change | None) -> None:
        if change is None:
            self.holdings = Holdings(self.ranges)
            for key in self.cache.keys():  # noqa: SIM118 (an ordered iterator, not a dict's)
                self._look(key, self.cache.objects[key])
        elif change.obj is None:
            self.holdings.remove(change.key)
            self._told = {one: None for one in self._told if one.key != change.key}
        else:
            self._look(change.key, change.obj)

    def _look(self, key: str, service: Object) -> None:
        spec: Mapping[str, Any] = service["spec"]
        for finding in self.holdings.put(key, spec.get("clusterIPs") or (), service_ports(spec)):
            if finding not in self._told:
                self._told[finding] = None
                self._tell(service, finding)

    def _tell(self, service: Object, finding: Finding) -> None:
        trace = self.server.loop.trace
        trace.emit("service.repair", self.lane, resource="services", key=finding.key, why=finding.message)
        self._events += 1
        event = self._event(service, finding)
        self.server.spawn(lambda: self._record(event))

    def _event(self, service: Object, finding: Finding) -> dict[str, Any]:
        metadata, now_ms = service["metadata"], self.server.loop.clock.now_ms
        about = {"kind": "Service", "apiVersion": "v1", "namespace": metadata["namespace"], "name": metadata["name"]}
        about |= {"uid": metadata.get("uid", ""), "resourceVersion": metadata.get("resourceVersion", "")}
        name = f"{metadata['name']}.{now_ms * 1_000_000 + self._events:x}"
        return {
            "metadata": {"name": name, "namespace": metadata["namespace"]},
            "involvedObject": about,
            "type": "Warning",
            "reason": finding.reason,
            "message": finding.message,
            "source": {"component": finding.source},
            "reportingComponent": finding.source,
            "firstTimestamp": rfc3339(now_ms),
            "lastTimestamp": rfc3339(now_ms),
            "count": 1,
        }

    async def _record(self, event: Object) -> None:
        """One attempt: what cannot be told now is in the trace."""
        request = Request("create", EVENTS, namespace=event["metadata"]["namespace"], body=event)
        try:
            await self.server.serve(request, "system:apiserver")
        except StatusError as error:
            self.server.loop.trace.emit("service.repair.failed", self.lane, why=error.message)
