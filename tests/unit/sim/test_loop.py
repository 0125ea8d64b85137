"""The loop: tasks, timers, waking, orders, cancelling."""

from __future__ import annotations

import gc
import random
import warnings
from typing import Any

import pytest

from k8slab.sim import (
    Choices,
    Component,
    Future,
    Hold,
    Holds,
    LivelockError,
    Loop,
    Mailbox,
    Priority,
    Shuffle,
    Wait,
    pause,
    sleep,
)


def test_time_moves_only_when_nobody_is_ready() -> None:
    loop, seen = Loop(), []

    async def worker(name: str) -> None:
        for _ in range(3):
            seen.append((loop.clock.now_ms, name))
            await pause()
        await sleep(10)
        seen.append((loop.clock.now_ms, name))

    loop.spawn("a", worker("a"))
    loop.spawn("b", worker("b"))
    loop.run(until_idle=True)
    assert seen == [(0, "a"), (0, "b")] * 3 + [(10, "a"), (10, "b")]


def test_timers_due_at_one_moment_fire_in_the_order_they_were_set() -> None:
    loop, seen = Loop(), []

    async def sleeper(name: str, ms: int) -> None:
        await sleep(ms)
        seen.append(name)

    for name, ms in (("c", 5), ("a", 5), ("b", 3)):
        loop.spawn(name, sleeper(name, ms))
    loop.run(until_idle=True)
    assert seen == ["b", "c", "a"]


def test_a_wake_up_meant_for_an_earlier_turn_does_not_cut_a_sleep_short() -> None:
    loop, seen = Loop(), []
    box: Mailbox[int] = Mailbox(loop)

    async def reader() -> None:
        await pause(Wait((box,), 5))  # times out at 5, and stays parked on the box
        await sleep(100)
        seen.append(loop.clock.now_ms)

    async def writer() -> None:
        await sleep(20)
        box.put(1)

    loop.spawn("reader", reader())
    loop.spawn("writer", writer())
    loop.run(until_idle=True)
    assert seen == [105]


def test_wait_ends_at_whichever_comes_first() -> None:
    loop, seen = Loop(), []
    box: Mailbox[int] = Mailbox(loop)

    async def reader() -> None:
        await pause(Wait((box,), 50))
        seen.append((loop.clock.now_ms, list(box.items)))

    async def writer() -> None:
        await sleep(20)
        box.put(1)

    loop.spawn("reader", reader())
    loop.spawn("writer", writer())
    loop.run(until_idle=True)
    assert seen == [(20, [1])]
    assert loop.clock.now_ms == 20, "the timer that was not needed must not keep the loop busy"


def test_future_times_out_and_ignores_a_late_answer() -> None:
    loop, seen = Loop(), []
    future: Future[str] = Future(loop)

    async def asker() -> None:
        try:
            await future.wait(timeout_ms=10)
        except TimeoutError as error:
            seen.append(str(error))

    loop.spawn("asker", asker())
    loop.call_later(11, lambda: future.resolve("late"))
    loop.run(until_idle=True)
    assert seen == ["no answer within 10 ms"]
    assert future.done


def test_mailbox_gives_what_is_there_before_it_reports_that_it_was_closed() -> None:
    loop, seen = Loop(), []
    box: Mailbox[int] = Mailbox(loop)

    async def reader() -> None:
        while True:
            try:
                seen.append(await box.get())
            except ConnectionError:
                seen.append(-1)
                return

    box.put(1)
    box.put(2)
    box.close(ConnectionError())
    loop.spawn("reader", reader())
    loop.run(until_idle=True)
    assert seen == [1, 2, -1]


def test_periodic_timers_do_not_keep_a_loop_from_being_idle() -> None:
    loop = Loop()

    async def heartbeat() -> None:
        while True:
            await sleep(10, periodic=True)

    loop.spawn("kubelet/n/lease", heartbeat())
    assert loop.run(until_idle=True)
    assert loop.idle and loop.clock.now_ms == 0
    loop.run(for_ms=35)
    assert loop.clock.now_ms == 35


