"""Errors of the store, one class per gRPC error, with etcd's code and wording.

Upstream: etcd api/v3rpc/rpctypes/error.go, server/storage/mvcc/watcher.go
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
    """A put with a lease that doesn't exist."""

    code, message = "NOT_FOUND", "etcdserver: requested lease not found"


EMPTY_WATCHER_RANGE = "mvcc: watcher range is empty"
