"""Work that is to be done at a time, and may be cancelled until then.

Upstream: pkg/controller/tainteviction/timed_workers.go
Simplified: no timers here; the caller asks `due` when it believes the time has come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["TimedWorker", "TimedWorkerQueue"]


@dataclass(frozen=True, slots=True)
class TimedWorker:
    created_ms: int
    fire_ms: int


class TimedWorkerQueue:
    """At most one piece of work a key: waiting for its time, or running (then it can't be cancelled any more)."""

    def __init__(self) -> None:
        self._waiting: dict[str, TimedWorker] = {}
        self._running: dict[str, None] = {}

    def add_work(self, key: str, created_ms: int, fire_ms: int) -> bool:
        """False, and nothing happens, when there is work for the key already."""
        if key in self._waiting or key in self._running:
            return False
        self._waiting[key] = TimedWorker(created_ms, fire_ms)
        return True

    def cancel_work(self, key: str) -> bool:
        """Whether work was waiting and will not be done now. Running work goes on, and new work may be added."""
        self._running.pop(key, None)
        return self._waiting.pop(key, None) is not None

    def get(self, key: str) -> TimedWorker | None:
        """The work that waits for its time."""
        return self._waiting.get(key)

    def due(self, key: str, now_ms: int) -> int | None:
        """None: nothing waits. Positive: milliseconds until its time. 0: it is running from now on."""
        worker = self._waiting.get(key)
        if worker is None:
            return None
        if worker.fire_ms > now_ms:
            return worker.fire_ms - now_ms
        del self._waiting[key]
        self._running[key] = None
        return 0

    def finished(self, key: str) -> None:
        self._running.pop(key, None)

    def view(self) -> dict[str, Any]:
        """Keys with the time of their work; None while it runs."""
        return {key: worker.fire_ms for key, worker in self._waiting.items()} | dict.fromkeys(self._running)

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        both = [key for key in self._waiting if key in self._running]
        assert not both, f"work for {both} waits and runs"
        for key, worker in self._waiting.items():
            assert worker.fire_ms >= worker.created_ms, f"work for {key} was due before it was created"
