"""What if: more Pods, more Nodes. Which Node each Pod lands on, which stay pending and why, and how many more fit.

Pods come as the scheduling queue would give them out: the higher priority first, among equals those that are pending in
the snapshot before the new ones. A Pod that preempts takes the Node when its victims are gone.

>>> from k8slab.cluster.snapshots import ClusterSnapshot, WhatIf
>>> node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
...         "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}
>>> web = {"metadata": {"name": "web"},
...        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "750m"}}}]}}
>>> answer = WhatIf(ClusterSnapshot.of([node]), [web]).run(fill=True)
>>> answer.placements[0].node, answer.room
('n1', {'default/web': 1})

Upstream: none (kube-scheduler-simulator and cluster-capacity answer parts of it)
Simplified: Pods that are evicted are gone; the replacements that their owners would make are not added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pods import pod_priority
from k8slab.api.tolerations import any_tolerates
from k8slab.cluster.snapshots.changes import copy_of, daemon_pods
from k8slab.cluster.snapshots.mocks import MockedResult, mock
from k8slab.cluster.snapshots.pending import frameworks_for
from k8slab.cluster.snapshots.snapshot import ClusterSnapshot
from k8slab.cluster.snapshots.stream import SnapshotError
from k8slab.scheduler import (
    SUCCESS,
    CycleState,
    Framework,
    KubeSchedulerConfiguration,
    NodeInfo,
    ScheduleResult,
    Snapshot,
)
from k8slab.scheduler.framework import placed_on, pod_key, scheduler_name
from k8slab.scheduler.manifest_check import check_node, check_pod

__all__ = ["Placement", "Usage", "WhatIf", "WhatIfAnswer", "more_nodes"]

MOST_COPIES = 100_000


class Placement(NamedTuple):
    """What became of one Pod: its `node`, or "" and the `message`; `evicted`: who had to go for it."""

    pod: str
    node: str
    message: str = ""
    is_new: bool = True
    evicted: tuple[str, ...] = ()


class Usage(NamedTuple):
    """How much of one resource is requested: cpu in milli, memory in bytes, pods as a number."""

    resource: str
    allocatable: int
    before: int
    after: int


@dataclass
class WhatIfAnswer:
    """`room`: by Pod, how many copies more would fit (after all that was placed); `nodes`: names with Pods on them."""

    placements: list[Placement]
    usage: list[Usage]
    room: dict[str, int] = field(default_factory=dict)
    new_nodes: list[str] = field(default_factory=list)

    @property
    def pending(self) -> list[Placement]:
        """Pods that found no Node."""
        return [placement for placement in self.placements if not placement.node]


def more_nodes(snapshot: ClusterSnapshot, like: Object, number: int) -> list[Object]:
    """So many fresh Nodes like this one, and the Pods that would run on each: its DaemonSets' and static ones."""
    taken = {node["metadata"]["name"] for node in snapshot.nodes}
    names = (f"{like['metadata']['name']}-copy{n}" for n in range(1, number + len(taken) + 1))
    free = [name for name in names if name not in taken][:number]
    there = [pod for pod in snapshot.pods if pod["spec"].get("nodeName") == like["metadata"]["name"]]
    return [*(copy_of(like, name) for name in free), *(pod for name in free for pod in daemon_pods(there, name))]


