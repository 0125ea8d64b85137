"""Carries a preemption out: takes lower nominations away from the Node, and evicts the victims.

    start ──> lower nominations cleared ──> all victims but one ──> the last victim ──> done
                                  (held back by PreEnqueue up to here)

The last victim is the one whose deletion the Pod is let in by: whether the call has returned yet does not matter
then, and so no deletion is missed between the last event and the end of the task.

Upstream: pkg/scheduler/framework/preemption/executor.go (KEP-4832)
Simplified: the victims before the last one are evicted one after the other, not at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.api.pods import get_condition
from k8slab.api.scheme import PODS
from k8slab.api.times import rfc3339
from k8slab.client import Client
from k8slab.scheduler.framework import PodInfo, namespace_of, pod_key, scheduler_name, uid_of
from k8slab.scheduler.nominator import Nominator, nominated_node_name
from k8slab.scheduler.preemption import Candidate
from k8slab.scheduler.waiting_pods import WaitingPod
from k8slab.sim.component import Component
from k8slab.sim.kinds import cut
from k8slab.sim.loop import Loop

__all__ = ["Executor", "Surroundings"]

PLUGIN = "DefaultPreemption"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an Executor asks of the scheduler around it.

    `pod(key)`: a Pod as last seen. `waiting_pod(uid)`: one that waits in Permit. `record(victim, preemptor, note)`:
    say "Preempted". `activate(pod)`: try the Pod again at once.
    """

    pod: Callable[[str], Object | None]
    waiting_pod: Callable[[str], WaitingPod | None]
    record: Callable[[Object, Object, str], None]
    activate: Callable[[Object], None]


class Executor:
    """Evicts victims in tasks of `component`. `with_generation`: conditions say which generation they speak of.

    `on_done` hears of each task that ended: success or error, and how long it took.
    """

    def __init__(
        self,
        loop: Loop,
        component: Component,
        client: Client,
        nominator: Nominator,
        around: Surroundings,
        *,
        with_generation: bool = True,
    ) -> None:
        self._loop, self._component, self._client = loop, component, client
        self._nominator, self._around = nominator, around
        self._with_generation = with_generation
        self.on_start: Callable[[int], None] = lambda victims: None
        self.on_done: Callable[[str, int], None] = lambda result, took_ms: None
        self._preempting: dict[str, str] = {}  # uid -> key of the last victim, "" until it is its turn

    def is_preempting(self, uid: str) -> bool:
        """Whether the Pod has to wait until its victims are told to go."""
        last = self._preempting.get(uid)
        if not last:
            return last is not None
        victim = self._around.pod(last)
        return victim is not None and not victim["metadata"].get("deletionTimestamp")

    def start(self, choice: Candidate, preemptor: Object) -> None:
        """Evict in a task of its own; the Pod is held back from now on. Victims that are leaving already are left."""
        victims = _staying(choice)
        if victims:
            self.on_start(len(choice.victims))
            self._preempting[uid_of(preemptor)] = ""
            self._component.spawn(f"preempt/{pod_key(preemptor)}", self._evict_beside(choice, preemptor, victims))

    async def evict(self, choice: Candidate, preemptor: Object) -> str:
        """Evict now, before the next Pod is looked at (before 1.33). Returns the error, "" when all went well."""
        self.on_start(len(choice.victims))
        for victim in _staying(choice):
            if error := await self._evict_one(choice, preemptor, victim):
                return error
        await self._clear_lower_nominations(choice, preemptor)
        return ""

    async def _evict_beside(self, choice: Candidate, preemptor: Object, victims: list[Object]) -> None:
        uid, began_ms = uid_of(preemptor), self._loop.clock.now_ms
        cleared = await self._clear_lower_nominations(choice, preemptor)
        error = ""
        for victim in victims:
            if victim is victims[-1]:
                self._preempting[uid] = pod_key(victim)
            error = await self._evict_one(choice, preemptor, victim)
            if error:
                break
        del self._preempting[uid]
        self.on_done("success" if cleared and not error else "error", self._loop.clock.now_ms - began_ms)
        if error or not cleared:
            self._around.activate(preemptor)  # no deletion may ever come to wake it

    async def _evict_one(self, choice: Candidate, preemptor: Object, victim: Object) -> str:
        """Returns the error; a victim that is gone is no error."""
        waiting = self._around.waiting_pod(uid_of(victim))
        try:
            if waiting is not None:
                waiting.reject(PLUGIN, "preempted")
            else:
                await self._delete(preemptor, victim)
        except NotFoundError:
            return ""
        except (StatusError, TimeoutError) as error:
            self._loop.trace.emit(
                "schedule.evict-error",
                self._component.name,
                resource="pods",
                key=pod_key(victim),
                error=cut(str(error), 60),
            )
            return str(error)
        note = f"Preempted by pod {uid_of(preemptor)} on node {choice.node}"
        self._around.record(victim, preemptor, note)
        return ""

    async def _delete(self, preemptor: Object, victim: Object) -> None:
        """Say in the victim's status why it goes, then delete that very Pod."""
        metadata = victim["metadata"]
        name, namespace = metadata["name"], namespace_of(victim)
        condition = self._disruption_target(preemptor, victim)
        if condition is not None:
            await self._client.patch(
                PODS, name, {"status": {"conditions": [condition]}}, namespace, subresource="status"
            )
        await self._client.delete(PODS, name, namespace, uid=metadata.get("uid") or "")

    def _disruption_target(self, preemptor: Object, victim: Object) -> dict[str, Any] | None:
        """The condition; None when the victim has just this one."""
        condition: dict[str, Any] = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{scheduler_name(preemptor)}: preempting to accommodate a higher priority pod",
        }
        if self._with_generation:
            condition["observedGeneration"] = victim["metadata"].get("generation") or 1
        present = get_condition(victim, "DisruptionTarget")
        if present is not None and all(present.get(field) == value for field, value in condition.items()):
            return None
        since = present.get("lastTransitionTime") if present is not None and present.get("status") == "True" else None
        return {**condition, "lastProbeTime": None, "lastTransitionTime": since or rfc3339(self._loop.clock.now_ms)}

    async def _clear_lower_nominations(self, choice: Candidate, preemptor: Object) -> bool:
        """Less important Pods nominated for the Node will not fit there any more: let them look elsewhere."""
        mine, cleared = PodInfo(preemptor).priority, True
        for info in self._nominator.for_node(choice.node):
            if info.priority >= mine or not nominated_node_name(info.pod):
                continue
            patch = {"status": {"nominatedNodeName": None}}
            try:
                await self._client.patch(
                    PODS, info.pod["metadata"]["name"], patch, namespace_of(info.pod), subresource="status"
                )
            except (StatusError, TimeoutError) as error:
                cleared = False
                self._loop.trace.emit(
                    "schedule.error", self._component.name, resource="pods", key=info.key, error=cut(str(error), 60)
                )
        return cleared


def _staying(choice: Candidate) -> list[Object]:
    return [info.pod for info in choice.victims if not info.pod["metadata"].get("deletionTimestamp")]
