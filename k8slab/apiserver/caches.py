"""All watch caches of a server, fed by one watch on etcd.

Upstream: apiserver/pkg/storage/cacher/cacher.go (reflector), apiserver/pkg/storage/etcd3/watcher.go
Simplified: one watch for all resources, where upstream has one reflector for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from k8slab.api.objects import Frozen
from k8slab.apiserver.storage import KV, Codec, KeyLayout, prefix_end, too_large
from k8slab.apiserver.watchcache import WatchCache
from k8slab.etcd import FROM_KEY, EventType, Watcher, WatchResponse
from k8slab.sim import Loop, Wait, Waiters, pause, sleep

__all__ = ["Caches"]

FRESH_TIMEOUT_MS = 3_000
RETRY_MS = 1_000


class Caches:
    """Watch caches by stored resource (`pods`). `run` is a task of the server."""

    def __init__(self, loop: Loop, kv: KV, codec: Codec, layout: KeyLayout, make: Callable[[str], WatchCache]) -> None:
        self.revision = 0
        self.is_ready = False
        self._loop = loop
        self._kv = kv
        self._codec = codec
        self._layout = layout
        self._make = make
        self._caches: dict[str, WatchCache] = {}
        self._changed = Waiters(loop)
        self._woken = Waiters(loop)
        self._watcher: Watcher | None = None
        self._listed_at = 0
        self._stopped = False

    def of(self, resource: str) -> WatchCache:
        """The cache of a stored resource; made empty when nobody asked before."""
        cache = self._caches.get(resource)
        if cache is None:
            cache = self._caches[resource] = self._make(resource)
            cache.replace({}, self._listed_at)
        cache.progress(self.revision)
        return cache

    def all(self) -> Mapping[str, WatchCache]:
        return self._caches

    def known(self, key: str, revision: int) -> Frozen | None:
        """What an etcd key held as of `revision`, if that is what its cache has now."""
        resource, name = self._layout.parse(key)
        cache = self._caches.get(resource)
        obj = None if cache is None else cache.objects.get(name)
        return obj if obj is not None and obj["metadata"]["resourceVersion"] == str(revision) else None

    async def run(self) -> None:
        """List everything, then follow the changes for ever; again from a list when history was lost."""
        while True:
            self._loop.trace.current = None
            try:
                await self._list()
                await self._follow()
            except TimeoutError:
                await sleep(RETRY_MS)

    async def wait_ready(self) -> None:
        while not self.is_ready:
            await pause(self._changed)

    async def wait_for(self, revision: int) -> None:
        """Until the caches have seen `revision`. Raises a StatusError (504) after three seconds."""
        deadline: int | None = None
        while not self.is_ready or self.revision < revision:
            now = self._loop.clock.now_ms
            deadline = now + FRESH_TIMEOUT_MS if deadline is None else deadline
            if now >= deadline:
                raise too_large(revision, self.revision)
            await pause(Wait((self._changed,), deadline - now))

    def stop(self) -> None:
        self._stopped = True
        if self._watcher is not None:
            self._watcher.cancel()

    async def _list(self) -> None:
        prefix = self._layout.prefix + "/"
        response = await self._kv.range(prefix.encode(), prefix_end(prefix))
        found: dict[str, dict[str, Frozen]] = {resource: {} for resource in self._caches}
        for kv in response.kvs:
            resource, key = self._layout.parse(kv.key.decode())
            if resource:
                found.setdefault(resource, {})[key] = self._codec.decode(kv)
        self.revision = self._listed_at = response.revision
        for resource, objects in found.items():
            self.of(resource).replace(objects, response.revision)
        self.is_ready = True
        self._changed.wake()

    async def _follow(self) -> None:
        """Until history is lost. A watch that ends with its member goes on at another, from where it was."""
        while await self._watch():
            pass

    async def _watch(self) -> bool:
        """Take in changes; when the watch ends, whether it may go on."""
        watcher = self._watcher = self._kv.watch(b"\0", FROM_KEY, self.revision + 1)
        watcher.on_ready = self._woken.wake
        while True:
            while watcher.pending:
                response = watcher.pending.popleft()
                if response.canceled:
                    return not response.compact_revision and not self._stopped
                self._apply(response)
            self._changed.wake()
            await pause(self._woken)

    def _apply(self, response: WatchResponse) -> None:
        for event in response.events:
            kv = event.kv
            resource, key = self._layout.parse(kv.key.decode())
            if resource:
                obj = None if event.type == EventType.DELETE else self._codec.decode(kv)
                self.of(resource).apply(key, obj, kv.mod_revision)
            self.revision = kv.mod_revision

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        for cache in self._caches.values():
            cache.check_invariants()
            assert cache.revision <= self.revision, f"{cache.resource} is ahead of the server's watch"
