"""How far usage is from its target: the ratio that everything else is about.

>>> usage = {"a": PodMetric(300), "b": PodMetric(500)}
>>> resource_utilization_ratio(usage, {"a": 1000, "b": 1000}, 50)
Utilization(ratio=0.8, percent=40, raw=400)
>>> metric_usage_ratio(usage, 200)
(2.0, 400)

Upstream: pkg/controller/podautoscaler/metrics/utilization.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from k8slab.api.quantity import wrap_int64
from k8slab.autoscaling.hpa.go_numbers import divide, quotient, wrap_int32
from k8slab.autoscaling.hpa.pod_facts import CalculatorError, PodMetric, PodMetrics

__all__ = ["PodMetric", "Utilization", "metric_usage_ratio", "resource_utilization_ratio"]


class Utilization(NamedTuple):
    """`percent` of the requests, truncated; `ratio` of that to the target; `raw`: mean usage in milli-units."""

    ratio: float
    percent: int
    raw: int


def resource_utilization_ratio(
    metrics: PodMetrics, requests: Mapping[str, int], target_utilization: int
) -> Utilization:
    """Usage against requests, over the Pods that have both. CalculatorError when there are none."""
    used = asked = entries = 0
    for name, metric in metrics.items():
        request = requests.get(name)
        if request is None:
            continue
        used += metric.value
        asked += request
        entries += 1
    asked = wrap_int64(asked)
    if asked == 0:
        raise CalculatorError("no metrics returned matched known pods")
    percent = wrap_int32(quotient(wrap_int64(used * 100), asked))
    return Utilization(divide(percent, target_utilization), percent, quotient(wrap_int64(used), entries))


def metric_usage_ratio(metrics: PodMetrics, target_usage: int) -> tuple[float, int]:
    """The mean of the samples, truncated, as a ratio to the target; and the mean."""
    usage = quotient(wrap_int64(sum(metric.value for metric in metrics.values())), len(metrics))
    return divide(usage, target_usage), usage
