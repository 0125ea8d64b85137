"""The scheduler process: pops Pods, runs their scheduling cycle, binds them in tasks of their own.

One scheduling cycle (snapshot, filter, score, assume, Reserve, Permit) is one action of the loop, unless extenders have
to be asked: then the scheduling task waits for them, and the next Pod with it. The binding cycle (wait for Permit,
PreBind, Bind, PostBind) runs beside it, so the next Pod does not wait for the API server.

Upstream: pkg/scheduler/scheduler.go, schedule_one.go (ScheduleOne, schedulingCycle, bindingCycle,
handleSchedulingFailure)
Simplified: no leader election.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.pods import get_condition
from k8slab.api.scheme import GVR, NODES, PODDISRUPTIONBUDGETS, PODGROUPS, PODS
from k8slab.api.times import rfc3339
from k8slab.api.transport import HTTPCaller
from k8slab.client import Client, SharedInformerFactory
from k8slab.scheduler.cache import Cache
from k8slab.scheduler.config import KubeSchedulerConfiguration
from k8slab.scheduler.config_extender import Extender
from k8slab.scheduler.cycle import ScheduleResult
from k8slab.scheduler.diagnosis import Diagnosis, FitError
from k8slab.scheduler.event_broadcaster import EventBroadcaster
from k8slab.scheduler.event_handlers import OTHER_RESOURCES, EventHandlers
from k8slab.scheduler.executor import Executor, Surroundings
from k8slab.scheduler.explain import Explanation
from k8slab.scheduler.framework import (
    ASSIGNED_POD_DELETE,
    PODS_TO_ACTIVATE,
    SUCCESS,
    Code,
    EventResource,
    Status,
    namespace_of,
    placed_on,
    pod_key,
    scheduler_name,
    uid_of,
)
from k8slab.scheduler.kinds import some_of
from k8slab.scheduler.listers import NOT_FINISHED, InformerLister
from k8slab.scheduler.metrics import SchedulerMetrics
from k8slab.scheduler.nominator import Nominator, nominated_node_name
from k8slab.scheduler.pod_group_cycle import (
    GroupPlan,
    assume,
    failure_of,
    in_group_order,
    plan_group,
    rejected_at,
    wrong_profiles,
)
from k8slab.scheduler.pod_groups import scheduling_group
from k8slab.scheduler.profile import Profile
from k8slab.scheduler.queue import BACKOFF_COMPLETE, QueueName, QueueProfile, SchedulingQueue
from k8slab.scheduler.queued_pod import QueuedPodInfo
from k8slab.scheduler.runtime import Factory, Framework
from k8slab.scheduler.set_up import build_frameworks, config_of, listen_for_plugins
from k8slab.scheduler.snapshot import Snapshot
from k8slab.scheduler.waiting_pods import WaitingPod
from k8slab.sim.component import Component
from k8slab.sim.kinds import cut
from k8slab.sim.loop import Loop, Wait, Waiters, pause

__all__ = ["Scheduler"]


class Scheduler:
    """Places Pods whose `spec.schedulerName` is that of one of its profiles.

    `config`: a KubeSchedulerConfiguration; or only its `profiles`, as Profiles or dicts. Neither: the defaults.
    `registry`: out-of-tree plugins by name. `memo` False works out every verdict anew. `extenders` (beside those of
    `config`) are asked through `http`. Handlers are registered at once; `start` needs informers that somebody starts.
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
        extenders: Sequence[Extender] = (),
        http: HTTPCaller | None = None,
    ) -> None:
        self.loop = loop
        self.component = component
        self.client = client
        self.features = features if features is not None else FeatureGates()
        self.config = config_of(config, profiles)
        self.metrics = SchedulerMetrics(self.features)
        self.cache = Cache()
        self._with_groups = self.features.enabled("GenericWorkload")
        self.lister = InformerLister(informers)
        self.nominator = Nominator()
        self.frameworks = build_frameworks(
            self.config,
            registry=registry,
            features=self.features,
            client=client,
            lister=self.lister,
            loop=loop,
            rng=loop.stream(component.name),
            nominator=self.nominator,
            metrics=self.metrics,
            memo=memo,
            extenders=(*self.config.extenders, *extenders),
            http=http,
        )
        self.queue = self._new_queue()
        self._snapshot = Snapshot()
        self._poppable, self._timers = Waiters(loop), Waiters(loop)
        self._recorders = {name: EventBroadcaster(loop, component, client, name) for name in self.frameworks}
        self._pods = informers.informer(PODS, field_selector=NOT_FINISHED)
        self._nodes = informers.informer(NODES)
        self._listen(informers)
        self._pdbs = informers.informer(PODDISRUPTIONBUDGETS)
        around = Surroundings(self._pods.indexer.get, self._waiting_pod, self._record_preempted, self._activate)
        with_generation = self.features.enabled("PodObservedGenerationTracking")
        self.executor = Executor(loop, component, client, self.nominator, around, with_generation=with_generation)
        self._bindings = 0
        self.metrics.watch(self.queue, self.cache, self.executor, lambda: self._bindings)
        self._equip()

    def _equip(self) -> None:
        """Give the frameworks what their plugins ask for."""
        for framework in self.frameworks.values():
            framework.pdbs = self._pdbs.indexer.list
            framework.is_preempting = self.executor.is_preempting
            framework.extenders.stand_in(self.component.name)
            framework.activator = self._activate_all
            framework.pod_groups = self.cache.pod_groups

    def _listen(self, informers: SharedInformerFactory) -> None:
        """Hear of Pods and Nodes, and of what plugins registered for."""
        handlers = EventHandlers(
            self.cache,
            self.queue,
            self.nominator,
            self.frameworks,
            lambda: self.loop.clock.now_ms,
            self._reject_waiting,
            lambda label: self.metrics.event_handling_duration.observe(0, label),
        )
        self._pods.add_event_handler(handlers.add_pod, handlers.update_pod, handlers.delete_pod)
        self._nodes.add_event_handler(handlers.add_node, handlers.update_node, handlers.delete_node)
        resources: dict[GVR, EventResource] = dict(OTHER_RESOURCES)
        if self._with_groups:
            resources[PODGROUPS] = EventResource.POD_GROUP
        for resource, name in resources.items():
            self.lister.informer(resource).add_event_handler(*handlers.others(name))
        listen_for_plugins(self.frameworks.values(), handlers, self.lister, self._pods)

    def _new_queue(self) -> SchedulingQueue:
        first = next(iter(self.frameworks.values()))
        return SchedulingQueue(
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
            info = self.queue.pop()
            if self._with_groups and scheduling_group(info.pod):
                await self._schedule_group(info)
            else:
                await self._schedule_one(info)
            await pause()

    async def _schedule_one(self, info: QueuedPodInfo) -> None:
        """One Pod: decide in this action; write failures before the next Pod, bindings beside it."""
        trace = self.loop.trace
        trace.current = info.cause
        self._tell("schedule.attempt", info, attempt=info.attempts)
        if self._should_skip(info.pod):
            self.queue.done(info.uid)
            return
        framework = self._framework_of(info.pod)
        info.attempted_ms = self.loop.clock.now_ms
        self.cache.update_snapshot(self._snapshot)
        result = await framework.algorithm.cycle(info.pod, self._snapshot)
        if result.status is not SUCCESS:
            await self._preempt(info, result)
            nominated = _nomination(framework, result)
            await self._handle_failure(framework, info, result.status, result.diagnosis, nominated)
            return
        failure = self._place(framework, info, result)
        if failure is not None:
            await self._handle_failure(framework, info, failure[1], failure[0], "")

    def _place(
        self, framework: Framework, info: QueuedPodInfo, result: ScheduleResult
    ) -> tuple[Diagnosis, Status] | None:
        """Assume, Reserve, Permit; then bind in a task of its own, or say what went wrong."""
        self._tell(
            "schedule.decide",
            info,
            node=result.node,
            feasible=len(result.feasible_nodes),
            evaluated=result.evaluated,
            score=result.score,
        )
        placed = placed_on(info.pod, result.node)
        status = self._assume(placed, result.node)
        if status.is_success:
            status = self._reserve_and_permit(framework, placed, result)
        if status.is_success or status.is_wait:
            self._activate_asked_for(result)
            self.component.spawn(f"bind/{info.key}", self._bind_beside(framework, info, placed, result))
            return None
        return rejected_at(result.node, status)

    async def _schedule_group(self, first: QueuedPodInfo) -> None:
        """The queued Pods of one PodGroup, in one cycle: see `pod_group_cycle`."""
        trace = self.loop.trace
        trace.current = first.cause
        name = scheduling_group(first.pod)
        others = (self.queue.pop_specific(pod_key(pod)) for pod in self.cache.pod_groups.get(name).unscheduled_pods)
        members = []
        for info in in_group_order([first, *(info for info in others if info is not None)]):
            self._tell("schedule.attempt", info, attempt=info.attempts)
            info.attempted_ms = self.loop.clock.now_ms
            if self._should_skip(info.pod):
                self.queue.done(info.uid)
            else:
                members.append(info)
        if not members:
            return
        wrong = wrong_profiles([scheduler_name(info.pod) for info in members])
        if wrong is not SUCCESS:
            for info in members:
                await self._handle_failure(self._framework_of(info.pod), info, wrong, Diagnosis(), "")
            return
        framework = self._framework_of(first.pod)
        plan = await plan_group(framework, self.cache, self._snapshot, members)
        trace.emit(
            "schedule.group",
            self.component.name,
            group=name,
            members=len(members),
            feasible=plan.feasible,
            outcome="they fit together" if plan.status is SUCCESS else plan.status.message,
        )
        await self._carry_out(framework, members, plan)

    async def _carry_out(self, framework: Framework, members: Sequence[QueuedPodInfo], plan: GroupPlan) -> None:
        """Place what fits before anything is awaited; then tell the others."""
        planned = {member.info.uid: member for member in plan.members}
        failed: list[tuple[QueuedPodInfo, Diagnosis, Status]] = []
        for info in members:
            member = planned.get(info.uid)
            if plan.status is SUCCESS and member is not None and member.status is SUCCESS:
                failure = self._place(framework, info, member.result)
            else:
                failure = failure_of(plan, member)
            if failure is not None:
                failed.append((info, *failure))
        for info, diagnosis, status in failed:
            await self._handle_failure(framework, info, status, diagnosis, "")
        took_ms = self.loop.clock.now_ms - members[0].attempted_ms
        self.metrics.group_attempted(plan.status, framework.profile_name, took_ms)

    def _should_skip(self, pod: Object) -> bool:
        """Pods being deleted, and Pods assumed already, are not scheduled."""
        if pod["metadata"].get("deletionTimestamp"):
            note = f"skip schedule deleting pod: {pod_key(pod)}"
            self._recorder_of(pod).event(pod, "Warning", "FailedScheduling", "Scheduling", note)
            return True
        return self.cache.is_assumed(pod_key(pod))

    def _assume(self, placed: Object, node: str) -> Status:
        """Count the Pod on its Node from now on, and no longer as nominated."""
        status = assume(self.cache, placed, node)
        if status.is_success:
            self.nominator.delete(placed)
        return status

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
            self.cache.forget(pod_key(placed), uid_of(placed))
        return status

    # -- the binding tasks -------------------------------------------------------------------------

    async def _bind_beside(
        self, framework: Framework, info: QueuedPodInfo, placed: Object, result: ScheduleResult
    ) -> None:
        self._bindings += 1
        try:
            await self._binding_cycle(framework, info, placed, result)
        finally:
            self._bindings -= 1

    async def _binding_cycle(
        self, framework: Framework, info: QueuedPodInfo, placed: Object, result: ScheduleResult
    ) -> None:
        node = result.node
        waiting = framework.waiting_pod(uid_of(placed))
        if waiting is not None:
            plugins = ", ".join(waiting.pending_plugins)
            self._tell("schedule.wait", info, node=node, plugins=plugins)
        status = await self._tell_expectation(framework, info, placed, result, will_wait=waiting is not None)
        if status.is_success:
            status = await framework.wait_on_permit(placed)
        if not status.is_success:
            self._tell("schedule.reject", info, node=node, error=cut(status.message, 60))
            await self._handle_binding_error(framework, info, placed, result, *rejected_at(node, status))
            return
        if waiting is not None:
            waited = self.loop.clock.now_ms - waiting.since_ms
            self._tell("schedule.allow", info, node=node, waited_ms=waited)
        # From here on the Pod cannot become unschedulable: what happens in the cluster no longer matters to it.
        self.queue.done(info.uid)
        status = await framework.run_pre_bind(result.state, placed, node)
        if status.is_success:
            status = await framework.run_bind(result.state, placed, node)
        if not status.is_success:
            self._tell("schedule.bind-error", info, node=node, error=cut(status.message, 60))
            await self._handle_binding_error(framework, info, placed, result, Diagnosis(), status)
            return
        self.cache.finish_binding(info.key, self.loop.clock.now_ms)
        note = f"Successfully assigned {info.key} to {node}"
        self._recorder_of(placed).event(info.pod, "Normal", "Scheduled", "Binding", note)
        self.metrics.scheduled(info, framework.profile_name, self.loop.clock.now_ms)
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

    def _tell(self, kind: str, info: QueuedPodInfo, **data: Any) -> None:
        self.loop.trace.emit(kind, self.component.name, resource="pods", key=info.key, **data)

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
        framework.run_unreserve(result.state, placed, result.node)
        self.cache.forget(info.key, info.uid)
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
        self._tell(
            "schedule.preempt", info, node=choice.node, victims=some_of([victim.key for victim in choice.victims], 60)
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
        took_ms = self.loop.clock.now_ms - info.attempted_ms
        self.metrics.attempted("unschedulable" if status.is_rejected else "error", framework.profile_name, took_ms)
        self.loop.trace.emit(
            "schedule.fail",
            self.component.name,
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
            self.loop.trace.emit(
                "schedule.error", self.component.name, resource="pods", key=pod_key(pod), error=cut(str(error), 60)
            )

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
        seq = trace.emit(
            "schedule.queue", self.component.name, resource="pods", key=info.key, queue=str(to), event=event
        )
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
        return any(framework.reject_waiting_pod(uid) for framework in self.frameworks.values())

    def _record_preempted(self, victim: Object, preemptor: Object, note: str) -> None:
        self._recorder_of(preemptor).event(victim, "Normal", "Preempted", "Preempting", note, related=preemptor)

    def _activate(self, pod: Object) -> None:
        if self.component.alive:
            self.queue.activate([pod], self.loop.clock.now_ms)

    def _activate_all(self, pods: Sequence[Object], after_backoff: bool) -> None:
        for pod in pods:
            until_ms = self.queue.backs_off_until(pod_key(pod)) if after_backoff else 0
            backs_off_ms = until_ms - self.loop.clock.now_ms
            if backs_off_ms > 0:
                self.loop.call_later(backs_off_ms, partial(self._activate, pod))
            else:
                self._activate(pod)


def _nomination(framework: Framework, result: ScheduleResult) -> str | None:
    """What a Pod that found no Node is nominated for: "" takes a nomination back, None leaves it as it is."""
    if result.post_filter is not None:
        return result.post_filter.nominated_node_name
    fits_nowhere = result.status.code is Code.UNSCHEDULABLE
    return None if fits_nowhere and framework.post_filter_plugins else ""
