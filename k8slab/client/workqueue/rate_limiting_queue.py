"""The queue that controllers use: dirty keys, delays, rate limits, on the loop.

Everything that decides is in `Queue`, `DelayingQueue` and the limiters; this class adds the waiting, the timer and
the causes.

Upstream: staging/src/k8s.io/client-go/util/workqueue/rate_limiting_queue.go, delaying_queue.go
Simplified: no metrics; the timer of the earliest delayed key is not cancelled when the key leaves (it finds nothing).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from k8slab.client.workqueue.delaying_queue import DelayingQueue
from k8slab.client.workqueue.queue import Queue
from k8slab.client.workqueue.rate_limiters import RateLimiter, default_controller_rate_limiter
from k8slab.sim.loop import Loop, Waiters, pause
from k8slab.sim.trace import MAX_ALSO

__all__ = ["WorkQueue"]


class _Causes(NamedTuple):
    """Why a key is dirty: the event of its first add, what caused that, and the causes of adds that came after."""

    first: int | None
    origin: int | None
    merged: list[int]

    def merge(self, cause: int) -> None:
        if cause not in (self.first, self.origin) and cause not in self.merged and len(self.merged) < MAX_ALSO:
            self.merged.append(cause)


class WorkQueue:
    """A rate-limited work queue. `name` is shown (`deployment`), `lane` is the actor of its trace events.

    The first `add` of a key is the cause of the sync it leads to; adds that find it queued already are its `also`.
    """

    def __init__(self, loop: Loop, name: str, rate_limiter: RateLimiter | None = None, lane: str | None = None) -> None:
        self.loop = loop
        self.name = name
        self.lane = name if lane is None else lane
        self.rate_limiter = (
            default_controller_rate_limiter(lambda: loop.clock.now_ms) if rate_limiter is None else rate_limiter
        )
        self.queue = Queue()
        self.delayed = DelayingQueue()
        self._causes: dict[Any, _Causes] = {}
        self._merged: tuple[int, ...] = ()
        self._waiters = Waiters(loop)
        self._armed: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self.queue)

    @property
    def shutting_down(self) -> bool:
        return self.queue.shutting_down

    # -- adding ------------------------------------------------------------------------------------

    def add(self, key: Any) -> None:
        """Mark `key` as needing work."""
        if self.queue.shutting_down:
            return
        trace = self.loop.trace
        before = trace.current
        if self.queue.add(key):
            seq = trace.emit("queue.add", self.lane, queue=self.name, key=str(key))
            trace.current = before
            self._causes[key] = _Causes(seq if seq is not None else before, before, [])
            self._waiters.wake()
        elif before is not None and key in self._causes:
            self._causes[key].merge(before)

    def add_after(self, key: Any, delay_ms: int, *, periodic: bool = False) -> None:
        """Mark `key` when `delay_ms` have passed (at once if not positive). Of several delays the earliest counts.

        `periodic`: the delay recurs for ever, so a loop that waits only for it counts as idle.
        """
        if self.queue.shutting_down:
            return
        if delay_ms <= 0:
            self.add(key)
            return
        if self.delayed.add(key, self.loop.clock.now_ms + delay_ms, self.loop.trace.current, periodic):
            self._arm()

    def add_rate_limited(self, key: Any) -> int:
        """Mark `key` when its rate limiter says so. Returns the delay in milliseconds."""
        delay_ms = self.rate_limiter.when(key)
        self.add_after(key, delay_ms)
        return delay_ms

    def forget(self, key: Any) -> None:
        """`key` succeeded or is given up: its next failure counts as its first."""
        self.rate_limiter.forget(key)

    def num_requeues(self, key: Any) -> int:
        """How often `key` was added rate-limited since it was last forgotten."""
        return self.rate_limiter.num_requeues(key)

    # -- working -----------------------------------------------------------------------------------

    async def get(self) -> Any | None:
        """The next key, waiting for one; None when the queue is shut down and empty. Sets the ambient cause.

        The caller owes `done(key)`, whatever happens.
        """
        if len(self.queue):
            await pause()
        while not len(self.queue):
            if self.queue.shutting_down:
                return None
            await pause(self._waiters)
        key = self.queue.get()
        causes = self._causes.pop(key, None)
        self.loop.trace.current = causes.first if causes is not None else None
        self._merged = tuple(causes.merged) if causes is not None else ()
        return key

    def take_merged(self) -> tuple[int, ...]:
        """The further causes of the key that `get` just handed out: the adds that were merged into it."""
        merged, self._merged = self._merged, ()
        return merged

    def done(self, key: Any) -> None:
        """The work on `key` is over."""
        self.queue.done(key)
        self._waiters.wake()

    async def drain(self) -> None:
        """Shut down, and wait until every key that was queued or in work is done."""
        self.shut_down()
        while len(self.queue) or self.queue.processing:
            await pause(self._waiters)

    def shut_down(self) -> None:
        """Take no more keys, forget delayed ones; hand out what is queued, then None."""
        self.queue.shut_down()
        self.delayed.clear()
        self._waiters.wake()

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        self.queue.check_invariants()
        self.delayed.check_invariants()
        for key in self._causes:
            assert key in self.queue.dirty, f"causes are kept for {key!r}, which is not dirty"

    def view(self) -> dict[str, Any]:
        """Its state as keyed maps, for the stepper."""
        return {**self.queue.view(), "delayed": self.delayed.view()}

    # -- inside ------------------------------------------------------------------------------------

    def _arm(self) -> None:
        entry = self.delayed.peek()
        if entry is not None and entry.ready_at_ms not in self._armed:
            due_ms = entry.ready_at_ms
            self._armed[due_ms] = None
            self.loop.call_later(due_ms - self.loop.clock.now_ms, lambda: self._ring(due_ms), periodic=entry.periodic)

    def _ring(self, due_ms: int) -> None:
        self._armed.pop(due_ms, None)
        trace = self.loop.trace
        for entry in self.delayed.pop_ready(self.loop.clock.now_ms):
            trace.current = entry.cause
            self.add(entry.key)
        trace.current = None
        self._arm()
