"""Requests as the bytes of a log entry, in etcd's own protobuf: `encode` and `decode`.

>>> from k8slab.etcd import PutRequest
>>> encode(PutRequest(b"k", b"v"), id=1).hex(" ")
'22 06 0a 01 6b 12 01 76 a2 06 02 08 01'
>>> decode(encode(PutRequest(b"k", b"v"), id=1))
(1, PutRequest(key=b'k', value=b'v', lease=0, prev_kv=False, ignore_value=False, ignore_lease=False))

Equal requests give equal bytes: fields stand in the order of their numbers, and those that are zero are left out.

Upstream: etcd api/etcdserverpb/{raft_internal,rpc}.proto, api/mvccpb/kv.proto
Simplified: no user and no authentication revision in the header.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, cast

from k8slab.etcd.fields import (
    FIELDS,
    RESULTS,
    TARGETS,
    ZEROS,
    Field,
    check_compare,
    check_data,
    check_field,
    check_fields,
)
from k8slab.etcd.messages import (
    AlarmRequest,
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    KeyValue,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    LoggedRequest,
    PutRequest,
    RangeRequest,
    TxnRequest,
)

__all__ = ["decode", "decode_kv", "encode", "encode_kv", "encoded_size"]

Value: TypeAlias = Any

_VARINT, _LENGTH = 0, 2


_LOGGED: dict[int, type] = {
    3: RangeRequest,
    4: PutRequest,
    5: DeleteRangeRequest,
    6: TxnRequest,
    7: CompactionRequest,
    8: LeaseGrantRequest,
    9: LeaseRevokeRequest,
    10: AlarmRequest,
}
_HEADER, _HEADER_ID = 100, 1
_OPERATIONS: dict[int, type] = {1: RangeRequest, 2: PutRequest, 3: DeleteRangeRequest, 4: TxnRequest}
_OPERANDS = {"VERSION": 4, "CREATE": 5, "MOD": 6, "VALUE": 7, "LEASE": 8}


def encode(request: LoggedRequest, id: int = 0) -> bytes:
    """The request as an InternalRaftRequest. `id` (64 bits) tells who proposed it that it is this one.

    Raises TypeError or ValueError for what the fields cannot hold; nothing is cut to fit.
    """
    if not isinstance(id, int) or not 0 <= id < 2**64:
        raise ValueError(f"id is {id!r}, expected a number of 64 bits")
    number = next((number for number, kind in _LOGGED.items() if isinstance(request, kind)), None)
    if number is None:
        raise TypeError(
            f"request is {request!r}, expected one of {', '.join(kind.__name__ for kind in _LOGGED.values())}"
        )
    return _message(number, _body(request)) + _message(_HEADER, _int(_HEADER_ID, id))


def decode(data: bytes) -> tuple[int, LoggedRequest]:
    """The id and the request of an encoded one. Raises ValueError for anything else; TypeError for what is no bytes."""
    check_data(data)
    id, request = 0, None
    for number, value in _parse(data):
        if number == _HEADER:
            id = _whole(dict(_parse(_bytes(value, "header"))).get(_HEADER_ID, 0), "id of the header") % 2**64
        elif number in _LOGGED:
            request = _read(_LOGGED[number], _bytes(value, _LOGGED[number].__name__))
        else:
            raise ValueError(f"field {number} of an InternalRaftRequest, expected one of {[*_LOGGED, _HEADER]}")
    if request is None:
        raise ValueError(f"no request in {len(data)} bytes, expected an encoded InternalRaftRequest")
    return id, cast(LoggedRequest, request)


def encoded_size(request: LoggedRequest, id: int = 2**63) -> int:
    """How many bytes `encode` makes of it (with an id of full length, as etcd's are)."""
    return len(encode(request, id))


def encode_kv(kv: KeyValue) -> bytes:
    """A KeyValue as etcd stores it."""
    return _body(kv)


def decode_kv(data: bytes) -> KeyValue:
    """A stored KeyValue. Raises ValueError."""
    return cast(KeyValue, _read(KeyValue, data))


# -- writing ---------------------------------------------------------------------------------------


def _body(message: Any) -> bytes:
    if isinstance(message, TxnRequest):
        check_fields(message)
        parts = [_message(1, _compare(compare)) for compare in message.compare]
        parts += [_message(2, _operation(operation)) for operation in message.success]
        parts += [_message(3, _operation(operation)) for operation in message.failure]
        return b"".join(parts)
    fields = [(field, getattr(message, field.name), zero) for field, zero in ZEROS[type(message)]]
    return b"".join([_field(field, value) for field, value, zero in fields if value is not zero])


def _field(field: Field, value: Value) -> bytes:
    check_field(field, value)
    if isinstance(field.kind, tuple):
        return _int(field.number, field.kind.index(value))
    if isinstance(value, bytes):
        return _message(field.number, value) if value else b""
    return _int(field.number, int(value))


def _compare(compare: Compare) -> bytes:
    check_compare(compare)
    parts = _int(1, RESULTS.index(compare.result)) + _int(2, TARGETS.index(compare.target))
    parts += _message(3, compare.key) if compare.key else b""
    number = _OPERANDS[compare.target]
    if isinstance(compare.operand, bytes):
        parts += _message(number, compare.operand)
    else:
        parts += _varint(number << 3 | _VARINT) + _varint(compare.operand)
    return parts + (_message(64, compare.range_end) if compare.range_end else b"")


def _operation(operation: Any) -> bytes:
    number = next((number for number, kind in _OPERATIONS.items() if isinstance(operation, kind)), None)
    if number is None:
        raise TypeError(f"operation is {operation!r}, expected one that a transaction may hold")
    return _message(number, _body(operation))


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(content)) + content


