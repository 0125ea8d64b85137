"""Back-off by id, as the kubelet uses it for crash loops and image pulls.

Upstream: staging/src/k8s.io/client-go/util/flowcontrol/backoff.go
Simplified: durations and times are milliseconds; an id's back-off expires by the maximum duration only (upstream
lets the owner replace that rule with HasExpiredFunc: here it is a parameter).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from k8slab.sim.clock import Clock

__all__ = ["Backoff"]


class _Entry(NamedTuple):
    backoff_ms: int
    last_update_ms: int


class Backoff:
    """Doubles from `initial_ms` to `max_ms` with every `next`; forgotten after twice `max_ms` of quiet.

    `has_expired(event_ms, last_update_ms, max_ms)` replaces that rule. `max_jitter_factor` needs `rng`.
    """

    def __init__(
        self,
        initial_ms: int,
        max_ms: int,
        clock: Clock,
        *,
        max_jitter_factor: float = 0.0,
        rng: random.Random | None = None,
        has_expired: Callable[[int, int, int], bool] | None = None,
    ) -> None:
        if max_jitter_factor > 0 and rng is None:
            raise ValueError(f"rng: expected a random stream with max_jitter_factor {max_jitter_factor}")
        self.initial_ms = initial_ms
        self.max_ms = max_ms
        self._clock = clock
        self._jitter_factor = max_jitter_factor
        self._rng = rng
        self._has_expired = has_expired if has_expired is not None else _expired
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        """How many ids are remembered."""
        return len(self._entries)

    def get(self, id: str) -> int:
        """The back-off of `id` in milliseconds, 0 if it has none."""
        entry = self._entries.get(id)
        return entry.backoff_ms if entry is not None else 0

    def next(self, id: str, event_ms: int) -> None:
        """`id` failed at `event_ms`: start its back-off, or double it."""
        entry = self._entries.get(id)
        if entry is None or self._has_expired(event_ms, entry.last_update_ms, self.max_ms):
            backoff_ms = self.initial_ms + self._jitter(self.initial_ms)
        else:
            backoff_ms = min(entry.backoff_ms * 2 + self._jitter(entry.backoff_ms), self.max_ms)
        self._entries[id] = _Entry(backoff_ms, self._clock.now_ms)

    def reset(self, id: str) -> None:
        """Forget `id`."""
        self._entries.pop(id, None)

    def is_in_backoff_since(self, id: str, event_ms: int) -> bool:
        """Less than the back-off has passed between `event_ms` and now."""
        entry = self._alive(id, event_ms)
        return entry is not None and self._clock.now_ms - event_ms < entry.backoff_ms

    def is_in_backoff_since_update(self, id: str, event_ms: int) -> bool:
        """Less than the back-off had passed between the last `next` and `event_ms`."""
        entry = self._alive(id, event_ms)
        return entry is not None and event_ms - entry.last_update_ms < entry.backoff_ms

    def gc(self) -> None:
        """Forget the ids that have been quiet for long enough."""
        now = self._clock.now_ms
        for id, entry in list(self._entries.items()):
            if self._has_expired(now, entry.last_update_ms, self.max_ms):
                del self._entries[id]

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        for id, entry in self._entries.items():
            assert entry.last_update_ms <= self._clock.now_ms, f"the back-off of {id} is from the future"

    def view(self) -> dict[str, int]:
        """Back-offs by id."""
        return {id: entry.backoff_ms for id, entry in self._entries.items()}

    def _alive(self, id: str, event_ms: int) -> _Entry | None:
        entry = self._entries.get(id)
        if entry is None or self._has_expired(event_ms, entry.last_update_ms, self.max_ms):
            return None
        return entry

    def _jitter(self, delay_ms: int) -> int:
        return 0 if self._rng is None else int(self._rng.random() * self._jitter_factor * delay_ms)


def _expired(event_ms: int, last_update_ms: int, max_ms: int) -> bool:
    return event_ms - last_update_ms > 2 * max_ms
