"""How a member makes sure that a read is not stale: it asks the leader, and the leader asks a majority.

>>> from k8slab.etcd import LinearizableReads
>>> from k8slab.sim import Loop
>>> loop, asked = Loop(), []
>>> reads = LinearizableReads(loop, ask=asked.append, applied=lambda: 7)
>>> task = loop.spawn("loop", reads.run())
>>> one, other = loop.spawn("a", reads.wait()), loop.spawn("b", reads.wait())
>>> loop.run(until=lambda: bool(asked))
True
>>> reads.confirmed(asked[0], index=7)
>>> loop.run(until=lambda: one.done and other.done), len(asked)
(True, 1)

One question serves all reads that came before it was asked. A question that is lost is asked again after 500 ms, under
a new name: an answer to the old one may be about a leader that is none any more (etcd issue 20418, a stale read).

Upstream: etcd 3.6.12 server/etcdserver/v3_server.go (linearizableReadLoop, requestCurrentIndex)
"""

from __future__ import annotations

from collections.abc import Callable

from k8slab.etcd.errors import EtcdError, LeaderChangedError, RequestTimedOutError, StoppedError
from k8slab.etcd.fields import Field, check_field
from k8slab.sim import Future, Loop, Wait, Waiters, pause
from k8slab.sim.clock import milliseconds

__all__ = ["READ_INDEX_RETRY_MS", "LinearizableReads"]

READ_INDEX_RETRY_MS = 500
"""So long a member waits for the answer to a ReadIndex before it asks anew."""

_CONTEXT = Field(0, "context", "bytes")
_INDEX = Field(0, "index", "int")


class LinearizableReads:
    """`ask` sends a ReadIndex with this context; `applied` is the last entry in the store. `run` is the member's task.

    `prefix` keeps contexts of members apart. `timeout_ms`: after that long without an answer the reads fail.

    TypeError, ValueError: an argument that is none of these.
    """

    def __init__(
        self,
        loop: Loop,
        *,
        ask: Callable[[bytes], None],
        applied: Callable[[], int],
        prefix: str = "",
        timeout_ms: int = 7_000,
    ) -> None:
        if not isinstance(loop, Loop):
            raise TypeError(f"loop is {loop!r}, expected a Loop")
        for name, call in (("ask", ask), ("applied", applied)):
            if not callable(call):
                raise TypeError(f"{name} is {call!r}, expected a function")
        if not isinstance(prefix, str):
            raise TypeError(f"prefix is {prefix!r}, expected a text")
        milliseconds("timeout_ms", timeout_ms, least=1)
        self._loop = loop
        self._ask = ask
        self._applied = applied
        self._prefix = prefix
        self._timeout_ms = timeout_ms
        self._number = 0
        self._next: list[Future[None]] = []
        self._now: list[Future[None]] = []
        self._woken = Waiters(loop)
        self._asked: set[bytes] = set()
        self._index: int | None = None
        self._changed = False
        self._again = False

    async def wait(self) -> None:
        """Until a read sees all that was answered before. LeaderChangedError, RequestTimedOutError, StoppedError."""
        answer: Future[None] = Future(self._loop)
        self._next.append(answer)
        self._woken.wake()
        await answer.wait()

    async def run(self) -> None:
        """Round after round."""
        while True:
            while not self._next:
                await pause(self._woken)
            self._now, self._next = self._next, []
            try:
                index = await self._current_index()
            except EtcdError as error:
                self._end(error)
                continue
            while self._applied() < index:
                await pause(self._woken)
            self._end(None)

    async def _current_index(self) -> int:
        clock = self._loop.clock
        deadline = clock.now_ms + self._timeout_ms
        self._index, self._changed = None, False
        self._asked.clear()
        retry = self._ask_anew()
        while True:
            if self._changed:
                raise LeaderChangedError
            if self._index is not None:
                return self._index
            if clock.now_ms >= deadline:
                raise RequestTimedOutError
            if self._again or clock.now_ms >= retry:
                retry = self._ask_anew()
            await pause(Wait((self._woken,), min(retry, deadline) - clock.now_ms))

    def _ask_anew(self) -> int:
        self._again = False
        self._number += 1
        context = f"{self._prefix}{self._number}".encode()
        self._asked.add(context)
        self._ask(context)
        return self._loop.clock.now_ms + READ_INDEX_RETRY_MS

    def _end(self, error: EtcdError | None) -> None:
        for answer in self._now:
            if error is None:
                answer.resolve(None)
            else:
                answer.fail(error)
        self._now = []

    # -- what the member hears ---------------------------------------------------------------------

    def confirmed(self, context: bytes, index: int) -> None:
        """A majority has said who leads; `index` was committed when the question `context` came."""
        check_field(_CONTEXT, context)
        check_field(_INDEX, index)
        if self._index is None and context in self._asked:
            self._index = index
            self._woken.wake()

    def leader_changed(self) -> None:
        """The member follows another leader: the question may have gone to one that is none."""
        self._changed = True
        self._woken.wake()

    def first_commit_in_term(self) -> None:
        """The leader can answer only now; what it was asked before may be lost."""
        self._again = True
        self._woken.wake()

    def moved_on(self) -> None:
        """More is applied."""
        self._woken.wake()

    def stop(self) -> None:
        """The member is gone: who waits learns it."""
        self._now += self._next
        self._next = []
        self._end(StoppedError())
