"""How long a failed key waits before its next try.

Upstream: staging/src/k8s.io/client-go/util/workqueue/default_rate_limiters.go
Simplified: durations are milliseconds (upstream: nanoseconds).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from k8slab.client.workqueue.rate import Limiter

__all__ = [
    "BucketRateLimiter",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "MaxOfRateLimiter",
    "RateLimiter",
    "WithMaxWaitRateLimiter",
    "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
]


class RateLimiter(Protocol):
    """Decides the delay of a key's next try, and remembers its failures until it is forgotten."""

    def when(self, key: Any) -> int:
        """Milliseconds until `key` should be tried again. Counts as a failure of it."""

    def forget(self, key: Any) -> None:
        """`key` succeeded, or will not be tried again: forget its failures."""

    def num_requeues(self, key: Any) -> int:
        """How many failures `key` has had."""


class ItemExponentialFailureRateLimiter:
    """`base_delay_ms` times two to the number of failures, at most `max_delay_ms`."""

    def __init__(self, base_delay_ms: float, max_delay_ms: float) -> None:
        self.base_delay_ms = base_delay_ms
        self.max_delay_ms = max_delay_ms
        self.failures: dict[Any, int] = {}

    def when(self, key: Any) -> int:
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        # Past 2**63 nanoseconds upstream's Duration would overflow; there it takes the maximum too.
        delay_ms = self.base_delay_ms * 2.0 ** min(failures, 1000)
        return int(min(delay_ms, self.max_delay_ms))

    def forget(self, key: Any) -> None:
        self.failures.pop(key, None)

    def num_requeues(self, key: Any) -> int:
        return self.failures.get(key, 0)


class ItemFastSlowRateLimiter:
    """`fast_delay_ms` for the first `max_fast_attempts` failures, `slow_delay_ms` from then on."""

    def __init__(self, fast_delay_ms: int, slow_delay_ms: int, max_fast_attempts: int) -> None:
        self.fast_delay_ms = fast_delay_ms
        self.slow_delay_ms = slow_delay_ms
        self.max_fast_attempts = max_fast_attempts
        self.failures: dict[Any, int] = {}

    def when(self, key: Any) -> int:
        failures = self.failures[key] = self.failures.get(key, 0) + 1
        return self.fast_delay_ms if failures <= self.max_fast_attempts else self.slow_delay_ms

    def forget(self, key: Any) -> None:
        self.failures.pop(key, None)

    def num_requeues(self, key: Any) -> int:
        return self.failures.get(key, 0)


class BucketRateLimiter:
    """One token bucket for all keys: bounds the rate of retries of the whole queue. `now_ms` reads the clock."""

    def __init__(self, limiter: Limiter, now_ms: Callable[[], int]) -> None:
        self.limiter = limiter
        self.now_ms = now_ms

    def when(self, key: Any) -> int:
        return math.ceil(self.limiter.reserve(self.now_ms() * 1_000_000) / 1_000_000)

    def forget(self, key: Any) -> None:
        """A bucket knows no keys."""

    def num_requeues(self, key: Any) -> int:
        return 0


class MaxOfRateLimiter:
    """Asks every limiter and takes the longest delay; each of them counts the failure."""

    def __init__(self, *limiters: RateLimiter) -> None:
        self.limiters = limiters

    def when(self, key: Any) -> int:
        return max((limiter.when(key) for limiter in self.limiters), default=0)

    def forget(self, key: Any) -> None:
        for limiter in self.limiters:
            limiter.forget(key)

    def num_requeues(self, key: Any) -> int:
        return max((limiter.num_requeues(key) for limiter in self.limiters), default=0)


class WithMaxWaitRateLimiter:
    """Another limiter's delay, cut off at `max_delay_ms`."""

    def __init__(self, limiter: RateLimiter, max_delay_ms: int) -> None:
        self.limiter = limiter
        self.max_delay_ms = max_delay_ms

    def when(self, key: Any) -> int:
        return min(self.limiter.when(key), self.max_delay_ms)

    def forget(self, key: Any) -> None:
        self.limiter.forget(key)

    def num_requeues(self, key: Any) -> int:
        return self.limiter.num_requeues(key)


def default_controller_rate_limiter(now_ms: Callable[[], int]) -> MaxOfRateLimiter:
    """5 ms doubled with every failure of a key up to 1,000 s, and at most 10 retries a second (burst 100) of all
    keys together, whichever is later."""
    return MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(5, 1_000_000), BucketRateLimiter(Limiter(10, 100), now_ms)
    )


def default_item_based_rate_limiter() -> ItemExponentialFailureRateLimiter:
    """1 ms doubled with every failure of a key, up to 1,000 s."""
    return ItemExponentialFailureRateLimiter(1, 1_000_000)
