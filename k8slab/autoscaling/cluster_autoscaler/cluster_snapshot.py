"""The cluster as the autoscaler imagines it: Nodes and Pods that may be moved about, and put back.

Every question goes to the scheduler's own PreFilter and Filter plugins. `fork` remembers the state, `revert` returns to
it, `commit` forgets it; forks nest.

>>> from k8slab.scheduler import Framework, NodeInfo, PodInfo
>>> snapshot = ClusterSnapshot(Framework.from_profile(), [NodeInfo.of(
...     {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1", "pods": "10"}}})])
>>> pod = PodInfo({"metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"requests": {"cpu": "600m"}}}]}})
>>> snapshot.fork(); snapshot.schedule_on_any(pod)
'a'
>>> more = PodInfo({**pod.pod, "metadata": {"name": "q"}})
>>> snapshot.schedule_on_any(more), snapshot.check_predicates(more, "a").reasons
('', ('Insufficient cpu',))
>>> snapshot.revert(); snapshot.schedule_on_any(more)
'a'

Upstream: cluster-autoscaler/simulator/clustersnapshot (clustersnapshot.go, predicate/, store/delta.go), and
scheduling_opts.go (the order in which Nodes are tried)
Simplified: claims through DRA and CSI volume limits are not simulated beyond what the plugins see; one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from k8slab.scheduler import SUCCESS, CycleState, Framework, NodeInfo, PodInfo, Snapshot
from k8slab.scheduler.snapshot import count_images

__all__ = ["ClusterSnapshot", "SchedulingFailure"]


@dataclass(frozen=True, slots=True)
class SchedulingFailure:
    """Why a Pod does not fit on a Node: the plugin, and its reasons."""

    plugin: str
    reasons: tuple[str, ...]


@dataclass(slots=True)
class _Fork:
    """What to put back: the list of Nodes, if it changed, and each Node that did."""

    nodes: list[NodeInfo] | None = None
    replaced: dict[str, NodeInfo] = field(default_factory=dict)
    last_index: int = 0


class ClusterSnapshot:
    """`nodes` are taken over: do not change them from outside afterwards."""

    def __init__(self, framework: Framework, nodes: Iterable[NodeInfo] = ()) -> None:
        self._framework = framework
        self._nodes = Snapshot()
        self._nodes.replace(list(nodes))
        self._nodes.image_nodes = count_images(self._nodes.nodes)
        self._forks: list[_Fork] = []
        self._last_index = 0
        self._fits = any(getattr(plugin, "name", "") == "NodeResourcesFit" for plugin in framework.filter_plugins)

    # -- looking ------------------------------------------------------------------------------------

    def node_infos(self) -> list[NodeInfo]:
        """The Nodes, in the order in which they came."""
        return self._nodes.nodes

    def get(self, name: str) -> NodeInfo | None:
        return self._nodes.get(name)

    # -- forks --------------------------------------------------------------------------------------

    def fork(self) -> None:
        self._forks.append(_Fork(last_index=self._last_index))

    def revert(self) -> None:
        """Return to where the last fork was made. Outside of a fork there is nothing to do."""
        if not self._forks:
            return
        fork = self._forks.pop()
        if fork.nodes is not None:
            self._nodes.replace([fork.replaced.get(info.name, info) for info in fork.nodes])
            return
        for info in fork.replaced.values():
            self._nodes.update(info)

    def commit(self) -> None:
        """Keep what was done since the last fork (the fork before may still revert it)."""
        if not self._forks:
            return
        fork = self._forks.pop()
        if not self._forks:
            return
        outer = self._forks[-1]
        if outer.nodes is None and fork.nodes is not None:
            outer.nodes = fork.nodes
        there = None if outer.nodes is None else {info.name for info in outer.nodes}
        for name, info in fork.replaced.items():
            if there is None or name in there:
                outer.replaced.setdefault(name, info)

    def _to_change(self, name: str) -> NodeInfo:
        """The Node, such that changing it does not change what a revert returns to."""
        info = self._nodes.get(name)
        if info is None:
            raise KeyError(name)
        if not self._forks or name in self._forks[-1].replaced:
            return info
        self._forks[-1].replaced[name] = info
        return info.clone()

    def _remember_nodes(self) -> None:
        if self._forks and self._forks[-1].nodes is None:
            self._forks[-1].nodes = list(self._nodes.nodes)

    # -- Nodes --------------------------------------------------------------------------------------

    def add_node_info(self, info: NodeInfo) -> None:
        """One more Node, with the Pods on it. ValueError when its name is taken."""
        if self._nodes.get(info.name) is not None:
            raise ValueError(f"node {info.name}: already in snapshot")
        self._remember_nodes()
        self._nodes.replace([*self._nodes.nodes, info])

    def remove_node_info(self, name: str) -> None:
        """Without this Node and the Pods on it. KeyError when it is not here."""
        if self._nodes.get(name) is None:
            raise KeyError(name)
        self._remember_nodes()
        self._nodes.replace([info for info in self._nodes.nodes if info.name != name])

    def replace_node_info(self, info: NodeInfo) -> None:
        """Another state of a Node that is here. KeyError when it is not."""
        self._to_change(info.name)
        self._nodes.update(info)

    # -- Pods ---------------------------------------------------------------------------------------

    def check_predicates(self, pod: PodInfo, node_name: str) -> SchedulingFailure | None:
        """Whether the Pod would fit on the Node; None: it does."""
        info = self._nodes.get(node_name)
        if info is None:
            raise KeyError(node_name)
        state, names, narrowed_by, failure = self._pre_filter(pod)
        if failure is not None:
            return failure
        if names is not None and node_name not in names:
            return SchedulingFailure(", ".join(narrowed_by), ())
        return self._filter(state, pod, info)

    def schedule_pod(self, pod: PodInfo, node_name: str) -> SchedulingFailure | None:
        """Put the Pod on the Node if it fits."""
        failure = self.check_predicates(pod, node_name)
        if failure is None:
            self.force_add_pod(pod, node_name)
        return failure

    def schedule_on_any(self, pod: PodInfo, accept: Callable[[NodeInfo], bool] | None = None) -> str:
        """Put the Pod on the first Node where it fits, and return its name; "" when there is none.

        The search begins behind the Node that was found last, so that load spreads as a scheduler would spread it.
        """
        nodes = self._nodes.nodes
        state, names, _, failure = self._pre_filter(pod)
        if failure is not None or not nodes:
            return ""
        cpu, memory, quick = pod.requested.milli_cpu, pod.requested.memory, self._fits
        count, start = len(nodes), self._last_index + 1
        for step in range(count):
            index = (start + step) % count
            info = nodes[index]
            if quick and not _may_fit(info, cpu, memory):
                continue
            if info.unschedulable or (accept is not None and not accept(info)):
                continue
            if names is not None and info.name not in names:
                continue
            if self._filter(state, pod, info) is None:
                self._last_index = index
                self.force_add_pod(pod, info.name)
                return info.name
        return ""

    def force_add_pod(self, pod: PodInfo, node_name: str) -> None:
        """Count the Pod on the Node, asking nobody."""
        info = self._to_change(node_name)
        info.add_pod(pod)
        self._nodes.update(info)

    def remove_pod(self, key: str, node_name: str) -> PodInfo:
        """No longer count a Pod (`namespace/name`) on the Node. KeyError when it is not there."""
        info = self._to_change(node_name)
        removed = info.remove_pod(key)
        self._nodes.update(info)
        return removed

    # -- plugins ------------------------------------------------------------------------------------

    def _pre_filter(
        self, pod: PodInfo
    ) -> tuple[CycleState, frozenset[str] | None, list[str], SchedulingFailure | None]:
        """(state, Nodes worth looking at or None for all, plugins that narrowed them, why none is)."""
        state = CycleState()
        self._framework.use_snapshot(self._nodes)
        names, status, narrowed_by = self._framework.run_pre_filter(state, pod.pod, self._nodes.nodes)
        if status is not SUCCESS and not status.is_success:
            return state, None, narrowed_by, SchedulingFailure(status.plugin, tuple(status.reasons))
        return state, names, narrowed_by, None

    def _filter(self, state: CycleState, pod: PodInfo, info: NodeInfo) -> SchedulingFailure | None:
        status = self._framework.run_filter(state, pod.pod, info)
        if status is SUCCESS or status.is_success:
            return None
        return SchedulingFailure(status.plugin, tuple(status.reasons))

    def check_invariants(self) -> None:
        """Every total is the sum over its Pods, and no Pod stands on two Nodes."""
        self._nodes.image_nodes = count_images(self._nodes.nodes)
        self._nodes.check_invariants()
        keys = [key for info in self._nodes.nodes for key in info.pods]
        assert len(keys) == len(set(keys)), "snapshot: a Pod stands on two nodes"


def _may_fit(info: NodeInfo, cpu: int, memory: int) -> bool:
    """What NodeResourcesFit would refuse at a glance: asked first, since most Nodes of a full cluster fail it."""
    room = info.allocatable
    if len(info.pods) + 1 > room.allowed_pod_number:
        return False
    used = info.requested
    return (cpu == 0 or cpu <= room.milli_cpu - used.milli_cpu) and (memory == 0 or memory <= room.memory - used.memory)
