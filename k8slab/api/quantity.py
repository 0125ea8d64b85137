"""Quantities: `500m`, `1Gi`, `1e3`, kept exactly, printed as upstream prints them.

A Quantity is `amount` times ten to the power `scale`. Upstream has two representations, and so has this one:
small numbers are an int64 pair, where results that do not fit wrap round silently; the rest (`is_big`) is exact,
with at most nine decimals after parsing. Values handed out as integers are int64 and wrap round too.

>>> from k8slab.api.quantity import Quantity, milli_value, value
>>> str(Quantity.parse("1.5Gi") + Quantity.parse("512Mi")), value("1Ki"), milli_value("0.25")
('2Gi', 1024, 250)

Upstream: apimachinery/pkg/api/resource/{quantity,amount,math,scale_int,suffix}.go, gopkg.in/inf.v0 (Round, SetString)
Simplified: numbers that would need more than 4,000 digits (upstream computes them, slowly) are refused.
"""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import ClassVar

__all__ = [
    "BINARY_SI",
    "DECIMAL_EXPONENT",
    "DECIMAL_SI",
    "MILLI",
    "NANO",
    "ZERO",
    "Quantity",
    "milli_value",
    "quantity",
    "value",
    "wrap_int64",
]

DECIMAL_SI = "DecimalSI"
DECIMAL_EXPONENT = "DecimalExponent"
BINARY_SI = "BinarySI"

NANO, MILLI = -9, -3
_MIN, _MAX = -(1 << 63), (1 << 63) - 1
_MAX_DIGITS = 4000
_MAX_SMALL_DIGITS = 18

_SYNTAX = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_WRONG_FORMAT = f"quantities must match the regular expression '{_SYNTAX}'"
_WRONG_NUMBER = "unable to parse numeric part of quantity"
_WRONG_SUFFIX = "unable to parse quantity's suffix"
_parts = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)").fullmatch
_signed_int = re.compile("[+-]?[0-9]+").fullmatch

_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF = {0: "", **{exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}}


def wrap_int64(number: int) -> int:
    """As int64 arithmetic leaves it.

    >>> wrap_int64(2**63), wrap_int64((2**63 - 1) * 10)
    (-9223372036854775808, -10)
    """
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _fits(number: int) -> bool:
    return _MIN <= number <= _MAX


def _quotient(a: int, b: int) -> int:
    """Integer division towards zero, for positive `b`."""
    return a // b if a >= 0 else -(-a // b)


