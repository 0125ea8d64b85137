"""What makes a transaction legal, and which branch it takes.

Upstream: etcd server/etcdserver/api/v3rpc/key.go (checks of the request), server/etcdserver/txn/txn.go (compares)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, is_

from k8slab.etcd.errors import (
    DuplicateKeyError,
    EmptyKeyError,
    LeaseProvidedError,
    TooManyOpsError,
    ValueProvidedError,
)
from k8slab.etcd.fields import LEAST, MOST, check_compare, check_fields
from k8slab.etcd.messages import (
    Compare,
    CompareResult,
    CompareTarget,
    DeleteRangeRequest,
    KeyValue,
    PutRequest,
    RangeRequest,
    Request,
    TxnRequest,
)

MAX_TXN_OPS = 128

Interval = tuple[bytes, bytes]

_ACTUAL: dict[str, Callable[[KeyValue], int]] = {
    CompareTarget.VERSION: attrgetter("version"),
    CompareTarget.CREATE: attrgetter("create_revision"),
    CompareTarget.MOD: attrgetter("mod_revision"),
    CompareTarget.LEASE: attrgetter("lease"),
}
_INTERVALS = (RangeRequest, DeleteRangeRequest)
_PLAIN = {kind: kind(b"")[2:] for kind in _INTERVALS}
_ABSENT = KeyValue(b"", 0, 0, 0, b"")


def check_request(request: Request, max_ops: int = MAX_TXN_OPS) -> None:
    """Raise the EtcdError for a request that could never be executed; TypeError or ValueError for one that is none."""
    if isinstance(request, PutRequest):
        _check_put(request)
    elif isinstance(request, TxnRequest):
        check_txn_request(request, max_ops)
    elif isinstance(request, _INTERVALS):
        # check_fields alone would do, and take half the time of a read
        if not (type(request[0]) is type(request[1]) is bytes and all(map(is_, request[2:], _PLAIN[type(request)]))):
            check_fields(request)
        if not request.key:
            raise EmptyKeyError
    else:
        raise TypeError(
            f"request is {request!r}, expected a RangeRequest, PutRequest, DeleteRangeRequest or TxnRequest"
        )


def _check_put(request: PutRequest) -> None:
    key, value, lease, prev_kv, ignore_value, ignore_lease = request
    # check_fields alone would do, and take a third of the time of a put
    if not (
        type(key) is type(value) is bytes
        and type(lease) is int
        and LEAST <= lease <= MOST
        and type(prev_kv) is type(ignore_value) is type(ignore_lease) is bool
    ):
        check_fields(request)
    if not key:
        raise EmptyKeyError
    if ignore_value and value:
        raise ValueProvidedError
    if ignore_lease and lease:
        raise LeaseProvidedError


def is_readonly(request: object) -> bool:
    """A range, or a transaction whose branches hold ranges alone: it needs no place in a log. A nested one does."""
    if isinstance(request, TxnRequest):
        return all(isinstance(operation, RangeRequest) for operation in _operations(request))
    return isinstance(request, RangeRequest)


def is_serializable(request: object) -> bool:
    """A read that any member may answer at once: every range of it says so."""
    ranges = _operations(request) if isinstance(request, TxnRequest) else (request,)
    return all(isinstance(one, RangeRequest) and one.serializable for one in ranges)


def _operations(request: TxnRequest) -> tuple[Request, ...]:
    check_fields(request)
    return (*request.success, *request.failure)


def check_txn_request(request: TxnRequest, max_ops: int = MAX_TXN_OPS) -> None:
    """Limits, keys and operands of a transaction and of those nested in it."""
    both = _operations(request)
    operations = max(len(request.compare), len(request.success), len(request.failure))
    if operations > max_ops:
        raise TooManyOpsError
    for compare in request.compare:
        check_compare(compare)
        if not compare.key:
            raise EmptyKeyError
    for operation in both:
        check_request(operation, max_ops - operations)


def check_branches(request: TxnRequest) -> None:
    """Raise DuplicateKeyError if a branch of a transaction writes a key twice."""
    for branch in (request.success, request.failure):
        if len(branch) > 1 or (branch and isinstance(branch[0], TxnRequest)):
            check_intervals(branch)


def check_intervals(requests: Sequence[Request]) -> tuple[dict[bytes, None], list[Interval]]:
    """Raise DuplicateKeyError if one branch writes a key twice. Return the keys it puts and the intervals it deletes.

    Two deletions may overlap, and the two branches of a nested transaction may put the same key: one of them runs.
    """
    deletes = [(request.key, request.range_end) for request in requests if isinstance(request, DeleteRangeRequest)]
    puts: dict[bytes, None] = {}
    for request in requests:
        if not isinstance(request, TxnRequest):
            continue
        puts_then, deletes_then = check_intervals(request.success)
        puts_else, deletes_else = check_intervals(request.failure)
        for key in puts_then:
            _add_put(puts, deletes, key)
        for key in puts_else:
            if key in puts and key in puts_then:
                continue
            _add_put(puts, deletes, key)
        deletes += deletes_then + deletes_else
    for request in requests:
        if isinstance(request, PutRequest):
            _add_put(puts, deletes, request.key)
    return puts, deletes


def _add_put(puts: dict[bytes, None], deletes: Sequence[Interval], key: bytes) -> None:
    # A deletion "from key" has range_end \0, which sorts below every key: upstream's intervals never meet it.
    if key in puts or any(first <= key < end if end else first == key for first, end in deletes):
        raise DuplicateKeyError
    puts[key] = None


def holds(compare: Compare, kvs: Sequence[KeyValue]) -> bool:
    """Whether every one of `kvs` (the keys that exist in the compare's interval) fulfils the condition."""
    if kvs:
        return all(_holds_for(compare, kv) for kv in kvs)
    return compare.target != CompareTarget.VALUE and _holds_for(compare, _ABSENT)


def _holds_for(compare: Compare, kv: KeyValue) -> bool:
    if compare.target == CompareTarget.VALUE and isinstance(compare.operand, bytes):
        relation = (kv.value > compare.operand) - (kv.value < compare.operand)
    elif isinstance(compare.operand, int):
        actual = _ACTUAL[compare.target](kv)
        relation = (actual > compare.operand) - (actual < compare.operand)
    else:
        raise TypeError(f"operand of compare {compare!r} does not fit its target")
    if compare.result == CompareResult.EQUAL:
        return relation == 0
    if compare.result == CompareResult.NOT_EQUAL:
        return relation != 0
    return relation > 0 if compare.result == CompareResult.GREATER else relation < 0
