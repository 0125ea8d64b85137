"""Cron schedules: when the next moment is.

>>> from k8slab.api.cron import CronSchedule
>>> from k8slab.api.times import parse_time, rfc3339
>>> nightly = CronSchedule.parse("30 2 * * mon-fri")
>>> rfc3339(nightly.next_ms(parse_time("2026-01-02T03:00:00Z")))
'2026-01-05T02:30:00Z'

Upstream: github.com/robfig/cron/v3, spec.go (SpecSchedule.Next), constantdelay.go
Simplified: times are in UTC; a schedule that names a time zone is a ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.times import EPOCH
from k8slab.api.validation.cron import CronField, check_schedule, parse_fields

__all__ = ["CronSchedule"]

_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_YEARS_AHEAD = 5
_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """Five fields, or (`every_ms` not 0) a distance between moments."""

    fields: tuple[CronField, ...] = ()
    every_ms: int = 0

    @classmethod
    def parse(cls, text: str) -> CronSchedule:
        """ValueError with the parser's text for what is no schedule."""
        check_schedule(text)
        if text.startswith(("TZ=", "CRON_TZ=")):
            raise ValueError(f"schedule {text!r}: expected none with a time zone, times are in UTC")
        if text.startswith("@every "):
            ns = parse_duration_ns(text.removeprefix("@every "))
            return cls(every_ms=max(ns // 1_000_000_000, 1) * 1_000)
        return cls(parse_fields(_DESCRIPTORS.get(text, text)))

    def next_ms(self, after_ms: int) -> int | None:
        """The first moment after `after_ms`, both in virtual ms; None: none within five years (a 31 February)."""
        if self.every_ms:
            return after_ms // 1_000 * 1_000 + self.every_ms
        start = EPOCH + timedelta(milliseconds=(after_ms // _MINUTE_MS + 1) * _MINUTE_MS)
        minutes, hours, *_ = (sorted(field.values) for field in self.fields)
        if not minutes or not hours:
            return None
        day = start.replace(hour=0, minute=0)
        while day.year <= start.year + _YEARS_AHEAD:
            if self._has_day(day):
                for hour in hours:
                    for minute in minutes:
                        moment = day.replace(hour=hour, minute=minute)
                        if moment >= start:
                            return (moment - EPOCH) // timedelta(milliseconds=1)
            day += timedelta(days=1)
        return None

    def _has_day(self, day: datetime) -> bool:
        """Day of month and day of week must both match, or, when neither is a star, one of them."""
        _, _, of_month, month, of_week = self.fields
        if day.month not in month.values:
            return False
        matches = (day.day in of_month.values, day.isoweekday() % 7 in of_week.values)
        return all(matches) if of_month.is_star or of_week.is_star else any(matches)
