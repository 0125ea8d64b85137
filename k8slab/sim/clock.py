"""Virtual time.

Upstream: k8s.io/utils/clock (the interface), simpy core.py (the idea)
Simplified: one clock for all components; clock skew belongs to the component that reads it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Clock", "milliseconds"]


class Clock:
    """Milliseconds of virtual time since the start of the simulation.

    Only the loop moves it, and only when no task is ready.
    """

    __slots__ = ("now_ms",)

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def __repr__(self) -> str:
        return f"Clock(now_ms={self.now_ms})"


def milliseconds(name: str, value: Any, *, least: int = 0) -> int:
    """`value` if it is a whole number of milliseconds, `least` or more. TypeError or ValueError name the argument."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: {value!r}: expected a whole number of milliseconds")
    if value < least:
        raise ValueError(f"{name}: {value}: expected {least} {'millisecond' if least == 1 else 'milliseconds'} or more")
    return value