def _away_from_zero(amount: int, digits: int) -> int:
    """`amount` without its last `digits` decimal digits, rounded away from zero."""
    if not amount:
        return 0
    sign = 1 if amount > 0 else -1
    if digits > _MAX_DIGITS and digits > len(str(abs(amount))):
        return sign
    return sign * -(-abs(amount) // int(10**digits))


def _power(exponent: int) -> int:
    if exponent > _MAX_DIGITS:
        raise ValueError(f"quantity with {exponent} digits: expected at most {_MAX_DIGITS}")
    return int(10**exponent)


def _multiply(a: int, b: int) -> int | None:
    """int64Multiply: None when upstream would not trust the product."""
    if a in (0, 1) or b in (0, 1):
        return a * b
    product = a * b
    return None if _MIN in (a, b) or not _fits(product) else product


def _scaled_up(amount: int, exponent: int) -> tuple[int, bool]:
    """positiveScaleInt64: amount times ten to the exponent, and whether it fits.

    What does not fit is the wrapped product for the exponents that upstream unrolls, else 0.
    """
    if amount == 0 or exponent == 0:
        return amount, True
    if exponent <= _MAX_SMALL_DIGITS:
        product = amount * 10**exponent
        if amount != _MIN and _fits(product):
            return product, True
        if amount != _MIN and exponent in (1, 2, 3, 6, 9):
            return wrap_int64(product), False
    return 0, False


def _interpret(suffix: str) -> tuple[int, int, str]:
    """Base, exponent and format of a suffix."""
    if suffix in _DECIMAL_SUFFIXES:
        return 10, _DECIMAL_SUFFIXES[suffix], DECIMAL_SI
    if suffix in _BINARY_SUFFIXES:
        return 2, _BINARY_SUFFIXES[suffix], BINARY_SI
    if len(suffix) > 1 and suffix[0] in "eE" and _signed_int(suffix[1:]) and _fits(int(suffix[1:])):
        exponent = int(suffix[1:])
        return 10, (exponent + (1 << 31)) % (1 << 32) - (1 << 31), DECIMAL_EXPONENT
    raise ValueError(_WRONG_SUFFIX)


def _parse_small(
    text: str, negative: bool, digits: str, decimals: str, suffix: tuple[int, int, str]
) -> Quantity | None:
    """The int64 path of ParseQuantity; it keeps the text where that is canonical enough. None: take the big one."""
    base, exponent, number_format = suffix
    multiplier = 1
    if base == 10:
        precision = _MAX_SMALL_DIGITS - len(digits) - len(decimals)
        scale = exponent - len(decimals)
    else:
        precision = -1 if decimals else 15 - len(digits) - exponent * 3 // 10 - 1
        scale = 0
        multiplier = 1 << exponent
    if precision < 0 or scale < NANO:
        return None
    shifted = digits + decimals
    number = int(shifted)
    amount = _multiply(number, multiplier)
    if amount is None:
        return None
    is_canonical = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
    keeps_text = is_canonical if base == 10 else number & 7 != 0
    return Quantity(-amount if negative else amount, scale, number_format, text=text if keeps_text else "")


def _parse_big(negative: bool, digits: str, decimals: str, suffix: tuple[int, int, str]) -> Quantity:
    """The arbitrary-precision path: nine decimals, rounded away from zero; binary formats are cut at 2^63-1."""
    base, exponent, number_format = suffix
    if len(digits) + len(decimals) + max(exponent, 0) > _MAX_DIGITS:
        raise ValueError(_WRONG_NUMBER)
    amount, scale = int(digits + decimals), -len(decimals)
    if base == 2:
        amount <<= exponent
    else:
        scale += exponent
    if amount:
        amount = _away_from_zero(amount, NANO - scale) if scale < NANO else amount * 10 ** (scale - NANO)
        scale = NANO
    if number_format == BINARY_SI:
        if amount > _MAX * 10**-scale:
            amount, scale = _MAX, 0
        if 0 < amount < 10**-scale:
            number_format = DECIMAL_SI
    return Quantity(-amount if negative else amount, scale, number_format, is_big=True)


@total_ordering
class Quantity:
    """A number with a preferred way to print it; immutable. Equal when the numbers are, whatever the format.

    `amount` * 10 ** `scale` is the number. `is_big`: not limited to int64. `format`: DecimalSI, BinarySI,
    DecimalExponent, or "" for the zero value that takes over the format of what is added to it.
    """

    __slots__ = ("_text", "amount", "format", "is_big", "scale")

    EMPTY: ClassVar[Quantity]
    """Go's zero value: 0 in no format yet."""

    amount: int
    scale: int
    format: str
    is_big: bool
    _text: str

    def __init__(
        self, amount: int, scale: int = 0, number_format: str = DECIMAL_SI, *, is_big: bool = False, text: str = ""
    ) -> None:
        """`text`: what `str` returns, if not the canonical form."""
        self.amount = amount
        self.scale = scale
        self.format = number_format
        self.is_big = is_big
        self._text = text

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """ParseQuantity: strict about spaces. ValueError with one of upstream's three texts."""
        return _parse(text)

    # -- integers -----------------------------------------------------------------------------------------------

    def value(self) -> int:
        """The number as int64, fractions rounded up."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """Thousandths as int64, rounded up."""
        return self.scaled_value(MILLI)

    def scaled_value(self, scale: int) -> int:
        """The number in units of 10 ** scale, as int64."""
        shift = self.scale - scale
        if self.is_big:
            return _big_scaled_value(self.amount, -shift)
        return _away_from_zero(self.amount, -shift) if shift < 0 else _scaled_up(self.amount, shift)[0]

    @property
    def sign(self) -> int:
        return (self.amount > 0) - (self.amount < 0)

    @property
    def is_zero(self) -> bool:
        return self.amount == 0

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def __add__(self, other: Quantity) -> Quantity:
        small = not (self.is_big or other.is_big)
        number_format = self.format if self.amount else other.format
        if small:
            total = _add_small(self, other.amount, other.scale)
            if total is not None:
                return Quantity(*total, number_format)
        return _add_big(self, other.amount, other.scale, number_format)

    def __sub__(self, other: Quantity) -> Quantity:
        number_format = self.format if self.amount else other.format
        if not (self.is_big or other.is_big):
            total = _add_small(self, wrap_int64(-other.amount), other.scale)
            if total is not None:
                return Quantity(*total, number_format)
        return _add_big(self, -other.amount, other.scale, number_format)

    def __neg__(self) -> Quantity:
        amount = -self.amount if self.is_big else wrap_int64(-self.amount)
        return Quantity(amount, self.scale, self.format, is_big=self.is_big)

    def mul(self, factor: int) -> tuple[Quantity, bool]:
        """The product, and whether its unscaled amount fits an int64. `factor` is an int64."""
        if not self.is_big:
            if self.amount == 0:
                return Quantity(0, self.scale, self.format), True
            if factor == 0:
                return Quantity(0, 0, self.format), True
            product = _multiply(self.amount, factor)
            if product is not None and _is_whole(product, self.scale):
                return Quantity(product, self.scale, self.format), True
        product = self.amount * factor
        return Quantity(product, self.scale, self.format, is_big=True), _fits(product)

    def round_up(self, scale: int) -> tuple[Quantity, bool]:
        """Rounded away from zero to units of 10 ** scale, and whether nothing was lost."""
        if self.scale >= scale:
            if not self.is_big:
                return self, True
            amount = self.amount * _power(self.scale - scale)
            return Quantity(amount, scale, self.format, is_big=True), True
        rounded = Quantity(_away_from_zero(self.amount, scale - self.scale), scale, self.format, is_big=self.is_big)
        return rounded, rounded.cmp(self) == 0

    def cmp(self, other: Quantity) -> int:
        """-1, 0 or 1."""
        a, b = self.amount, other.amount
        if self.scale != other.scale:
            if self.sign != other.sign or not a:
                a, b = self.sign, other.sign
            elif abs(self.scale - other.scale) > _MAX_DIGITS:  # then the longer number is the greater one
                a, b = (self.sign * (len(str(abs(q.amount))) + q.scale) for q in (self, other))
            else:
                a, b = _aligned(a, self.scale, b, other.scale)
        return (a > b) - (a < b)

    def __eq__(self, other: object) -> bool:
        return self.cmp(other) == 0 if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.cmp(other) < 0

    def __hash__(self) -> int:
        amount, zeros = _strip(self.amount, 10)
        return hash((amount, self.scale + zeros if amount else 0))

    # -- text ---------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        """As given, where parsing kept it; else canonical: no fraction, the largest suffix that loses nothing."""
        if not self._text:
            self._text = self._canonical()
        return self._text

    def _canonical(self) -> str:
        if not self.amount:
            return "0"
        if self.format == BINARY_SI and abs(self.amount) * 10 ** max(self.scale, 0) >= 1024 * 10 ** max(-self.scale, 0):
            rounded, exact = self.round_up(0)
            if exact:
                return rounded._base1024()
        return self._base1000()

    def _base1024(self) -> str:
        amount = self.amount * _power(self.scale)
        if amount == _MIN and not self.is_big:
            return str(amount)
        amount, times = _strip(amount, 1024)
        return f"{amount}{_BINARY_SUFFIX_OF.get(10 * times, '')}"

    def _base1000(self) -> str:
        amount, times = _strip(self.amount, 10)
        exponent = self.scale + times
        amount *= 10 ** (exponent % 3)
        exponent -= exponent % 3
        if self.format in (DECIMAL_SI, BINARY_SI):
            return f"{amount}{_DECIMAL_SUFFIX_OF.get(exponent, '')}"
        return f"{amount}e{exponent}" if exponent else str(amount)

    def __repr__(self) -> str:
        return f"Quantity.parse({str(self)!r})"


def _strip(amount: int, factor: int) -> tuple[int, int]:
    """`amount` without its factors, and how many there were."""
    times = 0
    while amount and amount % factor == 0:
        amount //= factor
        times += 1
    return amount, times


def _is_whole(amount: int, scale: int) -> bool:
    """int64Amount.Mul's second check: the whole number fits, or the fraction is none."""
    return _scaled_up(amount, scale)[1] if scale > 0 else scale == 0 or amount % 10**-scale == 0


def _aligned(a: int, a_scale: int, b: int, b_scale: int) -> tuple[int, int]:
    """Both amounts at the smaller scale."""
    if a_scale >= b_scale:
        return a * _power(a_scale - b_scale), b
    return a, b * _power(b_scale - a_scale)


def _add_small(a: Quantity, amount: int, scale: int) -> tuple[int, int] | None:
    """int64Amount.Add: None when it does not fit."""
    if amount == 0:
        return a.amount, a.scale
    if a.amount == 0:
        return amount, scale
    low = min(a.scale, scale)
    left, left_fits = _scaled_up(a.amount, a.scale - low)
    right, right_fits = _scaled_up(amount, scale - low)
    total = left + right
    return (total, low) if left_fits and right_fits and _fits(total) else None


def _add_big(a: Quantity, amount: int, scale: int, number_format: str) -> Quantity:
    left, right = _aligned(a.amount, a.scale, amount, scale)
    return Quantity(left + right, min(a.scale, scale), number_format, is_big=True)


def _big_scaled_value(amount: int, digits: int) -> int:
    """scaledValue: `amount` without its last `digits` digits, as int64; any remainder adds one, also below zero."""
    if digits == 0:
        return wrap_int64(amount)
    if digits < 0:
        return wrap_int64(amount * (10**-digits if digits >= -_MAX_SMALL_DIGITS else _MIN))
    if amount < _MAX and digits < 19:
        small = wrap_int64(amount)
        result = _quotient(small, 10**digits)
        return result if small == result * 10**digits else result + 1
    result, remainder = divmod(amount, _power(digits))
    return wrap_int64(wrap_int64(result) + (remainder != 0))


@lru_cache(maxsize=8192)
def _parse(text: str) -> Quantity:
    if text == "0":
        return Quantity(0, text="0")
    match = _parts(text) if text else None
    if match is None:
        raise ValueError(_WRONG_FORMAT)
    sign, digits, decimals, suffix_text = match.groups()
    suffix = _interpret(suffix_text)
    small = _parse_small(text, sign == "-", digits or "0", decimals or "", suffix)
    if small is not None:
        return small
    start = text[: match.start(4)]
    if not any("0" <= c <= "9" for c in start):
        raise ValueError(_WRONG_NUMBER)
    return _parse_big(sign == "-", digits or "0", decimals or "", suffix)


ZERO = Quantity.parse("0")
Quantity.EMPTY = Quantity(0, 0, "")


@lru_cache(maxsize=8192, typed=True)
def quantity(given: str | int | float) -> Quantity:
    """The Quantity in a manifest, where JSON numbers and spaces around the text are allowed too.

    ValueError with upstream's text; TypeError for what is neither text nor number.
    """
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise TypeError(f"quantity {given!r}: expected a text such as 500m or 1Gi, or a number")
    return _parse((given if isinstance(given, str) else repr(given)).strip())


@lru_cache(maxsize=8192, typed=True)
def value(given: str | int | float) -> int:
    """`quantity(given).value()`, remembered: bytes of memory, numbers of anything."""
    return quantity(given).value()


@lru_cache(maxsize=8192, typed=True)
def milli_value(given: str | int | float) -> int:
    """`quantity(given).milli_value()`, remembered: milli-CPUs."""
    return quantity(given).milli_value()
