"""How long a script may take: the work of its process and its sleep, not what a busy machine makes it wait.

A right solution is never failed because the machine had no turn for it or for the process that watches it. So what
counts is processor time, and time in which the process slept of its own accord while nothing that it said was unread.
An endless loop and an endless sleep end all the same; wall time is but the backstop.

Simplified: where the system does not tell about the process (no Linux, or it runs in a container), wall time counts,
four times as much.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

__all__ = ["LOOK_SECONDS", "Deadline", "Figures", "figures"]

LOOK_SECONDS = 0.05
"""How long one waits for an answer before one looks whether the process works."""
_WALL_FACTOR = 4
_LONGEST_WALL = 60.0


class Figures(NamedTuple):
    """Of a process: its processor time in seconds, and whether it sleeps (waiting for a disk is no sleep)."""

    worked: float
    sleeps: bool


def figures(pid: int) -> Figures | None:
    """None where the system does not tell, or the process is gone."""
    try:
        # the name, in parentheses, may have any character in it
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return Figures((int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"), words[0] == "S")
    except (OSError, ValueError, IndexError):
        return None


class Deadline:
    """For `seconds` of work and sleep of process `pid` from now on; 0: of wall time."""

    def __init__(self, seconds: float, pid: int = 0) -> None:
        self._seconds = seconds
        self._pid = pid
        self._began = self._looked = time.monotonic()
        first = figures(pid) if pid else None
        self._worked_before = first.worked if first else 0.0
        self._worked = self._slept = 0.0
        self._is_told, self._slept_then = first is not None, False
        self._most = seconds if not pid else max(_LONGEST_WALL, 20 * seconds) if first else _WALL_FACTOR * seconds

    def is_over(self, *, heard: bool) -> bool:
        """`heard`: something came since the last look. Without that, the process may sleep; what it said before it
        fell asleep would have come."""
        now = time.monotonic()
        found = figures(self._pid) if self._is_told else None
        sleeps = False
        if found is not None:
            self._worked = max(self._worked, found.worked - self._worked_before)
            sleeps = found.sleeps and not heard
            if sleeps and self._slept_then:
                # who looks may have had no turn for a while, too: no more than a look counts
                self._slept += min(now - self._looked, 2 * LOOK_SECONDS)
        self._slept_then, self._looked = sleeps, now
        return self.spent >= self._seconds or (not heard and now - self._began >= self._most)

    @property
    def spent(self) -> float:
        """Seconds that count, as of the last look."""
        if self._is_told or not self._pid:
            return self._worked + self._slept
        return (self._looked - self._began) / _WALL_FACTOR
