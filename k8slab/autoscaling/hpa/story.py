"""An autoscaler as steps: each round what the load is, what the metrics ask for, and which recommendation decides.

>>> from k8slab.autoscaling import AutoscalerStory, LoadPoint, Workload
>>> cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
>>> spec = {"minReplicas": 1, "maxReplicas": 9, "metrics": [{"type": "Resource", "resource": cpu}]}
>>> load = [LoadPoint(0, 500), LoadPoint(40_000, 1_000), LoadPoint(70_000, 100)]
>>> story = AutoscalerStory({"metadata": {"name": "web"}, "spec": spec}, load, for_ms=420_000)
>>> while story.step():
...     pass
>>> print(*(event.message for event in story.trace if event.kind in ("hpa.grow", "hpa.shrink")), sep="\\n")
the metrics ask for 2 Pods: from 1 to 2
the metrics ask for 3 Pods: from 2 to 3
the metrics ask for 1 Pod, and no recommendation of the window for more: from 3 to 2
the metrics ask for 1 Pod, and no recommendation of the window for more: from 2 to 1
>>> [event.now_ms for event in story.trace if event.kind in ("hpa.hold", "hpa.shrink")]
[80000, 380000, 395000]

Upstream: none (the rounds are those of pkg/controller/podautoscaler/horizontal.go)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.autoscaling.hpa.normalize import Bounds
from k8slab.autoscaling.hpa.simulation import LoadPoint, Run, Sample, Simulation, Workload
from k8slab.sim import Clock, Kind, Trace, add_kinds
from k8slab.sim.kinds import cut

__all__ = ["AutoscalerStory"]

LANE = "autoscaler"

add_kinds(
    {
        "hpa.steady": Kind(
            "work",
            2,
            ("wanted", "replicas"),
            "asks for {wanted}",
            "the metrics ask for {wanted} {wanted:Pod|Pods}: {replicas} it stays",
        ),
        "hpa.hold": Kind(
            "wait",
            1,
            ("wanted", "highest", "replicas"),
            "asks for {wanted}, holds {replicas}",
            "the metrics ask for {wanted} {wanted:Pod|Pods}, but the window remembers {highest}: {replicas} it stays",
        ),
        "hpa.held": Kind(
            "wait",
            2,
            ("wanted", "highest", "replicas"),
            "holds {replicas}",
            "the metrics ask for {wanted} {wanted:Pod|Pods}, and the window still remembers {highest}",
        ),
        "hpa.limit": Kind(
            "wait",
            1,
            ("wanted", "why", "replicas"),
            "{replicas}, not {wanted}",
            "after the window it is {wanted} {wanted:Pod|Pods}, but {why}: {replicas}",
        ),
        "hpa.grow": Kind(
            "state",
            1,
            ("wanted", "before", "after"),
            "{before} → {after}",
            "the metrics ask for {wanted} {wanted:Pod|Pods}: from {before} to {after}",
        ),
        "hpa.shrink": Kind(
            "state",
            1,
            ("wanted", "before", "after"),
            "{before} → {after}",
            "the metrics ask for {wanted} {wanted:Pod|Pods}, and no recommendation of the window for more: "
            "from {before} to {after}",
        ),
        "hpa.blind": Kind("wait", 1, ("why", "replicas"), "no metrics", "no count, so {replicas} it stays: {why}"),
    }
)

_WHY = {
    "ScaleUpLimit": "that is faster than its rate",
    "ScaleDownLimit": "that is faster than its rate",
    "TooManyReplicas": "that is above the maximum",
    "TooFewReplicas": "that is below the minimum",
}


class AutoscalerStory:
    """A steppable autoscaler: every step is a round. Arguments as of `simulate`.

    `Stepper(AutoscalerStory(hpa, load))` draws the load against the replicas, with the window's recommendations.
    """

    views = ("hpa",)
    title = "Replicas"

    def __init__(
        self, hpa: Object, load: Sequence[LoadPoint], workload: Workload | None = None, **options: Any
    ) -> None:
        self._clock = Clock()
        self.trace = Trace(self._clock)
        self.simulation = Simulation(hpa, load, workload, **options)
        self.bounds = Bounds.of(hpa["spec"])
        self._rounds: dict[str, dict[str, Any]] = {}
        self._was_held = False

    @property
    def run(self) -> Run:
        """What came of it so far."""
        return self.simulation.run

    def step(self) -> bool:
        """The next round; False when the time is over."""
        sample = self.simulation.step()
        if sample is None:
            return False
        self._clock.now_ms = sample.at_ms
        self._rounds[str(sample.at_ms)] = {
            "load": sample.load_milli,
            "ready": sample.ready,
            "wants": sample.recommended,
            "says": sample.stabilized,
            "replicas": sample.replicas,
            "missed": sample.missed_milli,
        }
        self.trace.current = None
        self._tell(sample)
        return True

    def _tell(self, sample: Sample) -> None:
        emit, wanted, chosen = self.trace.emit, sample.recommended, sample.stabilized
        held = chosen is not None and wanted is not None and chosen != wanted
        if sample.replicas != sample.before and wanted is not None:
            kind = "hpa.grow" if sample.replicas > sample.before else "hpa.shrink"
            emit(kind, LANE, wanted=wanted, before=sample.before, after=sample.replicas)
        elif wanted is None or chosen is None:
            emit(
                "hpa.blind",
                LANE,
                why=cut(sample.reason.rpartition(": ")[2] or "it may not", 60),
                replicas=sample.replicas,
            )
        elif held and chosen == sample.replicas:
            kind = "hpa.held" if self._was_held else "hpa.hold"
            emit(kind, LANE, wanted=wanted, highest=chosen, replicas=sample.replicas)
        elif chosen == sample.replicas:
            emit("hpa.steady", LANE, wanted=wanted, replicas=sample.replicas)
        if chosen is not None and chosen != sample.replicas:
            emit("hpa.limit", LANE, wanted=chosen, why=self._why(), replicas=sample.replicas)
        self._was_held = held and chosen == sample.replicas

    def _why(self) -> str:
        """Which bound or rate decided, in words."""
        conditions = self.simulation.hpa["status"]["conditions"]
        reason = next((one["reason"] for one in conditions if one["type"] == "ScalingLimited"), "")
        return _WHY.get(reason, "something else decides")

    def view(self) -> Mapping[str, Any]:
        """`hpa`: `min`, `max`, the `first` count, the `window` down in ms (its far end is out with an `edge` of
        1), and `rounds` by their moment: the `load` and
        what is `missed` of it in milli-units, `ready` Pods, what the metrics ask for (`wants`), what the window makes
        of that (`says`), and `replicas`."""
        behavior = self.bounds.behavior
        seconds = None if behavior is None else behavior.scale_down.stabilization_window_seconds
        window_ms = self.simulation.mind.history.downscale_stabilization_ms if seconds is None else 1000 * seconds
        return {
            "hpa": {
                "min": self.bounds.min_replicas,
                "max": self.bounds.max_replicas,
                "window": window_ms,
                "edge": int(seconds is not None),
                "first": self.run.samples[0].before if self.run.samples else self.simulation.wanted,
                "rounds": {key: dict(one) for key, one in self._rounds.items()},
            }
        }
