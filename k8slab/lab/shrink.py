"""Making a failing script short: drop operations while it still fails for the same cause.

Spec: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), ddmin
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["shrink"]

T = TypeVar("T")


def shrink(items: tuple[T, ...], fails: Callable[[tuple[T, ...]], bool], *, tries: int = 400) -> tuple[T, ...]:
    """A shorter sequence that `fails`, from which no single item can be dropped (if `tries` suffice).

    >>> shrink((1, 2, 3, 4, 5), lambda some: 2 in some and 5 in some)
    (2, 5)
    """
    size = max(1, len(items) // 2)
    while tries > 0 and items:
        start, shorter = 0, False
        while start < len(items) and tries > 0:
            without = items[:start] + items[start + size :]
            tries -= 1
            if without and fails(without):
                items, shorter = without, True
            else:
                start += size
        if size == 1 and not shorter:
            return items
        if not shorter:
            size = max(1, size // 2)
    return items
