"""The calculator clause by clause: ratio, tolerance, requests, missing, unready and ignored Pods, overflow.

Spec: pkg/controller/podautoscaler/replica_calculator.go (v1.36); expected values are the arithmetic in the ids.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from k8slab.autoscaling.hpa import CalculatorError, PodFacts, PodMetric, ReplicaCalculator, Tolerances
from k8slab.autoscaling.hpa.go_numbers import ceil, divide, int32, int64, quotient

NOW = 10_000_000
CALCULATOR = ReplicaCalculator()


def pod(name: str, request: str | None = "100m", **facts: Any) -> PodFacts:
    resources = {"requests": {"cpu": request}} if request else {}
    return PodFacts(name, pod={"spec": {"containers": [{"name": "c", "resources": resources}]}}, **facts)


def ask(
    pods: list[PodFacts], used: dict[str, int], target: int = 50, *, current: int | None = None, **more: Any
) -> int:
    metrics = {name: PodMetric(value, NOW - 10_000) for name, value in used.items()}
    tolerances = more.pop("tolerances", Tolerances())
    found = CALCULATOR.resource_replicas(
        len(pods) if current is None else current, target, "cpu", tolerances, pods, metrics, now_ms=NOW, **more
    )
    return found.replicas


def several(count: int, **facts: Any) -> list[PodFacts]:
    return [pod(f"p{n}", **facts) for n in range(count)]


def used(count: int, value: int) -> dict[str, int]:
    return {f"p{n}": value for n in range(count)}


@pytest.mark.parametrize(
    ("count", "value", "expected"),
    [
        pytest.param(4, 50, 4, id="at the target of 50 % nothing changes"),
        pytest.param(4, 55, 4, id="110 % of the target is within the tolerance"),
        pytest.param(4, 56, 5, id="112 % of the target is not, and 4.48 is rounded up to 5"),
        pytest.param(4, 45, 4, id="90 % of the target is within the tolerance"),
        pytest.param(4, 44, 4, id="88 % of the target is not, but 3.52 is rounded up to 4"),
        pytest.param(10, 44, 9, id="of ten Pods at 88 % of the target one goes: 8.8 is rounded up to 9"),
        pytest.param(2, 100, 4, id="twice the target needs twice the Pods"),
        pytest.param(3, 0, 0, id="no usage at all asks for none: the minimum comes later"),
    ],
)
def test_without_anything_missing_it_is_the_ratio_times_the_ready_pods_rounded_up(
    count: int, value: int, expected: int
) -> None:
    assert ask(several(count), used(count, value)) == expected


def test_utilization_is_truncated_before_the_ratio_is_made() -> None:
    # 66 + 67 + 67 of 300 are 66.67 %: 66 counts. With a target of 60 that is 1.1, within the tolerance; 66.67 is not.
    assert ask(several(3), {"p0": 66, "p1": 67, "p2": 67}, 60) == 3


@pytest.mark.parametrize(
    ("tolerances", "value", "expected"),
    [
        pytest.param(Tolerances(0.1, 0.0), 51, 5, id="with no tolerance upwards 102 % of the target adds a Pod"),
        pytest.param(Tolerances(0.1, 0.5), 74, 4, id="with 0.5 upwards 148 % is left alone"),
        pytest.param(Tolerances(0.5, 0.1), 26, 4, id="with 0.5 downwards 52 % is left alone"),
        pytest.param(Tolerances(0.0, 0.1), 36, 3, id="with none downwards 72 % takes one of four: 2.88 rounded up"),
    ],
)
def test_both_directions_have_a_tolerance_of_their_own(tolerances: Tolerances, value: int, expected: int) -> None:
    assert ask(several(4), used(4, value), tolerances=tolerances) == expected


class TestMissing:
    """Running Pods without a sample."""

    def test_on_the_way_up_they_count_as_0_percent(self) -> None:
        # Two at 100 % and one missing: 200/300 = 66 %, ratio 1.32, times 3 = 3.96. Without it there: 2.0 times 2 = 4.
        assert ask(several(3), used(2, 100)) == 4

    def test_on_the_way_down_they_count_as_their_whole_request(self) -> None:
        # Three at 10 % and one missing: (30 + 100) / 400 = 32 %, ratio 0.64, times 4 = 2.56.
        assert ask(several(4), used(3, 10)) == 3

    def test_with_a_target_over_100_percent_they_count_as_the_target_on_the_way_down(self) -> None:
        # (3 * 10 + 200) / 400 = 57 %, ratio 0.285, times 4 = 1.14. Counted as 100 % it would be 0.16 * 4 = 0.64, so 1.
        assert ask(several(4), used(3, 10), 200) == 2

    def test_when_they_turn_the_direction_round_nothing_is_done(self) -> None:
        # One at 60 %, two missing: up by itself (1.2), down with them as 0 % (20 %, ratio 0.4).
        assert ask(several(3), used(1, 60)) == 3

    def test_when_they_leave_too_little_of_the_change_nothing_is_done(self) -> None:
        # Four at 68 % (1.36) and one missing: 54 %, ratio 1.08.
        assert ask(several(5), used(4, 68)) == 5

    def test_at_exactly_the_target_they_do_not_matter(self) -> None:
        assert ask(several(3), used(1, 50)) == 3

    def test_a_count_is_never_moved_against_the_direction_of_the_ratio(self) -> None:
        # The scale says 10, only 4 Pods are there: up by the ratio, but to 8, fewer than wanted now.
        assert ask(several(4), used(3, 130), current=10) == 10


class TestUnready:
    """Pods whose sample says nothing yet."""

    def test_pending_pods_count_as_0_percent_on_the_way_up_only(self) -> None:
        pods = [*several(2), pod("p2", phase="Pending")]
        # Up: 200 of 300 is 66 %, 1.32 times 3. Down: as if it were not there, 10 % of 50 % times 2.
        assert ask(pods, used(2, 100)) == 4
        assert ask(pods, used(2, 10)) == 1

    def test_in_the_first_five_minutes_an_unready_pod_is_left_out(self) -> None:
        young = pod("p1", ready="False", started_ms=NOW - 60_000, ready_since_ms=NOW - 60_000)
        assert ask([pod("p0"), young], {"p0": 50, "p1": 500}) == 2  # p1 at 500 % does not count

    def test_in_the_first_five_minutes_a_sample_must_begin_after_the_pod_was_ready(self) -> None:
        since = NOW - 60_000  # the sample is of NOW - 10 s, over the 60 s before
        young = pod("p1", ready="True", started_ms=NOW - 100_000, ready_since_ms=since)
        assert ask([pod("p0"), young], {"p0": 50, "p1": 500}) == 2
        ripe = pod("p1", ready="True", started_ms=NOW - 100_000, ready_since_ms=NOW - 70_000)
        assert ask([pod("p0"), ripe], {"p0": 50, "p1": 500}) == 11

    def test_later_a_pod_that_was_ready_once_counts_though_it_is_not_ready_now(self) -> None:
        started = NOW - 400_000
        was_ready = pod("p1", ready="False", started_ms=started, ready_since_ms=started + 31_000)
        assert ask([pod("p0"), was_ready], {"p0": 50, "p1": 500}) == 11

    def test_later_a_pod_that_was_never_ready_is_left_out(self) -> None:
        started = NOW - 400_000
        never = pod("p1", ready="False", started_ms=started, ready_since_ms=started + 29_000)
        assert ask([pod("p0"), never], {"p0": 50, "p1": 500}) == 2

    @pytest.mark.parametrize("facts", [{"ready": None}, {"started_ms": None}], ids=["no condition", "no start time"])
    def test_a_pod_about_which_nothing_is_known_is_left_out(self, facts: dict[str, Any]) -> None:
        assert ask([pod("p0"), pod("p1", **facts)], {"p0": 50, "p1": 500}) == 2

    def test_readiness_does_not_matter_for_memory(self) -> None:
        pods = [pod("p0"), pod("p1", ready="False", started_ms=NOW)]
        metrics = {"p0": PodMetric(100), "p1": PodMetric(100)}
        found = CALCULATOR.plain_metric_replicas(2, 50, "memory", Tolerances(), pods, metrics, now_ms=NOW)
        assert found.replicas == 4


@pytest.mark.parametrize("facts", [{"is_deleted": True}, {"phase": "Failed"}], ids=["being deleted", "failed"])
def test_pods_that_are_going_are_not_counted_at_all(facts: dict[str, Any]) -> None:
    assert ask([*several(2), pod("p9", **facts)], {**used(2, 100), "p9": 0}) == 4


class TestErrors:
    """Nothing is guessed: no count without data."""

    @pytest.mark.parametrize(
        ("pods", "samples", "message"),
        [
            pytest.param([], {}, "no pods returned by selector while calculating replica count", id="no Pods"),
            pytest.param(
                [pod("p0")],
                {},
                "did not receive metrics for targeted pods (pods might be unready)",
                id="no sample of any Pod",
            ),
            pytest.param(
                [pod("p0", phase="Pending")],
                {"p0": 10},
                "did not receive metrics for targeted pods (pods might be unready)",
                id="only unready Pods",
            ),
            pytest.param(
                [pod("p0"), pod("p1", None)],
                {"p0": 10, "p1": 10},
                "missing request for cpu in container c of Pod p1",
                id="one container without a request",
            ),
            pytest.param([pod("p0", "0")], {"p0": 10}, "no metrics returned matched known pods", id="requests of zero"),
        ],
    )
    def test_a_utilization_that_cannot_be_computed_is_an_error(
        self, pods: list[PodFacts], samples: dict[str, int], message: str
    ) -> None:
        with pytest.raises(CalculatorError) as raised:
            ask(pods, samples)
        assert str(raised.value) == message

    def test_a_container_that_is_not_there_is_named(self) -> None:
        with pytest.raises(CalculatorError, match="container sidecar not found in Pod p0"):
            ask([pod("p0")], {"p0": 1}, container="sidecar")

    def test_requests_at_pod_level_win_and_must_name_the_resource(self) -> None:
        whole = PodFacts("p0", pod={"spec": {"resources": {"requests": {"memory": "1Gi"}}, "containers": []}})
        with pytest.raises(CalculatorError, match="missing pod-level request for cpu in Pod p0"):
            ask([whole], {"p0": 1})
        sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}}
        main = {"name": "c", "resources": {"requests": {"cpu": "50m"}}}
        both = PodFacts("p0", pod={"spec": {"containers": [main], "initContainers": [sidecar, {"name": "setup"}]}})
        assert both.request("", "cpu") == 100


class TestOneValue:
    """Object and External metrics."""

    @pytest.mark.parametrize(
        ("current", "value", "expected"),
        [
            pytest.param(3, 110, 3, id="110 % of the target is within the tolerance"),
            pytest.param(3, 120, 4, id="3 ready Pods times 1.2 is 3.6"),
            pytest.param(0, 1, 1, id="from zero the ready Pods do not matter: 0.01 is rounded up"),
            pytest.param(0, 0, 0, id="from zero nothing to do is zero"),
            pytest.param(0, 101, 2, id="from zero there is no tolerance"),
        ],
    )
    def test_a_value_is_a_ratio_times_the_ready_pods(self, current: int, value: int, expected: int) -> None:
        assert CALCULATOR.value_replicas(current, 100, Tolerances(), several(3), value).replicas == expected

    def test_no_pod_ready_makes_zero_of_any_ratio(self) -> None:
        assert CALCULATOR.value_replicas(3, 100, Tolerances(), several(3, ready="False"), 1_000).replicas == 0

    def test_an_average_value_is_shared_out_whoever_is_ready(self) -> None:
        found = CALCULATOR.object_per_pod_replicas(3, 100, Tolerances(), 1_000)
        assert (found.replicas, found.usage) == (10, 334)

    def test_external_values_are_summed_and_capped(self) -> None:
        found = CALCULATOR.external_replicas(1, 100, Tolerances(), several(1), [150, 150])
        assert (found.replicas, found.usage) == (3, 300)
        most = (1 << 63) - 1
        found = CALCULATOR.external_replicas(1, 1, Tolerances(), several(1), [most, 10])
        assert (found.replicas, found.usage) == ((1 << 31) - 1, most)


def test_numbers_are_converted_as_go_does() -> None:
    assert [int32(n) for n in (2.9, -2.9, 2.0**31, math.nan, -math.inf)] == [2, -2, -(2**31), -(2**31), -(2**31)]
    assert [int64(n) for n in (2.9, 2.0**63, math.nan)] == [2, -(2**63), -(2**63)]
    assert (divide(1, 0), divide(-1, 0), quotient(-7, 2), ceil(math.inf)) == (math.inf, -math.inf, -3, math.inf)
    assert math.isnan(divide(0, 0)) and math.isnan(ceil(math.nan))
