"""One autoscaler: from an object, its target's scale and what was measured, to a decision and a status.

>>> cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
>>> spec = {"minReplicas": 1, "maxReplicas": 10, "metrics": [{"type": "Resource", "resource": cpu}]}
>>> hpa = {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}
>>> pods = [PodFacts(f"web-{n}", pod={"spec": {"containers": [
...     {"name": "c", "resources": {"requests": {"cpu": "100m"}}}]}}) for n in range(2)]
>>> autoscaler = HorizontalPodAutoscaler()
>>> decision = autoscaler.decide(hpa, Scale(2, 2), pods, [{pod.name: PodMetric(90) for pod in pods}], now_ms=0)
>>> decision.rescale, decision.desired, decision.reason
(True, 4, 'cpu resource utilization (percentage of request) above target')
>>> autoscaler.rescaled(decision).conditions[0]["message"]
'the HPA controller was able to update the target scale to 4'

The caller's duties: write `desired` to the scale when `rescale`, tell how that went (`rescaled`, `not_rescaled`), write
the status, record what is `said`. Nothing here waits or knows the API server.

Upstream: pkg/controller/podautoscaler/horizontal.go (reconcileAutoscaler, computeReplicasForMetrics), v1.36
`status.observedGeneration` is never written: upstream's setStatus makes a new status without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity, quantity
from k8slab.api.times import rfc3339
from k8slab.autoscaling.hpa.conditions import Condition, Said, set_condition
from k8slab.autoscaling.hpa.metric_specs import MetricFailure, Samples, Surroundings, evaluate
from k8slab.autoscaling.hpa.normalize import Bounds, History
from k8slab.autoscaling.hpa.pod_facts import PodFacts, PodMetric
from k8slab.autoscaling.hpa.replica_calculator import ReplicaCalculator, Tolerances

__all__ = ["Computation", "Decision", "HorizontalPodAutoscaler", "PodFacts", "PodMetric", "Scale", "tolerances_of"]

NO_SCALING = -1


class Scale(NamedTuple):
    """What the scale subresource of the target says. `selector`: its text."""

    spec_replicas: int
    status_replicas: int
    selector: str = ""


@dataclass(slots=True)
class Computation:
    """What all metrics together ask for; `replicas` is -1 when nothing may be done. `error` may come with a count."""

    replicas: int
    metric: str
    statuses: list[dict[str, Any]]
    condition: Condition
    error: str = ""
    said: list[Said] = field(default_factory=list)


@dataclass(slots=True)
class Decision:
    """What to do now. `recommendation`: what the metrics asked for, None when they were not asked; `stabilized`: after
    the window. `error`: what went wrong on the way, though something may still be done; `failed`: nothing can."""

    current: int
    desired: int
    rescale: bool
    status: dict[str, Any]
    reason: str = ""
    metric: str = ""
    recommendation: int | None = None
    stabilized: int | None = None
    error: str = ""
    failed: bool = False
    said: list[Said] = field(default_factory=list)
    bounds: Bounds = field(default_factory=lambda: Bounds(1, 1))
    now_ms: int = 0

    @property
    def conditions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.status.get("conditions", [])
        return found

    def set(self, *condition: str) -> None:
        """Set a condition: type, status, reason, message."""
        self.status["conditions"] = set_condition(self.conditions, Condition(*condition), rfc3339(self.now_ms))

    def say(self, type: str, reason: str, message: str) -> None:
        self.said.append(Said(type, reason, message))


def tolerances_of(spec: Object, default: float, features: FeatureGates | None = None) -> Tolerances:
    """The controller's tolerance, or what `spec.behavior` says of its own (gate HPAConfigurableTolerance)."""
    behavior = spec.get("behavior")
    if not behavior or (features is not None and not features.enabled("HPAConfigurableTolerance")):
        return Tolerances(default, default)
    both = [(behavior.get(half) or {}).get("tolerance") for half in ("scaleDown", "scaleUp")]
    return Tolerances(*(default if one is None else _approximate(quantity(one)) for one in both))


