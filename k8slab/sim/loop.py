"""The event loop: tasks, timers, one action at a time.

A task is an `async def` coroutine. It is in the ready queue or it is not; what it waits for (a timer, a mailbox,
a work queue, a reply) wakes it. One action is one step of one task. Virtual time moves only when no task is
ready, and then to the next timer. Which of several ready tasks goes next is the `Order`'s decision, so every
interleaving of the simulated components can be produced, recorded and replayed.

A woken task must look again whether its condition holds (`while`, not `if`).

Simplified: no wall clock, no threads, no I/O; `serve` posts what comes from outside into the loop.
"""

from __future__ import annotations

import atexit
import heapq
import random
import types
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from k8slab.sim.clock import Clock, milliseconds
from k8slab.sim.collector import rare_collections
from k8slab.sim.order import Fifo, Order
from k8slab.sim.trace import Trace

__all__ = [
    "Future",
    "LivelockError",
    "Loop",
    "Mailbox",
    "Task",
    "Wait",
    "Waitable",
    "Waiters",
    "check_seed",
    "pause",
    "sleep",
]

T = TypeVar("T")

_NO_TIMER, _LASTING, _PERIODIC = 0, 1, 2  # what a task's outstanding timer is


class Waitable(Protocol):
    """Anything a task can wait for."""

    def park(self, task: Task) -> None:
        """Remember `task`, to wake it (`loop.wake(task, turn)`) when something changed."""


class Wait(NamedTuple):
    """Wait for any of `on`, or until `ms` have passed, whichever comes first.

    `periodic` marks timers that recur for ever (heartbeats, resync): a loop that has only those is idle.
    """

    on: tuple[Waitable, ...] = ()
    ms: int | None = None
    periodic: bool = False


Pause: TypeAlias = "Wait | Waitable | None"


@types.coroutine
def pause(what: Pause = None) -> Generator[Pause, None, None]:
    """Give up the turn: until `what` wakes the task, or (None) until the others had theirs."""
    yield what


@types.coroutine
def sleep(ms: int, *, periodic: bool = False) -> Generator[Pause, None, None]:
    """Sleep for `ms` of virtual time."""
    yield Wait((), ms, periodic)


class LivelockError(RuntimeError):
    """Time stands still: the tasks named keep one instant alive by waking each other for ever."""

    def __init__(self, now_ms: int, actors: Iterable[str]) -> None:
        self.now_ms = now_ms
        self.actors = tuple(actors)
        super().__init__(f"virtual time does not advance past {now_ms} ms; last to act: {', '.join(self.actors)}")


Work: TypeAlias = "Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]]"
"""What a task does: a coroutine, or what makes one when the task takes its first step.

The second kind is for tasks that may be thrown away, with their loop, before that: nobody can be warned of a coroutine
that does not exist, and Python's collector may finalize one that does before the task that would close it.
"""


