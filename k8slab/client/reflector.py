"""The reflector: list, then watch, for ever, and put what comes into a FIFO.

    list ──> replace                     the state at one revision
      └─> watch ──> add, update, delete  every change after it
             ├─ closed by the server:    watch again from the last revision seen
             ├─ 410 Gone, other errors:  wait, list again (not older than what was seen)
             └─ nothing within 1 s:      list again (a watch that short is suspicious)

Upstream: staging/src/k8s.io/client-go/tools/cache/reflector.go
Simplified: WatchListClient is off unless `watch_list=True`; the first list is consistent, as a watch-list is
(upstream's plain list takes resourceVersion=0, any state: `first_list="0"`). Lists are paged only if `page_size` is
set. Internal errors of a watch are not retried without a list (MaxInternalErrorRetryDuration is 0, as upstream).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.api.errors import StatusError, TooManyRequestsError, error_of_status
from k8slab.api.objects import Object, freeze, key_of
from k8slab.api.scheme import GVR
from k8slab.api.transport import StreamClosedError, WatchEvent, WatchStream
from k8slab.client.client import Client
from k8slab.client.delta import Fifo
from k8slab.client.wait import Backoff, BackoffManager
from k8slab.sim.loop import Loop, Waiters, sleep

__all__ = ["Reflector", "ReflectorOptions"]

BACKOFF = Backoff(duration_ms=800, factor=2.0, jitter=1.0, steps=38, cap_ms=30_000)
BACKOFF_RESET_MS = 120_000
MIN_WATCH_TIMEOUT_S = 300
SHORT_WATCH_MS = 1_000
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """What to reflect, and how.

    `first_list`: the resourceVersion of the first list, "" (consistent) or "0" (any state, perhaps an old one).
    `watch_list`: take the first state from the watch itself (sendInitialEvents), falling back to a list.
    `page_size`: objects a page, 0 for whole lists. `allow_watch_bookmarks`: let the server say "nothing changed up
    to here", which keeps the last revision young.
    """

    namespace: str = ""
    field_selector: str = ""
    label_selector: str = ""
    first_list: str = ""
    watch_list: bool = False
    page_size: int = 0
    allow_watch_bookmarks: bool = True

    def selectors(self) -> dict[str, str]:
        return {"label_selector": self.label_selector, "field_selector": self.field_selector}


class Reflector:
    """Keeps `fifo` fed with the changes of one resource. `lane` is the actor of its trace events."""

    def __init__(
        self,
        loop: Loop,
        client: Client,
        gvr: GVR,
        fifo: Fifo,
        *,
        name: str,
        lane: str,
        options: ReflectorOptions | None = None,
    ) -> None:
        self.loop = loop
        self.client = client
        self.gvr = gvr
        self.fifo = fifo
        self.name = name
        self.lane = lane
        self.options = options if options is not None else ReflectorOptions()
        self.filled = Waiters(loop)
        self.last_sync_resource_version = ""
        self.stream: WatchStream | None = None
        self._unavailable = False  # the server no longer has the last revision: list without naming one
        self._rng = loop.stream(f"reflector/{name}")
        self._backoff = BackoffManager(BACKOFF, BACKOFF_RESET_MS, loop.clock, self._rng)
        self._why = ""

    async def run(self) -> None:
        """List and watch until cancelled, waiting longer after every failure."""
        while True:
            try:
                self._why = await self.list_and_watch()
            except (StatusError, TimeoutError, ConnectionError, StaleListError) as error:
                self._why = _text(error)
                self.loop.trace.emit("list.error", self.lane, resource=self._resource, why=self._why)
            await sleep(self._backoff.step())

    def close(self) -> None:
        """Close the stream that is open. Cancelling `run` does it too."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    async def list_and_watch(self) -> str:
        """One list and the watch after it. Returns why the watch ended; raises what the list raised."""
        if self._why:
            revision = int(self.last_sync_resource_version or "0")
            self.loop.trace.emit("relist", self.lane, resource=self._resource, revision=revision, why=self._why)
        try:
            if not (self.options.watch_list and await self._watch_list()):
                await self._list()
            return await self._watch()
        finally:
            self.close()

    @property
    def _resource(self) -> str:
        return self.gvr.group_resource

    # -- the list --------------------------------------------------------------------------------------

    def relist_resource_version(self) -> str:
        """The resourceVersion to list at: the last one seen, so that the answer is not older; "" (the newest
        there is) when the server no longer has that."""
        if self._unavailable:
            return ""
        return self.last_sync_resource_version or self.options.first_list

    async def _list(self) -> None:
        asked = self.relist_resource_version()
        try:
            items, metadata = await self._pages(asked)
        except StatusError as error:
            if not (is_expired(error) or is_too_large_resource_version(error)):
                raise
            self._unavailable = True
            asked = ""
            items, metadata = await self._pages(asked)
        revision = str(metadata.get("resourceVersion", ""))
        if asked not in ("", "0") and _number(revision) < _number(asked):
            raise StaleListError(revision, asked)
        self._unavailable = False
        self._replace(items, revision)

    async def _pages(self, resource_version: str) -> tuple[list[Object], Mapping[str, Any]]:
        """All pages of a list. A continue token that expired starts over, without pages."""
        params: dict[str, Any] = {**self.options.selectors(), "resource_version": resource_version}
        if self.options.page_size and resource_version in ("", "0"):
            params["limit"] = self.options.page_size
        page = await self.client.list(self.gvr, self.options.namespace, **params)
        items = _items(page)
        token = page["metadata"].get("continue")
        while token:
            following = {**self.options.selectors(), "limit": self.options.page_size, "continue_": token}
            try:
                page = await self.client.list(self.gvr, self.options.namespace, **following)
            except StatusError as error:
                if not is_expired(error):
                    raise
                page = await self.client.list(self.gvr, self.options.namespace, **self.options.selectors())
                items = []
            items += _items(page)
            token = page["metadata"].get("continue")
        return items, page["metadata"]

    def _replace(self, items: list[Object], revision: str) -> None:
        self.fifo.replace(items, revision, self.loop.trace.current)
        self.last_sync_resource_version = revision
        self.filled.wake()

    # -- the watch ---------------------------------------------------------------------------------------

    async def _watch(self) -> str:
        """Watch until something goes wrong; returns what. A watch that merely ended is opened again at once."""
        while True:
            if self.stream is None:
                try:
                    self.stream = await self._open(self.last_sync_resource_version)
                except (TooManyRequestsError, ConnectionRefusedError):
                    await sleep(self._backoff.step())
                    continue
            why = await self._follow()
            self.close()
            revision = _number(self.last_sync_resource_version)
            self.loop.trace.emit(
                "watch.end", self.lane, resource=self._resource, revision=revision, why=_text(why) if why else "closed"
            )
            if isinstance(why, TooManyRequestsError):
                await sleep(self._backoff.step())
            elif why is not None:
                return _text(why)

    async def _open(self, resource_version: str, **params: Any) -> WatchStream:
        timeout = MIN_WATCH_TIMEOUT_S + int(self._rng.random() * MIN_WATCH_TIMEOUT_S)
        return await self.client.watch(
            self.gvr,
            self.options.namespace,
            **self.options.selectors(),
            resource_version=resource_version,
            timeout_seconds=timeout,
            allow_watch_bookmarks=self.options.allow_watch_bookmarks,
            **params,
        )

    async def _follow(self) -> Exception | None:
        """Put what the open stream brings into the FIFO. Returns the error that ended it, None if it just ended."""
        assert self.stream is not None
        start, count = self.loop.clock.now_ms, 0
        while True:
            try:
                event = await self.stream.next()
            except StreamClosedError:
                short = self.loop.clock.now_ms - start < SHORT_WATCH_MS and count == 0
                return VeryShortWatchError(self.name) if short else None
            if event.type == "ERROR":
                return error_of_status(event.object)
            self._take(event)
            count += 1

    def _take(self, event: WatchEvent) -> None:
        revision = str(event.object["metadata"].get("resourceVersion", ""))
        cause = self.loop.trace.current
        if event.type == "ADDED":
            self.fifo.add(freeze(event.object), cause)
        elif event.type == "MODIFIED":
            self.fifo.update(freeze(event.object), cause)
        elif event.type == "DELETED":
            self.fifo.delete(freeze(event.object), cause)
        elif event.type == "BOOKMARK":
            self.fifo.bookmark(revision, cause)
        else:
            raise ValueError(f"watch event type {event.type!r}: expected ADDED, MODIFIED, DELETED, BOOKMARK or ERROR")
        if revision:
            self.last_sync_resource_version = revision
        self.filled.wake()

    # -- the watch-list ------------------------------------------------------------------------------------

    async def _watch_list(self) -> bool:
        """Take the first state from a watch and leave that open. False: it did not work, list instead."""
        revision = "" if self._unavailable else self.last_sync_resource_version
        try:
            self.stream = await self._open(revision, send_initial_events=True, resource_version_match="NotOlderThan")
            objects: dict[str, Object] = {}
            while True:
                event = await self.stream.next()
                if event.type == "ERROR":
                    raise error_of_status(event.object)
                if event.type == "BOOKMARK":
                    metadata = event.object["metadata"]
                    if (metadata.get("annotations") or {}).get(INITIAL_EVENTS_END) == "true":
                        break
                elif event.type == "DELETED":
                    objects.pop(key_of(event.object), None)
                else:
                    objects[key_of(event.object)] = freeze(event.object)
        except (StatusError, TimeoutError, ConnectionError, StreamClosedError) as error:
            self.close()
            if isinstance(error, StatusError) and (is_expired(error) or is_too_large_resource_version(error)):
                self._unavailable = True
            return False
        self._unavailable = False
        self._replace(list(objects.values()), str(metadata.get("resourceVersion", "")))
        return True


