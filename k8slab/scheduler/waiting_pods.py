"""Pods that Permit plugins told to wait, with one deadline per plugin.

Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from k8slab.api.objects import Object
from k8slab.scheduler.framework import SUCCESS, Code, Status
from k8slab.scheduler.go_duration import format_duration
from k8slab.sim.loop import Future, Loop

__all__ = ["WaitingPod"]


class WaitingPod:
    """Waits until every plugin in `timeouts` (plugin -> ms) has allowed it, one rejects it, or one times out."""

    def __init__(self, loop: Loop, pod: Object, timeouts: Mapping[str, int]) -> None:
        self.pod = pod
        self._pending = dict.fromkeys(timeouts)
        self._verdict: Future[Status] = Future(loop)
        for plugin, timeout_ms in timeouts.items():
            waited = format_duration(timeout_ms * 1_000_000)
            text = f"rejected due to timeout after waiting {waited} at plugin {plugin}"
            loop.call_later(timeout_ms, partial(self._timed_out, plugin, text))

    @property
    def pending_plugins(self) -> list[str]:
        """Who has not allowed it yet."""
        return list(self._pending)

    def allow(self, plugin: str) -> None:
        """`plugin` lets the Pod go. The last one to do so ends the wait."""
        self._pending.pop(plugin, None)
        if not self._pending:
            self._verdict.resolve(SUCCESS)

    def reject(self, plugin: str, message: str) -> None:
        """End the wait: the Pod is unschedulable for now."""
        self._verdict.resolve(Status(Code.UNSCHEDULABLE, message, plugin=plugin))

    def _timed_out(self, plugin: str, text: str) -> None:
        if plugin in self._pending:
            self.reject(plugin, text)

    async def wait(self) -> Status:
        """SUCCESS, or the rejection."""
        return await self._verdict.wait()
