"""Windows, policies and bounds, clause by clause.

Spec: pkg/controller/podautoscaler/horizontal.go (v1.36), KEP-853 (its examples)
"""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.defaults import apply_defaults
from k8slab.autoscaling.hpa import Bounds, History, Recommendation, ScaleEvent


def bounds(least: int = 1, most: int = 100, **behavior: Any) -> Bounds:
    """As the API server defaults a spec."""
    spec: dict[str, Any] = {"scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}}
    spec |= {"minReplicas": least, "maxReplicas": most}
    if behavior:
        spec["behavior"] = behavior
    hpa = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": spec}
    return Bounds.of(apply_defaults(hpa)["spec"])


def policies(*rows: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    listed = [{"type": kind, "value": value, "periodSeconds": period} for kind, value, period in rows]
    return {"policies": listed, **more}


def follow(limits: Bounds, current: int, wanted: list[int], step_ms: int = 15_000) -> list[int]:
    """The counts of several rounds, each carried out."""
    history = History()
    history.record_initial(current, 0)
    counts = []
    for number, desired in enumerate(wanted, 1):
        found = history.normalize(limits, current, desired, now_ms=number * step_ms)
        if found.replicas != current:
            history.store_scale_event(limits.behavior, current, found.replicas, number * step_ms)
        current = found.replicas
        counts.append(current)
        history.check_invariants()
    return counts


def test_without_a_behavior_a_round_doubles_at_most_and_four_are_always_allowed() -> None:
    assert follow(bounds(), 1, [90, 90, 90, 90]) == [4, 8, 16, 32]


def test_a_spike_holds_the_count_until_its_recommendation_leaves_the_window() -> None:
    # 10 is recommended once, at 15 s. Its age is 300 s at 315 s: still in the window; at 330 s it is not.
    counts = follow(bounds(), 10, [10, *[2] * 22])
    assert counts[:20] == [10] * 20
    assert counts[20] == 10 and counts[21] == 2


def test_a_second_spike_begins_the_window_anew() -> None:
    counts = follow(bounds(), 10, [10, *[2] * 10, 9, *[2] * 22])
    assert counts[20:32] == [10, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]
    assert counts[32] == 2


def test_upwards_a_window_takes_the_lowest_recommendation() -> None:
    limits = bounds(scaleUp=policies(("Pods", 100, 15), stabilizationWindowSeconds=60))
    assert follow(limits, 2, [10, 10, 10, 10, 10, 10]) == [2, 2, 2, 10, 10, 10]


def test_the_window_of_a_behavior_does_not_include_its_far_end() -> None:
    limits = bounds(scaleDown=policies(("Percent", 100, 15), stabilizationWindowSeconds=300))
    history = History(recommendations=[Recommendation(10, 0)])
    assert history.normalize(limits, 10, 2, now_ms=300_000).replicas == 2  # without a behavior it would still be 10
    plain = History(recommendations=[Recommendation(10, 0)])
    assert plain.normalize(bounds(), 10, 2, now_ms=300_000).replicas == 10


def test_a_window_of_zero_scales_down_at_once() -> None:
    limits = bounds(scaleDown=policies(("Percent", 100, 15), stabilizationWindowSeconds=0))
    assert follow(limits, 10, [2]) == [2]


class TestPolicies:
    """KEP-853: how far in a period."""

    def test_pods_a_period(self) -> None:
        limits = bounds(scaleUp=policies(("Pods", 1, 60)))
        assert follow(limits, 1, [9] * 9) == [2, 2, 2, 2, 3, 3, 3, 3, 4]

    def test_a_percentage_upwards_is_rounded_up_so_that_it_always_grows(self) -> None:
        limits = bounds(scaleUp=policies(("Percent", 10, 15)))
        assert follow(limits, 1, [99] * 4) == [2, 3, 4, 5]

    def test_a_percentage_is_computed_in_floats(self) -> None:
        # 50 * 1.1 is 55.00000000000001 in floats, so 56.
        assert follow(bounds(scaleUp=policies(("Percent", 10, 15))), 50, [99]) == [56]

    def test_a_percentage_downwards_is_truncated_so_that_it_always_shrinks(self) -> None:
        limits = bounds(scaleDown=policies(("Percent", 10, 15), stabilizationWindowSeconds=0))
        assert follow(limits, 5, [1] * 5) == [4, 3, 2, 1, 1]

    @pytest.mark.parametrize(
        ("select", "expected"),
        [
            pytest.param("Max", 20, id="Max takes the policy that changes most"),
            pytest.param("Min", 14, id="Min takes the policy that changes least"),
            pytest.param("Disabled", 10, id="Disabled changes nothing"),
        ],
    )
    def test_of_several_policies_one_is_selected(self, select: str, expected: int) -> None:
        limits = bounds(scaleUp=policies(("Pods", 4, 60), ("Percent", 100, 60), selectPolicy=select))
        assert follow(limits, 10, [99]) == [expected]

    def test_downwards_min_is_the_smaller_change_too(self) -> None:
        rows = (("Pods", 4, 60), ("Percent", 50, 60))
        limits = bounds(scaleDown=policies(*rows, selectPolicy="Min", stabilizationWindowSeconds=0))
        assert follow(limits, 10, [1]) == [6]

    def test_changes_in_the_other_direction_move_the_start_of_the_period(self) -> None:
        # 6 now, of which 4 were added in the last minute: the period began with 2, and may not end below 1.
        limits = bounds(scaleDown=policies(("Pods", 1, 60), stabilizationWindowSeconds=0))
        history = History(ups=[ScaleEvent(4, 50_000)])
        assert history.normalize(limits, 6, 1, now_ms=60_000).replicas == 1

    def test_a_limit_below_the_present_count_leaves_it_alone(self) -> None:
        limits = bounds(scaleUp=policies(("Pods", 1, 60)))
        history = History(ups=[ScaleEvent(5, 50_000)])
        found = history.normalize(limits, 6, 9, now_ms=60_000)
        assert (found.replicas, found.scaling_limited.reason) == (6, "ScaleUpLimit")


class TestBounds:
    @pytest.mark.parametrize(
        ("desired", "replicas", "status", "reason"),
        [
            pytest.param(50, 6, "True", "TooManyReplicas", id="more than the maximum"),
            pytest.param(1, 2, "True", "TooFewReplicas", id="fewer than the minimum"),
            pytest.param(5, 5, "False", "DesiredWithinRange", id="in between"),
        ],
    )
    def test_a_count_stays_within_the_spec(self, desired: int, replicas: int, status: str, reason: str) -> None:
        found = History().normalize(bounds(2, 6), 4, desired, now_ms=0)
        assert (found.replicas, found.scaling_limited.status, found.scaling_limited.reason) == (
            replicas,
            status,
            reason,
        )

    def test_above_the_maximum_a_behavior_changes_nothing_when_the_metrics_ask_for_the_present_count(self) -> None:
        assert History().normalize(bounds(1, 5), 9, 9, now_ms=0).replicas == 5
        assert History().normalize(bounds(1, 5, scaleUp=policies(("Pods", 4, 15))), 9, 9, now_ms=0).replicas == 9


class TestMemory:
    def test_old_recommendations_are_overwritten_so_that_the_list_stays_short(self) -> None:
        history = History()
        for number in range(1_000):
            history.normalize(bounds(), 5, 5, now_ms=15_000 * number)
        assert len(history.recommendations) == 21  # 300 s at 15 s, with both ends

    def test_changes_are_forgotten_when_no_policy_asks_for_them(self) -> None:
        limits = bounds(scaleUp=policies(("Pods", 4, 60)))
        history = History()
        for number in range(100):
            history.store_scale_event(limits.behavior, number, number + 1, 15_000 * number)
        assert len(history.ups) <= 6

    def test_without_a_behavior_no_change_is_remembered(self) -> None:
        history = History()
        history.store_scale_event(None, 1, 5, 0)
        assert history.ups == []

    def test_the_view_shows_what_is_remembered_by_time(self) -> None:
        history = History(recommendations=[Recommendation(3, 20), Recommendation(5, 10)], ups=[ScaleEvent(2, 20)])
        assert history.view() == {"recommendations": {"10": 5, "20": 3}, "ups": {"20": 2}, "downs": {}}


@pytest.mark.parametrize(("rules", "before", "wanted", "count"), [
    pytest.param(
        {"scaleUp": policies(("Pods", 2**31 - 1, 15))}, 10, 20, 10,
        id="10 + 2147483647 is -2147483639 in an int32: nothing may be added",
    ),
    pytest.param(
        {"scaleUp": policies(("Pods", 2**31 - 1, 15), ("Percent", 50, 15))}, 10, 20, 15,
        id="the greatest of a sum that wrapped and 15 is 15",
    ),
    pytest.param(
        {"scaleUp": policies(("Pods", 2**31 - 1, 15), ("Percent", 50, 15), selectPolicy="Min")}, 10, 20, 10,
        id="the least of a sum that wrapped and 15 stops it",
    ),
    pytest.param(
        {"scaleDown": policies(("Pods", 2**31 - 1, 15), stabilizationWindowSeconds=0)}, 10, 2, 2,
        id="10 - 2147483647 fits: all may go",
    ),
])  # fmt: skip
def test_policies_are_counted_in_int32(rules: dict[str, Any], before: int, wanted: int, count: int) -> None:
    assert History().normalize(bounds(**rules), before, wanted, now_ms=0).replicas == count


def test_changes_add_up_in_int32() -> None:
    """5 - (2147483647 + 2147483647) wraps to 7, so that 4 more make 11."""
    limits = bounds(most=2**31 - 1, scaleUp=policies(("Pods", 4, 60)))
    history = History(ups=[ScaleEvent(2**31 - 1, 0), ScaleEvent(2**31 - 1, 0)])
    assert history.normalize(limits, 5, 100, now_ms=1_000).replicas == 11


def test_a_change_that_was_outdated_once_is_overwritten_though_the_periods_are_longer_now() -> None:
    """Upstream marks changes as outdated and never takes the mark back (markScaleEventsOutdated)."""
    short, long = (bounds(scaleUp=policies(("Pods", 4, period))).behavior for period in (15, 600))
    history = History()
    for behavior, before, after, now_ms in (
        *((short, 1, 3, 0), (short, 3, 6, 1_000)),
        (short, 6, 7, 100_000),  # both are outdated now; the later one is overwritten
        (long, 7, 9, 101_000),
    ):
        history.store_scale_event(behavior, before, after, now_ms)
    assert [event.at_ms for event in history.ups] == [101_000, 100_000]
