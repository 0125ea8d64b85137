"""Gangs to step through: one scheduler before an API server, Nodes that run nothing, and who has a place when.

>>> cluster = GangCluster({"node-1": 2, "node-2": 2})
>>> cluster.submit({"red": 3, "blue": 2})
>>> cluster.run(for_ms=1_000)
>>> cluster.bound()
{'red': 0, 'blue': 2}
>>> cluster.timeline.state_of("blue-0"), cluster.timeline.state_of("red-0")
('bound', 'waiting')
>>> cluster.close()

Every Pod asks for one CPU, and a Node has as many as it is said to have. `Stepper(cluster)` shows the members of each
gang in rows and what happened to them in columns.

Upstream: cmd/kube-scheduler; kubernetes-sigs/scheduler-plugins
Simplified: no controllers and no kubelets: Pods are created by you, and a bound Pod is the end of the story.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, NODES, PODGROUPS, PODS
from k8slab.apiserver import APIServer
from k8slab.client import Client, SharedInformerFactory
from k8slab.etcd import Store
from k8slab.scheduler import Scheduler
from k8slab.scheduler.plugins import coscheduling
from k8slab.scheduler.runtime import Factory
from k8slab.sim import Component, Loop, TraceEvent

__all__ = ["GangChange", "GangCluster", "GangTimeline"]

ADMISSION_OFF = ("ServiceAccount", "TaintNodesByCondition")
IN_TREE = {"GenericWorkload": True, "GangScheduling": True}
MOST_MEMBERS = 24

_STATES = {
    "schedule.decide": "reserved",
    "schedule.wait": "waiting",
    "schedule.allow": "allowed",
    "schedule.reject": "rejected",
    "schedule.bind-error": "failed",
}


class GangChange(NamedTuple):
    """A member is in another state from `at_ms` on: pending, reserved, waiting, allowed, bound, rejected or failed."""

    at_ms: int
    who: str
    state: str
    node: str = ""


class GangTimeline:
    """What happened to the members of gangs, read from a trace event by event."""

    def __init__(self) -> None:
        self.rows: list[GangChange] = []
        self._now: dict[str, GangChange] = {}

    def see(self, event: TraceEvent) -> None:
        """The next event."""
        data = event.data
        if data.get("resource") != "pods":
            return
        who, node = str(data.get("key", "")).rpartition("/")[2], str(data.get("node", ""))
        if event.kind == "schedule.queue":
            self._enter(GangChange(event.now_ms, who, "pending"))
        elif event.kind == "event.record" and data.get("reason") == "Scheduled":
            self._enter(GangChange(event.now_ms, who, "bound", self.node_of(who)))
        elif event.kind in _STATES:
            self._enter(GangChange(event.now_ms, who, _STATES[event.kind], node))

    def _enter(self, change: GangChange) -> None:
        before = self._now.get(change.who)
        if before is None or (before.state, before.node) != (change.state, change.node):
            self._now[change.who] = change
            self.rows.append(change)

    def state_of(self, who: str) -> str:
        """The state of a member now; "" for one that was never queued."""
        return self._now[who].state if who in self._now else ""

    def node_of(self, who: str) -> str:
        """Where it has a place, or had the last one; "" for none."""
        return self._now[who].node if who in self._now else ""


class GangCluster:
    """`nodes`: how many Pods each holds. `args`: of the Coscheduling plugin. `in_tree`: the gangs of 1.36 instead.
    `plugin`: your own, in the place of Coscheduling and beside PrioritySort (a function of its arguments and handle).

    ValueError: no Nodes, or a size below 1.
    """

    views = ("gangs", "lanes")
    title = "Gangs"

    def __init__(
        self,
        nodes: Mapping[str, int],
        *,
        seed: int | str = 7,
        args: Mapping[str, Any] | None = None,
        in_tree: bool = False,
        plugin: Factory | None = None,
    ) -> None:
        for name, size in nodes.items():
            if not isinstance(size, int) or size < 1:
                raise ValueError(f"nodes: {name}: {size!r}, expected how many Pods it holds, 1 or more")
        if not nodes:
            raise ValueError("nodes: none, expected at least one, such as {'node-1': 2}")
        self.nodes = dict(nodes)
        self.gangs: dict[str, dict[str, int]] = {}  # by gang its members, numbered
        self._needs: dict[str, int] = {}
        self.in_tree = in_tree
        self.loop = Loop(seed)
        self.trace = self.loop.trace
        self._timeline = GangTimeline()
        self._seen = 0
        features = FeatureGates(overrides=IN_TREE if in_tree else {})
        self._server = APIServer(self.loop, Store(), features=features, latency="lan", disabled=ADMISSION_OFF)
        if not in_tree:
            self._server.register_unstructured(GVK("scheduling.x-k8s.io", "v1alpha1", "PodGroup"), "podgroups")
        self.you = Component(self.loop, "you")
        self._client = Client(self._server.transport("you"))
        self.scheduler = self._start_scheduler(features, args or {}, plugin)
        for name, size in nodes.items():
            self._create(NODES, _node(name, size))
        self.run(for_ms=50)

    def _start_scheduler(self, features: FeatureGates, args: Mapping[str, Any], plugin: Factory | None) -> Scheduler:
        component = Component(self.loop, "scheduler")
        client = Client(self._server.transport("scheduler"))
        informers = SharedInformerFactory(self.loop, component, client)
        profile: Mapping[str, Any] = {**coscheduling.PROFILE, "pluginConfig": [{"name": "Coscheduling", "args": args}]}
        registry: Mapping[str, Factory] = coscheduling.REGISTRY
        if plugin is not None:
            registry = {"Gang": plugin}
            profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Gang"}]}}}
        chosen: dict[str, Any] = {} if self.in_tree else {"profiles": [profile], "registry": registry}
        scheduler = Scheduler(self.loop, component, client, informers, features=features, **chosen)
        informers.start()
        scheduler.start()
        return scheduler

    # -- commands ----------------------------------------------------------------------------------

    def submit(
        self, gangs: Mapping[str, int], *, need: Mapping[str, int] | None = None, names: str = "{gang}-{number}"
    ) -> None:
        """Create a PodGroup for each gang and its Pods `red-0`, `red-1`, …, the gangs in turn, as their controllers
        would side by side. `need`: how many must run together, where that is not all. `names`: of the Pods."""
        for name, size in gangs.items():
            if name in self.gangs or not isinstance(size, int) or not 1 <= size <= MOST_MEMBERS:
                raise ValueError(f"gangs: {name}: {size!r}, expected a new gang of 1 to {MOST_MEMBERS} Pods")
            self.gangs[name] = {}
            self._create_group(name, (need or {}).get(name, size))
        for number in range(max(gangs.values())):
            for name, size in gangs.items():
                if number < size:
                    self.add(names.format(gang=name, number=number), name)

    def add(self, pod: str, gang: str = "") -> None:
        """Create one more Pod, of a gang or (with "") of none."""
        metadata: dict[str, Any] = {"name": pod, "namespace": "default"}
        container = {"name": "c", "image": "train:1", "resources": {"requests": {"cpu": "1"}}}
        spec: dict[str, Any] = {"containers": [container]}
        if gang and self.in_tree:
            spec["schedulingGroup"] = {"podGroupName": gang}
        elif gang:
            metadata["labels"] = {coscheduling.POD_GROUP_LABEL: gang}
        if gang:
            self.gangs.setdefault(gang, {})[pod] = len(self.gangs[gang])
        self._create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def _create_group(self, name: str, need: int) -> None:
        metadata = {"name": name, "namespace": "default"}
        self._needs[name] = need
        if self.in_tree:
            spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": need}}}
            self._create(PODGROUPS, {**_kind(PODGROUPS.api_version), "metadata": metadata, "spec": spec})
        else:
            gvr = coscheduling.PODGROUPS
            self._create(gvr, {**_kind(gvr.api_version), "metadata": metadata, "spec": {"minMember": need}})

    def add_node(self, name: str, size: int) -> None:
        """One more Node."""
        self.nodes[name] = size
        self._create(NODES, _node(name, size))

    def delete(self, pod: str) -> None:
        """Delete a Pod at once."""
        self.you.spawn("delete", lambda: self._client.delete(PODS, pod, "default", grace_period_seconds=0))

    def _create(self, gvr: Any, obj: Object) -> None:
        namespace = obj["metadata"].get("namespace", "")
        self.you.spawn(f"create/{obj['metadata']['name']}", lambda: self._client.create(gvr, obj, namespace))

    # -- time --------------------------------------------------------------------------------------

    def run(self, *, for_ms: int) -> None:
        """Let virtual time pass."""
        self.loop.run(for_ms=for_ms)

    def step(self) -> bool:
        """One action; False when there is none left."""
        return self.loop.step()

    def close(self) -> None:
        """End everything."""
        self.loop.close()

    # -- looking -----------------------------------------------------------------------------------

    @property
    def timeline(self) -> GangTimeline:
        """What happened to the members so far."""
        for event in self.trace.since(self._seen):
            self._timeline.see(event)
            self._seen = event.seq + 1
        return self._timeline

    def bound(self) -> dict[str, int]:
        """By gang: how many of its Pods are bound."""
        state_of = self.timeline.state_of
        return {name: sum(1 for who in members if state_of(who) == "bound") for name, members in self.gangs.items()}

    def held(self) -> dict[str, int]:
        """By gang: how many of its Pods hold a place without being bound."""
        state_of = self.timeline.state_of
        holding = ("reserved", "waiting", "allowed")
        return {name: sum(1 for who in members if state_of(who) in holding) for name, members in self.gangs.items()}

    def view(self) -> dict[str, Any]:
        """Gangs and their members, Nodes and their sizes, and every change so far, for the Stepper."""
        rows = self.timeline.rows
        return {
            "gangs": {
                "gangs": {
                    name: {"need": self._needs.get(name, 0), "members": dict.fromkeys(members, True)}
                    for name, members in self.gangs.items()
                },
                "nodes": dict(self.nodes),
                "changes": {str(number): list(change) for number, change in enumerate(rows)},
            }
        }


def _kind(api_version: str) -> dict[str, str]:
    return {"apiVersion": api_version, "kind": "PodGroup"}


def _node(name: str, size: int) -> dict[str, Any]:
    amounts = {"cpu": str(size), "memory": "64Gi", "pods": "110"}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
