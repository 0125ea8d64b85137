"""How many replicas would bring a metric to its target: the arithmetic, with all that may be missing.

>>> pods = [PodFacts(f"web-{n}", pod={"spec": {"containers": [
...     {"name": "c", "resources": {"requests": {"cpu": "100m"}}}]}}) for n in range(3)]
>>> usage = {pod.name: PodMetric(90) for pod in pods}
>>> calculator = ReplicaCalculator()
>>> calculator.resource_replicas(3, 50, "cpu", Tolerances(), pods, usage, now_ms=0)
Proposal(replicas=6, usage=90, utilization=90)
>>> del usage["web-2"]                       # no sample of one Pod: counted as 0 % on the way up
>>> calculator.resource_replicas(3, 50, "cpu", Tolerances(), pods, usage, now_ms=0).replicas
4

Samples come in, a `Proposal` comes out: nothing here asks anybody. Raises CalculatorError with upstream's message.

Upstream: pkg/controller/podautoscaler/replica_calculator.go, v1.36
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from k8slab.api.quantity import wrap_int64
from k8slab.autoscaling.hpa.go_numbers import MAX_INT32, MAX_INT64, ceil, divide, int32, int64, quotient
from k8slab.autoscaling.hpa.pod_facts import (
    CalculatorError,
    PodFacts,
    PodGroups,
    PodMetric,
    PodMetrics,
    calculate_requests,
    group_pods,
)
from k8slab.autoscaling.hpa.utilization import metric_usage_ratio, resource_utilization_ratio

__all__ = ["Proposal", "ReplicaCalculator", "Tolerances"]


class Tolerances(NamedTuple):
    """By how much a ratio may be off 1 before anything is done."""

    scale_down: float = 0.1
    scale_up: float = 0.1

    def is_within(self, ratio: float) -> bool:
        return 1.0 - self.scale_down <= ratio <= 1.0 + self.scale_up


class Proposal(NamedTuple):
    """What one metric asks for. `usage`: the mean or the value in milli-units; `utilization` in percent of requests."""

    replicas: int
    usage: int
    utilization: int | None = None


@dataclass(frozen=True, slots=True)
class ReplicaCalculator:
    """The settings: how long after its start a Pod's CPU may be start-up work, and when it counts as never ready."""

    cpu_initialization_period_ms: int = 300_000
    delay_of_initial_readiness_status_ms: int = 30_000

    def resource_replicas(
        self,
        current: int,
        target_utilization: int,
        resource: str,
        tolerances: Tolerances,
        pods: Sequence[PodFacts],
        metrics: PodMetrics,
        container: str = "",
        *,
        now_ms: int,
    ) -> Proposal:
        """For a target in percent of the requests. Missing Pods count as their whole request (or the target, if that
        is more) on the way down and as 0 on the way up; unready ones as 0 on the way up, else not at all."""
        groups, metrics = self._usable(pods, metrics, resource, now_ms)
        requests = calculate_requests(pods, container, resource)
        now = resource_utilization_ratio(metrics, requests, target_utilization)
        settled = _settled(current, now.ratio, tolerances, groups)
        if settled is None:
            fallback = max(100, target_utilization)
            whole = {name: quotient(wrap_int64(requests[name] * fallback), 100) for name in groups.missing}
            metrics = _filled(metrics, groups, now.ratio, whole)
            filled = resource_utilization_ratio(metrics, requests, target_utilization)
            settled = _cautious(current, now.ratio, filled.ratio, len(metrics), tolerances)
        return Proposal(settled, now.raw, now.percent)

    def plain_metric_replicas(
        self,
        current: int,
        target_usage: int,
        resource: str,
        tolerances: Tolerances,
        pods: Sequence[PodFacts],
        metrics: PodMetrics,
        *,
        now_ms: int,
    ) -> Proposal:
        """For a target in milli-units a Pod, of a resource or ("") of a custom metric. Missing Pods count as exactly
        the target on the way down."""
        groups, metrics = self._usable(pods, metrics, resource, now_ms)
        ratio, usage = metric_usage_ratio(metrics, target_usage)
        settled = _settled(current, ratio, tolerances, groups)
        if settled is None:
            metrics = _filled(metrics, groups, ratio, dict.fromkeys(groups.missing, target_usage))
            filled, _ = metric_usage_ratio(metrics, target_usage)
            settled = _cautious(current, ratio, filled, len(metrics), tolerances)
        return Proposal(settled, usage)

    def _usable(
        self, pods: Sequence[PodFacts], metrics: PodMetrics, resource: str, now_ms: int
    ) -> tuple[PodGroups, PodMetrics]:
        """The groups, and the samples of those that count."""
        if not pods:
            raise CalculatorError("no pods returned by selector while calculating replica count")
        groups = group_pods(
            pods,
            metrics,
            resource,
            now_ms,
            self.cpu_initialization_period_ms,
            self.delay_of_initial_readiness_status_ms,
        )
        if groups.ignored or groups.unready:
            left_out = {*groups.ignored, *groups.unready}
            metrics = {name: metric for name, metric in metrics.items() if name not in left_out}
        if not metrics:
            raise CalculatorError("did not receive metrics for targeted pods (pods might be unready)")
        return groups, metrics

    # -- one value for all -----------------------------------------------------------------------------

    def value_replicas(
        self, current: int, target: int, tolerances: Tolerances, pods: Sequence[PodFacts], value: int
    ) -> Proposal:
        """For an Object or External metric with a target `value`: ready Pods times the ratio."""
        ratio = divide(value, target)
        if current == 0:
            return Proposal(int32(ceil(ratio)), value)
        if tolerances.is_within(ratio):
            return Proposal(current, value)
        if not pods:
            text = "no pods returned by selector while calculating replica count"
            raise CalculatorError(f"unable to calculate ready pods: {text}")
        wanted = ratio * sum(pod.is_running_and_ready for pod in pods)
        return Proposal(MAX_INT32 if wanted > MAX_INT32 else int32(ceil(wanted)), value)

    def object_per_pod_replicas(
        self, status_replicas: int, target: int, tolerances: Tolerances, value: int
    ) -> Proposal:
        """For an Object metric with an `averageValue`: the value shared out, whoever is ready."""
        wanted = status_replicas
        if not tolerances.is_within(divide(value, float(target) * float(status_replicas))):
            wanted = int32(ceil(divide(value, target)))
        return Proposal(wanted, int64(ceil(divide(value, status_replicas))))

    def external_replicas(
        self, current: int, target: int, tolerances: Tolerances, pods: Sequence[PodFacts], values: Sequence[int]
    ) -> Proposal:
        """For an External metric with a target `value`: its sum, capped at the greatest int64."""
        usage = 0
        for value in values:
            if value > 0 and usage > MAX_INT64 - value:
                usage = MAX_INT64
                break
            usage = wrap_int64(usage + value)
        return self.value_replicas(current, target, tolerances, pods, usage)

    def external_per_pod_replicas(
        self, status_replicas: int, target: int, tolerances: Tolerances, values: Sequence[int]
    ) -> Proposal:
        """For an External metric with an `averageValue`: its sum shared out."""
        usage = 0
        for value in values:
            usage += value
            if not 0 <= usage <= MAX_INT64:  # upstream takes any negative sum for an overflow
                usage = MAX_INT64
                break
        wanted = status_replicas
        if not tolerances.is_within(divide(usage, float(target) * float(status_replicas))):
            shared = ceil(divide(usage, target))
            wanted = MAX_INT32 if shared > MAX_INT32 else int32(shared)
        if float(usage) >= float(MAX_INT64):
            return Proposal(wanted, MAX_INT64)
        return Proposal(wanted, int64(ceil(divide(usage, status_replicas))))


def _settled(current: int, ratio: float, tolerances: Tolerances, groups: PodGroups) -> int | None:
    """The answer when all Pods are accounted for; None when missing or unready ones have to be filled in."""
    if groups.missing or (groups.unready and ratio > 1.0):
        return None
    return current if tolerances.is_within(ratio) else int32(ceil(ratio * groups.ready))


def _filled(metrics: PodMetrics, groups: PodGroups, ratio: float, on_the_way_down: dict[str, int]) -> PodMetrics:
    """The samples, and for those that are not there the value that makes the change smaller."""
    filled = dict(metrics)
    if ratio < 1.0:
        filled.update((name, PodMetric(on_the_way_down[name])) for name in groups.missing)
    elif ratio > 1.0:
        filled.update((name, PodMetric(0)) for name in (*groups.missing, *groups.unready))
    return filled


def _cautious(current: int, before: float, after: float, counted: int, tolerances: Tolerances) -> int:
    """The new count, unless the filled-in samples leave little of the change or turn it round."""
    if tolerances.is_within(after) or (before < 1.0 < after) or (after < 1.0 < before):
        return current
    wanted = int32(ceil(after * counted))
    if (after < 1.0 and wanted > current) or (after > 1.0 and wanted < current):
        return current
    return wanted
