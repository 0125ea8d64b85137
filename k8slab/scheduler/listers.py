"""What plugins can look up besides Nodes and Pods: Namespaces, Services, and what owns Pods.

>>> from k8slab.api.scheme import SERVICES
>>> from k8slab.scheduler.listers import ObjectLister
>>> web = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}}
>>> [found["metadata"]["name"] for found in ObjectLister({SERVICES: [web]}).list(SERVICES, "default")]
['web']

Upstream: staging/src/k8s.io/client-go/listers
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from k8slab.api.objects import Object
from k8slab.api.scheme import GVR, NAMESPACES, REPLICASETS, REPLICATIONCONTROLLERS, SERVICES, STATEFULSETS
from k8slab.client import SharedInformer, SharedInformerFactory

__all__ = ["LISTED", "InformerLister", "ObjectLister"]

LISTED: tuple[GVR, ...] = (NAMESPACES, SERVICES, REPLICATIONCONTROLLERS, REPLICASETS, STATEFULSETS)
"""What the in-tree plugins look up."""


class ObjectLister:
    """Lists given manifests: for what-ifs and tests. A manifest without namespace counts as in `default`."""

    def __init__(self, objects: Mapping[GVR, Iterable[Object]] | None = None) -> None:
        self._objects: dict[GVR, dict[tuple[str, str], Object]] = {}
        for resource, found in (objects or {}).items():
            self._objects[resource] = {_key(resource, obj): obj for obj in found}

    def list(self, resource: GVR, namespace: str = "") -> Sequence[Object]:
        """All objects of a resource, or those of one namespace."""
        found = self._objects.get(resource, {})
        return [obj for (place, _), obj in found.items() if not namespace or place == namespace]

    def get(self, resource: GVR, name: str, namespace: str = "") -> Object | None:
        """One object, or None. `namespace` is "" for what has none."""
        return self._objects.get(resource, {}).get((namespace, name))


def _key(resource: GVR, obj: Object) -> tuple[str, str]:
    metadata = obj["metadata"]
    return ("" if resource == NAMESPACES else metadata.get("namespace") or "default"), metadata["name"]


class InformerLister:
    """Lists what the informers of a process know now. It asks for those of `LISTED`; somebody starts them.

    A resource that is neither in `LISTED` nor was asked for by `informer` is a KeyError.
    """

    def __init__(self, informers: SharedInformerFactory) -> None:
        self._factory = informers
        self._informers = {resource: informers.informer(resource) for resource in LISTED}

    def informer(self, resource: GVR) -> SharedInformer:
        """The informer of a resource, which is listed from now on."""
        return self._informers.setdefault(resource, self._factory.informer(resource))

    def list(self, resource: GVR, namespace: str = "") -> Sequence[Object]:
        """All objects of a resource, or those of one namespace."""
        return self._informers[resource].indexer.list(namespace or None)

    def get(self, resource: GVR, name: str, namespace: str = "") -> Object | None:
        """One object, or None. `namespace` is "" for what has none."""
        return self._informers[resource].indexer.get(f"{namespace}/{name}" if namespace else name)

    async def wait_synced(self) -> None:
        """Wait until all of them have seen their first list."""
        for informer in self._informers.values():
            await informer.wait_synced()
