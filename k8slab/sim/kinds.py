"""The one table of event kinds: how each kind of trace event looks and reads.

Every package adds its rows with `add_kinds` when it is imported. A row says which mark a picture draws, whether
the event belongs to the main story (level 1) or is a detail (level 2), which data keys it has, and how its label
and sentence are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["KINDS", "MARKS", "Kind", "add_kinds", "cut", "fill"]

MARKS = ("request", "write", "serve", "commit", "watch", "queue", "work", "state", "wait")


class Kind(NamedTuple):
    """How one kind of event looks and reads.

    `mark`: one of `MARKS`. `level`: 1 main story, 2 detail. `fields`: the keys of `data`, all of them.
    `label_format` (at most 30 characters) and `text_format` (at most 120) are templates over `fields`: see `fill`.
    """

    mark: str
    level: int
    fields: tuple[str, ...]
    label_format: str
    text_format: str

    def label(self, data: Mapping[str, Any]) -> str:
        return fill(self.label_format, data)

    def text(self, data: Mapping[str, Any]) -> str:
        return fill(self.text_format, data)


class _Value:
    """A value in a template, which can choose a word."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __format__(self, spec: str) -> str:
        if "|" not in spec:
            return format(self.value, spec)
        one, _, other = spec.partition("|")
        return one if self.value == 1 else other


def fill(template: str, data: Mapping[str, Any]) -> str:
    """A `str.format` template with its data; `{count:Pod|Pods}` is the first word for 1 and True, else the second.

    >>> fill("{count} {count:Pod|Pods}", {"count": 1}), fill("{count} {count:Pod|Pods}", {"count": 3})
    ('1 Pod', '3 Pods')
    """
    if "|" in template:
        data = {name: _Value(value) for name, value in data.items()}
    return template.format_map(data)


def cut(text: str, length: int) -> str:
    """`text` in at most `length` characters; "…" at its end says that there was more.

    >>> cut("1 Insufficient cpu", 18), cut("1 Insufficient cpu", 15)
    ('1 Insufficient cpu', '1 Insufficient…')
    """
    return text if len(text) <= length else text[: length - 1].rstrip(" ,.;:") + "…"


KINDS: dict[str, Kind] = {}
"""Every event kind by name. A package adds its rows when it is imported."""


def add_kinds(rows: Mapping[str, Kind]) -> None:
    """Add rows to `KINDS`. A kind has one row: adding a different one under a known name is a ValueError."""
    for name, kind in rows.items():
        if KINDS.setdefault(name, kind) != kind:
            raise ValueError(f"event kind {name!r}: a different row is already in the table")
        if kind.mark not in MARKS:
            raise ValueError(f"event kind {name!r}: mark {kind.mark!r} is not one of {', '.join(MARKS)}")
