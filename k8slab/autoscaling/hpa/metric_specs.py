"""One entry of `spec.metrics`: what it asks for, how it is told in the status, and what is said when it fails.

Upstream: pkg/controller/podautoscaler/horizontal.go (computeReplicasForMetric, computeStatusFor*Metric), v1.36
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from k8slab.api.objects import Object
from k8slab.api.quantity import DECIMAL_SI, MILLI, Quantity, milli_value
from k8slab.autoscaling.hpa.pod_facts import CalculatorError, PodFacts, PodMetrics
from k8slab.autoscaling.hpa.replica_calculator import Proposal, ReplicaCalculator, Tolerances

__all__ = [
    "Evaluation",
    "MetricFailure",
    "MetricSelectorError",
    "MetricsError",
    "Samples",
    "Surroundings",
    "evaluate",
    "selector_text",
]


class MetricsError(Exception):
    """A metric could not be had; the message is the metrics client's."""


class MetricSelectorError(MetricsError):
    """The selector of a metric is none."""


Samples: TypeAlias = PodMetrics | int | list[int] | MetricsError
"""What was fetched for one entry of `spec.metrics`: samples by Pod, a value, several values, or why there is none."""


class MetricFailure(Exception):
    """An entry from which no count can be computed. `cause` is in the Event and the condition, `str()` is the error."""

    def __init__(self, reason: str, cause: str, error: str) -> None:
        super().__init__(error)
        self.reason = reason
        self.cause = cause


class Evaluation(NamedTuple):
    """The count one entry asks for, the metric in words, and its entry of `status.currentMetrics`."""

    replicas: int
    metric: str
    status: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all entries are evaluated with."""

    calculator: ReplicaCalculator
    tolerances: Tolerances
    namespace: str
    pods: Sequence[PodFacts]
    spec_replicas: int
    status_replicas: int
    now_ms: int


def evaluate(spec: Object, samples: Samples, around: Surroundings) -> Evaluation:
    """The count for one entry of `spec.metrics`. Raises MetricFailure."""
    kind = spec.get("type", "")
    way = _WAYS.get(kind)
    if way is None:
        cause = f'unknown metric source type "{kind}"'
        raise MetricFailure("InvalidMetricSourceType", cause, cause)
    return way(spec, samples, around)


@lru_cache(maxsize=4096)
def milli_text(amount: int) -> str:
    """A number of milli-units as a quantity: 1500 is `1500m`, 2000 is `2`."""
    return str(Quantity(amount, MILLI, DECIMAL_SI))


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A label selector as Go prints it.

    >>> selector_text(None), selector_text({"matchLabels": {"queue": "a"}})
    ('nil', '&LabelSelector{MatchLabels:map[string]string{queue: a,},MatchExpressions:[]LabelSelectorRequirement{},}')
    """
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    rows = "".join(
        f"LabelSelectorRequirement{{Key:{one.get('key', '')},Operator:{one.get('operator', '')},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in selector.get("matchExpressions") or ()
    )
    expressions = f"[]LabelSelectorRequirement{{{rows}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:{expressions},}}"


def _got(samples: Samples, before: str, after: str = "") -> Any:
    """The samples, or CalculatorError with what the calculator says around the metrics client's message."""
    if isinstance(samples, MetricSelectorError):
        raise CalculatorError(str(samples))
    if isinstance(samples, MetricsError):
        raise CalculatorError(f"{before}{samples}{after}")
    return samples


def _identifier(metric: Object) -> dict[str, Any]:
    return {key: metric[key] for key in ("name", "selector") if metric.get(key) is not None}


# -- resources -----------------------------------------------------------------------------------------


def _of_pod(spec: Object, samples: Samples, around: Surroundings) -> Evaluation:
    name = spec["resource"]["name"]
    proposal, metric, current = _resource(
        spec["resource"],
        "",
        samples,
        around,
        lambda cause: MetricFailure(
            "FailedGetResourceMetric", cause, f"failed to get {name} resource metric value: {cause}"
        ),
    )
    return Evaluation(proposal.replicas, metric, {"type": "Resource", "resource": {"name": name, "current": current}})


def _of_container(spec: Object, samples: Samples, around: Surroundings) -> Evaluation:
    source = spec["containerResource"]
    container = source["container"]
    proposal, metric, current = _resource(
        source,
        container,
        samples,
        around,
        lambda cause: MetricFailure(
            "FailedGetContainerResourceMetric", cause, f"failed to get {container} container metric value: {cause}"
        ),
    )
    shown = {"name": source["name"], "container": container, "current": current}
    return Evaluation(proposal.replicas, metric, {"type": "ContainerResource", "containerResource": shown})


