"""Golden topic hpa_replicas: the calculator's methods, and all metrics of one autoscaler together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from k8slab.autoscaling.hpa import (
    CalculatorError,
    HorizontalPodAutoscaler,
    MetricsError,
    PodFacts,
    PodMetric,
    Proposal,
    ReplicaCalculator,
    Scale,
    Tolerances,
)

NOW_MS = 10_000_000
CALCULATOR = ReplicaCalculator(cpu_initialization_period_ms=300_000, delay_of_initial_readiness_status_ms=30_000)
Case = dict[str, Any]


def run(case: Case) -> dict[str, Any]:
    if case["op"] == "compute":
        return compute(case)
    try:
        proposal = METHODS[case["op"]](case)
    except CalculatorError as error:
        return {"error": str(error)}
    answer = {"replicas": proposal.replicas, "usage": proposal.usage}
    if proposal.utilization is not None:
        answer["utilization"] = proposal.utilization
    return answer


def pods_of(case: Case) -> list[PodFacts]:
    return [
        PodFacts(
            name=pod["name"],
            phase=pod["phase"],
            is_deleted=pod.get("deleted", False),
            ready=None if pod["ready"] == "none" else pod["ready"],
            ready_since_ms=_at(pod["readySinceSecondsAgo"]),
            started_ms=_at(pod["startedSecondsAgo"]),
            pod={"spec": {key: pod[key] for key in ("containers", "initContainers", "resources") if key in pod}},
        )
        for pod in case.get("pods", ())
    ]


def metrics_of(case: Case) -> dict[str, PodMetric]:
    return {
        pod["name"]: PodMetric(pod["metric"], _at(pod["metricSecondsAgo"]), round(1000 * pod["windowSeconds"]))
        for pod in case.get("pods", ())
        if "metric" in pod
    }


def _at(seconds_ago: float) -> int:
    return NOW_MS - round(1000 * seconds_ago)


def _tolerances(case: Case) -> Tolerances:
    return Tolerances(*case.get("tolerance", (0.1, 0.1)))


def _resource(case: Case) -> Proposal:
    return CALCULATOR.resource_replicas(
        case["currentReplicas"],
        case["target"],
        case.get("resource", "cpu"),
        _tolerances(case),
        pods_of(case),
        metrics_of(case),
        case.get("container", ""),
        now_ms=NOW_MS,
    )


def _plain(resource: str) -> Callable[[Case], Proposal]:
    def method(case: Case) -> Proposal:
        return CALCULATOR.plain_metric_replicas(
            case["currentReplicas"],
            case["target"],
            case.get("resource", resource) if resource else "",
            _tolerances(case),
            pods_of(case),
            metrics_of(case),
            now_ms=NOW_MS,
        )

    return method


def _object(case: Case) -> Proposal:
    target, value = case["target"], case["objectValue"]
    return CALCULATOR.value_replicas(case["currentReplicas"], target, _tolerances(case), pods_of(case), value)


def _external(case: Case) -> Proposal:
    target, values = case["target"], case["externalValues"]
    return CALCULATOR.external_replicas(case["currentReplicas"], target, _tolerances(case), pods_of(case), values)


METHODS: dict[str, Callable[[Case], Proposal]] = {
    "resource": _resource,
    "rawresource": _plain("cpu"),
    "podsmetric": _plain(""),
    "object": _object,
    "external": _external,
    "objectperpod": lambda case: CALCULATOR.object_per_pod_replicas(
        case["currentReplicas"], case["target"], _tolerances(case), case["objectValue"]
    ),
    "externalperpod": lambda case: CALCULATOR.external_per_pod_replicas(
        case["currentReplicas"], case["target"], _tolerances(case), case["externalValues"]
    ),
}

FAILURES = {
    "resource": "no metrics returned from resource metrics API",
    "containerresource": "no metrics returned from resource metrics API",
    "pods": "no metrics returned from custom metrics API",
    "object": "no object metric",
    "external": "no external metric",
}


def compute(case: Case) -> dict[str, Any]:
    """All metrics of one autoscaler, some of which cannot be fetched."""
    spec = {key: case[key] for key in ("metrics", "behavior") if key in case}
    hpa = {"metadata": {"name": "hpa", "namespace": "ns"}, "spec": spec}
    found = HorizontalPodAutoscaler(CALCULATOR).compute(
        hpa,
        Scale(case["specReplicas"], case["statusReplicas"]),
        pods_of(case),
        [_samples(case, metric["type"].lower()) for metric in case["metrics"]],
        NOW_MS,
    )
    condition = {key: getattr(found.condition, key) for key in ("status", "reason", "message")}
    return {
        "replicas": found.replicas,
        "metric": found.metric,
        "error": found.error or None,
        found.condition.type: condition,
    }


def _samples(case: Case, kind: str) -> Any:
    if kind in case.get("failing", ()):
        return MetricsError(FAILURES[kind])
    if kind == "object":
        return case["objectValue"]
    return list(case["externalValues"]) if kind == "external" else metrics_of(case)