@dataclass(slots=True)
class HorizontalPodAutoscaler:
    """The memory of one autoscaler, and its settings: `tolerance`, and the controller's window in `history`."""

    calculator: ReplicaCalculator = field(default_factory=ReplicaCalculator)
    history: History = field(default_factory=History)
    tolerance: float = 0.1
    features: FeatureGates | None = None

    # -- what the metrics ask for ------------------------------------------------------------------------

    def compute(
        self, hpa: Object, scale: Scale, pods: Sequence[PodFacts], samples: Sequence[Samples], now_ms: int
    ) -> Computation:
        """The greatest count that an entry of `spec.metrics` asks for; `samples` has what was fetched for each.

        Entries that fail are left out, but then the count may only grow: data that is missing never takes Pods away.
        """
        metrics = hpa["spec"].get("metrics") or ()
        around = Surroundings(
            self.calculator,
            tolerances_of(hpa["spec"], self.tolerance, self.features),
            hpa["metadata"].get("namespace", ""),
            pods,
            scale.spec_replicas,
            scale.status_replicas,
            now_ms,
        )
        replicas, metric = 0, ""
        statuses: list[dict[str, Any]] = []
        failures: list[MetricFailure] = []
        for spec, got in zip(metrics, samples, strict=True):
            try:
                found = evaluate(spec, got, around)
            except MetricFailure as failure:
                failures.append(failure)
                statuses.append({"type": ""})
                continue
            statuses.append(found.status)
            if replicas == 0 or found.replicas > replicas:
                replicas, metric = found.replicas, found.metric
        said = [Said("Warning", failure.reason, failure.cause) for failure in failures]
        error = ""
        if failures:
            count = f"{len(failures)} invalid out of {len(metrics)}"
            error = f"invalid metrics ({count}), first error is: {failures[0]}"
        if len(failures) >= len(metrics) or (failures and replicas < scale.spec_replicas):
            condition = Condition("", "", "", "")
            if failures:
                text = f"the HPA was unable to compute the replica count: {failures[0].cause}"
                condition = Condition("ScalingActive", "False", failures[0].reason, text)
            return Computation(NO_SCALING, "", statuses, condition, error, said)
        text = f"the HPA was able to successfully calculate a replica count from {metric}"
        condition = Condition("ScalingActive", "True", "ValidMetricFound", text)
        return Computation(replicas, metric, statuses, condition, error, said)

    # -- what is done --------------------------------------------------------------------------------------

    def begin(self, hpa: Object, scale: Scale, now_ms: int) -> Decision:
        """What can be decided from the scale alone. `reason` stays "" and `rescale` False when metrics decide
        (`needs_metrics`)."""
        current = scale.spec_replicas
        decision = Decision(
            current, current, rescale=False, status=_copy(hpa), bounds=Bounds.of(hpa["spec"]), now_ms=now_ms
        )
        got = "the HPA controller was able to get the target's current scale"
        decision.set("AbleToScale", "True", "SucceededGetScale", got)
        self.history.record_initial(current, now_ms)
        least, most = decision.bounds.min_replicas, decision.bounds.max_replicas
        if current == 0 and least != 0:
            decision.desired = 0
            decision.set(
                "ScalingActive",
                "False",
                "ScalingDisabled",
                "scaling is disabled since the replica count of the target is zero",
            )
        elif current > most:
            decision.desired, decision.rescale = most, True
            decision.reason = "Current number of replicas above Spec.MaxReplicas"
        elif current < least:
            decision.desired, decision.rescale = least, True
            decision.reason = "Current number of replicas below Spec.MinReplicas"
        return decision

    def needs_metrics(self, decision: Decision) -> bool:
        """Whether `begin` left the decision to the metrics."""
        disabled = decision.current == 0 and decision.bounds.min_replicas != 0
        return not decision.rescale and not disabled

    def decide(
        self, hpa: Object, scale: Scale, pods: Sequence[PodFacts], samples: Sequence[Samples], *, now_ms: int
    ) -> Decision:
        """The whole decision at one moment: `begin`, then what the metrics ask for."""
        decision = self.begin(hpa, scale, now_ms)
        if self.needs_metrics(decision):
            self.apply(decision, self.compute(hpa, scale, pods, samples, now_ms))
        if not decision.rescale:
            self.settle(decision)
        return decision

    def apply(self, decision: Decision, computed: Computation) -> None:
        """Let what the metrics ask for decide. With a count of -1 nothing is done, and `error` says why."""
        decision.said += computed.said
        decision.status["currentMetrics"] = computed.statuses or None
        decision.error = computed.error
        if computed.condition.type:
            decision.set(*computed.condition)
        if computed.replicas == NO_SCALING and computed.error:
            decision.failed = True
            decision.say("Warning", "FailedComputeMetricsReplicas", computed.error)
            return
        current, desired = decision.current, max(0, computed.replicas)
        if desired > current:
            decision.reason = f"{computed.metric} above target"
        elif desired < current:
            decision.reason = "All metrics below target"
        normalized = self.history.normalize(decision.bounds, current, desired, now_ms=decision.now_ms)
        decision.set(*normalized.able_to_scale)
        decision.set(*normalized.scaling_limited)
        decision.metric, decision.recommendation = computed.metric, desired
        decision.stabilized, decision.desired = normalized.stabilized, normalized.replicas
        decision.rescale = normalized.replicas != current

    def refuse(self, decision: Decision, event: str, reason: str, message: str) -> None:
        """Metrics cannot be asked, for the target's selector is missing, none, or another autoscaler's too."""
        decision.say("Warning", event, message)
        decision.say("Warning", "FailedComputeMetricsReplicas", message)
        shown = "the HPA target's scale is missing a selector" if event == "SelectorRequired" else message
        decision.set("ScalingActive", "False", reason, shown)
        decision.error, decision.failed = message, True

    def settle(self, decision: Decision) -> Decision:
        """Nothing is to be written to the scale: what was last wanted stays so if no count could be computed."""
        self._write(decision, decision.status.get("desiredReplicas", 0) if decision.failed else decision.current)
        return decision

    def rescaled(self, decision: Decision) -> Decision:
        """The scale was written."""
        desired = decision.desired
        text = f"the HPA controller was able to update the target scale to {desired}"
        decision.set("AbleToScale", "True", "SucceededRescale", text)
        decision.say("Normal", "SuccessfulRescale", f"New size: {desired}; reason: {decision.reason}")
        self.history.store_scale_event(decision.bounds.behavior, decision.current, desired, decision.now_ms)
        self._write(decision, desired)
        decision.status["lastScaleTime"] = rfc3339(decision.now_ms)
        return decision

    def not_rescaled(self, decision: Decision, error: str) -> Decision:
        """The scale could not be written: it stays as it was, and so does what was last wanted."""
        text = f"New size: {decision.desired}; reason: {decision.reason}; error: {error}"
        decision.say("Warning", "FailedRescale", text)
        text = f"the HPA controller was unable to update the target scale: {error}"
        decision.set("AbleToScale", "False", "FailedUpdateScale", text)
        self._write(decision, decision.status.get("desiredReplicas", 0))
        decision.error = error
        return decision

    def _write(self, decision: Decision, desired: int) -> None:
        status = decision.status
        status["currentReplicas"], status["desiredReplicas"] = decision.current, desired
        if not decision.current:
            del status["currentReplicas"]  # zeros of this field are not written

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        self.history.check_invariants()


def _approximate(amount: Quantity) -> float:
    """AsApproximateFloat64."""
    return float(amount.amount) * 10.0**amount.scale


def _copy(hpa: Object) -> dict[str, Any]:
    """The status so far, ours to change; metrics are told anew every time, and what is not ours is dropped."""
    before = hpa.get("status") or {}
    status = {key: value for key, value in before.items() if key != "observedGeneration"}
    status["conditions"] = list(status.get("conditions") or ())
    status["currentMetrics"] = None
    status.setdefault("desiredReplicas", 0)
    return status
