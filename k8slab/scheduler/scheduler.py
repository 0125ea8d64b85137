"""The scheduler process: pops Pods, runs their scheduling cycle, binds them in tasks of their own.

One scheduling cycle (snapshot, filter, score, assume, Reserve, Permit) is one action of the loop. The binding cycle
(wait for Permit, PreBind, Bind, PostBind) runs beside it, so the next Pod does not wait for the API server.

Upstream: pkg/scheduler/scheduler.go, schedule_one.go (ScheduleOne, schedulingCycle, bindingCycle,
handleSchedulingFailure)
Simplified: no extenders, no leader election, no metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.api.pods import get_condition
from k8slab.api.scheme import NODES, PODDISRUPTIONBUDGETS, PODS
from k8slab.api.times import rfc3339
from k8slab.client import Client, SharedInformerFactory
from k8slab.scheduler.cache import Cache
from k8slab.scheduler.config import KubeSchedulerConfiguration
from k8slab.scheduler.cycle import ScheduleResult
from k8slab.scheduler.diagnosis import Diagnosis, FitError
from k8slab.scheduler.event_broadcaster import EventBroadcaster
from k8slab.scheduler.event_handlers import OTHER_RESOURCES, EventHandlers, scheduler_name
from k8slab.scheduler.executor import Executor, Surroundings
from k8slab.scheduler.explain import Explanation
from k8slab.scheduler.framework import (
    ASSIGNED_POD_DELETE,
    PODS_TO_ACTIVATE,
    SUCCESS,
    Code,
    Status,
    namespace_of,
    pod_key,
    uid_of,
)
from k8slab.scheduler.listers import NOT_FINISHED, InformerLister
from k8slab.scheduler.nominator import Nominator, nominated_node_name
from k8slab.scheduler.profile import Profile
from k8slab.scheduler.queue import BACKOFF_COMPLETE, QueueName, QueueProfile, SchedulingQueue
from k8slab.scheduler.queued_pod import QueuedPodInfo
from k8slab.scheduler.runtime import Factory, Framework, name_of
from k8slab.scheduler.snapshot import Snapshot
from k8slab.scheduler.waiting_pods import WaitingPod
from k8slab.sim.component import Component
from k8slab.sim.kinds import cut
from k8slab.sim.loop import Loop, Wait, Waiters, pause

__all__ = ["Scheduler"]

LANE = "scheduler"


class Scheduler:
    """Places Pods whose `spec.schedulerName` is that of one of its profiles.

    `config`: a KubeSchedulerConfiguration; or only its `profiles`, as Profiles or dicts. Neither: the defaults.
    `registry`: out-of-tree plugins by name. `memo` False works out every verdict anew. Handlers are registered
    when it is built; `start` needs informers that somebody starts.
    """

    def __init__(
        self,
        loop: Loop,
        component: Component,
        client: Client,
        informers: SharedInformerFactory,
        *,
        config: KubeSchedulerConfiguration | None = None,
        profiles: Sequence[Profile | Object] | None = None,
        registry: Mapping[str, Factory] | None = None,
        features: FeatureGates | None = None,
        memo: bool = True,
    ) -> None:
        self.loop = loop
        self.component = component
        self.client = client
        self.features = features if features is not None else FeatureGates()
        self.config = _config_of(config, profiles)
        self.cache = Cache()
        self.lister = InformerLister(informers)
        self.nominator = Nominator()
        self.frameworks = self._build(registry, memo)
        first = next(iter(self.frameworks.values()))
        self.queue = SchedulingQueue(
            first.queue_sort_plugin,
            {
                name: QueueProfile(tuple(framework.pre_enqueue_plugins), framework.events_to_register())
                for name, framework in self.frameworks.items()
            },
            initial_backoff_ms=self.config.pod_initial_backoff_seconds * 1_000,
            max_backoff_ms=self.config.pod_max_backoff_seconds * 1_000,
            pop_from_backoff=self.features.enabled("SchedulerPopFromBackoffQ"),
            on_move=self._on_move,
        )
        self._snapshot = Snapshot()
        self._poppable, self._timers = Waiters(loop), Waiters(loop)
        self._recorders = {name: EventBroadcaster(loop, component, client, name) for name in self.frameworks}
        handlers = EventHandlers(
            self.cache, self.queue, self.nominator, self.frameworks, lambda: loop.clock.now_ms, self._reject_waiting
        )
        self._pods = informers.informer(PODS, field_selector=NOT_FINISHED)
        self._nodes = informers.informer(NODES)
        self._pods.add_event_handler(handlers.add_pod, handlers.update_pod, handlers.delete_pod)
        self._nodes.add_event_handler(handlers.add_node, handlers.update_node, handlers.delete_node)
        for resource, event_resource in OTHER_RESOURCES.items():
            informers.informer(resource).add_event_handler(*handlers.others(event_resource))
        self._pdbs = informers.informer(PODDISRUPTIONBUDGETS)
        around = Surroundings(self._pods.indexer.get, self._waiting_pod, self._record_preempted, self._activate)
        self.executor = Executor(
            loop,
            component,
            client,
            self.nominator,
            around,
            with_generation=self.features.enabled("PodObservedGenerationTracking"),
        )
        for framework in self.frameworks.values():
            framework.pdbs = self._pdbs.indexer.list
            framework.is_preempting = self.executor.is_preempting

    def _build(self, registry: Mapping[str, Factory] | None, memo: bool) -> dict[str, Framework]:
        """The frameworks by scheduler name. They share one queue, so all must sort it alike."""
        rng = self.loop.stream("scheduler")
        built: dict[str, Framework] = {}
        for profile in self.config.profiles:
            name = profile.scheduler_name
            try:
                framework = Framework.from_profile(
                    profile,
                    registry=registry,
                    features=self.features,
                    client=self.client,
                    lister=self.lister,
                    loop=self.loop,
                    rng=rng,
                    memo=memo,
                    nominator=self.nominator,
                    percentage_of_nodes_to_score=self.config.percentage_of_nodes_to_score,
                )
            except ValueError as error:
                raise ValueError(
                    f"initializing profiles: creating profile for scheduler name {name}: {error}"
                ) from error
            if problem := _unlike(framework, built):
                raise ValueError(f"initializing profiles: {problem}")
            built[name] = framework
        return built

    def start(self) -> None:
        """Start the tasks; they wait for the informers by themselves."""
        self.component.spawn("scheduling", self._schedule_forever())
        self.component.spawn("queue", self._flush_forever())

    # -- looking -----------------------------------------------------------------------------------

    def explain(self, pod: Object) -> Explanation:
        """Every plugin's verdict and score for `pod` on every Node, as the cluster is now. Changes nothing.

        A Pod that has a Node is explained as if it had none and did not count there.
        """
        snapshot = self.cache.snapshot()
        node = snapshot.get(self.cache.node_of(pod_key(pod)) or "")
        if node is not None:
            node.remove_pod(pod_key(pod))  # ours alone: a fresh snapshot is a copy
        spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
        return self._framework_of(pod).explain({**pod, "spec": spec}, snapshot)

    def view(self) -> dict[str, Any]:
        """Queue, cache and nominations, for the stepper."""
        return {"queue": self.queue.view(), "cache": self.cache.view(), "nominated": self.nominator.view()}

    def check_invariants(self) -> None:
        """Those of queue and cache; a Pod that is queued does not count on a Node."""
        self.queue.check_invariants()
        self.cache.check_invariants()
        self.nominator.check_invariants()

    # -- the scheduling task -----------------------------------------------------------------------

    async def _schedule_forever(self) -> None:
        await self._nodes.wait_synced()
        await self._pods.wait_synced()
        await self.lister.wait_synced()
        await self._pdbs.wait_synced()
        while True:
            while not self.queue.has_next:
                await pause(self._poppable)
            await self._schedule_one(self.queue.pop())
            await pause()

    async def _schedule_one(self, info: QueuedPodInfo) -> None:
        """One Pod: decide in this action; write failures before the next Pod, bindings beside it."""
        trace = self.loop.trace
        trace.current = info.cause
        trace.emit("schedule.attempt", LANE, resource="pods", key=info.key, attempt=info.attempts)
        if self._should_skip(info.pod):
            self.queue.done(info.uid)
            return
        framework = self._framework_of(info.pod)
        self.cache.update_snapshot(self._snapshot)
        result = framework.schedule(info.pod, self._snapshot)
        if result.status is not SUCCESS:
            await self._preempt(info, result)
            nominated = _nomination(framework, result)
            await self._handle_failure(framework, info, result.status, result.diagnosis, nominated)
            return
        trace.emit(
            "schedule.decide",
            LANE,
            resource="pods",
            key=info.key,
            node=result.node,
            feasible=len(result.feasible_nodes),
            evaluated=result.evaluated,
            score=result.score,
        )
        placed = {**info.pod, "spec": {**info.pod["spec"], "nodeName": result.node}}
        status = self._assume(placed, result.node)
        if status.is_success:
            status = self._reserve_and_permit(framework, placed, result)
        if status.is_success or status.is_wait:
            self._activate_asked_for(result)
            self.component.spawn(f"bind/{info.key}", self._binding_cycle(framework, info, placed, result))
            return
        diagnosis, failure = _rejected_at(result.node, status)
        await self._handle_failure(framework, info, failure, diagnosis, "")

    def _should_skip(self, pod: Object) -> bool:
        """Pods being deleted, and Pods assumed already, are not scheduled."""
        if pod["metadata"].get("deletionTimestamp"):
            note = f"skip schedule deleting pod: {pod_key(pod)}"
            self._recorder_of(pod).event(pod, "Warning", "FailedScheduling", "Scheduling", note)
            return True
        return self.cache.is_assumed(pod_key(pod))

    def _assume(self, placed: Object, node: str) -> Status:
        """Count the Pod on its Node from now on. Error when the cache knows it already."""
        try:
            self.cache.assume(placed, node)
        except ValueError as error:
            return Status(Code.ERROR, str(error))
        self.nominator.delete(placed)
        return SUCCESS

    def _activate_asked_for(self, result: ScheduleResult) -> None:
        """Plugins may ask that other Pods are tried at once, when this one has come so far."""
        asked: dict[str, Object] = result.state.read(PODS_TO_ACTIVATE)
        if asked:
            self.queue.activate(list(asked.values()), self.loop.clock.now_ms)
            asked.clear()

    def _reserve_and_permit(self, framework: Framework, placed: Object, result: ScheduleResult) -> Status:
        status = framework.run_reserve(result.state, placed, result.node)
        if status.is_success:
            status = framework.run_permit(result.state, placed, result.node)
        if not (status.is_success or status.is_wait):
            framework.run_unreserve(result.state, placed, result.node)
            self.cache.forget(pod_key(placed))
        return status

    # -- the binding tasks -------------------------------------------------------------------------

    async def _binding_cycle(
        self, framework: Framework, info: QueuedPodInfo, placed: Object, result: ScheduleResult
    ) -> None:
        node = result.node
        waiting = framework.waiting_pod(uid_of(placed))
        if waiting is not None:
            plugins = ", ".join(waiting.pending_plugins)
            self.loop.trace.emit("schedule.wait", LANE, resource="pods", key=info.key, node=node, plugins=plugins)
        status = await self._tell_expectation(framework, info, placed, result, will_wait=waiting is not None)
        if status.is_success:
            status = await framework.wait_on_permit(placed)
        if not status.is_success:
            await self._handle_binding_error(framework, info, placed, result, *_rejected_at(node, status))
            return
        # From here on the Pod cannot become unschedulable: what happens in the cluster no longer matters to it.
        self.queue.done(info.uid)
        status = await framework.run_pre_bind(result.state, placed, node)
        if status.is_success:
            status = await framework.run_bind(result.state, placed, node)
        if not status.is_success:
            await self._handle_binding_error(framework, info, placed, result, Diagnosis(), status)
            return
        self.cache.finish_binding(info.key, self.loop.clock.now_ms)
        note = f"Successfully assigned {info.key} to {node}"
        self._recorder_of(placed).event(info.pod, "Normal", "Scheduled", "Binding", note)
        framework.run_post_bind(result.state, placed, node)
        self._activate_asked_for(result)

    async def _tell_expectation(
        self, framework: Framework, info: QueuedPodInfo, placed: Object, result: ScheduleResult, *, will_wait: bool
    ) -> Status:
        """Before a binding that takes its time: write where the Pod is going, for autoscalers and a next scheduler.

        A write that fails does not stop the binding. Error: a PreBind plugin cannot say whether it has work to do.
        """
        if not self.features.enabled("NominatedNodeNameForExpectation"):
            return SUCCESS
        status = framework.run_pre_bind_pre_flights(result.state, placed, result.node)
        if not (status.is_success or status.is_skip):
            return status
        if (status.is_success or will_wait) and nominated_node_name(info.pod) != result.node:
            await self._patch_status(info.pod, {"nominatedNodeName": result.node})
        return SUCCESS

    async def _handle_binding_error(
        self,
        framework: Framework,
        info: QueuedPodInfo,
        placed: Object,
        result: ScheduleResult,
        diagnosis: Diagnosis,
        status: Status,
    ) -> None:
        """Take back what was assumed. Only Permit rejects with a diagnosis: then events decide when the Pod returns."""
        self.loop.trace.emit(
            "schedule.bind-error", LANE, resource="pods", key=info.key, node=result.node, error=cut(status.message, 60)
        )
        framework.run_unreserve(result.state, placed, result.node)
        self.cache.forget(info.key)
        # What the Pod was to use is free again, as if it had been deleted; that cannot help the Pod itself.
        others = None if not status.is_rejected else (lambda other: other.uid != info.uid)
        if others is None:
            self.queue.move_all(ASSIGNED_POD_DELETE, placed, None, self.loop.clock.now_ms)
        before = info.pod
        write = self._requeue_failed(framework, info, status, diagnosis, "")
        if others is not None:
            self.queue.move_all(ASSIGNED_POD_DELETE, placed, None, self.loop.clock.now_ms, only=others)
        await self._write_condition(before, write, "")

    # -- failures ----------------------------------------------------------------------------------

    async def _preempt(self, info: QueuedPodInfo, result: ScheduleResult) -> None:
        """Evict whom PostFilter chose: beside what follows, or first (before 1.33)."""
        choice = result.post_filter.preemption if result.post_filter is not None else None
        if choice is None:
            return
        self.loop.trace.emit(
            "schedule.preempt",
            LANE,
            resource="pods",
            key=info.key,
            node=choice.node,
            victims=_some_of([victim.key for victim in choice.victims], 60),
        )
        if self.features.enabled("SchedulerAsyncPreemption"):
            self.executor.start(choice, info.pod)
        elif error := await self.executor.evict(choice, info.pod):
            result.post_filter = None
            result.diagnosis.post_filter_message = f"preemption: {error}"
            result.status = Status(Code.UNSCHEDULABLE, str(FitError(len(self._snapshot), result.diagnosis)))

    async def _handle_failure(
        self, framework: Framework, info: QueuedPodInfo, status: Status, diagnosis: Diagnosis, nominated: str | None
    ) -> None:
        before = info.pod
        condition = self._requeue_failed(framework, info, status, diagnosis, nominated)
        await self._write_condition(before, condition, nominated)

    def _requeue_failed(
        self, framework: Framework, info: QueuedPodInfo, status: Status, diagnosis: Diagnosis, nominated: str | None
    ) -> dict[str, Any]:
        """Put the Pod back, say so, and return the condition to write.

        `nominated`: the Node it is nominated for, "" for none, None for the one its status names.
        """
        info.unschedulable_plugins = dict(diagnosis.unschedulable_plugins)
        info.pending_plugins = dict(diagnosis.pending_plugins)
        pod, where = info.pod, "none"
        cached = self._pods.indexer.get(info.key)
        if cached is None or cached["spec"].get("nodeName") or uid_of(cached) != info.uid:
            self.queue.done(info.uid)  # deleted, or bound by somebody else
        elif self.queue.where(info.key) in (None, QueueName.IN_FLIGHT):
            info.update(cached)
            where = self.queue.add_unschedulable(info, self.loop.clock.now_ms)
            self.nominator.add(cached, nominated)
        reason = "Unschedulable" if status.is_rejected else "SchedulerError"
        self.loop.trace.emit(
            "schedule.fail",
            LANE,
            resource="pods",
            key=info.key,
            reason=reason,
            message=cut(status.message.split(". ")[0], 64),
            queue=str(where),
        )
        self._recorders[framework.profile_name].event(pod, "Warning", "FailedScheduling", "Scheduling", status.message)
        condition: dict[str, Any] = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": rfc3339(self.loop.clock.now_ms),
            "reason": reason,
            "message": status.message,
        }
        if self.features.enabled("PodObservedGenerationTracking"):
            condition["observedGeneration"] = pod["metadata"].get("generation") or 1
        return condition

    async def _write_condition(self, pod: Object, condition: dict[str, Any], nominated: str | None) -> None:
        """Patch the Pod's status, unless it said so already when its cycle began."""
        status: dict[str, Any] = {}
        if nominated is not None and nominated != nominated_node_name(pod):
            status["nominatedNodeName"] = nominated or None
        old = get_condition(pod, "PodScheduled")
        if old is not None and old.get("status") == condition["status"] and old.get("lastTransitionTime"):
            condition["lastTransitionTime"] = old["lastTransitionTime"]
        if old is None or any(old.get(name) != value for name, value in condition.items()):
            status["conditions"] = [condition]
        if status:
            await self._patch_status(pod, status)

    async def _patch_status(self, pod: Object, status: dict[str, Any]) -> None:
        patch, name = {"status": status}, pod["metadata"]["name"]
        try:
            await self.client.patch(PODS, name, patch, namespace_of(pod), subresource="status")
        except (StatusError, TimeoutError) as error:
            self.loop.trace.emit("schedule.error", LANE, resource="pods", key=pod_key(pod), error=cut(str(error), 60))

    # -- the queue's timers, and its voice -----------------------------------------------------------

    async def _flush_forever(self) -> None:
        while True:
            now_ms = self.loop.clock.now_ms
            backoff, flush = self.queue.backoff_due_ms, self.queue.flush_due_ms
            if backoff is not None and (flush is None or backoff <= flush):
                await pause(Wait((self._timers,), max(0, backoff - now_ms)))
            elif flush is not None:
                await pause(Wait((self._timers,), max(0, flush - now_ms), periodic=True))
            else:
                await pause(self._timers)
            self.loop.trace.current = None
            self.queue.flush(self.loop.clock.now_ms)

    def _on_move(self, info: QueuedPodInfo, event: str, to: QueueName) -> None:
        trace = self.loop.trace
        before = trace.current
        if event == BACKOFF_COMPLETE:
            trace.current = info.cause
        seq = trace.emit("schedule.queue", LANE, resource="pods", key=info.key, queue=str(to), event=event)
        info.cause = trace.current if seq is None else seq
        trace.current = before
        if to is not QueueName.UNSCHEDULABLE:
            self._poppable.wake()
        if to is not QueueName.ACTIVE:
            self._timers.wake()

    # -- inside ------------------------------------------------------------------------------------

    def _framework_of(self, pod: Object) -> Framework:
        name = scheduler_name(pod)
        if name not in self.frameworks:
            raise ValueError(f"pod {pod_key(pod)}: no profile with scheduler name {name!r}")
        return self.frameworks[name]

    def _recorder_of(self, pod: Object) -> EventBroadcaster:
        return self._recorders[scheduler_name(pod)]

    def _waiting_pod(self, uid: str) -> WaitingPod | None:
        found = (framework.waiting_pod(uid) for framework in self.frameworks.values())
        return next((waiting for waiting in found if waiting is not None), None)

    def _reject_waiting(self, uid: str) -> bool:
        waiting = self._waiting_pod(uid)
        if waiting is not None:
            waiting.reject("", "removed")
        return waiting is not None

    def _record_preempted(self, victim: Object, preemptor: Object, note: str) -> None:
        self._recorder_of(preemptor).event(victim, "Normal", "Preempted", "Preempting", note, related=preemptor)

    def _activate(self, pod: Object) -> None:
        self.queue.activate([pod], self.loop.clock.now_ms)


