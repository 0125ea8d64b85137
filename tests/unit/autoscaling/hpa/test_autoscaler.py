"""One autoscaler's decisions: the greatest of its metrics, what failures do, conditions and events in upstream's words.

Spec: pkg/controller/podautoscaler/horizontal.go (v1.36)
"""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.autoscaling.hpa import (
    Decision,
    HorizontalPodAutoscaler,
    MetricsError,
    PodFacts,
    PodMetric,
    Scale,
    Tolerances,
    tolerances_of,
)
from k8slab.autoscaling.hpa.metric_specs import MetricSelectorError, selector_text

CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}
NO_METRICS = MetricsError("no metrics returned from resource metrics API")


def external(value: str | None = None, average: str | None = None, **metric: Any) -> dict[str, Any]:
    target: dict[str, Any] = {"type": "Value" if value else "AverageValue"}
    target |= {"value": value} if value else {}
    target |= {"averageValue": average} if average else {}
    return {"type": "External", "external": {"metric": {"name": "queue", **metric}, "target": target}}


def hpa(*metrics: dict[str, Any], least: int = 1, most: int = 20, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minReplicas": least, "maxReplicas": most, "metrics": list(metrics), **more},
    }


def pods(count: int) -> list[PodFacts]:
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    return [PodFacts(f"p{n}", pod={"spec": {"containers": [container]}}) for n in range(count)]


def used(count: int, value: int) -> dict[str, PodMetric]:
    return {f"p{n}": PodMetric(value) for n in range(count)}


def decide(obj: dict[str, Any], count: int, *samples: Any) -> Decision:
    return HorizontalPodAutoscaler().decide(obj, Scale(count, count), pods(count), samples, now_ms=60_000)


def condition(decision: Decision, kind: str) -> tuple[str, str, str]:
    found = next(one for one in decision.conditions if one["type"] == kind)
    return found["status"], found["reason"], found["message"]


class TestSeveralMetrics:
    def test_the_greatest_count_wins(self) -> None:
        decision = decide(hpa(CPU, external(average="10")), 2, used(2, 60), [70_000])
        assert (decision.desired, decision.reason) == (4, "external metric queue(nil) above target")
        assert decision.recommendation == 7

    def test_one_metric_above_and_one_below_scales_up(self) -> None:
        assert decide(hpa(CPU, external(average="10")), 2, used(2, 1), [40_000]).desired == 4

    def test_with_one_metric_missing_it_may_still_grow(self) -> None:
        decision = decide(hpa(CPU, external(average="10")), 2, NO_METRICS, [30_000])
        assert (decision.desired, decision.rescale) == (3, True)
        assert decision.error.startswith("invalid metrics (1 invalid out of 2), first error is: failed to get cpu")
        assert condition(decision, "ScalingActive")[1] == "ValidMetricFound"

    def test_with_one_metric_missing_it_never_shrinks(self) -> None:
        decision = decide(hpa(CPU, external(average="10")), 5, NO_METRICS, [10_000])
        assert not decision.rescale and decision.failed
        assert condition(decision, "ScalingActive") == (
            "False",
            "FailedGetResourceMetric",
            "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for "
            "resource cpu: no metrics returned from resource metrics API",
        )

    def test_with_all_metrics_missing_nothing_is_done_and_it_says_so(self) -> None:
        decision = decide(hpa(CPU), 5, NO_METRICS)
        assert not decision.rescale
        assert [(said.type, said.reason) for said in decision.said] == [
            ("Warning", "FailedGetResourceMetric"),
            ("Warning", "FailedComputeMetricsReplicas"),
        ]
        assert decision.status["currentMetrics"] == [{"type": ""}]
        assert decision.status["currentReplicas"] == 5

    def test_a_failure_leaves_what_was_last_wanted_in_the_status(self) -> None:
        obj = hpa(CPU) | {"status": {"desiredReplicas": 4, "currentReplicas": 4}}
        assert decide(obj, 5, NO_METRICS).status["desiredReplicas"] == 4


