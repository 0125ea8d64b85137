"""Watchers: each receives, once and in order, the events of its keys from a revision on.

A watcher that asks for the past is *unsynced* until it has been fed from the history; then it is *synced* and every
transaction is offered to it as it commits. If its channel is full then, it becomes a *victim*: the transaction is kept
for it, later ones are not, and once there is room it goes on as an unsynced watcher, from the history. A compaction
that overtakes an unsynced watcher cancels it.

    synced --channel full--> victim --room--> unsynced --fed--> synced

Upstream: etcd server/storage/mvcc/{watchable_store,watcher,watcher_group}.go
Simplified: events are offered to the watchers one after the other, without an interval tree; all unsynced watchers are
fed at once, not 512 at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from k8slab.etcd.errors import EMPTY_WATCHER_RANGE
from k8slab.etcd.fields import Field, check_field
from k8slab.etcd.messages import (
    FROM_KEY,
    Event,
    EventType,
    KeyValue,
    WatchFilter,
    WatchResponse,
)

_FIELDS = (Field(1, "key", "bytes"), Field(2, "range_end", "bytes"), Field(3, "start_revision", "int"))
_FILTER = Field(5, "filter", tuple(WatchFilter))
BATCH_REVISIONS = 1_000
"""At most so many revisions go to an unsynced watcher in one response."""


class History(Protocol):
    """What a hub reads of its store."""

    revision: int
    compact_revision: int

    def since(self, revision: int) -> Iterator[KeyValue]: ...

    def previous(self, kv: KeyValue) -> KeyValue | None: ...


class Channel:
    """Responses on their way to one reader, who takes them from the left of `pending`.

    `on_ready` is called when something is pending again; it must not write. `capacity`: with so many responses waiting
    no more events are taken (None: any number). Answers to what the reader itself asked are always taken.
    """

    def __init__(self, capacity: int | None = None) -> None:
        if capacity is not None and (type(capacity) is not int or capacity < 1):
            raise ValueError(f"capacity is {capacity!r}, expected at least 1, or None")
        self.capacity = capacity
        self.pending: deque[WatchResponse] = deque()
        self.on_ready: Callable[[], None] | None = None

    @property
    def is_full(self) -> bool:
        """No event is taken at present."""
        return self.capacity is not None and len(self.pending) >= self.capacity

    def put(self, response: WatchResponse) -> None:
        self.pending.append(response)
        if len(self.pending) == 1 and self.on_ready is not None:
            self.on_ready()


class Watcher:
    """One watch. Read `pending` from the left; `on_ready` is called when it becomes non-empty and must not write.

    `min_revision` is the first revision the watcher is owed (once synced: unless it got it already). The confirmation
    is pending as soon as the watcher exists. `number` counts the watchers of a store, `watch_id` those of a stream;
    `on_events` is what a stream makes of a response with events.
    """

    def __init__(
        self, hub: WatchHub, number: int, key: bytes, range_end: bytes, channel: Channel, watch_id: int
    ) -> None:
        self.number = number
        self.watch_id = watch_id
        self.key = key
        self.range_end = range_end
        self.upper = None if range_end == FROM_KEY else range_end or key + b"\x00"
        self.min_revision = 0
        self.prev_kv = False
        self.filters: frozenset[EventType] = frozenset()
        self.channel = channel
        self.pending = channel.pending
        self.canceled = False
        self.on_events: Callable[[WatchResponse], Iterable[WatchResponse]] | None = None
        self._hub = hub

    @property
    def on_ready(self) -> Callable[[], None] | None:
        return self.channel.on_ready

    @on_ready.setter
    def on_ready(self, call: Callable[[], None] | None) -> None:
        self.channel.on_ready = call

    @property
    def is_synced(self) -> bool:
        """Has received all of its past."""
        return self.number in self._hub.synced

    def matches(self, key: bytes) -> bool:
        return self.key <= key and (self.upper is None or key < self.upper)

    def cancel(self) -> None:
        """End the watch; a last response says so. Cancelling twice does nothing."""
        if not self.canceled:
            self._hub.cancel(self, WatchResponse(self._hub.history.revision, canceled=True, watch_id=self.watch_id))

    def request_progress(self) -> bool:
        """If synced, queue an empty response: every event up to its revision has been queued before it."""
        if not self.is_synced or self.channel.is_full:
            return False
        self.deliver(WatchResponse(self._hub.history.revision, watch_id=self.watch_id))
        return True

    def deliver(self, response: WatchResponse) -> None:
        if response.events and self.on_events is not None:
            for part in self.on_events(response):
                self.channel.put(part)
        else:
            self.channel.put(response)


class WatchHub:
    """All watchers of a store, by number: `synced`, `unsynced`, and `victims` with what is kept for them."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.synced: dict[int, Watcher] = {}
        self.unsynced: dict[int, Watcher] = {}
        self.victims: dict[int, tuple[Watcher, WatchResponse]] = {}
        self._next_number = 0

    def watch(
        self,
        key: bytes,
        range_end: bytes,
        start_revision: int,
        prev_kv: bool,
        filters: Iterable[str],
        channel: Channel | None = None,
        watch_id: int | None = None,
    ) -> Watcher:
        """A new watcher, unsynced when `start_revision` is not in the future. 0 means from now on."""
        for field, value in zip(_FIELDS, (key, range_end, start_revision), strict=True):
            check_field(field, value)
        if start_revision < 0:
            raise ValueError(f"start_revision is {start_revision}, expected 0 or more")
        if isinstance(filters, str) or not isinstance(filters, Iterable):
            raise TypeError(f"filters is {filters!r}, expected a list of {', '.join(WatchFilter)}")
        filters = tuple(filters)
        for name in filters:
            check_field(_FILTER, name)
        number = self._next_number
        self._next_number += 1
        watcher = Watcher(
            self, number, key or FROM_KEY, range_end, channel or Channel(), number if watch_id is None else watch_id
        )
        current = self.history.revision
        if range_end and range_end != FROM_KEY and watcher.key >= range_end:
            watcher.canceled = True
            watcher.deliver(refusal(current, EMPTY_WATCHER_RANGE))
            return watcher
        watcher.prev_kv = prev_kv
        suppressed = {WatchFilter.NOPUT: EventType.PUT, WatchFilter.NODELETE: EventType.DELETE}
        watcher.filters = frozenset(suppressed[WatchFilter(name)] for name in filters)
        watcher.min_revision = start_revision or current + 1
        group = self.synced if watcher.min_revision > current else self.unsynced
        group[number] = watcher
        watcher.deliver(WatchResponse(current, created=True, watch_id=watcher.watch_id))
        return watcher

    def notify(self, revision: int, changes: Sequence[KeyValue]) -> None:
        """Offer a committed transaction to the synced watchers."""
        found: dict[int, list[KeyValue]] = {}
        for kv in changes:
            key = kv.key
            for watcher in self.synced.values():
                upper = watcher.upper  # as `matches`, without the call: this is the hottest line of a store
                if watcher.key <= key and (upper is None or key < upper) and watcher.min_revision <= revision:
                    found.setdefault(watcher.number, []).append(kv)
        for number, kvs in found.items():
            if number in self.synced:
                watcher = self.synced[number]
                if not self._send(watcher, revision, kvs):
                    del self.synced[number]
                    watcher.min_revision = revision + 1

    def sync(self) -> None:
        """Feed victims and unsynced watchers as far as their channels take it; cancel those whose past is compacted."""
        current = self.history.revision
        for number, (watcher, response) in list(self.victims.items()):
            if number in self.victims and not watcher.channel.is_full:
                del self.victims[number]
                group = self.unsynced if watcher.min_revision <= current else self.synced
                group[number] = watcher
                watcher.deliver(response)
        for number, watcher in list(self.unsynced.items()):
            if number in self.unsynced and not watcher.channel.is_full:
                self._feed(watcher)

    def _feed(self, watcher: Watcher) -> None:
        """An unsynced watcher's past, up to 1,000 revisions at a time, until it is synced or its channel is full."""
        while watcher.number in self.unsynced:
            current, compacted = self.history.revision, self.history.compact_revision
            if watcher.min_revision < compacted:
                end = WatchResponse(0, compact_revision=compacted, canceled=True, watch_id=watcher.watch_id)
                self.cancel(watcher, end)
                return
            past, more = self._past(watcher)
            watcher.min_revision = more or max(watcher.min_revision, current + 1)
            if not self._send(watcher, current, past):
                del self.unsynced[watcher.number]
            elif not more and self.unsynced.pop(watcher.number, None) is not None:
                self.synced[watcher.number] = watcher

    def _past(self, watcher: Watcher) -> tuple[list[KeyValue], int]:
        """What an unsynced watcher is owed, and the first revision that is too much for one response (0: none)."""
        past: list[KeyValue] = []
        revisions = last = 0
        for kv in self.history.since(watcher.min_revision):
            if watcher.matches(kv.key):
                if kv.mod_revision != last:
                    revisions, last = revisions + 1, kv.mod_revision
                    if revisions > BATCH_REVISIONS:
                        return past, kv.mod_revision
                past.append(kv)
        return past, 0

    def restart(self, revision: int) -> None:
        """The history, which went up to `revision`, was replaced by another: every watcher goes on after what it got.

        What it is owed may have been compacted in the new history, or not have happened yet.
        """
        for watcher in self.synced.values():
            watcher.min_revision = max(watcher.min_revision, revision + 1)
        self.unsynced.update(self.synced)
        self.synced.clear()

    def cancel(self, watcher: Watcher, response: WatchResponse) -> None:
        watcher.canceled = True
        self.synced.pop(watcher.number, None)
        self.unsynced.pop(watcher.number, None)
        self.victims.pop(watcher.number, None)
        watcher.deliver(response)

    def watchers(self) -> Iterator[Watcher]:
        """All that are not cancelled."""
        yield from self.synced.values()
        yield from self.unsynced.values()
        yield from (watcher for watcher, _ in self.victims.values())

    def view(self) -> dict[str, Any]:
        """Number → key interval, whether synced, next revision, responses waiting."""
        return {
            str(watcher.number): {
                "key": watcher.key.decode("latin-1"),
                "range_end": watcher.range_end.decode("latin-1"),
                "synced": watcher.is_synced,
                "min_revision": watcher.min_revision,
                "pending": len(watcher.pending),
            }
            for watcher in self.watchers()
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        numbers = [watcher.number for watcher in self.watchers()]
        assert len(numbers) == len(set(numbers)), f"of watchers {numbers} some are synced and unsynced, or victims"
        for watcher, response in self.victims.values():
            assert watcher.channel.capacity is not None, f"watcher {watcher.number} is a victim without a limit"
            assert response.events, f"watcher {watcher.number} is a victim for nothing"
        for watcher in self.watchers():
            assert not watcher.canceled, f"cancelled watcher {watcher.number} is still registered"

    def _send(self, watcher: Watcher, revision: int, changes: Iterable[KeyValue]) -> bool:
        """Deliver the events that the watcher wants; False makes it a victim, with these events kept for it."""
        events = []
        for kv in changes:
            kind = EventType.PUT if kv.version else EventType.DELETE
            if kind in watcher.filters:
                continue
            is_create = kv.create_revision == kv.mod_revision
            events.append(Event(kind, kv, self.history.previous(kv) if watcher.prev_kv and not is_create else None))
        if not events:
            return True
        response = WatchResponse(revision, tuple(events), watch_id=watcher.watch_id)
        if watcher.channel.is_full:
            self.victims[watcher.number] = (watcher, response)
            return False
        watcher.deliver(response)
        return True


def refusal(revision: int, reason: str) -> WatchResponse:
    """The answer to a request for a watch that never could begin."""
    return WatchResponse(revision, created=True, canceled=True, cancel_reason=reason, watch_id=-1)
