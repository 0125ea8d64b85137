"""Create, read, change and delete objects in etcd, each with a single conditional transaction.

Every change is optimistic: read the key, compute, write if the key still has the revision that was read, else start
again with what the failed transaction returned.

Upstream: apiserver/pkg/storage/etcd3/store.go
Simplified: no TTLs, no transformers, no size limits; the current state is always read from etcd before an update,
    upstream first tries the object in its watch cache.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from k8slab.api.objects import Frozen, Object, freeze
from k8slab.apiserver.storage.codec import Codec, encode, with_revision
from k8slab.apiserver.storage.errors import (
    GuardError,
    KeyExistsError,
    KeyNotFoundError,
    ObjectInvalidError,
    list_expired,
    too_large,
)
from k8slab.apiserver.storage.keys import KeyLayout, prefix_end
from k8slab.apiserver.storage.kv import KV
from k8slab.etcd import (
    CompactedError,
    Compare,
    DeleteRangeRequest,
    FutureRevisionError,
    KeyValue,
    PutRequest,
    RangeRequest,
    RangeResponse,
)
from k8slab.sim import Trace

__all__ = ["Changes", "Page", "Preconditions", "Storage", "UpdateFunc"]

UpdateFunc = Callable[[Frozen | None], Awaitable[Object]]


class Preconditions(NamedTuple):
    """What must hold of the stored object when it is changed; None: anything."""

    uid: str | None = None
    resource_version: str | None = None

    def check(self, key: str, obj: Object) -> None:
        """Raises ObjectInvalidError."""
        metadata = obj["metadata"]
        if self.uid is not None and self.uid != metadata.get("uid"):
            raise ObjectInvalidError(
                key,
                f"Precondition failed: UID in precondition: {self.uid}, UID in object meta: {metadata.get('uid', '')}",
            )
        if self.resource_version is not None and self.resource_version != metadata.get("resourceVersion"):
            raise ObjectInvalidError(
                key,
                f"Precondition failed: ResourceVersion in precondition: {self.resource_version}, "
                f"ResourceVersion in object meta: {metadata.get('resourceVersion', '')}",
            )


ANYTHING = Preconditions()


class Page(NamedTuple):
    """A part of a list as of `revision`. `remaining`: how many keys follow; `last_key`: the last one returned."""

    items: list[Frozen]
    revision: int
    remaining: int
    last_key: str


class Changes(NamedTuple):
    """The objects of a list that changed, as of `revision`. `total`: how many objects the whole list has."""

    items: list[Frozen]
    revision: int
    total: int


class Storage:
    """Objects in etcd by key. Values that come out are frozen and carry their resourceVersion."""

    def __init__(self, kv: KV, codec: Codec, layout: KeyLayout, trace: Trace) -> None:
        self.kv = kv
        self.codec = codec
        self.layout = layout
        self._trace = trace

    async def current_revision(self) -> int:
        return (await self.kv.range(b"\0", count_only=True)).revision

    async def get(self, key: str) -> Frozen | None:
        response = await self.kv.range(key.encode())
        return self.codec.decode(response.kvs[0]) if response.kvs else None

    async def create(self, key: str, obj: Object, *, guards: Sequence[Compare] = (), dry_run: bool = False) -> Frozen:
        """Raises KeyExistsError, GuardError (a further condition does not hold)."""
        raw = key.encode()
        if dry_run:
            if (await self.kv.range(raw, count_only=True)).count:
                raise KeyExistsError(key)
            return freeze(obj)  # type: ignore[no-any-return]
        is_new = Compare(raw, "MOD", "EQUAL", 0)
        put, reread = [PutRequest(raw, encode(obj))], [RangeRequest(raw)] if guards else []
        obj = freeze(obj)
        response = await self.kv.txn([is_new, *guards], put, reread)
        if not response.succeeded:
            if guards and not _found(response.responses[0]):
                raise GuardError(key)
            raise KeyExistsError(key)
        return self._wrote(key, raw, obj, response.revision)

    async def guaranteed_update(
        self,
        key: str,
        update: UpdateFunc,
        *,
        preconditions: Preconditions = ANYTHING,
        guards: Sequence[Compare] = (),
        may_create: bool = False,
        dry_run: bool = False,
    ) -> Frozen:
        """Write what `update(existing)` returns; repeated with the newer state when somebody else was faster.

        `guards` are further conditions of the write, read after `update`, which may set them. A result equal to the
        existing object is not written. Raises KeyNotFoundError, ObjectInvalidError, and what `update` raises.
        """
        raw = key.encode()
        kvs = (await self.kv.range(raw)).kvs
        while True:
            existing = self.codec.decode(kvs[0]) if kvs else None
            if existing is None and not may_create:
                raise KeyNotFoundError(key)
            if existing is not None:
                preconditions.check(key, existing)
            obj = await update(existing)
            revision = kvs[0].mod_revision if kvs else 0
            if existing is not None and _same(obj, existing):
                return existing
            if dry_run:
                return with_revision(obj, revision) if revision else freeze(obj)
            obj = freeze(obj)
            is_same = Compare(raw, "MOD", "EQUAL", revision)
            put = PutRequest(raw, self.codec.encode(obj))
            response = await self.kv.txn([is_same, *guards], [put], [RangeRequest(raw)])
            if response.succeeded:
                return self._wrote(key, raw, obj, response.revision)
            kvs = _found(response.responses[0])

    async def delete(
        self,
        key: str,
        *,
        preconditions: Preconditions = ANYTHING,
        validate: Callable[[Frozen], Awaitable[None]] | None = None,
        dry_run: bool = False,
    ) -> Frozen:
        """Remove the key. Returns the last state with the revision of the deletion. Raises KeyNotFoundError,
        ObjectInvalidError."""
        raw = key.encode()
        kvs = (await self.kv.range(raw)).kvs
        while True:
            if not kvs:
                raise KeyNotFoundError(key)
            existing = self.codec.decode(kvs[0])
            preconditions.check(key, existing)
            if validate is not None:
                await validate(existing)
            if dry_run:
                return existing
            response = await self.kv.txn(
                [Compare(raw, "MOD", "EQUAL", kvs[0].mod_revision)], [DeleteRangeRequest(raw)], [RangeRequest(raw)]
            )
            if response.succeeded:
                self._record(key, response.revision, None)
                return with_revision(existing, response.revision)
            kvs = _found(response.responses[0])

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> Page:
        """Objects under `prefix` in key order, from `start` on, as of `revision` (0: now). Raises StatusErrors: 410
        for compacted revisions, 504 for future ones."""
        begin = (start or prefix).encode()
        try:
            response = await self.kv.range(begin, prefix_end(prefix), revision=revision, limit=limit)
        except CompactedError:
            raise list_expired() from None
        except FutureRevisionError:
            raise too_large(revision, await self.current_revision()) from None
        kvs = response.kvs
        items = [self.codec.decode(kv) for kv in kvs]
        last = kvs[-1].key.decode() if kvs else ""
        return Page(items, revision or response.revision, response.count - len(kvs), last)

    async def changed(self, prefix: str, since: int) -> Changes:
        """What was written under `prefix` after revision `since` and is there now."""
        response = await self.kv.range(prefix.encode(), prefix_end(prefix), min_mod_revision=since + 1)
        return Changes([self.codec.decode(kv) for kv in response.kvs], response.revision, response.count)

    def _wrote(self, key: str, raw: bytes, obj: Object, revision: int) -> Frozen:
        frozen = with_revision(obj, revision)
        self.codec.seed(raw, revision, frozen)
        self._record(key, revision, frozen)
        return frozen

    def _record(self, key: str, revision: int, obj: Frozen | None) -> None:
        if self._trace.on:
            resource, name = self.layout.parse(key)
            if resource != "leases.coordination.k8s.io" or "lease.renew" not in self._trace.without:
                self._trace.record_object(resource, name, revision, obj)


def _found(response: object) -> tuple[KeyValue, ...]:
    assert isinstance(response, RangeResponse), f"a transaction answered a range with {response!r}"
    return response.kvs


def _same(obj: Object, existing: Frozen) -> bool:
    """Equal but for the resourceVersion."""
    if obj is existing:
        return True
    if len(obj) != len(existing):
        return False
    for field, value in obj.items():
        if field != "metadata" and existing.get(field) != value:
            return False
    old, new = existing["metadata"], obj["metadata"]
    return old == new or {**new, "resourceVersion": ""} == {**old, "resourceVersion": ""}
