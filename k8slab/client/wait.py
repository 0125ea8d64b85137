"""Backoff: how long to wait before the next try.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/wait/backoff.go (Backoff.Step, DelayWithReset)
Simplified: durations are milliseconds, as exact as upstream's nanoseconds.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from k8slab.sim.clock import Clock

__all__ = ["Backoff", "BackoffManager"]


@dataclass(slots=True)
class Backoff:
    """`duration_ms` is multiplied by `factor` with every step, until `steps` are used up or `cap_ms` is reached
    (0: no cap); reaching the cap uses up the steps. `jitter`: every wait is lengthened by up to this share of it.
    """

    duration_ms: float
    factor: float = 0.0
    jitter: float = 0.0
    steps: int = 0
    cap_ms: float = 0

    def step(self, rng: random.Random | None = None) -> float:
        """Milliseconds to wait now; moves on to the next duration. `rng` is needed only with jitter."""
        duration = self.duration_ms
        if self.steps >= 1:
            self.steps -= 1
            if self.factor != 0:
                nanoseconds = int(round(duration * 1e6) * self.factor)  # cut off, as a time.Duration is
                self.duration_ms = nanoseconds / 1e6
                if 0 < self.cap_ms < self.duration_ms:
                    self.duration_ms, self.steps = self.cap_ms, 0
        else:
            self.steps = 0
        if self.jitter > 0:
            if rng is None:
                raise ValueError(f"rng: expected a random stream, the backoff has jitter {self.jitter}")
            return duration + rng.random() * self.jitter * duration
        return duration


class BackoffManager:
    """A backoff that starts over when more than `reset_ms` have passed since it last did."""

    def __init__(self, backoff: Backoff, reset_ms: int, clock: Clock, rng: random.Random) -> None:
        self.initial = backoff
        self.reset_ms = reset_ms
        self._clock = clock
        self._rng = rng
        self._backoff = replace(backoff)
        self._last_start_ms = clock.now_ms

    def step(self) -> int:
        """Whole milliseconds to wait now."""
        now = self._clock.now_ms
        if now - self._last_start_ms > self.reset_ms:
            self._backoff = replace(self.initial)
            self._last_start_ms = now
        return int(self._backoff.step(self._rng))
