"""Ages as tables show them: the larger, the coarser.

>>> [human_duration(s * 1000) for s in (119, 121, 600, 3 * 3600, 90 * 3600, 9 * 86400)]
['119s', '2m1s', '10m', '3h', '3d18h', '9d']

Upstream: apimachinery/pkg/util/duration/duration.go
"""

from __future__ import annotations

__all__ = ["human_duration", "short_human_duration"]

_HOUR, _DAY, _YEAR = 3600, 24, 365 * 24


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def _too_early(ms: int) -> str:
    """Clocks may differ a little: up to 2 s in the future counts as now."""
    return "<invalid>" if ms <= -2000 else "0s" if ms < 0 else ""


def human_duration(ms: int) -> str:
    """Two units where one would be too coarse: `2m1s`, `7h59m`, `7d23h`."""
    if text := _too_early(ms):
        return text
    seconds = ms // 1000
    minutes, hours = seconds // 60, seconds // _HOUR
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 8 * _DAY:
        return _two(hours // _DAY, "d", hours % _DAY, "h")
    if hours < 2 * _YEAR:
        return f"{hours // _DAY}d"
    if hours < 8 * _YEAR:
        return _two(hours // _YEAR, "y", hours // _DAY % 365, "d")
    return f"{hours // _YEAR}y"


def short_human_duration(ms: int) -> str:
    """One unit: `1m`, `7h`, `8d`."""
    if text := _too_early(ms):
        return text
    seconds = ms // 1000
    hours = seconds // _HOUR
    if seconds < 60:
        return f"{seconds}s"
    if seconds < _HOUR:
        return f"{seconds // 60}m"
    if hours < _DAY:
        return f"{hours}h"
    return f"{hours // _DAY}d" if hours < _YEAR else f"{hours // _YEAR}y"
