"""JSON as Go writes it, and in the words of its decoder. Expected texts are those of encoding/json."""

from __future__ import annotations

import pytest

from k8slab.api.go_json import JSONError, go_json, parse


def test_html_and_line_separators_are_escaped() -> None:
    assert go_json({"a": ["<&>", "\u2028\u2029"]}) == r'{"a":["\u003c\u0026\u003e","\u2028\u2029"]}'
    assert go_json("\u00e9") == '"\u00e9"'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{not json", "invalid character 'n' looking for beginning of object key string"),
        (b'{"a" true}', "invalid character 't' after object key"),
        (b"[1 false]", "invalid character 'f' after array element"),
        (b"1 null", "invalid character 'n' after top-level value"),
        (b"trie", "invalid character 'i' in literal true (expecting 'u')"),
        (b"\xff", "invalid character '\u00ff' looking for beginning of value"),
        ("ü".encode(), "invalid character '\u00c3' looking for beginning of value"),
        (b'{"\xfc": "\xfc" \x00', r"invalid character '\x00' after object key:value pair"),
        (b'["\t"]', r"invalid character '\t' in string literal"),
        (b"9" * 5_000, f"json: cannot unmarshal number {'9' * 5_000} into Go value of type float64"),
    ],
)
def test_what_is_no_json_is_told_as_go_does(body: bytes, text: str) -> None:
    with pytest.raises(JSONError) as error:
        parse(body)
    assert str(error.value) == text


def test_half_a_surrogate_pair_is_replaced_and_duplicates_are_still_known() -> None:
    assert parse(rb'{"a": ["\ud800", "\ud83d\ude00"], "a": {"\uDFFF": 1}, "b": 2}') == (
        {"a": {"\ufffd": 1}, "b": 2},
        ("a",),
    )
    assert parse(rb'["\\ud800"]') == (["\\ud800"], ())
