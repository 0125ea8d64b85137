"""The HPA controller: every 15 s, for every autoscaler: read the scale, fetch metrics, decide, write.

Upstream: pkg/controller/podautoscaler/horizontal.go and rate_limiters.go, v1.36
Simplified: targets of kinds that are not built in have no scale here; two versions of a target's kind are not tried
one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.labels import Selector, parse_selector
from k8slab.api.objects import Object, key_of, thaw
from k8slab.api.scheme import GVR, HORIZONTALPODAUTOSCALERS, PODS, SCHEME
from k8slab.api.times import rfc3339
from k8slab.autoscaling.hpa.autoscaler import Decision, HorizontalPodAutoscaler, Scale
from k8slab.autoscaling.hpa.conditions import Condition, Said, set_condition
from k8slab.autoscaling.hpa.metrics import MetricsClient, RESTMetricsClient, fetch
from k8slab.autoscaling.hpa.normalize import History
from k8slab.autoscaling.hpa.pod_facts import PodFacts
from k8slab.autoscaling.hpa.replica_calculator import ReplicaCalculator
from k8slab.autoscaling.hpa.selectors import SelectorStore
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers import ControllerContext

__all__ = ["LANE", "HorizontalController"]

LANE = "kcm/horizontal-pod-autoscaler"
FAILURES = (StatusError, TimeoutError)


class ReconcileError(Exception):
    """A reconciliation that went wrong; it is told in the trace, and tried again a period later like any other."""


class TargetError(ValueError):
    """A scale target that cannot be found. `step`: at which step, in upstream's words; "" when its scale is asked."""

    def __init__(self, text: str, step: str = "") -> None:
        super().__init__(text)
        self.step = step


