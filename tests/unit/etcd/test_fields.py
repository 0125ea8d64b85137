"""What a request's fields cannot hold is named, the same by every way, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from k8slab.etcd import (
    Applier,
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    EtcdCluster,
    EtcdServer,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    LeaseTTLTooLargeError,
    Lessor,
    PutRequest,
    RangeRequest,
    Store,
    StoreStory,
    TxnRequest,
    WatchStory,
    decode,
    encode,
    snapshot_status,
)

BIG = 2**63
"""The first number that int64 does not hold."""

CASES: list[Any] = [
    pytest.param(PutRequest("k"), "key is 'k', expected bytes", id="a put of a text key"),
    pytest.param(PutRequest(b"k", None), "value is None, expected bytes", id="a put of None"),
    pytest.param(PutRequest(b"k", lease=BIG), "lease is 9223372036854775808, expected a number of 64", id="a lease id"),
    pytest.param(PutRequest(b"k", lease=-BIG - 1), "lease is -9223372036854775809, expected", id="a low lease id"),
    pytest.param(PutRequest(b"k", lease=True), "lease is True, expected int", id="a lease of yes"),
    pytest.param(PutRequest(b"k", lease=0.0), "lease is 0.0, expected int", id="a lease of 0.0"),
    pytest.param(PutRequest(b"k", prev_kv="x"), "prev_kv is 'x', expected bool", id="a flag"),
    pytest.param(RangeRequest("k"), "key is 'k', expected bytes", id="a range from a text"),
    pytest.param(RangeRequest(b"k", None), "range_end is None, expected bytes", id="a range to None"),
    pytest.param(RangeRequest(b"k", "z"), "range_end is 'z', expected bytes", id="a range to a text"),
    pytest.param(RangeRequest(b"k", revision="x"), "revision is 'x', expected int", id="a revision"),
    pytest.param(RangeRequest(b"k", revision=True), "revision is True, expected int", id="a revision of yes"),
    pytest.param(RangeRequest(b"k", limit="x"), "limit is 'x', expected int", id="a limit"),
    pytest.param(RangeRequest(b"k", limit=BIG), "limit is 9223372036854775808, expected", id="a limit too large"),
    pytest.param(RangeRequest(b"k", min_mod_revision="x"), "min_mod_revision is 'x', expected int", id="a bound"),
    pytest.param(RangeRequest(b"k", sort_order="UP"), "sort_order is 'UP', expected one of NONE, ASC", id="an order"),
    pytest.param(DeleteRangeRequest(b"k", 5), "range_end is 5, expected bytes", id="a deletion to 5"),
    pytest.param(TxnRequest(5), "compare of a TxnRequest is 5, expected a tuple or a list", id="no conditions"),
    pytest.param(TxnRequest((), 5), "success of a TxnRequest is 5, expected a tuple or a list", id="no branch"),
    pytest.param(TxnRequest([5]), "condition of a TxnRequest is 5, expected a Compare", id="no condition"),
    pytest.param(
        TxnRequest([Compare("k", "MOD", "EQUAL", 0)]), "key of a Compare is 'k', expected bytes", id="a text compared"
    ),
    pytest.param(
        TxnRequest([Compare(b"k", "MOD", "EQUAL", 0, "z")]), "range_end of a Compare is 'z'", id="compared up to a text"
    ),
    pytest.param(
        TxnRequest([Compare(b"no", "MOD", "EQUAL", 2**64)], [PutRequest(b"x")]),
        "operand of a Compare is 18446744073709551616, expected a number of 64 bits",
        id="an operand that would wrap to 0",
    ),
]
LOGGED: list[Any] = [
    pytest.param(CompactionRequest(2**70), "revision is 1180591620717411303424, expected a number", id="a compaction"),
    pytest.param(CompactionRequest(2.5), "revision is 2.5, expected int", id="a compaction at 2.5"),
    pytest.param(LeaseGrantRequest(2**70, 5), "ttl is 1180591620717411303424, expected a number", id="a ttl"),
    pytest.param(LeaseGrantRequest(5, BIG), "id is 9223372036854775808, expected a number of 64 bits", id="a grant"),
    pytest.param(LeaseGrantRequest(5, "x"), "id is 'x', expected int", id="a grant of a text"),
]


def used() -> EtcdServer:
    server = EtcdServer()
    server.do(PutRequest(b"a"))
    return server


@pytest.mark.parametrize(("request_", "message"), [*CASES, *LOGGED])
def test_a_server_names_the_field_and_so_do_its_applier_and_its_log(request_: Any, message: str) -> None:
    server = used()
    before = server.view()
    for call in (server.do, server.prepare, server.apply, Applier(store=server.store).apply, encode):
        if isinstance(request_, RangeRequest) and call == server.prepare:
            continue
        with pytest.raises((TypeError, ValueError), match=message):
            call(request_)
    assert server.view() == before
    server.check_invariants()


@pytest.fixture(scope="module")
def etcd() -> EtcdCluster:
    etcd = EtcdCluster(3, seed=7)
    etcd.do(PutRequest(b"a"))
    etcd.run(for_ms=1_000)
    return etcd


@pytest.mark.parametrize(("request_", "message"), [*CASES, *LOGGED])
def test_a_cluster_names_the_same_field_and_goes_on(etcd: EtcdCluster, request_: Any, message: str) -> None:
    applied = [etcd.raft.members[id].applied for id in etcd.raft.alive]
    with pytest.raises((TypeError, ValueError), match=message):
        etcd.do(request_)
    etcd.run(for_ms=500)
    assert [etcd.raft.members[id].applied for id in etcd.raft.alive] == applied, "nothing came into the log"
    assert etcd.store(1).range(b"a").kvs[0].mod_revision == etcd.store(1).revision == 2
    etcd.check_invariants()


@pytest.mark.parametrize(("request_", "message"), CASES)
def test_a_transaction_that_holds_it_after_a_put_writes_nothing(request_: Any, message: str) -> None:
    store = Store()
    store.put(b"a")
    before = store.view()
    with pytest.raises((TypeError, ValueError), match=message):
        store.txn((), [PutRequest(b"b"), request_])
    assert store.view() == before
    store.check_invariants()
    assert store.put(b"b").revision == 3
    store.check_invariants()


def test_the_largest_numbers_pass_unchanged() -> None:
    server = used()
    most, least = BIG - 1, -BIG
    assert not server.do(TxnRequest([Compare(b"a", "MOD", "GREATER", most)])).succeeded
    assert server.do(TxnRequest([Compare(b"a", "MOD", "GREATER", least)])).succeeded
    assert server.do(LeaseGrantRequest(5, most)).id == most
    assert server.do(PutRequest(b"k", lease=most)).revision == 3
    assert server.lessor.keys(most) == [b"k"]
    assert decode(encode(LeaseRevokeRequest(least)))[1] == LeaseRevokeRequest(least)
    with pytest.raises(LeaseTTLTooLargeError):
        server.do(LeaseGrantRequest(most, 6))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: Store().compact(2.5), "revision is 2.5, expected int", id="a compaction"),
        pytest.param(lambda: Lessor().grant("x", 5), "id is 'x', expected int", id="a lease"),
        pytest.param(lambda: Store().txn(5), "compare of a TxnRequest is 5, expected a tuple", id="a transaction"),
        pytest.param(lambda: Store().restore(None), "data is None, expected bytes", id="a snapshot"),
        pytest.param(lambda: snapshot_status(None), "data is None, expected bytes", id="a snapshot's status"),
        pytest.param(lambda: decode(None), "data is None, expected bytes", id="an entry"),
        pytest.param(lambda: Store().watch("a"), "key is 'a', expected bytes", id="a watch without a stream"),
    ],
)
def test_so_do_the_parts_alone(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"key": None}, "key is None, expected bytes", id="no key"),
        pytest.param({"range_end": "z"}, "range_end is 'z', expected bytes", id="a text as end"),
        pytest.param({"watch_id": "x"}, "watch_id is 'x', expected int", id="a text as id"),
        pytest.param({"watch_id": []}, "watch_id is \\[\\], expected int", id="a list as id"),
        pytest.param({"start_revision": "x"}, "start_revision is 'x', expected int", id="a text as start"),
        pytest.param(
            {"start_revision": BIG}, "start_revision is 9223372036854775808, expected", id="a start too large"
        ),
        pytest.param({"filters": ["BOGUS"]}, "filter is 'BOGUS', expected one of NOPUT, NODELETE", id="a filter"),
        pytest.param({"filters": "NOPUT"}, "filters is 'NOPUT', expected a list of NOPUT, NODELETE", id="one filter"),
    ],
)
def test_a_stream_names_what_is_no_watch_and_has_none(options: dict[str, Any], message: str) -> None:
    store = Store()
    stream = store.watch_stream()
    with pytest.raises((TypeError, ValueError), match=message):
        stream.watch(**{"key": b"a", **options})
    assert (stream.view(), list(stream.pending), store.view()["watchers"]) == ({}, [], {})
    assert stream.watch(b"a") == 0
    assert list(store.view()["watchers"]) == ["0"], "no number was used up"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda etcd, id: etcd.server(id), id="its server"),
        pytest.param(lambda etcd, id: etcd.store(id), id="its store"),
        pytest.param(lambda etcd, id: etcd.is_reachable(id, "you"), id="whether it can be reached"),
        pytest.param(lambda etcd, id: etcd.watch(id, b"a"), id="a watch"),
        pytest.param(lambda etcd, id: etcd.do(RangeRequest(b"a"), via=id), id="a request"),
    ],
)
@pytest.mark.parametrize("id", [9, 0, "1"])
def test_a_member_that_is_none_is_no_outage(etcd: EtcdCluster, call: Any, id: Any) -> None:
    with pytest.raises(ValueError, match=f"member is {id!r}, expected one of 1, 2, 3"):
        call(etcd, id)


def test_a_closed_cluster_says_so() -> None:
    etcd = EtcdCluster(1)
    etcd.close()
    with pytest.raises(ValueError, match="the cluster is closed, expected one that runs"):
        etcd.do(PutRequest(b"a"))


@pytest.mark.parametrize("is_empty", [True, False], ids=["of an empty store", "of a store with a past"])
@pytest.mark.parametrize("revision", [None, "a", 1.5, True], ids=repr)
def test_the_past_begins_at_a_number(is_empty: bool, revision: Any) -> None:
    store = Store()
    if not is_empty:
        store.put(b"a", b"1")
    for call in (store.since, store.compact):
        with pytest.raises(TypeError) as error:
            call(revision)
        assert str(error.value) == f"revision is {revision!r}, expected int"
    assert store.compact_revision == -1


@pytest.mark.parametrize("story", [StoreStory, WatchStory])
@pytest.mark.parametrize("store", [5, None], ids=repr)
def test_a_story_is_about_a_store(story: Any, store: Any) -> None:
    with pytest.raises(TypeError) as error:
        story(store)
    assert str(error.value) == f"store is {store!r}, expected a Store"
