"""A Pod in the scheduling queue, and the heap that orders such Pods.

Upstream: pkg/scheduler/framework/types.go (QueuedPodInfo), pkg/scheduler/backend/heap/heap.go
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.pods import pod_priority
from k8slab.scheduler.framework import pod_key, uid_of

__all__ = ["PodHeap", "QueuedPodInfo"]


class QueuedPodInfo:
    """A Pod in the queue, with its history. Times are virtual ms."""

    __slots__ = (
        "attempted_ms",
        "attempts",
        "backoff_expiration_ms",
        "cause",
        "consecutive_errors",
        "gating_plugin",
        "initial_attempt_ms",
        "key",
        "pending_plugins",
        "pod",
        "priority",
        "seq",
        "timestamp_ms",
        "uid",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, pod: Object, now_ms: int, seq: int) -> None:
        self.timestamp_ms = now_ms
        self.initial_attempt_ms: int | None = None
        self.attempts = 0
        self.attempted_ms = now_ms  # when the last attempt began; kept by the scheduler
        self.unschedulable_count = 0
        self.consecutive_errors = 0
        self.backoff_expiration_ms: int | None = None
        self.gating_plugin = ""
        self.was_flushed = False  # brought back by the timeout, not by an event
        self.unschedulable_plugins: dict[str, None] = {}
        self.pending_plugins: dict[str, None] = {}
        self.cause: int | None = None  # the trace event that put it where it is; kept by whoever owns the queue
        self.seq = seq
        self.update(pod)

    def update(self, pod: Object) -> None:
        """Another state of the same Pod."""
        self.pod = pod
        self.key = pod_key(pod)
        self.uid = uid_of(pod)
        self.priority = pod_priority(pod)

    @property
    def rejected_by(self) -> dict[str, None]:
        """Plugins whose events may bring the Pod back; empty after an error."""
        return {**self.unschedulable_plugins, **self.pending_plugins}

    def __repr__(self) -> str:
        return f"QueuedPodInfo({self.key}, attempts={self.attempts})"


class PodHeap:
    """Pods by a sort key, with removal by name: a heap of (key, number, name) whose stale entries are skipped."""

    def __init__(self, key: Callable[[QueuedPodInfo], Any]) -> None:
        self._key = key
        self._entries: list[tuple[Any, int, str]] = []
        self._members: dict[str, tuple[QueuedPodInfo, int]] = {}
        self._count = 0

    def push(self, info: QueuedPodInfo) -> None:
        self._count += 1
        self._members[info.key] = (info, self._count)
        heapq.heappush(self._entries, (self._key(info), self._count, info.key))

    def rebuild(self) -> None:
        """The same Pods, each by its key as it is now."""
        members = [info for info, _ in self._members.values()]
        self._entries, self._members = [], {}
        for info in members:
            self.push(info)

    def peek(self) -> QueuedPodInfo | None:
        while self._entries:
            _, count, name = self._entries[0]
            member = self._members.get(name)
            if member is not None and member[1] == count:
                return member[0]
            heapq.heappop(self._entries)
        return None

    def pop(self) -> QueuedPodInfo | None:
        info = self.peek()
        if info is not None:
            heapq.heappop(self._entries)
            del self._members[info.key]
        return info

    def get(self, key: str) -> QueuedPodInfo | None:
        member = self._members.get(key)
        return member[0] if member is not None else None

    def remove(self, key: str) -> QueuedPodInfo | None:
        member = self._members.pop(key, None)
        return member[0] if member is not None else None

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def infos(self) -> list[QueuedPodInfo]:
        """All members, in the order they would be popped."""
        return [
            self._members[name][0]
            for _, count, name in sorted(self._entries)
            if name in self._members and self._members[name][1] == count
        ]
