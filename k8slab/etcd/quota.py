"""How much a database may hold: a write that would pass the quota is refused, and raises the NOSPACE alarm.

>>> quota = BackendQuota(100_000)
>>> quota.is_available(PutRequest(b"k", bytes(10_000)), db_size=90_112)
False
>>> quota.cost(PutRequest(b"k", bytes(10_000)))
10257

What counts is the size of the file, free pages included: after a compaction a defragmentation makes room.

Upstream: etcd server/etcdserver/quota.go (3.6: server/storage/quota.go), server/etcdserver/api/v3rpc/quota.go
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.etcd.messages import LeaseGrantRequest, LoggedRequest, PutRequest, TxnRequest

__all__ = ["DEFAULT_QUOTA_BYTES", "MAX_QUOTA_BYTES", "BackendQuota"]

DEFAULT_QUOTA_BYTES = 2 * 1024**3
"""`--quota-backend-bytes` when it is 0: 2 GiB."""

MAX_QUOTA_BYTES = 8 * 1024**3
"""More is possible, and warned of."""

LEASE_OVERHEAD = 64
KV_OVERHEAD = 256


class BackendQuota:
    """`--quota-backend-bytes`: 0 for the default, negative for no limit."""

    def __init__(self, quota_backend_bytes: int = 0) -> None:
        if not isinstance(quota_backend_bytes, int):
            raise TypeError(f"quota_backend_bytes is {quota_backend_bytes!r}, expected a number of bytes")
        self.max_backend_bytes = quota_backend_bytes or DEFAULT_QUOTA_BYTES

    def is_available(self, request: LoggedRequest, db_size: int) -> bool:
        """Whether there is room for a put, a transaction or a lease; anything else always fits."""
        if self.max_backend_bytes < 0 or not isinstance(request, PutRequest | TxnRequest | LeaseGrantRequest):
            return True
        return db_size + self.cost(request) < self.max_backend_bytes

    def cost(self, request: LoggedRequest) -> int:
        """What a request is reckoned at, in bytes. Of a transaction the dearer branch counts, nested ones nothing."""
        if isinstance(request, PutRequest):
            return KV_OVERHEAD + len(request.key) + len(request.value)
        if isinstance(request, TxnRequest):
            return max(self._cost_of_puts(request.success), self._cost_of_puts(request.failure))
        return LEASE_OVERHEAD if isinstance(request, LeaseGrantRequest) else 0

    def _cost_of_puts(self, operations: Sequence[object]) -> int:
        return sum(self.cost(operation) for operation in operations if isinstance(operation, PutRequest))
