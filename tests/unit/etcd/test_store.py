"""Reads, writes, transactions and compaction that the recorded sequences do not show."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.etcd import (
    CompactedError,
    Compare,
    DeleteRangeRequest,
    DuplicateKeyError,
    FutureRevisionError,
    KeyValue,
    LeaseNotFoundError,
    LeaseProvidedError,
    PutRequest,
    RangeRequest,
    Store,
    TooManyOpsError,
    TxnRequest,
)


def test_versions_and_revisions_of_a_life() -> None:
    store = Store()
    store.put(b"a", b"1")
    store.put(b"a", b"2")
    assert store.range(b"a").kvs == (KeyValue(b"a", 2, 3, 2, b"2"),)
    store.delete_range(b"a")
    store.put(b"a", b"3")
    assert store.range(b"a").kvs == (KeyValue(b"a", 5, 5, 1, b"3"),)
    assert store.range(b"a", revision=3).kvs == (KeyValue(b"a", 2, 3, 2, b"2"),)
    assert store.range(b"a", revision=4).kvs == ()


def test_a_transaction_writes_one_revision_and_sees_its_own_writes() -> None:
    store = Store()
    response = store.txn([], [PutRequest(b"a", b"1"), RangeRequest(b"a"), PutRequest(b"b", b"2")])
    assert response.revision == store.revision == 2
    assert response.responses[1].kvs == (KeyValue(b"a", 2, 2, 1, b"1"),)
    assert [kv.mod_revision for kv in store.range(b"a", b"c").kvs] == [2, 2]


def test_a_nested_transaction_decides_on_the_state_before_the_outer_one_wrote() -> None:
    store = Store()
    inner = TxnRequest([Compare(b"a", "CREATE", "EQUAL", 0)], [PutRequest(b"seen", b"absent")], [])
    response = store.txn([], [PutRequest(b"a", b"1"), inner])
    assert response.responses[1].succeeded
    assert store.range(b"seen").kvs[0].value == b"absent"


def test_a_refused_transaction_leaves_no_trace() -> None:
    store = Store()
    before = store.view()
    with pytest.raises(LeaseNotFoundError):
        store.txn([], [PutRequest(b"a", b"1"), PutRequest(b"b", b"1", lease=7)])
    assert store.view() == before


@pytest.mark.parametrize(
    ("target", "result", "operand", "expected"),
    [
        pytest.param("VERSION", "EQUAL", 2, True, id="the version equals"),
        pytest.param("VERSION", "LESS", 2, False, id="the version is not less than itself"),
        pytest.param("CREATE", "GREATER", 1, True, id="the create revision is greater"),
        pytest.param("MOD", "NOT_EQUAL", 3, False, id="the mod revision does not differ"),
        pytest.param("VALUE", "LESS", b"z", True, id="values compare as bytes"),
        pytest.param("LEASE", "EQUAL", 0, True, id="no lease is lease 0"),
    ],
)
def test_compare(target: str, result: str, operand: Any, expected: bool) -> None:
    store = Store()
    store.put(b"k", b"1")
    store.put(b"k", b"2")
    assert store.txn([Compare(b"k", target, result, operand)]).succeeded is expected


def test_a_range_compare_asks_every_key_and_is_decided_as_absent_when_there_is_none() -> None:
    store = Store()
    store.put(b"a", b"1")
    store.put(b"b", b"1")
    store.put(b"b", b"1")
    assert not store.txn([Compare(b"a", "VERSION", "EQUAL", 1, b"c")]).succeeded
    assert store.txn([Compare(b"a", "VERSION", "LESS", 3, b"c")]).succeeded
    assert store.txn([Compare(b"x", "VERSION", "EQUAL", 0, b"z")]).succeeded
    assert not store.txn([Compare(b"x", "VALUE", "NOT_EQUAL", b"1", b"z")]).succeeded


def test_limit_counts_all_and_says_that_there_is_more() -> None:
    store = Store()
    for name in (b"p/a", b"p/b", b"p/c", b"q"):
        store.put(name, b"v")
    response = store.range(b"p/", b"p0", limit=2)
    assert ([kv.key for kv in response.kvs], response.count, response.more) == ([b"p/a", b"p/b"], 3, True)
    response = store.range(b"p/", b"p0", limit=3)
    assert (len(response.kvs), response.more) == (3, False)


def test_revision_filters_cut_the_keys_but_not_the_count() -> None:
    store = Store()
    for name in (b"a", b"b", b"c"):
        store.put(name, b"v")
    response = store.range(b"a", b"d", min_mod_revision=3, max_create_revision=3)
    assert ([kv.key for kv in response.kvs], response.count) == ([b"b"], 3)


def test_a_limit_without_order_cuts_before_sorting_by_another_target() -> None:
    store = Store()
    for name in (b"c", b"b", b"a"):
        store.put(name, b"v")
    unordered = store.range(b"a", b"d", sort_target="MOD", limit=1)
    assert [kv.key for kv in unordered.kvs] == [b"b"], "of a and b, the first two by key, b is older"
    ordered = store.range(b"a", b"d", sort_target="MOD", sort_order="ASCEND", limit=1)
    assert [kv.key for kv in ordered.kvs] == [b"c"]


def test_compaction_keeps_what_later_reads_need() -> None:
    store = Store()
    for value in (b"1", b"2", b"3"):
        store.put(b"a", value)
    store.put(b"gone", b"x")
    store.delete_range(b"gone")
    assert store.compact(6) == 6
    store.check_invariants()
    assert store.range(b"a", revision=6).kvs[0] == KeyValue(b"a", 2, 4, 3, b"3")
    assert "gone" not in store.view()["generations"]
    with pytest.raises(CompactedError, match="etcdserver: mvcc: required revision has been compacted"):
        store.range(b"a", revision=5)
    with pytest.raises(CompactedError):
        store.compact(6)
    with pytest.raises(FutureRevisionError, match="etcdserver: mvcc: required revision is a future revision"):
        store.compact(7)


@pytest.mark.parametrize(
    ("requests", "is_duplicate"),
    [
        pytest.param([PutRequest(b"a"), PutRequest(b"a")], True, id="two puts of one key"),
        pytest.param([PutRequest(b"a"), DeleteRangeRequest(b"a")], True, id="a put of a deleted key"),
        pytest.param([DeleteRangeRequest(b"a", b"c"), PutRequest(b"b")], True, id="a put inside a deleted interval"),
        pytest.param([DeleteRangeRequest(b"a", b"c"), PutRequest(b"c")], False, id="the end of an interval is outside"),
        pytest.param([DeleteRangeRequest(b"a"), DeleteRangeRequest(b"a")], False, id="two deletions of one key"),
        pytest.param(
            [TxnRequest((), [PutRequest(b"a")], [PutRequest(b"a")])], False, id="the branches of one nested transaction"
        ),
        pytest.param(
            [TxnRequest((), [PutRequest(b"a")], []), TxnRequest((), [], [PutRequest(b"a")])],
            True,
            id="the branches of two nested transactions",
        ),
    ],
)
def test_duplicate_keys(requests: list[Any], is_duplicate: bool) -> None:
    store = Store()
    if is_duplicate:
        with pytest.raises(DuplicateKeyError):
            store.txn([], requests)
    else:
        store.txn([], requests)


def test_nested_transactions_share_the_limit_of_128_operations() -> None:
    inner = TxnRequest((), [PutRequest(b"%d" % n) for n in range(100)], ())
    Store().txn([], [inner, *(PutRequest(b"x%d" % n) for n in range(27))])
    with pytest.raises(TooManyOpsError):
        Store().txn([], [inner, *(PutRequest(b"x%d" % n) for n in range(28))])


def test_ignore_lease_and_a_lease_exclude_each_other() -> None:
    with pytest.raises(LeaseProvidedError, match="etcdserver: lease is provided"):
        Store().put(b"a", b"1", lease=1, ignore_lease=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda s: s.put("a", b"1"), "key is 'a', expected bytes", id="a text key"),
        pytest.param(lambda s: s.put(b"a", "1"), "value is '1', expected bytes", id="a text value"),
        pytest.param(lambda s: s.txn([Compare(b"a", "MOD", "EQUAL", b"1")]), "expected int", id="bytes for an int"),
        pytest.param(lambda s: s.txn([Compare(b"a", "SIZE", "EQUAL", 1)]), "expected a target", id="an unknown target"),
        pytest.param(
            lambda s: s.range(b"a", sort_target="SIZE"),
            "sort_target is 'SIZE', expected",
            id="an unknown sort",
        ),
        pytest.param(lambda s: s.txn([], ["put"]), "request is 'put', expected a RangeRequest", id="no request"),
        pytest.param(lambda s: s.watch(b"a", start_revision=-1), "start_revision is -1", id="a negative start"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call(Store())


def test_view_is_keyed_and_json_compatible() -> None:
    store = Store()
    store.put(b"a", b"1")
    store.watch(b"a")
    view = store.view()
    assert view["keys"]["a"]["mod_revision"] == 2
    assert view["generations"] == {"a": {"0": ["2.0"]}}
    assert view["watchers"]["0"]["synced"] is True
