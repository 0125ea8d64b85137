"""The key-value store below the API server: an async Protocol, and the adapter for one etcd member.

The API server awaits every answer, because a replicated store cannot answer inside the caller's action. The one-member
adapter answers at once.

Upstream: etcd client/v3 (KV, Watcher), apiserver/pkg/storage/storagebackend
Simplified: no endpoints, authentication or leases; one adapter stands for client and connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from k8slab.apiserver.storage.keys import KeyLayout
from k8slab.etcd import (
    Compare,
    DeleteRangeRequest,
    PutRequest,
    RangeRequest,
    RangeResponse,
    Store,
    TxnResponse,
    Watcher,
)
from k8slab.sim import Loop

__all__ = ["KV", "Op", "SingleMember"]

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
        trace = self._loop.trace
        if not trace.on:
            return
        for op in ops:
            if isinstance(op, RangeRequest):
                continue
            resource, key = self._layout.parse(op.key.decode())
            if resource == "leases.coordination.k8s.io" and "lease.renew" in trace.without:
                continue
            name = "put" if isinstance(op, PutRequest) else "delete"
            base = next((c.operand for c in compare if c.key == op.key and c.target == "MOD"), None)
            seq = trace.emit(
                "etcd.commit",
                self._lane,
                resource=resource,
                key=key,
                revision=revision,
                op=name,
                base=base if isinstance(base, int) else None,
            )
            trace.commit(revision, seq)
