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
    code, message = "INVALID_ARGUMENT", "etcdserver: key is not provided"


class KeyNotFoundError(EtcdError):
    code, message = "INVALID_ARGUMENT", "etcdserver: key not found"


class ValueProvidedError(EtcdError):
    code, message = "INVALID_ARGUMENT", "etcdserver: value is provided"


class LeaseProvidedError(EtcdError):
    code, message = "INVALID_ARGUMENT", "etcdserver: lease is provided"


class TooManyOpsError(EtcdError):
    code, message = "INVALID_ARGUMENT", "etcdserver: too many operations in txn request"


class DuplicateKeyError(EtcdError):
    code, message = "INVALID_ARGUMENT", "etcdserver: duplicate key given in txn request"


class CompactedError(EtcdError):
    code, message = "OUT_OF_RANGE", "etcdserver: mvcc: required revision has been compacted"


class FutureRevisionError(EtcdError):
    code, message = "OUT_OF_RANGE", "etcdserver: mvcc: required revision is a future revision"


class LeaseNotFoundError(EtcdError):
    code, message = "NOT_FOUND", "etcdserver: requested lease not found"


EMPTY_WATCHER_RANGE = "mvcc: watcher range is empty"
