"""Watchers: each receives, once and in order, the events of its keys from a revision on.

A watcher that asks for the past is *unsynced* until it has been fed from the history; then it is *synced* and every
transaction is offered to it as it commits. A compaction that overtakes an unsynced watcher cancels it.

Upstream: etcd server/storage/mvcc/{watchable_store,watcher,watcher_group}.go, server/etcdserver/api/v3rpc/watch.go
Simplified: one watcher is one stream; no victims (a slow reader's `pending` grows, nothing is dropped), no fragments,
no periodic progress notifications; events are offered to the watchers one after the other, without an interval tree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from k8slab.etcd.errors import EMPTY_WATCHER_RANGE
from k8slab.etcd.messages import (
    FROM_KEY,
    Event,
    EventType,
    KeyValue,
    WatchFilter,
    WatchResponse,
)


class History(Protocol):
    """What a hub reads of its store."""

    revision: int
    compact_revision: int

    def since(self, revision: int) -> Iterator[KeyValue]: ...

    def previous(self, kv: KeyValue) -> KeyValue | None: ...


class Watcher:
    """One watch. Read `pending` from the left; `on_ready` is called when it becomes non-empty and must not write.

    `min_revision` is the first revision the watcher is owed (once synced: unless it got it already). The confirmation
    is pending as soon as the watcher exists.
    """

    def __init__(self, hub: WatchHub, watch_id: int, key: bytes, range_end: bytes) -> None:
        self.watch_id = watch_id
        self.key = key
        self.range_end = range_end
        self.upper = None if range_end == FROM_KEY else range_end or key + b"\x00"
        self.min_revision = 0
        self.prev_kv = False
        self.filters: frozenset[EventType] = frozenset()
        self.pending: deque[WatchResponse] = deque()
        self.on_ready: Callable[[], None] | None = None
        self.canceled = False
        self._hub = hub

    @property
    def is_synced(self) -> bool:
        """Has received all of its past."""
        return self.watch_id in self._hub.synced

    def matches(self, key: bytes) -> bool:
        return self.key <= key and (self.upper is None or key < self.upper)

    def cancel(self) -> None:
        """End the watch; a last response says so. Cancelling twice does nothing."""
        if not self.canceled:
            self._hub.cancel(self, WatchResponse(self._hub.history.revision, canceled=True))

    def request_progress(self) -> bool:
        """If synced, queue an empty response: every event up to its revision has been queued before it."""
        if not self.is_synced:
            return False
        self.deliver(WatchResponse(self._hub.history.revision))
        return True

    def deliver(self, response: WatchResponse) -> None:
        self.pending.append(response)
        if len(self.pending) == 1 and self.on_ready is not None:
            self.on_ready()


class WatchHub:
    """All watchers of a store, by watch id: `synced` and `unsynced`."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.synced: dict[int, Watcher] = {}
        self.unsynced: dict[int, Watcher] = {}
        self._next_id = 0

    def watch(
        self, key: bytes, range_end: bytes, start_revision: int, prev_kv: bool, filters: Iterable[str]
    ) -> Watcher:
        """A new watcher, unsynced when `start_revision` is not in the future. 0 means from now on."""
        watcher = Watcher(self, self._next_id, key or FROM_KEY, range_end)
        self._next_id += 1
        current = self.history.revision
        if range_end and range_end != FROM_KEY and watcher.key >= range_end:
            watcher.canceled = True
            watcher.deliver(WatchResponse(current, created=True, canceled=True, cancel_reason=EMPTY_WATCHER_RANGE))
            return watcher
        watcher.prev_kv = prev_kv
        suppressed = {WatchFilter.NOPUT: EventType.PUT, WatchFilter.NODELETE: EventType.DELETE}
        watcher.filters = frozenset(suppressed[WatchFilter(name)] for name in filters)
        watcher.min_revision = start_revision or current + 1
        group = self.synced if watcher.min_revision > current else self.unsynced
        group[watcher.watch_id] = watcher
        watcher.deliver(WatchResponse(current, created=True))
        return watcher

    def notify(self, revision: int, changes: Sequence[KeyValue]) -> None:
        """Offer a committed transaction to the synced watchers."""
        found: dict[int, list[KeyValue]] = {}
        for kv in changes:
            key = kv.key
            for watcher in self.synced.values():
                upper = watcher.upper  # as `matches`, without the call: this is the hottest line of a store
                if watcher.key <= key and (upper is None or key < upper) and watcher.min_revision <= revision:
                    found.setdefault(watcher.watch_id, []).append(kv)
        for watch_id, kvs in found.items():
            if watch_id in self.synced:
                self._send(self.synced[watch_id], revision, kvs)

    def sync(self) -> None:
        """Feed the unsynced watchers from the history, or cancel those whose past has been compacted."""
        current, compacted = self.history.revision, self.history.compact_revision
        for watcher in list(self.unsynced.values()):
            if watcher.min_revision < compacted:
                self.cancel(watcher, WatchResponse(0, compact_revision=compacted, canceled=True))
                continue
            past = [kv for kv in self.history.since(watcher.min_revision) if watcher.matches(kv.key)]
            del self.unsynced[watcher.watch_id]
            self.synced[watcher.watch_id] = watcher
            watcher.min_revision = current + 1
            self._send(watcher, current, past)

    def cancel(self, watcher: Watcher, response: WatchResponse) -> None:
        watcher.canceled = True
        self.synced.pop(watcher.watch_id, None)
        self.unsynced.pop(watcher.watch_id, None)
        watcher.deliver(response)

    def view(self) -> dict[str, Any]:
        """Watch id → key interval, whether synced, next revision, responses waiting."""
        return {
            str(watcher.watch_id): {
                "key": watcher.key.decode("latin-1"),
                "range_end": watcher.range_end.decode("latin-1"),
                "synced": watcher.is_synced,
                "min_revision": watcher.min_revision,
                "pending": len(watcher.pending),
            }
            for watcher in (*self.synced.values(), *self.unsynced.values())
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        both = [watch_id for watch_id in self.synced if watch_id in self.unsynced]
        assert not both, f"watchers {both} are synced and unsynced"
        for watcher in self.unsynced.values():
            assert watcher.min_revision <= self.history.revision, f"watcher {watcher.watch_id} is unsynced without need"
        for watcher in (*self.synced.values(), *self.unsynced.values()):
            assert not watcher.canceled, f"cancelled watcher {watcher.watch_id} is still registered"

    def _send(self, watcher: Watcher, revision: int, changes: Iterable[KeyValue]) -> None:
        events = []
        for kv in changes:
            kind = EventType.PUT if kv.version else EventType.DELETE
            if kind in watcher.filters:
                continue
            is_create = kv.create_revision == kv.mod_revision
            events.append(Event(kind, kv, self.history.previous(kv) if watcher.prev_kv and not is_create else None))
        if events:
            watcher.deliver(WatchResponse(revision, tuple(events)))
