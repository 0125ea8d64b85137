"""What JSON cannot hold is named, with its place."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.objects import freeze
from k8slab.api.plain import MAX_DEPTH, UnfitError, plain_copy


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def looped() -> dict[str, Any]:
    value: dict[str, Any] = {"spec": {}}
    value["spec"]["me"] = [value]
    return value


def test_a_copy_is_equal_and_shares_nothing() -> None:
    value = {"a": [1, 2.5, None, True, {"b": "c"}], "d": {}}
    copy = plain_copy(freeze(value))
    assert copy == value
    copy["a"][4]["b"] = "x"
    copy["d"]["e"] = 1
    assert value == {"a": [1, 2.5, None, True, {"b": "c"}], "d": {}}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"a": [float("inf")]}, "a[0]: +Inf: expected a finite number, as JSON holds them", id="infinity"),
        pytest.param(float("-inf"), "-Inf: expected a finite number, as JSON holds them", id="minus infinity"),
        pytest.param({"a": {"b": {1, 2}}}, "a.b: json: unsupported type: set: expected a value that JSON", id="a set"),
        pytest.param({"a": {1: 2}}, "a: json: unsupported type of key: 1: expected texts", id="a number as key"),
        pytest.param(nested(MAX_DEPTH + 1), "a.a.a.a: exceeded max depth: expected at most 200 levels", id="too deep"),
        pytest.param(nested(100_000), "a.a.a.a: exceeded max depth: expected at most 200 levels", id="much too deep"),
        pytest.param(looped(), "spec.me[0].spec: exceeded max depth: expected at most 200 levels, and", id="a loop"),
    ],
)
def test_what_does_not_fit_is_named(value: Any, text: str) -> None:
    with pytest.raises(UnfitError) as caught:
        plain_copy(value)
    assert str(caught.value).startswith(text)


def test_as_deep_as_allowed() -> None:
    assert plain_copy(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
