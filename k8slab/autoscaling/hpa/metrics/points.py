"""What a metrics server keeps: the last two readings of every container, and the rate between them.

>>> points = Points()
>>> def web(at_ms, core_ms):
...     return {("shop", "web"): {"c": ContainerPoint(at_ms, start_ms=0, cpu_core_ns=core_ms * 10**6, memory=2**20)}}
>>> points.store(web(60_000, 6_000)), points.usage("shop", "web")     # one reading makes no rate
(None, None)
>>> points.store(web(75_000, 9_000)), points.usage("shop", "web")
(None, PodUsage(timestamp_ms=75000, window_ms=15000, containers={'c': Usage(cpu_milli=200, memory=1048576)}))

Spec: kubernetes-sigs/metrics-server pkg/storage/pod.go (rules for the previous reading, restarts, fresh containers)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["ContainerPoint", "PodUsage", "Points", "Usage"]

FRESH_CONTAINER_MIN_MS = 10_000
"""A container that is younger than a resolution, and at least this old, is measured from its start."""


class ContainerPoint(NamedTuple):
    """One reading: CPU time since the start in nanoseconds of one core, the working set in bytes."""

    at_ms: int
    start_ms: int
    cpu_core_ns: int
    memory: int


class Usage(NamedTuple):
    """CPU in milli-cores, memory in bytes."""

    cpu_milli: int
    memory: int


class PodUsage(NamedTuple):
    """Usage by container. `timestamp_ms`: of the earliest reading among them."""

    timestamp_ms: int
    window_ms: int
    containers: dict[str, Usage]


Readings = Mapping[tuple[str, str], Mapping[str, ContainerPoint]]
"""By namespace and name of the Pod, then by container."""


@dataclass(slots=True)
class Points:
    """`resolution_ms`: how often is scraped."""

    resolution_ms: int = 15_000
    last: dict[tuple[str, str], dict[str, ContainerPoint]] = field(default_factory=dict)
    previous: dict[tuple[str, str], dict[str, ContainerPoint]] = field(default_factory=dict)

    def store(self, readings: Readings) -> None:
        """Take in one scrape of all nodes. Pods that are not in it are forgotten."""
        last: dict[tuple[str, str], dict[str, ContainerPoint]] = {}
        previous: dict[tuple[str, str], dict[str, ContainerPoint]] = {}
        for pod, containers in readings.items():
            old_last, old_previous = self.last.get(pod, {}), self.previous.get(pod, {})
            for name, point in containers.items():
                last.setdefault(pod, {})[name] = point
                before = self._before(point, old_last.get(name), old_previous.get(name))
                if before is not None:
                    previous.setdefault(pod, {})[name] = before
        self.last, self.previous = last, previous

    def _before(
        self, point: ContainerPoint, last: ContainerPoint | None, previous: ContainerPoint | None
    ) -> ContainerPoint | None:
        """The reading to measure `point` from: an earlier one since its last start, or its start."""
        age_ms = point.at_ms - point.start_ms
        if FRESH_CONTAINER_MIN_MS <= age_ms < self.resolution_ms:
            return ContainerPoint(point.start_ms, point.start_ms, 0, 0)
        if last is None:
            return None
        if last.start_ms < point.start_ms:  # it was started again: its counter began anew
            return None
        return last if point.at_ms > last.at_ms else previous

    def usage(self, namespace: str, name: str) -> PodUsage | None:
        """The usage of a Pod; None while a container of it has no rate yet."""
        last = self.last.get((namespace, name))
        if not last:
            return None
        previous = self.previous.get((namespace, name), {})
        containers: dict[str, Usage] = {}
        earliest: tuple[int, int] | None = None
        for container, point in last.items():
            before = previous.get(container)
            if before is None or point.at_ms <= before.at_ms or point.cpu_core_ns < before.cpu_core_ns:
                return None
            window_ms = point.at_ms - before.at_ms
            rate = -((before.cpu_core_ns - point.cpu_core_ns) // (1000 * window_ms))  # rounded up
            containers[container] = Usage(rate, point.memory)
            if earliest is None or point.at_ms < earliest[0]:
                earliest = (point.at_ms, window_ms)
        assert earliest is not None, "a Pod has at least one container"
        return PodUsage(*earliest, containers)

    def view(self) -> dict[str, Any]:
        """Readings by Pod and container."""
        return {
            f"{namespace}/{name}": {container: point._asdict() for container, point in containers.items()}
            for (namespace, name), containers in sorted(self.last.items())
        }

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        for pod, containers in self.previous.items():
            for name, point in containers.items():
                assert name in self.last.get(pod, {}), f"{pod}: {name} has an earlier reading and no last one"
                assert point.at_ms < self.last[pod][name].at_ms, f"{pod}: {name} is measured from a later reading"
