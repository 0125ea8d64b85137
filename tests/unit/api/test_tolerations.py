"""Taints and tolerations."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.tolerations import (
    FOREVER,
    find_matching_untolerated_taint,
    is_scheduling_taint,
    matching_tolerations,
    min_toleration_seconds,
    no_execute_taints,
    taint_exists,
    tolerates,
)

DOWN = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        pytest.param(
            {"operator": "Exists"}, {"key": "a", "effect": "NoSchedule"}, True, id="exists without a key is all"
        ),
        pytest.param({}, {"key": "a", "effect": "NoSchedule"}, True, id="equal without a key and value: empty values"),
        pytest.param({}, {"key": "a", "value": "x"}, False, id="equal without a value is not any value"),
        pytest.param({"key": "a", "value": "x"}, {"key": "a", "value": "x", "effect": "E"}, True, id="any effect"),
        pytest.param(
            {"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule"}, False, id="other effect"
        ),
        pytest.param({"key": "b", "operator": "Exists"}, {"key": "a"}, False, id="another key"),
        pytest.param({"key": "a", "operator": "Maybe"}, {"key": "a"}, False, id="an unknown operator matches nothing"),
        pytest.param(
            {"key": "node.kubernetes.io/unschedulable", "value": "x"},
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
            False,
            id="a cordon has the empty value",
        ),
    ],
)
def test_tolerates(toleration: dict[str, Any], taint: dict[str, Any], expected: bool) -> None:
    assert tolerates(toleration, taint) is expected


@pytest.mark.parametrize(
    ("operator", "bound", "expected"),
    [
        ("Gt", "5", True),
        ("Gt", "10", False),
        ("Lt", "11", True),
        ("Lt", "10", False),
        ("Gt", "05", False),
        ("Gt", "x", False),
    ],
)
def test_comparisons_need_their_gate(operator: str, bound: str, expected: bool) -> None:
    toleration, taint = {"key": "sla", "operator": operator, "value": bound}, {"key": "sla", "value": "10"}
    assert tolerates(toleration, taint, comparison_operators=True) is expected
    assert not tolerates(toleration, taint)


def test_only_the_first_matching_toleration_of_a_taint_counts() -> None:
    forever = {"key": DOWN["key"], "operator": "Exists"}
    limited = {**forever, "tolerationSeconds": 300}
    assert matching_tolerations([DOWN], [forever, limited]) == [forever]
    assert matching_tolerations([DOWN], [limited, forever]) == [limited]
    assert matching_tolerations([DOWN, {"key": "x", "effect": "NoExecute"}], [limited]) is None
    assert matching_tolerations([], []) == []


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param([], 0, id="no toleration at all: at once"),
        pytest.param([None], FOREVER, id="no limit"),
        pytest.param([None, 300, 60], 60, id="the least of several"),
        pytest.param([300, -5], 0, id="below zero is at once"),
    ],
)
def test_min_toleration_seconds(seconds: list[int | None], expected: int) -> None:
    assert min_toleration_seconds([{} if s is None else {"tolerationSeconds": s} for s in seconds]) == expected


def test_the_first_untolerated_taint_of_those_that_matter() -> None:
    soft, hard = {"key": "s", "effect": "PreferNoSchedule"}, {"key": "h", "effect": "NoSchedule"}
    assert find_matching_untolerated_taint([soft, hard], []) is soft
    assert find_matching_untolerated_taint([soft, hard], [], is_scheduling_taint) is hard
    assert find_matching_untolerated_taint([soft, hard], [{"operator": "Exists"}]) is None


def test_taints_are_known_by_key_and_effect() -> None:
    assert taint_exists([{**DOWN, "value": "x"}], DOWN)
    assert not taint_exists([{**DOWN, "effect": "NoSchedule"}], DOWN)
    assert not taint_exists(None, DOWN)
    assert no_execute_taints([DOWN, {"key": "a", "effect": "NoSchedule"}]) == [DOWN]
    assert no_execute_taints(None) == []
