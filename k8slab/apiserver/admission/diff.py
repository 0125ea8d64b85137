"""What one stage of the chain changed: paths of fields, with the values before and after.

>>> differences({"spec": {"priority": 0, "tolerations": []}}, {"spec": {"tolerations": []}})
[Change(path='spec.priority', old=None, new=0)]
>>> print(differences({"spec": {"a": 2}}, {"spec": {"a": 1}})[0])
spec.a: 1 -> 2

Upstream: none; the API server tells nobody what a plugin changed
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Change", "changed_fields", "differences", "of_text", "to_text"]

MAX_CHANGES = 40
MAX_VALUE = 80


class Change(NamedTuple):
    """One field. `old` None: it was not there; `new` None: it is gone. Whole maps and lists that come or go are one
    change; their values are the JSON text."""

    path: str
    old: str | int | bool | None
    new: str | int | bool | None

    def __str__(self) -> str:
        if self.old is None:
            return f"{self.path}: + {_shown(self.new)}"
        if self.new is None:
            return f"{self.path}: - {_shown(self.old)}"
        return f"{self.path}: {_shown(self.old)} -> {_shown(self.new)}"


def differences(new: object, old: object) -> list[Change]:
    """The fields that differ, in the order of `new`, then those that are gone. Shared parts are not looked into."""
    return list(_walk(new, old, ""))


def changed_fields(new: object, old: object) -> int:
    """How many leaf fields differ. Shared parts are not looked into.

    >>> changed_fields({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3, "d": 4}})
    2
    """
    if new is old:
        return 0
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        count = sum(1 for name in old if name not in new)
        for name, value in new.items():
            before = old.get(name)
            if value is not before:
                count += changed_fields(value, before)
        return count
    if isinstance(new, list) and isinstance(old, list):
        pairs = sum(changed_fields(a, b) for a, b in zip(new, old, strict=False))
        return pairs + abs(len(new) - len(old))
    return int(new != old)


def to_text(changes: Sequence[Change]) -> str:
    """As one scalar of a trace event: JSON, at most 40 changes, long values cut."""
    shown = [[path, _cut(old), _cut(new)] for path, old, new in changes[:MAX_CHANGES]]
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def of_text(text: str) -> list[Change]:
    """What `to_text` wrote."""
    return [Change(*change) for change in json.loads(text)]


def _walk(new: object, old: object, path: str) -> Iterator[Change]:
    if new is old:
        return
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        for name, value in new.items():
            yield from _walk(value, old.get(name), _key(path, name))
        for name, value in old.items():
            if name not in new and value is not None:
                yield Change(_key(path, name), _scalar(value), None)
    elif isinstance(new, list) and isinstance(old, list):
        for i, value in enumerate(new):
            yield from _walk(value, old[i] if i < len(old) else None, f"{path}[{i}]")
        for i in range(len(new), len(old)):
            yield Change(f"{path}[{i}]", _scalar(old[i]), None)
    elif new != old or type(new) is not type(old):
        yield Change(path, _scalar(old), _scalar(new))


def _key(path: str, name: str) -> str:
    if any(mark in name for mark in "./[]"):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _scalar(value: Any) -> str | int | bool | None:
    if value is None or isinstance(value, (str, int)):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _cut(value: str | int | bool | None) -> str | int | bool | None:
    return value[: MAX_VALUE - 1] + "…" if isinstance(value, str) and len(value) > MAX_VALUE else value


def _shown(value: str | int | bool | None) -> str:
    return value if isinstance(value, str) else json.dumps(value)