class WhatIf:
    """A snapshot with more Pods (`add`, of which each is one Pod) and more Nodes. Run it as often as you like.

    `new_nodes`: Nodes, and Pods that run on them (as `more_nodes` makes them). They are checked once, here: TypeError
    or ValueError as `Snapshot.of`.
    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        add: Sequence[Object] = (),
        new_nodes: Sequence[Object] = (),
        *,
        config: KubeSchedulerConfiguration | None = None,
        mocks: Sequence[MockedResult] = (),
        seed: int | str = 7,
    ) -> None:
        self._snapshot = snapshot
        self._new_nodes = [obj for obj in new_nodes if obj.get("kind") != "Pod"]
        self._on_new_nodes = [obj for obj in new_nodes if obj.get("kind") == "Pod"]
        for node in self._new_nodes:
            check_node(node)
        for pod in self._on_new_nodes:
            check_pod(pod)
        self._config, self._mocks, self._seed = config, list(mocks), seed
        self._add = [snapshot.with_priority(pod) for pod in add]
        taken = {pod_key(pod) for pod in snapshot.pods}
        for pod in self._add:
            if pod_key(pod) in taken:
                raise SnapshotError(f"pod {pod_key(pod)}: is there already, expected another name")
            taken.add(pod_key(pod))

    def run(self, *, fill: bool = False) -> WhatIfAnswer:
        """Place everything. `fill`: then see how many more of each new Pod fit, each kind by itself."""
        frameworks = frameworks_for(self._snapshot, self._config, seed=self._seed)
        for framework in frameworks.values():
            framework.algorithm.memo = None if self._mocks else framework.algorithm.memo
            mock(framework, self._mocks)
        pods = [*self._snapshot.pods, *self._on_new_nodes]
        nodes = Snapshot.of([*self._snapshot.nodes, *self._new_nodes], pods, check=False)
        before = [(info.requested.milli_cpu, info.requested.memory, len(info.pods)) for info in nodes.nodes]
        placements = self._place(frameworks, nodes)
        usage = _usage(nodes, before)
        room = {}
        for pod in self._kinds() if fill else ():
            ours = frameworks.get(scheduler_name(pod))
            room[pod_key(pod)] = 0 if ours is None else _copies(ours, pod, _copied(nodes))
        return WhatIfAnswer(placements, usage, room, [node["metadata"]["name"] for node in self._new_nodes])

    def _kinds(self) -> list[Object]:
        """One new Pod of each owner and spec."""
        found: dict[str, Object] = {}
        for pod in self._add:
            found.setdefault(str((pod["metadata"].get("ownerReferences"), pod["spec"])), pod)
        return list(found.values())

    def _place(self, frameworks: Mapping[str, Framework], nodes: Snapshot) -> list[Placement]:
        known = [pod for pod in self._snapshot.pending if not pod["metadata"].get("deletionTimestamp")]
        bound = [pod for pod in self._add if pod["spec"].get("nodeName")]
        found = {pod_key(pod): _bind(frameworks, pod, nodes) for pod in bound}
        queue = [(pod, True) for pod in self._add if not pod["spec"].get("nodeName")]
        for pod in reversed(known):
            try:
                queue.insert(0, (self._snapshot.with_priority(pod), False))
            except SnapshotError as error:
                found[pod_key(pod)] = Placement(pod_key(pod), "", str(error), is_new=False)
        queue.sort(key=lambda entry: -pod_priority(entry[0]))
        again = True
        while again:  # an eviction may have made room for Pods that came before it
            again = False
            for pod, is_new in queue:
                earlier = found.get(pod_key(pod))
                if earlier is None or not earlier.node:
                    found[pod_key(pod)] = placed = _place_one(frameworks, pod, nodes, is_new=is_new)
                    again = again or bool(placed.evicted)
                    for key in placed.evicted:
                        if key in found:  # it was placed by us; it may find another Node
                            found[key] = found[key]._replace(node="", message=f"evicted for {placed.pod}")
        return list(found.values())


def _bind(frameworks: Mapping[str, Framework], pod: Object, nodes: Snapshot) -> Placement:
    """A Pod that names its Node: no scheduler sees it, and the kubelet has the last word."""
    key, name = pod_key(pod), pod["spec"]["nodeName"]
    info = nodes.get(name)
    if info is None:
        return Placement(key, "", f"spec.nodeName is {name}: no such Node")
    if reason := _kubelet_rejects(next(iter(frameworks.values())), pod, nodes, info):
        return Placement(key, "", f"spec.nodeName is {name}, whose kubelet would reject it: {reason}")
    nodes.assume(pod, name)
    return Placement(key, name)


def _kubelet_rejects(framework: Framework, pod: Object, nodes: Snapshot, info: NodeInfo) -> str:
    """What the kubelet's admission looks at: resources, node affinity, host ports, NoExecute taints."""
    framework.use_snapshot(nodes)
    for name in ("NodeResourcesFit", "NodeAffinity", "NodePorts"):
        plugin: Any = framework.plugins.get(name)
        if plugin is None:
            continue
        state = CycleState()
        _, status = plugin.pre_filter(state, pod, nodes.nodes)
        if status is SUCCESS:
            status = plugin.filter(state, pod, info)
        if status.is_rejected:
            return str(status.message)
    tolerations = pod["spec"].get("tolerations") or ()
    untolerated = [t for t in info.taints if t.get("effect") == "NoExecute" and not any_tolerates(tolerations, t)]
    return f"untolerated taint {untolerated[0].get('key')}" if untolerated else ""


