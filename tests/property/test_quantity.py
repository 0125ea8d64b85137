"""Quantities against fractions: exact where both fit, never off by a rounding."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import hypothesis.strategies as st
from hypothesis import given, settings

from k8slab.api.quantity import BINARY_SI, Quantity
from tests.counts import examples

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
NANO = Fraction(1, 10**9)


def number(text: str) -> Fraction:
    """The naive twin: decimal digits times the suffix, rounded away from zero to nine places, binary ones cut."""
    digits = text.rstrip("".join({*"nukmMGTPEi", "K"}))
    suffix = text[len(digits) :]
    if "e" in digits:
        exact = Fraction(Decimal(digits))
    else:
        exact = Fraction(digits) * (
            Fraction(2) ** BINARY[suffix] if suffix in BINARY else Fraction(10) ** DECIMAL[suffix]
        )
    units, rest = divmod(abs(exact), NANO)
    size = (units + (rest > 0)) * NANO
    if suffix in BINARY:
        size = min(size, Fraction(2**63 - 1))
    return size if exact >= 0 else -size


def exact(q: Quantity) -> Fraction:
    return Fraction(q.amount) * Fraction(10) ** q.scale


@st.composite
def texts(draw: st.DrawFn) -> str:
    digits = draw(st.integers(0, 10**19).map(str)) + draw(
        st.one_of(st.just(""), st.integers(0, 10**12).map(".{}".format))
    )
    suffix = draw(st.one_of(st.sampled_from([*DECIMAL, *BINARY]), st.integers(-12, 12).map("e{}".format)))
    return draw(st.sampled_from(["", "-"])) + digits + suffix


@settings(deadline=None, max_examples=examples(400))
@given(texts())
def test_parsing_keeps_the_number(text: str) -> None:
    assert exact(Quantity.parse(text)) == number(text)


@settings(deadline=None, max_examples=examples(400))
@given(texts(), texts())
def test_arithmetic_and_order_are_exact(left: str, right: str) -> None:
    a, b = Quantity.parse(left), Quantity.parse(right)
    x, y = number(left), number(right)
    assert exact(a + b) == x + y
    assert exact(a - b) == x - y
    assert a.cmp(b) == (x > y) - (x < y)
    assert (a == b) == (x == y)
    if x == y:
        assert hash(a) == hash(b)


@settings(deadline=None, max_examples=examples(400))
@given(texts())
def test_the_canonical_text_means_the_same_number(text: str) -> None:
    parsed = Quantity.parse(text)
    printed = str(parsed + Quantity.EMPTY)  # without the text that parsing kept
    if abs(exact(parsed)) < 10**21:  # beyond exa there is no suffix, and upstream drops the zeros
        assert Quantity.parse(printed) == parsed or (parsed.format == BINARY_SI and abs(exact(parsed)) >= 2**63 - 1)


@settings(deadline=None, max_examples=examples(400))
@given(texts(), st.integers(-9, 6))
def test_scaled_values_round_up(text: str, scale: int) -> None:
    x = number(text) / Fraction(10) ** scale
    got = Quantity.parse(text).scaled_value(scale)
    if 0 <= x < 2**62:
        assert got == -(-x // 1)


@settings(deadline=None, max_examples=examples(200))
@given(texts(), st.integers(-(2**63), 2**63 - 1))
def test_products_are_exact(text: str, factor: int) -> None:
    product, fits = Quantity.parse(text).mul(factor)
    assert exact(product) == number(text) * factor
    assert not fits or -(2**63) <= product.amount < 2**63
