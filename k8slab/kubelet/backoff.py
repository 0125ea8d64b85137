"""Exponential back-off per key, for container restarts and image pulls.

Upstream: staging/src/k8s.io/client-go/util/flowcontrol/backoff.go, pkg/kubelet/kubelet.go (MaxCrashLoopBackOff)
Spec: 10 s, doubled with every failure up to 300 s, and forgotten when the container ran for 600 s.
"""

from __future__ import annotations

__all__ = ["RestartBackoff"]


class RestartBackoff:
    """Delays by key. Pure: the caller says what time it is."""

    def __init__(self, base_ms: int, max_ms: int) -> None:
        if not 0 < base_ms <= max_ms:
            raise ValueError(f"back-off from {base_ms} to {max_ms} ms: expected 0 < first <= longest")
        self.base_ms = base_ms
        self.max_ms = max_ms
        self._entries: dict[str, tuple[int, int]] = {}  # key -> (delay, when it was last raised)

    def current(self, key: str, now_ms: int) -> int:
        """The delay that applies to `key` now; 0: it may go on at once (no failure yet, or long ago)."""
        delay, at = self._entries.get(key, (0, now_ms))
        return 0 if now_ms - at > 2 * self.max_ms else delay

    def next(self, key: str, now_ms: int) -> int:
        """Count one more failure of `key`, and return the delay that applies from now on."""
        delay = self.current(key, now_ms)
        delay = self.base_ms if delay == 0 else min(delay * 2, self.max_ms)
        self._entries[key] = (delay, now_ms)
        return delay

    def reset(self, key: str) -> None:
        """Forget `key`: its next failure starts from the base again."""
        self._entries.pop(key, None)

    def check_invariants(self) -> None:
        """AssertionError when a delay is out of bounds."""
        for key, (delay, _) in self._entries.items():
            assert self.base_ms <= delay <= self.max_ms, f"{key}: {delay} ms is out of bounds"
