"""Several watches over one connection, with one queue of answers.

>>> from k8slab.etcd import Store
>>> store = Store()
>>> stream = store.watch_stream()
>>> stream.watch(b"a"), stream.watch(b"b", watch_id=7)
(0, 7)
>>> store.put(b"b", b"1").revision, stream.request_progress()
(2, True)
>>> [(r.watch_id, r.revision, r.created, len(r.events)) for r in stream.receive()]
[(0, 1, True, 0), (7, 1, True, 0), (7, 2, False, 1), (-1, 2, False, 0)]

The queue holds 128 responses. A reader that lets it fill up makes its watchers victims (see `watch`): nothing is lost,
nothing grows, and what is missing is fed from the history when the reader has made room, unless compaction was faster.

The owner's duties: call `tick` from time to time for progress nobody asked for, and `close` at the end.

3.5.8 mended a bug: before, an answer to a request for progress could overtake the events that it vouches for.
`early_progress=True` has it still. The API server trusts such answers, and refuses to with an older etcd.

Upstream: etcd server/storage/mvcc/watcher.go (watchStream), server/etcdserver/api/v3rpc/watch.go (serverWatchStream),
CHANGELOG-3.5.md (3.5.8, #15695); kubernetes apiserver/pkg/storage/feature/feature_support_checker.go
Simplified: answers stand in the order in which they were made, where etcd's answers to requests may overtake events.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from k8slab.etcd.errors import DUPLICATE_WATCH_ID
from k8slab.etcd.fields import Field, check_field
from k8slab.etcd.messages import Event, WatchResponse
from k8slab.etcd.watch import Channel, Watcher, WatchHub, refusal
from k8slab.etcd.wire import encode_kv
from k8slab.sim.clock import milliseconds

__all__ = ["PROGRESS_INTERVAL_MS", "STREAM_CAPACITY", "WatchStream"]

STREAM_CAPACITY = 128
"""Responses that wait for a reader before its watchers become victims."""

PROGRESS_INTERVAL_MS = 600_000
"""`--experimental-watch-progress-notify-interval`; 100 ms at least."""

MIN_PROGRESS_INTERVAL_MS = 100
FRAGMENT_BYTES = 1_572_864 + 512 * 1024
_WATCH_ID = Field(7, "watch_id", "int")
_EVENT_BYTES = 16  # tags, lengths and type of an event


class WatchStream:
    """Made by `Store.watch_stream()`. Read `pending` from the left, or `receive()`; `on_ready` as for a Watcher.

    `rng` adds up to a tenth to the interval of progress notifications, so that streams made together don't notify
    together.

    TypeError, ValueError: an argument that is none of these, an interval below 1 ms.
    """

    def __init__(
        self,
        hub: WatchHub,
        capacity: int = STREAM_CAPACITY,
        *,
        now_ms: int = 0,
        progress_interval_ms: int = PROGRESS_INTERVAL_MS,
        rng: random.Random | None = None,
        early_progress: bool = False,
    ) -> None:
        if not isinstance(hub, WatchHub):
            raise TypeError(f"hub is {hub!r}, expected a WatchHub, as Store.watch_stream() gives")
        if not isinstance(rng, random.Random | None):
            raise TypeError(f"rng is {rng!r}, expected a random.Random")
        milliseconds("progress_interval_ms", progress_interval_ms, least=1)
        interval = max(progress_interval_ms, MIN_PROGRESS_INTERVAL_MS)
        self.channel = Channel(capacity)
        self.pending = self.channel.pending
        self.interval_ms = interval + (rng.randrange(interval // 10) if rng is not None else 0)
        self.next_tick_ms = now_ms + self.interval_ms
        self.early_progress = early_progress
        self.watchers: dict[int, Watcher] = {}
        self.closed = False
        self.hub = hub
        self._next_id = 0
        self._quiet: dict[int, bool] = {}
        self._progress_requests = 0
        self._now_ms = milliseconds("now_ms", now_ms)

    @property
    def on_ready(self) -> Callable[[], None] | None:
        return self.channel.on_ready

    @on_ready.setter
    def on_ready(self, call: Callable[[], None] | None) -> None:
        self.channel.on_ready = call

    def watch(
        self,
        key: bytes,
        range_end: bytes = b"",
        *,
        watch_id: int = 0,
        start_revision: int = 0,
        prev_kv: bool = False,
        filters: Iterable[str] = (),
        progress_notify: bool = False,
        fragment: bool = False,
    ) -> int:
        """Begin a watch; returns its id, or -1 if it was refused: the response that says so tells why.

        `watch_id` 0: the stream chooses the next free one, from 0 on. The past is fed by `sync`. `fragment`: a
        response of more than 2 MiB comes in several.
        """
        if self.closed:
            raise ValueError("the watch stream is closed, expected an open one")
        check_field(_WATCH_ID, watch_id)
        if watch_id == 0:
            while self._next_id in self.watchers:
                self._next_id += 1
            chosen = self._next_id
        elif watch_id in self.watchers:
            self.channel.put(refusal(self.hub.history.revision, DUPLICATE_WATCH_ID))
            return -1
        else:
            chosen = watch_id
        watcher = self.hub.watch(key, range_end, start_revision, prev_kv, filters, self.channel, chosen)
        if watcher.canceled:
            return -1
        if watch_id == 0:
            self._next_id += 1
        self.watchers[chosen] = watcher
        if progress_notify:
            self._quiet[chosen] = True
        watcher.on_events = self._on_events(fragment)
        return chosen

    def cancel(self, watch_id: int) -> bool:
        """End a watch; a response confirms it. False, and no response, if there is none of this id."""
        check_field(_WATCH_ID, watch_id)
        watcher = self.watchers.pop(watch_id, None)
        if watcher is None:
            return False
        self._quiet.pop(watch_id, None)
        if not watcher.canceled:
            watcher.cancel()
        else:  # compaction ended it: upstream knows its id until the client cancels it too
            self.channel.put(WatchResponse(self.hub.history.revision, canceled=True, watch_id=watch_id))
        return True

    def request_progress(self) -> bool:
        """Ask how far the stream is: one response with watch id -1, as soon as all its watchers are synced.

        Every event up to its revision stands before it. Returns whether it was given at once.
        """
        self._progress_requests += 1
        if self.early_progress:
            self._answer_progress()
        else:
            self.sync()
        return self._progress_requests == 0

    def sync(self) -> None:
        """Feed the watchers from the history as far as there is room. etcd does this every 100 ms."""
        self.hub.sync()
        if self._progress_requests and all(w.is_synced or w.canceled for w in self.watchers.values()):
            self._answer_progress()

    def _answer_progress(self) -> None:
        for _ in range(self._progress_requests):
            self.channel.put(WatchResponse(self.hub.history.revision, watch_id=-1))
        self._progress_requests = 0

    def tick(self, now_ms: int) -> int:
        """Notify of progress what is due by now; returns how many watchers were notified.

        Due is a synced watcher with `progress_notify` that got no event since the last time. ValueError when time runs
        backwards.
        """
        self._now_ms = milliseconds("now_ms", now_ms, least=self._now_ms)
        if now_ms < self.next_tick_ms:
            return 0
        self.next_tick_ms = now_ms + self.interval_ms
        quiet = [id for id, is_quiet in self._quiet.items() if is_quiet]
        notified = sum(self.watchers[id].request_progress() for id in quiet)
        self._quiet = dict.fromkeys(self._quiet, True)
        return notified

    def receive(self) -> list[WatchResponse]:
        """Take everything that is pending, and feed what waited for room."""
        taken = list(self.pending)
        self.pending.clear()
        self.sync()
        return taken

    def close(self) -> None:
        """Cancel all watches; nothing more is sent."""
        self.closed = True
        self.channel.on_ready = None
        for watcher in self.watchers.values():
            if not watcher.canceled:
                watcher.cancel()
        self.watchers.clear()
        self._quiet.clear()
        self.pending.clear()

    def view(self) -> dict[str, Any]:
        """Watch id → what it watches and how far it is."""
        return {
            str(id): {
                "key": watcher.key.decode("latin-1"),
                "range_end": watcher.range_end.decode("latin-1"),
                "state": self._state(watcher),
                "min_revision": watcher.min_revision,
            }
            for id, watcher in self.watchers.items()
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        for id, watcher in self.watchers.items():
            assert watcher.watch_id == id, f"watcher {watcher.watch_id} is kept under {id}"
            assert watcher.channel is self.channel, f"watcher {id} answers elsewhere"
            assert watcher.canceled == (self._state(watcher) == "canceled"), f"watcher {id} is nowhere"
        assert all(id in self.watchers for id in self._quiet), "a watch that is gone is to be notified"
        assert not (self.closed and self.watchers), "the stream is closed and still watches"

    def _state(self, watcher: Watcher) -> str:
        groups: dict[str, Mapping[int, object]] = {
            "synced": self.hub.synced,
            "unsynced": self.hub.unsynced,
            "victim": self.hub.victims,
        }
        return next((name for name, group in groups.items() if watcher.number in group), "canceled")

    def _on_events(self, fragment: bool) -> Callable[[WatchResponse], Iterable[WatchResponse]]:
        def heard(response: WatchResponse) -> Iterable[WatchResponse]:
            if response.watch_id in self._quiet:
                self._quiet[response.watch_id] = False
            return fragments(response) if fragment else (response,)

        return heard


def fragments(response: WatchResponse, most: int = FRAGMENT_BYTES) -> Iterator[WatchResponse]:
    """A response in parts of less than `most` bytes, or of one event; all but the last are marked."""
    part: list[Event] = []
    size = 0
    for event in response.events:
        bytes_ = _EVENT_BYTES + sum(len(encode_kv(kv)) for kv in (event.kv, event.prev_kv) if kv is not None)
        if part and size + bytes_ >= most:
            yield response._replace(events=tuple(part), fragment=True)
            part, size = [], 0
        part.append(event)
        size += bytes_
    yield response._replace(events=tuple(part))
