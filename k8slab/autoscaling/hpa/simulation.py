"""One autoscaler over a load, for days: no API server, only what it sees and what it does.

>>> target = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
>>> hpa = {"metadata": {"name": "web"}, "spec": {"minReplicas": 1, "maxReplicas": 10,
...        "metrics": [{"type": "Resource", "resource": target}]}}
>>> run = simulate(hpa, [LoadPoint(0, 400), LoadPoint(60_000, 2_000)], Workload(request_milli=1_000), for_ms=180_000)
>>> [(sample.at_ms // 1000, sample.replicas) for sample in run.samples if sample.replicas != sample.before]
[(80, 2), (95, 4), (110, 5)]
>>> run.summary.most_replicas, run.summary.scale_ups
(5, 3)

Four Pods would do: the fifth came because the sample at 105 s still held seconds in which there were two.

Load arrives at the ready Pods in equal parts; a Pod serves up to its capacity, and what is beyond that is missed. A
metrics server takes the mean of the last `resolution_ms`; the autoscaler decides with what it has, every period.

Upstream: none. Spec: `HorizontalPodAutoscaler`, which decides here as it does in the cluster.
Simplified: Pods start at once and are ready `startup_ms` later, and go at once; until then they use `startup_milli`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.autoscaling.hpa.autoscaler import HorizontalPodAutoscaler, Scale
from k8slab.autoscaling.hpa.metric_specs import MetricsError, Samples
from k8slab.autoscaling.hpa.pod_facts import PodFacts, PodMetric

__all__ = ["LoadPoint", "Run", "Sample", "Simulation", "Summary", "Workload", "simulate"]

FRESH_MS = 10_000
"""A container must be this old before a scrape makes a rate of it."""


class LoadPoint(NamedTuple):
    """From this moment on, so much load in all, in milli-units (of CPU, or of whatever the metric counts)."""

    at_ms: int
    load_milli: int


@dataclass(frozen=True, slots=True)
class Workload:
    """The Pods. `capacity_milli` None: what they request. `replicas` None: as many as `minReplicas` at first."""

    request_milli: int = 1_000
    capacity_milli: int | None = None
    startup_ms: int = 0
    startup_milli: int = 0
    replicas: int | None = None

    @property
    def capacity(self) -> int:
        return self.request_milli if self.capacity_milli is None else self.capacity_milli


class Sample(NamedTuple):
    """One round: the load then, Pods wanted `before` and after (`replicas`), ready ones, what the metrics asked for
    (`recommended`), after the window (`stabilized`), utilisation in percent of requests, and load missed, in milli."""

    at_ms: int
    load_milli: int
    before: int
    ready: int
    recommended: int | None
    stabilized: int | None
    replicas: int
    utilization: int
    missed_milli: int
    reason: str


class Summary(NamedTuple):
    """A run in numbers. `missed_share` of all load; `pod_seconds` of all Pods, ready or not."""

    rounds: int
    least_replicas: int
    most_replicas: int
    scale_ups: int
    scale_downs: int
    pod_seconds: float
    missed_share: float
    worst_missed_milli: int
    mean_utilization: float


@dataclass(slots=True)
class Run:
    """What came of it."""

    name: str
    samples: list[Sample] = field(default_factory=list)
    pod_ms: int = 0
    load: float = 0.0
    missed: float = 0.0

    @property
    def summary(self) -> Summary:
        counts = [sample.replicas for sample in self.samples] or [0]
        changes = [sample.replicas - sample.before for sample in self.samples]
        busy = [sample.utilization for sample in self.samples if sample.ready]
        return Summary(
            rounds=len(self.samples),
            least_replicas=min(counts),
            most_replicas=max(counts),
            scale_ups=sum(change > 0 for change in changes),
            scale_downs=sum(change < 0 for change in changes),
            pod_seconds=self.pod_ms / 1000,
            missed_share=self.missed / self.load if self.load else 0.0,
            worst_missed_milli=max((sample.missed_milli for sample in self.samples), default=0),
            mean_utilization=sum(busy) / len(busy) if busy else 0.0,
        )


@dataclass(slots=True)
class _Pod:
    facts: PodFacts
    created_ms: int
    ready_ms: int
    used: float = 0.0  # milli-core-milliseconds since the last scrape
    metric: PodMetric | None = None


class _Load:
    """The load as steps; asked for moments that never go back."""

    def __init__(self, points: Iterable[LoadPoint]) -> None:
        self.points = sorted(points)
        self.times = [point.at_ms for point in self.points]
        for point in self.points:
            if point.load_milli < 0:
                raise ValueError(f"load at {point.at_ms} ms: {point.load_milli}: expected 0 or more")
        if not self.points:
            raise ValueError("load: no points: expected at least one")

    def at(self, now_ms: int) -> int:
        index = bisect_right(self.times, now_ms) - 1
        return self.points[index].load_milli if index >= 0 else 0

    def between(self, start_ms: int, end_ms: int) -> list[int]:
        """The moments after `start_ms` and before `end_ms` at which it changes."""
        return self.times[bisect_right(self.times, start_ms) : bisect_right(self.times, end_ms - 1)]


class _World:
    """Pods under a load, and the metrics server that reads them."""

    def __init__(self, workload: Workload, load: _Load, run: Run) -> None:
        self.workload = workload
        self.load = load
        self.run = run
        self.now_ms = 0
        self.scraped_ms = 0
        self.pods: list[_Pod] = []
        self._made = 0
        container = {"name": "c", "resources": {"requests": {"cpu": f"{workload.request_milli}m"}}}
        self._spec: Object = {"spec": {"containers": [container]}}

    def resize(self, count: int, *, at_once: bool = False) -> None:
        """So many Pods from now on; the youngest go first, those that are not ready before the others."""
        while len(self.pods) < count:
            startup_ms = 0 if at_once else self.workload.startup_ms
            ready_ms = self.now_ms + startup_ms
            facts = PodFacts(
                f"web-{self._made}",
                ready="False" if startup_ms else "True",
                ready_since_ms=ready_ms if not startup_ms else self.now_ms,
                started_ms=-(1 << 40) if at_once else self.now_ms,
                pod=self._spec,
            )
            self.pods.append(_Pod(facts, facts.started_ms or 0, ready_ms))
            self._made += 1
        del self.pods[count:]

    def run_to(self, until_ms: int) -> None:
        """Let load arrive until then."""
        moments = {until_ms, *self.load.between(self.now_ms, until_ms)}
        moments.update(pod.ready_ms for pod in self.pods if self.now_ms < pod.ready_ms < until_ms)
        for moment in sorted(moments):
            self._serve(moment - self.now_ms)
            self.now_ms = moment
            for pod in self.pods:
                if pod.ready_ms == moment and pod.facts.ready == "False":
                    pod.facts.ready, pod.facts.ready_since_ms = "True", moment

    def _serve(self, span_ms: int) -> None:
        load, pods = self.load.at(self.now_ms), self.pods
        ready = [pod for pod in pods if pod.ready_ms <= self.now_ms]
        share = min(load / len(ready), self.workload.capacity) if ready else 0.0
        for pod in ready:
            pod.used += share * span_ms
        if len(ready) < len(pods):
            for pod in pods:
                if pod.ready_ms > self.now_ms:
                    pod.used += self.workload.startup_milli * span_ms
        self.run.pod_ms += len(pods) * span_ms
        self.run.load += load * span_ms
        self.run.missed += (load - share * len(ready)) * span_ms

    def scrape(self) -> None:
        """Every Pod that is old enough has a new sample: its mean since the last scrape, or its start."""
        now, last = self.now_ms, self.scraped_ms
        for pod in self.pods:
            since = max(last, pod.created_ms)
            if now - pod.created_ms >= FRESH_MS:
                pod.metric = PodMetric(int(pod.used / (now - since)), now, now - since)
            pod.used = 0.0
        self.scraped_ms = now

    def samples(self, spec: Object) -> Samples:
        """What the autoscaler gets for one entry of `spec.metrics`."""
        kind = spec.get("type")
        if kind in ("Object", "External"):
            load = self.load.at(self.scraped_ms)
            return load if kind == "Object" else [load]
        name = (spec.get("resource") or spec.get("containerResource") or {}).get("name", "cpu")
        found = {pod.facts.name: pod.metric for pod in self.pods if pod.metric is not None}
        if not found or name != "cpu":
            which = "custom" if kind == "Pods" else "resource"
            return MetricsError(f"no metrics returned from {which} metrics API") if not found else {}
        return found


class Simulation:
    """One autoscaler over a load, round by round. See `simulate` for the arguments."""

    def __init__(
        self,
        hpa: Object,
        load: Sequence[LoadPoint],
        workload: Workload | None = None,
        *,
        for_ms: int | None = None,
        autoscaler: HorizontalPodAutoscaler | None = None,
        period_ms: int = 15_000,
        resolution_ms: int = 15_000,
        phase_ms: int = 5_000,
    ) -> None:
        for name, value in (("period_ms", period_ms), ("resolution_ms", resolution_ms)):
            if value <= 0:
                raise ValueError(f"{name} {value}: expected a positive number")
        if not 0 <= phase_ms < resolution_ms:
            raise ValueError(f"phase_ms {phase_ms}: expected 0 or more, and less than resolution_ms ({resolution_ms})")
        steps = _Load(load)
        self.end_ms = steps.times[-1] + 60_000 if for_ms is None else for_ms
        self.hpa: dict[str, Any] = dict(hpa)
        self.mind = autoscaler or HorizontalPodAutoscaler()
        self.run = Run(hpa["metadata"]["name"])
        workload = workload or Workload()
        least = hpa["spec"].get("minReplicas")
        self.wanted = workload.replicas if workload.replicas is not None else 1 if least is None else least
        self._world = _World(workload, steps, self.run)
        self._world.resize(self.wanted, at_once=True)
        self._period_ms, self._resolution_ms = period_ms, resolution_ms
        self._scrape_ms, self._round_ms = resolution_ms, period_ms + phase_ms

    def step(self) -> Sample | None:
        """Let time pass until the autoscaler has decided once more; None when the time is over."""
        world = self._world
        while min(self._scrape_ms, self._round_ms) <= self.end_ms:
            if self._scrape_ms <= self._round_ms:
                world.run_to(self._scrape_ms)
                world.scrape()
                self._scrape_ms += self._resolution_ms
                continue
            world.run_to(self._round_ms)
            self._round_ms += self._period_ms
            return self._round()
        world.run_to(max(self.end_ms, world.now_ms))
        return None

    def _round(self) -> Sample:
        """One decision, carried out."""
        world, mind, before = self._world, self.mind, self.wanted
        now_ms, pods, workload = world.now_ms, world.pods, world.workload
        samples = [world.samples(spec) for spec in self.hpa["spec"].get("metrics") or ()]
        facts = [pod.facts for pod in pods]
        decision = mind.decide(self.hpa, Scale(before, len(pods)), facts, samples, now_ms=now_ms)
        load = world.load.at(now_ms)
        ready = sum(pod.ready_ms <= now_ms for pod in pods)
        served = min(load, ready * workload.capacity)
        if decision.rescale:
            mind.rescaled(decision)
            self.wanted = decision.desired
            world.resize(self.wanted)
        self.hpa["status"] = decision.status
        sample = Sample(
            at_ms=now_ms,
            load_milli=load,
            before=before,
            ready=ready,
            recommended=decision.recommendation,
            stabilized=decision.stabilized,
            replicas=self.wanted,
            utilization=round(100 * served / (ready * workload.request_milli)) if ready else 0,
            missed_milli=load - served,
            reason=decision.reason if decision.rescale else decision.error,
        )
        self.run.samples.append(sample)
        return sample


def simulate(hpa: Object, load: Sequence[LoadPoint], workload: Workload | None = None, **options: Any) -> Run:
    """Let one autoscaler (autoscaling/v2, as defaulted) follow a load, for `for_ms` or a minute past its last point.

    It decides every `period_ms`, `phase_ms` after a scrape; a scrape comes every `resolution_ms`. Pods metrics, and
    CPU, are usage; Object and External metrics are the load. `autoscaler`: another one, such as with other settings.
    ValueError for a load without points or below zero, and for spans that are not positive.
    """
    simulation = Simulation(hpa, load, workload, **options)
    while simulation.step() is not None:
        pass
    return simulation.run
