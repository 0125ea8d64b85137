"""RealFIFO: every change in the order in which it came. Informers of 1.36 stand on it.

With atomic events (the gate AtomicFIFO, on in 1.36) a list is one `ReplacedAll` delta and a resync one `SyncAll`, so
the consumer's cache steps from one consistent state to the next and can tell how far it has read; bookmarks are
handed on too. Without them, a list becomes one Replaced or Deleted delta an object.

Upstream: staging/src/k8s.io/client-go/tools/cache/the_real_fifo.go
Simplified: no transformer, no batches (PopBatch), no metrics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from k8slab.api.objects import Object, key_of
from k8slab.client.delta import (
    BookmarkInfo,
    DeletedFinalStateUnknown,
    Delta,
    DeltaType,
    KnownObjects,
    ReplacedAllInfo,
    SyncAllInfo,
    delta_key,
)

__all__ = ["RealFIFO"]


class RealFIFO:
    """`atomic=True` needs no `known_objects`; `atomic=False` must have them (ValueError)."""

    def __init__(self, known_objects: KnownObjects | None = None, *, atomic: bool = True) -> None:
        if atomic and known_objects is not None:
            raise ValueError("known_objects: expected None with atomic events, the consumer reconciles lists itself")
        if not atomic and known_objects is None:
            raise ValueError("known_objects: expected the consumer's store without atomic events, got None")
        self.items: deque[Delta] = deque()
        self.known_objects = known_objects
        self.atomic = atomic
        self.populated = False
        self.initial_population_count = 0

    def __len__(self) -> int:
        return len(self.items)

    @property
    def has_synced(self) -> bool:
        """The first list was popped (or something else came before any list)."""
        return self.populated and self.initial_population_count == 0

    def add(self, obj: Object, cause: int | None = None) -> None:
        self.populated = True
        self.items.append(Delta(DeltaType.ADDED, obj, cause))

    def update(self, obj: Object, cause: int | None = None) -> None:
        self.populated = True
        self.items.append(Delta(DeltaType.UPDATED, obj, cause))

    def delete(self, obj: Object, cause: int | None = None) -> None:
        """Handed on even if nobody has heard of the object."""
        self.populated = True
        self.items.append(Delta(DeltaType.DELETED, obj, cause))

    def replace(self, objects: Iterable[Object], resource_version: str, cause: int | None = None) -> None:
        """A list arrived."""
        objects = tuple(objects)
        if self.known_objects is None:
            self.items.append(Delta(DeltaType.REPLACED_ALL, ReplacedAllInfo(resource_version, objects), cause))
        else:
            gone = reconcile_replacement(self.items, self.known_objects, objects)
            self.items.extend(Delta(DeltaType.DELETED, tombstone, cause) for tombstone in gone)
            self.items.extend(Delta(DeltaType.REPLACED, obj, cause) for obj in objects)
        if not self.populated:
            self.populated = True
            self.initial_population_count = len(self.items)

    def resync(self) -> None:
        """Show the consumer again what it holds."""
        if self.known_objects is None:
            self.items.append(Delta(DeltaType.SYNC_ALL, SyncAllInfo()))
            return
        queued = {delta_key(delta.object) for delta in self.items}
        for key in self.known_objects:
            obj = self.known_objects.get(key)
            if key not in queued and obj is not None:
                self.items.append(Delta(DeltaType.SYNC, obj))

    def bookmark(self, resource_version: str, cause: int | None = None) -> None:
        """Nothing changed up to `resource_version`. Handed on with atomic events only."""
        if self.atomic:
            self.items.append(Delta(DeltaType.BOOKMARK, BookmarkInfo(resource_version), cause))

    def pop(self, process: Callable[[list[Delta], bool], None]) -> list[Delta] | None:
        """Take out the oldest delta and let `process([delta], is_in_initial_list)` handle it. None: none queued."""
        if not self.items:
            return None
        is_in_initial_list = not self.has_synced
        deltas = [self.items.popleft()]
        process(deltas, is_in_initial_list)
        # Counted only now: nobody may see "synced" before the last object of the list was handled.
        if self.initial_population_count > 0:
            self.initial_population_count -= 1
        return deltas

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        assert 0 <= self.initial_population_count <= len(self.items), (
            f"{self.initial_population_count} deltas of the first list are outstanding, {len(self.items)} are queued"
        )
        whole = (DeltaType.REPLACED_ALL, DeltaType.SYNC_ALL, DeltaType.BOOKMARK)
        single = (DeltaType.REPLACED, DeltaType.SYNC)
        for delta in self.items:
            wrong = single if self.atomic else whole
            assert delta.type not in wrong, f"a {delta.type} delta in a FIFO with atomic={self.atomic}"

    def view(self) -> dict[str, Any]:
        """Queued deltas by place, for the stepper."""
        return {str(place): delta.type.value for place, delta in enumerate(self.items)}


def reconcile_replacement(
    queued: Iterable[Delta], known_objects: KnownObjects, objects: Iterable[Object]
) -> list[DeletedFinalStateUnknown]:
    """Tombstones for what a list of `objects` no longer has: of queued keys first, then of those the consumer holds."""
    keys = {key_of(obj) for obj in objects}
    last: dict[str, Delta] = {}
    for delta in queued:
        last[delta_key(delta.object)] = delta
    gone = []
    for key, delta in last.items():
        if key not in keys and delta.type is not DeltaType.DELETED:
            obj: Any = delta.object
            gone.append(DeletedFinalStateUnknown(key, obj))
    for key in known_objects:
        if key not in keys and key not in last:
            gone.append(DeletedFinalStateUnknown(key, known_objects.get(key)))
    return gone
