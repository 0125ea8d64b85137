"""From a method and a path to what is asked: which resource, which verb, or which discovery document.

>>> from k8slab.api.scheme import SCHEME
>>> route("GET", "/api/v1/namespaces/default/pods/web/status", {}, SCHEME)[:5]
('get', GVR(group='', version='v1', resource='pods'), 'default', 'web', 'status')

Upstream: apiserver/pkg/endpoints/request/requestinfo.go, apiserver/pkg/endpoints/installer.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from k8slab.api.errors import MethodNotSupportedError, NotFoundError
from k8slab.api.scheme import GVR, ResourceInfo, Scheme, UnknownResourceError

__all__ = ["NoSuchPathError", "Route", "is_true", "method_not_allowed", "not_served", "route"]

_COLLECTION = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
_ITEM = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCE = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "POST": "create", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class NoSuchPathError(Exception):
    """Nothing is served under this path: a plain 404 page."""


class Route(NamedTuple):
    """A request for a resource. `verb` is list, watch, get, create, update, patch, delete or deletecollection."""

    verb: str
    resource: GVR
    namespace: str
    name: str
    subresource: str
    info: ResourceInfo


def is_true(params: Mapping[str, str], name: str) -> bool:
    """A query parameter as Go reads booleans: present, and neither empty, `0` nor `false`."""
    return params.get(name, "").lower() not in ("", "0", "false")


def not_served() -> NotFoundError:
    return NotFoundError("the server could not find the requested resource", details={})


def method_not_allowed() -> MethodNotSupportedError:
    return MethodNotSupportedError("the server does not allow this method on the requested resource", details={})


def route(method: str, path: str, query: Mapping[str, str], scheme: Scheme) -> Route:
    """What a resource path asks for. Raises NoSuchPathError, NotFoundError, MethodNotSupportedError."""
    parts = [part for part in path.split("/") if part]
    group, version, rest = _group_version(parts)
    if not version or version not in scheme.versions(group):
        if version and scheme.versions(group):
            raise not_served()
        raise NoSuchPathError(path)
    is_watch_path = bool(rest) and rest[0] == "watch"
    if is_watch_path:
        rest = rest[1:]
    namespace, rest = _namespace(rest)
    if not rest or len(rest) > 3:
        raise not_served()
    resource, name, subresource = (*rest, "", "")[:3]
    gvr = GVR(group, version, resource)
    try:
        info = scheme.info(gvr)
    except UnknownResourceError:
        raise not_served() from None
    if subresource and subresource not in info.subresources:
        raise not_served()
    if (namespace and not info.namespaced) or (name and info.namespaced and not namespace):
        raise not_served()
    verb = _verb(method, info, name, subresource, is_watch_path or is_true(query, "watch"))
    if info.namespaced and not namespace and verb not in ("list", "watch"):
        raise method_not_allowed()
    return Route(verb, gvr, namespace, name, subresource, info)


def _group_version(parts: list[str]) -> tuple[str, str, list[str]]:
    if len(parts) >= 2 and parts[0] == "api":
        return "", parts[1], parts[2:]
    if len(parts) >= 3 and parts[0] == "apis":
        return parts[1], parts[2], parts[3:]
    return "", "", []


def _namespace(rest: list[str]) -> tuple[str, list[str]]:
    """`namespaces/x/pods/...` is in namespace x; `namespaces/x` and `namespaces/x/status` are the namespace itself."""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES:
        return rest[1], rest[2:]
    return "", rest


def _verb(method: str, info: ResourceInfo, name: str, subresource: str, watches: bool) -> str:
    if subresource:
        verb = _SUBRESOURCE.get(method, "")
        allowed = info.subresources[subresource].verbs
    else:
        verb = (_ITEM if name else _COLLECTION).get(method, "")
        if verb in ("list", "get") and watches:
            verb = "watch"
        allowed = info.verbs
    if verb not in allowed:
        raise method_not_allowed()
    return verb
