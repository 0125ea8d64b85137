"""What a member does around the log: checks before a proposal, leases, time, watches. And etcd with one member.

>>> from k8slab.etcd import LeaseGrantRequest, PutRequest
>>> server = EtcdServer(rng=random.Random(7))
>>> lease = server.do(LeaseGrantRequest(ttl=10), now_ms=0)
>>> server.do(PutRequest(b"k", b"v", lease=lease.id)).revision
2
>>> server.lease_time_to_live(lease.id, now_ms=4_000, keys=True)[2:]
(6, 10, (b'k',))
>>> server.tick(now_ms=10_000) == [LeaseRevokeRequest(lease.id)], server.store.range(b"k").count
(True, 0)

With others it takes three steps: `prepare` on the member that is asked (refuse what can't be, fill in what must be the
same everywhere), agreement on `encode(request, id)`, and on every member `apply(decode(data)[1], now_ms)`. What `due`
returns the leader proposes; `promote` and `demote` tell a member whether it leads. `do` and `tick` do all that for one
member, at once.

Upstream: etcd server/etcdserver/v3_server.go, server.go, server/etcdserver/api/v3rpc/{key,lease,quota}.go
Simplified: no authentication, members and downgrades; no limit on requests waiting to be applied.
"""

from __future__ import annotations

import random
from typing import Any

from k8slab.etcd.applier import Applier
from k8slab.etcd.compactor import Compactor
from k8slab.etcd.errors import CompactedError, EtcdError, LeaseNotFoundError, NoSpaceError, RequestTooLargeError
from k8slab.etcd.lease import Lessor, min_lease_ttl
from k8slab.etcd.messages import (
    AlarmAction,
    AlarmRequest,
    AlarmType,
    CompactionRequest,
    DeleteRangeRequest,
    LeaseGrantRequest,
    LeaseKeepAliveResponse,
    LeaseLeasesResponse,
    LeaseRevokeRequest,
    LeaseTimeToLiveResponse,
    LoggedRequest,
    LoggedResponse,
    PutRequest,
    RangeRequest,
    TxnRequest,
)
from k8slab.etcd.store import Store
from k8slab.etcd.txn import MAX_TXN_OPS, check_branches, check_request, is_readonly
from k8slab.etcd.wire import encoded_size

__all__ = ["MAX_REQUEST_BYTES", "EtcdServer"]

MAX_REQUEST_BYTES = 1_572_864
"""`--max-request-bytes`: 1.5 MiB, of the request as it stands in the log."""