def _int(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value) if value else b""


def _varint(value: int) -> bytes:
    value %= 2**64  # a negative number is its two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# -- reading ---------------------------------------------------------------------------------------


def _parse(data: bytes) -> Iterator[tuple[int, Value]]:
    """(number, int or bytes) of every field."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        if tag & 7 == _VARINT:
            value, at = _read_varint(data, at)
            yield tag >> 3, value - 2**64 if value >= 2**63 else value
        elif tag & 7 == _LENGTH:
            length, at = _read_varint(data, at)
            if at + length > len(data):
                raise ValueError(
                    f"field {tag >> 3} of {length} bytes at offset {at}, and only {len(data) - at} are left"
                )
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {tag & 7} of field {tag >> 3} before offset {at}, expected 0 or 2")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError(f"the bytes end at offset {at} within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(f"a number of more than 64 bits before offset {at}")


def _read(kind: type, data: bytes) -> Any:
    if kind is TxnRequest:
        return _read_txn(data)
    values: dict[str, Value] = {field.name: zero for field, zero in ZEROS[kind]}
    fields = {field.number: field for field in FIELDS[kind]}
    for number, value in _parse(data):
        if number not in fields:
            raise ValueError(f"field {number} of a {kind.__name__}, expected one of {list(fields)}")
        values[fields[number].name] = _typed(kind, fields[number], value)
    return kind(**values)


def _typed(kind: type, field: Field, value: Value) -> Value:
    where = f"{field.name} of a {kind.__name__}"
    if field.kind == "bytes":
        return _bytes(value, where)
    if isinstance(field.kind, tuple):
        return _name(field.kind, value, where)
    return bool(_whole(value, where)) if field.kind == "bool" else _whole(value, where)


def _read_txn(data: bytes) -> TxnRequest:
    lists: dict[int, list[Any]] = {1: [], 2: [], 3: []}
    for number, value in _parse(data):
        if number not in lists:
            raise ValueError(f"field {number} of a TxnRequest, expected one of {list(lists)}")
        content = _bytes(value, "part of a TxnRequest")
        lists[number].append(_read_compare(content) if number == 1 else _read_operation(content))
    return TxnRequest(tuple(lists[1]), tuple(lists[2]), tuple(lists[3]))


def _read_compare(data: bytes) -> Compare:
    values: dict[int, Value] = dict(_parse(data))
    result = _name(RESULTS, values.get(1, 0), "result of a Compare")
    target = _name(TARGETS, values.get(2, 0), "target of a Compare")
    where = "operand of a Compare"
    operand: int | bytes
    if target == "VALUE":
        operand = _bytes(values.get(_OPERANDS[target], b""), where)
    else:
        operand = _whole(values.get(_OPERANDS[target], 0), where)
    key, end = (_bytes(values.get(number, b""), "key of a Compare") for number in (3, 64))
    return Compare(key, target, result, operand, end)


def _read_operation(data: bytes) -> Any:
    found = list(_parse(data))
    if len(found) != 1 or found[0][0] not in _OPERATIONS:
        raise ValueError(
            f"fields {[number for number, _ in found]} of an operation, expected one of {list(_OPERATIONS)}"
        )
    number, value = found[0]
    return _read(_OPERATIONS[number], _bytes(value, "operation of a TxnRequest"))


def _bytes(value: Value, where: str) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError(f"{where} is {value!r}, expected bytes")
    return value


def _whole(value: Value, where: str) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{where} is {value!r}, expected a number")
    return value


def _name(names: tuple[str, ...], number: Value, where: str) -> str:
    if not isinstance(number, int) or not 0 <= number < len(names):
        raise ValueError(f"{where} is {number!r}, expected one of {list(range(len(names)))}")
    return names[number]
