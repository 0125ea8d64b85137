"""Virtual time.

Upstream: k8s.io/utils/clock (the interface), simpy core.py (the idea)
Simplified: one clock for all components; clock skew belongs to the component that reads it.
"""

from __future__ import annotations

__all__ = ["Clock"]


class Clock:
    """Milliseconds of virtual time since the start of the simulation.

    Only the loop moves it, and only when no task is ready.
    """

    __slots__ = ("now_ms",)

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def __repr__(self) -> str:
        return f"Clock(now_ms={self.now_ms})"
