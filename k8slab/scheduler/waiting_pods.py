"""Pods that Permit plugins told to wait, with one deadline per plugin.

    waiting ── every plugin allows ──> goes on to PreBind
       ├─ one plugin, or the scheduler, rejects ──> unwound
       └─ a deadline passes ──> unwound

The first of these counts. The verdict is known at once to whoever asks (`is_rejected`), while the task that waits
hears of it in a later action: who counts members of a gang must not count one that is on its way out.

Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go
Simplified: no `Preempt` beside `Reject`: a preempted Pod is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from k8slab.api.go_duration import format_duration_ms
from k8slab.api.objects import Object
from k8slab.scheduler.framework import SUCCESS, Code, Status
from k8slab.sim.loop import Loop, Wait, Waiters, pause

__all__ = ["WaitingPod"]


class _Deadline(NamedTuple):
    at_ms: int
    timeout_ms: int


class WaitingPod:
    """Waits until every plugin in `timeouts` (plugin -> ms) has allowed it, one rejects it, or one times out."""

    def __init__(self, loop: Loop, pod: Object, timeouts: Mapping[str, int]) -> None:
        self.pod = pod
        self.since_ms = loop.clock.now_ms
        self._clock = loop.clock
        self._pending = {name: _Deadline(self.since_ms + timeout, timeout) for name, timeout in timeouts.items()}
        self._verdict: Status | None = None
        self._decided = Waiters(loop)

    @property
    def pending_plugins(self) -> list[str]:
        """Who has not allowed it yet."""
        return list(self._pending)

    @property
    def is_rejected(self) -> bool:
        """Whether it will be unwound, although it may not have heard of it yet."""
        self._expire()
        return self._verdict is not None and not self._verdict.is_success

    def allow(self, plugin: str) -> None:
        """`plugin` lets the Pod go. The last one to do so ends the wait."""
        self._expire()
        self._pending.pop(plugin, None)
        if not self._pending:
            self._decide(SUCCESS)

    def reject(self, plugin: str, message: str) -> bool:
        """End the wait: the Pod is unschedulable for now. False: its wait was over before."""
        self._expire()
        return self._decide(Status(Code.UNSCHEDULABLE, message, plugin=plugin))

    async def wait(self) -> Status:
        """SUCCESS, or the rejection."""
        while True:
            self._expire()
            if self._verdict is not None:
                return self._verdict
            first = min(deadline.at_ms for deadline in self._pending.values())
            await pause(Wait((self._decided,), first - self._clock.now_ms))

    def _expire(self) -> None:
        """Reject it if a deadline has passed. The deadline is kept to the millisecond, whoever runs first then."""
        for plugin, deadline in self._pending.items():
            if deadline.at_ms <= self._clock.now_ms:
                waited = format_duration_ms(deadline.timeout_ms)
                text = f"rejected due to timeout after waiting {waited} at plugin {plugin}"
                self._decide(Status(Code.UNSCHEDULABLE, text, plugin=plugin))
                return

    def _decide(self, verdict: Status) -> bool:
        if self._verdict is not None:
            return False
        self._verdict = verdict
        self._decided.wake()
        return True
