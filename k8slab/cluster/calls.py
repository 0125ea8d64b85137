"""Transports that count calls, and can crash their component between two of them.

Upstream: none. A crash "between any two API calls" is where controllers lose what they only remembered: this is the
seam where it can be made to happen at every place, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable

from k8slab.api.objects import Object
from k8slab.api.transport import Request, Transport, WatchStream
from k8slab.sim import Loop, Wait, pause

__all__ = ["CallPoint", "CountedTransport"]


class CallPoint:
    """Counts the calls of one process over all its lives; runs `then` instead of call number `at`."""

    def __init__(self) -> None:
        self.calls = 0
        self._at: int | None = None
        self._then: Callable[[], None] | None = None

    def crash_before(self, call: int, then: Callable[[], None]) -> None:
        """When the process is about to make its `call`-th call from now (0: the next one), run `then` instead."""
        if call < 0:
            raise ValueError(f"call {call}: expected 0 or more")
        self._at, self._then = self.calls + call, then

    def reached(self) -> Callable[[], None] | None:
        """Count a call that is about to be made; what to do instead of it, if anything."""
        if self._at is not None and self.calls >= self._at:
            then, self._at, self._then = self._then, None, None
            return then
        self.calls += 1
        return None


class CountedTransport:
    """A transport that asks a `CallPoint` before every call that is not a watch."""

    def __init__(self, loop: Loop, inner: Transport, point: CallPoint) -> None:
        self._loop = loop
        self._inner = inner
        self._point = point

    async def call(self, request: Request) -> Object:
        instead = self._point.reached()
        if instead is not None:
            self._loop.call_later(0, instead)
            while True:
                await pause(Wait())  # the crash comes before anything wakes this task
        return await self._inner.call(request)

    async def watch(self, request: Request) -> WatchStream:
        return await self._inner.watch(request)
