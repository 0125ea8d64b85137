"""Second opinions on the drills about eviction: see `drill_twins`. Nothing of k8slab here."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.property.drill_twins import Row, tables

__all__ = ["TWINS"]


def mebi(text: str) -> int:
    return 0 if text == "none" else int(text.removesuffix("Mi"))


def goes_before(a: Row, b: Row) -> bool:
    above = [mebi(row["USED"]) - mebi(row["REQUEST"]) for row in (a, b)]
    if (above[0] > 0) != (above[1] > 0):
        return above[0] > 0
    priorities = int(a["PRIORITY"]), int(b["PRIORITY"])
    return priorities[0] < priorities[1] if priorities[0] != priorities[1] else above[0] > above[1]


def order(q: str) -> str:
    """By counting how many each one goes before."""
    rows = tables(q)[0]
    wins = {row["POD"]: sum(goes_before(row, other) for other in rows if other is not row) for row in rows}
    return ", ".join(sorted(wins, key=lambda name: -wins[name]))


def first(q: str) -> str:
    return order(q).split(", ")[0]


def crossed(q: str) -> str:
    below = int(re.search(r"available < (\d+)Mi", q)[1])  # type: ignore[index]
    free = int(re.search(r"now (\d+)Mi are free", q)[1])  # type: ignore[index]
    minimum = re.search(r"Reclaim: (\d+)Mi", q)
    extra = int(minimum[1]) if minimum is not None and "it evicted a Pod" in q else 0
    return "yes" if free < below + extra else "no"


def soft(q: str) -> str:
    below, grace = map(int, re.search(r"available < (\d+)Mi`, grace period `(\d+)s", q).groups())  # type: ignore[union-attr]
    rows = [(int(row["AT"].removesuffix(" s")), mebi(row["FREE"])) for row in tables(q)[0]]
    since = None
    second, free = 0, 0
    for second, free in rows + [(n, rows[-1][1]) for n in range(rows[-1][0] + 10, 1000, 10)]:
        since = None if free >= below else second if since is None else since
        if since is not None and second - since >= grace:
            break
    return f"{second}s"


def adjust(q: str) -> str:
    gi = int(re.search(r"node has (\d+)Gi", q)[1])  # type: ignore[index]
    if "equal to its limits" in q:
        return "-997"
    if "neither" in q:
        return "1000"
    asked = re.search(r"requests (\d+)Mi", q)
    thousandths = int(asked[1]) * 1000 // (gi * 1024) if asked is not None else 0
    return str(min(999, max(3, 1000 - thousandths)))


def killed(q: str) -> str:
    return max(tables(q)[0], key=lambda row: int(row["MEMORY"].rstrip(" %")) * 10 + int(row["OOM_SCORE_ADJ"]))[
        "PROCESS"
    ]


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("eviction", "first"): first,
    ("eviction", "order"): order,
    ("eviction", "crossed"): crossed,
    ("eviction", "soft"): soft,
    ("eviction", "adjust"): adjust,
    ("eviction", "killed"): killed,
}
