"""The scheduling queue against a twin that keeps one list of Pods and looks everything up anew."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from k8slab.scheduler import Framework, QueuedPodInfo, QueueProfile, SchedulingQueue
from k8slab.scheduler.framework import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from tests.counts import examples
from tests.scheduling import pod

NAMES = ["a", "b", "c", "d"]
PLUGINS = ["Label", "Taint", "Deaf"]
LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
HEARD = {"Label": LABEL, "Taint": TAINT}


class Twin:
    """One Pod as the twin sees it."""

    def __init__(self, priority: int, now_ms: int, number: int) -> None:
        self.priority, self.since, self.number = priority, now_ms, number
        self.where = "active"
        self.rejected: set[str] = set()
        self.events: list[ClusterEvent] = []
        self.errors = self.rejections = 0
        self.order = (-priority, now_ms, number)

    @property
    def expiry(self) -> int:
        failures = self.errors or self.rejections
        if not failures:
            return 0
        seconds = min(2 ** (failures - 1), 10)
        return ((self.since + 1000 * seconds) // 1000 + 1) * 1000

    def comes_back(self, event: ClusterEvent) -> bool:
        return any(HEARD.get(plugin) == event for plugin in self.rejected)

    def requeue(self, now_ms: int) -> None:
        self.where = "backoff" if self.expiry > now_ms else "active"


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        events = {plugin: [ClusterEventWithHint(event)] for plugin, event in HEARD.items()}
        sort = Framework.from_profile().queue_sort_plugin
        self.queue = SchedulingQueue(sort, {"default-scheduler": QueueProfile((), events)})
        self.twins: dict[str, Twin] = {}
        self.flying: dict[str, QueuedPodInfo] = {}
        self.now_ms = 0
        self.number = 0

    @rule(ms=st.sampled_from([1, 250, 1_000, 4_000]))
    def pass_time(self, ms: int) -> None:
        """Time goes on, and the timers with it."""
        self.now_ms += ms
        for twin in self.twins.values():
            if twin.where == "backoff" and twin.expiry <= self.now_ms:
                twin.where = "active"
        self.queue.flush(self.now_ms)

    @rule(name=st.sampled_from(NAMES), priority=st.integers(0, 2))
    def add(self, name: str, priority: int) -> None:
        if name in self.twins:
            return
        self.number += 1
        self.twins[name] = Twin(priority, self.now_ms, self.number)
        self.queue.add(pod(name, priority=priority), self.now_ms)

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        if name in self.twins and self.twins[name].where != "flying":
            del self.twins[name]
            self.queue.delete(pod(name))

    @rule(event=st.sampled_from([LABEL, TAINT]))
    def happen(self, event: ClusterEvent) -> None:
        for twin in self.twins.values():
            if twin.where == "flying":
                twin.events.append(event)
            elif twin.where == "unschedulable" and twin.comes_back(event):
                twin.requeue(self.now_ms)
        self.queue.move_all(event, None, None, self.now_ms)

    def expected_next(self) -> str | None:
        active = [name for name, twin in self.twins.items() if twin.where == "active"]
        if active:
            return min(active, key=lambda name: self.twins[name].order)
        waiting = [name for name, twin in self.twins.items() if twin.where == "backoff" and twin.rejected]
        return min(waiting, key=lambda name: (self.twins[name].expiry, self.twins[name].order), default=None)

    @precondition(lambda self: self.queue.has_next)
    @rule()
    def pop(self) -> None:
        info = self.queue.pop()
        name = info.pod["metadata"]["name"]
        assert name == self.expected_next()
        twin = self.twins[name]
        twin.where, twin.rejected, twin.events = "flying", set(), []
        self.flying[name] = info

    @precondition(lambda self: bool(self.flying))
    @rule(data=st.data(), plugins=st.sets(st.sampled_from(PLUGINS)))
    def come_back(self, data: Any, plugins: set[str]) -> None:
        name = data.draw(st.sampled_from(sorted(self.flying)))
        info, twin = self.flying.pop(name), self.twins[name]
        info.unschedulable_plugins = dict.fromkeys(sorted(plugins))
        twin.rejected, twin.since = plugins, self.now_ms
        twin.order = (-twin.priority, self.now_ms, twin.number)
        if plugins:
            twin.errors, twin.rejections = 0, twin.rejections + 1
        else:
            twin.errors += 1
        if not plugins or any(twin.comes_back(event) for event in twin.events):
            twin.requeue(self.now_ms)
        else:
            twin.where = "unschedulable"
        self.queue.add_unschedulable(info, self.now_ms)

    @precondition(lambda self: bool(self.flying))
    @rule(data=st.data())
    def bind(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.flying)))
        self.queue.done(self.flying.pop(name).uid)
        del self.twins[name]

    @invariant()
    def agree(self) -> None:
        self.queue.check_invariants()
        names = {"Active": "active", "Backoff": "backoff", "Unschedulable": "unschedulable", "InFlight": "flying"}
        found = {name: self.queue.where(f"default/{name}") for name in NAMES}
        assert {n: names[w] for n, w in found.items() if w} == {n: twin.where for n, twin in self.twins.items()}
        assert self.queue.has_next == (self.expected_next() is not None)


TestSchedulingQueue = QueueMachine.TestCase
TestSchedulingQueue.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