def test_run_for_a_time_stops_at_its_end_and_leaves_later_timers() -> None:
    loop, seen = Loop(), []

    async def worker() -> None:
        while True:
            await sleep(10)
            seen.append(loop.clock.now_ms)

    loop.spawn("w", worker())
    loop.run(for_ms=25)
    assert (seen, loop.clock.now_ms) == ([10, 20], 25)
    loop.run(for_ms=5)
    assert seen == [10, 20, 30]
    loop.close()


def test_until_is_looked_at_after_a_commit_and_before_time_moves() -> None:
    loop, state = Loop(), {"revision": 0}

    async def writer() -> None:
        for _ in range(5):
            await pause()
            state["revision"] += 1
            loop.changed = True
        await sleep(1_000)

    loop.spawn("w", writer())
    assert loop.run(until=lambda: state["revision"] == 3)
    assert state["revision"] == 3
    assert not loop.run(until=lambda: state["revision"] == 9, for_ms=50)
    assert loop.clock.now_ms == 50


def test_an_error_in_a_task_stops_the_loop_and_names_the_task() -> None:
    loop = Loop()

    async def bad() -> None:
        await sleep(5)
        raise KeyError("spec")

    loop.spawn("kcm/deployment/worker-0", bad())
    with pytest.raises(KeyError) as info:
        loop.run(until_idle=True)
    assert info.value.__notes__ == ["in task kcm/deployment/worker-0 at 5 ms, action 2"]


def test_livelock_names_the_actors_that_stop_time() -> None:
    loop = Loop(livelock_actions=1_000)

    async def spin() -> None:
        while True:
            await pause()

    loop.spawn("kcm/a", spin())
    loop.spawn("kcm/b", spin())
    with pytest.raises(LivelockError, match="past 0 ms; last to act: kcm/"):
        loop.run(for_ms=1)
    loop.close()


def test_many_tasks_that_end_one_after_the_other_in_one_instant_are_no_livelock() -> None:
    loop = Loop()

    async def work(turns: int) -> None:
        for _ in range(turns):
            await pause()

    for number in range(250):
        loop.spawn(f"node-{number}/cni", work(4 * number))
    assert loop.run(until_idle=True) and loop.actions > 100_000 and not loop.tasks
    loop.close()


def test_tasks_that_start_each_other_for_ever_in_one_instant_are_a_livelock() -> None:
    loop = Loop()

    async def chain() -> None:
        loop.spawn("kcm/next", chain())

    loop.spawn("kcm/first", chain())
    with pytest.raises(LivelockError, match="past 0 ms; last to act: kcm/next"):
        loop.run(for_ms=1)
    loop.close()


def test_killing_a_component_ends_its_tasks_and_closes_what_it_had_open() -> None:
    loop, seen = Loop(), []
    component = Component(loop, "kubelet/n1")

    async def work(role: str) -> None:
        try:
            await sleep(1_000)
        finally:
            seen.append(role)

    component.spawn("sync", work("sync"))
    component.spawn("lease", work("lease"))
    component.on_close(lambda: seen.append("stream"))
    loop.run(for_ms=1)
    component.kill()
    component.kill()
    assert seen == ["sync", "lease", "stream"]
    assert not loop.tasks and loop.run(until_idle=True)
    with pytest.raises(RuntimeError, match="component kubelet/n1 is dead"):
        component.spawn("sync", work("again"))


def test_a_task_may_kill_its_own_component_at_its_next_await() -> None:
    loop = Loop()
    component = Component(loop, "kcm")

    async def suicide() -> None:
        loop.call_later(0, component.kill)
        await sleep(10)
        raise AssertionError("it lived on")

    component.spawn("w", suicide())
    loop.run(until_idle=True)
    assert not component.alive


def test_cause_is_kept_per_task_and_inherited_by_what_it_starts() -> None:
    loop = Loop()
    trace = loop.trace

    async def child() -> None:
        await sleep(3)
        trace.emit("test.child", "child")

    async def parent() -> None:
        trace.emit("test.parent", "parent")
        loop.spawn("child", child())
        await sleep(1)
        trace.emit("test.after", "parent")

    async def other() -> None:
        await sleep(2)
        trace.emit("test.other", "other")

    loop.spawn("parent", parent())
    loop.spawn("other", other())
    loop.run(until_idle=True)
    cause = {event.kind: event.cause for event in trace}
    assert cause == {"test.parent": None, "test.after": 0, "test.other": None, "test.child": 0}


