"""Leases: keys that disappear when nobody keeps them alive.

>>> lessor = Lessor()
>>> lessor.grant(7, ttl=60, now_ms=0).ttl
60
>>> lessor.attach(7, b"/locks/a")
>>> lessor.renew(7, now_ms=30_000), lessor.expired(now_ms=89_999)
(60, [])
>>> lessor.expired(now_ms=90_000), lessor.keys(7)
([7], [b'/locks/a'])

Only the *primary* lessor, the leader's, knows when a lease ends: the others hold leases that never do, so a lease
ends by a revocation that every member applies, never by a clock of its own. A new leader starts every lease anew.

Upstream: etcd server/lease/lessor.go, lease_queue.go
Simplified: no checkpoints of the remaining time (off by default in 3.5); a dict is searched in place of a heap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.etcd.errors import LeaseExistError, LeaseNotFoundError, LeaseTTLTooLargeError, NotPrimaryError
from k8slab.etcd.fields import check_fields
from k8slab.etcd.messages import LeaseGrantRequest

__all__ = ["MAX_LEASE_TTL", "Lease", "Lessor", "min_lease_ttl"]

MAX_LEASE_TTL = 9_000_000_000
"""Seconds."""

REVOKE_RATE = 1_000
RETRY_MS = 3_000
"""A lease whose revocation came to nothing is named again after this long."""


def min_lease_ttl(election_timeout_ms: int = 1_000, heartbeat_ms: int = 100) -> int:
    """The shortest TTL that a server grants, in seconds: three halves of the election timeout, so that a lease outlives
    an election. 2 by default."""
    if heartbeat_ms < 1 or election_timeout_ms < heartbeat_ms:
        raise ValueError(
            f"election_timeout_ms is {election_timeout_ms}, expected at least heartbeat_ms, {heartbeat_ms}"
        )
    ticks = election_timeout_ms // heartbeat_ms
    return -(-(3 * ticks // 2 * heartbeat_ms) // 1_000)


@dataclass(slots=True)
class Lease:
    """`ttl` in seconds; `expiry_ms` is None as long as it does not run. `keys` are in the order of attachment."""

    id: int
    ttl: int
    expiry_ms: int | None = None
    keys: dict[bytes, None] = field(default_factory=dict)


class Lessor:
    """All leases of a member, and which key hangs on which. `min_ttl`: seconds that every lease lives at least."""

    def __init__(self, min_ttl: int = 2, *, is_primary: bool = True) -> None:
        if not isinstance(min_ttl, int) or not 0 <= min_ttl <= MAX_LEASE_TTL:
            raise ValueError(f"min_ttl is {min_ttl!r}, expected whole seconds from 0 to {MAX_LEASE_TTL}")
        self.min_ttl = min_ttl
        self.is_primary = is_primary
        self._leases: dict[int, Lease] = {}
        self._items: dict[bytes, int] = {}
        self._retry: dict[int, int] = {}
        self._delete: Callable[[Sequence[bytes]], object] | None = None

    def set_range_deleter(self, delete: Callable[[Sequence[bytes]], object]) -> None:
        """What `revoke` calls with the keys of the lease, in order: to delete them in one transaction."""
        self._delete = delete

    # -- what every member does in the same order --------------------------------------------------

    def grant(self, id: int, ttl: int, now_ms: int = 0) -> Lease:
        """A new lease. Raises LeaseExistError, LeaseTTLTooLargeError; LeaseNotFoundError for id 0, which is none."""
        check_fields(LeaseGrantRequest(ttl, id))
        if id == 0:
            raise LeaseNotFoundError
        if ttl > MAX_LEASE_TTL:
            raise LeaseTTLTooLargeError
        if id in self._leases:
            raise LeaseExistError
        lease = self._leases[id] = Lease(id, max(ttl, self.min_ttl))
        if self.is_primary:
            lease.expiry_ms = now_ms + 1_000 * lease.ttl
        return lease

    def revoke(self, id: int) -> None:
        """Delete the keys of a lease, in order and in one transaction, and forget it. Raises LeaseNotFoundError."""
        lease = self._lease(id)
        keys = sorted(lease.keys)
        if self._delete is not None:
            self._delete(keys)
        for key in list(lease.keys):
            self.detach(id, key)
        del self._leases[id]
        self._retry.pop(id, None)

    def attach(self, id: int, key: bytes) -> None:
        """Hang `key` on lease `id`, taking it from any other. Raises LeaseNotFoundError."""
        lease = self._lease(id)
        before = self._items.get(key)
        if before is not None:
            self.detach(before, key)
        lease.keys[key] = None
        self._items[key] = id

    def detach(self, id: int, key: bytes) -> None:
        """Take `key` off lease `id`; nothing happens if it does not hang there. Raises LeaseNotFoundError."""
        if self._lease(id).keys.pop(key, 0) is None:
            del self._items[key]

    def recover(self, leases: Iterable[tuple[int, int]]) -> None:
        """Replace all leases by those of a snapshot, (id, ttl): without keys, and none of them runs until `promote`."""
        self._leases = {id: Lease(id, max(ttl, self.min_ttl)) for id, ttl in leases}
        self._items = {}
        self._retry = {}

    # -- what only the leader does -----------------------------------------------------------------

    def renew(self, id: int, now_ms: int) -> int:
        """Start the lease anew; returns its TTL. Raises NotPrimaryError, LeaseNotFoundError.

        A lease that has expired is not saved by this, though not yet revoked: etcd waits for the revocation, here it
        counts as gone.
        """
        if not self.is_primary:
            raise NotPrimaryError
        if self.is_expired(id, now_ms):
            raise LeaseNotFoundError
        lease = self._lease(id)
        lease.expiry_ms = now_ms + 1_000 * lease.ttl
        return lease.ttl

    def expired(self, now_ms: int, limit: int = REVOKE_RATE // 2) -> list[int]:
        """The leases to be revoked now, at most `limit`, the longest expired first. Empty unless primary.

        One that is still there 3 seconds later is named again. etcd looks every 500 ms.
        """
        if not self.is_primary:
            return []
        due = []
        for lease in self._leases.values():
            if lease.expiry_ms is not None and max(lease.expiry_ms, self._retry.get(lease.id, 0)) <= now_ms:
                due.append((lease.expiry_ms, lease.id))
        found = [id for _, id in sorted(due)[:limit]]
        for id in found:
            self._retry[id] = now_ms + RETRY_MS
        return found

    def promote(self, now_ms: int, extend_ms: int = 0) -> None:
        """Become the primary: every lease starts anew, and lives `extend_ms` (an election timeout) longer.

        From 1,000 leases on their ends are spread, so that no second sees more than three quarters of what can be
        revoked in it.
        """
        self.is_primary = True
        self._retry = {}
        for lease in self._leases.values():
            lease.expiry_ms = now_ms + extend_ms + 1_000 * lease.ttl
        if len(self._leases) < REVOKE_RATE:
            return
        most = 3 * REVOKE_RATE // 4
        ordered = self._by_expiry()
        base = _remaining(ordered[0], now_ms)
        window, count = base + 1_000, 0
        for lease in ordered:
            remaining = _remaining(lease, now_ms)
            if remaining > window:
                base, window, count = remaining, remaining + 1_000, 1
                continue
            count += 1
            if count <= most:
                continue
            delay = 1_000 * count // most - (remaining - base)
            window = base + delay
            lease.expiry_ms = now_ms + delay + extend_ms + 1_000 * lease.ttl

    def demote(self) -> None:
        """No longer the primary: no lease ends here."""
        self.is_primary = False
        self._retry = {}
        for lease in self._leases.values():
            lease.expiry_ms = None

    # -- questions ---------------------------------------------------------------------------------

    def lookup(self, id: int) -> Lease | None:
        """The lease, if there is one."""
        return self._leases.get(id)

    def keys(self, id: int) -> list[bytes]:
        """The keys of a lease, in order. Raises LeaseNotFoundError."""
        return sorted(self._lease(id).keys)

    def lease_of(self, key: bytes) -> int:
        """The id of the lease that `key` hangs on, 0 for none."""
        return self._items.get(key, 0)

    def remaining_ms(self, id: int, now_ms: int) -> int | None:
        """How long a lease still lives, negative when it has expired; None when it does not run."""
        expiry = self._lease(id).expiry_ms
        return None if expiry is None else expiry - now_ms

    def is_expired(self, id: int, now_ms: int) -> bool:
        """Its time is over, though it may not be revoked yet. Raises LeaseNotFoundError."""
        remaining = self.remaining_ms(id, now_ms)
        return remaining is not None and remaining <= 0

    def leases(self) -> list[Lease]:
        """All leases: the one that ends first in front, of those that end together the oldest."""
        return self._by_expiry()

    @property
    def next_expiry_ms(self) -> int | None:
        """When `expired` next has something to say, None if never."""
        times = [
            max(lease.expiry_ms, self._retry.get(lease.id, 0))
            for lease in self._leases.values()
            if lease.expiry_ms is not None
        ]
        return min(times, default=None) if self.is_primary else None

    def view(self) -> dict[str, Any]:
        """Lease id → TTL, end, keys."""
        return {
            str(lease.id): {
                "ttl": lease.ttl,
                "expiry_ms": lease.expiry_ms,
                "keys": {key.decode("latin-1"): True for key in sorted(lease.keys)},
            }
            for lease in self._leases.values()
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        attached = {key: lease.id for lease in self._leases.values() for key in lease.keys}
        assert attached == self._items, "the leases' keys and the keys' leases differ"
        assert sum(len(lease.keys) for lease in self._leases.values()) == len(attached), "a key hangs on two leases"
        for id, lease in self._leases.items():
            assert id == lease.id != 0, f"lease {lease.id} is kept under {id}"
            assert self.min_ttl <= lease.ttl <= MAX_LEASE_TTL, f"lease {id} has a TTL of {lease.ttl}"
            assert self.is_primary or lease.expiry_ms is None, f"lease {id} runs on a member that does not lead"
        assert all(id in self._leases for id in self._retry), "a lease that is gone is to be revoked again"

    def _lease(self, id: int) -> Lease:
        lease = self._leases.get(id)
        if lease is None:
            raise LeaseNotFoundError
        return lease

    def _by_expiry(self) -> list[Lease]:
        return sorted(self._leases.values(), key=lambda lease: (lease.expiry_ms is None, lease.expiry_ms or 0))


def _remaining(lease: Lease, now_ms: int) -> int:
    assert lease.expiry_ms is not None
    return lease.expiry_ms - now_ms
