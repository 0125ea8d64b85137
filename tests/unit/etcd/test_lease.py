"""Leases: granting, keys, ends, leaders that change."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.etcd import (
    DeleteRangeRequest,
    LeaseExistError,
    LeaseNotFoundError,
    LeaseTTLTooLargeError,
    Lessor,
    NotPrimaryError,
    PutRequest,
    Store,
    min_lease_ttl,
)


@pytest.mark.parametrize(
    ("ttl", "granted"),
    [
        pytest.param(-5, 2, id="a negative TTL becomes the minimum"),
        pytest.param(0, 2, id="none too"),
        pytest.param(2, 2, id="the minimum itself"),
        pytest.param(9_000_000_000, 9_000_000_000, id="the maximum"),
    ],
)
def test_ttl(ttl: int, granted: int) -> None:
    assert Lessor().grant(1, ttl).ttl == granted


def test_grants_that_are_refused() -> None:
    lessor = Lessor()
    lessor.grant(1, 10)
    with pytest.raises(LeaseExistError, match="etcdserver: lease already exists"):
        lessor.grant(1, 20)
    with pytest.raises(LeaseTTLTooLargeError, match="etcdserver: too large lease TTL"):
        lessor.grant(2, 9_000_000_001)
    with pytest.raises(LeaseNotFoundError, match="etcdserver: requested lease not found"):
        lessor.grant(0, 10)
    assert [lease.id for lease in lessor.leases()] == [1]


@pytest.mark.parametrize(
    ("election_ms", "heartbeat_ms", "seconds"),
    [
        pytest.param(1_000, 100, 2, id="the default: 15 ticks of 100 ms, rounded up"),
        pytest.param(5_000, 500, 8, id="the largest that docs advise for one continent: 15 ticks of 500 ms"),
        pytest.param(500, 100, 1, id="half the default: 7 ticks of 100 ms"),
    ],
)
def test_the_minimum_follows_the_election_timeout(election_ms: int, heartbeat_ms: int, seconds: int) -> None:
    assert min_lease_ttl(election_ms, heartbeat_ms) == seconds


def test_the_end_of_a_lease_deletes_its_keys_in_order_and_in_one_revision() -> None:
    store = Store()
    store.lessor.grant(7, 10)
    for key in (b"c", b"a", b"b"):
        store.put(key, b"1", lease=7)
    watcher = store.watch(b"\x00", b"\x00")
    store.lessor.revoke(7)
    events = [event for response in watcher.pending for event in response.events]
    assert [(event.type, event.kv.key, event.kv.mod_revision) for event in events] == [
        ("DELETE", b"a", 5),
        ("DELETE", b"b", 5),
        ("DELETE", b"c", 5),
    ]
    assert store.revision == 5
    with pytest.raises(LeaseNotFoundError):
        store.lessor.revoke(7)
    store.check_invariants()


def test_the_end_of_a_lease_without_keys_makes_no_revision() -> None:
    store = Store()
    store.lessor.grant(7, 10)
    store.lessor.revoke(7)
    assert store.revision == 1


@pytest.mark.parametrize(
    ("change", "left", "count"),
    [
        pytest.param(lambda s: s.put(b"k", b"2"), [], 1, id="a put without lease takes the key off"),
        pytest.param(lambda s: s.put(b"k", b"2", lease=7), [b"k"], 0, id="a put with the same leaves it"),
        pytest.param(lambda s: s.put(b"k", b"2", lease=8), [], 1, id="a put with another moves it"),
        pytest.param(lambda s: s.put(b"k", b"2", ignore_lease=True), [b"k"], 0, id="ignore_lease keeps it"),
        pytest.param(lambda s: s.delete_range(b"k"), [], 0, id="a deletion takes it off"),
        pytest.param(lambda s: s.delete_range(b"a", b"\x00"), [], 0, id="a deletion of a range too"),
        pytest.param(lambda s: s.txn([], [DeleteRangeRequest(b"k")]), [], 0, id="or in a transaction"),
        pytest.param(lambda s: s.txn([], [PutRequest(b"k", b"2", 8)]), [], 1, id="a put in a transaction moves it"),
    ],
)
def test_which_lease_a_key_hangs_on_and_whether_it_survives_the_first(
    change: Any, left: list[bytes], count: int
) -> None:
    store = Store()
    store.lessor.grant(7, 10)
    store.lessor.grant(8, 10)
    store.put(b"k", b"1", lease=7)
    change(store)
    assert store.lessor.keys(7) == left
    store.check_invariants()
    store.lessor.revoke(7)
    assert store.range(b"k").count == count
    store.check_invariants()


def test_a_put_with_an_unknown_lease_changes_nothing() -> None:
    store = Store()
    before = store.view()
    with pytest.raises(LeaseNotFoundError):
        store.put(b"k", b"1", lease=7)
    with pytest.raises(LeaseNotFoundError):
        store.txn([], [PutRequest(b"j", b"1"), PutRequest(b"k", b"1", lease=7)])
    assert store.view() == before


def test_a_lease_ends_after_its_ttl_and_a_renewal_starts_it_anew() -> None:
    lessor = Lessor()
    lessor.grant(1, 10, now_ms=500)
    assert lessor.next_expiry_ms == 10_500
    assert (lessor.expired(10_499), lessor.expired(10_500)) == ([], [1])
    lessor.grant(2, 10, now_ms=0)
    assert lessor.renew(2, now_ms=9_999) == 10
    assert lessor.remaining_ms(2, 10_000) == 9_999


def test_an_expired_lease_cannot_be_renewed_and_is_named_again_after_three_seconds() -> None:
    lessor = Lessor()
    lessor.grant(1, 2)
    assert lessor.expired(2_000) == [1]
    assert lessor.is_expired(1, 2_000)
    with pytest.raises(LeaseNotFoundError):
        lessor.renew(1, 2_000)
    assert [lessor.expired(now) for now in (2_001, 4_999, 5_000, 5_001)] == [[], [], [1], []]
    assert lessor.next_expiry_ms == 8_000


def test_at_most_500_leases_are_named_at_a_time_the_longest_expired_first() -> None:
    lessor = Lessor()
    for id in range(1, 602):
        lessor.grant(id, 2, now_ms=1_000 - id)
    first = lessor.expired(10_000)
    assert first == list(range(601, 101, -1))
    assert lessor.expired(10_000) == list(range(101, 0, -1))


def test_leases_are_listed_by_their_end() -> None:
    lessor = Lessor()
    for id, ttl in ((23, 600), (24, 0), (25, -5)):
        lessor.grant(id, ttl)
    assert [lease.id for lease in lessor.leases()] == [24, 25, 23]


def test_only_the_primary_knows_when_a_lease_ends() -> None:
    lessor = Lessor(is_primary=False)
    lessor.grant(1, 2)
    assert (lessor.expired(10**9), lessor.remaining_ms(1, 10**9), lessor.next_expiry_ms) == ([], None, None)
    with pytest.raises(NotPrimaryError, match="not a primary lessor"):
        lessor.renew(1, 0)
    lessor.promote(now_ms=5_000, extend_ms=1_000)
    assert lessor.remaining_ms(1, 5_000) == 3_000, "a new leader gives the whole TTL and an election timeout more"
    assert (lessor.expired(7_999), lessor.expired(8_000)) == ([], [1])
    lessor.demote()
    assert lessor.expired(10**9) == []
    lessor.check_invariants()


def test_a_new_leader_spreads_the_ends_of_many_leases() -> None:
    """750 a second at most, and none ends before its TTL."""
    lessor = Lessor()
    for id in range(1, 3_001):
        lessor.grant(id, 60)
    lessor.promote(now_ms=0, extend_ms=1_000)
    ends = [lease.expiry_ms for lease in lessor.leases()]
    assert ends[0] == 61_000
    assert len(set(ends)) > 1_000
    assert sum(61_000 <= end < 62_000 for end in ends if end is not None) <= 750 + 1
    fewer = Lessor()
    for id in range(1, 1_000):
        fewer.grant(id, 60)
    fewer.promote(now_ms=0)
    assert {lease.expiry_ms for lease in fewer.leases()} == {60_000}, "fewer than 1,000 end together"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: Lessor(min_ttl=-1), "min_ttl is -1, expected whole seconds", id="a negative minimum"),
        pytest.param(lambda: Lessor().grant(1, 1.5), "ttl is 1.5, expected int", id="a fraction of a second"),
        pytest.param(
            lambda: min_lease_ttl(50, 100),
            "election_timeout_ms is 50, expected at least",
            id="too short",
        ),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()
