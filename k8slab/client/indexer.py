"""The informer's cache: objects by key, and indexes over them.

Upstream: staging/src/k8s.io/client-go/tools/cache/thread_safe_store.go, index.go, store.go
Simplified: no locks; keys keep the order in which they came (upstream: map order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from k8slab.api.objects import Object, key_of

__all__ = ["NAMESPACE", "OWNER_UID", "IndexFunc", "Indexer", "namespace_index", "owner_uid_index"]

IndexFunc: TypeAlias = Callable[[Object], Sequence[str]]
"""From an object to the values it is found under."""

Objects: TypeAlias = list[Object]
Keys: TypeAlias = list[str]

NAMESPACE = "namespace"
OWNER_UID = "owner-uid"


def namespace_index(obj: Object) -> Sequence[str]:
    """The object's namespace (`""` for what has none)."""
    return (obj["metadata"].get("namespace") or "",)


def owner_uid_index(obj: Object) -> Sequence[str]:
    """The uids of all owners, the controller among them."""
    return [reference.get("uid", "") for reference in obj["metadata"].get("ownerReferences") or ()]


class Indexer:
    """Objects by `namespace/name`, with the indexes `namespace` and `owner-uid` built in.

    Objects are kept by reference and must be read-only. `last_sync_resource_version` is the newest revision the
    cache has seen, "" as long as it saw none, or when the FIFO in front of it does not keep the order of revisions
    (`track_resource_version=False`).
    """

    def __init__(self, *, track_resource_version: bool = True) -> None:
        self._items: dict[str, Object] = {}
        self._functions: dict[str, IndexFunc] = {NAMESPACE: namespace_index, OWNER_UID: owner_uid_index}
        self._indexes: dict[str, dict[str, dict[str, None]]] = {name: {} for name in self._functions}
        self._tracks = track_resource_version
        self._resource_version = ""

    # -- reading -----------------------------------------------------------------------------------

    @property
    def last_sync_resource_version(self) -> str:
        return self._resource_version if self._tracks else ""

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[str]:
        """The keys there are now."""
        return iter(tuple(self._items))

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def get(self, key: str) -> Object | None:
        """The object called `key` (`namespace/name`), or None."""
        return self._items.get(key)

    def list(self, namespace: str | None = None) -> Objects:
        """All objects, or those of one namespace."""
        if namespace:
            return self.by_index(NAMESPACE, namespace)
        return list(self._items.values())

    def keys(self) -> Keys:
        """All keys."""
        return list(self._items)

    def by_index(self, name: str, value: str) -> Objects:
        """The objects that the index `name` files under `value`. ValueError: there is no such index."""
        return [self._items[key] for key in self._index(name).get(value, ())]

    def index_keys(self, name: str, value: str) -> Keys:
        """The keys that the index `name` files under `value`."""
        return list(self._index(name).get(value, ()))

    def index_values(self, name: str) -> Keys:
        """All values that occur in the index `name`."""
        return list(self._index(name))

    # -- writing (the informer's alone) --------------------------------------------------------------

    def add_index(self, name: str, function: IndexFunc) -> None:
        """Add an index; objects already here are filed in it. ValueError: another one has this name."""
        known = self._functions.get(name)
        if known is not None and known is not function:
            raise ValueError(f"index {name!r}: there is another index of this name")
        if known is None:
            self._functions[name] = function
            self._indexes[name] = {}
            for key, obj in self._items.items():
                self._file(name, key, function(obj))

    def update(self, obj: Object) -> None:
        """Put `obj` in, whether or not it was there."""
        key = key_of(obj)
        old = self._items.get(key)
        self._items[key] = obj
        for name, function in self._functions.items():
            if old is not None and name == NAMESPACE:
                continue  # a part of the key
            values = function(obj)
            if old is not None:
                before = function(old)
                if before == values:
                    continue
                self._unfile(name, key, before)
            self._file(name, key, values)
        self._saw(obj["metadata"].get("resourceVersion", ""))

    add = update

    def delete(self, key: str, resource_version: str = "") -> None:
        """Take the object called `key` out. `resource_version`: the revision of the deletion, if known."""
        old = self._items.pop(key, None)
        if old is not None:
            for name, function in self._functions.items():
                self._unfile(name, key, function(old))
        self._saw(resource_version)

    def replace(self, objects: Iterable[Object], resource_version: str) -> None:
        """Hold exactly `objects`, which are the state at `resource_version`."""
        self._items = {key_of(obj): obj for obj in objects}
        self._indexes = {name: {} for name in self._functions}
        for name, function in self._functions.items():
            for key, obj in self._items.items():
                self._file(name, key, function(obj))
        self._resource_version = resource_version

    def bookmark(self, resource_version: str) -> None:
        """The cache is up to date with `resource_version`, though no object changed."""
        self._saw(resource_version)

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        for key, obj in self._items.items():
            assert key_of(obj) == key, f"{key_of(obj)} is kept under the key {key}"
        for name, function in self._functions.items():
            expected: dict[str, dict[str, None]] = {}
            for key, obj in self._items.items():
                for value in function(obj):
                    expected.setdefault(value, {})[key] = None
            found = self._indexes[name]
            assert found == expected, f"index {name!r} is {found}, the objects say {expected}"

    def view(self) -> dict[str, Any]:
        """Keys and the revisions of their objects, for the stepper."""
        return {key: obj["metadata"].get("resourceVersion", "") for key, obj in self._items.items()}

    # -- inside --------------------------------------------------------------------------------------

    def _index(self, name: str) -> dict[str, dict[str, None]]:
        found = self._indexes.get(name)
        if found is None:
            raise ValueError(f"index {name!r}: expected one of {', '.join(self._indexes)}")
        return found

    def _file(self, name: str, key: str, values: Sequence[str]) -> None:
        index = self._indexes[name]
        for value in values:
            index.setdefault(value, {})[key] = None

    def _unfile(self, name: str, key: str, values: Sequence[str]) -> None:
        index = self._indexes[name]
        for value in values:
            keys = index.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del index[value]

    def _saw(self, resource_version: str) -> None:
        if resource_version:
            self._resource_version = resource_version
