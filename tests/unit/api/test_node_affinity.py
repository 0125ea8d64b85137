"""Node selectors and affinities."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.node_affinity import (
    NodeSelector,
    PreferredSchedulingTerms,
    matches_node_selector_terms,
    required_node_affinity,
)

NODE = {"metadata": {"name": "n1", "labels": {"zone": "a", "n": "5"}}}
GOOD = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
BAD = {"matchExpressions": [{"key": "zone", "operator": "Near"}]}
BAD_TEXT = (
    'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": supported values: '
    '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([], False, id="no term matches nothing"),
        pytest.param([{}], False, id="an empty term matches nothing"),
        pytest.param([{}, GOOD], True, id="one of the terms is enough"),
        pytest.param([BAD, GOOD], True, id="a bad term does not matter when another matches"),
        pytest.param(
            [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}], True, id="name"
        ),
        pytest.param(
            [{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}],
            False,
            id="not the name",
        ),
        pytest.param([{"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["4"]}]}], True, id="greater"),
        pytest.param(
            [{**GOOD, "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]}], False, id="and"
        ),
    ],
)
def test_terms(terms: list[dict[str, Any]], expected: bool) -> None:
    assert matches_node_selector_terms(NODE, {"nodeSelectorTerms": terms}) is expected


def test_errors_show_when_nothing_matches() -> None:
    with pytest.raises(ValueError) as error:
        matches_node_selector_terms(NODE, {"nodeSelectorTerms": [BAD]})
    assert str(error.value) == BAD_TEXT
    with pytest.raises(ValueError):
        NodeSelector({"nodeSelectorTerms": [BAD, GOOD]}).check()


def test_errors_of_one_requirement_are_not_nested() -> None:
    expression = {"key": "a b", "operator": "In", "values": ["c d", "e"]}
    with pytest.raises(ValueError) as error:
        matches_node_selector_terms(NODE, {"nodeSelectorTerms": [{"matchExpressions": [expression, expression]}]})
    assert str(error.value).count("[nodeSelectorTerms") == 1
    assert str(error.value).count("Invalid value") == 4


@pytest.mark.parametrize(
    ("field", "message"),
    [
        pytest.param(
            {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
            '[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element',
            id="two names",
        ),
        pytest.param(
            {"key": "metadata.name", "operator": "In"},
            "[0].matchFields[0].values: Invalid value: null: must have one element",
            id="no names",
        ),
        pytest.param(
            {"key": "metadata.name", "operator": "Exists"},
            '[0].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
            id="an operator for labels only",
        ),
    ],
)
def test_preferred_terms_must_parse(field: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        PreferredSchedulingTerms([{"weight": 1, "preference": {"matchFields": [field]}}])
    assert str(error.value) == message


def test_weights_of_matching_terms_are_summed() -> None:
    other = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
    terms = PreferredSchedulingTerms(
        [
            {"weight": 3, "preference": GOOD},
            {"weight": 10, "preference": other},
            {"weight": 4, "preference": GOOD},
            {"weight": 0, "preference": BAD},
            {"weight": 100, "preference": {}},
        ]
    )
    assert terms.score(NODE) == 7
    assert PreferredSchedulingTerms([]).score(NODE) == 0


def test_node_selector_and_affinity_must_both_hold() -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [GOOD]}}}
    assert required_node_affinity({"spec": {"nodeSelector": {"n": "5"}, "affinity": affinity}}).matches(NODE)
    assert not required_node_affinity({"spec": {"nodeSelector": {"n": "6"}, "affinity": affinity}}).matches(NODE)
    assert required_node_affinity({"spec": {}}).empty
    assert not required_node_affinity({"spec": {"nodeSelector": {"n": "5"}}}).matches({"metadata": {"name": "bare"}})
