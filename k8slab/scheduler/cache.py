"""What the scheduler believes of the cluster: Nodes, the Pods on them, and Pods it has placed but not yet seen bound.

    assume ──> assumed ──finish_binding──> expires (if a time-to-live is set)
                  ├─ forget (the binding failed)
                  └─ add_pod (seen bound: confirmed, on whatever Node it really is)

A plain mechanism; times are passed in. Snapshots are brought up to date by copying only Nodes that changed.

Upstream: pkg/scheduler/backend/cache/{cache,snapshot,node_tree}.go
Simplified: as upstream since 1.23 assumed Pods do not expire unless `ttl_ms` is set.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pods import get_condition
from k8slab.scheduler.framework import NodeInfo, PodInfo, pod_key, uid_of
from k8slab.scheduler.pod_groups import PodGroupManager
from k8slab.scheduler.snapshot import Snapshot, count_images, interleave_zones, zone_of

__all__ = ["Cache"]


class _PodState(NamedTuple):
    """`node`: where it counts. `assumed`: not seen bound yet. `deadline_ms`: when an assumption lapses."""

    info: PodInfo
    node: str
    assumed: bool = False
    deadline_ms: int | None = None


class Cache:
    """Nodes and Pods by name. `ttl_ms`: how long an assumption lasts after its binding finished (None: for ever)."""

    def __init__(self, *, ttl_ms: int | None = None) -> None:
        self._ttl_ms = ttl_ms
        self.pod_groups = PodGroupManager()
        self._nodes: dict[str, NodeInfo] = {}
        self._changed: dict[str, None] = {}  # names, the one changed last at the end
        self._pods: dict[str, _PodState] = {}
        self._zones: dict[str, dict[str, None]] = {}
        self._image_nodes: dict[str, int] = {}  # on how many Nodes an image is
        self._images_generation = 0  # when that last changed
        self._generation = 0
        self._order_generation = 0  # when the set of Nodes, or a zone, last changed

    # -- Nodes -------------------------------------------------------------------------------------

    def add_node(self, node: Object) -> None:
        """A new Node, or one whose Pods were known before it."""
        name = node["metadata"]["name"]
        info = self._node(name)
        if info.node is not None:
            self._leave_zone(info.node)
        self._set_node(info, node)
        self._zones.setdefault(zone_of(node), {})[name] = None
        self._touch(info)
        self._order_generation = self._generation

    def update_node(self, node: Object) -> None:
        """Another state of a Node. Moving to another zone changes the order of evaluation."""
        info = self._node(node["metadata"]["name"])
        if info.node is None or zone_of(info.node) != zone_of(node):
            self.add_node(node)
            return
        self._set_node(info, node)
        self._touch(info)

    def remove_node(self, name: str) -> None:
        """The Node is gone. What is on it stays counted until its Pods are seen gone. KeyError: unknown."""
        info = self._nodes[name]
        if info.node is not None:
            self._leave_zone(info.node)
        self._set_node(info, None)
        self._touch(info)
        self._order_generation = self._generation
        self._drop_if_empty(info)

    # -- Pods --------------------------------------------------------------------------------------

    def assume(self, pod: Object, node_name: str) -> None:
        """Count `pod` on a Node before the API server knows of it. A Pod known already is a ValueError."""
        key = pod_key(pod)
        if key in self._pods:
            raise ValueError(f"pod {uid_of(pod)}({key}) is in the cache, so can't be assumed")
        self._count(_PodState(PodInfo(pod), node_name, assumed=True))

    def finish_binding(self, key: str, now_ms: int) -> None:
        """The binding was written; from now on the assumption lapses after `ttl_ms`, if nobody sees it confirmed."""
        state = self._pods.get(key)
        if state is not None and state.assumed and self._ttl_ms is not None:
            self._pods[key] = state._replace(deadline_ms=now_ms + self._ttl_ms)

    def forget(self, key: str, uid: str = "") -> None:
        """The assumption was wrong. Pods that are not assumed are left alone, and (`uid`) others of the same name."""
        state = self._pods.get(key)
        if state is not None and state.assumed and uid in ("", state.info.uid):
            self._uncount(key)

    def add_pod(self, pod: Object) -> None:
        """A Pod was seen on a Node (`spec.nodeName`): confirms an assumption, or corrects it."""
        key, node_name = pod_key(pod), pod["spec"]["nodeName"]
        state = self._pods.get(key)
        if state is not None:
            if state.assumed and state.node == node_name and _same_to_the_scheduler(state.info.pod, pod):
                # What was assumed has come true: the sums are right already, so the Node has not changed.
                self._pods[key] = _PodState(state.info.with_pod(pod), node_name)
                self._nodes[node_name].pods[key] = self._pods[key].info
                return
            self._uncount(key)
        self._count(_PodState(PodInfo(pod), node_name))

    def update_pod(self, pod: Object) -> None:
        """Another state of a Pod on a Node."""
        key = pod_key(pod)
        state = self._pods.get(key)
        if state is not None and not state.assumed and _same_to_the_scheduler(state.info.pod, pod):
            info = state.info.with_pod(pod)
            self._pods[key] = state._replace(info=info)
            self._nodes[state.node].pods[key] = info
            return
        if state is not None:
            self._uncount(key)
        self._count(_PodState(PodInfo(pod), pod["spec"]["nodeName"]))

    def remove_pod(self, key: str) -> None:
        """The Pod is gone, or finished. Unknown Pods are ignored: it may have been forgotten before."""
        if key in self._pods:
            self._uncount(key)

    def expire(self, now_ms: int) -> list[str]:
        """Drop assumptions whose time is over; returns their Pods."""
        lapsed = [
            key
            for key, state in self._pods.items()
            if state.assumed and state.deadline_ms is not None and state.deadline_ms <= now_ms
        ]
        for key in lapsed:
            self._uncount(key)
        return lapsed

    def is_assumed(self, key: str) -> bool:
        state = self._pods.get(key)
        return state is not None and state.assumed

    def node_of(self, key: str) -> str | None:
        """Where a Pod counts; None: nowhere."""
        state = self._pods.get(key)
        return state.node if state is not None else None

    def node(self, name: str) -> NodeInfo | None:
        """The live totals of a Node; read only."""
        return self._nodes.get(name)

    def sizes(self) -> dict[str, int]:
        """How many Nodes, Pods and assumed Pods there are."""
        assumed = sum(state.assumed for state in self._pods.values())
        return {"nodes": len(self._nodes), "pods": len(self._pods), "assumed_pods": assumed}

    # -- snapshots ---------------------------------------------------------------------------------

    def update_snapshot(self, snapshot: Snapshot) -> None:
        """Bring `snapshot` up to date. Only Nodes that changed since its generation are copied."""
        if snapshot.generation < self._order_generation:
            order = interleave_zones(self._zones)
            snapshot.replace([self._copy_for(snapshot, name) for name in order])
        else:
            for name in reversed(self._changed):
                info = self._nodes[name]
                if info.generation <= snapshot.generation:
                    break
                if info.node is not None:
                    snapshot.update(info.clone())
        if snapshot.generation < self._images_generation:
            snapshot.image_nodes = dict(self._image_nodes)
        snapshot.generation = self._generation

    def snapshot(self) -> Snapshot:
        """A fresh snapshot."""
        fresh = Snapshot()
        self.update_snapshot(fresh)
        return fresh

    def _copy_for(self, snapshot: Snapshot, name: str) -> NodeInfo:
        info, there = self._nodes[name], snapshot.get(name)
        return there if there is not None and there.generation == info.generation else info.clone()

    # -- looking -----------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """Per Node what is requested, and its Pods; assumed Pods apart."""
        return {
            "nodes": {
                name: {
                    "requested": info.requested.as_dict(),
                    "allocatable": info.allocatable.as_dict(),
                    "pods": {key: "assumed" if self._pods[key].assumed else "bound" for key in info.pods},
                }
                for name, info in self._nodes.items()
            },
            "assumed": {key: state.node for key, state in self._pods.items() if state.assumed},
        }

    def check_invariants(self) -> None:
        """Every Pod counts on exactly one Node; totals are sums; the order of change is that of generations."""
        counted: dict[str, str] = {}
        for name, info in self._nodes.items():
            info.check_invariants()
            assert info.node is not None or info.pods, f"cache: node {name} is neither known nor used"
            for key in info.pods:
                assert key not in counted, f"cache: pod {key} counts on {counted[key]} and on {name}"
                counted[key] = name
        held = {key: state.node for key, state in self._pods.items()}
        assert counted == held, f"cache: nodes count {counted}, the table says {held}"
        generations = [self._nodes[name].generation for name in self._changed]
        assert generations == sorted(generations), f"cache: changed nodes out of order: {generations}"
        assert set(self._changed) == set(self._nodes), "cache: the list of changed nodes names other nodes"
        zoned = [name for zone in self._zones.values() for name in zone]
        known = [name for name, info in self._nodes.items() if info.node is not None]
        counted_images = count_images(self._nodes.values())
        assert self._image_nodes == counted_images, f"cache: images on {self._image_nodes}, counted {counted_images}"
        assert sorted(zoned) == sorted(known), f"cache: zones hold {sorted(zoned)}, known are {sorted(known)}"

    # -- inside ------------------------------------------------------------------------------------

    def _node(self, name: str) -> NodeInfo:
        info = self._nodes.get(name)
        if info is None:
            info = self._nodes[name] = NodeInfo(name)
        return info

    def _set_node(self, info: NodeInfo, node: Object | None) -> None:
        """Take over another state of a Node, and count its images. The caller touches it."""
        before = info.images
        info.set_node(node)
        if info.images == before:
            return
        for name in before:
            self._image_nodes[name] -= 1
            if not self._image_nodes[name]:
                del self._image_nodes[name]
        for name in info.images:
            self._image_nodes[name] = self._image_nodes.get(name, 0) + 1
        self._images_generation = self._generation + 1  # the one that touching gives

    def _touch(self, info: NodeInfo) -> None:
        self._generation += 1
        info.generation = self._generation
        self._changed.pop(info.name, None)
        self._changed[info.name] = None

    def _count(self, state: _PodState) -> None:
        info = self._node(state.node)
        info.add_pod(state.info)
        self._pods[state.info.key] = state
        self.pod_groups.placed(state.info.pod)
        self._touch(info)

    def _uncount(self, key: str) -> None:
        state = self._pods.pop(key)
        info = self._nodes[state.node]
        info.remove_pod(key)
        self.pod_groups.displaced(state.info.pod)
        self._touch(info)
        self._drop_if_empty(info)

    def _drop_if_empty(self, info: NodeInfo) -> None:
        if info.node is None and not info.pods:
            del self._nodes[info.name]
            del self._changed[info.name]

    def _leave_zone(self, node: Object) -> None:
        zone, name = zone_of(node), node["metadata"]["name"]
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]


def _same_to_the_scheduler(old: Object, new: Object) -> bool:
    """Whether spec, labels, what a resize reports and what preemption asks of victims are the same, so that neither a
    verdict nor a choice can change."""
    return bool(
        old["spec"] == new["spec"]
        and (old["metadata"].get("labels") or {}) == (new["metadata"].get("labels") or {})
        and _container_resources(old) == _container_resources(new)
        and _as_a_victim(old) == _as_a_victim(new)
    )


def _as_a_victim(pod: Object) -> tuple[Any, ...]:
    """How long it has run, whether it leaves, and for whom."""
    started = (pod.get("status") or {}).get("startTime")
    return started, pod["metadata"].get("deletionTimestamp"), get_condition(pod, "DisruptionTarget")


def _container_resources(pod: Object) -> list[Any]:
    status = pod.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return [(s.get("resources"), s.get("allocatedResources")) for s in statuses]
