"""Automatic compaction, as decisions: which revision to compact at, if any.

>>> hourly = PeriodicCompactor(3_600_000, revision=1)
>>> [hourly.tick(minute * 60_000, revision=100 + minute) for minute in range(6, 61, 6)]
[None, None, None, None, None, None, None, None, None, 1]

etcd is started without: the API server compacts every five minutes instead.

Upstream: etcd server/etcdserver/api/v3compactor/{compactor,periodic,revision}.go
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

__all__ = ["Compactor", "PeriodicCompactor", "RevisionCompactor"]

HOUR_MS = 3_600_000
RETRY_DIVISOR = 10
REVISION_INTERVAL_MS = 300_000


class Compactor(Protocol):
    """Ask it every `interval_ms`; tell it when a compaction that it wanted was done (or had been done before)."""

    interval_ms: int
    next_tick_ms: int

    def tick(self, now_ms: int, revision: int, *, paused: bool = False) -> int | None:
        """The revision to compact at, None for nothing. `paused`: on a member that does not lead."""

    def compacted(self, now_ms: int, revision: int) -> None:
        """The compaction at `revision` succeeded."""


class PeriodicCompactor:
    """`--auto-compaction-mode=periodic`: keep the history of `retention_ms`.

    Revisions are noted ten times in that time, or in an hour if it is longer; the oldest noted one is compacted at,
    first after `retention_ms`, then every `retention_ms` or hour. One that fails is tried again after a tenth.
    """

    def __init__(self, retention_ms: int, *, now_ms: int = 0, revision: int = 1) -> None:
        if not isinstance(retention_ms, int) or retention_ms < RETRY_DIVISOR:
            raise ValueError(f"retention_ms is {retention_ms!r}, expected at least {RETRY_DIVISOR}")
        self.retention_ms = retention_ms
        self.interval_ms = min(retention_ms, HOUR_MS) // RETRY_DIVISOR
        self.next_tick_ms = now_ms + self.interval_ms
        self._revisions = deque([revision], maxlen=retention_ms // self.interval_ms + 1)
        self._last_success_ms = now_ms
        self._wait_ms = retention_ms

    def tick(self, now_ms: int, revision: int, *, paused: bool = False) -> int | None:
        if now_ms < self.next_tick_ms:
            return None
        self.next_tick_ms = now_ms + self.interval_ms
        due = None
        if not paused and now_ms - self._last_success_ms >= self._wait_ms:
            self._wait_ms = min(self.retention_ms, HOUR_MS)
            due = self._revisions[0]
        self._revisions.append(revision)
        return due

    def compacted(self, now_ms: int, revision: int) -> None:
        self._last_success_ms = now_ms


class RevisionCompactor:
    """`--auto-compaction-mode=revision`: keep the last `retention` revisions; looks every five minutes."""

    def __init__(self, retention: int, *, now_ms: int = 0) -> None:
        if not isinstance(retention, int) or retention < 1:
            raise ValueError(f"retention is {retention!r}, expected at least 1 revision")
        self.retention = retention
        self.interval_ms = REVISION_INTERVAL_MS
        self.next_tick_ms = now_ms + self.interval_ms
        self._previous = 0

    def tick(self, now_ms: int, revision: int, *, paused: bool = False) -> int | None:
        if now_ms < self.next_tick_ms:
            return None
        self.next_tick_ms = now_ms + self.interval_ms
        due = revision - self.retention
        return None if paused or due <= 0 or due == self._previous else due

    def compacted(self, now_ms: int, revision: int) -> None:
        self._previous = revision
