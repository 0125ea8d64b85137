"""Lists and watches: from the watch cache where it can answer, from etcd where it must.

| resourceVersion | list | watch |
| --- | --- | --- |
| not set | as etcd is now (the cache first catches up) | present objects, from whatever the cache has |
| `0` | whatever the cache has, `limit` ignored | the same |
| n | at least as new as n (exactly n with a limit, or when asked) | changes after n |

Upstream: apiserver/pkg/storage/cacher/{cacher,delegator}.go, apiserver/pkg/storage/etcd3/store.go (GetList)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from k8slab.api.errors import BadRequestError, ExpiredError, StatusError
from k8slab.api.objects import Frozen, key_of
from k8slab.api.transport import Request
from k8slab.apiserver.handlers.options import ListOptions, parse_resource_version
from k8slab.apiserver.registry import Context, Store
from k8slab.apiserver.storage import ANY_REVISION, decode_continue, encode_continue, list_expired
from k8slab.apiserver.streams import Connection, EventStream
from k8slab.apiserver.watchcache import CacheWatch, WatchCache

if TYPE_CHECKING:
    from k8slab.apiserver.server import APIServer

__all__ = ["list_objects", "open_watch"]

MIN_REQUEST_TIMEOUT_S = 1_800


class _Wanted(NamedTuple):
    """`exact`: the state at just `revision`. `start`: the first key. `limit` 0: no limit."""

    revision: int
    exact: bool
    start: str
    limit: int


async def list_objects(server: APIServer, ctx: Context, options: ListOptions) -> dict[str, Any]:
    """The list object: frozen `items`, `metadata` with resourceVersion and continue. Raises StatusErrors."""
    store = server.store(ctx.gvr)
    cache = server.caches.of(store.stored_as)
    prefix = f"{ctx.namespace}/" if ctx.namespace else ""
    wanted = await _wanted(server, store, prefix, options)
    watch = CacheWatch(cache, prefix=prefix, label_selector=options.labels, field_selector=options.fields)
    if not wanted.exact:
        await server.wait_for_revision(wanted.revision)
        if not wanted.start:
            found = _from_cache(cache, watch, wanted.limit)
            return _list_object(store, found, cache, prefix, options)
    state, revision = await _state(server, store, cache, prefix, wanted)
    found = _page(state, watch, wanted, revision)
    return _list_object(store, found, cache, prefix, options)


class _Found(NamedTuple):
    items: list[Frozen]
    revision: int
    last_key: str
    remaining: int


async def _wanted(server: APIServer, store: Store, prefix: str, options: ListOptions) -> _Wanted:
    text = options.resource_version
    if options.continue_token:
        return await _continued(server, store, prefix, options)
    if not text:
        return _Wanted(await server.storage.current_revision(), False, "", options.limit)
    try:
        revision = parse_resource_version(text)
    except ValueError as error:
        raise BadRequestError(f"invalid resource version: {error}") from None
    if revision == 0:
        return _Wanted(0, False, "", 0)
    exact = options.match == "Exact" or (options.limit > 0 and not options.match)
    return _Wanted(revision, exact, "", options.limit)


async def _continued(server: APIServer, store: Store, prefix: str, options: ListOptions) -> _Wanted:
    if options.resource_version not in ("", "0"):
        raise BadRequestError("specifying resource version is not allowed when using continue")
    try:
        start, revision = decode_continue(options.continue_token, prefix)
    except ValueError as error:
        raise BadRequestError(f"invalid continue token: {error}") from None
    if revision == ANY_REVISION:
        return _Wanted(await server.storage.current_revision(), True, start, options.limit)
    return _Wanted(revision, True, start, options.limit)


def _from_cache(cache: WatchCache, watch: CacheWatch, limit: int) -> _Found:
    """The present state of the cache; without selectors and limit this is one pass over the keys."""
    objects = cache.objects
    if not limit:
        keys = cache.keys(watch.prefix)
        if watch.selects:
            found = [objects[key] for key in keys if watch.matches(key, objects[key])]
        else:
            found = [objects[key] for key in keys]
        return _Found(found, cache.revision, "", 0)
    state = {key: objects[key] for key in cache.keys(watch.prefix)}
    return _page(state, watch, _Wanted(cache.revision, False, "", limit), cache.revision)


async def _state(
    server: APIServer, store: Store, cache: WatchCache, prefix: str, wanted: _Wanted
) -> tuple[dict[str, Frozen], int]:
    """All objects as of a revision, by key: from the cache's history, else from etcd."""
    if cache.knows(wanted.revision):
        return cache.state_at(wanted.revision), wanted.revision
    root = server.layout.resource_prefix(store.resource)
    try:
        page = await server.storage.list(root, revision=wanted.revision)
    except ExpiredError:
        if wanted.start:
            raise list_expired(encode_continue(wanted.start, prefix, ANY_REVISION)) from None
        raise
    return {key_of(obj): obj for obj in page.items}, page.revision


