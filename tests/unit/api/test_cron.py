"""When a cron schedule's next moment is: github.com/robfig/cron/v3 spec_test.go (the cases of TestNext, in UTC)."""

from __future__ import annotations

import pytest

from k8slab.api.cron import CronSchedule
from k8slab.api.times import parse_time, rfc3339


@pytest.mark.parametrize(
    ("schedule", "after", "moment"),
    [
        pytest.param("0/15 * * * *", "2026-07-09T14:45:00Z", "2026-07-09T15:00:00Z", id="every 15 minutes, next hour"),
        pytest.param("0/15 * * * *", "2026-07-09T14:59:59Z", "2026-07-09T15:00:00Z", id="one second before"),
        pytest.param("20-35/15 * * * *", "2026-07-09T15:45:00Z", "2026-07-09T16:20:00Z", id="a range with a step"),
        pytest.param("*/15 * * * *", "2026-07-09T23:46:00Z", "2026-07-10T00:00:00Z", id="over midnight"),
        pytest.param("20-35/15 * * * *", "2026-07-09T23:35:51Z", "2026-07-10T00:20:00Z", id="over midnight, a range"),
        pytest.param("20-35/15 1/2 */2 * *", "2026-07-09T23:35:51Z", "2026-07-11T01:20:00Z", id="every second day"),
        pytest.param("0 0 9 apr-oct ?", "2026-07-09T23:35:00Z", "2026-08-09T00:00:00Z", id="months by name"),
        pytest.param("0 0 */5 apr,aug,oct mon", "2026-07-09T23:35:00Z", "2026-08-01T00:00:00Z",
                     id="a step is no star: one of the two days will do"),
        pytest.param("0 0 29 feb ?", "2026-07-09T23:35:00Z", "2028-02-29T00:00:00Z", id="a leap day"),
        pytest.param("0 0 13 * fri", "2026-07-09T00:00:00Z", "2026-07-10T00:00:00Z", id="the 13th or a Friday"),
        pytest.param("@hourly", "2026-07-09T14:45:00Z", "2026-07-09T15:00:00Z", id="hourly"),
        pytest.param("@daily", "2026-07-09T00:00:00Z", "2026-07-10T00:00:00Z", id="daily, from midnight itself"),
        pytest.param("@weekly", "2026-07-09T14:45:00Z", "2026-07-12T00:00:00Z", id="weekly is on Sunday"),
        pytest.param("@monthly", "2026-07-09T14:45:00Z", "2026-08-01T00:00:00Z", id="monthly"),
        pytest.param("@yearly", "2026-07-09T14:45:00Z", "2027-01-01T00:00:00Z", id="yearly"),
        pytest.param("@every 90m", "2026-07-09T14:45:00Z", "2026-07-09T16:15:00Z", id="every 90 minutes"),
        pytest.param("@every 1ms", "2026-07-09T14:45:00Z", "2026-07-09T14:45:01Z", id="a second at least"),
        pytest.param("0 0 31 2 *", "2026-07-09T14:45:00Z", None, id="a day that never comes"),
    ],
)  # fmt: skip
def test_next(schedule: str, after: str, moment: str | None) -> None:
    found = CronSchedule.parse(schedule).next_ms(parse_time(after))
    assert (None if found is None else rfc3339(found)) == moment


def test_times_are_in_utc() -> None:
    with pytest.raises(ValueError, match="expected none with a time zone"):
        CronSchedule.parse("TZ=UTC @daily")
