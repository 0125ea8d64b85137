"""Open watches, as a client holds them: events on their way, in order, with the delays and faults of a connection.

Upstream: apiserver/pkg/endpoints/handlers/watch.go, apiserver/pkg/storage/cacher/cache_watcher.go
Simplified: a watch that has more than `buffer` events on the way is closed (upstream waits a little first); a
    connection that is cut is given up after 45 s, as HTTP/2 pings do it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from k8slab.api.errors import StatusError
from k8slab.api.objects import Frozen, freeze, key_of
from k8slab.api.scheme import GVK
from k8slab.api.transport import StreamClosedError, WatchEvent
from k8slab.apiserver.watchcache import CacheEvent, CacheWatch
from k8slab.sim import Loop, Mailbox

__all__ = ["Connection", "EventStream"]

BOOKMARK_MS = 60_000
BOOKMARK_LEAD_MS = 2_000
RETRY_MS = 200
GIVE_UP_MS = 45_000
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def _no_delay() -> int:
    return 0


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Connection:
    """The way to one client: `delay()` in ms for the next event, `blocked()` while nothing gets through."""

    lane: str = "you"
    client: str = "you"
    delay: Callable[[], int] = _no_delay
    blocked: Callable[[], bool] = _never


class EventStream:
    """A `WatchStream`: `await next()`, `close()`."""

    def __init__(
        self,
        loop: Loop,
        watch: CacheWatch,
        gvk: GVK,
        connection: Connection,
        *,
        convert: Callable[[Frozen], Frozen] | None = None,
        revision: Callable[[], int] | None = None,
        buffer: int = 1_000,
        traced: bool = True,
        on_close: Callable[[EventStream], None] | None = None,
    ) -> None:
        self.watch = watch
        self.gvk = gvk
        self.connection = connection
        self._loop = loop
        self._convert = convert
        self._revision = revision
        self._buffer = buffer
        self._traced = traced and loop.trace.on
        self._on_close = on_close
        self._inbox: Mailbox[WatchEvent] = Mailbox(loop)
        self._outbox: deque[tuple[int, WatchEvent]] = deque()
        self._scheduled = False
        self._last_due = 0
        self._stalled_since: int | None = None
        self._ending = ""
        self.closed = False
        watch.on_event = self._pull
        watch.on_close = lambda: self._finish("the cache begins anew")

    # -- the client's side -------------------------------------------------------------------------

    async def next(self) -> WatchEvent:
        """The next event; the cause of what follows is the commit it tells of. Raises StreamClosedError."""
        event = await self._inbox.get()
        trace = self._loop.trace
        trace.current = event.cause
        if self._traced and event.type not in ("BOOKMARK", "ERROR"):
            metadata = event.object["metadata"]
            trace.emit(
                "watch.event",
                self.connection.lane,
                type=event.type,
                resource=self.watch.cache.resource,
                key=key_of(event.object),
                revision=int(metadata["resourceVersion"]),
                stream=self.watch.number,
            )
        return event

    def close(self) -> None:
        """The client stops watching."""
        self._finish("the client closed it", immediately=True)

    # -- the server's side -------------------------------------------------------------------------

    def send_error(self, error: StatusError) -> None:
        """One ERROR event, then the end."""
        self._send(WatchEvent("ERROR", freeze(error.status())))
        self._finish(error.message)

    def send_bookmark(self, *, initial_events_end: bool = False) -> None:
        """Tell how far the cache is."""
        revision = self.watch.cache.revision if self._revision is None else self._revision()
        metadata: dict[str, object] = {"resourceVersion": str(revision)}
        if initial_events_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        bookmark = {"kind": self.gvk.kind, "apiVersion": self.gvk.api_version, "metadata": metadata}
        self._send(WatchEvent("BOOKMARK", freeze(bookmark)))

    def keep_time(self, timeout_ms: int, *, bookmarks: bool) -> None:
        """End the stream after `timeout_ms`; until then a bookmark every minute, and one before the end."""
        self._later(timeout_ms, lambda: self._finish("its time is over"))
        if bookmarks:
            self._plan_bookmark(self._loop.clock.now_ms + timeout_ms - BOOKMARK_LEAD_MS)

    def end(self, why: str) -> None:
        """The server ends the stream; what is on its way still arrives."""
        self._finish(why)

    def _plan_bookmark(self, last_ms: int) -> None:
        left = last_ms - self._loop.clock.now_ms
        if left > 0:
            self._later(min(BOOKMARK_MS, left), lambda: self._bookmark(last_ms))

    def _bookmark(self, last_ms: int) -> None:
        self.send_bookmark()
        self._plan_bookmark(last_ms)

    def _later(self, ms: int, call: Callable[[], None]) -> None:
        def unless_closed() -> None:
            if not self.closed:
                call()

        self._loop.call_later(ms, unless_closed, periodic=True)

    def _pull(self) -> None:
        """The cache has put events into the watch."""
        pending = self.watch.pending
        while pending and not self.closed:
            self._send(self._event(pending.popleft()))

    def _event(self, event: CacheEvent) -> WatchEvent:
        obj = event.object if self._convert is None else self._convert(event.object)
        return WatchEvent(event.type, obj, self._loop.trace.of_revision.get(event.revision))

    def _send(self, event: WatchEvent) -> None:
        if self._ending or self.closed:
            return
        now = self._loop.clock.now_ms
        due = max(self._last_due, now + self.connection.delay())
        self._last_due = due
        if due <= now and not self._outbox and not self.connection.blocked():
            self._inbox.put(event)
        else:
            self._outbox.append((due, event))
            self._schedule(due - now)
        if len(self._outbox) + len(self._inbox.items) > self._buffer:
            self._finish("the client is too slow")

    def _schedule(self, ms: int, *, periodic: bool = False) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_later(ms, self._flush, periodic=periodic)

    def _flush(self) -> None:
        """What is due arrives, if the connection lets it through."""
        self._scheduled = False
        now = self._loop.clock.now_ms
        if not self._outbox:
            return
        if self.connection.blocked():
            self._stall(now)
            return
        self._stalled_since = None
        while self._outbox and self._outbox[0][0] <= now:
            self._inbox.put(self._outbox.popleft()[1])
        if self._outbox:
            self._schedule(self._outbox[0][0] - now)
        elif self._ending:
            self._shut()

    def _stall(self, now: int) -> None:
        if self._stalled_since is None:
            self._stalled_since = now
        if now - self._stalled_since >= GIVE_UP_MS:
            self._outbox.clear()
            self._finish("the connection is lost", immediately=True)
            return
        self._schedule(RETRY_MS, periodic=True)

    def _finish(self, why: str, *, immediately: bool = False) -> None:
        if self.closed:
            return
        if not self._ending:
            self._ending = why
            self.watch.close()
            if self._traced:
                self._loop.trace.emit(
                    "watch.close",
                    self.connection.lane,
                    resource=self.watch.cache.resource,
                    client=self.connection.client,
                    why=why,
                )
        if immediately or not self._outbox:
            self._shut()

    def _shut(self) -> None:
        self.closed = True
        self._outbox.clear()
        self._inbox.close(StreamClosedError(f"watch of {self.watch.cache.resource}: {self._ending}"))
        if self._on_close is not None:
            self._on_close(self)
