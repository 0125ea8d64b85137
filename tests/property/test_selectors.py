"""Selectors against naive evaluators that read the requirement list as the documentation words it."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from k8slab.api.fields import escape_value, parse_field_selector
from k8slab.api.labels import Requirement, Selector, parse_selector, selector_from_dict
from tests.counts import examples

KEYS = ["app", "tier", "example.com/n"]
VALUES = ["", "web", "db", "5", "-3", "05", "10"]
keys = st.sampled_from(KEYS)
values = st.sampled_from(VALUES)
labels = st.dictionaries(keys, values, max_size=3)
numbers = st.integers(-20, 20)


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    operator = draw(st.sampled_from(["=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt"]))
    if operator in ("exists", "!"):
        chosen: list[str] = []
    elif operator in ("gt", "lt"):
        chosen = [str(draw(st.integers(0, 20)))]
    else:
        label_values = values.filter(lambda v: not v.startswith("-"))
        chosen = draw(st.lists(label_values, min_size=1, max_size=1 if "=" in operator else 3, unique=True))
    return Requirement(draw(keys), operator, tuple(chosen))


def holds(r: Requirement, found: dict[str, str]) -> bool:
    if r.operator in ("=", "==", "in"):
        return r.key in found and any(found[r.key] == v for v in r.values)
    if r.operator in ("!=", "notin"):
        return not (r.key in found and any(found[r.key] == v for v in r.values))
    if r.operator == "exists":
        return r.key in found
    if r.operator == "!":
        return r.key not in found
    try:
        number = int(found[r.key])
    except (KeyError, ValueError):
        return False
    return number > int(r.values[0]) if r.operator == "gt" else number < int(r.values[0])


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(requirements(), max_size=4), labels)
def test_a_selector_is_the_conjunction_of_its_requirements(given_: list[Requirement], found: dict[str, str]) -> None:
    assert Selector(given_).matches(found) == all(holds(r, found) for r in given_)


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(requirements(), max_size=4), labels)
def test_printing_and_parsing_leads_back(given_: list[Requirement], found: dict[str, str]) -> None:
    selector = Selector(given_)
    again = parse_selector(str(selector))
    assert str(again) == str(selector)
    assert again.matches(found) == selector.matches(found)


@settings(deadline=None, max_examples=examples(200))
@given(st.dictionaries(keys, values.filter(lambda v: not v.startswith("-")), max_size=3), labels)
def test_match_labels_is_inclusion(wanted: dict[str, str], found: dict[str, str]) -> None:
    assert selector_from_dict({"matchLabels": wanted}).matches(found) == (wanted.items() <= found.items())


@settings(deadline=None, max_examples=examples(300))
@given(st.text(alphabet="ab=!(),>< \tin\0é", max_size=12))
def test_any_text_is_parsed_or_refused_with_a_text(text: str) -> None:
    try:
        selector = parse_selector(text)
    except ValueError as error:
        assert str(error)
    else:
        assert parse_selector(str(selector)) == selector


fields = st.sampled_from(["metadata.name", "spec.nodeName"])
field_values = st.text(alphabet="ab,=\\ !", max_size=4)


@settings(deadline=None, max_examples=examples(300))
@given(
    st.lists(st.tuples(fields, st.booleans(), field_values), max_size=3),
    st.dictionaries(fields, field_values, max_size=2),
)
def test_field_selectors_compare_for_equality(terms: list[tuple[str, bool, str]], found: dict[str, str]) -> None:
    text = ",".join(f"{f}{'=' if equal else '!='}{escape_value(v)}" for f, equal, v in terms)
    expected = all((found.get(f, "") == v) == equal for f, equal, v in terms)
    assert parse_field_selector(text).matches(found) == expected
