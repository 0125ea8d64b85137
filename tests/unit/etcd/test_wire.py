"""Requests as bytes: those of protobuf, always the same, and nothing else is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.etcd import (
    AlarmRequest,
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    PutRequest,
    RangeRequest,
    TxnRequest,
    decode,
    encode,
    encoded_size,
)

HEADER = "a2 06 02 08 01"  # field 100, two bytes: field 1 is 1


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(PutRequest(b"k", b"v", 300), "22 09 0a 01 6b 12 01 76 18 ac 02", id="a put: 300 is ac 02"),
        pytest.param(RangeRequest(b"k", sort_order="DESCEND"), "1a 05 0a 01 6b 28 02", id="an enum is its number"),
        pytest.param(DeleteRangeRequest(b"k", b"\x00", True), "2a 08 0a 01 6b 12 01 00 18 01", id="true is 1"),
        pytest.param(CompactionRequest(-1), "3a 0b 08 ff ff ff ff ff ff ff ff ff 01", id="-1 has ten bytes"),
        pytest.param(LeaseGrantRequest(10, 7), "42 04 08 0a 10 07", id="a grant"),
        pytest.param(LeaseRevokeRequest(7), "4a 02 08 07", id="a revocation"),
        pytest.param(AlarmRequest("ACTIVATE", 3, "NOSPACE"), "52 06 08 01 10 03 18 01", id="an alarm"),
        pytest.param(TxnRequest(), "32 00", id="an empty transaction"),
        pytest.param(
            TxnRequest((Compare(b"k", "MOD", "EQUAL", 0),), (PutRequest(b"k"),), ()),
            "32 10 0a 07 10 02 1a 01 6b 30 00 12 05 12 03 0a 01 6b",
            id="a compare names its target though it be 0",
        ),
    ],
)
def test_bytes(request_: Any, expected: str) -> None:
    data = encode(request_, id=1)
    assert data.hex(" ") == f"{expected} {HEADER}"
    assert decode(data) == (1, request_)
    assert encoded_size(request_, 1) == len(data)


text = st.binary(max_size=4)
number = st.integers(-(2**63), 2**63 - 1)
flag = st.booleans()
single = st.one_of(
    st.builds(PutRequest, text, text, number, flag, flag, flag),
    st.builds(DeleteRangeRequest, text, text, flag),
    st.builds(
        RangeRequest,
        text,
        text,
        number,
        number,
        st.sampled_from(["KEY", "VERSION", "CREATE", "MOD", "VALUE"]),
        st.sampled_from(["NONE", "ASCEND", "DESCEND"]),
        flag,
        flag,
        number,
        number,
        number,
        number,
        flag,
    ),
)
targets = st.sampled_from(["VERSION", "CREATE", "MOD", "LEASE"])
results = st.sampled_from(["EQUAL", "NOT_EQUAL", "GREATER", "LESS"])
compares = st.builds(Compare, text, targets, results, number, text) | st.builds(
    Compare, text, st.just("VALUE"), results, text, text
)


def txns(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[TxnRequest]:
    branch = st.lists(inner, max_size=3).map(tuple)
    return st.builds(TxnRequest, st.lists(compares, max_size=2).map(tuple), branch, branch)


@given(st.recursive(single, txns, max_leaves=6), st.integers(0, 2**64 - 1))
def test_what_is_written_is_read(request_: Any, id: int) -> None:
    data = encode(request_, id)
    assert decode(data) == (id, request_)
    assert encode(request_, id) == data


@given(st.binary(max_size=40))
def test_anything_else_is_refused_or_read_as_a_request(data: bytes) -> None:
    """Only ValueError, whatever the bytes; what is read can be written."""
    try:
        id, request = decode(data)
    except ValueError:
        return
    assert decode(encode(request, id)) == (id, request)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param("", "no request in 0 bytes, expected an encoded InternalRaftRequest", id="nothing"),
        pytest.param("22 09 0a", "field 4 of 9 bytes at offset 2, and only 1 are left", id="a request cut off"),
        pytest.param("22 02 08 01", "key of a PutRequest is 1, expected bytes", id="a number for bytes"),
        pytest.param("22 02 48 01", "field 9 of a PutRequest, expected one of", id="an unknown field"),
        pytest.param("1a 02 28 09", "sort_order of a RangeRequest is 9, expected one of", id="an unknown enum"),
        pytest.param("25 00 00 00 00", "wire type 5 of field 4", id="an unknown wire type"),
        pytest.param("22 80", "the bytes end at offset 2 within a number", id="a number cut off"),
        pytest.param("32 02 12 00", "fields \\[\\] of an operation", id="an empty operation"),
        pytest.param("12 00", "field 2 of an InternalRaftRequest", id="a request of etcd's version 2"),
    ],
)
def test_bytes_that_are_none_are_named(data: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(bytes.fromhex(data))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: encode(PutRequest(b"k"), id=-1), "id is -1, expected a number of 64 bits", id="an id"),
        pytest.param(lambda: encode(PutRequest("k")), "key is 'k', expected bytes", id="a text key"),
        pytest.param(lambda: encode(PutRequest(b"k", lease="7")), "lease is '7', expected int", id="a text lease"),
        pytest.param(lambda: encode(RangeRequest(b"k", sort_order="UP")), "sort_order is 'UP'", id="an order"),
        pytest.param(lambda: encode(("k", "v")), "expected one of RangeRequest, PutRequest", id="no request"),
    ],
)
def test_requests_that_are_none_are_named(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()
