"""The token bucket.

A bucket holds up to `burst` tokens and gains `limit` a second. A reservation takes a token at once, even one that
is not there yet, and says how long to wait for it; `allow` takes one only if it is there.

Upstream: golang.org/x/time/rate (Limiter.ReserveN, AllowN)
Simplified: reservations are of one token and cannot be cancelled; an unlimited rate is `math.inf`.
"""

from __future__ import annotations

import math

__all__ = ["INF_DURATION", "Limiter"]

INF_DURATION = 2**63 - 1
"""Nanoseconds: never (the largest time.Duration)."""


class Limiter:
    """`limit`: tokens a second; `burst`: the bucket's size. Times are nanoseconds; they may not decrease."""

    def __init__(self, limit: float, burst: int) -> None:
        self.limit = float(limit)
        self.burst = burst
        self.tokens = float(burst)
        self.last_ns: int | None = None

    def reserve(self, now_ns: int) -> int:
        """Take a token, now or in advance: nanoseconds to wait for it. `INF_DURATION`: it will never come."""
        wait = self._take(now_ns, INF_DURATION)
        return INF_DURATION if wait is None else wait

    def allow(self, now_ns: int) -> bool:
        """Take a token if there is one."""
        return self._take(now_ns, 0) is not None

    def _take(self, now_ns: int, max_wait_ns: int) -> int | None:
        if self.limit == math.inf:
            return 0
        tokens = self._advance(now_ns) - 1.0
        wait = self._duration(-tokens) if tokens < 0 else 0
        if self.burst < 1 or wait > max_wait_ns:
            return None
        self.last_ns, self.tokens = now_ns, tokens
        return wait

    def _advance(self, now_ns: int) -> float:
        """The tokens there are at `now_ns`. A clock that ran backwards adds none."""
        last = self.last_ns
        if last is None or self.limit <= 0:
            return self.tokens
        seconds, rest = divmod(max(0, now_ns - last), 1_000_000_000)
        return min(self.tokens + (seconds + rest / 1e9) * self.limit, float(self.burst))

    def _duration(self, tokens: float) -> int:
        if self.limit <= 0:
            return INF_DURATION
        return min(int(tokens / self.limit * 1e9), INF_DURATION)
