"""Where an object lives in etcd: `/registry/<resource>/<namespace>/<name>`.

>>> layout = KeyLayout()
>>> layout.key("pods", "default", "web-0"), layout.key("nodes", "", "node-1"), layout.key("services", "default", "web")
('/registry/pods/default/web-0', '/registry/minions/node-1', '/registry/services/specs/default/web')
>>> layout.key("widgets.example.com", "default", "w")
'/registry/example.com/widgets/default/w'
>>> layout.parse("/registry/services/endpoints/default/web")
('endpoints', 'default/web')

Built-in resources carry no group in their key (`/registry/deployments/...`); those of extension servers
(CustomResourceDefinitions, APIServices) and custom resources do.

Upstream: pkg/kubeapiserver/default_storage_factory_builder.go, apiextensions-apiserver/pkg/apiserver/apiserver.go
"""

from __future__ import annotations

from functools import lru_cache
from sys import intern

from k8slab.api.scheme import SCHEME

__all__ = ["COMPACT_REV_KEY", "PREFIX", "KeyLayout", "prefix_end"]

PREFIX = "/registry"

COMPACT_REV_KEY = b"compact_rev_key"
"""The key by which API servers take turns in compacting; no object."""

_SPECIAL = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "ingresses.networking.k8s.io": "ingress",
    "events.events.k8s.io": "events",
}
_WITH_GROUP = ("apiextensions.k8s.io", "apiregistration.k8s.io")


def prefix_end(prefix: str) -> bytes:
    """The end of the range of all keys that start with `prefix`."""
    data = prefix.encode()
    return data[:-1] + bytes((data[-1] + 1,))


class KeyLayout:
    """Keys of resources, by `group_resource` (`pods`, `deployments.apps`), and back."""

    def __init__(self, prefix: str = PREFIX) -> None:
        self.prefix = prefix
        self._stems: dict[str, str] = {}
        self._resources: dict[str, str] = {}
        for info in SCHEME:
            if "list" in info.verbs:
                self._learn(info.gvr.group, info.gvr.resource)
        self.parse = lru_cache(maxsize=8192)(self._parse)

    def resource_prefix(self, group_resource: str) -> str:
        """`/registry/pods/` for `pods`: with the slash."""
        stem = self._stems.get(group_resource)
        if stem is None:
            resource, _, group = group_resource.partition(".")
            stem = self._learn(group, resource, custom=True)
        return f"{self.prefix}/{stem}/"

    def key(self, group_resource: str, namespace: str, name: str) -> str:
        """The key of one object."""
        prefix = self.resource_prefix(group_resource)
        return f"{prefix}{namespace}/{name}" if namespace else prefix + name

    def stored_as(self, group_resource: str) -> str:
        """The resource whose keys it shares (`events` for `events.events.k8s.io`), usually itself."""
        self.resource_prefix(group_resource)
        return self._resources[self._stems[group_resource]]

    def _parse(self, key: str) -> tuple[str, str]:
        """(group_resource, `namespace/name`) of a key; ("", key) when it is not one of ours."""
        first, _, rest = key.removeprefix(self.prefix + "/").partition("/")
        if first in self._resources:
            return self._resources[first], intern(rest)
        second, _, deeper = rest.partition("/")
        found = self._resources.get(f"{first}/{second}")
        if found is not None:
            return found, intern(deeper)
        return (f"{second}.{first}", deeper) if "." in first and deeper else ("", key)

    def _learn(self, group: str, resource: str, *, custom: bool = False) -> str:
        group_resource = f"{resource}.{group}" if group else resource
        plain = f"{group}/{resource}" if custom or group in _WITH_GROUP else resource
        stem = _SPECIAL.get(group_resource, plain)
        self._stems[group_resource] = stem
        self._resources.setdefault(stem, group_resource)
        return stem
