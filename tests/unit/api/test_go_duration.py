"""Durations as Go reads and writes them.

Expected texts: Go 1.26, time/format.go (ParseDuration, quote) and time/time.go (Duration.String)
"""

from __future__ import annotations

import pytest

from k8slab.api.go_duration import format_duration, parse_duration_ns


@pytest.mark.parametrize(
    ("text", "ns", "shown"),
    [
        ("0", 0, "0s"),
        ("1m30s", 90_000_000_000, "1m30s"),
        ("-1.5s", -1_500_000_000, "-1.5s"),
        ("1.5h", 5_400_000_000_000, "1h30m0s"),
        ("10ns", 10, "10ns"),
        ("1100us", 1_100_000, "1.1ms"),
        (".5s", 500_000_000, "500ms"),
        ("+5s", 5_000_000_000, "5s"),
        ("0" * 5000 + "1s", 1_000_000_000, "1s"),
        ("0." + "3" * 5000 + "s", 333_333_333, "333.333333ms"),
        ("2562047h47m16.854775807s", (1 << 63) - 1, "2562047h47m16.854775807s"),
    ],
)
def test_durations_are_read_and_written_as_go_does(text: str, ns: int, shown: str) -> None:
    assert parse_duration_ns(text) == ns
    assert format_duration(ns) == shown
    assert parse_duration_ns(shown) == ns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("3", 'time: missing unit in duration "3"'),
        ("1x", 'time: unknown unit "x" in duration "1x"'),
        (".s", 'time: invalid duration ".s"'),
        ("-", 'time: invalid duration "-"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
        ("9" * 5000 + "s", f'time: invalid duration "{"9" * 5000}s"'),
        ("1\u00b5", r'time: unknown unit "\xc2\xb5" in duration "1\xc2\xb5"'),
        ("\u0661s", r'time: invalid duration "\xd9\xa1s"'),
        ('1"', r'time: unknown unit "\"" in duration "1\""'),
    ],
)
def test_what_is_no_duration(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as error:
        parse_duration_ns(text)
    assert str(error.value) == message
