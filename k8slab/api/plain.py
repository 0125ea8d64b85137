"""What JSON can hold: texts, finite numbers, booleans, null, lists, and objects with texts as keys.

>>> plain_copy({"a": [1, float("nan")]})
Traceback (most recent call last):
  ...
k8slab.api.plain.UnfitError: a[1]: NaN: expected a finite number, as JSON holds them

Upstream: encoding/json encode.go (UnsupportedValueError, UnsupportedTypeError), scanner.go (maxNestingDepth)
Simplified: at most 200 levels, upstream takes 10,000.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["MAX_DEPTH", "UnfitError", "path_text", "plain_copy"]

MAX_DEPTH = 200
_SHOWN_STEPS = 4
_ATOMS = (str, int, bool)
_OBJECT = (dict, Mapping)  # a dict is quick to tell, and nearly always what there is


class UnfitError(ValueError):
    """A value that JSON cannot hold. `steps`: where, the first few of a deep place; `value`; `expected`; `reason`: in
    upstream's words."""

    def __init__(self, reason: str, value: Any, expected: str) -> None:
        super().__init__(reason)
        self.reason, self.value, self.expected = reason, value, expected
        self.steps: list[str | int] = []

    def __str__(self) -> str:
        shown = _go_float(self.value) if isinstance(self.value, float) else self.reason
        return ": ".join(part for part in (path_text(self.steps), shown, f"expected {self.expected}") if part)


def path_text(steps: Sequence[str | int]) -> str:
    """`spec.containers[0].name`"""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def plain_copy(value: Any) -> Any:
    """A copy that may be written to. Raises UnfitError, also for what contains itself."""
    try:
        return _copy(value, 0)
    except UnfitError as error:
        error.steps.reverse()  # they were collected on the way up
        if len(error.steps) >= MAX_DEPTH:
            del error.steps[_SHOWN_STEPS:]
        raise


def _copy(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, _ATOMS):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise UnfitError(f"json: unsupported value: {_go_float(value)}", value, "a finite number, as JSON holds them")
    if isinstance(value, list):
        items: Any = enumerate(value)
        result: Any = [None] * len(value)
    elif isinstance(value, _OBJECT):
        items, result = value.items(), {}
    else:
        raise UnfitError(f"json: unsupported type: {type(value).__name__}", value, "a value that JSON holds")
    if depth >= MAX_DEPTH:
        expected = f"at most {MAX_DEPTH} levels, and nothing that contains itself"
        raise UnfitError("exceeded max depth", None, expected)
    for key, item in items:
        if type(key) is not str and not isinstance(key, str) and isinstance(result, dict):
            raise UnfitError(f"json: unsupported type of key: {key!r}", key, "texts as keys")
        try:
            result[key] = item if type(item) in _ATOMS else _copy(item, depth + 1)
        except UnfitError as error:
            error.steps.append(key)
            raise
    return result


def _go_float(value: float) -> str:
    if math.isfinite(value):
        return str(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
