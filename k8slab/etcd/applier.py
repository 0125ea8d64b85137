"""What every member of a cluster does with a request that was agreed on: the same, in the same order.

>>> from k8slab.etcd import PutRequest, RangeRequest
>>> applier = Applier()
>>> applier.apply(PutRequest(b"k", b"v"))
PutResponse(revision=2, prev_kv=None)
>>> applier.apply(RangeRequest(b"k")).kvs[0].value
b'v'

A request that is refused raises an EtcdError, on every member. Time enters as `now_ms` and decides only when leases of
the leader end, which no response shows: so members agree though their clocks don't.

Alarms come between a request and the store: with NOSPACE nothing may be put or granted, with CORRUPT nothing be done.

Upstream: etcd server/etcdserver/apply.go (applierV3backend, quotaApplierV3, applierV3Capped, applierV3Corrupt)
Simplified: no users, roles and members; with two kinds of alarm on, the worse one counts, not the later one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from k8slab.etcd.alarms import AlarmStore
from k8slab.etcd.errors import CorruptError, EtcdError, NoSpaceError
from k8slab.etcd.fields import check_fields
from k8slab.etcd.lease import Lessor
from k8slab.etcd.messages import (
    AlarmAction,
    AlarmRequest,
    AlarmResponse,
    AlarmType,
    CompactionRequest,
    CompactionResponse,
    DeleteRangeRequest,
    LeaseGrantRequest,
    LeaseGrantResponse,
    LeaseRevokeRequest,
    LeaseRevokeResponse,
    LoggedRequest,
    LoggedResponse,
    PutRequest,
    RangeRequest,
    TxnRequest,
)
from k8slab.etcd.quota import BackendQuota
from k8slab.etcd.snapshot import pack
from k8slab.etcd.store import Store
from k8slab.etcd.txn import MAX_TXN_OPS, is_readonly

__all__ = ["Applier"]


class Applier:
    """A store with its leases and alarms. `quota_backend_bytes`: see BackendQuota; the same on every member.

    `store`: one that is there already, with its lessor."""

    def __init__(
        self,
        lessor: Lessor | None = None,
        *,
        store: Store | None = None,
        quota_backend_bytes: int = 0,
        max_txn_ops: int = MAX_TXN_OPS,
    ) -> None:
        self.store = store if store is not None else Store(lessor)
        self.max_txn_ops = max_txn_ops
        self.alarms = AlarmStore()
        self.quota = BackendQuota(quota_backend_bytes)

    @property
    def lessor(self) -> Lessor:
        return self.store.lessor

    def apply(self, request: LoggedRequest, now_ms: int = 0) -> LoggedResponse:
        """Carry a request out, once. Raises the EtcdError that answers it.

        After a NoSpaceError without a NOSPACE alarm the member proposes one; the write itself has been done then.
        """
        if isinstance(request, AlarmRequest):
            return self._alarm(request)
        self._check_alarms(request)
        size = self.store.db_size
        response = self._carry_out(request, now_ms)
        if not self.quota.is_available(request, size) and not self.alarms.get(AlarmType.NOSPACE):
            raise NoSpaceError
        return response

    def read(self, request: RangeRequest | TxnRequest) -> LoggedResponse:
        """Answer a question from what this member has. It stands in no log, so no alarm hinders it."""
        if not is_readonly(request):
            raise ValueError(f"request is {request!r}, expected a range or a transaction of ranges alone")
        return self._carry_out(request, 0)

    def try_apply(self, request: LoggedRequest, now_ms: int = 0) -> LoggedResponse | EtcdError:
        """As `apply`, with the error as a value: what a member hands to the client that waits for it."""
        try:
            return self.apply(request, now_ms)
        except EtcdError as error:
            return error

    def snapshot(self) -> bytes:
        """Store, leases and alarms as bytes."""
        return pack(replace(self.store.image(), alarms=self.alarms.get()))

    def restore(self, data: bytes, **options: Any) -> None:
        """Become what a snapshot says; options as of `Store.restore`. Raises SnapshotError."""
        self.alarms = AlarmStore(self.store.restore(data, **options).alarms)

    def view(self) -> dict[str, Any]:
        """As the store's, and the alarms."""
        return {**self.store.view(), "alarms": {f"{a.member_id}/{a.alarm}": True for a in self.alarms.get()}}

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        self.store.check_invariants()

    def _check_alarms(self, request: LoggedRequest) -> None:
        if self.alarms.get(AlarmType.CORRUPT):
            raise CorruptError
        if self.alarms.get(AlarmType.NOSPACE):
            if isinstance(request, PutRequest | LeaseGrantRequest):
                raise NoSpaceError
            if isinstance(request, TxnRequest) and self.quota.cost(request) > 0:
                raise NoSpaceError

    def _carry_out(self, request: LoggedRequest, now_ms: int) -> LoggedResponse:
        store = self.store
        if isinstance(request, RangeRequest):
            return store.range(**request._asdict())
        if isinstance(request, PutRequest):
            return store.put(*request)
        if isinstance(request, DeleteRangeRequest):
            return store.delete_range(*request)
        if isinstance(request, TxnRequest):
            return store.txn(*request, max_ops=self.max_txn_ops)
        if isinstance(request, CompactionRequest):
            return CompactionResponse(store.compact(request.revision))
        if isinstance(request, LeaseGrantRequest):
            lease = self.lessor.grant(request.id, request.ttl, now_ms)
            return LeaseGrantResponse(store.revision, lease.id, lease.ttl)
        if isinstance(request, LeaseRevokeRequest):
            self.lessor.revoke(request.id)
            return LeaseRevokeResponse(store.revision)
        raise TypeError(f"request is {request!r}, expected one of those that stand in a log")

    def _alarm(self, request: AlarmRequest) -> AlarmResponse:
        check_fields(request)
        action, alarm = AlarmAction(request.action), AlarmType(request.alarm)
        if action == AlarmAction.GET:
            return AlarmResponse(self.store.revision, self.alarms.get(alarm))
        if alarm == AlarmType.NONE:
            return AlarmResponse(self.store.revision)
        if action == AlarmAction.ACTIVATE:
            return AlarmResponse(self.store.revision, (self.alarms.activate(request.member_id, alarm),))
        member = self.alarms.deactivate(request.member_id, alarm)
        return AlarmResponse(self.store.revision, () if member is None else (member,))
