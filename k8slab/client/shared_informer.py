"""The shared informer: a reflector fills a FIFO, a second task empties it into the cache and tells the handlers.

    API server ──watch──> reflector ──> RealFIFO ──pop──> indexer
                                                      └─> handlers ──> work queues

Handlers are plain functions. They never wait; they read caches and add keys to queues.

Upstream: staging/src/k8s.io/client-go/tools/cache/shared_informer.go, controller.go (processDeltas)
Simplified: handlers run in the task that pops, one after the other (upstream gives each a buffer and a goroutine of
its own); one resync period for all handlers of an informer; a handler of a deletion gets the last state that was
seen, never a DeletedFinalStateUnknown around it; no transformers, no batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from k8slab.api.objects import Object, key_of
from k8slab.api.scheme import GVR
from k8slab.client.client import Client
from k8slab.client.delta import (
    BookmarkInfo,
    DeletedFinalStateUnknown,
    Delta,
    DeltaType,
    Fifo,
    ReplacedAllInfo,
    delta_key,
)
from k8slab.client.delta_fifo import DeltaFIFO
from k8slab.client.indexer import Indexer, IndexFunc
from k8slab.client.real_fifo import RealFIFO
from k8slab.client.reflector import Reflector, ReflectorOptions
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop, Task, Waiters, pause, sleep

__all__ = ["Handler", "SharedInformer", "SharedInformerFactory", "fifo_kind"]


class Handler(NamedTuple):
    """One listener of an informer: any of three functions, and a filter (an object that starts to pass it is an
    add, one that no longer passes is a delete)."""

    on_add: Callable[[Object, bool], None] | None = None
    on_update: Callable[[Object, Object], None] | None = None
    on_delete: Callable[[Object], None] | None = None
    filter: Callable[[Object], bool] | None = None

    def add(self, obj: Object, is_initial: bool) -> None:
        if self.on_add is not None and (self.filter is None or self.filter(obj)):
            self.on_add(obj, is_initial)

    def update(self, old: Object, new: Object) -> None:
        was, passes = (True, True) if self.filter is None else (self.filter(old), self.filter(new))
        if was and passes:
            if self.on_update is not None:
                self.on_update(old, new)
        elif passes and self.on_add is not None:
            self.on_add(new, False)
        elif was and self.on_delete is not None:
            self.on_delete(old)

    def delete(self, obj: Object) -> None:
        if self.on_delete is not None and (self.filter is None or self.filter(obj)):
            self.on_delete(obj)


class SharedInformer:
    """The cache of one resource (or a part of it) and whoever wants to hear of changes.

    `fifo`: "real" (1.36: one delta a change, a list is one delta), "in-order" (1.33 to 1.35: RealFIFO without atomic
    events) or "delta" (before: DeltaFIFO).
    """

    def __init__(
        self,
        loop: Loop,
        component: Component,
        client: Client,
        gvr: GVR,
        *,
        name: str = "",
        lane: str = "",
        resync_ms: int = 0,
        fifo: str = "real",
        options: ReflectorOptions | None = None,
    ) -> None:
        self.loop = loop
        self.component = component
        self.gvr = gvr
        self.name = name or gvr.resource
        self.lane = lane or f"{component.name}/informers"
        self.resync_ms = resync_ms
        self.indexer = Indexer(track_resource_version=fifo == "real")
        self.fifo = new_fifo(fifo, self.indexer)
        self.reflector = Reflector(
            loop, client, gvr, self.fifo, name=f"{component.name}/{self.name}", lane=self.lane, options=options
        )
        self.handlers: list[Handler] = []
        self.started = False
        self._synced = Waiters(loop)

    # -- using it ------------------------------------------------------------------------------------

    def add_event_handler(
        self,
        on_add: Callable[[Object, bool], None] | None = None,
        on_update: Callable[[Object, Object], None] | None = None,
        on_delete: Callable[[Object], None] | None = None,
        filter: Callable[[Object], bool] | None = None,
    ) -> Handler:
        """Hear of changes: `on_add(obj, is_initial)`, `on_update(old, new)`, `on_delete(obj)`. To a handler that
        comes late, every object in the cache is an initial add."""
        handler = Handler(on_add, on_update, on_delete, filter)
        self.handlers.append(handler)
        for obj in self.indexer.list():
            handler.add(obj, True)
        return handler

    def remove_event_handler(self, handler: Handler) -> None:
        """Hear no more. Unknown handlers are ignored."""
        self.handlers = [known for known in self.handlers if known is not handler]

    def add_index(self, name: str, function: IndexFunc) -> None:
        """Add an index to the cache, as `Indexer.add_index`."""
        self.indexer.add_index(name, function)

    @property
    def has_synced(self) -> bool:
        """The first list was popped: the cache holds it and the handlers heard of it."""
        return self.fifo.has_synced

    async def wait_synced(self) -> None:
        """Wait until `has_synced`."""
        while not self.has_synced:
            await pause(self._synced)

    @property
    def last_sync_resource_version(self) -> str:
        """The newest revision that the reflector has seen (the cache may be behind: `indexer` has its own)."""
        return self.reflector.last_sync_resource_version

    def start(self) -> None:
        """Start the tasks `<component>/<name>/reflector` and `<component>/<name>/informer`. Idempotent."""
        if self.started:
            return
        self.started = True
        self.spawn("reflector", self.reflector.run())
        self.spawn("informer", self.run())
        self.component.on_close(self.reflector.close)
        if self.resync_ms > 0:
            self.spawn("resync", self._resync())

    def spawn(self, role: str, coro: Any) -> Task:
        return self.component.spawn(f"{self.name}/{role}", coro)

    async def run(self) -> None:
        """Pop for ever. Each pop is one action."""
        while True:
            while not len(self.fifo):
                if self.has_synced:
                    self._synced.wake()
                await pause(self.reflector.filled)
            self.fifo.pop(self.process)
            if len(self.fifo):
                if self.has_synced:
                    self._synced.wake()
                await pause()

    async def _resync(self) -> None:
        while True:
            await sleep(self.resync_ms, periodic=True)
            self.loop.trace.current = None
            self.fifo.resync()
            self.reflector.filled.wake()

    # -- one pop -------------------------------------------------------------------------------------

    def process(self, deltas: list[Delta], is_initial: bool) -> None:
        """Bring the cache up to date with `deltas`, oldest first, and tell the handlers. Sets the ambient cause."""
        for delta in deltas:
            self.loop.trace.current = delta.cause
            payload: Any = delta.object
            if isinstance(payload, ReplacedAllInfo):
                self._replaced_all(payload, is_initial)
            elif isinstance(payload, BookmarkInfo):
                self.indexer.bookmark(payload.resource_version)
            elif delta.type is DeltaType.SYNC_ALL:
                self._sync_all()
            elif delta.type is DeltaType.DELETED:
                self._deleted(payload)
            else:
                self._changed(delta.type, payload, is_initial)

    def _changed(self, delta: DeltaType, obj: Object, is_initial: bool) -> None:
        key = key_of(obj)
        old = self.indexer.get(key)
        self.indexer.update(obj)
        self._trace_update(delta.value, key, obj)
        if old is None:
            self._tell(lambda handler: handler.add(obj, is_initial))
        else:
            before = old
            self._tell(lambda handler: handler.update(before, obj))

    def _deleted(self, payload: Any) -> None:
        key = delta_key(payload)
        known = self.indexer.get(key)
        unknown = isinstance(payload, DeletedFinalStateUnknown)
        last = payload.object if unknown else payload
        obj = last if last is not None else known
        self.indexer.delete(key, "" if unknown else payload["metadata"].get("resourceVersion", ""))
        if obj is not None:
            self._trace_update("Deleted", key, obj)
            self._tell(lambda handler: handler.delete(obj))

    def _replaced_all(self, info: ReplacedAllInfo, is_initial: bool) -> None:
        """Deletions first, then updates and adds in the order of the list, as upstream."""
        before = {key: self.indexer.get(key) for key in self.indexer}
        now = {key_of(obj): obj for obj in info.objects}
        self.indexer.replace(info.objects, info.resource_version)
        revision = int(info.resource_version) if info.resource_version.isdecimal() else 0
        trace = self.loop.trace
        trace.emit(
            "cache.replace", self.lane, resource=self.gvr.group_resource, count=len(info.objects), revision=revision
        )
        cause = trace.current
        for key, old in before.items():
            if old is not None and key not in now:
                gone = old
                self._tell(lambda handler, gone=gone: handler.delete(gone))  # type: ignore[misc]
        for key, obj in now.items():
            was = before.get(key)
            trace.current = trace.of_revision.get(_revision(obj), cause)
            if was is None:
                self._tell(lambda handler, obj=obj: handler.add(obj, is_initial))  # type: ignore[misc]
            else:
                self._tell(lambda handler, was=was, obj=obj: handler.update(was, obj))  # type: ignore[misc]
        trace.current = cause

    def _sync_all(self) -> None:
        objects = self.indexer.list()
        self.loop.trace.emit("cache.resync", self.lane, resource=self.gvr.group_resource, count=len(objects))
        for obj in objects:
            self._tell(lambda handler, obj=obj: handler.update(obj, obj))  # type: ignore[misc]

    def _tell(self, call: Callable[[Handler], None]) -> None:
        trace = self.loop.trace
        cause = trace.current
        for handler in self.handlers:
            call(handler)
            trace.current = cause

    def _trace_update(self, delta: str, key: str, obj: Object) -> None:
        trace = self.loop.trace
        if self.gvr.resource == "leases" and "lease.renew" in trace.without:
            return  # heartbeats would be most of a long run
        trace.emit(
            "cache.update",
            self.lane,
            resource=self.gvr.group_resource,
            key=key,
            revision=_revision(obj),
            delta=delta,
        )

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        self.indexer.check_invariants()
        self.fifo.check_invariants()

    def view(self) -> dict[str, Any]:
        """FIFO and cache as keyed maps, for the stepper."""
        return {"fifo": self.fifo.view(), "cache": self.indexer.view(), "has_synced": self.has_synced}


class SharedInformerFactory:
    """The informers of one process: one for each resource and selection, shared by all who ask.

    `first_list` and `watch_list` as in `ReflectorOptions`, `fifo` as in `SharedInformer`.
    """

    def __init__(
        self,
        loop: Loop,
        component: Component,
        client: Client,
        *,
        resync_ms: int = 0,
        lane: str = "",
        fifo: str = "real",
        first_list: str = "",
        watch_list: bool = False,
    ) -> None:
        self.loop = loop
        self.component = component
        self.client = client
        self.resync_ms = resync_ms
        self.lane = lane or f"{component.name}/informers"
        self.fifo = fifo
        self.options = ReflectorOptions(first_list=first_list, watch_list=watch_list)
        self.informers: dict[tuple[GVR, str, str, str], SharedInformer] = {}

    def informer(
        self, gvr: GVR, namespace: str = "", field_selector: str = "", label_selector: str = ""
    ) -> SharedInformer:
        """The informer of this resource and selection; not started yet when it is new."""
        key = (gvr, namespace, field_selector, label_selector)
        found = self.informers.get(key)
        if found is None:
            selection = "&".join(part for part in (namespace, field_selector, label_selector) if part)
            found = self.informers[key] = SharedInformer(
                self.loop,
                self.component,
                self.client,
                gvr,
                name=gvr.resource + (f"[{selection}]" if selection else ""),
                lane=self.lane,
                resync_ms=self.resync_ms,
                fifo=self.fifo,
                options=replace(
                    self.options, namespace=namespace, field_selector=field_selector, label_selector=label_selector
                ),
            )
        return found

    def start(self) -> None:
        """Start every informer that was asked for and does not run yet."""
        for informer in list(self.informers.values()):
            informer.start()

    @property
    def has_synced(self) -> bool:
        """Every informer that was asked for has synced."""
        return all(informer.has_synced for informer in self.informers.values())

    async def wait_synced(self) -> None:
        """Wait until every informer that was asked for has synced."""
        for informer in list(self.informers.values()):
            await informer.wait_synced()


class Gates(Protocol):
    """What `fifo_kind` asks: `k8slab.api.features.FeatureGates`."""

    def enabled(self, name: str, /) -> bool: ...


def fifo_kind(features: Gates) -> str:
    """Which FIFO the client-go gates ask for: RealFIFO with InOrderInformers, with whole lists with AtomicFIFO."""
    if not features.enabled("InOrderInformers"):
        return "delta"
    return "real" if features.enabled("AtomicFIFO") else "in-order"


def new_fifo(kind: str, indexer: Indexer) -> Fifo:
    """The FIFO in front of `indexer`. ValueError for an unknown kind."""
    if kind == "real":
        return RealFIFO()
    if kind == "in-order":
        return RealFIFO(indexer, atomic=False)
    if kind == "delta":
        return DeltaFIFO(indexer)
    raise ValueError(f"fifo: {kind!r}: expected real, in-order or delta")


def _revision(obj: Object) -> int:
    revision = obj["metadata"].get("resourceVersion", "")
    return int(revision) if revision.isdecimal() else 0
