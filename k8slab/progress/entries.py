"""Entries: what one looks like, what becomes of two, and what is refused in a file from elsewhere.

What may be written may be read: `check` is asked by both.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

__all__ = [
    "KINDS",
    "QUESTION",
    "TIME",
    "VERSION",
    "Entries",
    "ProgressError",
    "check",
    "empty",
    "entries_of",
    "later",
    "merged",
]

KINDS = ("chapter", "quiz", "lab", "drill")
"""What can be done, in the order of the summary."""

VERSION = 1
TIME = "%Y-%m-%dT%H:%M:%SZ"
QUESTION = "question "
LONGEST, MOST, LARGEST = 200, 10**9, 1e30
Entries = dict[str, dict[str, dict[str, Any]]]


class ProgressError(ValueError):
    """A file of progress that cannot be used: names it, and says why."""


def empty() -> Entries:
    """No entries of any kind."""
    return {kind: {} for kind in KINDS}


# -- what is refused -------------------------------------------------------------------------------


def check(kind: str, name: str, detail: Mapping[str, Any]) -> None:
    """ValueError: an unknown kind, a name that cannot be one, a detail that cannot be kept."""
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
    if not name or not _is_line(name):
        raise ValueError(f"name {name[:80]!r}: expected 1 to {LONGEST} printable characters")
    for key, value in detail.items():
        if not _is_line(key):
            raise ValueError(f"detail {key[:80]!r}: expected a name of at most {LONGEST} printable characters")
        if expected := _expected(key, value):
            raise ValueError(f"detail {key!r}: {repr(value)[:80]}: expected {expected}")
    if detail.get("points", 0) > detail.get("of", MOST):
        raise ValueError(f"detail 'points': {detail['points']}: expected at most {detail['of']}, which it is of")


def _expected(key: str, value: Any) -> str:
    """What a detail should be; "" when it is."""
    if key in ("passed", "right") or key.startswith(QUESTION):
        return "" if isinstance(value, bool) else "true or false"
    if key in ("points", "of"):
        return "" if _is_count(value, 0) else f"a whole number from 0 to {MOST}"
    if isinstance(value, str):
        return "" if _is_line(value) else f"at most {LONGEST} printable characters"
    if isinstance(value, int | float):
        return "" if -LARGEST <= value <= LARGEST else f"a number from {-LARGEST} to {LARGEST}"  # nan is never
    return "" if value is None else "text, a number, true or false"


def _is_line(text: str) -> bool:
    return len(text) <= LONGEST and text.isprintable()


def _is_count(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= MOST


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.strptime(value, TIME).strftime(TIME) == value
    except ValueError:
        return False


def entries_of(data: Any, source: str) -> Entries:
    """The entries of an exported record. ProgressError says what is wrong where.

    Names that this version does not know are kept: another one may.
    """
    if not isinstance(data, Mapping) or data.get("version") != VERSION or not isinstance(data.get("entries"), Mapping):
        raise ProgressError(f"{source}: expected an object with version {VERSION} and entries")
    found = empty()
    for kind, named in data["entries"].items():
        if kind not in KINDS or not isinstance(named, Mapping):
            raise ProgressError(f"{source}: entries.{kind}: expected one of {', '.join(KINDS)}, by name")
        for name, entry in named.items():
            found[kind][name] = _entry(kind, name, entry, f"{source}: {kind} {name[:80]!r}")
    return found


def _entry(kind: str, name: str, entry: Any, where: str) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise ProgressError(f"{where}: expected first, last, times and detail")
    first, last, times, detail = (entry.get(key) for key in ("first", "last", "times", "detail"))
    for key, value in (("first", first), ("last", last)):
        if not _is_time(value):
            raise ProgressError(f"{where}: {key}: {repr(value)[:80]}: expected a time such as 2026-05-01T09:00:00Z")
    if not _is_count(times, 1):
        raise ProgressError(f"{where}: times: {repr(times)[:80]}: expected a whole number from 1 to {MOST}")
    if not isinstance(detail, Mapping):
        raise ProgressError(f"{where}: detail: {repr(detail)[:80]}: expected an object")
    try:
        check(kind, name, detail)
    except ValueError as error:
        raise ProgressError(f"{where}: {error}") from None
    return {"first": first, "last": last, "times": times, "detail": dict(detail)}


# -- what becomes of two ---------------------------------------------------------------------------


def later(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The newer details win, but what was true stays true (a lab that was passed stays passed), and points stay the
    best, with what they are of."""
    both = {**old, **{key: True if old.get(key) is True and value is False else value for key, value in new.items()}}
    if "points" in old and "points" in new:
        both |= _best(old, new)
    if both.get("points", 0) > both.get("of", MOST):
        del both["of"]  # the one that has more points does not say of how many
    return both


def _best(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, int]:
    """The larger share: 16 of 16 is more than 17 of 20."""
    old_of, new_of = old.get("of") or new.get("of") or 1, new.get("of") or old.get("of") or 1
    best, of = (old, old_of) if old["points"] * new_of > new["points"] * old_of else (new, new_of)
    return {"points": best["points"], **({"of": of} if "of" in old or "of" in new else {})}


def merged(mine: Mapping[str, Any] | None, theirs: Mapping[str, Any]) -> dict[str, Any]:
    """One entry of two from different places."""
    if mine is None:
        return dict(theirs)
    older, newer = sorted((mine, theirs), key=lambda entry: str(entry["last"]))
    return {
        "first": min(mine["first"], theirs["first"]),
        "last": newer["last"],
        "times": max(mine["times"], theirs["times"]),
        "detail": later(older["detail"], newer["detail"]),
    }
