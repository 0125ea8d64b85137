"""Groups that another server serves: an APIService names it, and requests for its group and version go there.

>>> from k8slab.apiserver.aggregation import parts_of
>>> parts_of("/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods")
('metrics.k8s.io', 'v1beta1', 'shop', ('pods',))

A server behind it (`AggregatedAPI`) is connected under the name of a Service. While nobody answers there, requests get
503 "service unavailable"; without an APIService, 404.

Upstream: kube-aggregator/pkg/apiserver/{apiserver,handler_proxy}.go, pkg/controllers/status/remote
Simplified: get and list only; no certificates; the condition Available is looked at every 30 s and when a server
connects, not at every change of a Service or its endpoints; the list of groups at `/apis` leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from k8slab.api.errors import StatusError
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import GVR
from k8slab.api.times import rfc3339
from k8slab.api.transport import Request
from k8slab.apiserver.handlers.routing import method_not_allowed, not_served
from k8slab.sim.loop import sleep

if TYPE_CHECKING:
    from k8slab.apiserver.server import APIServer

__all__ = ["APISERVICES", "AggregatedAPI", "Aggregator", "parts_of"]

APISERVICES = GVR("apiregistration.k8s.io", "v1", "apiservices")
"""Objects that say which Service serves a group and version."""

CHECK_MS = 30_000


class AggregatedAPI(Protocol):
    """A server for one group and version. It reads and answers; whom the answer is for, it does not know."""

    group: str
    version: str

    def resources(self) -> Sequence[Mapping[str, Any]]:
        """The rows of its APIResourceList."""

    async def serve(self, request: Request) -> Object:
        """Answer a get or list. Raises a StatusError, or TimeoutError."""


def parts_of(path: str) -> tuple[str, str, str, tuple[str, ...]] | None:
    """Group, version, namespace and the rest of a path below `/apis`; None for any other path."""
    parts = [part for part in path.split("/") if part]
    if len(parts) < 2 or parts[0] != "apis":
        return None
    version = parts[2] if len(parts) > 2 else ""
    rest = parts[3:]
    if len(rest) == 4 and rest[0] == "namespaces" and rest[2] == "metrics":  # a number about the namespace itself
        return parts[1], version, "", ("namespaces", rest[1], rest[3])
    if len(rest) > 2 and rest[0] == "namespaces":
        return parts[1], version, rest[1], tuple(rest[2:])
    return parts[1], version, "", tuple(rest)


def _service(registered: Object) -> Mapping[str, Any]:
    """The Service that an APIService names; empty when it names none."""
    found: Mapping[str, Any] = (registered.get("spec") or {}).get("service") or {}
    return found


def unavailable() -> StatusError:
    return StatusError("service unavailable", code=503, reason="ServiceUnavailable", details={})


class Aggregator:
    """Which group and version goes where. `services`: `namespace/name` of a Service -> the server behind it."""

    def __init__(self, server: APIServer) -> None:
        self.server = server
        self.services: dict[str, AggregatedAPI] = {}
        self._checks = False

    def connect(self, service: str, api: AggregatedAPI) -> None:
        """A server listens behind the Service `namespace/name` from now on."""
        self.services[service] = api
        if not self._checks:
            self._checks = True
            self.server.spawn(self._keep_checking)

    def disconnect(self, service: str) -> None:
        """Nobody listens there any more. Idempotent."""
        self.services.pop(service, None)

    def find(self, group: str, version: str) -> AggregatedAPI | None:
        """Who serves a group and version; None when no APIService names it. Raises 503 when nobody answers."""
        if not self._checks or not version:
            return None
        registered = self._registered(group, version)
        if registered is None:
            return None
        api = self._behind(registered)
        if api is None or (api.group, api.version) != (group, version):
            raise unavailable()
        return api

    def _registered(self, group: str, version: str) -> Object | None:
        found: Object | None = self.server.cached(APISERVICES.group_resource, "", f"{version}.{group}")
        return found if found is not None and _service(found) else None

    def _behind(self, registered: Object) -> AggregatedAPI | None:
        service = _service(registered)
        return self.services.get(f"{service.get('namespace', '')}/{service.get('name', '')}")

    def versions(self, group: str) -> list[str]:
        """The versions of a group that APIServices name."""
        if not self._checks:
            return []
        found = self.server.cached_all(APISERVICES.group_resource)
        mine = [one["spec"] for one in found if _service(one) and one["spec"].get("group") == group]
        return [spec["version"] for spec in mine if spec.get("version")]

    # -- over HTTP -----------------------------------------------------------------------------------------

    async def answer(self, method: str, path: str, query: Mapping[str, str]) -> Object | None:
        """The document under a path of an aggregated group; None when it is none. Raises StatusErrors."""
        if not self._checks or (parts := parts_of(path)) is None:
            return None
        group, version, namespace, rest = parts
        if not version:
            return self._group(group)
        api = self.find(group, version)
        if api is None:
            return None
        if method not in ("GET", "HEAD"):
            raise method_not_allowed()
        if not rest:
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{group}/{version}",
                "resources": list(api.resources()),
            }
        if len(rest) > 3:
            return None
        resource, name, subresource = (*rest, "", "")[:3]
        verb = "get" if name else "list"
        request = Request(verb, GVR(group, version, resource), namespace, name, subresource, params=dict(query))
        try:
            return await api.serve(request)
        except TimeoutError as error:
            text = f"error trying to reach service: {error}"
            raise StatusError(text, code=503, reason="ServiceUnavailable", details={}) from None

    def _group(self, group: str) -> Object | None:
        rows = [{"groupVersion": f"{group}/{version}", "version": version} for version in self.versions(group)]
        if not rows:
            return None
        return {
            "kind": "APIGroup",
            "apiVersion": "v1",
            "name": group,
            "versions": rows,
            "preferredVersion": rows[0],
        }

    async def serve(self, request: Request) -> Object | None:
        """The answer to a request that came over a transport; None when the group is not aggregated."""
        gvr = request.resource
        if not self._checks or gvr in self.server.scheme:
            return None
        api = self.find(gvr.group, gvr.version)
        if api is None:
            return None
        if request.verb not in ("get", "list"):
            raise not_served()
        return await api.serve(request)

    # -- whether they answer ----------------------------------------------------------------------------

    async def _keep_checking(self) -> None:
        while True:
            self.server.loop.trace.current = None
            await self.check()
            await sleep(CHECK_MS, periodic=True)

    async def check(self) -> None:
        """Write the condition Available of every APIService, where it changed."""
        await self.server.caches.wait_ready()
        for found in self.server.cached_all(APISERVICES.group_resource):
            wanted = self._available(found)
            old = ((found.get("status") or {}).get("conditions") or [{}])[0]
            if all(old.get(key) == wanted[key] for key in ("status", "reason", "message")):
                continue
            status = {"conditions": [{**wanted, "lastTransitionTime": rfc3339(self.server.loop.clock.now_ms)}]}
            name = found["metadata"]["name"]
            request = Request(
                "update", APISERVICES, name=name, subresource="status", body={**thaw(found), "status": status}
            )
            with suppress(StatusError):  # somebody else wrote it: the next check sees
                await self.server.serve(request, "system:kube-aggregator")

    def _available(self, registered: Object) -> dict[str, str]:
        service = _service(registered)
        if not service:
            text = "Local APIServices are always available"
            return {"type": "Available", "status": "True", "reason": "Local", "message": text}
        namespace, name = service.get("namespace", ""), service.get("name", "")
        if self.server.cached("services", namespace, name) is None:
            text = f'service/{name} in "{namespace}" is not present'
            return {"type": "Available", "status": "False", "reason": "ServiceNotFound", "message": text}
        if self._behind(registered) is None:
            text = f'failing or missing response from service/{name} in "{namespace}"'
            return {"type": "Available", "status": "False", "reason": "FailedDiscoveryCheck", "message": text}
        return {"type": "Available", "status": "True", "reason": "Passed", "message": "all checks passed"}
