"""What the calculator looks at in a Pod: its phase, readiness and start, and what it requests.

Upstream: pkg/controller/podautoscaler/replica_calculator.go (groupPods, calculateRequests), v1.36
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pod_requests import is_pod_level_requests_set, is_restartable_init_container, pod_requests
from k8slab.api.pods import get_condition, pod_phase
from k8slab.api.quantity import milli_value
from k8slab.api.times import parse_time

__all__ = ["CalculatorError", "PodFacts", "PodGroups", "PodMetric", "PodMetrics", "calculate_requests", "group_pods"]

LONG_AGO_MS = -(1 << 62)
"""Go's zero time: what a condition without lastTransitionTime has."""


class CalculatorError(ValueError):
    """No replica count can be computed; the message is upstream's."""


class PodMetric(NamedTuple):
    """One sample: `value` in milli-units, taken over `window_ms` before `timestamp_ms`."""

    value: int
    timestamp_ms: int = 0
    window_ms: int = 60_000


PodMetrics = dict[str, PodMetric]
"""Samples by the name of the Pod."""


@dataclass(slots=True)
class PodFacts:
    """A Pod as the calculator sees it. `ready`: the status of its condition Ready, None when it has none."""

    name: str
    phase: str = "Running"
    is_deleted: bool = False
    ready: str | None = "True"
    ready_since_ms: int = LONG_AGO_MS
    started_ms: int | None = LONG_AGO_MS
    pod: Object = field(default_factory=dict)
    _requests: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, pod: Object) -> PodFacts:
        """The facts of a Pod object."""
        condition: Mapping[str, Any] = get_condition(pod, "Ready") or {}
        started = (pod.get("status") or {}).get("startTime")
        since = condition.get("lastTransitionTime")
        return cls(
            name=pod["metadata"]["name"],
            phase=pod_phase(pod),
            is_deleted=pod["metadata"].get("deletionTimestamp") is not None,
            ready=str(condition.get("status", "")) if condition else None,
            ready_since_ms=parse_time(since) if since else LONG_AGO_MS,
            started_ms=parse_time(started) if started else None,
            pod=pod,
        )

    @property
    def is_running_and_ready(self) -> bool:
        return self.phase == "Running" and self.ready == "True"

    def request(self, container: str, resource: str) -> int:
        """What the Pod (or one container of it) requests, in milli-units. CalculatorError when that is not said."""
        found = self._requests.get((container, resource))
        if found is None:
            found = self._requests[(container, resource)] = _request(self.pod, self.name, container, resource)
        return found


class PodGroups(NamedTuple):
    """How many Pods count as ready, and the names of the others. `ignored` are being deleted or have failed."""

    ready: int
    unready: list[str]
    missing: list[str]
    ignored: list[str]


def group_pods(
    pods: Iterable[PodFacts],
    metrics: PodMetrics,
    resource: str,
    now_ms: int,
    cpu_initialization_period_ms: int,
    delay_of_initial_readiness_status_ms: int,
) -> PodGroups:
    """Sort Pods into ready, unready, missing (no sample) and ignored. Readiness matters for CPU only."""
    ready = 0
    unready: list[str] = []
    missing: list[str] = []
    ignored: list[str] = []
    is_cpu = resource == "cpu"
    for pod in pods:
        if pod.is_deleted or pod.phase == "Failed":
            ignored.append(pod.name)
        elif pod.phase == "Pending":
            unready.append(pod.name)
        elif pod.name not in metrics:
            missing.append(pod.name)
        elif is_cpu and _is_unready(
            pod, metrics[pod.name], now_ms, cpu_initialization_period_ms, delay_of_initial_readiness_status_ms
        ):
            unready.append(pod.name)
        else:
            ready += 1
    return PodGroups(ready, unready, missing, ignored)


def _is_unready(pod: PodFacts, metric: PodMetric, now_ms: int, initialization_ms: int, delay_ms: int) -> bool:
    """Whether the CPU sample of a running Pod says nothing yet about its load."""
    if pod.ready is None or pod.started_ms is None:
        return True
    if pod.started_ms + initialization_ms > now_ms:  # it may still be starting: a whole window since it was ready
        return pod.ready == "False" or metric.timestamp_ms < pod.ready_since_ms + metric.window_ms
    return pod.ready == "False" and pod.started_ms + delay_ms > pod.ready_since_ms  # it has never been ready


def calculate_requests(pods: Iterable[PodFacts], container: str, resource: str) -> dict[str, int]:
    """Requests by Pod, in milli-units. One Pod that says nothing fails them all (CalculatorError)."""
    return {pod.name: pod.request(container, resource) for pod in pods}


def _request(pod: Object, name: str, container: str, resource: str) -> int:
    if not container and is_pod_level_requests_set(pod):
        amount = pod_requests(pod).get(resource)
        if amount is None:
            raise CalculatorError(f"missing pod-level request for {resource} in Pod {name}")
        return amount.milli_value()
    spec = pod.get("spec") or {}
    sidecars = [one for one in spec.get("initContainers") or () if is_restartable_init_container(one)]
    total = 0
    for one in (*(spec.get("containers") or ()), *sidecars):
        if container not in ("", one["name"]):
            continue
        asked = ((one.get("resources") or {}).get("requests") or {}).get(resource)
        if asked is None:
            raise CalculatorError(f"missing request for {resource} in container {one['name']} of Pod {name}")
        total += milli_value(asked)
        if container:
            return total
    if container:
        raise CalculatorError(f"container {container} not found in Pod {name}")
    return total
