"""The key-value store below the API server: an async Protocol, and adapters for one etcd member and for several.

The API server awaits every answer, because a replicated store cannot answer inside the caller's action. The one-member
adapter answers at once.

Upstream: etcd client/v3 (KV, Watcher, retry_interceptor.go), apiserver/pkg/storage/storagebackend
Simplified: no authentication and no leases; a connection costs no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from k8slab.apiserver.storage.keys import COMPACT_REV_KEY, KeyLayout
from k8slab.etcd import (
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    EtcdCluster,
    EtcdError,
    LoggedRequest,
    LoggedResponse,
    PutRequest,
    RangeRequest,
    RangeResponse,
    Store,
    TxnRequest,
    TxnResponse,
    UnavailableError,
    Watcher,
)
from k8slab.sim import Loop, Trace

__all__ = ["KV", "Members", "Op", "SingleMember"]

Op = PutRequest | DeleteRangeRequest | RangeRequest


class KV(Protocol):
    """What the API server needs of etcd. Calls may raise TimeoutError: the outcome is unknown."""

    async def range(self, key: bytes, range_end: bytes = b"", **options: Any) -> RangeResponse:
        """As etcd's Range, with its options. Raises CompactedError, FutureRevisionError."""

    async def txn(self, compare: Sequence[Compare], success: Sequence[Op], failure: Sequence[Op] = ()) -> TxnResponse:
        """As etcd's Txn."""

    async def compact(self, revision: int) -> None:
        """Forget history before `revision`."""

    def watch(self, key: bytes, range_end: bytes, start_revision: int) -> Watcher:
        """Changes from `start_revision` on, into `watcher.pending`."""


class SingleMember:
    """One etcd member in the same process: `SingleMember(loop, store)`. Commits appear in the lane `etcd`."""

    def __init__(self, loop: Loop, store: Store, *, layout: KeyLayout | None = None, lane: str = "etcd") -> None:
        self.store = store
        self._loop = loop
        self._layout = layout if layout is not None else KeyLayout()
        self._lane = lane

    async def range(self, key: bytes, range_end: bytes = b"", **options: Any) -> RangeResponse:
        return self.store.range(key, range_end, **options)

    async def txn(self, compare: Sequence[Compare], success: Sequence[Op], failure: Sequence[Op] = ()) -> TxnResponse:
        before = self.store.revision
        response = self.store.txn(compare, success, failure)
        if response.revision > before:
            self._committed(response.revision, success if response.succeeded else failure, compare)
        return response

    async def compact(self, revision: int) -> None:
        self.store.compact(revision)
        self._loop.trace.emit("etcd.compact", self._lane, revision=revision)

    def watch(self, key: bytes, range_end: bytes, start_revision: int) -> Watcher:
        return self.store.watch(key, range_end, start_revision=start_revision)

    def _committed(self, revision: int, ops: Sequence[Op], compare: Sequence[Compare]) -> None:
        self._loop.changed = True
        if self._loop.trace.on:
            tell_commit(self._loop.trace, self._lane, self._layout, revision, ops, compare)


class Members:
    """Several etcd members, by turns: `Members(loop, etcd)`. Commits appear in the lane `etcd`.

    A member that is down or cut off (`source`, the client, has a place in the network) is not asked. A read that nobody
    answered is asked of the next; a write is not: it may have been done.
    """

    def __init__(
        self,
        loop: Loop,
        etcd: EtcdCluster,
        *,
        layout: KeyLayout | None = None,
        lane: str = "etcd",
        source: str = "apiserver",
    ) -> None:
        self.etcd = etcd
        self._loop = loop
        self._layout = layout if layout is not None else KeyLayout()
        self._lane = lane
        self._source = source
        self._at = 0

    async def range(self, key: bytes, range_end: bytes = b"", **options: Any) -> RangeResponse:
        response = await self._read(RangeRequest(key, range_end, **options))
        assert isinstance(response, RangeResponse)
        return response

    async def txn(self, compare: Sequence[Compare], success: Sequence[Op], failure: Sequence[Op] = ()) -> TxnResponse:
        request = TxnRequest(tuple(compare), tuple(success), tuple(failure))
        if all(isinstance(op, RangeRequest) for op in (*success, *failure)):
            response = await self._read(request)
        else:
            response = await self._write(request)
        assert isinstance(response, TxnResponse)
        return response

    async def compact(self, revision: int) -> None:
        await self._write(CompactionRequest(revision))
        self._loop.trace.emit("etcd.compact", self._lane, revision=revision)

    def watch(self, key: bytes, range_end: bytes, start_revision: int) -> Watcher:
        return self.etcd.watch(self._endpoint(), key, range_end, start_revision=start_revision)

    async def _read(self, request: RangeRequest | TxnRequest) -> LoggedResponse:
        error: UnavailableError | None = None
        for _ in self.etcd.machines:
            try:
                return await self.etcd.ask(self._endpoint(), request)
            except UnavailableError as found:
                error = found
                self._at += 1
        raise TimeoutError(str(error))

    async def _write(self, request: LoggedRequest) -> LoggedResponse:
        try:
            return await self.etcd.ask(self._endpoint(), request)
        except UnavailableError as error:
            self._at += 1
            raise TimeoutError(str(error)) from None

    def _endpoint(self) -> int:
        """The member that is asked now; the next one if that is away. TimeoutError when all are."""
        ids = list(self.etcd.machines)
        for step in range(len(ids)):
            id = ids[(self._at + step) % len(ids)]
            if self.etcd.is_reachable(id, self._source):
                self._at += step
                return id
        raise TimeoutError("etcdserver: no member can be reached")

    def tell_commits(self) -> None:
        """Note every commit in the trace from now on."""
        self.etcd.on_applied.append(self._applied)

    def _applied(self, request: LoggedRequest, answer: LoggedResponse | EtcdError) -> None:
        if not self._loop.trace.on or isinstance(answer, EtcdError):
            return
        if isinstance(request, TxnRequest) and isinstance(answer, TxnResponse):
            ops = request.success if answer.succeeded else request.failure
            compare = request.compare
        elif isinstance(request, PutRequest | DeleteRangeRequest):
            ops, compare = (request,), ()
        else:
            return
        plain = [op for op in ops if isinstance(op, PutRequest | DeleteRangeRequest)]
        if plain:
            tell_commit(self._loop.trace, self._lane, self._layout, answer.revision, plain, compare)


def tell_commit(
    trace: Trace, lane: str, layout: KeyLayout, revision: int, ops: Sequence[Op], compare: Sequence[Compare]
) -> None:
    """An event for each write of a transaction to an object."""
    for op in ops:
        if isinstance(op, RangeRequest) or op.key == COMPACT_REV_KEY:
            continue
        resource, key = layout.parse(op.key.decode())
        if resource == "leases.coordination.k8s.io" and "lease.renew" in trace.without:
            continue
        name = "put" if isinstance(op, PutRequest) else "delete"
        base = next((c.operand for c in compare if c.key == op.key and c.target == "MOD"), None)
        seq = trace.emit(
            "etcd.commit",
            lane,
            resource=resource,
            key=key,
            revision=revision,
            op=name,
            base=base if isinstance(base, int) else None,
        )
        trace.commit(revision, seq)
