"""When members' clocks tick: each at its own moment, or, if so wished, all together."""

from __future__ import annotations

from k8slab.raft import RaftCluster

SEEDS = 60


def first_questions(*, in_step: bool) -> list[int]:
    """The millisecond within a tick at which the first member of each group lost its patience."""
    moments = []
    for seed in range(SEEDS):
        raft = RaftCluster(3, seed, in_step=in_step)
        raft.run(until=raft.has_leader)
        moments.append(next(event.now_ms for event in raft.trace if event.kind == "raft.role") % 100)
    return moments


def test_members_tick_at_moments_of_their_own() -> None:
    assert len(set(first_questions(in_step=False))) > SEEDS // 3


def test_members_in_step_tick_together() -> None:
    assert set(first_questions(in_step=True)) == {0}


def test_a_member_that_starts_again_ticks_at_another_moment() -> None:
    raft = RaftCluster(1, seed=3)
    moments = set()
    for start in range(10):
        if start:
            raft.restart(1)
        began = raft.now_ms
        raft.run(until=raft.has_leader)
        moments.add((raft.now_ms - began) % 100)
        raft.crash(1)
    assert len(moments) > 5
