"""Quantities: texts, int64 wrap-around, formats."""

from __future__ import annotations

import pytest

from k8slab.api.quantity import Quantity, milli_value, quantity, value, wrap_int64


@pytest.mark.parametrize(
    ("text", "canonical", "as_value", "as_milli"),
    [
        pytest.param("1.50", "1500m", 2, 1500, id="a decimal that is no multiple of three digits is printed anew"),
        pytest.param("1.500", "1.500", 2, 1500, id="a decimal of three digits keeps its text"),
        pytest.param("0.1Ki", "102400m", 103, 102400, id="a fraction of a binary unit is printed in decimal units"),
        pytest.param("0.1n", "1n", 1, 1, id="less than a billionth counts as one"),
        pytest.param("-0.1n", "-1n", 1, 1, id="a tiny negative number still rounds up to plus one"),
        pytest.param("1E", "1E", 10**18, 0, id="exa, whose thousandths do not fit an int64"),
        pytest.param("1E1", "10", 10, 10000, id="a capital E with a number is an exponent that prints without suffix"),
        pytest.param("1e20", "100e18", 0, 0, id="a value beyond int64 is silently zero"),
        pytest.param("8Ei", "9223372036854775807", 2**63 - 1, -1000, id="binary numbers are cut at the largest int64"),
        pytest.param(".", "0", 0, 0, id="a lone point is zero"),
        pytest.param("+", "0", 0, 0, id="a lone sign is zero"),
        pytest.param("Ki", "0", 0, 0, id="a lone suffix is zero"),
        pytest.param("007", "007", 7, 7000, id="leading zeros keep their place in the text"),
    ],
)
def test_parsing(text: str, canonical: str, as_value: int, as_milli: int) -> None:
    parsed = Quantity.parse(text)
    # 1E1 is DecimalExponent: upstream prints the exponent 0 as nothing.
    assert (str(parsed), parsed.value(), parsed.milli_value()) == (canonical, as_value, as_milli)


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1..2", "1h", "100%", "1e3Ki", "٣", "1\n"])
def test_wrong_format(text: str) -> None:
    with pytest.raises(ValueError, match="must match the regular expression"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["1K", "1Mm", "1e", "1e99999999999999999999", "1mi"])
def test_wrong_suffix(text: str) -> None:
    with pytest.raises(ValueError, match=r"unable to parse quantity's suffix|regular expression"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["Ei", "+Pi", ".Ei"])
def test_a_large_binary_suffix_without_digits_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="numeric part"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["1" * 5000, "1" * 19 + "e999999999", "1e-999999999"])
def test_huge_numbers_end_quickly(text: str) -> None:
    try:
        parsed = Quantity.parse(text)
    except ValueError as error:
        assert "numeric part" in str(error)
    else:
        assert str(parsed) == "1e-9"


def test_huge_exponents_compare_and_refuse_to_be_added() -> None:
    huge, one = Quantity.parse("1e99999"), Quantity.parse("1")
    assert huge > one
    assert -huge < one
    with pytest.raises(ValueError, match="at most 4000"):
        huge + one


def test_zero_adopts_the_format_of_what_is_added() -> None:
    total = Quantity.parse("0") + Quantity.parse("1Ki")
    assert (str(total), total.format) == ("1Ki", "BinarySI")
    assert str(Quantity.EMPTY + Quantity.parse("1e3")) == "1e3"


def test_the_smallest_int64_prints_without_its_suffix_only_as_int64() -> None:
    small, fits = Quantity.parse("-1Ki").mul(2**53)
    assert fits
    assert str(small) == str(-(2**63))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(2, 2000, id="an integer of YAML"),
        pytest.param(0.5, 500, id="a float of YAML"),
        pytest.param(" 1 ", 1000, id="spaces around"),
    ],
)
def test_manifests_may_hold_numbers(given: str | float, expected: int) -> None:
    assert milli_value(given) == expected


@pytest.mark.parametrize("given", [True, None, b"1"])
def test_other_types_are_refused(given: object) -> None:
    with pytest.raises(TypeError, match="expected a text"):
        quantity(given)  # type: ignore[arg-type]


def test_equal_numbers_are_equal_in_every_format() -> None:
    same = {Quantity.parse(t) for t in ("1024", "1Ki", "1.024k", "1024000m", "1024e0", "1024000000000n")}
    assert len(same) == 1
    assert value("1Ki") == 1024


def test_wrap_int64() -> None:
    assert wrap_int64(2**63) == -(2**63)
    assert wrap_int64(-(2**63) - 1) == 2**63 - 1
