"""A scheduling queue as steps: Pods and Nodes come and change, and every move says which event and which plugin did it.

>>> from k8slab.scheduler import QueueStory
>>> story = QueueStory(["node small cpu=1", "pod web cpu=2", "pop", "decide", "node big cpu=4", "wait 2s"])
>>> while story.step():
...     pass
>>> for event in list(story.trace)[3:]:
...     print(event.message)
Pod web is rejected: 1 Insufficient cpu
ScheduleAttemptFailure puts Pod web into Unschedulable: NodeResourcesFit rejected it
the cluster changes: node big is there
NodeAdd puts Pod web into Backoff: NodeResourcesFit says Queue
BackoffComplete puts Pod web into Active: it has waited long enough
time passes: it is 2 s

Queue, cache, framework and event handlers are those of `Scheduler`; what is missing is the API server. So a reader
decides when a Pod is popped, decided and seen bound, and what happens in between.

Upstream: none with this shape; the words are those of the queue's metrics (scheduler_queue_incoming_pods_total)
Simplified: of Pods and Nodes only what `queue_words.WORDS` lists; preemption nominates and evicts nobody here, and a
    taint NoExecute filters only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.scheduler.cache import Cache
from k8slab.scheduler.diagnosis import FitError
from k8slab.scheduler.event_handlers import EventHandlers
from k8slab.scheduler.framework import (
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD_ADD,
    ClusterEvent,
    QueueingHint,
    placed_on,
    pod_key,
)
from k8slab.scheduler.nominator import Nominator
from k8slab.scheduler.queue import (
    BACKOFF_COMPLETE,
    SCHEDULE_ATTEMPT_FAILURE,
    QueueName,
    QueueProfile,
    SchedulingQueue,
)
from k8slab.scheduler.queue_words import checked, newer, node_of, pod_of, seconds, short, span_ms_of
from k8slab.scheduler.queued_pod import QueuedPodInfo
from k8slab.scheduler.runtime import Framework
from k8slab.scheduler.snapshot import Snapshot
from k8slab.sim import Clock, Kind, Trace, add_kinds
from k8slab.sim.kinds import cut

__all__ = ["QueueStory"]

_LANE, _CLUSTER = "scheduler", "apiserver"

add_kinds(
    {
        "pending.change": Kind("watch", 1, ("what",), "{what}", "the cluster changes: {what}"),
        "pending.move": Kind(
            "queue",
            1,
            ("pod", "queue", "event", "why"),
            "{pod}: {queue}",
            "{event} puts Pod {pod} into {queue}: {why}",
        ),
        "pending.stay": Kind(
            "queue", 1, ("pod", "event", "why"), "{pod} stays", "{event} leaves Pod {pod} alone: {why}"
        ),
        "pending.note": Kind(
            "queue",
            1,
            ("pod", "event"),
            "{event} is noted",
            "{event} is noted for Pod {pod}, which is in flight: if it comes back, it is asked about it",
        ),
        "pending.pop": Kind(
            "work",
            1,
            ("pod", "attempt"),
            "takes {pod}",
            "the scheduler takes Pod {pod} (attempt {attempt}) and a snapshot of the nodes",
        ),
        "pending.assume": Kind(
            "state",
            1,
            ("pod", "node"),
            "{pod} assumed on {node}",
            "Pod {pod} gets {node}: it counts there at once, and its binding is on the way",
        ),
        "pending.reject": Kind("wait", 1, ("pod", "why"), "no node for {pod}", "Pod {pod} is rejected: {why}"),
        "pending.bound": Kind(
            "watch",
            1,
            ("pod", "node"),
            "{pod} is bound",
            "the informer sees Pod {pod} on {node}: what was assumed is true",
        ),
        "pending.refused": Kind(
            "wait",
            1,
            ("pod", "node"),
            "binding {pod} failed",
            "the binding of Pod {pod} to {node} failed: it is forgotten there",
        ),
        "pending.time": Kind("wait", 1, ("now",), "it is {now}", "time passes: it is {now}"),
    }
)


class _Change(NamedTuple):
    """The event that queues are asked about just now."""

    event: ClusterEvent
    old: Object | None
    new: Object | None


class _ToldQueue(SchedulingQueue):
    """A queue that says which event it is asked about, before and after."""

    change: _Change | None = None
    after: Callable[[_Change], None]

    def move_all(
        self,
        event: ClusterEvent,
        old: Object | None,
        new: Object | None,
        now_ms: int,
        *,
        only: Callable[[QueuedPodInfo], bool] | None = None,
    ) -> None:
        self.change = _Change(event, old, new)
        super().move_all(event, old, new, now_ms, only=only)
        self.after(self.change)
        self.change = None


class QueueStory:
    """A steppable: carries `operations` out, one a step. `Stepper(QueueStory(operations))` shows the queues as lanes.

    Operations are texts: `node small cpu=1`, `pod web cpu=2 priority=5`, `pop` (take the next Pod and a snapshot),
    `decide` (filter, score, assume; or back into a queue), `bound web` (its binding is seen), `refused web` (it
    failed), `next` (these three in one), `ungate web`, `delete web`, `wait 2s`. `profile`: as for `Framework`.

    ValueError: an operation that cannot be understood, or not be done now.
    """

    views = ("queue",)
    title = "A scheduling queue"
    looks_within = True

    def __init__(self, operations: Iterable[str] = (), *, profile: Object | None = None) -> None:
        self.clock = Clock()
        self.trace = Trace(self.clock)
        self.cache = Cache()
        self.framework = Framework.from_profile(profile)
        self.queue = _ToldQueue(
            self.framework.queue_sort_plugin,
            {
                self.framework.profile_name: QueueProfile(
                    tuple(self.framework.pre_enqueue_plugins), self.framework.events_to_register()
                )
            },
            on_move=self._moved,
        )
        self.queue.after = self._asked
        self._handlers = EventHandlers(
            self.cache,
            self.queue,
            Nominator(),
            {self.framework.profile_name},
            lambda: self.clock.now_ms,
            lambda _: False,
        )
        self._todo = deque(operations)
        for operation in self._todo:
            checked(operation)
        self._nodes: dict[str, Object] = {}
        self._pods: dict[str, Object] = {}
        self._infos: dict[str, QueuedPodInfo] = {}
        self._flight: tuple[QueuedPodInfo, Snapshot] | None = None
        self._why: dict[str, str] = {}
        self._about: dict[str, str] = {}
        self._source: int | None = None  # the event that what is told of the Pods comes from
        self._picture = self._draw()

    # -- steppable ---------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """`queue`: `now_ms`, `pods` (lane, place in it, attempts, priority, why), `nodes` (milli-CPU
        requested and allocatable), `about` (the Pod and the event of this step)."""
        return {"queue": self._picture}

    def step(self) -> bool:
        """The next operation; False when there was none left."""
        if not self._todo:
            return False
        self.do(self._todo.popleft())
        return True

    def command(self, text: str) -> None:
        """An operation that a reader typed in a live Stepper: done now. ValueError: not understood."""
        self.do(text)

    def do(self, operation: str) -> None:
        """Carry an operation out now."""
        verb, name, words = checked(operation)
        self.trace.current = self._source = None
        match verb:
            case "node":
                self._node(name, node_of(name, words))
            case "pod":
                self._pod(name, pod_of(name, words))
            case "ungate":
                self._ungate(name)
            case "delete":
                self._delete(name)
            case "wait":
                self._wait(span_ms_of(name))
            case "pop":
                self._pop()
            case "decide":
                self._decide()
            case "next":
                self._pop()
                placed = self._decide()
                if placed:
                    self._bound(placed)
            case "bound":
                self._bound(name)
            case "refused":
                self._refused(name)
        self._picture = self._draw()

    def check_invariants(self) -> None:
        """Those of queue and cache; every Pod is drawn in exactly the lane it is in."""
        self.queue.check_invariants()
        self.cache.check_invariants()
        for name, pod in self._pods.items():
            where = self.queue.where(pod_key(pod))
            drawn = self._picture["pods"][name]["lane"]
            placed = self.cache.node_of(pod_key(pod)) is not None
            assert drawn == (str(where) if where else "Placed"), f"{name} is drawn in {drawn}, and is in {where}"
            assert (where is None) == placed, f"{name} is in {where}, and placed: {placed}"

    # -- what happens in the cluster: cache first, so that the picture shows what is told; the handlers repeat it ----

    def _node(self, name: str, node: Object) -> None:
        old = self._nodes.get(name)
        self._nodes[name] = node
        (self.cache.add_node if old is None else self.cache.update_node)(node)
        self._tell("pending.change", _CLUSTER, what=f"node {name} is {'there' if old is None else 'changed'}")
        if old is None:
            self._handlers.add_node(node)
        else:
            self._handlers.update_node(old, node)

    def _pod(self, name: str, pod: Object) -> None:
        if name in self._pods:
            raise ValueError(f"pod {name}: is there already, expected another name")
        self._pods[name] = pod
        self._handlers.add_pod(pod)

    def _ungate(self, name: str) -> None:
        old = self._known(name)
        spec = {key: value for key, value in old["spec"].items() if key != "schedulingGates"}
        self._pods[name] = {**old, "metadata": newer(old), "spec": spec}
        self._handlers.update_pod(old, self._pods[name])

    def _delete(self, name: str) -> None:
        pod = self._known(name)
        if self._flight is not None and self._flight[0].key == pod_key(pod):
            raise ValueError(f"delete {name}: it is in flight, expected `decide` first")
        del self._pods[name]
        self.queue.delete(pod)
        self.cache.remove_pod(pod_key(pod))
        self._tell("pending.change", _CLUSTER, what=f"Pod {name} is deleted")
        self._handlers.delete_pod(pod)

    def _wait(self, span_ms: int) -> None:
        until = self.clock.now_ms + span_ms
        while (due := self._due()) is not None and due <= until:
            self.clock.now_ms = max(due, self.clock.now_ms)
            self.queue.flush(self.clock.now_ms)
        self.clock.now_ms = until
        self.trace.current = None
        self._tell("pending.time", _LANE, now=seconds(until))

    def _due(self) -> int | None:
        dues = [due for due in (self.queue.backoff_due_ms, self.queue.flush_due_ms) if due is not None]
        return min(dues, default=None)

    # -- what the scheduler does ---------------------------------------------------------------------

    def _pop(self) -> None:
        if self._flight is not None:
            raise ValueError(f"pop: the scheduler is busy with {short(self._flight[0].key)}, expected `decide` first")
        if not self.queue.has_next:
            raise ValueError("pop: no Pod is active or backs off")
        info = self.queue.pop()
        self._flight = (info, self.cache.snapshot())
        self._infos[info.key] = info
        self._why[info.key] = f"attempt {info.attempts}"
        self.trace.current = info.cause
        self._tell("pending.pop", _LANE, pod=short(info.key), attempt=info.attempts)

    def _decide(self) -> str:
        """The name of the Pod if it was placed, "" if not."""
        if self._flight is None:
            raise ValueError("decide: no Pod was popped, expected `pop` first")
        info, snapshot = self._flight
        self._flight = None
        result = self.framework.schedule(info.pod, snapshot)
        name = short(info.key)
        if result.node:
            placed = placed_on(info.pod, result.node)
            self.cache.assume(placed, result.node)
            self.queue.done(info.uid)
            self._pods[name] = placed
            info.cause = self._tell("pending.assume", _LANE, pod=name, node=result.node)
            return name
        info.unschedulable_plugins = dict(result.diagnosis.unschedulable_plugins)
        info.pending_plugins = dict(result.diagnosis.pending_plugins)
        reasons = FitError(len(snapshot), result.diagnosis).reasons()
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or result.message
        self._tell("pending.reject", _LANE, pod=name, why=cut(why, 80))
        self.queue.add_unschedulable(info, self.clock.now_ms)
        return ""

    def _bound(self, name: str) -> None:
        placed = self._assumed(name)
        node = placed["spec"]["nodeName"]
        self.cache.finish_binding(pod_key(placed), self.clock.now_ms)
        pending = self._infos[pod_key(placed)].pod
        self._pods[name] = {**placed, "metadata": newer(placed)}
        self.cache.add_pod(self._pods[name])
        self.trace.current = self._infos[pod_key(placed)].cause
        self._tell("pending.bound", _CLUSTER, pod=name, node=node)
        self._handlers.update_pod(pending, self._pods[name])

    def _refused(self, name: str) -> None:
        placed = self._assumed(name)
        info = self._infos[pod_key(placed)]
        self.cache.forget(info.key)
        self._pods[name] = info.pod
        self._why[info.key] = "its binding failed"
        self.trace.current = info.cause
        self._tell("pending.refused", _LANE, pod=name, node=placed["spec"]["nodeName"])
        self.queue.move_all(ASSIGNED_POD_DELETE, placed, None, self.clock.now_ms)
        self.queue.add_unschedulable(info, self.clock.now_ms)

    # -- telling -------------------------------------------------------------------------------------

    def _tell(self, kind: str, lane: str, **data: Any) -> int | None:
        """An event, and from now on the picture after it. Returns its number."""
        seq = self.trace.emit(kind, lane, **data)
        if kind in ("pending.move", "pending.stay", "pending.note"):
            self.trace.current = self._source  # what happens to one Pod is no cause of what happens to the next
        else:
            self._source = seq
        self._about = {name: data[name] for name in ("pod", "event", "node") if name in data}
        self._picture = self._draw()
        return seq

    def _moved(self, info: QueuedPodInfo, event: str, to: QueueName) -> None:
        self._infos[info.key] = info
        why = self._reason(info, event, to)
        if event == BACKOFF_COMPLETE:
            self.trace.current = info.cause
        self._why[info.key] = event
        info.cause = self._tell("pending.move", _LANE, pod=short(info.key), queue=str(to), event=event, why=why)

    def _reason(self, info: QueuedPodInfo, event: str, to: QueueName) -> str:
        if info.gating_plugin:
            return f"{info.gating_plugin} keeps it out"
        if event == BACKOFF_COMPLETE:
            return "it has waited long enough"
        if event == SCHEDULE_ATTEMPT_FAILURE:
            if not info.rejected_by:
                return "nobody rejected it, an error did"
            by = " and ".join(info.rejected_by)
            return f"{by} rejected it" if to is QueueName.UNSCHEDULABLE else f"what {by} waits for came in flight"
        if event == UNSCHEDULED_POD_ADD.label:
            return "it is new"
        change = self.queue.change
        if change is None:
            return "the Pod itself has changed"
        if change.event.is_wildcard:
            return "it has waited for more than 5 minutes"
        return f"{' and '.join(self._who(info, change, QueueingHint.QUEUE)) or 'its gate'} says Queue"

    def _who(self, info: QueuedPodInfo, change: _Change, hint: QueueingHint) -> list[str]:
        """The plugins that rejected the Pod, registered for the event and answer `hint`."""
        events = self.framework.events_to_register()
        found: dict[str, QueueingHint] = {}
        for plugin in info.rejected_by:
            for entry in events.get(plugin, ()):
                if entry.event.matches(change.event):
                    says = entry.hint(info.pod, change.old, change.new) if entry.hint else QueueingHint.QUEUE
                    found[plugin] = QueueingHint.QUEUE if QueueingHint.QUEUE in (says, found.get(plugin)) else says
        return [plugin for plugin, says in found.items() if says is hint]

    def _asked(self, change: _Change) -> None:
        """After an event: tell of those that it did not move, and of the Pod it is kept for."""
        if change.event.is_wildcard:
            return
        label = change.event.label
        for info in self._waiting():
            if self._why[info.key] == label and self._who(info, change, QueueingHint.QUEUE):
                continue
            if info.gating_plugin:
                continue  # not even asked: only its gate's own events matter
            skips = self._who(info, change, QueueingHint.QUEUE_SKIP)
            by = " and ".join(info.rejected_by)
            why = f"{' and '.join(skips)} says QueueSkip" if skips else f"{by} did not ask for it"
            self._tell("pending.stay", _LANE, pod=short(info.key), event=label, why=why)
        if self._flight is not None:
            self._tell("pending.note", _LANE, pod=short(self._flight[0].key), event=label)

    def _waiting(self) -> list[QueuedPodInfo]:
        view = self.queue.view()["unschedulable"]
        return [info for key in view if (info := self.queue.get(key)) is not None]

    def _draw(self) -> dict[str, Any]:
        pods: dict[str, Any] = {}
        view = self.queue.view()
        lanes = {
            QueueName.ACTIVE: view["active"],
            QueueName.BACKOFF: view["backoff"],
            QueueName.UNSCHEDULABLE: view["unschedulable"],
            QueueName.IN_FLIGHT: view["in_flight"],
        }
        for lane, keys in lanes.items():
            for place, key in enumerate(keys):
                info = self._infos[key]
                drawn = {"lane": str(lane), "place": place, "attempts": info.attempts, "why": self._why.get(key, "")}
                if info.priority:
                    drawn["priority"] = info.priority
                if lane is QueueName.UNSCHEDULABLE:
                    drawn["by"] = ", ".join(info.rejected_by)
                if lane is QueueName.BACKOFF:
                    drawn["until_ms"] = keys[key]["backoff_until_ms"]
                pods[short(key)] = drawn
        nodes = {}
        for name, node in self.cache.view()["nodes"].items():
            for place, (key, state) in enumerate(node["pods"].items()):
                pods[short(key)] = {"lane": "Placed", "place": place, "node": name, "state": state}
            nodes[name] = {"used": node["requested"].get("cpu", 0), "has": node["allocatable"].get("cpu", 0)}
        return {"now_ms": self.clock.now_ms, "pods": pods, "nodes": nodes, "about": self._about}

    # -- inside --------------------------------------------------------------------------------------

    def _known(self, name: str) -> Object:
        if name not in self._pods:
            expected = f"one of {', '.join(self._pods)}" if self._pods else f"`pod {name}` first"
            raise ValueError(f"pod {name!r}: not there, expected {expected}")
        return self._pods[name]

    def _assumed(self, name: str) -> Object:
        pod = self._known(name)
        if not self.cache.is_assumed(pod_key(pod)):
            raise ValueError(f"pod {name}: is not assumed on a node, expected `decide` first")
        return pod