def _interleaving(order: object) -> tuple[str, dict[int, int]]:
    loop = Loop(order=order)  # type: ignore[arg-type]
    seen: list[str] = []

    async def worker(name: str) -> None:
        for _ in range(4):
            seen.append(name)
            await pause()

    for name in "abc":
        loop.spawn(name, worker(name))
    loop.run(until_idle=True)
    return "".join(seen), getattr(order, "choices", {})


@pytest.mark.parametrize("make", [Shuffle, Priority], ids=["shuffled", "by priority"])
@pytest.mark.parametrize("seed", range(5))
def test_what_an_order_chose_can_be_replayed_as_choices(make: type, seed: int) -> None:
    seen, choices = _interleaving(make(random.Random(seed)))
    again, _ = _interleaving(Choices(choices))
    assert again == seen
    assert sorted(seen) == sorted("abc" * 4)


def test_a_hold_keeps_one_component_back_and_lets_the_others_go_on() -> None:
    seen, _ = _interleaving(Holds([Hold("a", 1, 6)]))
    assert seen == "bcbcbc" + "abcaaa"


def test_a_hold_on_everybody_gives_way_when_nothing_else_will_ever_happen() -> None:
    seen, _ = _interleaving(Holds([Hold("", 1, 100)]))
    assert sorted(seen) == sorted("abc" * 4)


def test_streams_are_seeded_by_name_and_independent() -> None:
    one, two = Loop(seed=7), Loop(seed=7)
    one.stream("uids").random()
    assert one.stream("names").random() == two.stream("names").random()
    assert Loop(seed=8).stream("names").random() != two.stream("names").random()


def test_where_names_the_function_a_task_waits_in() -> None:
    loop = Loop()

    async def inner() -> None:
        await sleep(10)

    async def outer() -> None:
        await inner()

    task = loop.spawn("t", outer())
    loop.run(for_ms=1)
    assert "inner, line " in task.where()
    loop.close()


def test_an_order_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="order 'shuffle': expected an Order"):
        Loop(order="shuffle")  # type: ignore[arg-type]


# -- calls that cannot be ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"for_ms": float("inf")}, TypeError, "for_ms: inf: expected a whole number of milliseconds"),
        ({"for_ms": 1.5}, TypeError, "for_ms: 1.5: expected a whole number of milliseconds"),
        ({"for_ms": True}, TypeError, "for_ms: True: expected a whole number of milliseconds"),
        ({"for_ms": "x"}, TypeError, "for_ms: 'x': expected a whole number of milliseconds"),
        ({"for_ms": -5}, ValueError, "for_ms: -5: expected 0 milliseconds or more"),
        ({"until": 5}, TypeError, "until: 5: expected a function without arguments"),
    ],
    ids=str,
)
def test_a_span_that_is_none_is_refused_and_the_clock_stands(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    loop = Loop()
    with pytest.raises(error) as info:
        loop.run(**arguments)
    assert (str(info.value), loop.clock.now_ms) == (says, 0)


@pytest.mark.parametrize("seed", [None, [], 1.5, True], ids=repr)
def test_a_seed_is_a_number_or_a_text(seed: Any) -> None:
    with pytest.raises(TypeError) as info:
        Loop(seed)
    assert str(info.value) == f"seed: {seed!r}: expected a number or a text"


def test_a_coroutine_can_be_made_at_the_first_step() -> None:
    loop, seen = Loop(), []

    async def work() -> str:
        seen.append(loop.clock.now_ms)
        await sleep(5)
        return "done"

    task = loop.spawn("t", work, delay_ms=10)
    loop.run(for_ms=9)
    assert seen == []
    loop.run(until_idle=True)
    assert (seen, task.done, task.result, loop.clock.now_ms) == ([10], True, "done", 15)


def test_what_was_never_made_can_be_cancelled_and_thrown_away_without_a_warning() -> None:
    made = []

    async def work() -> None:
        made.append(1)

    loop = Loop()
    component = Component(loop, "kcm")
    task = component.spawn("w", work)
    component.kill()
    assert task.done and not loop.step()
    with pytest.raises(RuntimeError, match="component kcm is dead"):
        component.spawn("w", work)
    component = Component(loop, "kcm")
    component.spawn("w", work)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        del loop, component, task
        gc.collect()
    assert not told and not made
