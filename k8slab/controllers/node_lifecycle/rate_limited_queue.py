"""Nodes that wait to be tainted, a few at a time, each with the cause of its being added.

Upstream: pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go
Simplified: no locks.
"""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable
from typing import Any

from k8slab.client.workqueue import Limiter
from k8slab.sim import Trace

__all__ = ["BURST", "RateLimitedTimedQueue"]

BURST = 1
_NANOSECONDS = 1_000_000


class RateLimitedTimedQueue:
    """Unique values by the time from which they may be processed. `qps` 0 stops it.

    A value that was processed is not taken again until it has been removed. With a `trace`, a value is processed
    because of what it was added for.
    """

    def __init__(self, qps: float, trace: Trace | None = None) -> None:
        self.qps = qps
        self._trace = trace
        self._limiter = Limiter(qps, BURST)
        self._heap: list[tuple[int, int, str]] = []
        self._known: dict[str, int | None] = {}  # the cause of each
        self._counter = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, value: str, now_ms: int) -> bool:
        """False when the value is known already."""
        if value in self._known:
            return False
        self._known[value] = None if self._trace is None else self._trace.current
        self._push(value, now_ms)
        return True

    def remove(self, value: str) -> bool:
        """Forget the value, waiting or processed. False when it is unknown."""
        if value not in self._known:
            return False
        del self._known[value]
        self._drop(value)
        return True

    def swap_limiter(self, qps: float, now_ms: int) -> None:
        """Go on at another rate. Who is waiting for a token now waits for one of the new rate."""
        if qps == self.qps:
            return
        limiter = Limiter(qps, BURST)
        if qps > 0 and not self._accept(now_ms):
            limiter.allow(now_ms * _NANOSECONDS)
        self.qps, self._limiter = qps, limiter

    async def try_each(self, now: Callable[[], int], process: Callable[[str], Awaitable[int | None]]) -> None:
        """Process values that are due for as long as there are tokens; looking costs a token too.

        `process` returns None when the value is done, or after how many milliseconds to try it again.
        """
        while self._heap and self._accept(now()):
            due_ms, _, value = self._heap[0]
            if due_ms > now():
                return
            if self._trace is not None:
                self._trace.current = self._known[value]
            retry_ms = await process(value)
            self._drop(value)
            if retry_ms is not None and value in self._known:
                self._push(value, now() + retry_ms + 1)

    def view(self) -> dict[str, Any]:
        """Waiting values and the time from which they may be processed."""
        return {value: due_ms for due_ms, _, value in sorted(self._heap)}

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        waiting = [value for _, _, value in self._heap]
        assert len(waiting) == len(set(waiting)), "a value waits twice"
        assert all(value in self._known for value in waiting), "a value waits that is not known"

    def _accept(self, now_ms: int) -> bool:
        return self.qps > 0 and self._limiter.allow(now_ms * _NANOSECONDS)

    def _push(self, value: str, due_ms: int) -> None:
        self._counter += 1
        heapq.heappush(self._heap, (due_ms, self._counter, value))

    def _drop(self, value: str) -> None:
        self._heap = [entry for entry in self._heap if entry[2] != value]
        heapq.heapify(self._heap)
