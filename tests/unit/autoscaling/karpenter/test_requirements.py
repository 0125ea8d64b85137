"""The algebra of requirements: kubernetes-sigs/karpenter pkg/scheduling/requirement.go and requirements.go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.autoscaling.karpenter import WELL_KNOWN_LABELS, Requirement, Requirements
from k8slab.autoscaling.karpenter.requirement import parse_requirement
from k8slab.autoscaling.karpenter.requirements import pod_requirements, strict_pod_requirements
from tests.karpenter import rule

UNIVERSE = ["0", "1", "2", "3", "9", "x", "y"]


def of(operator: str, *values: str, **more: Any) -> Requirement:
    return Requirement.of("k", operator, values, **more)


def allowed(operator: str, values: list[str], value: str) -> bool:
    """The naive twin: what the operator says of one value."""
    number = int(value) if value.isdecimal() else None
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return True
        case "DoesNotExist":
            return False
        case "Gt":
            return number is not None and number > int(values[0])
        case "Lt":
            return number is not None and number < int(values[0])
        case "Gte":
            return number is not None and number >= int(values[0])
    return number is not None and number <= int(values[0])


OPERATIONS: st.SearchStrategy[tuple[str, list[str]]] = st.one_of(
    st.tuples(st.sampled_from(["In", "NotIn"]), st.lists(st.sampled_from(UNIVERSE), min_size=1, max_size=4)),
    st.tuples(st.sampled_from(["Exists", "DoesNotExist"]), st.just([])),
    st.tuples(st.sampled_from(["Gt", "Lt", "Gte", "Lte"]), st.sampled_from(["0", "2", "5"]).map(lambda v: [v])),
)


@given(st.lists(OPERATIONS, min_size=1, max_size=4))
def test_an_intersection_allows_what_every_part_allows(parts: list[tuple[str, list[str]]]) -> None:
    total = of(parts[0][0], *parts[0][1])
    for operator, values in parts[1:]:
        total = total.intersection(of(operator, *values))
    for value in UNIVERSE:
        assert total.has(value) == all(allowed(operator, values, value) for operator, values in parts)


@given(OPERATIONS, OPERATIONS)
def test_two_requirements_intersect_if_a_value_is_left_for_both(
    first: tuple[str, list[str]], second: tuple[str, list[str]]
) -> None:
    one, other = of(first[0], *first[1]), of(second[0], *second[1])
    both = one.intersection(other)
    left = any(both.has(value) for value in UNIVERSE) or both.complement  # a complement always has values elsewhere
    assert one.has_intersection(other) == other.has_intersection(one) == left


@pytest.mark.parametrize(
    ("made", "text"),
    [
        pytest.param(of("In", "b", "a"), "k In [a b]", id="values are sorted"),
        pytest.param(of("In", *"abcdefg"), "k In [a b c d e and 2 others]", id="five of many values are shown"),
        pytest.param(of("NotIn", "a"), "k NotIn [a]", id="what is excluded is a NotIn"),
        pytest.param(of("Exists"), "k Exists", id="everything is Exists"),
        pytest.param(of("In", "a").intersection(of("In", "b")), "k DoesNotExist", id="nothing is DoesNotExist"),
        pytest.param(of("Gt", "3"), "k Exists >=4", id="Gt N is N+1 and more"),
        pytest.param(of("Lt", "9"), "k Exists <=8", id="Lt N is N-1 and less"),
        pytest.param(of("Gt", "3").intersection(of("Lt", "6")), "k Exists >=4 <=5", id="bounds add up"),
        pytest.param(of("Gt", "3").intersection(of("Lt", "4")), "k DoesNotExist", id="no integer is left between"),
        pytest.param(of("Exists", min_values=3), "k Exists minValues 3", id="minValues are named"),
    ],
)
def test_how_a_requirement_reads(made: Requirement, text: str) -> None:
    assert str(made) == text


def test_the_greater_min_values_counts() -> None:
    assert of("Exists", min_values=2).intersection(of("Exists", min_values=5)).min_values == 5
    assert of("In", "a", min_values=2).intersection(of("Exists")).min_values == 2


def test_old_names_of_labels_count_as_the_new_ones() -> None:
    assert Requirement.of("beta.kubernetes.io/arch", "Exists").key == "kubernetes.io/arch"
    assert Requirement.of("failure-domain.beta.kubernetes.io/zone", "Exists").key == "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        pytest.param(of("In", "b", "a"), [rule("k", "In", "a", "b")], id="In"),
        pytest.param(of("NotIn", "a"), [rule("k", "NotIn", "a")], id="NotIn"),
        pytest.param(
            of("Gt", "1").intersection(of("Lt", "5", min_values=2)),
            [rule("k", "Gte", "2", minValues=2), rule("k", "Lte", "4", minValues=2)],
            id="two bounds are two entries",
        ),
    ],
)
def test_a_requirement_is_written_as_it_can_be_read(made: Requirement, rows: list[dict[str, Any]]) -> None:
    assert made.to_manifest() == rows
    read = Requirements(parse_requirement(row, "r") for row in rows).get("k")
    assert [read.has(value) for value in UNIVERSE] == [made.has(value) for value in UNIVERSE]


# -- several keys: Requirements.Compatible ------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "known", "verdict"),
    [
        pytest.param(rule("team", "In", "a"), rule("team", "In", "a", "b"), "", id="a common value will do"),
        pytest.param(rule("team", "In", "c"), rule("team", "In", "a"), "key team, team In [c] not in team In [a]",
                     id="no common value"),
        pytest.param(rule("team", "In", "a"), None, 'label "team" does not have known values',
                     id="a custom label that no NodePool names is refused"),
        pytest.param(rule("team", "NotIn", "a"), None, "", id="but it may be excluded"),
        pytest.param(rule("team", "DoesNotExist"), None, "", id="or be absent"),
        pytest.param(rule("team", "Exists"), None, 'label "team" does not have known values', id="or not be there"),
        pytest.param(rule("team", "NotIn", "a"), rule("team", "DoesNotExist"), "",
                     id="two that only exclude agree on a node without the label"),
        pytest.param(rule("kubernetes.io/arch", "In", "arm64"), None, "",
                     id="a well-known label may be asked for though no NodePool names it"),
        pytest.param(rule("karpenter.sh/instance-size", "In", "large"), None,
                     'label "karpenter.sh/instance-size" does not have known values '
                     '(typo of "karpenter.k8s.aws/instance-size"?)', id="E117: the right label is guessed"),
    ],
)  # fmt: skip
def test_what_a_pod_may_ask_of_a_pool(wanted: dict[str, Any], known: dict[str, Any] | None, verdict: str) -> None:
    pool = Requirements.parse([known] if known else [], "pool")
    pod = Requirements.parse([wanted], "pod")
    assert pool.incompatible(pod, WELL_KNOWN_LABELS) == verdict
    assert pool.compatible(pod, WELL_KNOWN_LABELS) == (verdict == "")


def test_preferences_count_as_required_until_they_are_dropped() -> None:
    """scheduling.md, Preferences: Karpenter treats preferred affinities as required, the heaviest first."""

    def term(key: str, value: str) -> dict[str, Any]:
        return {"matchExpressions": [rule(key, "In", value)]}

    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term("r", "1"), term("r", "2")]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": term("p", "light")},
                {"weight": 9, "preference": term("p", "heavy")},
            ],
        }
    }
    pod = {"metadata": {"name": "p"}, "spec": {"nodeSelector": {"s": "1"}, "affinity": affinity, "containers": []}}
    assert str(strict_pod_requirements(pod)) == "r In [1], s In [1]"
    assert str(pod_requirements(pod)) == "p In [heavy], r In [1], s In [1]"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param({"operator": "In"}, "r.key: Required value", id="no key"),
        pytest.param(rule("k", "Near", "a"), 'r.operator: Unsupported value: "Near": supported values: "In", "NotIn", '
                     '"Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"', id="an unknown operator"),
        pytest.param(rule("k", "In"), "r: Invalid value: requirements with operator 'In' must have a value defined",
                     id="In without values"),
        pytest.param(rule("k", "Gt", "x"), "r: Invalid value: requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must "
                     "have a single positive integer value", id="a bound that is no number"),
        pytest.param(rule("k", "Lt", "-1"), "r: Invalid value: requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must "
                     "have a single positive integer value", id="a bound below zero"),
        pytest.param(rule("k", "In", "a", minValues=2), "r: Invalid value: requirements with 'minValues' must have at "
                     "least that many values specified in the 'values' field", id="more minValues than values"),
        pytest.param(rule("k", "Exists", minValues=51),
                     "r.minValues: Invalid value: 51: expected a number from 1 to 50",
                     id="too many minValues"),
    ],
)  # fmt: skip
def test_bad_requirements_are_refused_by_their_path(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_requirement(raw, "r")
    assert str(refused.value) == message


def test_a_bound_of_zero_is_fine() -> None:
    assert str(parse_requirement(rule("k", "Gt", "0"), "r")) == "k Exists >=1"