class TestBeforeMetrics:
    def test_a_target_with_zero_replicas_is_left_alone(self) -> None:
        decision = decide(hpa(CPU), 0, NO_METRICS)
        assert not decision.rescale
        assert condition(decision, "ScalingActive") == (
            "False",
            "ScalingDisabled",
            "scaling is disabled since the replica count of the target is zero",
        )
        assert decision.said == [] and decision.status["currentMetrics"] is None

    @pytest.mark.parametrize(
        ("current", "desired", "reason"),
        [
            pytest.param(30, 20, "Current number of replicas above Spec.MaxReplicas", id="above the maximum"),
            pytest.param(1, 3, "Current number of replicas below Spec.MinReplicas", id="below the minimum"),
        ],
    )
    def test_a_count_outside_the_bounds_is_corrected_without_metrics(
        self, current: int, desired: int, reason: str
    ) -> None:
        decision = decide(hpa(CPU, least=3), current, NO_METRICS)
        assert (decision.desired, decision.rescale, decision.reason) == (desired, True, reason)

    def test_with_a_minimum_of_zero_an_external_metric_wakes_a_target_and_sends_it_to_sleep(self) -> None:
        awake = decide(hpa(external("10"), least=0), 0, [15_000])
        assert (awake.desired, awake.rescale) == (2, True)
        mind = HorizontalPodAutoscaler()
        mind.history.downscale_stabilization_ms = 0
        mind.decide(hpa(external("10"), least=0), Scale(2, 2), pods(2), [[20_000]], now_ms=45_000)
        asleep = mind.decide(hpa(external("10"), least=0), Scale(2, 2), pods(2), [[0]], now_ms=60_000)
        assert (asleep.desired, asleep.rescale) == (0, True)


class TestOutcome:
    def test_a_scale_that_was_written_is_told(self) -> None:
        mind = HorizontalPodAutoscaler()
        decision = mind.decide(hpa(CPU), Scale(2, 2), pods(2), [used(2, 100)], now_ms=60_000)
        mind.rescaled(decision)
        assert condition(decision, "AbleToScale") == (
            "True",
            "SucceededRescale",
            "the HPA controller was able to update the target scale to 4",
        )
        assert decision.said[-1] == (
            "Normal",
            "SuccessfulRescale",
            "New size: 4; reason: cpu resource utilization (percentage of request) above target",
        )
        assert decision.status["desiredReplicas"] == 4 and decision.status["currentReplicas"] == 2
        assert decision.status["lastScaleTime"] == "2026-01-01T00:01:00Z"
        assert decision.status["currentMetrics"] == [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": 100, "averageValue": "100m"}},
            }
        ]

    def test_a_scale_that_could_not_be_written_is_told_and_not_remembered(self) -> None:
        mind = HorizontalPodAutoscaler()
        rules = {"policies": [{"type": "Pods", "value": 9, "periodSeconds": 60}]}
        obj = hpa(CPU, behavior={"scaleUp": {**rules, "stabilizationWindowSeconds": 0}, "scaleDown": rules})
        decision = mind.decide(obj, Scale(2, 2), pods(2), [used(2, 100)], now_ms=60_000)
        mind.not_rescaled(decision, "conflict")
        assert condition(decision, "AbleToScale") == (
            "False",
            "FailedUpdateScale",
            "the HPA controller was unable to update the target scale: conflict",
        )
        metric = "cpu resource utilization (percentage of request) above target"
        assert decision.said[-1].message == f"New size: 4; reason: {metric}; error: conflict"
        assert mind.history.ups == [] and "lastScaleTime" not in decision.status

    def test_a_condition_keeps_its_time_while_its_status_stays(self) -> None:
        mind = HorizontalPodAutoscaler()
        obj = hpa(CPU)
        first = mind.decide(obj, Scale(2, 2), pods(2), [used(2, 50)], now_ms=15_000)
        obj["status"] = first.status
        second = mind.decide(obj, Scale(2, 2), pods(2), [NO_METRICS], now_ms=30_000)
        times = {one["type"]: one["lastTransitionTime"][-3:] for one in second.conditions}
        assert times == {"AbleToScale": "15Z", "ScalingActive": "30Z", "ScalingLimited": "15Z"}


