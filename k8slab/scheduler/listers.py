"""What plugins can look up besides the snapshot: Namespaces, Services, what owns Pods, and volumes.

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
from k8slab.api.scheme import (
    CSIDRIVERS,
    CSINODES,
    CSISTORAGECAPACITIES,
    GVR,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    SCHEME,
    SERVICES,
    STATEFULSETS,
    STORAGECLASSES,
    VOLUMEATTACHMENTS,
)
from k8slab.client import SharedInformer, SharedInformerFactory

__all__ = ["NOT_FINISHED", "InformerLister", "ObjectLister"]

VOLUME_RESOURCES: tuple[GVR, ...] = (
    PERSISTENTVOLUMES,
    PERSISTENTVOLUMECLAIMS,
    STORAGECLASSES,
    CSINODES,
    CSIDRIVERS,
    CSISTORAGECAPACITIES,
    VOLUMEATTACHMENTS,
)
"""What the volume plugins look up."""

LISTED: tuple[GVR, ...] = (
    NAMESPACES,
    SERVICES,
    REPLICATIONCONTROLLERS,
    REPLICASETS,
    STATEFULSETS,
    PODS,
    NODES,
    *VOLUME_RESOURCES,
)
"""What the in-tree plugins look up."""

NOT_FINISHED = "status.phase!=Succeeded,status.phase!=Failed"
"""The Pods a scheduler watches."""


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
    namespaced = resource not in SCHEME or SCHEME.info(resource).namespaced
    return (metadata.get("namespace") or "default" if namespaced else ""), metadata["name"]


class InformerLister:
    """Lists what the informers of a process know now. It asks for those of `LISTED`; somebody starts them.

    A resource that is neither in `LISTED` nor was asked for by `informer` is a KeyError.
    """

    def __init__(self, informers: SharedInformerFactory) -> None:
        self._factory = informers
        self._informers = {
            resource: informers.informer(resource, field_selector=NOT_FINISHED)
            if resource == PODS
            else informers.informer(resource)
            for resource in LISTED
        }

    def informer(self, resource: GVR) -> SharedInformer:
        """The informer of a resource, which is listed from now on."""
        if resource not in self._informers:
            self._informers[resource] = self._factory.informer(resource)
        return self._informers[resource]

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
