"""What plugins remember between the extension points of one Pod's cycle.

Upstream: pkg/scheduler/framework/cycle_state.go
Simplified: nothing is locked, since only one task of the loop works on a state at a time; no flag for sampling metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["PODS_TO_ACTIVATE", "CycleState"]

PODS_TO_ACTIVATE = "kubernetes.io/pods-to-activate"
"""Key of a dict that plugins put Pods into (under any key): at the end of a successful scheduling or binding cycle they
are tried again at once."""


class CycleState:
    """A dict by key, plus which plugins sit this cycle out (they returned Skip in PreFilter or PreScore)."""

    __slots__ = ("_data", "read", "skip_filter", "skip_pre_bind", "skip_score")

    read: Callable[[str], Any]
    """The value written under a key; KeyError when nobody wrote it. (Bound to the dict: it is called per node.)"""

    def __init__(self) -> None:
        self._data: dict[str, Any] = {}
        self.read = self._data.__getitem__
        self.skip_filter: frozenset[str] = frozenset()
        self.skip_score: frozenset[str] = frozenset()
        self.skip_pre_bind: frozenset[str] = frozenset()

    def write(self, key: str, value: Any) -> None:
        """Remember `value`. A value with a `clone()` method is cloned with the state (preemption's dry runs)."""
        self._data[key] = value

    def delete(self, key: str) -> None:
        self._data.pop(key, None)

    def clone(self) -> CycleState:
        """A state that can be changed (AddPod, RemovePod) without touching this one."""
        copy = CycleState()
        for key, value in self._data.items():
            clone = getattr(value, "clone", None)
            copy.write(key, clone() if clone is not None else value)
        copy.skip_filter, copy.skip_score = self.skip_filter, self.skip_score
        copy.skip_pre_bind = self.skip_pre_bind
        return copy