class HorizontalController:
    """Options, by upstream's flags: `horizontal-pod-autoscaler-sync-period-ms` (15000), `-tolerance` (0.1),
    `-downscale-stabilization-ms` (300000), `-cpu-initialization-period-ms` (300000), `-initial-readiness-delay-ms`
    (30000), `concurrent-horizontal-pod-autoscaler-syncs` (5). `metrics`: where samples come from, by default the API
    server's metrics groups."""

    def __init__(self, ctx: ControllerContext, *, metrics: MetricsClient | None = None) -> None:
        self.ctx = ctx
        self.loop = ctx.loop
        self.metrics: MetricsClient = RESTMetricsClient(ctx.client.transport) if metrics is None else metrics
        flag = "horizontal-pod-autoscaler"
        self.period_ms = ctx.option(f"{flag}-sync-period-ms", 15_000)
        self.window_ms = ctx.option(f"{flag}-downscale-stabilization-ms", 300_000)
        self.tolerance = float(ctx.options.get(f"{flag}-tolerance", 0.1))
        self.calculator = ReplicaCalculator(
            ctx.option(f"{flag}-cpu-initialization-period-ms", 300_000),
            ctx.option(f"{flag}-initial-readiness-delay-ms", 30_000),
        )
        self.autoscalers: dict[str, HorizontalPodAutoscaler] = {}
        self.selectors = SelectorStore()
        self.queue = WorkQueue(ctx.loop, "horizontalpodautoscaler", lane=LANE)
        self.hpas = ctx.informers.informer(HORIZONTALPODAUTOSCALERS)
        self.pods = ctx.informers.informer(PODS)
        self.recorder = ctx.recorder("horizontal-pod-autoscaler")
        self.hpas.add_event_handler(
            on_add=lambda hpa, is_initial: self._enqueue(hpa),
            on_update=self._updated,
            on_delete=self._deleted,
        )

    def start(self) -> None:
        """Start the workers."""
        workers = self.ctx.option("concurrent-horizontal-pod-autoscaler-syncs", 5)
        run_workers(self.ctx.component, self.queue, self.sync, workers, LANE, informers=(self.hpas, self.pods))

    def _enqueue(self, hpa: Object) -> None:
        """Always a whole period later; while it waits, further changes do nothing."""
        key = key_of(hpa)
        self.queue.add_after(key, self.period_ms, periodic=True)
        self.selectors.register(key)

    def _updated(self, old: Object, new: Object) -> None:
        before = self.loop.trace.current
        if old["spec"] == new["spec"]:
            self.loop.trace.current = None  # its own status came back: that is not why the next round comes
        self._enqueue(new)
        self.loop.trace.current = before

    def _deleted(self, hpa: Object) -> None:
        self.selectors.delete(key_of(hpa))

    async def sync(self, key: str) -> None:
        """One period of one autoscaler. Whatever comes of it, the next one follows, unless it is gone."""
        hpa = self.hpas.indexer.get(key)
        if hpa is None:
            self.autoscalers.pop(key, None)
            return
        try:
            await self._reconcile(key, hpa)
        except ReconcileError as error:
            self._emit("hpa.error", key, error=str(error)[:400])
        self.loop.trace.current = None  # the next round comes because time passes
        self.queue.add_after(key, self.period_ms, periodic=True)

    # -- one reconciliation ------------------------------------------------------------------------------

    async def _reconcile(self, key: str, hpa: Object) -> None:
        reference = hpa["spec"]["scaleTargetRef"]
        where = f"{reference['kind']}/{hpa['metadata']['namespace']}/{reference['name']}"
        try:
            target = target_of(reference)
        except TargetError as error:
            await self._no_scale(hpa, str(error))
            raise ReconcileError(f"{error.step or f'failed to query scale subresource for {where}'}: {error}") from None
        try:
            got = await self.ctx.client.get_subresource(
                target, hpa["metadata"]["namespace"], reference["name"], "scale"
            )
        except FAILURES as error:
            await self._no_scale(hpa, str(error))
            raise ReconcileError(f"failed to query scale subresource for {where}: {error}") from None
        scale = Scale(
            got["spec"].get("replicas", 0), got["status"].get("replicas", 0), got["status"].get("selector", "")
        )
        autoscaler = self._autoscaler(key)
        decision = autoscaler.begin(hpa, scale, self.loop.clock.now_ms)
        if autoscaler.needs_metrics(decision):
            await self._ask_metrics(autoscaler, decision, hpa, scale)
        if decision.failed:
            said = "failed to compute desired number of replicas based on listed metrics for"
            decision.error = f"{said} {where}: {decision.error}"
        if decision.rescale:
            await self._rescale(autoscaler, decision, hpa, target, got)
        else:
            autoscaler.settle(decision)
        self._record(hpa, decision.said)
        await self._update_status(hpa, decision.status)
        if decision.error:
            raise ReconcileError(decision.error)

    def _autoscaler(self, key: str) -> HorizontalPodAutoscaler:
        found = self.autoscalers.get(key)
        if found is None:
            found = self.autoscalers[key] = HorizontalPodAutoscaler(
                self.calculator, History(self.window_ms), self.tolerance, self.ctx.features
            )
        return found

    async def _ask_metrics(
        self, autoscaler: HorizontalPodAutoscaler, decision: Decision, hpa: Object, scale: Scale
    ) -> None:
        """Fetch what `spec.metrics` needs, and let it decide."""
        key, namespace = key_of(hpa), hpa["metadata"]["namespace"]
        selector, pods, problem = self._selected(key, namespace, scale.selector)
        if selector is None:
            autoscaler.refuse(decision, *problem)
            return
        samples = await fetch(self.metrics, hpa["spec"].get("metrics") or (), namespace, selector)
        decision.now_ms = self.loop.clock.now_ms
        facts = [PodFacts.of(pod) for pod in pods]
        autoscaler.apply(decision, autoscaler.compute(hpa, scale, facts, samples, decision.now_ms))
        if decision.recommendation is not None:
            self._emit(
                "hpa.recommend",
                key,
                before=decision.current,
                wanted=decision.recommendation,
                chosen=decision.desired,
                metric=decision.metric,
            )

    def _selected(
        self, key: str, namespace: str, text: str
    ) -> tuple[Selector | None, Sequence[Object], tuple[str, str, str]]:
        """The selector and the Pods it selects; without one: Event reason, condition reason and message of why not."""
        if not text:
            return None, (), ("SelectorRequired", "InvalidSelector", "selector is required")
        try:
            selector = parse_selector(text)
        except ValueError as error:
            message = f"couldn't convert selector into a corresponding internal selector object: {error}"
            return None, (), ("InvalidSelector", "InvalidSelector", message)
        self.selectors.put(key, selector)
        pods = [pod for pod in self.pods.indexer.list(namespace) if selector.matches(pod["metadata"].get("labels"))]
        rivals = self.selectors.matching(namespace, pods)
        if len(rivals) > 1:
            message = f"pods by selector {text} are controlled by multiple HPAs: [{' '.join(rivals)}]"
            return None, (), ("AmbiguousSelector", "AmbiguousSelector", message)
        return selector, pods, ("", "", "")

    async def _rescale(
        self, autoscaler: HorizontalPodAutoscaler, decision: Decision, hpa: Object, target: GVR, got: Object
    ) -> None:
        reference, namespace = hpa["spec"]["scaleTargetRef"], hpa["metadata"]["namespace"]
        scale = {**thaw(got), "spec": {"replicas": decision.desired}}
        try:
            await self.ctx.client.update_subresource(target, namespace, reference["name"], "scale", scale)
        except FAILURES as error:
            autoscaler.not_rescaled(decision, str(error))
            where = f"{reference['kind']}/{namespace}/{reference['name']}"
            decision.error = f"failed to rescale {where}: {error}"
            return
        decision.now_ms = self.loop.clock.now_ms
        autoscaler.rescaled(decision)
        self._emit(
            "hpa.scale",
            key_of(hpa),
            target=f"{reference['kind']}/{reference['name']}",
            before=decision.current,
            after=decision.desired,
            reason=decision.reason,
        )

    # -- writing -----------------------------------------------------------------------------------------

    async def _no_scale(self, hpa: Object, error: str) -> None:
        """The target, or its scale, could not be had."""
        self._record(hpa, [Said("Warning", "FailedGetScale", error)])
        text = f"the HPA controller was unable to get the target's current scale: {error}"
        status = dict(thaw(hpa).get("status") or {})
        now = rfc3339(self.loop.clock.now_ms)
        condition = Condition("AbleToScale", "False", "FailedGetScale", text)
        status["conditions"] = set_condition(status.get("conditions") or (), condition, now)
        await self._update_status(hpa, status)

    async def _update_status(self, hpa: Object, status: dict[str, Any]) -> None:
        """Write the status if it says something new."""
        if _significant(status) == _significant(thaw(hpa).get("status") or {}):
            return
        try:
            await self.ctx.client.update_status(HORIZONTALPODAUTOSCALERS, {**thaw(hpa), "status": status})
        except FAILURES as error:
            self._record(hpa, [Said("Warning", "FailedUpdateStatus", str(error))])
            raise ReconcileError(f"failed to update status for {hpa['metadata']['name']}: {error}") from None

    def _record(self, hpa: Object, said: Sequence[Said]) -> None:
        for one in said:
            self.recorder.event(hpa, one.type, one.reason, one.message)

    def _emit(self, kind: str, key: str, **data: Any) -> None:
        resource = HORIZONTALPODAUTOSCALERS.group_resource
        self.loop.trace.emit(kind, LANE, resource=resource, key=key, **data)

    def view(self) -> dict[str, Any]:
        """What is remembered, by autoscaler."""
        return {key: one.history.view() for key, one in sorted(self.autoscalers.items())}

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        self.queue.check_invariants()
        for one in self.autoscalers.values():
            one.check_invariants()


def target_of(reference: Object) -> GVR:
    """The resource of a scale target. TargetError with upstream's text when there is none."""
    version, kind = reference.get("apiVersion", ""), reference["kind"]
    if version.count("/") > 1:
        raise TargetError(f"unexpected GroupVersion string: {version}", "invalid API version in scale target reference")
    group = version.partition("/")[0] if "/" in version else ""
    gvk = SCHEME.preferred(group, kind)
    if gvk is None:
        step = "unable to determine resource for scale target reference"
        raise TargetError(f'no matches for kind "{kind}" in group "{group}"', step)
    info = SCHEME.resource_of(gvk)
    if "scale" not in info.subresources:
        raise TargetError("the server could not find the requested resource")
    return info.gvr


def _significant(status: Object) -> dict[str, Any]:
    """A status without what is empty or zero: two that differ in that only are the same."""
    return {key: value for key, value in status.items() if value not in (None, [], {}, 0)}