class _Unbegun:
    """In the place of a coroutine that is made at the first step."""

    __slots__ = ("_make", "_task")

    def __init__(self, task: Task, make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._task = task
        self._make = make

    def send(self, value: None) -> Pause:
        coro = self._task._coro = self._make()
        return coro.send(value)  # type: ignore[no-any-return]

    def close(self) -> None:
        """There is nothing to close yet."""


class Task:
    """One coroutine in the loop. `name` is `component/instance/role`."""

    __slots__ = (
        "_coro",
        "cause",
        "done",
        "error",
        "loop",
        "name",
        "on_done",
        "queued",
        "result",
        "timer",
        "turn",
        "waiting",
    )

    def __init__(self, loop: Loop, name: str, work: Work, cause: int | None) -> None:
        self.loop = loop
        self.name = name
        self._coro: Any = _Unbegun(self, work) if callable(work) else work
        self.cause = cause
        self.turn = 0  # how many steps it took; a wake-up meant for an earlier turn is stale
        self.queued = False
        self.timer = _NO_TIMER
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.waiting: Pause = None
        self.on_done = Waiters(loop)

    def step(self) -> Pause:
        """Run to the next `await` that really waits. The caller checks `done` first."""
        return self._coro.send(None)  # type: ignore[no-any-return]

    def where(self) -> str:
        """The innermost function the task is suspended in, with its line: what it will do next."""
        at: Any = self._coro
        name, line = self.name, 0
        while at is not None:
            frame = getattr(at, "cr_frame", None) or getattr(at, "gi_frame", None)
            if frame is not None and frame.f_code.co_filename != __file__:
                name, line = frame.f_code.co_qualname, frame.f_lineno
            at = getattr(at, "cr_await", None) or getattr(at, "gi_yieldfrom", None)
        return f"{name}, line {line}"

    def close(self) -> None:
        self.done = True
        self._coro.close()

    def __del__(self) -> None:
        if self.turn == 0 and not self.done:
            self._coro.close()  # thrown away with its loop before its first step: no "never awaited" warning

    def __repr__(self) -> str:
        return f"<Task {self.name}{' done' if self.done else ''}>"


class Waiters:
    """The tasks parked on one thing. Embed it, and call `wake` when the thing changed."""

    __slots__ = ("_loop", "_parked")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._parked: list[tuple[Task, int]] = []

    def park(self, task: Task) -> None:
        self._parked.append((task, task.turn))

    def wake(self) -> None:
        """Make every parked task ready, in the order they parked."""
        if self._parked:
            parked, self._parked = self._parked, []
            for task, turn in parked:
                self._loop.wake(task, turn)


class Future(Generic[T]):
    """A value, or an error, that arrives once."""

    __slots__ = ("_error", "_value", "_waiters", "done")

    def __init__(self, loop: Loop) -> None:
        self.done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._waiters = Waiters(loop)

    def park(self, task: Task) -> None:
        self._waiters.park(task)

    def resolve(self, value: T) -> None:
        """Set the value. The first of `resolve` and `fail` counts; later ones are ignored (a late reply)."""
        if not self.done:
            self.done, self._value = True, value
            self._waiters.wake()

    def fail(self, error: BaseException) -> None:
        if not self.done:
            self.done, self._error = True, error
            self._waiters.wake()

    async def wait(self, timeout_ms: int | None = None) -> T:
        """The value; raises the error, or TimeoutError when `timeout_ms` passed first."""
        loop = self._waiters._loop
        deadline = None if timeout_ms is None else loop.clock.now_ms + timeout_ms
        while not self.done:
            if deadline is None:
                await pause(self)
            elif loop.clock.now_ms >= deadline:
                raise TimeoutError(f"no answer within {timeout_ms} ms")
            else:
                await pause(Wait((self,), deadline - loop.clock.now_ms))
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]


class Mailbox(Generic[T]):
    """A FIFO of items, unbounded. `get` is a step boundary even when something is there."""

    __slots__ = ("_waiters", "closed", "items")

    def __init__(self, loop: Loop) -> None:
        self.items: deque[T] = deque()
        self.closed: BaseException | None = None
        self._waiters = Waiters(loop)

    def park(self, task: Task) -> None:
        self._waiters.park(task)

    def put(self, item: T) -> None:
        self.items.append(item)
        self._waiters.wake()

    def close(self, error: BaseException) -> None:
        """No more items: `get` raises `error` once those already here were taken."""
        self.closed = error
        self._waiters.wake()

    async def get(self) -> T:
        if self.items:
            await pause()
        while not self.items:
            if self.closed is not None:
                raise self.closed
            await pause(self)
        return self.items.popleft()


_loops: weakref.WeakSet[Loop] = weakref.WeakSet()


@atexit.register
def _close_what_never_began() -> None:
    """At the end of the process: tasks that wait for their first step are closed, without a warning each."""
    for loop in list(_loops):
        for task in list(loop.tasks.values()):
            if task.turn == 0:
                task.close()


def check_seed(seed: Any) -> None:
    """TypeError or ValueError for what seeds no random streams."""
    if isinstance(seed, bool) or not isinstance(seed, int | str):
        raise TypeError(f"seed: {seed!r}: expected a number or a text")
    if isinstance(seed, str) and any("\ud800" <= character <= "\udfff" for character in seed):
        raise ValueError(f"seed: {seed!r}: expected text that UTF-8 can hold")


class _Timer(NamedTuple):
    due_ms: int
    seq: int
    task: Task | None
    turn: int
    periodic: bool
    call: Callable[[], None] | None


