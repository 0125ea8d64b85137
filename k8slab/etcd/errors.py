"""Errors of the store and its server, one class per gRPC error, with etcd's code and wording.

Upstream: etcd api/v3rpc/rpctypes/error.go, server/storage/mvcc/watcher.go, etcdutl/snapshot/v3_snapshot.go
"""

from __future__ import annotations


class EtcdError(Exception):
    """A refused operation: nothing was changed. `code` is the gRPC status name, `message` etcd's text."""

    code = "UNKNOWN"
    message = ""

    def __init__(self) -> None:
        super().__init__(self.message)


class EmptyKeyError(EtcdError):
    """A request, or a condition of a transaction, without a key."""

    code, message = "INVALID_ARGUMENT", "etcdserver: key is not provided"


class KeyNotFoundError(EtcdError):
    """A put that keeps the present value or lease of a key that doesn't exist."""

    code, message = "INVALID_ARGUMENT", "etcdserver: key not found"


class ValueProvidedError(EtcdError):
    """A put that keeps the present value, and gives one."""

    code, message = "INVALID_ARGUMENT", "etcdserver: value is provided"


class LeaseProvidedError(EtcdError):
    """A put that keeps the present lease, and gives one."""

    code, message = "INVALID_ARGUMENT", "etcdserver: lease is provided"


class TooManyOpsError(EtcdError):
    """A transaction with more conditions or operations in a list than the server takes (128, nested ones included)."""

    code, message = "INVALID_ARGUMENT", "etcdserver: too many operations in txn request"


class DuplicateKeyError(EtcdError):
    """A transaction that would put a key twice, or put one that it also deletes."""

    code, message = "INVALID_ARGUMENT", "etcdserver: duplicate key given in txn request"


class CompactedError(EtcdError):
    """A read of a revision that compaction has removed, or a second compaction at or below the last."""

    code, message = "OUT_OF_RANGE", "etcdserver: mvcc: required revision has been compacted"


class FutureRevisionError(EtcdError):
    """A read or a compaction of a revision that has not been made yet."""

    code, message = "OUT_OF_RANGE", "etcdserver: mvcc: required revision is a future revision"


class LeaseNotFoundError(EtcdError):
    """A lease that doesn't exist: a put that names it, or its revocation."""

    code, message = "NOT_FOUND", "etcdserver: requested lease not found"


class LeaseExistError(EtcdError):
    """A grant of a lease under an id that is taken."""

    code, message = "FAILED_PRECONDITION", "etcdserver: lease already exists"


class LeaseTTLTooLargeError(EtcdError):
    """A grant for more than 9,000,000,000 seconds."""

    code, message = "OUT_OF_RANGE", "etcdserver: too large lease TTL"


class NotPrimaryError(EtcdError):
    """A renewal asked of a member that doesn't lead: the caller asks the leader instead, no client sees this."""

    code, message = "UNKNOWN", "not a primary lessor"


class NoSpaceError(EtcdError):
    """A write while the NOSPACE alarm is on, or one that would pass the quota."""

    code, message = "RESOURCE_EXHAUSTED", "etcdserver: mvcc: database space exceeded"


class CorruptError(EtcdError):
    """Anything asked of the store while the CORRUPT alarm is on."""

    code, message = "DATA_LOSS", "etcdserver: corrupt cluster"


class RequestTooLargeError(EtcdError):
    """A request of more bytes than `--max-request-bytes` (1.5 MiB)."""

    code, message = "INVALID_ARGUMENT", "etcdserver: request is too large"


class UnavailableError(EtcdError):
    """Nobody answered: whether a write was done is not known."""

    code = "UNAVAILABLE"


class RequestTimedOutError(UnavailableError):
    """No majority, or no leader, for too long."""

    message = "etcdserver: request timed out"


class LeaderFailTimeoutError(UnavailableError):
    """As above, and the leader was lost meanwhile."""

    message = "etcdserver: request timed out, possibly due to previous leader failure"


class LeaderChangedError(UnavailableError):
    """A read was asked of a leader that no longer is."""

    message = "etcdserver: leader changed"


class StoppedError(UnavailableError):
    """The member stopped before it could answer."""

    message = "etcdserver: server stopped"


class ProposalDroppedError(EtcdError):
    """The leader took nothing: it hands over, or was removed. Nothing was done."""

    message = "raft proposal dropped"


class SnapshotError(ValueError):
    """A snapshot that can't be restored: damaged, cut off, or none at all."""


EMPTY_WATCHER_RANGE = "mvcc: watcher range is empty"
DUPLICATE_WATCH_ID = "mvcc: duplicate watch ID provided on the WatchStream"
