"""The API server: resources over a key-value store, with admission, a watch cache and connections.

Upstream: apiserver/pkg/server/genericapiserver.go, pkg/controlplane/instance.go
Simplified: no authentication, authorization, audit or flow control; deprecated flags of nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Protocol

from k8slab.api.errors import BadRequestError, InternalError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Frozen, Object, freeze
from k8slab.api.scheme import (
    GVK,
    GVR,
    PODDISRUPTIONBUDGETS,
    PODS,
    SCHEME,
    ResourceInfo,
    Scheme,
    Subresource,
    gated_resources,
)
from k8slab.api.transport import HTTPCaller, Request
from k8slab.apiserver.admission import Chain, Outside, plugins
from k8slab.apiserver.admission.webhook.outside import Unreachable
from k8slab.apiserver.aggregation import Aggregator
from k8slab.apiserver.allocators import ServiceRanges
from k8slab.apiserver.bootstrap import bootstrap_objects
from k8slab.apiserver.caches import Caches
from k8slab.apiserver.handlers.http import Asked, Response, handle
from k8slab.apiserver.handlers.listing import list_objects, open_watch
from k8slab.apiserver.handlers.options import ListOptions, write_options
from k8slab.apiserver.handlers.routing import not_served
from k8slab.apiserver.handlers.verbs import Answer, serve
from k8slab.apiserver.registry import (
    STORES,
    BindingStore,
    Context,
    Environment,
    EvictionStore,
    FinalizeStrategy,
    ScaleStore,
    Store,
    Strategy,
    status_strategy_for,
    strategy_for,
)
from k8slab.apiserver.service_repair import ServiceRepair
from k8slab.apiserver.storage import KV, Codec, CompactTurn, KeyExistsError, KeyLayout, SingleMember, Storage
from k8slab.apiserver.streams import Connection, EventStream
from k8slab.apiserver.transport import LEASES, InProcessTransport, request_key
from k8slab.apiserver.users import UserInfo
from k8slab.apiserver.watchcache import WatchCache
from k8slab.etcd import EtcdError
from k8slab.etcd import Store as EtcdStore
from k8slab.sim import LatencyProfile, Loop, Task, latency_profile, matches, sleep

__all__ = ["APIServer", "Network"]

BOOTSTRAP_RETRY_MS = 1_000
LOOPBACK = "system:apiserver"
LOOPBACK_MS = 1
_INDEXED = {"pods": "spec.nodeName"}


class Network(Protocol):
    """Whether a message from `source` to `target` (component names) is lost now."""

    def blocked(self, source: str, target: str) -> bool: ...


class APIServer:
    """One API server over a key-value store (`KV`, or an etcd `Store` taken as its only member).

    Several servers may share one store, each with a `name` of its own. `latency` and `network` apply to the
    connections that `transport` makes. `disabled` names admission plugins that are off, `enabled` plugins that are on
    though they are off by default. `bootstrap` creates the system namespaces, the `kubernetes` Service and the system
    priority classes, as a new server does. History in etcd older than `compact_every_ms` is compacted (0: never), by
    one of the servers that share it. `http`: the way to webhooks (without: nobody can be reached). `users`: uid and
    groups of users of whom the name does not tell. `services`: the ranges of cluster IPs and node ports, the same for
    all servers of a store.
    """

    def __init__(
        self,
        loop: Loop,
        kv: KV | EtcdStore,
        *,
        name: str = "apiserver/0",
        features: FeatureGates | None = None,
        latency: str | LatencyProfile = "none",
        network: Network | None = None,
        disabled: Iterable[str] = (),
        enabled: Iterable[str] = (),
        bootstrap: bool = True,
        watch_buffer: int = 1_000,
        history: int = 10_240,
        compact_every_ms: int = 300_000,
        lane: str = "apiserver",
        http: HTTPCaller | None = None,
        users: Mapping[str, UserInfo] | None = None,
        services: ServiceRanges | None = None,
    ) -> None:
        self.loop = loop
        self.name = name
        self.alive = True
        self.scheme: Scheme = SCHEME.copy()
        self.features = features if features is not None else FeatureGates()
        self.latency = latency_profile(latency)
        self.network = network
        self.layout = KeyLayout()
        self.codec = Codec()
        self.kv: KV = SingleMember(loop, kv, layout=self.layout) if isinstance(kv, EtcdStore) else kv
        self.storage = Storage(self.kv, self.codec, self.layout, loop.trace)
        self.caches = Caches(loop, self.kv, self.codec, self.layout, self._make_cache)
        self.codec.known = self.caches.known
        outside = Outside(loop, http or Unreachable(), self._start, self.equivalents, self.resource_of, name, lane)
        self.chain = Chain(plugins(disabled, outside, enabled=enabled), self, loop.trace, lane=lane)
        self.env = self._environment(users or {}, services or ServiceRanges())
        self.jitter = loop.stream(f"{name}/watch-timeouts")
        self.aggregator = Aggregator(self)
        self._lane = lane
        self._watch_buffer = watch_buffer
        self._history = history
        self._stores: dict[GVR, Store] = {}
        self._status: dict[tuple[GVR, str], Strategy] = {}
        self._by_stored: dict[str, Strategy] = {}
        self._watch_delays: dict[str, int] = {}
        self._tasks: dict[int, Task] = {}
        self._live = 0
        self._at_work: dict[int, Context] = {}
        self._streams: dict[int, EventStream] = {}
        self._install_all()
        self.binding = BindingStore(self._stores[PODS])
        self.eviction = EvictionStore(self._stores[PODS], self._stores[PODDISRUPTIONBUDGETS])
        self.repair = ServiceRepair(self, self.caches.of("services"), self.env.services, lane)
        self._keep(loop.spawn(f"{name}/watch-cache", self.caches.run()))
        if compact_every_ms:
            self._keep(loop.spawn(f"{name}/compactor", self._compact(compact_every_ms)))
        if bootstrap:
            self._keep(loop.spawn(f"{name}/bootstrap", self._bootstrap()))

    def _environment(self, users: Mapping[str, UserInfo], services: ServiceRanges) -> Environment:
        return Environment(
            clock=self.loop.clock,
            features=self.features,
            uids=self.loop.stream(f"{self.name}/uids"),
            names=self.loop.stream(f"{self.name}/names"),
            addresses=self.loop.stream(f"{self.name}/addresses"),
            services=services,
            users=dict(users),
        )

    # -- resources ---------------------------------------------------------------------------------

    def _install_all(self) -> None:
        for info in gated_resources(self.features.enabled):
            self.scheme.register(info)
        for info in self.scheme:
            if "list" in info.verbs and info.gvr.resource != "componentstatuses":
                self._install(info)

    def _install(self, info: ResourceInfo) -> None:
        strategy = strategy_for(info)
        kind = STORES.get(info.gvr.group_resource, Store)
        store = kind(info, strategy, self.storage, self.scheme.storage_gvk(info.gvk))
        self._stores[info.gvr] = store
        if store.storage_gvk == info.gvk:
            self._by_stored[store.stored_as] = strategy
        if "status" in info.subresources:
            self._status[(info.gvr, "status")] = status_strategy_for(info, strategy)
        if "finalize" in info.subresources:
            self._status[(info.gvr, "finalize")] = FinalizeStrategy(strategy)

    def register_unstructured(
        self, gvk: GVK, plural: str = "", namespaced: bool = True, *, has_status: bool = True
    ) -> ResourceInfo:
        """Serve a kind of a foreign group: stored, listed and watched, but not understood.

        Registering the same kind again changes nothing. ValueError for a kind in a built-in group.
        """
        if self.scheme.is_builtin_group(gvk.group):
            raise ValueError(f"kind {gvk.kind} in {gvk.api_version}: expected a group that is not built in")
        if gvk in self.scheme:
            return self.scheme.resource_of(gvk)
        info = self.scheme.unstructured(gvk, namespaced=namespaced, resource=plural)
        if has_status:
            info = info._replace(subresources={"status": Subresource(gvk, ("get", "patch", "update"))})
        self.scheme.register(info)
        self._install(info)
        return info

    def is_custom(self, gvr: GVR) -> bool:
        return not self.scheme.is_builtin_group(gvr.group)

    def kind_name(self, gvr: GVR) -> str:
        """The kind of a resource for a sentence; the resource itself when it is not served."""
        return self.scheme.kind_of(gvr).kind if gvr in self.scheme else gvr.resource

    def store(self, gvr: GVR) -> Store:
        """The store of a resource. Raises NotFoundError when it is not served."""
        found = self._stores.get(gvr)
        if found is None:
            raise not_served()
        return found

    def resource_of(self, kind: GVK) -> ResourceInfo | None:
        """Where a kind is served; None when it is not."""
        return self.scheme.resource_of(kind) if kind in self.scheme else None

    def scales(self, gvr: GVR) -> ScaleStore:
        return ScaleStore(self.store(gvr))

    def subresource_strategy(self, gvr: GVR, name: str) -> Strategy:
        return self._status[(gvr, name)]

    def _make_cache(self, resource: str) -> WatchCache:
        strategy = self._by_stored.get(resource)
        attributes = strategy.attributes if strategy is not None else Strategy().attributes
        index = _INDEXED.get(resource, "")
        return WatchCache(resource, self.loop.clock, attributes=attributes, index_field=index, capacity=self._history)

    # -- requests ----------------------------------------------------------------------------------

    async def serve(self, request: Request, user: str = "") -> Answer:
        """Carry out any verb but watch. Raises StatusErrors."""
        elsewhere = await self.aggregator.serve(request)
        if elsewhere is not None:
            return Answer(200, elsewhere)
        ctx = self._context(request, user)
        await self.caches.wait_ready()
        self._at_work[id(request)] = ctx
        try:
            return await self._answered(ctx, request)
        finally:
            self._at_work.pop(id(request), None)

    async def _answered(self, ctx: Context, request: Request) -> Answer:
        """Whatever goes wrong is a StatusError."""
        try:
            return await serve(self, ctx, request)
        except TimeoutError as error:
            text = str(error) if str(error).startswith("etcdserver: ") else "etcdserver: request timed out"
            raise InternalError(text, reason="") from None
        except EtcdError as error:  # such as one that is out of space
            raise InternalError(str(error), reason="") from None
        except RecursionError:
            raise BadRequestError("body: exceeded max depth: nested too deeply, or in itself") from None

    def waits_outside(self, request: Request) -> bool:
        """Whether a request is being worked on, and waits for somebody outside (a webhook) to answer."""
        ctx = self._at_work.get(id(request))
        return ctx is not None and ctx.waits_outside > 0

    def equivalents(self, gvr: GVR) -> list[tuple[GVR, GVK]]:
        """The other versions and groups under which the objects of a resource are served."""
        stored_as = self.layout.stored_as(gvr.group_resource)
        stores = [store for store in self._stores.values() if store.stored_as == stored_as]
        return [(store.info.gvr, store.info.gvk) for store in stores if store.info.gvr != gvr]

    async def open_watch(self, request: Request, connection: Connection, user: str = "") -> EventStream:
        """Open a watch. Raises StatusErrors; history that is gone comes as an ERROR event of the stream."""
        ctx = self._context(request, user)
        await self.caches.wait_ready()
        stream = await open_watch(self, ctx, request, connection, self._watch_buffer)
        self._streams[id(stream)] = stream
        if stream.closed:
            self._forget(stream)
        return stream

    def handle(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        user: str = "system:admin",
    ) -> Coroutine[Any, Any, Response]:
        """One HTTP request: routing, codecs, discovery. Failures are answers too. A watch has `frames`.

        TypeError, at the call, for arguments of another type.
        """
        for name, value in (("query", query), ("headers", headers)):
            if value is not None and not isinstance(value, Mapping):
                raise TypeError(f"{name}: {value!r}: expected a mapping of names to texts")
        for name, text in (("method", method), ("path", path)):
            if not isinstance(text, str):
                raise TypeError(f"{name}: {text!r}: expected a text")
        if not isinstance(body, bytes):
            raise TypeError(f"body: {type(body).__name__}: expected bytes")
        return handle(self, Asked(method, path, query or {}, headers or {}, body, user))

    async def list_objects(self, ctx: Context, options: ListOptions) -> dict[str, Any]:
        """A list object. Raises StatusErrors."""
        return await list_objects(self, ctx, options)

    async def wait_for_revision(self, revision: int) -> None:
        """Until the watch caches have seen a revision. Raises a StatusError (504) for one that does not come."""
        await self.caches.wait_for(revision)

    def _context(self, request: Request, user: str) -> Context:
        self._tell(request)
        if request.resource not in self.scheme:
            raise not_served()
        info = self.scheme.info(request.resource)
        if info.namespaced and not request.namespace and request.verb in _DURING:
            raise BadRequestError(f"an empty namespace may not be set during {_DURING[request.verb]}")
        return Context(
            env=self.env,
            info=info,
            verb=request.verb,
            namespace=request.namespace if info.namespaced else "",
            name=request.name,
            subresource=request.subresource,
            user=user,
            options=write_options(request),
        )

    def _tell(self, request: Request) -> None:
        trace = self.loop.trace
        resource = request.resource.group_resource
        if trace.on and not (resource == LEASES and "lease.renew" in trace.without):
            expected = None
            if request.verb == "update" and isinstance(request.body, Mapping):
                expected = (request.body.get("metadata") or {}).get("resourceVersion") or None
            key = request_key(request)
            part = f"/{request.subresource}" if request.subresource else ""
            trace.emit("serve", self._lane, verb=request.verb, resource=resource, part=part, key=key, expected=expected)

    # -- connections -------------------------------------------------------------------------------

    def transport(
        self,
        client: str,
        *,
        user: str = "system:admin",
        lane: str | None = None,
        latency: str | LatencyProfile | None = None,
        timeout_ms: int = 10_000,
    ) -> InProcessTransport:
        """A connection for a client component; its requests appear in the trace's `lane` (the client's name)."""
        profile = self.latency if latency is None else latency_profile(latency)
        return InProcessTransport(self, client, user=user, lane=lane, latency=profile, timeout_ms=timeout_ms)

    def slow_watch(self, client: str, delay_ms: int) -> None:
        """A fault: every watch event to the component `client` takes `delay_ms` longer (0: as before)."""
        self._watch_delays[client] = delay_ms

    def extra_watch_ms(self, client: str) -> int:
        """How much longer a watch event to `client` takes because of `slow_watch`."""
        if not self._watch_delays:
            return 0
        return max((ms for prefix, ms in self._watch_delays.items() if matches(client, prefix)), default=0)

    def spawn(self, handle: Callable[[], Coroutine[Any, Any, Any]], *, delay_ms: int = 0) -> None:
        """Handle a request in a task of this server."""
        if self.alive:
            self._keep(self.loop.spawn(f"{self.name}/handle", handle, delay_ms=delay_ms))

    def _start(self, name: str, job: Callable[[], Coroutine[Any, Any, Any]]) -> Task:
        task = self.loop.spawn(f"{self.name}/{name}", job)
        self._keep(task)
        return task

    def _keep(self, task: Task) -> None:
        if len(self._tasks) >= 2 * self._live + 64:
            self._tasks = {key: kept for key, kept in self._tasks.items() if not kept.done}
            self._live = len(self._tasks)
        self._tasks[id(task)] = task

    def _forget(self, stream: EventStream) -> None:
        self._streams.pop(id(stream), None)

    def kill(self) -> None:
        """The process dies: requests under way end where they stand and are not answered, watches break."""
        if not self.alive:
            return
        self.alive = False
        for task in list(self._tasks.values()):
            self.loop.cancel(task)
        self._tasks.clear()
        for stream in list(self._streams.values()):
            stream.end("the server died")
        self._streams.clear()
        self.caches.stop()

    # -- what admission plugins read ---------------------------------------------------------------

    def cached(self, group_resource: str, namespace: str, name: str) -> Frozen | None:
        """An object as the watch cache has it."""
        key = f"{namespace}/{name}" if namespace else name
        return self.caches.of(group_resource).objects.get(key)

    def cached_all(self, group_resource: str) -> list[Frozen]:
        """All objects of a resource as the watch cache has them, in key order."""
        cache = self.caches.of(group_resource)
        return [cache.objects[key] for key in cache.keys()]  # noqa: SIM118 (an ordered iterator, not a dict's)

    async def live(self, group_resource: str, namespace: str, name: str) -> Frozen | None:
        """An object as etcd has it."""
        return await self.storage.get(self.layout.key(group_resource, namespace, name))

    async def replace_status(self, group_resource: str, obj: Object) -> Frozen:
        """Write an object's status, as the server itself: a request over its loopback, which takes a millisecond.

        Raises StatusErrors: 409 when `obj` is not the newest, 500 when etcd fails.
        """
        gvr = next(gvr for gvr in self._stores if gvr.group_resource == group_resource)
        metadata = obj["metadata"]
        request = Request("update", gvr, metadata.get("namespace", ""), metadata["name"], "status", obj)
        cause = self.loop.trace.current
        await sleep(LOOPBACK_MS)
        try:
            ctx = self._context(request, LOOPBACK)
            return freeze((await self._answered(ctx, request)).object)  # type: ignore[no-any-return]
        finally:
            self.loop.trace.current = cause  # what the write led to is not what the request under way comes from

    # -- the beginning -----------------------------------------------------------------------------

    async def _bootstrap(self) -> None:
        await self.caches.wait_ready()
        for gvr, obj in bootstrap_objects(self.env):
            store = self.store(gvr)
            key = store.key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            while not await self._made(key, obj):
                await sleep(BOOTSTRAP_RETRY_MS, periodic=True)

    async def _made(self, key: str, obj: Object) -> bool:
        """Create an object, unless an earlier start or another server did; False when etcd would not have it now."""
        try:
            await self.storage.create(key, obj)
        except KeyExistsError:
            return True
        except (EtcdError, TimeoutError) as error:
            self.loop.trace.emit("bootstrap.failed", self._lane, key=key, why=str(error))
            return False
        return True

    async def _compact(self, every_ms: int) -> None:
        """Again and again, forget what is older than one period, unless it is another server's turn."""
        turn = CompactTurn(self.kv)
        while True:
            await sleep(every_ms, periodic=True)
            self.loop.trace.current = None
            try:
                await turn.take()
            except (EtcdError, TimeoutError) as error:
                self.loop.trace.emit("etcd.compact.failed", self._lane, why=str(error))

    # -- looking inside ----------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """Caches by resource and open watches by client, keyed by stable ids."""
        return {
            "revision": self.caches.revision,
            "caches": {name: cache.view() for name, cache in sorted(self.caches.all().items())},
            "streams": {
                f"{stream.connection.client}/{stream.watch.cache.resource}/{stream.watch.number}": stream.closed
                for stream in self._streams.values()
            },
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        self.caches.check_invariants()
        self.codec.check_invariants()


_DURING = {"create": "creation", "get": "requests", "update": "update", "patch": "update", "delete": "deletion"}
