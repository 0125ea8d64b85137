"""Label and field selectors."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.fields import parse_field_selector
from k8slab.api.labels import (
    EVERYTHING,
    NOTHING,
    AggregateError,
    Selector,
    format_label_selector,
    go_quote,
    new_requirement,
    parse_int64,
    parse_selector,
    selector_from_dict,
    selector_from_set,
)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        pytest.param("app!=web", {}, True, id="unequal matches objects without the label"),
        pytest.param("app notin (web)", {}, True, id="notin matches objects without the label"),
        pytest.param("app in ()", {"app": ""}, True, id="an empty set of values means the empty value"),
        pytest.param("app in ()", {}, False, id="the empty value is not an absent label"),
        pytest.param("n>04", {"n": "5"}, True, id="numbers are compared as numbers"),
        pytest.param("n>4", {"n": "x"}, False, id="what is no number is neither greater nor less"),
        pytest.param("in in (in)", {"in": "in"}, True, id="keywords may be keys and values"),
        pytest.param("a,!b", {"a": ""}, True, id="presence and absence"),
    ],
)
def test_matching(text: str, labels: dict[str, str], expected: bool) -> None:
    assert parse_selector(text).matches(labels) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("app=web,", "found '', expected: identifier after ','", id="a trailing comma"),
        pytest.param(
            "app NOTIN (web)",
            "unable to parse requirement: found 'NOTIN', expected: in, notin, =, ==, !=, gt, lt",
            id="operators are lower case",
        ),
        pytest.param(
            "app in (a=b)", "unable to parse requirement: found '=', expected: ',' or ')'", id="an operator in a list"
        ),
        pytest.param("app in =", "unable to parse requirement: found '=' expected: '('", id="no parenthesis after in"),
        pytest.param(
            "app in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier", id="not a value"
        ),
        pytest.param(
            "app in (,=)", "unable to parse requirement: found '=', expected: ',', or identifier", id="comma, no value"
        ),
        pytest.param(")", "found ')', expected: !, identifier, or 'end of string'", id="starts with a parenthesis"),
        pytest.param("!", "unable to parse requirement: found '', expected: identifier", id="a lone exclamation mark"),
    ],
)
def test_parse_errors(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_selector(text)
    assert str(error.value) == message


def test_a_nul_character_ends_the_text_only_between_words() -> None:
    assert str(parse_selector("a,b\0")) == "a,b"
    with pytest.raises(ValueError, match="found 'b'"):
        parse_selector("a\0b")


def test_everything_and_nothing() -> None:
    assert EVERYTHING.matches({}) and EVERYTHING.empty
    assert not NOTHING.matches({}) and not NOTHING.empty
    assert selector_from_dict(None) is NOTHING
    assert selector_from_dict({}) is EVERYTHING
    assert selector_from_set(None) == EVERYTHING
    assert repr(NOTHING) == "NOTHING"
    assert format_label_selector(None) == "<none>"
    assert format_label_selector({"matchLabels": {"a": "b c"}}) == "<error>"


def test_a_service_selector_is_not_checked() -> None:
    assert selector_from_set({"app": "no such value!"}).matches({"app": "no such value!"})


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param(
            {"key": "a", "operator": "Gt"}, '"Gt" is not a valid label selector operator', id="node operators"
        ),
        pytest.param(
            {"key": "a", "operator": "In"},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="no values",
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "values": ["<x>"]},
            'values: Invalid value: ["\\u003cx\\u003e"]: values set must be empty for exists and does not exist',
            id="values where none may be, escaped as Go does",
        ),
    ],
)
def test_label_selector_objects(expression: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        selector_from_dict({"matchExpressions": [expression]})
    assert message in str(error.value)


def test_several_errors_are_put_in_brackets() -> None:
    with pytest.raises(AggregateError) as error:
        new_requirement("a b", "in", ["c d"], "spec")
    assert [m.split(":")[0] for m in error.value.messages] == ["spec.key", "spec.values[0][a b]"]
    assert str(error.value) == "[" + ", ".join(error.value.messages) + "]"
    assert str(AggregateError(["same", "same"])) == "same"


def test_unknown_operators_are_not_supported() -> None:
    with pytest.raises(ValueError, match='operator: Unsupported value: "~": supported values: "in", "notin", "="'):
        new_requirement("a", "~", ["b"])


def test_requires_exact_match() -> None:
    selector = parse_selector("a=1,b in (2),c in (3,4)")
    assert [selector.requires_exact_match(k) for k in "abcd"] == ["1", "2", None, None]


def test_selectors_are_values() -> None:
    assert parse_selector("b=1, a=2") == parse_selector("a=2,b=1")
    assert len({parse_selector("a"), parse_selector("a "), Selector()}) == 2
    assert repr(parse_selector("a")) == "parse_selector('a')"


def test_go_texts() -> None:
    assert go_quote('é"\\\n\x7f\u200b') == r'"é\"\\\n\x7f\u200b"'
    assert [parse_int64(t) for t in ("+5", "-0", "9223372036854775808", "1_0", "", "٣")] == [
        5,
        0,
        None,
        None,
        None,
        None,
    ]


def test_field_selectors_keep_spaces_and_treat_absent_as_empty() -> None:
    assert parse_field_selector("spec.nodeName=").matches({})
    assert parse_field_selector("spec.nodeName!=").matches({"spec.nodeName": "n1"})
    assert not parse_field_selector("metadata.name = a").matches({"metadata.name": "a"})
    assert parse_field_selector("=").empty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a=b\\", "invalid field selector: invalid escape sequence: \\", id="a backslash at the end"),
        pytest.param("a=b\\c", "invalid field selector: invalid escape sequence: \\c", id="an escaped letter"),
        pytest.param("a=b=c", "invalid field selector: unescaped character in value: 61", id="a bare equals sign"),
        pytest.param("a", "invalid selector: 'a'; can't understand 'a'", id="no operator"),
    ],
)
def test_field_selector_errors(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_field_selector(text)
    assert str(error.value) == message


def test_field_selector_values_are_escaped() -> None:
    selector = parse_field_selector("a=x\\,y\\=z\\\\")
    assert selector.requirements[0].value == "x,y=z\\"
    assert str(selector) == "a=x\\,y\\=z\\\\"
    assert selector.requires_exact_match("a") == "x,y=z\\"
    assert selector == parse_field_selector(str(selector))


def test_field_selectors_can_be_transformed() -> None:
    selector = parse_field_selector("a=1,b!=2")
    renamed = selector.transform(lambda field, value: ("", "") if field == "a" else (field.upper(), value))
    assert str(renamed) == "B!=2"
