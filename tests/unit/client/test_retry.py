"""Retries and back-offs."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from k8slab.api.errors import ConflictError, NotFoundError
from k8slab.api.scheme import CONFIGMAPS
from k8slab.client import DEFAULT_BACKOFF, DEFAULT_RETRY, Backoff, Client, flowcontrol, on_error, retry_on_conflict
from k8slab.client.wait import BackoffManager
from k8slab.sim.clock import Clock
from k8slab.sim.loop import Loop
from tests.fakes import FakeTransport


def run(loop: Loop, coro: object) -> object:
    task = loop.spawn("test", coro)  # type: ignore[arg-type]
    loop.run(for_ms=10_000)
    assert task.done
    return task.result


def test_a_conflict_is_tried_five_times_about_ten_milliseconds_apart_and_then_raised() -> None:
    loop = Loop(seed=1)
    times: list[int] = []

    async def always() -> None:
        times.append(loop.clock.now_ms)
        raise ConflictError("again")

    async def test() -> str:
        try:
            await retry_on_conflict(loop, always)
        except ConflictError as error:
            assert loop.clock.now_ms == times[-1], "there is no wait after the last try"
            return error.message
        return "no error"

    assert run(loop, test()) == "again"
    assert len(times) == 5
    assert all(10 <= later - earlier <= 11 for earlier, later in pairwise(times))


def test_other_errors_are_raised_at_once() -> None:
    loop = Loop(seed=1)
    calls: list[int] = []

    async def missing() -> None:
        calls.append(1)
        raise NotFoundError("gone")

    async def test() -> bool:
        with pytest.raises(NotFoundError):
            await retry_on_conflict(loop, missing)
        return True

    assert run(loop, test())
    assert len(calls) == 1


def test_a_read_change_write_that_loses_the_race_once_wins_the_second_time() -> None:
    loop = Loop(seed=1)
    server = FakeTransport(loop)
    client = Client(server)
    server.put(CONFIGMAPS, {"metadata": {"name": "c", "namespace": "d"}, "data": {}})

    async def change() -> int:
        found = await client.get(CONFIGMAPS, "c", "d")
        if len(server.requests) == 1:
            server.put(CONFIGMAPS, {"metadata": {"name": "c", "namespace": "d"}, "data": {"theirs": "1"}})
        await client.update(CONFIGMAPS, {**found, "data": {**found["data"], "ours": "1"}})
        return len(server.requests)

    assert run(loop, retry_on_conflict(loop, change)) == 4
    assert server.get(CONFIGMAPS, "d/c")["data"] == {"theirs": "1", "ours": "1"}


def test_reaching_the_cap_uses_up_the_steps() -> None:
    loop = Loop(seed=1)
    calls: list[int] = []

    async def always() -> None:
        calls.append(loop.clock.now_ms)
        raise ConflictError("again")

    async def test() -> bool:
        with pytest.raises(ConflictError):
            await retry_on_conflict(loop, always, Backoff(10, factor=10, steps=9, cap_ms=500))
        return True

    assert run(loop, test())
    # waits 10, then 100; the step to 1,000 meets the cap and ends it after the wait of 100 is over
    assert calls == [0, 10]


def test_a_backoff_without_steps_is_refused() -> None:
    loop = Loop(seed=1)

    async def never() -> None: ...

    async def test() -> bool:
        with pytest.raises(ValueError, match="steps"):
            await on_error(loop, Backoff(10), lambda error: True, never)
        return True

    assert run(loop, test())


def test_retries_do_not_change_the_shared_defaults() -> None:
    assert (DEFAULT_RETRY.duration_ms, DEFAULT_RETRY.factor, DEFAULT_RETRY.jitter, DEFAULT_RETRY.steps) == (
        10,
        1,
        0.1,
        5,
    )
    assert (DEFAULT_BACKOFF.duration_ms, DEFAULT_BACKOFF.factor, DEFAULT_BACKOFF.steps) == (10, 5, 4)


def test_jitter_lengthens_a_step_by_up_to_its_share_and_does_not_add_up() -> None:
    backoff = Backoff(100, factor=2, jitter=0.5, steps=3)
    rng = random.Random(7)
    for base in (100, 200, 400, 800, 800):
        assert base <= backoff.step(rng) <= base * 1.5
    assert backoff.duration_ms == 800


def test_jitter_needs_a_random_stream() -> None:
    with pytest.raises(ValueError, match="rng"):
        Backoff(100, jitter=1).step()


def test_a_managed_backoff_starts_over_after_its_reset_time() -> None:
    clock = Clock()
    manager = BackoffManager(Backoff(100, factor=2, steps=10), 1_000, clock, random.Random(1))
    assert [manager.step() for _ in range(3)] == [100, 200, 400]
    clock.now_ms = 1_000
    assert manager.step() == 800
    clock.now_ms = 1_001
    assert manager.step() == 100


def test_a_pod_in_back_off_waits_from_the_event_or_from_the_last_update() -> None:
    clock = Clock()
    backoff = flowcontrol.Backoff(1_000, 60_000, clock)
    assert not backoff.is_in_backoff_since("p", 0)
    assert not backoff.is_in_backoff_since_update("p", 0)
    backoff.next("p", 0)
    clock.now_ms = 999
    assert backoff.is_in_backoff_since("p", 0)
    assert backoff.is_in_backoff_since_update("p", 999)
    clock.now_ms = 1_000
    assert not backoff.is_in_backoff_since("p", 0)
    assert not backoff.is_in_backoff_since_update("p", 1_000)
    backoff.check_invariants()


def test_a_back_off_that_was_reset_starts_at_its_beginning() -> None:
    clock = Clock()
    backoff = flowcontrol.Backoff(1_000, 60_000, clock)
    for _ in range(3):
        backoff.next("p", 0)
    assert backoff.view() == {"p": 4_000}
    backoff.reset("p")
    assert (backoff.get("p"), len(backoff)) == (0, 0)
    backoff.next("p", 0)
    assert backoff.get("p") == 1_000


def test_an_owner_may_decide_itself_when_a_back_off_expires() -> None:
    clock = Clock()
    backoff = flowcontrol.Backoff(1_000, 60_000, clock, has_expired=lambda event, last, most: event - last > 5)
    backoff.next("p", 0)
    clock.now_ms = 6
    backoff.next("p", 6)
    assert backoff.get("p") == 1_000


def test_a_back_off_with_jitter_needs_a_random_stream_and_stays_within_its_share() -> None:
    clock = Clock()
    with pytest.raises(ValueError, match="rng"):
        flowcontrol.Backoff(1_000, 60_000, clock, max_jitter_factor=0.5)
    backoff = flowcontrol.Backoff(1_000, 60_000, clock, max_jitter_factor=0.5, rng=random.Random(1))
    backoff.next("p", 0)
    assert 1_000 <= backoff.get("p") <= 1_500
