"""Expectations and the stale-read guard."""

from __future__ import annotations

import pytest

from k8slab.api.scheme import PODS, REPLICASETS
from k8slab.client import (
    ConsistencyError,
    ConsistencyStore,
    ControllerExpectations,
    Indexer,
    NoopConsistencyStore,
    UIDTrackingExpectations,
)
from k8slab.sim.clock import Clock

MINUTE = 60_000


def test_a_controller_that_never_expected_anything_is_satisfied() -> None:
    assert ControllerExpectations(Clock()).satisfied_expectations("default/rs")


def test_expectations_are_fulfilled_when_every_creation_was_observed() -> None:
    expectations = ControllerExpectations(Clock())
    expectations.expect_creations("rs", 2)
    expectations.creation_observed("rs")
    assert not expectations.satisfied_expectations("rs")
    expectations.creation_observed("rs")
    assert expectations.satisfied_expectations("rs")
    expectations.creation_observed("rs")  # one that nobody expected
    assert expectations.satisfied_expectations("rs")
    expectations.check_invariants()


def test_a_surplus_of_creations_does_not_make_up_for_missing_deletions() -> None:
    expectations = ControllerExpectations(Clock())
    expectations.set_expectations("rs", 1, 1)
    expectations.lower_expectations("rs", 3, 0)
    assert not expectations.satisfied_expectations("rs")
    expectations.deletion_observed("rs")
    assert expectations.satisfied_expectations("rs")


def test_expectations_expire_after_more_than_five_minutes() -> None:
    clock = Clock()
    expectations = ControllerExpectations(clock)
    expectations.expect_deletions("rs", 1)
    clock.now_ms = 5 * MINUTE
    assert not expectations.satisfied_expectations("rs")
    clock.now_ms += 1
    assert expectations.satisfied_expectations("rs")


def test_new_expectations_replace_those_before_and_start_the_time_anew() -> None:
    clock = Clock()
    expectations = ControllerExpectations(clock)
    expectations.expect_creations("rs", 5)
    clock.now_ms = 4 * MINUTE
    expectations.expect_creations("rs", 1)
    clock.now_ms = 8 * MINUTE
    assert not expectations.satisfied_expectations("rs")
    expectations.creation_observed("rs")
    assert expectations.satisfied_expectations("rs")


def test_raising_waits_for_more_and_deleting_forgets() -> None:
    expectations = ControllerExpectations(Clock())
    expectations.raise_expectations("rs", 1, 0)
    assert expectations.get_expectations("rs") is None
    expectations.expect_creations("rs", 1)
    expectations.raise_expectations("rs", 1, 0)
    expectations.creation_observed("rs")
    assert expectations.view() == {"rs": {"add": 1, "delete": 0}}
    expectations.delete_expectations("rs")
    assert expectations.satisfied_expectations("rs")


def test_a_deletion_counts_once_however_often_it_is_seen() -> None:
    expectations = UIDTrackingExpectations(Clock())
    expectations.expect_deletions("rs", ["u1", "u2"])
    for _ in range(3):
        expectations.deletion_observed("rs", "u1")
    expectations.deletion_observed("rs", "stranger")
    expectations.deletion_observed("other", "u2")
    assert not expectations.satisfied_expectations("rs")
    assert expectations.get_uids("rs") == ["u2"]
    expectations.deletion_observed("rs", "u2")
    assert expectations.satisfied_expectations("rs")
    expectations.check_invariants()


def test_uid_tracking_passes_creations_on_and_forgets_both() -> None:
    expectations = UIDTrackingExpectations(Clock())
    expectations.expect_creations("rs", 1)
    assert not expectations.satisfied_expectations("rs")
    expectations.creation_observed("rs")
    assert expectations.satisfied_expectations("rs")
    expectations.expect_deletions("rs", ["u1"])
    assert expectations.view() == {"rs": {"add": 0, "delete": 1, "uids": {"u1": None}}}
    expectations.delete_expectations("rs")
    assert (expectations.get_uids("rs"), expectations.get_expectations("rs")) == ([], None)


def stores() -> tuple[Indexer, Indexer, ConsistencyStore]:
    pods, sets = Indexer(), Indexer()
    return pods, sets, ConsistencyStore({PODS: pods, REPLICASETS: sets})


def test_an_owner_is_ready_when_every_cache_has_read_as_far_as_was_written() -> None:
    pods, sets, store = stores()
    pods.bookmark("10")
    sets.bookmark("10")
    store.ensure_ready("default/d")
    store.wrote_at("default/d", "u", PODS, "9")
    store.wrote_at("default/d", "u", PODS, "12")
    store.wrote_at("default/d", "u", PODS, "11")
    store.wrote_at("default/d", "u", REPLICASETS, "10")
    store.check_invariants()
    with pytest.raises(ConsistencyError) as caught:
        store.ensure_ready("default/d")
    assert str(caught.value) == ("read version: 10 is not as new as written version: 12 for group resource pods")
    pods.bookmark("12")
    store.ensure_ready("default/d")
    assert store.view() == {}


def test_revisions_are_compared_as_numbers() -> None:
    pods, _sets, store = stores()
    pods.bookmark("9")
    store.wrote_at("default/d", "u", PODS, "10")
    with pytest.raises(ConsistencyError):
        store.ensure_ready("default/d")


def test_a_cache_that_cannot_tell_does_not_hold_anybody_up() -> None:
    untracked = Indexer(track_resource_version=False)
    untracked.bookmark("1")
    store = ConsistencyStore({"pods": untracked})
    store.wrote_at("default/d", "u", PODS, "99")
    store.wrote_at("default/d", "u", REPLICASETS, "99")
    store.ensure_ready("default/d")


def test_revisions_that_are_no_numbers_do_not_hold_anybody_up() -> None:
    pods, _sets, store = stores()
    pods.bookmark("7")
    store.wrote_at("default/d", "u", PODS, "opaque")
    store.ensure_ready("default/d")


def test_a_new_owner_of_the_same_name_starts_without_the_writes_of_the_old_one() -> None:
    pods, _sets, store = stores()
    pods.bookmark("1")
    store.wrote_at("default/d", "old", PODS, "50")
    store.wrote_at("default/d", "new", REPLICASETS, "1")
    store.ensure_ready("default/d")


def test_clearing_needs_the_right_uid_or_none() -> None:
    pods, _sets, store = stores()
    pods.bookmark("1")
    store.wrote_at("default/d", "u", PODS, "5")
    store.clear("default/d", "other")
    with pytest.raises(ConsistencyError):
        store.ensure_ready("default/d")
    store.clear("default/d", "u")
    store.ensure_ready("default/d")
    store.wrote_at("default/d", "u", PODS, "5")
    store.clear("default/d")
    store.ensure_ready("default/d")


def test_the_stand_in_for_the_gate_being_off_is_always_ready() -> None:
    store = NoopConsistencyStore()
    store.wrote_at("default/d", "u", PODS, "5")
    store.ensure_ready("default/d")
    store.clear("default/d")