def _place_one(frameworks: Mapping[str, Framework], pod: Object, nodes: Snapshot, *, is_new: bool) -> Placement:
    key, name = pod_key(pod), scheduler_name(pod)
    framework = frameworks.get(name)
    if framework is None:
        return Placement(key, "", f"spec.schedulerName is {name}, not among {', '.join(frameworks)}", is_new)
    for plugin in framework.pre_enqueue_plugins:
        status = plugin.pre_enqueue(pod)
        if not status.is_success:
            return Placement(key, "", status.message, is_new)
    result = framework.schedule(pod, nodes)
    evicted: tuple[str, ...] = ()
    if not result.node and (evicted := _evict(result, nodes)):
        assert result.post_filter is not None  # somebody was evicted
        nominated = {**(pod.get("status") or {}), "nominatedNodeName": result.post_filter.nominated_node_name}
        result = framework.schedule({**pod, "status": nominated}, nodes)
    if not result.node:
        return Placement(key, "", result.message, is_new, evicted)
    nodes.assume(placed_on(pod, result.node), result.node)
    framework.nominator.delete(pod)
    return Placement(key, result.node, "", is_new, evicted)


def _evict(result: ScheduleResult, nodes: Snapshot) -> tuple[str, ...]:
    """Take the victims that PostFilter chose off their Node."""
    choice = result.post_filter.preemption if result.post_filter is not None else None
    if choice is None:
        return ()
    for victim in choice.victims:
        nodes.evict(victim.key, choice.node)
    return tuple(victim.key for victim in choice.victims)


def _copied(nodes: Snapshot) -> Snapshot:
    made = Snapshot()
    made.replace([info.clone() for info in nodes.nodes])
    made.image_nodes, made.generation = dict(nodes.image_nodes), nodes.generation
    return made


def _copies(framework: Framework, pod: Object, nodes: Snapshot) -> int:
    """How many more Pods like this one find a Node, without evicting anybody."""
    spec = {**pod["spec"], "preemptionPolicy": "Never"}
    for number in range(MOST_COPIES):
        metadata = {**pod["metadata"], "name": f"{pod['metadata']['name']}-more{number}", "uid": None}
        copy = {**pod, "metadata": metadata, "spec": spec}
        result = framework.schedule(copy, nodes)
        if not result.node:
            return number
        nodes.assume(placed_on(copy, result.node), result.node)
    return MOST_COPIES


def _usage(nodes: Snapshot, before: Sequence[tuple[int, int, int]]) -> list[Usage]:
    infos = nodes.nodes
    return [
        Usage(
            "cpu",
            sum(info.allocatable.milli_cpu for info in infos),
            sum(cpu for cpu, _, _ in before),
            sum(info.requested.milli_cpu for info in infos),
        ),
        Usage(
            "memory",
            sum(info.allocatable.memory for info in infos),
            sum(memory for _, memory, _ in before),
            sum(info.requested.memory for info in infos),
        ),
        Usage(
            "pods",
            sum(info.allocatable.allowed_pod_number for info in infos),
            sum(pods for _, _, pods in before),
            sum(len(info.pods) for info in infos),
        ),
    ]
