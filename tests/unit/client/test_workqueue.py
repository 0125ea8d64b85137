"""The work queue on the loop: order, delays, causes, shutdown."""

from __future__ import annotations

import pytest

from k8slab.client import WorkQueue
from k8slab.client.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    Limiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from k8slab.sim.loop import Loop


def taken(loop: Loop, queue: WorkQueue, *, for_ms: int, done: bool = True) -> list[tuple[int, str]]:
    """(when, key) of what one worker gets within `for_ms`."""
    found: list[tuple[int, str]] = []

    async def work() -> None:
        while (key := await queue.get()) is not None:
            found.append((loop.clock.now_ms, key))
            if done:
                queue.done(key)

    task = loop.spawn("worker", work())
    loop.run(for_ms=for_ms)
    loop.cancel(task)
    queue.delayed.check_invariants()
    return found


def test_keys_come_out_in_the_order_they_went_in_and_once_each() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    for key in ("b", "a", "b", "c", "a"):
        queue.add(key)
    assert len(queue) == 3
    assert taken(loop, queue, for_ms=0) == [(0, "b"), (0, "a"), (0, "c")]
    queue.check_invariants()


def test_a_key_added_while_it_is_in_work_comes_again_after_done_and_not_before() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    queue.add("a")
    assert taken(loop, queue, for_ms=0, done=False) == [(0, "a")]
    queue.add("a")
    queue.add("a")
    assert taken(loop, queue, for_ms=0) == []
    queue.check_invariants()
    queue.done("a")
    assert taken(loop, queue, for_ms=0) == [(0, "a")]


def test_a_delayed_key_comes_when_its_time_has_come_and_the_earlier_time_wins() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    queue.add_after("late", 500)
    queue.add_after("late", 200)
    queue.add_after("late", 300)
    queue.add_after("early", 50)
    queue.add_after("now", 0)
    queue.add_after("past", -5)
    assert taken(loop, queue, for_ms=1000) == [(0, "now"), (0, "past"), (50, "early"), (200, "late")]


def test_a_key_that_is_added_at_once_keeps_its_delayed_turn() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    queue.add_after("a", 100)
    queue.add("a")
    assert taken(loop, queue, for_ms=1000) == [(0, "a"), (100, "a")]


def test_a_rate_limited_key_waits_twice_as_long_after_every_failure_until_it_is_forgotten() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test", ItemExponentialFailureRateLimiter(5, 1000))
    assert [queue.add_rate_limited("a") for _ in range(3)] == [5, 10, 20]
    assert queue.num_requeues("a") == 3
    queue.forget("a")
    assert queue.num_requeues("a") == 0
    assert queue.add_rate_limited("a") == 5
    assert taken(loop, queue, for_ms=1000) == [(5, "a")]


def test_the_default_limiter_lets_a_hundred_retries_through_and_then_ten_a_second() -> None:
    limiter = default_controller_rate_limiter(lambda: 0)
    delays = [limiter.when(f"key-{number}") for number in range(103)]
    assert delays[:100] == [5] * 100
    assert delays[100:] == [100, 200, 300]


def test_the_item_based_default_starts_at_one_millisecond() -> None:
    limiter = default_item_based_rate_limiter()
    assert [limiter.when("a") for _ in range(3)] == [1, 2, 4]


def test_a_limiter_with_a_longest_wait_never_answers_more_but_counts_on() -> None:
    limiter = WithMaxWaitRateLimiter(ItemExponentialFailureRateLimiter(100, 10_000), 250)
    assert [limiter.when("a") for _ in range(4)] == [100, 200, 250, 250]
    assert limiter.num_requeues("a") == 4
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0


def test_the_exponential_limiter_stays_at_its_maximum_after_thousands_of_failures() -> None:
    limiter = ItemExponentialFailureRateLimiter(5, 1_000_000)
    limiter.failures["a"] = 5_000
    assert limiter.when("a") == 1_000_000


def test_an_empty_bucket_never_allows_and_never_delivers() -> None:
    limiter = Limiter(1, 0)
    assert not limiter.allow(0)
    assert limiter.reserve(0) == 2**63 - 1


