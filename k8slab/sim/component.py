"""A component owns its tasks: killing it ends them, and closes what they had open.

Upstream: none (a process). Task names are `component/instance/role`, so kill, restart, partition and lanes match
by prefix.
"""

from __future__ import annotations

from collections.abc import Callable

from k8slab.sim.loop import Loop, Task, Work

__all__ = ["Component"]


class Component:
    """A named group of tasks with a common life, such as `kubelet/node-1` or `kcm`."""

    def __init__(self, loop: Loop, name: str) -> None:
        self.loop = loop
        self.name = name
        self.alive = True
        self._tasks: dict[int, Task] = {}
        self._sweep_at = 64  # forget the tasks that are done when there are more; grows with those that live
        self._closers: list[Callable[[], None]] = []

    def spawn(self, role: str, work: Work, *, delay_ms: int = 0) -> Task:
        """Start a task `name/role`, as of `Loop`. On a dead component a coroutine is closed and RuntimeError raised."""
        if not self.alive:
            if not callable(work):
                work.close()
            raise RuntimeError(f"component {self.name} is dead: it cannot start {role!r}")
        if len(self._tasks) > self._sweep_at:
            self._tasks = {key: task for key, task in self._tasks.items() if not task.done}
            self._sweep_at = 64 + 2 * len(self._tasks)
        task = self.loop.spawn(f"{self.name}/{role}", work, delay_ms=delay_ms)
        self._tasks[id(task)] = task
        return task

    def on_close(self, close: Callable[[], None]) -> None:
        """Call `close` when the component is killed (streams it has open, registrations)."""
        self._closers.append(close)

    def kill(self) -> None:
        """End every task where it stands and close what was open. Requests already sent still reach the server."""
        if not self.alive:
            return
        self.alive = False
        for task in list(self._tasks.values()):
            self.loop.cancel(task)
        self._tasks.clear()
        for close in self._closers:
            close()
        self._closers.clear()
