"""How Go sees JSON values: types, equality, and the text `%v` prints. Patch errors and sort orders depend on it.

Upstream: Go's fmt and reflect packages, apimachinery/pkg/util/mergepatch/errors.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["PatchError", "bad_type", "equal", "go_text", "go_type", "insertion_sort"]


class PatchError(ValueError):
    """A patch that cannot be applied. `code`: the HTTP status the API server answers with."""

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.message, self.code = message, code


def go_type(value: Any) -> str:
    """The Go type a decoded JSON value has.

    >>> [go_type(v) for v in (None, True, 1, 1.5, "x", [], {})]
    ['<nil>', 'bool', 'int64', 'float64', 'string', '[]interface {}', 'map[string]interface {}']
    """
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, str):
        return "string"
    return "[]interface {}" if isinstance(value, list) else "map[string]interface {}"


def go_text(value: Any) -> str:
    """What `%v` prints: maps with sorted keys, no quotes.

    >>> go_text({"name": "c1", "ports": [80, None, True]})
    'map[name:c1 ports:[80 <nil> true]]'
    """
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{go_text(value[k])}" for k in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)


def equal(a: Any, b: Any) -> bool:
    """Deep equality with Go's types: 1 is neither true nor 1.0."""
    if go_type(a) != go_type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(v, b[k]) for k, v in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


def bad_type(expected: Any, actual: Any) -> PatchError:
    received = "%!s(<nil>)" if actual is None else go_type(actual)
    return PatchError(f"expected a {go_type(expected)}, but received a {received}")


def insertion_sort(items: list[Any], less: Callable[[Any, Any], bool]) -> list[Any]:
    """Sort in place as Go sorts short slices. Some of upstream's `less` functions contradict themselves, so that the
    outcome depends on the algorithm."""
    for i in range(1, len(items)):
        j = i
        while j > 0 and less(items[j], items[j - 1]):
            items[j], items[j - 1] = items[j - 1], items[j]
            j -= 1
    return items