def _resource(
    source: Object, container: str, samples: Samples, around: Surroundings, failure: Callable[[str], MetricFailure]
) -> tuple[Proposal, str, dict[str, Any]]:
    name, target = source["name"], source.get("target") or {}
    before = f"unable to get metrics for resource {name}: "
    calculator = around.calculator
    common = {"now_ms": around.now_ms}
    if target.get("averageValue") is not None:
        wanted = milli_value(target["averageValue"])
        try:
            metrics = _got(samples, before)
            proposal = calculator.plain_metric_replicas(
                around.spec_replicas, wanted, name, around.tolerances, around.pods, metrics, **common
            )
        except CalculatorError as error:
            raise failure(f"failed to get {name} usage: {error}") from None
        return proposal, f"{name} resource", {"averageValue": milli_text(proposal.usage)}
    if target.get("averageUtilization") is None:
        raise failure(
            "invalid resource metric source: neither an average utilization target nor an average value (usage) "
            "target was set"
        )
    try:
        metrics = _got(samples, before)
        proposal = calculator.resource_replicas(
            around.spec_replicas,
            target["averageUtilization"],
            name,
            around.tolerances,
            around.pods,
            metrics,
            container,
            **common,
        )
    except CalculatorError as error:
        raise failure(f"failed to get {name} utilization: {error}") from None
    kind = "container resource" if container else "resource"
    current = {"averageUtilization": proposal.utilization, "averageValue": milli_text(proposal.usage)}
    return proposal, f"{name} {kind} utilization (percentage of request)", current


# -- custom metrics ------------------------------------------------------------------------------------


def _of_pods(spec: Object, samples: Samples, around: Surroundings) -> Evaluation:
    source = spec["pods"]
    name = source["metric"]["name"]
    try:
        metrics = _got(samples, f"unable to get metric {name}: ")
        proposal = around.calculator.plain_metric_replicas(
            around.spec_replicas,
            milli_value(source["target"]["averageValue"]),
            "",
            around.tolerances,
            around.pods,
            metrics,
            now_ms=around.now_ms,
        )
    except CalculatorError as error:
        raise MetricFailure("FailedGetPodsMetric", str(error), f"failed to get pods metric value: {error}") from None
    current = {"averageValue": milli_text(proposal.usage)}
    status = {"type": "Pods", "pods": {"metric": _identifier(source["metric"]), "current": current}}
    return Evaluation(proposal.replicas, f"pods metric {name}", status)


def _of_object(spec: Object, samples: Samples, around: Surroundings) -> Evaluation:
    source = spec["object"]
    metric, target, described = source["metric"], source.get("target") or {}, source["describedObject"]
    name, kind = metric["name"], target.get("type")
    before = f"unable to get metric {name}: {described['kind']} on {around.namespace} {described['name']}/"
    shown: dict[str, Any] = {"metric": _identifier(metric), "describedObject": dict(described)}
    try:
        if kind == "Value" and target.get("value") is not None:
            proposal = around.calculator.value_replicas(
                around.spec_replicas,
                milli_value(target["value"]),
                around.tolerances,
                around.pods,
                _got(samples, before),
            )
            shown["current"] = {"value": milli_text(proposal.usage)}
            return Evaluation(
                proposal.replicas, f"{described['kind']} metric {name}", {"type": "Object", "object": shown}
            )
        if kind == "AverageValue" and target.get("averageValue") is not None:
            proposal = around.calculator.object_per_pod_replicas(
                around.status_replicas, milli_value(target["averageValue"]), around.tolerances, _got(samples, before)
            )
            shown |= {"current": {"averageValue": milli_text(proposal.usage)}, "describedObject": _NO_OBJECT}
            words = f"external metric {name}({selector_text(metric.get('selector'))})"
            return Evaluation(proposal.replicas, words, {"type": "Object", "object": shown})
        raise CalculatorError(
            "invalid object metric source: neither a value target nor an average value target was set"
        )
    except CalculatorError as error:
        is_average = kind == "AverageValue" and target.get("averageValue") is not None
        detail = ""
        if is_average and not isinstance(samples, MetricSelectorError):  # a bad selector fails before anything is asked
            detail = f"failed to get {name} object metric: "
        text = f"failed to get object metric value: {detail}{error}"
        raise MetricFailure("FailedGetObjectMetric", str(error), text) from None


def _of_external(spec: Object, samples: Samples, around: Surroundings) -> Evaluation:
    source = spec["external"]
    metric, target = source["metric"], source.get("target") or {}
    name, selector = metric["name"], selector_text(metric.get("selector"))
    before = f"unable to get external metric {around.namespace}/{name}/{selector}: "
    detail = ""
    try:
        if target.get("averageValue") is not None:
            detail = f"failed to get {name} external metric: "
            proposal = around.calculator.external_per_pod_replicas(
                around.status_replicas, milli_value(target["averageValue"]), around.tolerances, _got(samples, before)
            )
            current = {"averageValue": milli_text(proposal.usage)}
        elif target.get("value") is not None:
            detail = f"failed to get external metric {name}: "
            proposal = around.calculator.external_replicas(
                around.spec_replicas,
                milli_value(target["value"]),
                around.tolerances,
                around.pods,
                _got(samples, before),
            )
            current = {"value": milli_text(proposal.usage)}
        else:
            raise CalculatorError(
                "invalid external metric source: neither a value target nor an average value target was set"
            )
    except CalculatorError as error:
        text = f"failed to get {name} external metric value: {detail}{error}"
        raise MetricFailure("FailedGetExternalMetric", str(error), text) from None
    status = {"type": "External", "external": {"metric": _identifier(metric), "current": current}}
    return Evaluation(proposal.replicas, f"external metric {name}({selector})", status)


_NO_OBJECT = {"kind": "", "name": ""}
"""Upstream forgets to fill this in for an average value; the fields are always written."""

_WAYS: dict[str, Callable[[Object, Samples, Surroundings], Evaluation]] = {
    "Resource": _of_pod,
    "ContainerResource": _of_container,
    "Pods": _of_pods,
    "Object": _of_object,
    "External": _of_external,
}
