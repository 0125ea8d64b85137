"""What a lister has, some of it replaced by what was decided here and has not been seen written yet.

Upstream: pkg/scheduler/util/assumecache/assume_cache.go
Simplified: it stands on a lister instead of handlers of its own, so there is no queue of events and no index.
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.api.scheme import GVR, SCHEME
from k8slab.scheduler.framework import Lister, namespace_of

__all__ = ["AssumeCache", "AssumeError"]


class AssumeError(Exception):
    """The object cannot be assumed: it is not there, or was changed meanwhile."""


class AssumeCache:
    """Objects of one resource. An assumption holds until there is any news of the object beneath it."""

    def __init__(self, lister: Lister, resource: GVR, type_name: str) -> None:
        self._lister, self._resource, self._type_name = lister, resource, type_name
        self._is_namespaced = SCHEME.info(resource).namespaced
        self._assumed: dict[tuple[str, str], tuple[int, Object]] = {}  # key -> version beneath, what is assumed

    def get_api(self, name: str, namespace: str = "") -> Object | None:
        """The object as the API server had it last."""
        return self._lister.get(self._resource, name, namespace)

    def get(self, name: str, namespace: str = "") -> Object | None:
        """The object, as it is assumed to be."""
        known = self.get_api(name, namespace)
        return None if known is None else self._seen(known)

    def list(self) -> list[Object]:
        """All objects, as they are assumed to be."""
        return [self._seen(known) for known in self._lister.list(self._resource)]

    def assume(self, obj: Object) -> None:
        """From now on `obj` is seen. AssumeError when it was made from a state that is no longer the newest."""
        namespace, name = key = self._key(obj)
        known = self.get_api(name, namespace)
        if known is None:
            raise AssumeError(not_found(self._type_name, namespace, name))
        stored, assumed = version(known), version(obj)
        if assumed < stored:
            raise AssumeError(
                f"{self._type_name} {_quoted(namespace, name)} is out of sync (stored: {stored}, assume: {assumed})"
            )
        self._assumed[key] = (stored, obj)

    def restore(self, obj: Object) -> None:
        """See the object as the API server has it. Idempotent."""
        self._assumed.pop(self._key(obj), None)

    def view(self) -> dict[str, str]:
        """What is assumed: key -> "assumed"."""
        return {
            "/".join(filter(None, key)): "assumed"
            for key, (beneath, _) in self._assumed.items()
            if (known := self.get_api(key[1], key[0])) is not None and version(known) == beneath
        }

    def _key(self, obj: Object) -> tuple[str, str]:
        return (namespace_of(obj) if self._is_namespaced else ""), obj["metadata"]["name"]

    def _seen(self, known: Object) -> Object:
        key = self._key(known)
        entry = self._assumed.get(key)
        if entry is None:
            return known
        beneath, assumed = entry
        if beneath == version(known):
            return assumed
        del self._assumed[key]
        return known


def not_found(type_name: str, namespace: str, name: str) -> str:
    """Upstream's words for an object that is not in the cache."""
    return f"could not find {type_name} {_quoted(namespace, name)}"


def version(obj: Object) -> int:
    """The resourceVersion as a number; 0 for manifests without."""
    return int(obj["metadata"].get("resourceVersion") or 0)


def _quoted(namespace: str, name: str) -> str:
    return f'"{namespace}/{name}"' if namespace else f'"{name}"'
