"""What the fields of a request can hold, and the one check of it, the same with a log and without.

>>> from k8slab.etcd import PutRequest
>>> check_fields(PutRequest(b"k", b"v", lease=2**63))
Traceback (most recent call last):
...
ValueError: lease is 9223372036854775808, expected a number of 64 bits, from -2**63 to 2**63 - 1

Upstream: etcd api/etcdserverpb/{raft_internal,rpc}.proto, api/mvccpb/kv.proto
"""

from __future__ import annotations

from typing import Any, NamedTuple

from k8slab.etcd.messages import (
    AlarmRequest,
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    KeyValue,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    PutRequest,
    RangeRequest,
    TxnRequest,
)

LEAST, MOST = -(2**63), 2**63 - 1
"""What protobuf's int64 holds."""


class Field(NamedTuple):
    """Number and name of a field. `kind`: "int", "bytes", "bool", or the names of an enum from number 0 on."""

    number: int
    name: str
    kind: str | tuple[str, ...]


FIELDS: dict[type, tuple[Field, ...]] = {
    RangeRequest: (
        Field(1, "key", "bytes"),
        Field(2, "range_end", "bytes"),
        Field(3, "limit", "int"),
        Field(4, "revision", "int"),
        Field(5, "sort_order", ("NONE", "ASCEND", "DESCEND")),
        Field(6, "sort_target", ("KEY", "VERSION", "CREATE", "MOD", "VALUE")),
        Field(7, "serializable", "bool"),
        Field(8, "keys_only", "bool"),
        Field(9, "count_only", "bool"),
        Field(10, "min_mod_revision", "int"),
        Field(11, "max_mod_revision", "int"),
        Field(12, "min_create_revision", "int"),
        Field(13, "max_create_revision", "int"),
    ),
    PutRequest: (
        Field(1, "key", "bytes"),
        Field(2, "value", "bytes"),
        Field(3, "lease", "int"),
        Field(4, "prev_kv", "bool"),
        Field(5, "ignore_value", "bool"),
        Field(6, "ignore_lease", "bool"),
    ),
    DeleteRangeRequest: (Field(1, "key", "bytes"), Field(2, "range_end", "bytes"), Field(3, "prev_kv", "bool")),
    CompactionRequest: (Field(1, "revision", "int"), Field(2, "physical", "bool")),
    LeaseGrantRequest: (Field(1, "ttl", "int"), Field(2, "id", "int")),
    LeaseRevokeRequest: (Field(1, "id", "int"),),
    AlarmRequest: (
        Field(1, "action", ("GET", "ACTIVATE", "DEACTIVATE")),
        Field(2, "member_id", "int"),
        Field(3, "alarm", ("NONE", "NOSPACE", "CORRUPT")),
    ),
    KeyValue: (
        Field(1, "key", "bytes"),
        Field(2, "create_revision", "int"),
        Field(3, "mod_revision", "int"),
        Field(4, "version", "int"),
        Field(5, "value", "bytes"),
        Field(6, "lease", "int"),
    ),
}
_ZERO: dict[str, Any] = {"int": 0, "bytes": b"", "bool": False}
ZEROS = {
    kind: tuple((field, field.kind[0] if isinstance(field.kind, tuple) else _ZERO[field.kind]) for field in fields)
    for kind, fields in FIELDS.items()
}
"""Each field with what it holds when nothing is written."""

RESULTS = ("EQUAL", "GREATER", "LESS", "NOT_EQUAL")
TARGETS = ("VERSION", "CREATE", "MOD", "VALUE", "LEASE")
_PARTS = (tuple, list)
_COMPARE_KEY = Field(3, "key of a Compare", "bytes")
_COMPARE_END = Field(64, "range_end of a Compare", "bytes")
_OPERAND = Field(0, "operand of a Compare", "int")
_VALUE = Field(7, "operand of a Compare", "bytes")


def check_field(field: Field, value: Any) -> None:
    """Raise TypeError or ValueError that names a field, a value that it cannot hold, and what was expected."""
    kind = field.kind
    if kind == "bytes":
        if not isinstance(value, bytes):
            raise TypeError(f"{field.name} is {value!r}, expected bytes")
    elif isinstance(kind, tuple):
        if value not in kind:
            raise ValueError(f"{field.name} is {value!r}, expected one of {', '.join(kind)}")
    elif type(value) is not int and not (kind == "bool" and isinstance(value, bool)):
        raise TypeError(f"{field.name} is {value!r}, expected {kind}")
    elif not LEAST <= value <= MOST:
        raise ValueError(f"{field.name} is {value}, expected a number of 64 bits, from -2**63 to 2**63 - 1")


def check_fields(message: Any) -> None:
    """`check_field` of every field. Of a transaction: that its three parts are tuples or lists, not what is in them."""
    if isinstance(message, TxnRequest):
        for position, part in enumerate(message):
            if not isinstance(part, _PARTS):
                raise TypeError(f"{message._fields[position]} of a TxnRequest is {part!r}, expected a tuple or a list")
        return
    for field in FIELDS[type(message)]:
        check_field(field, getattr(message, field.name))


def check_compare(compare: Compare) -> None:
    """As `check_fields`, of a condition."""
    if not isinstance(compare, Compare):
        raise TypeError(f"condition of a TxnRequest is {compare!r}, expected a Compare")
    key, target, result, operand, range_end = compare
    if target not in TARGETS or result not in RESULTS:
        raise ValueError(f"compare {compare!r}: expected a target of {TARGETS} and a result of {RESULTS}")
    if not type(key) is type(range_end) is bytes:
        check_field(_COMPARE_KEY, key)
        check_field(_COMPARE_END, range_end)
    if target == "VALUE" or type(operand) is not int or not LEAST <= operand <= MOST:
        check_field(_VALUE if target == "VALUE" else _OPERAND, operand)


def check_data(data: object) -> None:
    """Raise TypeError for what is to be read and is no bytes."""
    if not isinstance(data, bytes):
        raise TypeError(f"data is {data!r}, expected bytes")
