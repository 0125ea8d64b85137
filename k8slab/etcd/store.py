"""The multi-version store: every write makes a revision, and old revisions stay readable until compacted.

Upstream: etcd server/storage/mvcc/kvstore.go, kvstore_txn.go, server/etcdserver/txn/{range,put,delete,txn}.go
Simplified: compaction is done when `compact` returns; etcd removes 1,000 records every 10 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from k8slab.etcd.backend import Backend
from k8slab.etcd.errors import (
    CompactedError,
    FutureRevisionError,
    KeyNotFoundError,
    LeaseNotFoundError,
    SnapshotError,
)
from k8slab.etcd.fields import Field, check_field, check_fields
from k8slab.etcd.index import TreeIndex
from k8slab.etcd.lease import Lessor
from k8slab.etcd.messages import (
    FROM_KEY,
    CompactionRequest,
    Compare,
    CompareResult,
    CompareTarget,
    DeleteRangeRequest,
    DeleteRangeResponse,
    KeyValue,
    PutRequest,
    PutResponse,
    RangeRequest,
    RangeResponse,
    Request,
    Response,
    SortOrder,
    SortTarget,
    TxnRequest,
    TxnResponse,
)
from k8slab.etcd.revision import Revision
from k8slab.etcd.snapshot import Image, pack, unpack
from k8slab.etcd.txn import MAX_TXN_OPS, check_branches, check_request, holds
from k8slab.etcd.watch import Watcher, WatchHub
from k8slab.etcd.watch_stream import STREAM_CAPACITY, WatchStream

_REVISION = Field(0, "revision", "int")
_SORT_KEYS: dict[str, Any] = {
    SortTarget.KEY: lambda kv: kv.key,
    SortTarget.VERSION: lambda kv: kv.version,
    SortTarget.CREATE: lambda kv: kv.create_revision,
    SortTarget.MOD: lambda kv: kv.mod_revision,
    SortTarget.VALUE: lambda kv: kv.value,
}


class Store:
    """A store of one member. `revision` starts at 1; `compact_revision` is the oldest that can be read (-1: all).

    `lessor` holds the leases that keys may hang on; without one the store makes its own.
    """

    def __init__(self, lessor: Lessor | None = None) -> None:
        self.revision = 1
        self.compact_revision = -1
        self.lessor = Lessor() if lessor is None else lessor
        self.lessor.set_range_deleter(self._delete_keys)
        self._index = TreeIndex()
        self._backend = Backend()
        self._hub = WatchHub(self)

    def range(self, key: bytes, range_end: bytes = b"", **options: Any) -> RangeResponse:
        """Read `[key, range_end)`. Options are the fields of RangeRequest: revision, limit, sort_target, sort_order,
        keys_only, count_only, min_/max_ mod_/create_revision. Raises CompactedError, FutureRevisionError."""
        request = RangeRequest(key, range_end, **options)
        check_request(request)
        self._check_revision(request.revision, self.revision)
        return self._range(request, self.revision)

    def put(
        self,
        key: bytes,
        value: bytes = b"",
        lease: int = 0,
        prev_kv: bool = False,
        ignore_value: bool = False,
        ignore_lease: bool = False,
    ) -> PutResponse:
        """Write one key. The ignore flags keep the present value or lease and need the key to exist.

        The key hangs on `lease` from now on, and on no other; 0: on none. Raises LeaseNotFoundError, KeyNotFoundError.
        """
        request = PutRequest(key, value, lease, prev_kv, ignore_value, ignore_lease)
        check_request(request)
        if lease and self.lessor.lookup(lease) is None:
            raise LeaseNotFoundError
        self._check_put(request)
        write = _Write(self)
        response = write.put(request)
        write.end()
        return response

    def delete_range(self, key: bytes, range_end: bytes = b"", prev_kv: bool = False) -> DeleteRangeResponse:
        """Delete `[key, range_end)` in one revision. Deleting nothing makes none."""
        request = DeleteRangeRequest(key, range_end, prev_kv)
        check_request(request)
        write = _Write(self)
        response = write.delete_range(request)
        write.end()
        return response

    def txn(
        self,
        compare: Sequence[Compare] = (),
        success: Sequence[Request] = (),
        failure: Sequence[Request] = (),
        *,
        max_ops: int = MAX_TXN_OPS,
    ) -> TxnResponse:
        """If all of `compare` hold do `success`, else `failure`: at once, in at most one revision, or not at all.

        The branches of nested transactions are chosen before anything is written. Raises the EtcdError of the first
        request that can't be carried out; the store is unchanged then.
        """
        request = TxnRequest(compare, success, failure)
        check_request(request, max_ops)
        check_branches(request)
        path: list[bool] = []
        chosen: list[Request] = []
        self._decide(request, path, chosen)
        for operation in chosen:
            if isinstance(operation, PutRequest):
                self._check_put(operation)
        for operation in chosen:
            if isinstance(operation, RangeRequest):
                self._check_revision(operation.revision, self.revision)
                if operation.revision < 0 and operation.revision < self.compact_revision:
                    raise CompactedError  # a transaction's range does not take a negative revision for "now"
        write = _Write(self)
        response = write.txn(request, iter(path))
        write.end()
        return response._replace(revision=self.revision)

    def compact(self, revision: int) -> int:
        """Forget what only reads before `revision` could see; return the current revision.

        Raises CompactedError if that has happened already, FutureRevisionError beyond the current revision.
        """
        check_fields(CompactionRequest(revision))
        if revision <= self.compact_revision:
            raise CompactedError
        if revision > self.revision:
            raise FutureRevisionError
        self.compact_revision = revision
        self._backend.compact(revision, self._index.compact(revision))
        return self.revision

    def watch(
        self,
        key: bytes,
        range_end: bytes = b"",
        start_revision: int = 0,
        prev_kv: bool = False,
        filters: Iterable[str] = (),
        *,
        sync: bool = True,
    ) -> Watcher:
        """Watch `[key, range_end)` from `start_revision` (0: the next one) on.

        The past is queued at once; with `sync=False` the watcher stays unsynced until `sync_watchers()`, as in etcd,
        where a loop does that every 100 ms. A start before `compact_revision` ends the watch with a response that
        says so. `filters` suppress events: "NOPUT", "NODELETE".
        """
        watcher = self._hub.watch(key, range_end, start_revision, prev_kv, filters)
        if sync:
            self.sync_watchers()
        return watcher

    def watch_stream(self, capacity: int = STREAM_CAPACITY, **options: Any) -> WatchStream:
        """A stream that several watches share, with room for `capacity` responses. Options are WatchStream's."""
        return WatchStream(self._hub, capacity, **options)

    def close_watchers(self) -> None:
        """End every watch, as when the member stops."""
        for watcher in list(self._hub.watchers()):
            watcher.cancel()

    def sync_watchers(self) -> None:
        """Bring every watcher up to date as far as its reader takes it, or cancel it if compaction overtook it."""
        if self._hub.unsynced or self._hub.victims:
            self._hub.sync()

    def since(self, revision: int) -> Iterator[KeyValue]:
        """Every change from `revision` on that compaction has left, oldest first."""
        check_field(_REVISION, revision)
        return self._backend.since(revision)

    def previous(self, kv: KeyValue) -> KeyValue | None:
        """The key as it was before the change `kv`; None if it did not exist or the past has been compacted."""
        before = kv.mod_revision - 1
        if before < self.compact_revision:
            return None
        revision = self._index.revision_of(kv.key, before)
        return None if revision is None else self._backend.records[revision]

    # -- the file ----------------------------------------------------------------------------------

    @property
    def db_size(self) -> int:
        """Bytes of the database's file, free pages included: what the quota is about. Only `defrag` lets it fall."""
        return self._backend.pages.size

    @property
    def db_size_in_use(self) -> int:
        """Bytes of the pages that hold something."""
        return self._backend.pages.size_in_use

    def defrag(self) -> None:
        """Write the file anew without its free pages. No revision is made, nothing that can be read changes."""
        self._backend.defrag()

    def image(self) -> Image:
        """Everything that a snapshot holds."""
        return Image(
            self.revision,
            self.compact_revision,
            tuple(sorted((lease.id, lease.ttl) for lease in self.lessor.leases())),
            tuple(self._backend.records.items()),
            size=self.db_size,
        )

    def snapshot(self) -> bytes:
        """The whole store as bytes: a file of `db_size`, and the SHA-256 of it."""
        return pack(self.image())

    def restore(
        self, data: bytes, *, bump_revision: int = 0, mark_compacted: bool = False, skip_hash_check: bool = False
    ) -> Image:
        """Become what a snapshot says; returns what was in it. Raises SnapshotError; nothing has changed then.

        `bump_revision` with `mark_compacted`: go on so many revisions later, with all before compacted, so that a
        client of before, whatever it saw since, is told to start anew. Watchers go on after what they got, as clients
        do that ask again. Leases don't run before `lessor.promote`.
        """
        image = unpack(data, skip_hash_check=skip_hash_check).bumped(bump_revision, mark_compacted)
        index = TreeIndex()
        attached: dict[bytes, int] = {}
        for revision, kv in image.records:
            try:
                index.restore(revision, kv)
            except ValueError as wrong:
                raise SnapshotError(f"invalid database: {wrong}") from wrong
            attached[kv.key] = kv.lease
        granted = dict(image.leases)
        if orphans := [key for key, lease in attached.items() if lease and lease not in granted]:
            raise SnapshotError(
                f"invalid database: {orphans[0]!r} hangs on lease {attached[orphans[0]]}, which is not there"
            )
        before = self.revision
        self.revision, self.compact_revision = image.revision, image.compact_revision
        self._backend, self._index = Backend.of(image.records, image.size), index
        self.lessor.recover(image.leases)
        for key, lease in attached.items():
            if lease:
                self.lessor.attach(lease, key)
        if image.must_compact:
            self._backend.compact(self.compact_revision, self._index.compact(self.compact_revision))
        self._hub.restart(before)
        self.sync_watchers()
        return image

    # -- looking -----------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """Revisions, living keys with their values, generations of every remembered key, watchers, leases, sizes."""
        return {
            "revision": self.revision,
            "compact_revision": self.compact_revision,
            "keys": {
                kv.key.decode("latin-1"): {
                    **kv._asdict(),
                    "key": kv.key.decode("latin-1"),
                    "value": kv.value.decode("latin-1"),
                }
                for kv in self.range(b"\x00", b"\x00").kvs
            },
            "generations": {
                index.key.decode("latin-1"): {
                    str(number): [str(revision) for revision in generation.revisions]
                    for number, generation in enumerate(index.generations)
                }
                for index in self._index
            },
            "watchers": self._hub.view(),
            "leases": self.lessor.view(),
            "db_size": self.db_size,
            "db_size_in_use": self.db_size_in_use,
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert -1 <= self.compact_revision <= self.revision, "compact_revision lies outside [-1, revision]"
        self._index.check_invariants()
        self._backend.check_invariants()
        self._hub.check_invariants()
        self.lessor.check_invariants()
        indexed = {revision: index.key for index in self._index for g in index.generations for revision in g.revisions}
        assert set(indexed) == set(self._backend.records), "the index and the backend hold different revisions"
        for revision, key in indexed.items():
            assert self._backend.records[revision].key == key, f"record {revision} belongs to another key"
            assert revision.main <= self.revision, f"record {revision} lies in the future"
        for index in self._index:
            living = index.generations[-1]
            if living.revisions:
                kv = self._backend.records[living.revisions[-1]]
                assert kv.version == living.version, f"key {index.key!r}: version {kv.version}, not {living.version}"
                assert kv.create_revision == living.created.main, f"key {index.key!r} has a wrong create_revision"
                assert kv.lease == self.lessor.lease_of(index.key), f"key {index.key!r} hangs on another lease"
            else:
                assert not self.lessor.lease_of(index.key), f"key {index.key!r} is gone and hangs on a lease"

    def _check_revision(self, revision: int, current: int) -> None:
        if revision > current:
            raise FutureRevisionError
        if 0 < revision < self.compact_revision:
            raise CompactedError

    def _check_put(self, request: PutRequest) -> None:
        if request.ignore_value or request.ignore_lease:
            index = self._index.find(request.key)
            if index is None or not index.is_alive:
                raise KeyNotFoundError
        if request.lease and self.lessor.lookup(request.lease) is None:
            raise LeaseNotFoundError

    def _delete_keys(self, keys: Sequence[bytes]) -> None:
        """Delete several keys in one revision, for a lease that ends."""
        write = _Write(self)
        for key in keys:
            write.delete_range(DeleteRangeRequest(key))
        write.end()

    def _range(self, request: RangeRequest, current: int) -> RangeResponse:
        """Read with `current` as the newest revision: one more than committed inside a transaction that wrote."""
        at_revision = request.revision if request.revision > 0 else current
        is_filtered = any(request[8:12])  # the bounds of revisions
        bound = request.min_mod_revision if at_revision == current and not request.count_only else 0
        recent = self._recent(request.key, request.range_end, bound)
        if recent is not None:
            kvs, count = recent, self._index.count_living(request.key, request.range_end)
        else:
            revisions = self._index.revisions(request.key, request.range_end, at_revision)
            count = len(revisions)
            if request.count_only:
                return RangeResponse((), count, False, current)
            if request.limit > 0 and request.sort_order == SortOrder.NONE and not is_filtered:
                # As upstream: without an order the cut is made in key order, before a sort by another target.
                del revisions[request.limit + 1 :]
            records = self._backend.records
            kvs = [records[revision] for revision in revisions]
        if is_filtered:
            kvs = [kv for kv in kvs if _passes(request, kv)]
        if request.sort_target != SortTarget.KEY or request.sort_order == SortOrder.DESCEND:
            kvs.sort(key=_SORT_KEYS[request.sort_target], reverse=request.sort_order == SortOrder.DESCEND)
        more = 0 < request.limit < len(kvs)
        if more:
            del kvs[request.limit :]
        if request.keys_only:
            kvs = [kv._replace(value=b"") for kv in kvs]
        return RangeResponse(tuple(kvs), count, more, current)

    def _records_at(self, key: bytes, range_end: bytes, revision: int) -> list[KeyValue]:
        records = self._backend.records
        return [records[found] for found in self._index.revisions(key, range_end, revision)]

    def _recent(self, key: bytes, range_end: bytes, since: int) -> list[KeyValue] | None:
        """The keys of an interval that exist now and were written from revision `since` on, in order. None where to
        look through the whole interval is no more work."""
        if since <= 0 or not range_end or self._backend.count_since(since) >= self._index.count_living(key, range_end):
            return None
        found: dict[bytes, KeyValue] = {}
        for kv in self._backend.since(since):
            if key <= kv.key and (kv.key < range_end or range_end == FROM_KEY):
                found[kv.key] = kv
        return [found[name] for name in sorted(found) if found[name].version]

    def _holds(self, compare: Compare) -> bool:
        operand = compare.operand
        if compare.target == CompareTarget.MOD and compare.result == CompareResult.LESS and isinstance(operand, int):
            recent = self._recent(compare.key, compare.range_end, operand)
            if recent is not None:
                return not recent
        return holds(compare, self._records_at(compare.key, compare.range_end, self.revision))

    def _decide(self, request: TxnRequest, path: list[bool], chosen: list[Request]) -> None:
        """Whether the compares hold, into `path`, for the transaction and those nested in the branches taken; the
        operations that will run, nested transactions unfolded, into `chosen`."""
        succeeded = True
        for compare in request.compare:
            if not self._holds(compare):
                succeeded = False
                break
        path.append(succeeded)
        for operation in request.success if succeeded else request.failure:
            if isinstance(operation, TxnRequest):
                self._decide(operation, path, chosen)
            else:
                chosen.append(operation)


def _passes(request: RangeRequest, kv: KeyValue) -> bool:
    return (
        (not request.max_mod_revision or kv.mod_revision <= request.max_mod_revision)
        and (not request.min_mod_revision or kv.mod_revision >= request.min_mod_revision)
        and (not request.max_create_revision or kv.create_revision <= request.max_create_revision)
        and (not request.min_create_revision or kv.create_revision >= request.min_create_revision)
    )


class _Write:
    """One write transaction: its changes share the main revision and become visible to watchers at `end()`."""

    __slots__ = ("changes", "main", "store")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.main = store.revision + 1
        self.changes: list[KeyValue] = []

    @property
    def current(self) -> int:
        return self.main if self.changes else self.store.revision

    def put(self, request: PutRequest) -> PutResponse:
        store, key = self.store, request.key
        index = store._index.find(key)
        previous = store._backend.records[index.modified] if index is not None and index.is_alive else None
        value = previous.value if request.ignore_value and previous else request.value
        lease = previous.lease if request.ignore_lease and previous else request.lease
        revision = Revision(self.main, len(self.changes))
        generation = store._index.put(key, revision)
        self._record(revision, KeyValue(key, generation.created.main, self.main, generation.version, value, lease))
        if previous is not None and previous.lease:
            store.lessor.detach(previous.lease, key)
        if lease:
            store.lessor.attach(lease, key)
        return PutResponse(self.main, previous if request.prev_kv else None)

    def delete_range(self, request: DeleteRangeRequest) -> DeleteRangeResponse:
        store = self.store
        previous = store._range(RangeRequest(request.key, request.range_end), self.main).kvs
        for kv in previous:
            revision = Revision(self.main, len(self.changes))
            store._index.tombstone(kv.key, revision)
            self._record(revision, KeyValue(kv.key, 0, self.main, 0, b""))
            if kv.lease:
                store.lessor.detach(kv.lease, kv.key)
        return DeleteRangeResponse(self.current, len(previous), previous if request.prev_kv else ())

    def txn(self, request: TxnRequest, path: Iterator[bool]) -> TxnResponse:
        succeeded = next(path)
        responses: list[Response] = []
        for operation in request.success if succeeded else request.failure:
            if isinstance(operation, RangeRequest):
                responses.append(self.store._range(operation, self.current))
            elif isinstance(operation, PutRequest):
                responses.append(self.put(operation))
            elif isinstance(operation, DeleteRangeRequest):
                responses.append(self.delete_range(operation))
            else:
                responses.append(self.txn(operation, path))
        return TxnResponse(succeeded, tuple(responses), 0)

    def end(self) -> None:
        if self.changes:
            self.store.revision = self.main
            self.store._hub.notify(self.main, self.changes)

    def _record(self, revision: Revision, kv: KeyValue) -> None:
        self.store._backend.append(revision, kv)
        self.changes.append(kv)