class StaleListError(Exception):
    """The server answered with a list older than it was asked for: taking it would put the cache back in time."""

    def __init__(self, revision: str, asked: str) -> None:
        super().__init__(f"the list is of revision {revision}, older than {asked} which was asked for")


class VeryShortWatchError(Exception):
    """A watch ended within a second and brought nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"very short watch: {name}: Unexpected watch close - watch lasted less than a second and no items received"
        )


def is_expired(error: StatusError) -> bool:
    """410: the revision asked for is no longer there."""
    return error.reason in ("Expired", "Gone")


def is_too_large_resource_version(error: StatusError) -> bool:
    """504 because the server has not got that far (it was restarted, or it is another one)."""
    if error.reason != "Timeout":
        return False
    causes = (error.details or {}).get("causes") or ()
    if any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes):
        return True
    text = "Too large resource version"
    return any(cause.get("message") == text for cause in causes) or text in error.message


def _items(page: Object) -> list[Object]:
    """The items of a list, read-only, each with its apiVersion and kind (servers may leave them to the list)."""
    kind = str(page.get("kind", "")).removesuffix("List")
    found = []
    for item in page.get("items") or ():
        if "kind" not in item or "apiVersion" not in item:
            item = {"apiVersion": page.get("apiVersion", ""), "kind": kind, **item}
        found.append(freeze(item))
    return found


def _number(revision: str) -> int:
    return int(revision) if revision.isdecimal() else 0


def _text(error: Exception) -> str:
    return str(error)[:80] or type(error).__name__
