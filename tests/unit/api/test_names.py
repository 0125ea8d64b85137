"""Names: syntax, generated suffixes, hashes."""

from __future__ import annotations

import random

import pytest

from k8slab.api.names import (
    VALIDATORS,
    fnv32a,
    generate_name,
    is_dns1123_label,
    is_path_segment_name,
    is_relaxed_env_var_name,
    is_valid_port_num,
    random_suffix,
    safe_encode,
)


@pytest.mark.parametrize(
    ("function", "value", "count"),
    [
        pytest.param("IsDNS1123Label", "a" * 64, 1, id="a label of 64 characters is too long"),
        pytest.param("IsDNS1123Label", "A" * 64, 2, id="length and syntax are two errors"),
        pytest.param("IsDNS1123Label", "web\n", 1, id="a newline at the end is not overlooked"),
        pytest.param("IsDNS1123Subdomain", "a.b-c.d", 0, id="a subdomain"),
        pytest.param("IsDNS1035Label", "1a", 1, id="an old label must not start with a digit"),
        pytest.param("IsQualifiedName", "Example.com/a", 1, id="the prefix must be lower case"),
        pytest.param("IsQualifiedName", "/", 3, id="nothing on either side of the slash"),
        pytest.param("IsValidLabelValue", "é" * 32, 2, id="lengths are counted in bytes"),
        pytest.param("IsValidPortName", "--", 3, id="only hyphens"),
        pytest.param("IsConfigMapKey", "..data", 1, id="a key that would leave its folder"),
        pytest.param("IsEnvVarName", "1A", 1, id="the strict rule for variables"),
        pytest.param("IsRelaxedEnvVarName", "1 A", 0, id="the relaxed rule for variables"),
        pytest.param("IsValidPercent", "101%", 0, id="percentages may exceed a hundred"),
        pytest.param("IsCIdentifier", "a-b", 1, id="a hyphen in an identifier"),
    ],
)
def test_validators(function: str, value: str, count: int) -> None:
    assert len(VALIDATORS[function](value)) == count


def test_a_label_with_dots_gets_its_own_text() -> None:
    assert is_dns1123_label("a.b") == ["must not contain dots"]


def test_path_segments() -> None:
    assert is_path_segment_name("..") == ["may not be '..'"]
    assert is_path_segment_name("a/%") == ["may not contain '/'", "may not contain '%'"]


def test_relaxed_variables_are_printable_ascii() -> None:
    assert is_relaxed_env_var_name("") == ["environment variable name must be non-empty"]
    assert [len(is_relaxed_env_var_name(v)) for v in ("a=b", "é", "\t", "~!")] == [1, 1, 1, 0]


def test_ports() -> None:
    assert [bool(is_valid_port_num(n)) for n in (0, 1, 65535, 65536)] == [True, False, False, True]


def test_generated_names_are_cut_to_63_characters_and_use_27_letters() -> None:
    rng = random.Random(7)
    name = generate_name("x" * 100, rng)
    assert name.startswith("x" * 58) and len(name) == 63
    assert set(random_suffix(rng, 5000)) == set("bcdfghjklmnpqrstvwxz2456789")
    assert generate_name("web-", random.Random(1)) == generate_name("web-", random.Random(1))


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)],
    ids=["the empty text", "one letter", "six letters"],
)
def test_fnv32a_by_its_published_vectors(data: bytes, expected: int) -> None:
    assert fnv32a(data) == expected


def test_safe_encode_maps_by_remainder() -> None:
    # ord("0") is 48: 48 % 27 = 21, the 22nd of the 27 letters; "1" comes next.
    assert safe_encode("01") == "bcdfghjklmnpqrstvwxz2456789"[21:23]
