"""Try again after a conflict.

Upstream: staging/src/k8s.io/client-go/util/retry/util.go
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from k8slab.api.errors import ConflictError
from k8slab.client.wait import Backoff
from k8slab.sim.loop import Loop, sleep

__all__ = ["DEFAULT_BACKOFF", "DEFAULT_RETRY", "on_error", "retry_on_conflict"]

T = TypeVar("T")

DEFAULT_RETRY = Backoff(duration_ms=10, factor=1.0, jitter=0.1, steps=5)
"""For conflicts where several clients change the same object."""

DEFAULT_BACKOFF = Backoff(duration_ms=10, factor=5.0, jitter=0.1, steps=4)
"""For conflicts with a controller that works on the object all the time."""


async def on_error(
    loop: Loop,
    backoff: Backoff,
    retriable: Callable[[Exception], bool],
    function: Callable[[], Awaitable[T]],
    stream: str = "retry",
) -> T:
    """Call `function` until it returns, at most `backoff.steps` times. Errors that are not `retriable` are raised at
    once, the last retriable one when the steps are used up. `stream`: the random stream of the jitter."""
    state = replace(backoff)
    rng = loop.stream(stream)
    if state.steps < 1:
        raise ValueError(f"backoff.steps: {state.steps}: expected at least 1")
    while True:
        try:
            return await function()
        except Exception as error:
            if not retriable(error) or state.steps <= 1:
                raise
            delay_ms = round(state.step(rng))
            last = error
        await sleep(delay_ms)
        if state.steps < 1:  # the cap was reached, which uses up the steps
            raise last


async def retry_on_conflict(loop: Loop, function: Callable[[], Awaitable[T]], backoff: Backoff = DEFAULT_RETRY) -> T:
    """Call `function`, which reads the object, changes it and writes it, again as long as it raises ConflictError."""
    return await on_error(loop, backoff, lambda error: isinstance(error, ConflictError), function)
