"""Whether a text is a cron schedule, in the words of the parser that the CronJob API uses.

>>> check_schedule("*/5 * * * mon-fri")
>>> check_schedule("0 0 * * 7")
Traceback (most recent call last):
ValueError: end of range (7) above maximum (6): 7

Upstream: github.com/robfig/cron/v3, parser.go (ParseStandard)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.labels import go_quote

__all__ = ["CronField", "check_schedule", "is_time_zone", "parse_fields"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


class _Bounds(NamedTuple):
    least: int
    most: int
    names: dict[str, int]


_FIELDS = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def check_schedule(text: str) -> None:
    """ValueError with the parser's text, or nothing."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, text = text.partition(" ")
        if not space:
            raise ValueError(f"provided bad location {zone.partition('=')[2]}: missing schedule")
        name = zone.partition("=")[2]
        if not is_time_zone(name):
            raise ValueError(f"provided bad location {name}: unknown time zone {name}")
        text = text.strip()
    if text.startswith("@"):
        _check_descriptor(text)
        return
    parse_fields(text)


class CronField(NamedTuple):
    """One of the five fields: the numbers it stands for, and whether it is a `*` (or `?`) that says nothing."""

    values: frozenset[int]
    is_star: bool


def parse_fields(text: str) -> tuple[CronField, ...]:
    """Minute, hour, day of month, month, day of week. ValueError with the parser's text."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    return tuple(_field(field, bounds) for field, bounds in zip(fields, _FIELDS, strict=True))


def _field(text: str, bounds: _Bounds) -> CronField:
    values: set[int] = set()
    is_star = False
    for part in text.split(","):
        if part:
            found = _range(part, bounds)
            values.update(found)
            is_star |= found.step == 1 and part.partition("/")[0].partition("-")[0] in ("*", "?")
    return CronField(frozenset(values), is_star)


def is_time_zone(name: str) -> bool:
    """Whether the system's time zone database knows it; "" and "UTC" are always known."""
    if name in ("", "UTC", "Local"):
        return True
    import zoneinfo  # late: opens files, and is needed for CronJobs only

    try:
        zoneinfo.ZoneInfo(name)
    except (OSError, ValueError):
        return False
    except zoneinfo.ZoneInfoNotFoundError:
        return False
    return True


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise ValueError(f"unrecognized descriptor: {text}")
    try:
        parse_duration_ns(text.removeprefix("@every "))
    except ValueError as error:
        raise ValueError(f"failed to parse duration {text}: {error}") from None


def _range(text: str, bounds: _Bounds) -> range:
    limits, *steps = text.split("/")
    low, *rest = limits.split("-")
    if low in ("*", "?"):
        start, end = bounds.least, bounds.most
    else:
        start = end = _number(low, bounds.names)
        if len(rest) == 1:
            end = _number(rest[0], bounds.names)
        elif rest:
            raise ValueError(f"too many hyphens: {text}")
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {text}")
    step = _number(steps[0], {}) if steps else 1
    if steps and not rest:
        end = bounds.most
    if start < bounds.least:
        raise ValueError(f"beginning of range ({start}) below minimum ({bounds.least}): {text}")
    if end > bounds.most:
        raise ValueError(f"end of range ({end}) above maximum ({bounds.most}): {text}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {text}")
    return range(start, end + 1, step)


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"failed to parse int from {text}: strconv.Atoi: parsing {go_quote(text)}: invalid syntax")
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