def _page(state: dict[str, Frozen], watch: CacheWatch, wanted: _Wanted, revision: int) -> _Found:
    keys = [key for key in state if key.startswith(watch.prefix) and key >= wanted.start]
    items: list[Frozen] = []
    for index, key in enumerate(keys):
        if wanted.limit and len(items) == wanted.limit:
            rest = keys[index:]
            if any(watch.matches(k, state[k]) for k in rest) or not watch.selects:
                return _Found(items, revision, keys[index - 1], len(rest))
            break
        if watch.matches(key, state[key]):
            items.append(state[key])
    return _Found(items, revision, "", 0)


def _list_object(store: Store, found: _Found, cache: WatchCache, prefix: str, options: ListOptions) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(found.revision)}
    if found.last_key:
        metadata["continue"] = encode_continue(found.last_key + "\0", prefix, found.revision)
        if not options.selects:
            metadata["remainingItemCount"] = found.remaining
    gvk = store.info.gvk
    items = found.items if store.storage_gvk == gvk else [store.from_storage(item) for item in found.items]
    return {"kind": f"{gvk.kind}List", "apiVersion": gvk.api_version, "metadata": metadata, "items": items}


async def open_watch(
    server: APIServer, ctx: Context, request: Request, connection: Connection, buffer: int
) -> EventStream:
    """An open stream. Raises StatusErrors for bad options; history that is gone is an ERROR event."""
    options = ListOptions.parse(
        request.params,
        ctx.gvr.group_resource,
        name=request.name,
        is_watch=True,
        is_custom=server.is_custom(ctx.gvr),
    )
    try:
        revision = parse_resource_version(options.resource_version)
    except ValueError as error:
        raise StatusError(str(error)) from None
    store = server.store(ctx.gvr)
    cache = server.caches.of(store.stored_as)
    if options.send_initial_events:
        wanted = revision or await server.storage.current_revision()
        await server.wait_for_revision(wanted)
    watch = CacheWatch(
        cache,
        prefix=f"{ctx.namespace}/" if ctx.namespace else "",
        label_selector=options.labels,
        field_selector=options.fields,
    )
    stream = _stream(server, store, watch, connection, buffer)
    _tell(server, cache, connection, options)
    _begin(stream, cache, watch, options, revision)
    seconds = options.timeout_seconds or MIN_REQUEST_TIMEOUT_S * (1 + server.jitter.random())
    stream.keep_time(int(seconds * 1000), bookmarks=options.allow_bookmarks)
    return stream


def _stream(server: APIServer, store: Store, watch: CacheWatch, connection: Connection, buffer: int) -> EventStream:
    is_same = store.storage_gvk == store.info.gvk
    trace = server.loop.trace
    return EventStream(
        server.loop,
        watch,
        store.info.gvk,
        connection,
        convert=None if is_same else store.from_storage,
        revision=lambda: server.caches.revision,
        buffer=buffer,
        traced=not (store.resource == "leases.coordination.k8s.io" and "lease.renew" in trace.without),
        on_close=server._forget,
    )


def _begin(stream: EventStream, cache: WatchCache, watch: CacheWatch, options: ListOptions, revision: int) -> None:
    from_now = options.send_initial_events or (revision == 0 and options.send_initial_events is None)
    try:
        if from_now:
            cache.start(watch, None)
        else:
            cache.start(watch, revision if options.resource_version else cache.revision)
    except ExpiredError as error:
        stream.send_error(error)
        return
    if options.send_initial_events and options.allow_bookmarks:
        stream.send_bookmark(initial_events_end=True)


def _tell(server: APIServer, cache: WatchCache, connection: Connection, options: ListOptions) -> None:
    if server.loop.trace.on:
        selector = ",".join(filter(None, (str(options.labels), str(options.fields))))
        server.loop.trace.emit(
            "watch.open",
            "apiserver",
            resource=cache.resource,
            client=connection.client,
            since=options.resource_version or "now",
            selector=f" with {selector}" if selector else "",
        )
