"""What the FIFOs hand on: deltas.

Upstream: staging/src/k8s.io/client-go/tools/cache/delta_fifo.go (Delta), the_real_fifo.go (ReplacedAllInfo)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeAlias

from k8slab.api.objects import Object, key_of

__all__ = [
    "BookmarkInfo",
    "DeletedFinalStateUnknown",
    "Delta",
    "DeltaType",
    "Fifo",
    "KnownObjects",
    "ReplacedAllInfo",
    "SyncAllInfo",
    "delta_key",
]


class DeltaType(StrEnum):
    """What happened. The values are upstream's words."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"
    SYNC = "Sync"
    REPLACED_ALL = "ReplacedAll"
    SYNC_ALL = "SyncAll"
    BOOKMARK = "Bookmark"


class DeletedFinalStateUnknown(NamedTuple):
    """A tombstone: `key` vanished between two lists; `object` is the last state that was seen, if any."""

    key: str
    object: Object | None


class ReplacedAllInfo(NamedTuple):
    """A whole list, in one delta."""

    resource_version: str
    objects: tuple[Object, ...]


class SyncAllInfo(NamedTuple):
    """Show every object again."""


class BookmarkInfo(NamedTuple):
    """Nothing changed up to this revision."""

    resource_version: str


Payload: TypeAlias = "Object | DeletedFinalStateUnknown | ReplacedAllInfo | SyncAllInfo | BookmarkInfo"


class Delta(NamedTuple):
    """One change. `cause`: the trace event behind it."""

    type: DeltaType
    object: Payload
    cause: int | None = None


class KnownObjects(Protocol):
    """What the consumer of a FIFO holds: an `Indexer`."""

    def get(self, key: str) -> Object | None: ...

    def __iter__(self) -> Iterator[str]: ...


class Fifo(Protocol):
    """What a reflector fills and an informer empties: `DeltaFIFO` or `RealFIFO`."""

    @property
    def has_synced(self) -> bool: ...

    def __len__(self) -> int: ...

    def add(self, obj: Object, cause: int | None = None) -> None: ...

    def update(self, obj: Object, cause: int | None = None) -> None: ...

    def delete(self, obj: Object, cause: int | None = None) -> None: ...

    def replace(self, objects: Iterable[Object], resource_version: str, cause: int | None = None) -> None: ...

    def resync(self) -> None: ...

    def bookmark(self, resource_version: str, cause: int | None = None) -> None: ...

    def pop(self, process: Callable[[list[Delta], bool], None]) -> list[Delta] | None: ...

    def check_invariants(self) -> None: ...

    def view(self) -> dict[str, Any]: ...


def delta_key(payload: Any) -> str:
    """The key of an object or tombstone."""
    return payload.key if isinstance(payload, DeletedFinalStateUnknown) else key_of(payload)
