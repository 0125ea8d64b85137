"""What the autoscaler imagines: Pods packed into Nodes group by group, then the choice; or Nodes emptied one by one.

>>> import random
>>> from k8slab.autoscaling.cloud import Cloud, small_catalogue
>>> from k8slab.autoscaling.cluster_autoscaler import AutoscalingOptions, NodeGroupConfig, NodeGroups, StaticAutoscaler
>>> from k8slab.scheduler import Framework
>>> configs = [NodeGroupConfig("small", "m5.large"), NodeGroupConfig("large", "m5.2xlarge")]
>>> groups = NodeGroups(Cloud(small_catalogue(), random.Random(7)), configs)
>>> autoscaler = StaticAutoscaler(groups, Framework.from_profile(), AutoscalingOptions(), random.Random(7))
>>> pending = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
>>> pods = [{"metadata": {"name": f"web-{n}"}, "status": {"conditions": [pending]},
...          "spec": {"containers": [{"resources": {"requests": {"cpu": "900m"}}}]}} for n in range(4)]
>>> story = PackingStory(autoscaler, ClusterView((), pods), now_ms=10_000)
>>> while story.step():
...     pass
>>> [event.message for event in story.trace if event.kind in ("pack.done", "pack.choose")]
... # doctest: +NORMALIZE_WHITESPACE
['small would need 2 nodes for 4 Pods: 7 % of the CPU and 100 % of the memory stay idle',
 'large would need 1 node for 4 Pods: 54 % of the CPU and 100 % of the memory stay idle',
 'small grows from 0 to 2 nodes']

Upstream: none (the steps are those of the estimator, the expanders and the removal simulation)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from k8slab.autoscaling.cluster_autoscaler.expanders import Option
from k8slab.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from k8slab.autoscaling.cluster_autoscaler.view import ClusterView
from k8slab.scheduler import NodeInfo, PodInfo
from k8slab.sim import Clock, Kind, Trace, add_kinds
from k8slab.sim.kinds import cut

__all__ = ["PackingStory", "RemovalStory"]

LANE = "autoscaler"
_MIB = 1 << 20

add_kinds(
    {
        "pack.ask": Kind(
            "queue", 1, ("pods", "groups"), "{pods} Pods wait",
            "{pods} {pods:Pod fits|Pods fit} on no node; {groups} {groups:group|groups} could grow"
        ),
        "pack.reject": Kind("wait", 1, ("group", "why"), "not {group}", "{group} cannot help: {why}"),
        "pack.begin": Kind(
            "work", 1, ("group", "cpu", "memory", "pods"), "try {group}",
            "a fresh node of {group} has {cpu} CPUs and {memory} GiB for Pods; {pods} could run on such nodes"
        ),
        "pack.open": Kind(
            "state", 2, ("group", "number", "pod"), "node {number}", "{pod} opens node {number} of {group}"
        ),
        "pack.place": Kind(
            "state", 2, ("group", "number", "pod"), "{pod} on {number}", "{pod} fits on node {number} of {group}"
        ),
        "pack.done": Kind(
            "work", 1, ("group", "nodes", "pods", "cpu", "memory"), "{group}: {nodes} {nodes:node|nodes}",
            "{group} would need {nodes} {nodes:node|nodes} for {pods} {pods:Pod|Pods}: "
            "{cpu} % of the CPU and {memory} % of the memory stay idle"
        ),
        "pack.expander": Kind("work", 1, ("name", "left"), "{name}", "the expander {name} leaves {left}"),
        "pack.choose": Kind(
            "state", 1, ("group", "before", "after"), "{group} grows",
            "{group} grows from {before} to {after} {after:node|nodes}"
        ),
        "pack.none": Kind(
            "wait", 1, ("pods",), "nobody helps", "no group can help: {pods} {pods:Pod waits|Pods wait} on"
        ),
        "empty.look": Kind(
            "work", 1, ("node", "percent", "resource"), "look at {node}",
            "of {node} {percent} % of the {resource} is requested"
        ),
        "empty.stay": Kind("wait", 1, ("node", "why"), "{node} stays", "{node} stays: {why}"),
        "empty.move": Kind("state", 2, ("pod", "node", "to"), "{pod} to {to}", "{pod} of {node} would fit on {to}"),
        "empty.unneeded": Kind(
            "state", 1, ("node", "pods"), "{node} unneeded",
            "{node} is unneeded: {pods} {pods:Pod has|Pods have} another place"
        ),
    }
)  # fmt: skip


def _size(pod: PodInfo) -> list[int]:
    """CPU in milli and memory in MiB, as the picture draws them."""
    return [pod.requested.milli_cpu, pod.requested.memory // _MIB]


def _room(info: NodeInfo) -> dict[str, int]:
    return {"cpu": info.allocatable.milli_cpu, "mem": info.allocatable.memory // _MIB}


def _name(pod: PodInfo) -> str:
    name: str = pod.pod["metadata"]["name"]
    return name


class PackingStory:
    """A steppable scale-up: nothing is bought before the last step. The autoscaler is used up by it: take a fresh one.

    `Stepper(PackingStory(autoscaler, view, now_ms))` shows each group's imagined nodes filling.
    """

    views = ("packing",)
    title = "How many nodes, and whose?"

    def __init__(self, autoscaler: StaticAutoscaler, view: ClusterView, now_ms: int) -> None:
        self.trace = Trace(Clock())
        self.result = autoscaler.run_once(view, now_ms)
        self._status = self.result.scale_up
        self._templates = autoscaler.templates
        self._waiting = {_name(pod): _size(pod) for pod in self.result.to_help}
        self._groups: dict[str, dict[str, Any]] = {
            group.id: {"s": "", "t": "", "nodes": {}} for group in autoscaler.groups
        }
        self._plan = self._play()

    def step(self) -> bool:
        """The next thought; False after the last."""
        return next(self._plan, None) is not None

    def view(self) -> Mapping[str, Any]:
        """`packing`: `wait`, the waiting Pods with [milli-CPU, MiB], and `groups` by id: `s` (no, asked, option, out,
        chosen or ""), `t` a text, and `nodes` by name: `cpu`, `mem` their room, `s`, and `pods` with their sizes."""
        return {"packing": {"wait": dict(self._waiting), "groups": _copied(self._groups)}}

    def _play(self) -> Iterator[bool]:
        emit = self.trace.emit
        emit("pack.ask", LANE, pods=len(self._waiting), groups=len(self._groups))
        yield True
        options = {option.group.id: option for option in self._status.options}
        for id in self._groups:
            if id in options:
                yield from self._pack(options[id])
            else:
                yield from self._reject(id)
        if self._status.best is None:
            emit("pack.none", LANE, pods=len(self._waiting))
            yield True
            return
        yield from self._choose(self._status.best)

    def _reject(self, id: str) -> Iterator[bool]:
        why = self._status.skipped.get(id, "")
        if not why:
            reasons = dict.fromkeys(text for group in self._status.pod_groups for text in group.errors.get(id, ()))
            why = ", ".join(reasons) or "no Pod would fit on a fresh node of it"
        self._groups[id].update(s="no", t=why)
        self.trace.emit("pack.reject", LANE, group=id, why=cut(why, 80))
        yield True

    def _pack(self, option: Option) -> Iterator[bool]:
        id, row, emit = option.group.id, self._groups[option.group.id], self.trace.emit
        template = self._templates[id]
        room, row["s"] = _room(template), "asked"
        waiting = self._waiting
        cpus, gib = f"{room['cpu'] / 1_000:g}", f"{room['mem'] / 1_024:.1f}"
        emit("pack.begin", LANE, group=id, cpu=cpus, memory=gib, pods=len(option.pods))
        yield True
        estimate = self._status.estimates[id]
        node_of = {pod.uid: name for name, pods in estimate.nodes.items() for pod in pods}
        numbers: dict[str, str] = {}
        self._waiting = dict(waiting)
        for pod in estimate.pods:
            node = node_of[pod.uid]
            kind = "pack.place" if node in numbers else "pack.open"
            number = numbers.setdefault(node, str(len(numbers) + 1))
            shown = row["nodes"].setdefault(number, {**room, "s": "", "pods": {}})
            shown["pods"][_name(pod)] = _size(pod)
            self._waiting.pop(_name(pod), None)
            emit(kind, LANE, group=id, number=int(number), pod=_name(pod))
            yield True
        used = [sum(amount) for amount in zip(*map(_size, estimate.pods), strict=True)]
        idle = [round(100 - 100 * part / (room[what] * estimate.node_count))
                for part, what in zip(used, ("cpu", "mem"), strict=True)]  # fmt: skip
        nodes, pods = estimate.node_count, len(estimate.pods)
        counts = f"{nodes} node{'' if nodes == 1 else 's'}, {pods} Pod{'' if pods == 1 else 's'}"
        row.update(s="option", t=f"{counts}; idle: CPU {idle[0]} %, memory {idle[1]} %")
        emit("pack.done", LANE, group=id, nodes=nodes, pods=pods, cpu=idle[0], memory=idle[1])
        yield True
        self._waiting = waiting

    def _choose(self, best: Option) -> Iterator[bool]:
        for name, left in self._status.left_by_expander:
            for option in self._status.options:
                if option.group.id not in left:
                    self._groups[option.group.id]["s"] = "out"
            self.trace.emit("pack.expander", LANE, name=name, left=cut(", ".join(left) or "nobody", 60))
            yield True
        helped = {_name(pod) for pod in best.pods}
        self._waiting = {name: size for name, size in self._waiting.items() if name not in helped}
        for option in self._status.options:
            self._groups[option.group.id]["s"] = "chosen" if option is best else "out"
        for info in self._status.infos:
            self.trace.emit("pack.choose", LANE, group=info.group.id, before=info.current_size, after=info.new_size)
            yield True


class RemovalStory:
    """A steppable look for unneeded nodes: nothing is deleted. `autoscaler`: a fresh one, as for `PackingStory`."""

    views = ("packing",)
    title = "Which node could go?"

    def __init__(self, autoscaler: StaticAutoscaler, view: ClusterView, now_ms: int) -> None:
        self.trace = Trace(Clock())
        pods_on: dict[str, list[PodInfo]] = {}
        for pod in view.pods:
            if name := pod["spec"].get("nodeName"):
                pods_on.setdefault(name, []).append(PodInfo(pod))
        self._nodes: dict[str, dict[str, Any]] = {}
        for node in view.nodes:
            name = node["metadata"]["name"]
            pods = {_name(pod): _size(pod) for pod in pods_on.get(name, ())}
            self._nodes[name] = {**_room(NodeInfo.of(node)), "s": "", "pods": pods}
        self.result = autoscaler.run_once(view, now_ms)
        self._planner = autoscaler.planner
        self._plan = self._play()

    def step(self) -> bool:
        """The next thought; False after the last."""
        return next(self._plan, None) is not None

    def view(self) -> Mapping[str, Any]:
        """As of `PackingStory`, with one group, `nodes`; a node's `s` is asked, stays, gone or ""."""
        group = {"s": "", "t": f"{len(self._nodes)} nodes", "nodes": self._nodes}
        return {"packing": {"wait": {}, "groups": _copied({"nodes": group})}}

    def _play(self) -> Iterator[bool]:
        planner, emit = self._planner, self.trace.emit
        for name in self._order():
            row = self._nodes[name]
            row["s"] = "asked"
            used = planner.utilizations.get(name)
            if used is not None:
                resource = "CPU" if used.resource == "cpu" else used.resource
                emit("empty.look", LANE, node=name, percent=round(used.value * 100), resource=resource)
                yield True
            unneeded = planner.unneeded.get(name)
            if unneeded is None:
                row["s"] = "stays"
                emit("empty.stay", LANE, node=name, why=cut(self._why(name), 80))
                yield True
                continue
            removal = unneeded.removal
            for pod in removal.pods:
                to = removal.moves[pod.uid]
                size = row["pods"].pop(_name(pod))
                self._nodes[to]["pods"][_name(pod)] = size
                emit("empty.move", LANE, pod=_name(pod), node=name, to=to)
                yield True
            row["s"] = "gone"
            emit("empty.unneeded", LANE, node=name, pods=len(removal.pods))
            yield True

    def _order(self) -> Sequence[str]:
        considered = [name for name in self._planner.considered if name in self._nodes]
        return [*considered, *(name for name in self._nodes if name not in considered)]

    def _why(self, name: str) -> str:
        found = self._planner.unremovable.reasons.get(name)
        if found is None:
            return "it belongs to no node group"
        return found.blocking.message if found.blocking is not None else found.reason.value


def _copied(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What later steps do not change."""
    return {
        id: {
            **group,
            "nodes": {name: {**node, "pods": dict(node["pods"])} for name, node in group["nodes"].items()},
        }
        for id, group in groups.items()
    }