FAILURES = [
    pytest.param(
        {"type": "Resource", "resource": {"name": "nvidia.com/gpu", "target": {"averageUtilization": 70}}},
        {},
        "FailedGetResourceMetric",
        "failed to get nvidia.com/gpu resource metric value: failed to get nvidia.com/gpu utilization: "
        "did not receive metrics for targeted pods (pods might be unready)",
        id="a resource that no metrics server reports",
    ),
    pytest.param(
        {"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "10Mi"}}},
        NO_METRICS,
        "FailedGetResourceMetric",
        "failed to get memory resource metric value: failed to get memory usage: unable to get metrics for resource "
        "memory: no metrics returned from resource metrics API",
        id="a target as an amount",
    ),
    pytest.param(
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Value"}}},
        {},
        "FailedGetResourceMetric",
        "failed to get cpu resource metric value: invalid resource metric source: neither an average utilization "
        "target nor an average value (usage) target was set",
        id="a resource without a target",
    ),
    pytest.param(
        {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "container": "app", "target": {"averageUtilization": 50}},
        },
        used(1, 10),
        "FailedGetContainerResourceMetric",
        "failed to get app container metric value: failed to get cpu utilization: container app not found in Pod p0",
        id="a container that is not there",
    ),
    pytest.param(
        {"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": {"averageValue": "10"}}},
        MetricsError("no metrics returned from custom metrics API"),
        "FailedGetPodsMetric",
        "failed to get pods metric value: unable to get metric qps: no metrics returned from custom metrics API",
        id="a Pods metric",
    ),
    pytest.param(
        {
            "type": "Object",
            "object": {
                "describedObject": {"kind": "Ingress", "name": "i"},
                "metric": {"name": "hits"},
                "target": {"type": "AverageValue", "averageValue": "10"},
            },
        },
        MetricsError("gone"),
        "FailedGetObjectMetric",
        "failed to get object metric value: failed to get hits object metric: unable to get metric hits: Ingress on "
        "shop i/gone",
        id="an Object metric with an average",
    ),
    pytest.param(
        {
            "type": "Object",
            "object": {
                "describedObject": {"kind": "Ingress", "name": "i"},
                "metric": {"name": "hits"},
                "target": {"type": "AverageValue", "averageValue": "10"},
            },
        },
        MetricSelectorError('"Near" is not a valid label selector operator'),
        "FailedGetObjectMetric",
        'failed to get object metric value: "Near" is not a valid label selector operator',
        id="an Object metric with an average and a selector that is none",
    ),
    pytest.param(
        external("10", selector={"matchLabels": {"q": "a"}}),
        MetricsError("gone"),
        "FailedGetExternalMetric",
        "failed to get queue external metric value: failed to get external metric queue: unable to get external metric "
        "shop/queue/&LabelSelector{MatchLabels:map[string]string{q: a,},MatchExpressions:[]LabelSelectorRequirement{},}"
        ": gone",
        id="an External metric with a selector",
    ),
    pytest.param(
        {"type": "External", "external": {"metric": {"name": "queue"}, "target": {}}},
        [1],
        "FailedGetExternalMetric",
        "failed to get queue external metric value: invalid external metric source: neither a value target nor an "
        "average value target was set",
        id="an External metric without a target",
    ),
    pytest.param(
        {"type": "Weather"},
        MetricsError("?"),
        "InvalidMetricSourceType",
        'unknown metric source type "Weather"',
        id="a type that is not known",
    ),
]


@pytest.mark.parametrize(("spec", "samples", "reason", "error"), FAILURES)
def test_a_metric_that_fails_says_so_in_upstreams_words(
    spec: dict[str, Any], samples: Any, reason: str, error: str
) -> None:
    decision = decide(hpa(spec), 1, samples)
    assert decision.error == f"invalid metrics (1 invalid out of 1), first error is: {error}"
    assert condition(decision, "ScalingActive")[1] == reason
    assert decision.said[0].reason == reason


@pytest.mark.parametrize(
    ("gates", "behavior", "expected"),
    [
        pytest.param({}, None, Tolerances(0.1, 0.1), id="the controller's without a behavior"),
        pytest.param({}, {"scaleUp": {"tolerance": "50m"}}, Tolerances(0.1, 0.05), id="one half has its own"),
        pytest.param({}, {"scaleDown": {"tolerance": "0"}}, Tolerances(0.0, 0.1), id="zero is a tolerance too"),
        pytest.param(
            {"HPAConfigurableTolerance": False},
            {"scaleUp": {"tolerance": "50m"}},
            Tolerances(0.1, 0.1),
            id="with the gate off they are ignored",
        ),
    ],
)
def test_an_autoscaler_may_have_tolerances_of_its_own(
    gates: dict[str, bool], behavior: dict[str, Any] | None, expected: Tolerances
) -> None:
    assert tolerances_of({"behavior": behavior}, 0.1, FeatureGates(overrides=gates)) == expected


def test_selectors_are_printed_as_go_prints_them() -> None:
    rows = [{"key": "k", "operator": "In", "values": ["a", "b"]}]
    assert selector_text({"matchExpressions": rows}) == (
        "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:k,Operator:In,Values:[a b],},},}"
    )
