"""Calls in parallel, and the slow start."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ForbiddenError
from k8slab.controllers.parallel import call_all, slow_start, slow_start_batches
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop, sleep


def run(coro: Any, loop: Loop) -> Any:
    task = loop.spawn("test", coro)
    loop.run()
    return task.result


@pytest.mark.parametrize(
    ("count", "initial", "expected"),
    [(0, 1, []), (1, 1, [1]), (2, 1, [1, 1]), (10, 1, [1, 2, 4, 3]), (10, 4, [4, 6]), (3, 8, [3])],
)
def test_batches(count: int, initial: int, expected: list[int]) -> None:
    assert slow_start_batches(count, initial) == expected


def test_calls_run_side_by_side_and_failures_stay_with_their_arguments() -> None:
    loop = Loop(1)

    async def call(number: int) -> None:
        await sleep(10)
        if number == 1:
            raise ForbiddenError("no")
        if number == 2:
            raise TimeoutError("no answer")

    failures = run(call_all(Component(loop, "kcm"), "x", call, [0, 1, 2]), loop)
    assert [type(failure) for failure in failures] == [type(None), ForbiddenError, TimeoutError]
    assert loop.clock.now_ms == 10


def test_a_bug_in_a_call_stops_the_loop() -> None:
    loop = Loop(1)

    async def call(number: int) -> None:
        raise KeyError(number)

    with pytest.raises(KeyError):
        run(call_all(Component(loop, "kcm"), "x", call, [0, 1]), loop)
    loop.close()


def test_slow_start_ends_with_the_batch_that_failed() -> None:
    loop = Loop(1)
    called: list[int] = []

    async def call(number: int) -> None:
        called.append(number)
        if number == 4:
            raise ForbiddenError("quota")

    batch = run(slow_start(Component(loop, "kcm"), "x", call, 20), loop)
    assert called == [0, 1, 2, 3, 4, 5, 6]
    assert (batch.successes, str(batch.failure)) == (6, "quota")


def test_killing_the_component_ends_the_calls_under_way() -> None:
    loop = Loop(1)
    component = Component(loop, "kcm")
    done: list[int] = []

    async def call(number: int) -> None:
        await sleep(10)
        done.append(number)

    component.spawn("sync", call_all(component, "x", call, [0, 1, 2]))
    loop.run(for_ms=5)
    component.kill()
    loop.run(for_ms=50)
    assert done == []
