"""Several API calls at once: what a controller does with goroutines and a wait group.

Upstream: pkg/controller/replicaset/replica_set.go (slowStartBatch)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from k8slab.api.errors import StatusError
from k8slab.sim.component import Component
from k8slab.sim.loop import pause

__all__ = ["APIFailure", "Batch", "call_all", "slow_start", "slow_start_batches"]

T = TypeVar("T")

APIFailure = StatusError | TimeoutError


async def call_all(
    component: Component, role: str, call: Callable[[T], Awaitable[None]], arguments: Sequence[T]
) -> list[APIFailure | None]:
    """`call` each argument in a task of its own, and wait for all. Returns what each failed with, None: nothing.

    One argument is called in the caller's own task.
    """
    failures: list[APIFailure | None] = [None] * len(arguments)

    async def guarded(index: int, argument: T) -> None:
        try:
            await call(argument)
        except (StatusError, TimeoutError) as error:
            failures[index] = error

    if len(arguments) == 1:
        await guarded(0, arguments[0])
        return failures
    tasks = [component.spawn(f"{role}/{i}", guarded(i, argument)) for i, argument in enumerate(arguments)]
    for task in tasks:
        while not task.done:
            await pause(task.on_done)
    return failures


def slow_start_batches(count: int, initial: int = 1) -> list[int]:
    """The sizes of the batches for `count` calls, doubling while nothing fails.

    >>> slow_start_batches(10)
    [1, 2, 4, 3]
    """
    sizes = []
    size = min(count, initial)
    while size > 0:
        sizes.append(size)
        count -= size
        size = min(2 * size, count)
    return sizes


class Batch(NamedTuple):
    """How many calls succeeded, and the first failure of the batch that ended it."""

    successes: int
    failure: APIFailure | None


async def slow_start(
    component: Component, role: str, call: Callable[[int], Awaitable[None]], count: int, initial: int = 1
) -> Batch:
    """Call `count` times in growing batches; after a batch with a failure the rest is skipped.

    Many calls that will all fail for one reason (a quota) thus cost few requests.
    """
    successes = 0
    for size in slow_start_batches(count, initial):
        first = successes
        failures = [f for f in await call_all(component, role, call, range(first, first + size)) if f is not None]
        successes += size - len(failures)
        if failures:
            return Batch(successes, failures[0])
    return Batch(successes, None)