class EtcdServer:
    """One member. `rng` gives ids to leases that ask for none; without one such a grant is a ValueError.

    The election timeout decides how short a lease may be, and how much longer leases live under a new leader.
    `compactor`: see `PeriodicCompactor`, `RevisionCompactor`. `is_leader`: False for one among others, until `promote`.
    """

    def __init__(
        self,
        *,
        member_id: int = 1,
        rng: random.Random | None = None,
        quota_backend_bytes: int = 0,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        max_txn_ops: int = MAX_TXN_OPS,
        election_timeout_ms: int = 1_000,
        heartbeat_ms: int = 100,
        compactor: Compactor | None = None,
        is_leader: bool = True,
    ) -> None:
        self.member_id = member_id
        self.max_request_bytes = max_request_bytes
        self.max_txn_ops = max_txn_ops
        self.compactor = compactor
        self.election_timeout_ms = election_timeout_ms
        lessor = Lessor(min_lease_ttl(election_timeout_ms, heartbeat_ms), is_primary=is_leader)
        self.applier = Applier(lessor, quota_backend_bytes=quota_backend_bytes, max_txn_ops=max_txn_ops)
        self._rng = rng

    @property
    def store(self) -> Store:
        return self.applier.store

    @property
    def lessor(self) -> Lessor:
        return self.applier.lessor

    # -- requests ----------------------------------------------------------------------------------

    def prepare(self, request: LoggedRequest) -> LoggedRequest:
        """What to propose for a request: itself, with an id if it is a lease without one. Raises EtcdError.

        TypeError or ValueError for what no log could carry. After a NoSpaceError the caller proposes `self.alarm()`, as
        etcd does. An error here has changed nothing.
        """
        size = encoded_size(request)
        if not self.applier.quota.is_available(request, self.store.db_size):
            raise NoSpaceError
        if isinstance(request, RangeRequest | PutRequest | DeleteRangeRequest | TxnRequest):
            check_request(request, self.max_txn_ops)
        if isinstance(request, TxnRequest):
            check_branches(request)
        if isinstance(request, LeaseGrantRequest) and request.id == 0:
            request = request._replace(id=self._lease_id())
            size = encoded_size(request)
        if size > self.max_request_bytes:
            raise RequestTooLargeError
        return request

    def apply(self, request: LoggedRequest, now_ms: int = 0) -> LoggedResponse:
        """Carry out what was agreed on. Raises EtcdError; after a NoSpaceError the caller proposes `self.alarm()`."""
        return self.applier.apply(request, now_ms)

    def do(self, request: LoggedRequest, now_ms: int = 0) -> LoggedResponse:
        """As the only member: answer a request at once. Raises EtcdError."""
        try:
            if isinstance(request, RangeRequest | TxnRequest) and is_readonly(request):
                return self.read(request)
            return self.apply(self.prepare(request), now_ms)
        except NoSpaceError:
            self.apply(self.alarm(), now_ms)
            raise

    def read(self, request: RangeRequest | TxnRequest) -> LoggedResponse:
        """Answer a range or a transaction of ranges from what this member has. Raises EtcdError.

        Linearizable or not is the caller's business: it waits until the member has applied all that was agreed on, or
        doesn't. A file over the quota refuses every transaction, though it write nothing.
        """
        if not self.applier.quota.is_available(request, self.store.db_size):
            raise NoSpaceError
        check_request(request, self.max_txn_ops)
        return self.applier.read(request)

    def alarm(self) -> AlarmRequest:
        """What a member proposes that has run out of space."""
        return AlarmRequest(AlarmAction.ACTIVATE, self.member_id, AlarmType.NOSPACE)

    # -- leases: asked of the leader, not through the log ------------------------------------------

    def lease_keep_alive(self, id: int, now_ms: int) -> LeaseKeepAliveResponse:
        """Start a lease anew; TTL 0 if there is none. Raises NotPrimaryError: ask the leader."""
        try:
            ttl = self.lessor.renew(id, now_ms)
        except LeaseNotFoundError:
            ttl = 0
        return LeaseKeepAliveResponse(self.store.revision, id, ttl)

    def lease_time_to_live(self, id: int, now_ms: int, *, keys: bool = False) -> LeaseTimeToLiveResponse:
        """Whole seconds that a lease lives on, and with `keys` what hangs on it; TTL -1 if there is none."""
        lease = self.lessor.lookup(id)
        if lease is None:
            return LeaseTimeToLiveResponse(self.store.revision, id, -1)
        remaining = self.lessor.remaining_ms(id, now_ms)
        ttl = lease.ttl if remaining is None else int(remaining / 1_000)
        found = tuple(self.lessor.keys(id)) if keys else ()
        return LeaseTimeToLiveResponse(self.store.revision, id, ttl, lease.ttl, found)

    def lease_leases(self) -> LeaseLeasesResponse:
        """The ids of all leases."""
        return LeaseLeasesResponse(self.store.revision, tuple(lease.id for lease in self.lessor.leases()))

    # -- time and leadership -----------------------------------------------------------------------

    def promote(self, now_ms: int) -> None:
        """This member leads now, and has applied everything of earlier terms: its leases start to run."""
        self.lessor.promote(now_ms, self.election_timeout_ms)

    def demote(self) -> None:
        """This member no longer leads."""
        self.lessor.demote()

    def due(self, now_ms: int) -> list[LoggedRequest]:
        """What the leader proposes by itself at this time: leases that ended, a compaction. etcd asks every 500 ms."""
        found: list[LoggedRequest] = [LeaseRevokeRequest(id) for id in self.lessor.expired(now_ms)]
        if self.compactor is not None:
            revision = self.compactor.tick(now_ms, self.store.revision, paused=not self.lessor.is_primary)
            if revision is not None:
                found.append(CompactionRequest(revision))
        return found

    def done(self, request: LoggedRequest, now_ms: int, error: EtcdError | None = None) -> None:
        """Tell what became of a request that was `due`."""
        if self.compactor is None or not isinstance(request, CompactionRequest):
            return
        if error is None or isinstance(error, CompactedError):
            self.compactor.compacted(now_ms, request.revision)

    def tick(self, now_ms: int) -> list[LoggedRequest]:
        """As the only member: carry out what is due, feed watchers; returns what was done."""
        requests = self.due(now_ms)
        for request in requests:
            answer = self.applier.try_apply(request, now_ms)
            self.done(request, now_ms, answer if isinstance(answer, EtcdError) else None)
        self.store.sync_watchers()
        return requests

    @property
    def next_due_ms(self) -> int | None:
        """When `due` may next have something, None for never."""
        times = [self.lessor.next_expiry_ms, None if self.compactor is None else self.compactor.next_tick_ms]
        return min((time for time in times if time is not None), default=None)

    # -- the whole ---------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Everything that is agreed on, as bytes."""
        return self.applier.snapshot()

    def restore(self, data: bytes, now_ms: int = 0, **options: Any) -> None:
        """Become what a snapshot says; options as of `Store.restore`. A leader's leases start anew."""
        self.applier.restore(data, **options)
        if self.lessor.is_primary:
            self.lessor.promote(now_ms)

    def view(self) -> dict[str, Any]:
        """As the applier's, and whether the member leads."""
        return {**self.applier.view(), "is_leader": self.lessor.is_primary}

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        self.applier.check_invariants()

    def _lease_id(self) -> int:
        if self._rng is None:
            raise ValueError("a lease with id 0 needs an id: give EtcdServer(rng=...), or the request an id")
        id = 0
        while id == 0 or self.lessor.lookup(id) is not None:
            id = self._rng.getrandbits(63)
        return id
