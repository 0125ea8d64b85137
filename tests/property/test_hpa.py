"""The autoscaler against deliberately naive twins, and what must hold whatever is asked of it."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.autoscaling.hpa import (
    Bounds,
    CalculatorError,
    History,
    HorizontalPodAutoscaler,
    MetricsError,
    PodFacts,
    PodMetric,
    ReplicaCalculator,
    Scale,
    Tolerances,
)
from tests.counts import examples

NOW = 10_000_000
CONTAINER = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
PHASES = ("Running", "Running", "Running", "Pending", "Failed")

pods = st.lists(
    st.tuples(st.sampled_from(PHASES), st.booleans(), st.one_of(st.none(), st.integers(0, 400))), min_size=1, max_size=8
)


def facts(rows: list[tuple[str, bool, int | None]]) -> tuple[list[PodFacts], dict[str, PodMetric]]:
    """Pods that run for long (ready or never ready), and their samples."""
    found, metrics = [], {}
    for number, (phase, ready, used) in enumerate(rows):
        started = NOW - 1_000_000
        found.append(
            PodFacts(
                f"p{number}",
                phase=phase,
                ready="True" if ready else "False",
                ready_since_ms=started + 1,
                started_ms=started,
                pod={"spec": {"containers": [CONTAINER]}},
            )
        )
        if used is not None:
            metrics[f"p{number}"] = PodMetric(used, NOW)
    return found, metrics


def naive(rows: list[tuple[str, bool, int | None]], target: int, current: int) -> int | None:
    """The rule in one breath, in floats as upstream: None when there is nothing to go by."""
    live = [(phase, ready, used) for phase, ready, used in rows if phase != "Failed"]
    counted = [used for phase, ready, used in live if phase == "Running" and ready and used is not None]
    missing = sum(1 for phase, ready, used in live if phase == "Running" and used is None)
    unready = sum(1 for phase, ready, used in live if phase == "Pending" or (used is not None and not ready))
    if not counted:
        return None

    def ratio(values: list[int]) -> float:
        return (100 * sum(values) // (100 * len(values))) / target

    def is_near(one: float) -> bool:
        return 1.0 - 0.1 <= one <= 1.0 + 0.1

    first = ratio(counted)
    if not missing and (not unready or first <= 1):
        return current if is_near(first) else math.ceil(first * len(counted))
    filled = list(counted)
    if first < 1:
        filled += [max(100, target)] * missing
    elif first > 1:
        filled += [0] * (missing + unready)
    second = ratio(filled)
    if is_near(second) or (first - 1) * (second - 1) < 0:
        return current
    wanted = math.ceil(second * len(filled))
    against = (second < 1 and wanted > current) or (second > 1 and wanted < current)
    return current if against else wanted


@settings(max_examples=examples(400))
@given(pods, st.integers(1, 200), st.integers(1, 12))
def test_the_calculator_says_what_its_naive_twin_says(
    rows: list[tuple[str, bool, int | None]], target: int, current: int
) -> None:
    found, metrics = facts(rows)
    expected = naive(rows, target, current)
    try:
        got: int | None = (
            ReplicaCalculator()
            .resource_replicas(current, target, "cpu", Tolerances(), found, metrics, now_ms=NOW)
            .replicas
        )
    except CalculatorError:
        got = None
    assert got == expected


@settings(max_examples=examples(200))
@given(st.lists(st.one_of(st.none(), st.integers(0, 100)), min_size=2, max_size=4), st.integers(1, 10))
def test_missing_data_never_takes_a_pod_away(values: list[int | None], current: int) -> None:
    queue = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"averageValue": "10"}}}
    hpa = {"metadata": {"name": "web"}, "spec": {"minReplicas": 1, "maxReplicas": 99, "metrics": [queue] * len(values)}}
    samples: list[Any] = [MetricsError("gone") if one is None else [1000 * one] for one in values]
    decision = HorizontalPodAutoscaler().decide(
        hpa, Scale(current, current), facts([("Running", True, 1)])[0], samples, now_ms=0
    )
    if None in values:
        assert decision.desired >= current
    if all(one is None for one in values):
        assert not decision.rescale


policy = st.fixed_dictionaries(
    {
        "type": st.sampled_from(("Pods", "Percent")),
        "value": st.integers(1, 100),
        "periodSeconds": st.sampled_from((15, 60, 300)),
    }
)
rules = st.fixed_dictionaries(
    {
        "selectPolicy": st.sampled_from(("Max", "Min", "Disabled")),
        "policies": st.lists(policy, min_size=1, max_size=3),
        "stabilizationWindowSeconds": st.sampled_from((0, 30, 300)),
    }
)
behaviors = st.one_of(st.none(), st.fixed_dictionaries({"scaleUp": rules, "scaleDown": rules}))


@settings(max_examples=examples(200))
@given(behaviors, st.lists(st.integers(0, 60), min_size=1, max_size=60), st.integers(1, 5), st.integers(5, 50))
def test_counts_stay_in_bounds_and_within_the_windows_recommendations(
    behavior: dict[str, Any] | None, wanted: list[int], least: int, most: int
) -> None:
    bounds = Bounds.of({"minReplicas": least, "maxReplicas": most, **({"behavior": behavior} if behavior else {})})
    history, current, seen = History(), least, [(0, least)]
    history.record_initial(current, 0)
    for number, desired in enumerate(wanted, 1):
        now = 15_000 * number
        found = history.normalize(bounds, current, desired, now_ms=now)
        seen.append((now, desired))
        assert least <= found.replicas <= most
        if bounds.behavior is None:  # the naive window: everything that was ever asked for, by its age
            assert found.stabilized == max(one for at, one in seen if now - at <= 300_000)
        else:
            up = 1000 * (bounds.behavior.scale_up.stabilization_window_seconds or 0)
            down = 1000 * (bounds.behavior.scale_down.stabilization_window_seconds or 0)
            lowest = min([desired, *(one for at, one in seen if now - at < up)])
            highest = max([desired, *(one for at, one in seen if now - at < down)])
            assert found.stabilized == min(max(current, lowest), highest)
        if found.replicas != current:
            history.store_scale_event(bounds.behavior, current, found.replicas, now)
        current = found.replicas
        history.check_invariants()
        assert len(history.recommendations) <= 22
