"""How long a group whose scale-up failed is left alone: 5 minutes, then twice as long each time, at most 30.

>>> backoff = ExponentialBackoff(300_000, 1_800_000, 10_800_000)
>>> backoff.back_off("pool", "OutOfResource", 0), backoff.is_backed_off("pool", 300_000)
(300000, True)
>>> backoff.is_backed_off("pool", 300_001), backoff.back_off("pool", "OutOfResource", 400_000)
(False, 1000000)

Upstream: cluster-autoscaler/utils/backoff/exponential_backoff.go
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ExponentialBackoff"]


@dataclass(slots=True)
class _Info:
    duration_ms: int
    until_ms: int
    failed_ms: int
    error: object


class ExponentialBackoff:
    """`initial_ms`, `max_ms`: the first and the longest pause; after `reset_ms` without a failure all is forgotten."""

    def __init__(self, initial_ms: int, max_ms: int, reset_ms: int) -> None:
        self._initial_ms, self._max_ms, self._reset_ms = initial_ms, max_ms, reset_ms
        self._infos: dict[str, _Info] = {}

    def back_off(self, group: str, error: object, now_ms: int) -> int:
        """A scale-up of the group failed; returns until when it pauses.

        Failures during a pause begin it anew, and do not make it longer.
        """
        info = self._infos.get(group)
        duration = self._initial_ms
        if info is not None:
            duration = info.duration_ms
            if info.until_ms < now_ms:
                duration = min(2 * duration, self._max_ms)
        self._infos[group] = _Info(duration, now_ms + duration, now_ms, error)
        return now_ms + duration

    def is_backed_off(self, group: str, now_ms: int) -> bool:
        info = self._infos.get(group)
        return info is not None and info.until_ms >= now_ms

    def error(self, group: str, now_ms: int) -> object | None:
        """Why it pauses; None when it does not."""
        return self._infos[group].error if self.is_backed_off(group, now_ms) else None

    def until_ms(self, group: str) -> int | None:
        """The end of the last pause."""
        info = self._infos.get(group)
        return None if info is None else info.until_ms

    def remove(self, group: str) -> None:
        self._infos.pop(group, None)

    def remove_stale(self, now_ms: int) -> None:
        """Forget groups that have not failed for long."""
        self._infos = {name: info for name, info in self._infos.items() if info.failed_ms + self._reset_ms >= now_ms}
