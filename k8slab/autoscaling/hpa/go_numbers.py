"""Numbers as Go computes them: int32 and int64 conversions, divisions that truncate, floats without exceptions.

>>> int32(2.9), int32(float("inf")), divide(7, 0), quotient(-7, 2)
(2, -2147483648, inf, -3)

Spec: Go language specification (Conversions, Arithmetic operators); conversions that do not fit as amd64 leaves them.
"""

from __future__ import annotations

import math

__all__ = ["MAX_INT32", "MAX_INT64", "MIN_INT32", "ceil", "divide", "int32", "int64", "quotient", "wrap_int32"]

MIN_INT32, MAX_INT32 = -(1 << 31), (1 << 31) - 1
_MIN_INT64, MAX_INT64 = -(1 << 63), (1 << 63) - 1


def int32(number: float) -> int:
    """int32(x) of a float: truncated; what does not fit, and NaN, is the least int32."""
    return int(number) if MIN_INT32 - 1 < number < MAX_INT32 + 1 else MIN_INT32


def wrap_int32(number: int) -> int:
    """What int32 arithmetic leaves of a whole number: 2147483647 + 1 is -2147483648."""
    return (number - MIN_INT32) % (1 << 32) + MIN_INT32


def int64(number: float) -> int:
    """int64(x) of a float: truncated; what does not fit, and NaN, is the least int64."""
    return int(number) if _MIN_INT64 <= number < 2.0**63 else _MIN_INT64


def ceil(number: float) -> float:
    """math.Ceil: infinities and NaN stay what they are."""
    return float(math.ceil(number)) if math.isfinite(number) else number


def divide(a: float, b: float) -> float:
    """A division of floats; by zero it is an infinity, or NaN for 0/0."""
    a, b = float(a), float(b)
    if b:
        return a / b
    return math.nan if math.isnan(a) or not a else math.copysign(math.inf, a)


def quotient(a: int, b: int) -> int:
    """A division of integers, towards zero. `b` is not zero."""
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole
