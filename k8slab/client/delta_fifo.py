"""DeltaFIFO: a queue of keys, each with the list of what happened to it since it was last taken out.

Until 1.35 informers stood on it. A key's changes are handed out together, so the order *between* keys is lost: if
`a` changed, then `b`, then `a` again, both changes of `a` come out first. `RealFIFO` keeps that order.

Upstream: staging/src/k8s.io/client-go/tools/cache/delta_fifo.go
Simplified: no transformer; always emits Replaced (EmitDeltaTypeReplaced), as informers ask for; keys that a list no
longer has are found in the order in which they came (upstream: map order).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from k8slab.api.objects import Object, key_of
from k8slab.client.delta import DeletedFinalStateUnknown, Delta, DeltaType, KnownObjects, delta_key

__all__ = ["DeltaFIFO"]


class DeltaFIFO:
    """`known_objects`: what the consumer holds, asked which keys a list no longer has. None: nothing is known."""

    def __init__(self, known_objects: KnownObjects | None = None) -> None:
        self.items: dict[str, list[Delta]] = {}
        self.queue: deque[str] = deque()
        self.known_objects = known_objects
        self.populated = False
        self.initial_population_count = 0

    def __len__(self) -> int:
        return len(self.queue)

    @property
    def has_synced(self) -> bool:
        """The objects of the first list were all popped (or something else came before any list)."""
        return self.populated and self.initial_population_count == 0

    def add(self, obj: Object, cause: int | None = None) -> None:
        self.populated = True
        self._queue(Delta(DeltaType.ADDED, obj, cause))

    def update(self, obj: Object, cause: int | None = None) -> None:
        self.populated = True
        self._queue(Delta(DeltaType.UPDATED, obj, cause))

    def delete(self, obj: Object, cause: int | None = None) -> None:
        """Ignored when neither the queue nor the consumer has heard of the object."""
        self.populated = True
        key = key_of(obj)
        known = self.known_objects is not None and self.known_objects.get(key) is not None
        if known or key in self.items:
            self._queue(Delta(DeltaType.DELETED, obj, cause))

    def replace(self, objects: Iterable[Object], resource_version: str, cause: int | None = None) -> None:
        """A list arrived: Replaced for what it has, Deleted (a tombstone) for what it no longer has."""
        keys: dict[str, None] = {}
        for obj in objects:
            keys[key_of(obj)] = None
            self._queue(Delta(DeltaType.REPLACED, obj, cause))
        gone = self._gone(keys)
        for tombstone in gone:
            self._queue(Delta(DeltaType.DELETED, tombstone, cause))
        if not self.populated:
            self.populated = True
            self.initial_population_count = len(keys) + len(gone)

    def resync(self) -> None:
        """Show the consumer again what it holds, but for keys that have something queued anyway."""
        if self.known_objects is None:
            return
        for key in self.known_objects:
            obj = self.known_objects.get(key)
            if obj is not None and key not in self.items:
                self._queue(Delta(DeltaType.SYNC, obj))

    def bookmark(self, resource_version: str, cause: int | None = None) -> None:
        """DeltaFIFO hands on no bookmarks: its keys do not come out in the order of revisions."""

    def pop(self, process: Callable[[list[Delta], bool], None]) -> list[Delta] | None:
        """Take out the oldest key and let `process(deltas, is_in_initial_list)` handle it. None: nothing queued."""
        if not self.queue:
            return None
        is_in_initial_list = not self.has_synced
        key = self.queue.popleft()
        if self.initial_population_count > 0:
            self.initial_population_count -= 1
        deltas = self.items.pop(key)
        process(deltas, is_in_initial_list)
        return deltas

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        queued = list(self.queue)
        assert len(set(queued)) == len(queued), f"a key is queued twice: {queued}"
        assert list(dict.fromkeys(queued)) == list(self.items), f"queue {queued} and items {list(self.items)} differ"
        for key, deltas in self.items.items():
            assert deltas, f"key {key} is queued without a delta"
            for delta in deltas:
                assert delta_key(delta.object) == key, f"a delta of {delta_key(delta.object)} is kept under {key}"
            pairs = pairwise(deltas)
            assert not any(one.type is DeltaType.DELETED and two.type is DeltaType.DELETED for one, two in pairs), (
                f"key {key} has two deletions in a row"
            )
        assert self.initial_population_count <= len(queued), "more of the first list is outstanding than is queued"

    def view(self) -> dict[str, Any]:
        """Queued keys and the types of their deltas, for the stepper."""
        return {key: [delta.type.value for delta in deltas] for key, deltas in self.items.items()}

    # -- inside --------------------------------------------------------------------------------------

    def _queue(self, delta: Delta) -> None:
        key = delta_key(delta.object)
        deltas = self.items.get(key)
        if deltas is None:
            self.items[key] = [delta]
            self.queue.append(key)
        elif delta.type is DeltaType.DELETED and deltas[-1].type is DeltaType.DELETED:
            # One deletion is enough: keep the one that knows the final state.
            if isinstance(deltas[-1].object, DeletedFinalStateUnknown):
                deltas[-1] = delta
        else:
            deltas.append(delta)

    def _gone(self, keys: dict[str, None]) -> list[DeletedFinalStateUnknown]:
        gone = []
        for key, deltas in self.items.items():
            if key not in keys:
                last = deltas[-1].object
                obj: Any = last.object if isinstance(last, DeletedFinalStateUnknown) else last
                gone.append(DeletedFinalStateUnknown(key, obj))
        if self.known_objects is None:
            return gone
        for key in self.known_objects:
            if key not in keys and key not in self.items:
                gone.append(DeletedFinalStateUnknown(key, self.known_objects.get(key)))
        return gone
