"""Reads that ask a majority: one question for many, asked again under a new name, and ended by a new leader."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.etcd import (
    READ_INDEX_RETRY_MS,
    EtcdCluster,
    LeaderChangedError,
    LinearizableReads,
    PutRequest,
    RangeRequest,
    RequestTimedOutError,
    StoppedError,
)
from k8slab.sim import Loop, Task

TIMEOUT_MS = 7_000


class Rig:
    """Reads whose questions are kept. `asked`: (time, context)."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.applied = 0
        self.asked: list[tuple[int, bytes]] = []
        self.reads = LinearizableReads(
            self.loop,
            ask=lambda context: self.asked.append((self.loop.clock.now_ms, context)),
            applied=lambda: self.applied,
            timeout_ms=TIMEOUT_MS,
        )
        self.loop.spawn("loop", self.reads.run())

    def read(self, name: str = "read") -> Task:
        async def outcome() -> object:
            try:
                return await self.reads.wait()
            except Exception as error:
                return error

        task = self.loop.spawn(name, outcome())
        self.run(1)
        return task

    def run(self, ms: int) -> None:
        self.loop.run(for_ms=ms)


def test_a_read_that_comes_during_a_round_waits_for_the_next() -> None:
    rig = Rig()
    first = rig.read("first")
    late = rig.read("late")
    later = rig.read("later")
    rig.reads.confirmed(rig.asked[0][1], index=0)
    rig.run(1)
    assert (first.done, late.done, later.done) == (True, False, False), "what was committed after the question counts"
    assert len(rig.asked) == 2
    rig.reads.confirmed(rig.asked[1][1], index=0)
    rig.run(1)
    assert late.done and later.done
    assert len(rig.asked) == 2, "one question for both"


def test_a_lost_question_is_asked_again_under_a_new_name_until_the_time_is_over() -> None:
    rig = Rig()
    task = rig.read()
    rig.run(TIMEOUT_MS + 10)
    assert isinstance(task.result, RequestTimedOutError)
    assert [at for at, _ in rig.asked] == list(range(0, TIMEOUT_MS, READ_INDEX_RETRY_MS))
    assert len({context for _, context in rig.asked}) == TIMEOUT_MS // READ_INDEX_RETRY_MS


@pytest.mark.parametrize("answered", [0, 1, 2], ids=["the first", "the second", "the third"])
def test_an_answer_to_any_question_of_this_round_counts(answered: int) -> None:
    rig = Rig()
    task = rig.read()
    rig.run(2 * READ_INDEX_RETRY_MS + 10)
    rig.reads.confirmed(rig.asked[answered][1], index=0)
    rig.run(1)
    assert task.done and task.result is None


def test_an_answer_to_an_earlier_round_does_not_count() -> None:
    rig = Rig()
    rig.read()
    rig.reads.confirmed(rig.asked[0][1], index=0)
    rig.run(1)
    task = rig.read()
    rig.reads.confirmed(rig.asked[0][1], index=0)
    rig.reads.confirmed(b"someone else's", index=0)
    rig.run(1)
    assert not task.done


def test_a_read_waits_until_the_entry_is_applied() -> None:
    rig = Rig()
    task = rig.read()
    rig.reads.confirmed(rig.asked[0][1], index=3)
    for rig.applied in (1, 2):
        rig.reads.moved_on()
        rig.run(1)
        assert not task.done
    rig.applied = 3
    rig.reads.moved_on()
    rig.run(1)
    assert task.done


def test_a_new_leader_ends_the_round_even_when_the_answer_is_there() -> None:
    rig = Rig()
    task = rig.read()
    rig.reads.confirmed(rig.asked[0][1], index=0)
    rig.reads.leader_changed()
    rig.run(1)
    assert isinstance(task.result, LeaderChangedError)
    after = rig.read()
    rig.reads.confirmed(rig.asked[1][1], index=0)
    rig.run(1)
    assert after.result is None, "a change before the question does not matter"


def test_the_first_commit_of_a_term_asks_at_once() -> None:
    rig = Rig()
    rig.read()
    rig.run(100)
    rig.reads.first_commit_in_term()
    rig.run(1)
    assert [at for at, _ in rig.asked] == [0, 101]


def test_who_waits_for_a_member_that_stops_learns_it() -> None:
    rig = Rig()
    asked, queued = rig.read("asked"), rig.read("queued")
    rig.reads.stop()
    rig.run(1)
    assert isinstance(asked.result, StoppedError)
    assert isinstance(queued.result, StoppedError)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"loop": 5}, "loop is 5, expected a Loop"),
        ({"ask": 5}, "ask is 5, expected a function"),
        ({"applied": 7}, "applied is 7, expected a function"),
        ({"prefix": 5}, "prefix is 5, expected a text"),
        ({"timeout_ms": "x"}, "timeout_ms: 'x': expected a whole number of milliseconds"),
        ({"timeout_ms": -1}, "timeout_ms: -1: expected 1 millisecond or more"),
        ({"timeout_ms": 0}, "timeout_ms: 0: expected 1 millisecond or more"),
    ],
    ids=str,
)
def test_what_reads_cannot_be_made_of_is_named(wrong: dict[str, Any], says: str) -> None:
    arguments: dict[str, Any] = {"loop": Loop(), "ask": print, "applied": int, **wrong}
    with pytest.raises((TypeError, ValueError)) as error:
        LinearizableReads(**arguments)
    assert str(error.value) == says


@pytest.mark.parametrize(
    ("context", "index", "says"),
    [
        ("x", 5, "context is 'x', expected bytes"),
        (b"x", "a", "index is 'a', expected int"),
        (b"x", True, "index is True, expected int"),
    ],
    ids=["text", "an index as text", "a yes for an index"],
)
def test_an_answer_that_is_none_confirms_nothing(context: Any, index: Any, says: str) -> None:
    rig = Rig()
    task = rig.read()
    with pytest.raises(TypeError) as error:
        rig.reads.confirmed(context, index)
    assert str(error.value) == says
    rig.run(1)
    assert not task.done


# -- in a cluster ------------------------------------------------------------------------------------


def follower_of(etcd: EtcdCluster) -> int:
    return next(id for id in etcd.raft.alive if id != etcd.leader)


def test_a_read_goes_on_after_its_question_was_lost() -> None:
    etcd = EtcdCluster(3, seed=1)
    etcd.do(PutRequest(b"k", b"v"))
    leader, follower = etcd.leader, follower_of(etcd)
    etcd.run(for_ms=300)
    etcd.raft.cut(follower, leader)
    task = etcd.loop.spawn("you/read", etcd.attempt(follower, RangeRequest(b"k")))
    etcd.run(for_ms=50)
    etcd.raft.heal()
    started = etcd.now_ms
    assert etcd.run(until=lambda: task.done, for_ms=2_000)
    assert task.result.kvs[0].value == b"v"
    assert etcd.now_ms - started <= READ_INDEX_RETRY_MS + 50


def test_a_read_at_a_follower_whose_leader_dies_is_told_that_the_leader_changed() -> None:
    etcd = EtcdCluster(3, seed=1)
    etcd.do(PutRequest(b"k", b"v"))
    follower = follower_of(etcd)
    etcd.run(for_ms=300)
    etcd.raft.crash(etcd.leader)
    task = etcd.loop.spawn("you/read", etcd.attempt(follower, RangeRequest(b"k")))
    assert etcd.run(until=lambda: task.done, for_ms=10_000)
    assert isinstance(task.result, LeaderChangedError)
    assert etcd.do(RangeRequest(b"k"), via=follower).kvs[0].value == b"v"
