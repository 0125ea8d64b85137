"""Virtual milliseconds to the times in API objects, and back.

Upstream: apimachinery/pkg/apis/meta/v1/time.go (whole seconds), micro_time.go (microseconds)
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

__all__ = ["EPOCH", "micro_time", "parse_time", "rfc3339"]

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The moment called 0 ms on the virtual clock."""


def rfc3339(now_ms: int) -> str:
    """`metav1.Time`: whole seconds, cut off, as `2026-01-01T00:00:07Z`."""
    return _second(now_ms // 1000)


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    """Many objects are written in one second: they share its text."""
    return (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(now_ms: int) -> str:
    """`metav1.MicroTime`: six digits after the point."""
    return (EPOCH + timedelta(milliseconds=now_ms)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@lru_cache(maxsize=256)
def parse_time(text: str) -> int:
    """Virtual milliseconds of an RFC 3339 time; ValueError names the text."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"time {text!r}: expected RFC 3339, such as 2026-01-01T00:00:07Z") from None
    if when.tzinfo is None:
        raise ValueError(f"time {text!r}: expected a time zone, such as Z or +02:00")
    return (when - EPOCH) // timedelta(milliseconds=1)
