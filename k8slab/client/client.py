"""Typed verbs over a `Transport`.

Upstream: staging/src/k8s.io/client-go/gentype, kubernetes/typed (the verbs), rest/request.go
Simplified: one client for all kinds, addressed by GVR; no client-side rate limit (QPS and burst), no retries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import GVR
from k8slab.api.transport import STRATEGIC_MERGE_PATCH, Request, Transport, WatchStream

__all__ = ["Client"]

PARAMS = {
    "label_selector": "labelSelector",
    "field_selector": "fieldSelector",
    "resource_version": "resourceVersion",
    "resource_version_match": "resourceVersionMatch",
    "limit": "limit",
    "continue_": "continue",
    "dry_run": "dryRun",
    "field_manager": "fieldManager",
    "field_validation": "fieldValidation",
    "timeout_seconds": "timeoutSeconds",
    "allow_watch_bookmarks": "allowWatchBookmarks",
    "send_initial_events": "sendInitialEvents",
    "force": "force",
}
"""Python names of query parameters, and their wire names."""

DELETE_OPTIONS = {
    "grace_period_seconds": "gracePeriodSeconds",
    "propagation_policy": "propagationPolicy",
    "preconditions": "preconditions",
    "orphan_dependents": "orphanDependents",
}


class Client:
    """One client of an API server.

    Every method raises a `StatusError` subclass when the server refuses, and TimeoutError when no answer came: then
    the outcome is unknown. Objects that are returned are read-only (`thaw` them); objects passed in are the server's
    from then on. Keyword parameters are the query parameters in snake_case (`label_selector=`, `dry_run="All"`).
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def get(self, gvr: GVR, name: str, namespace: str = "", **params: Any) -> Object:
        """One object. NotFoundError when it does not exist."""
        return await self.transport.call(_request("get", gvr, namespace, name, params=params))

    async def list(self, gvr: GVR, namespace: str = "", **params: Any) -> Object:
        """A list object: `items`, `metadata.resourceVersion`, `metadata.continue`."""
        return await self.transport.call(_request("list", gvr, namespace, params=params))

    async def create(self, gvr: GVR, obj: Object, namespace: str | None = None, **params: Any) -> Object:
        """Create `obj`, in `namespace` or the namespace it names."""
        return await self.transport.call(_request("create", gvr, _namespace(obj, namespace), body=obj, params=params))

    async def update(self, gvr: GVR, obj: Object, namespace: str | None = None, **params: Any) -> Object:
        """Replace the object. ConflictError when its resourceVersion is no longer the newest."""
        return await self._put(gvr, obj, namespace, "", params)

    async def update_status(self, gvr: GVR, obj: Object, namespace: str | None = None, **params: Any) -> Object:
        """Replace the status of the object; the rest of `obj` is ignored."""
        return await self._put(gvr, obj, namespace, "status", params)

    async def patch(
        self,
        gvr: GVR,
        name: str,
        patch: Object | Sequence[Object],
        namespace: str = "",
        patch_type: str = STRATEGIC_MERGE_PATCH,
        subresource: str = "",
        **params: Any,
    ) -> Object:
        """Patch one object. `patch_type`: one of the media types in `k8slab.api.transport`."""
        body = patch if isinstance(patch, Mapping) else list(patch)
        return await self.transport.call(
            Request("patch", gvr, namespace, name, subresource, body, query(params), patch_type)
        )

    async def delete(
        self, gvr: GVR, name: str, namespace: str = "", *, uid: str = "", resource_version: str = "", **options: Any
    ) -> Object:
        """Delete one object: `grace_period_seconds=`, `propagation_policy=`. `uid` and `resource_version` are
        preconditions (ConflictError when it is another object by now)."""
        body = delete_options(uid, resource_version, options)
        return await self.transport.call(_request("delete", gvr, namespace, name, body=body or None, params=options))

    async def delete_collection(self, gvr: GVR, namespace: str = "", **options: Any) -> Object:
        """Delete all objects that the selectors among `options` match."""
        body = delete_options("", "", options)
        return await self.transport.call(
            _request("deletecollection", gvr, namespace, body=body or None, params=options)
        )

    async def watch(self, gvr: GVR, namespace: str = "", **params: Any) -> WatchStream:
        """Open a watch; the caller owns it and closes it."""
        return await self.transport.watch(_request("watch", gvr, namespace, params=params))

    async def create_subresource(
        self, gvr: GVR, namespace: str, name: str, subresource: str, body: Object, **params: Any
    ) -> Object:
        """POST to a subresource: `binding`, `eviction`, `token`."""
        return await self.transport.call(_request("create", gvr, namespace, name, subresource, body, params))

    async def get_subresource(self, gvr: GVR, namespace: str, name: str, subresource: str, **params: Any) -> Object:
        """GET a subresource: `scale`, `status`."""
        return await self.transport.call(_request("get", gvr, namespace, name, subresource, params=params))

    async def update_subresource(
        self, gvr: GVR, namespace: str, name: str, subresource: str, body: Object, **params: Any
    ) -> Object:
        """PUT a subresource: `scale`."""
        return await self.transport.call(_request("update", gvr, namespace, name, subresource, body, params))

    async def _put(
        self, gvr: GVR, obj: Object, namespace: str | None, subresource: str, params: Mapping[str, Any]
    ) -> Object:
        name = obj["metadata"]["name"]
        return await self.transport.call(
            _request("update", gvr, _namespace(obj, namespace), name, subresource, obj, params)
        )


def query(params: Mapping[str, Any]) -> dict[str, str]:
    """Python keyword arguments as query parameters. Empty values are left out; unknown names are a TypeError."""
    found = {}
    for name, value in params.items():
        if name in DELETE_OPTIONS:
            continue
        wire = PARAMS.get(name)
        if wire is None:
            raise TypeError(f"parameter {name!r}: expected one of {', '.join(PARAMS)}")
        if value is None or value == "" or value is False:
            continue
        found[wire] = "true" if value is True else str(value)
    return found


def delete_options(uid: str, resource_version: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a delete: {} when nothing was asked for."""
    body = {DELETE_OPTIONS[name]: value for name, value in options.items() if name in DELETE_OPTIONS}
    if body.get("preconditions") is None and (uid or resource_version):
        body["preconditions"] = {
            field: value for field, value in (("uid", uid), ("resourceVersion", resource_version)) if value
        }
    return {field: value for field, value in body.items() if value is not None}


def _namespace(obj: Object, namespace: str | None) -> str:
    return obj["metadata"].get("namespace") or "" if namespace is None else namespace


def _request(
    verb: str,
    gvr: GVR,
    namespace: str,
    name: str = "",
    subresource: str = "",
    body: Object | None = None,
    params: Mapping[str, Any] | None = None,
) -> Request:
    return Request(verb, gvr, namespace, name, subresource, body, query(params) if params else {})
