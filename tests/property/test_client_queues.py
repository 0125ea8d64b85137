"""Work queues against naive twins."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from k8slab.client import WorkQueue
from k8slab.client.workqueue import DelayingQueue, Limiter, Queue
from k8slab.sim.loop import Loop, sleep
from k8slab.sim.order import Shuffle
from tests.counts import examples

KEYS = st.sampled_from("abcd")


class QueueMachine(RuleBasedStateMachine):
    """The twin knows for each key since when it has been ready to be taken, and which keys are held."""

    def __init__(self) -> None:
        super().__init__()
        self.real = Queue()
        self.tick = 0
        self.ready_since: dict[str, int] = {}
        self.held: set[str] = set()
        self.wanted_again: set[str] = set()
        self.open = True

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.real.add(key)
        self.tick += 1
        if self.open:
            if key in self.held:
                self.wanted_again.add(key)
            else:
                self.ready_since.setdefault(key, self.tick)

    @rule()
    def get(self) -> None:
        expected = min(self.ready_since, key=lambda key: self.ready_since[key], default=None)
        assert self.real.get() == expected
        if expected is not None:
            del self.ready_since[expected]
            self.held.add(expected)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.real.done(key)
        self.tick += 1
        self.held.remove(key)
        if key in self.wanted_again:
            self.wanted_again.remove(key)
            self.ready_since[key] = self.tick

    @rule()
    def shut_down(self) -> None:
        self.real.shut_down()
        self.open = False

    @invariant()
    def same(self) -> None:
        self.real.check_invariants()
        assert len(self.real) == len(self.ready_since)
        assert set(self.real.processing) == self.held


QueueMachine.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=30)
TestQueue = QueueMachine.TestCase

STEPS = st.one_of(
    st.tuples(st.just("add"), KEYS, st.integers(1, 20)),
    st.tuples(st.just("advance"), st.just(""), st.integers(0, 12)),
)


@settings(max_examples=examples(200))
@given(st.lists(STEPS, max_size=40))
def test_delayed_keys_become_due_at_the_earliest_time_asked_for(steps: list[tuple[str, str, int]]) -> None:
    real, twin, now = DelayingQueue(), {}, 0
    for tick, (op, key, number) in enumerate(steps):
        if op == "add":
            at = now + number
            real.add(key, at)
            if key not in twin or at < twin[key][0]:
                twin[key] = (at, tick)
        else:
            now += number
            due = sorted((key for key in twin if twin[key][0] <= now), key=lambda key: twin[key])
            assert [entry.key for entry in real.pop_ready(now)] == due
            for key in due:
                del twin[key]
        real.check_invariants()
        upcoming = real.peek()
        first = min((at for at, _ in twin.values()), default=None)
        assert (upcoming.ready_at_ms if upcoming is not None else None) == first


@settings(max_examples=examples(150))
@given(
    st.integers(1, 20),
    st.integers(1, 5),
    st.lists(st.integers(0, 400_000_000), max_size=30),
)
def test_in_any_stretch_of_time_a_bucket_lets_through_no_more_than_its_burst_and_what_flowed_in(
    qps: int, burst: int, gaps: list[int]
) -> None:
    limiter, now, acts = Limiter(qps, burst), 0, []
    for gap in gaps:
        now += gap
        acts.append(now + limiter.reserve(now))
    assert acts == sorted(acts)
    for first in range(len(acts)):
        for last in range(first, len(acts)):
            span_s = (acts[last] - acts[first]) / 1e9
            assert last - first + 1 <= burst + span_s * qps + 1e-6 * qps + 1e-6


@settings(max_examples=examples(100))
@given(
    st.integers(0, 10_000),
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 30), KEYS, st.integers(0, 10)), max_size=25),
)
def test_every_add_is_followed_by_a_sync_that_starts_after_it_and_syncs_of_a_key_never_overlap(
    seed: int, workers: int, adds: list[tuple[int, str, int]]
) -> None:
    loop = Loop(seed=seed, order=Shuffle(random.Random(seed)))
    queue = WorkQueue(loop, "test")
    started: dict[str, int] = {}
    added: dict[str, int] = {}
    running: set[str] = set()

    async def work() -> None:
        while (key := await queue.get()) is not None:
            assert key not in running
            running.add(key)
            started[key] = loop.actions
            await sleep(3)
            running.remove(key)
            queue.done(key)

    async def add() -> None:
        for gap, key, delay in adds:
            await sleep(gap)
            added[key] = loop.actions
            queue.add_after(key, delay)
            queue.check_invariants()

    for number in range(workers):
        loop.spawn(f"worker-{number}", work())
    loop.spawn("adder", add())
    loop.run(for_ms=10_000)
    queue.check_invariants()
    loop.close()
    assert set(started) == {key for _gap, key, _delay in adds}
    for key, at in added.items():
        assert started[key] >= at, f"the last sync of {key} started before its last add"
