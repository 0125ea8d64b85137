"""Durations as Go writes them: `1h30m`, `250ms`, `-1.5s`.

>>> from k8slab.api.go_duration import format_duration, parse_duration_ns
>>> parse_duration_ns("1m30s"), parse_duration_ns("1.5ms"), parse_duration_ns("0")
(90000000000, 1500000, 0)
>>> format_duration(90_000_000_000), format_duration(1_500_000), format_duration(0)
('1m30s', '1.5ms', '0s')

Upstream: Go's time.ParseDuration and Duration.String
"""

from __future__ import annotations

import re

__all__ = ["format_duration", "format_duration_ms", "parse_duration_ns"]

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,  # Greek letter mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]*)", re.ASCII)
_LARGEST_NS = (1 << 63) - 1
_MOST_DIGITS = 19
"""More before the point are too many nanoseconds; more behind it are less than one."""


def parse_duration_ns(text: str) -> int:
    """The duration in nanoseconds. ValueError with Go's text for what is none."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    sign = -1 if text[:1] == "-" else 1
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f"time: invalid duration {_quote(text)}")
    total = 0
    while rest:
        term = _TERM.match(rest)
        assert term is not None  # it matches every text
        whole, fraction, unit = term[1].lstrip("0"), (term[2] or "")[:_MOST_DIGITS], term[3]
        if not term[1] and not term[2]:
            raise ValueError(f"time: invalid duration {_quote(text)}")
        if not unit:
            raise ValueError(f"time: missing unit in duration {_quote(text)}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
        scale = _UNITS[unit]
        if len(whole) <= _MOST_DIGITS:
            total += int(whole or "0") * scale + int(fraction or "0") * scale // 10 ** len(fraction)
        if len(whole) > _MOST_DIGITS or total > _LARGEST_NS + (sign < 0):
            raise ValueError(f"time: invalid duration {_quote(text)}")
        rest = rest[term.end() :]
    return sign * total


def _quote(text: str) -> str:
    """As Go's package time quotes: unlike strconv, it shows the bytes of all that is not ASCII."""
    shown = (f"\\{c}" if c in '"\\' else c if " " <= c < "\x80" else _bytes(c) for c in text)
    return f'"{"".join(shown)}"'


def _bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


def format_duration(ns: int) -> str:
    """As `Duration.String`: hours, minutes and seconds, or the largest smaller unit below one second."""
    sign, rest = "-" if ns < 0 else "", abs(ns)
    for unit, scale in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if 0 < rest < scale * 1_000:
            return f"{sign}{_decimal(rest, scale)}{unit}"
    seconds = 1_000_000_000
    hours, minutes = rest // (3_600 * seconds), rest // (60 * seconds)
    text = f"{_decimal(rest % (60 * seconds), seconds)}s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def format_duration_ms(ms: int) -> str:
    """`format_duration` of so many milliseconds.

    >>> [format_duration_ms(ms) for ms in (0, 100, 1_500, 10_000, 60_000, 80_500, 3_600_000)]
    ['0s', '100ms', '1.5s', '10s', '1m0s', '1m20.5s', '1h0m0s']
    """
    return format_duration(ms * 1_000_000)


def _decimal(amount: int, scale: int) -> str:
    whole, part = divmod(amount, scale)
    digits = f"{part:0{len(str(scale)) - 1}d}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)