class Loop:
    """Runs tasks on a virtual clock, deterministically.

    `seed` seeds every random stream (`stream(name)`). `order` decides who goes next (FIFO by default).
    `livelock_actions`: so many actions in one instant are a livelock (None: 1,000 for every task).
    """

    def __init__(
        self,
        seed: int | str = 0,
        *,
        order: Order | None = None,
        trace: Trace | None = None,
        livelock_actions: int | None = None,
    ) -> None:
        if order is not None and not callable(getattr(order, "pick", None)):
            raise TypeError(f"order {order!r}: expected an Order such as Shuffle(random.Random(1))")
        check_seed(seed)
        _loops.add(self)
        self.seed = seed
        self.clock = trace.clock if trace is not None else Clock()
        self.trace = trace if trace is not None else Trace(self.clock)
        self.order: Order = order if order is not None else Fifo()
        self.actions = 0
        self.is_closed = False
        self.tasks: dict[int, Task] = {}
        self.current: Task | None = None  # the task whose step this is
        self.changed = False  # a revision was committed during this action: `run(until=)` looks then
        self._ready: list[Task] = []
        self._timers: list[_Timer] = []
        self._counter = 0
        self._lasting = 0  # outstanding timers that are not periodic
        self._stale = 0  # timers in the heap whose task has moved on
        self._streams: dict[str, random.Random] = {}
        self._livelock_actions = livelock_actions
        self._suspicious = 100_000 if livelock_actions is None else livelock_actions  # fewer are no livelock anyhow
        self._instant_actions = 0
        self._most_tasks = 0  # at once, in this instant: those that ended in it had their actions too
        self._recent: deque[str] = deque(maxlen=20)

    # -- randomness --------------------------------------------------------------------------------

    def stream(self, name: str) -> random.Random:
        """The random stream called `name`: the same object every time, seeded by `seed/name`."""
        found = self._streams.get(name)
        if found is None:
            found = self._streams[name] = random.Random(f"{self.seed}/{name}")
        return found

    # -- tasks -------------------------------------------------------------------------------------

    def spawn(self, name: str, work: Work, *, delay_ms: int = 0) -> Task:
        """Start a task; its first step comes after `delay_ms`. It inherits the current cause.

        `work`: a coroutine, or a function that makes it then.
        """
        task = Task(self, name, work, self.trace.current)
        self.tasks[id(task)] = task
        self._most_tasks = max(self._most_tasks, len(self.tasks))
        if delay_ms > 0:
            self._set_timer(delay_ms, task, periodic=False)
        else:
            self.wake(task, 0)
        return task

    def wake(self, task: Task, turn: int) -> None:
        """Make `task` ready, unless it has taken a step since `turn`."""
        if not task.queued and not task.done and task.turn == turn:
            task.queued = True
            self._ready.append(task)

    def call_later(self, delay_ms: int, call: Callable[[], None], *, periodic: bool = False) -> None:
        """Run `call` when `delay_ms` have passed. It is not an action: it may only move data and wake tasks."""
        self._lasting += not periodic
        self._push(delay_ms, None, 0, periodic, call)

    def cancel(self, task: Task) -> None:
        """End `task` at the `await` it is in. Its `finally` blocks run and must not await."""
        if not task.done:
            self._finish(task)
            task.close()
            task.on_done.wake()

    @property
    def ready(self) -> list[Task]:
        """The tasks that could take the next step, in the order they became ready."""
        return [task for task in self._ready if not task.done]

    @property
    def idle(self) -> bool:
        """Nothing is ready, and only periodic timers are left."""
        return self._lasting == 0 and not self.ready

    # -- running -----------------------------------------------------------------------------------

    def step(self) -> bool:
        """One action: one step of one task, moving the clock first if nobody is ready. False: nothing left."""
        while (task := self._pick()) is None:
            due = self._due()
            if due is None:
                task = self._release()
                if task is None:
                    return False
                break
            self._advance(due)
        self._run(task)
        return True

    def run(
        self,
        *,
        until: Callable[[], bool] | None = None,
        for_ms: int | None = None,
        until_idle: bool = False,
        max_actions: int | None = None,
    ) -> bool:
        """Run until `until()` holds, `for_ms` have passed, or the loop is idle (`until_idle`).

        `until` is evaluated at the start, after every action that committed a revision, and before the clock
        advances. Returns whether `until()` came true (without `until`: True unless `max_actions` ran out).
        With `for_ms` the clock stands at the end of that span afterwards, unless `until` came true before.

        TypeError, ValueError: `until` is no function, `for_ms` no whole number of milliseconds.
        """
        if until is not None and not callable(until):
            raise TypeError(f"until: {until!r}: expected a function without arguments")
        if for_ms is not None:
            milliseconds("for_ms", for_ms)
        with rare_collections():
            return self._run_until(until, for_ms, until_idle, max_actions)

    def _run_until(
        self, until: Callable[[], bool] | None, for_ms: int | None, until_idle: bool, max_actions: int | None
    ) -> bool:
        end = None if for_ms is None else self.clock.now_ms + for_ms
        last = None if max_actions is None else self.actions + max_actions
        if until is not None and until():
            return True
        while last is None or self.actions < last:
            task = self._pick()
            if task is None:
                if until is not None and until():
                    return True
                due = self._due()
                if due is None:
                    task = self._release()
                if task is None:
                    if due is None or (end is not None and due > end) or (until_idle and self.idle):
                        break
                    self._advance(due)
                    continue
            self.changed = False
            self._run(task)
            if self.changed and until is not None and until():
                return True
        else:
            return False
        if end is not None and not (until_idle and self.idle):
            self.clock.now_ms = max(self.clock.now_ms, end)
        return until is None

    def close(self) -> None:
        """Cancel every task: nothing is left running when a simulation is thrown away."""
        self.is_closed = True
        for task in list(self.tasks.values()):
            self.cancel(task)
        self._timers.clear()
        self._ready.clear()
        self._lasting = self._stale = 0

    # -- timers ------------------------------------------------------------------------------------

    def _set_timer(self, delay_ms: int, task: Task, *, periodic: bool) -> None:
        task.timer = _PERIODIC if periodic else _LASTING
        self._lasting += not periodic
        self._push(delay_ms, task, task.turn, periodic, None)

    def _push(
        self, delay_ms: int, task: Task | None, turn: int, periodic: bool, call: Callable[[], None] | None
    ) -> None:
        self._counter += 1
        heapq.heappush(
            self._timers, _Timer(self.clock.now_ms + max(0, delay_ms), self._counter, task, turn, periodic, call)
        )

    def _drop_timer(self, task: Task) -> None:
        """The task moved on before its timer: what is in the heap is stale now."""
        self._lasting -= task.timer == _LASTING
        task.timer = _NO_TIMER
        self._stale += 1
        if self._stale > 1_000 and self._stale * 2 > len(self._timers):
            self._timers = [timer for timer in self._timers if not self._is_stale(timer)]
            heapq.heapify(self._timers)
            self._stale = 0

    @staticmethod
    def _is_stale(timer: _Timer) -> bool:
        task = timer.task
        return task is not None and (task.done or task.turn != timer.turn)

    def _due(self) -> int | None:
        while self._timers and self._is_stale(self._timers[0]):
            heapq.heappop(self._timers)
            self._stale -= 1
        return self._timers[0].due_ms if self._timers else None

    def _advance(self, due_ms: int) -> None:
        if due_ms > self.clock.now_ms:
            self.clock.now_ms = due_ms
            self._instant_actions, self._most_tasks = 0, len(self.tasks)
        while self._timers and self._timers[0].due_ms <= due_ms:
            timer = heapq.heappop(self._timers)
            if timer.call is not None:
                self._lasting -= not timer.periodic
                timer.call()
            elif self._is_stale(timer):
                self._stale -= 1
            elif timer.task is not None:
                self._lasting -= not timer.periodic
                timer.task.timer = _NO_TIMER
                self.wake(timer.task, timer.turn)

    # -- tasks, inside -----------------------------------------------------------------------------

    def _pick(self) -> Task | None:
        """The ready task whose turn it is; None when nobody is ready, or all who are are held back."""
        while self._ready:
            index = self.order.pick(self._ready, self.actions + 1)
            if index is None:
                return None
            task = self._ready.pop(index)
            task.queued = False
            if not task.done:
                return task
        return None

    def _release(self) -> Task | None:
        """Nothing else will ever happen: a hold gives way to the task that waits longest."""
        while self._ready:
            task = self._ready.pop(0)
            task.queued = False
            if not task.done:
                return task
        return None

    def _run(self, task: Task) -> None:
        trace = self.trace
        self.actions += 1
        trace.action = self.actions
        self._instant_actions += 1
        if self._instant_actions > self._suspicious:
            self._guard(task)
        if task.timer:
            self._drop_timer(task)
        task.turn += 1
        trace.current = task.cause
        self.current = task
        try:
            waiting = task.step()
        except StopIteration as stop:
            task.result = stop.value
            task.cause = trace.current
            self._finish(task)
            task.on_done.wake()
        except BaseException as error:
            task.error = error
            self._finish(task)
            error.add_note(f"in task {task.name} at {self.clock.now_ms} ms, action {self.actions}")
            raise
        else:
            task.cause = trace.current
            task.waiting = waiting
            if not task.done:  # it may have killed its own component
                self._park(task, waiting)
        finally:
            trace.current = None
            self.current = None

    def _park(self, task: Task, waiting: Pause) -> None:
        if waiting is None:
            self.wake(task, task.turn)
        elif isinstance(waiting, Wait):
            for thing in waiting.on:
                thing.park(task)
            if waiting.ms is not None:
                self._set_timer(waiting.ms, task, periodic=waiting.periodic)
        else:
            waiting.park(task)

    def _finish(self, task: Task) -> None:
        task.done = True
        if task.timer:
            self._drop_timer(task)
        self.tasks.pop(id(task), None)

    def _guard(self, task: Task) -> None:
        limit = self._livelock_actions
        if limit is None:
            limit = 1_000 * (self._most_tasks + 100)
        if self._instant_actions > limit:
            self._recent.append(task.name)
            if self._instant_actions >= limit + 20:
                raise LivelockError(self.clock.now_ms, dict.fromkeys(self._recent))