def test_a_refused_allow_takes_no_token() -> None:
    limiter = Limiter(1, 1)
    second = 1_000_000_000
    assert limiter.allow(0)
    assert not limiter.allow(second // 2)
    assert not limiter.allow(second * 999 // 1000)
    assert limiter.allow(second)


def test_a_bucket_limiter_reads_the_clock_and_rounds_a_started_millisecond_up() -> None:
    loop = Loop(seed=1)
    limiter = BucketRateLimiter(Limiter(3, 1), lambda: loop.clock.now_ms)
    assert [limiter.when("a") for _ in range(3)] == [0, 334, 667]
    assert limiter.num_requeues("a") == 0
    limiter.forget("a")
    loop.run(for_ms=1000)
    assert limiter.when("b") == 0


def test_shutting_down_hands_out_what_is_queued_then_none_and_takes_nothing_more() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    queue.add("a")
    queue.add("b")
    queue.add_after("later", 10)
    queue.shut_down()
    queue.add("c")
    queue.add_after("d", 10)
    ended: list[int] = []

    async def work() -> None:
        while (key := await queue.get()) is not None:
            queue.done(key)
        ended.append(loop.clock.now_ms)

    loop.spawn("worker", work())
    assert taken(loop, queue, for_ms=100) == [(0, "b")]
    assert ended == [0]
    assert queue.shutting_down


def test_shutting_down_wakes_a_worker_that_waits() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    got: list[object] = []

    async def work() -> None:
        got.append(await queue.get())

    loop.spawn("worker", work())
    loop.run(for_ms=10)
    assert got == []
    queue.shut_down()
    loop.run(for_ms=0)
    assert got == [None]


def test_draining_waits_for_keys_in_work() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    queue.add("a")
    assert taken(loop, queue, for_ms=0, done=False) == [(0, "a")]
    drained: list[int] = []

    async def stop() -> None:
        await queue.drain()
        drained.append(loop.clock.now_ms)

    loop.spawn("stop", stop())
    loop.run(for_ms=50)
    assert drained == []
    queue.done("a")
    loop.run(for_ms=0)
    assert drained == [50]


def test_two_workers_never_hold_the_same_key() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    held: list[str] = []

    async def work() -> None:
        while (key := await queue.get()) is not None:
            assert key not in held
            held.append(key)
            queue.add(key) if loop.clock.now_ms < 5 else None
            from k8slab.sim.loop import sleep

            await sleep(1)
            held.remove(key)
            queue.done(key)

    for key in ("a", "b"):
        queue.add(key)
    for number in range(3):
        loop.spawn(f"worker-{number}", work())
    loop.run(for_ms=20)
    assert held == []
    queue.check_invariants()
    loop.close()


def test_the_first_add_causes_the_work_and_merged_adds_are_its_further_causes() -> None:
    loop = Loop(seed=1)
    trace = loop.trace
    queue = WorkQueue(loop, "test", lane="kcm/test")
    causes = []
    for _ in range(3):
        trace.current = None
        causes.append(trace.emit("cache.update", "x", resource="pods", key="k", revision=1, delta="Added"))
        queue.add("a")
        queue.add("a")
    found: list[object] = []

    async def work() -> None:
        key = await queue.get()
        found.extend([key, trace.current, queue.take_merged(), queue.take_merged()])

    loop.spawn("worker", work())
    loop.run(for_ms=0)
    added = next(event for event in trace if event.kind == "queue.add")
    assert added.cause == causes[0]
    assert found == ["a", added.seq, (causes[1], causes[2]), ()]


def test_merged_causes_are_bounded() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    for number in range(40):
        loop.trace.current = number
        queue.add("a")
    loop.trace.current = None
    found: list[tuple[int, ...]] = []

    async def work() -> None:
        await queue.get()
        found.append(queue.take_merged())

    loop.spawn("worker", work())
    loop.run(for_ms=0)
    assert len(found[0]) == 16


def test_a_delayed_add_is_caused_by_what_asked_for_it() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    asked = loop.trace.emit("cache.update", "x", resource="pods", key="k", revision=1, delta="Added")
    queue.add_after("a", 10)
    loop.trace.current = None
    loop.run(for_ms=20)
    assert [event.cause for event in loop.trace if event.kind == "queue.add"] == [asked]


def test_a_loop_that_waits_only_for_periodic_delays_is_idle() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    queue.add_after("a", 1000, periodic=True)
    assert loop.idle
    queue.add_after("b", 10)
    assert not loop.idle


def test_done_for_a_key_that_is_queued_breaks_the_invariants_and_they_say_so() -> None:
    queue = WorkQueue(Loop(seed=1), "test")
    queue.add("a")
    queue.done("a")
    with pytest.raises(AssertionError, match="queued twice"):
        queue.check_invariants()


def test_the_view_shows_every_key_where_it_is() -> None:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "test")
    queue.add("a")
    queue.add("b")
    queue.add_after("c", 7)
    taken_one = queue.queue.get()
    assert taken_one == "a"
    assert queue.view() == {
        "queue": {"b": 0},
        "dirty": {"b": True},
        "processing": {"a": True},
        "shutting_down": False,
        "delayed": {"c": 7},
    }