def _config_of(
    config: KubeSchedulerConfiguration | None, profiles: Sequence[Profile | Object] | None
) -> KubeSchedulerConfiguration:
    if profiles is None:
        return config if config is not None else KubeSchedulerConfiguration()
    if config is not None:
        raise ValueError("profiles: given beside config, expected one of them")
    given = tuple(p if isinstance(p, Profile) else Profile.from_dict(p) for p in profiles)
    return KubeSchedulerConfiguration(profiles=given or (Profile(),))


def _unlike(framework: Framework, built: Mapping[str, Framework]) -> str:
    """Why a profile cannot stand beside those there are; "" when it can."""
    name = framework.profile_name
    if not name:
        return "scheduler name is needed"
    if name in built:
        return f"duplicate profile with scheduler name {go_quote(name)}"
    if not built:
        return ""
    first = next(iter(built.values()))
    own, other = name_of(framework.queue_sort_plugin), name_of(first.queue_sort_plugin)
    if own != other:
        return f"different queue sort plugins for profile {go_quote(name)}: {go_quote(own)}, first: {go_quote(other)}"
    if framework.profile.plugin_config.get(own) != first.profile.plugin_config.get(own):
        return f"different queue sort plugin args for profile {go_quote(name)}"
    return ""


def _nomination(framework: Framework, result: ScheduleResult) -> str | None:
    """What a Pod that found no Node is nominated for: "" takes a nomination back, None leaves it as it is."""
    if result.post_filter is not None:
        return result.post_filter.nominated_node_name
    fits_nowhere = result.status.code is Code.UNSCHEDULABLE
    return None if fits_nowhere and framework.post_filter_plugins else ""


def _rejected_at(node: str, status: Status) -> tuple[Diagnosis, Status]:
    """What Reserve, Permit or binding said of the one Node that was chosen, as a failure of the Pod."""
    diagnosis = Diagnosis()
    if not status.is_rejected:
        return diagnosis, Status(Code.ERROR, *status.reasons)
    diagnosis.node_to_status.set(node, status)
    diagnosis.add_plugin_status(status)
    return diagnosis, Status(status.code, str(FitError(1, diagnosis)))


def _some_of(names: Sequence[str], length: int) -> str:
    """As many names as fit into `length` characters, at least the first, and how many more there are."""
    shown, text = len(names), ", ".join(names)
    while len(text) > length and shown > 1:
        shown -= 1
        text = f"{', '.join(names[:shown])} and {len(names) - shown} more"
    return text
