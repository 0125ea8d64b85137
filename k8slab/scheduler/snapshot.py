"""The Nodes at one moment: what a scheduling cycle, an explanation or a what-if reads.

Upstream: pkg/scheduler/backend/cache/snapshot.go, node_tree.go (the order)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from k8slab.api.objects import Object
from k8slab.scheduler.framework import NodeInfo, PodInfo
from k8slab.scheduler.manifest_check import check_node, check_pod

__all__ = ["Snapshot", "count_images", "interleave_zones", "zone_of"]


def zone_of(node: Object) -> str:
    """Region and zone of a Node in one string, "" when it has neither."""
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    region = labels.get("topology.kubernetes.io/region") or labels.get("failure-domain.beta.kubernetes.io/region") or ""
    zone = labels.get("topology.kubernetes.io/zone") or labels.get("failure-domain.beta.kubernetes.io/zone") or ""
    return f"{region}:\x00:{zone}" if region or zone else ""


def interleave_zones(by_zone: Mapping[str, Iterable[str]]) -> list[str]:
    """One Node of each zone in turn, so that a sample of the Nodes spans the zones.

    >>> interleave_zones({"a": ["a1", "a2", "a3"], "b": ["b1"]})
    ['a1', 'b1', 'a2', 'a3']
    """
    queues = [list(reversed(list(names))) for names in by_zone.values()]
    order: list[str] = []
    while queues:
        for queue in queues:
            if queue:
                order.append(queue.pop())
        queues = [queue for queue in queues if queue]
    return order


def count_images(nodes: Iterable[NodeInfo]) -> dict[str, int]:
    """By image name: on how many of `nodes` it is."""
    counts: dict[str, int] = {}
    for node in nodes:
        for name in node.images:
            counts[name] = counts.get(name, 0) + 1
    return counts


class Snapshot:
    """Nodes in evaluation order, and by name. Private to its owner: what happens in the cluster does not change it.

    `generation` is that of the cache when it was last brought up to date. `image_nodes`: on how many Nodes each image
    is.
    """

    __slots__ = ("_changed", "_epoch", "_index", "_with_affinity", "generation", "image_nodes", "nodes")

    def __init__(self) -> None:
        self.nodes: list[NodeInfo] = []
        self.generation = 0
        self.image_nodes: dict[str, int] = {}
        self._index: dict[str, int] = {}
        self._with_affinity: dict[str, NodeInfo] = {}
        self._epoch = 0
        self._changed: list[str] = []

    @classmethod
    def of(cls, nodes: Iterable[Object], pods: Iterable[Object] = (), *, check: bool = True) -> Snapshot:
        """From manifests: each Pod counts on the Node its `spec.nodeName` names (others are left out).

        What is no manifest is a TypeError; what an API server would refuse, or a name that is there twice, a
        ValueError. `check` False: they were checked before.
        """
        snapshot = cls()
        zones: dict[str, list[str]] = {}
        infos: dict[str, NodeInfo] = {}
        for node in nodes:
            if check:
                check_node(node)
            name = node["metadata"]["name"]
            if name in infos:
                raise ValueError(f"nodes: {name} is there twice, expected distinct names")
            infos[name] = NodeInfo.of(node)
            zones.setdefault(zone_of(node), []).append(name)
        snapshot.replace([infos[name] for name in interleave_zones(zones)])
        snapshot.image_nodes = count_images(infos.values())
        for pod in pods:
            if check:
                check_pod(pod)
            info = infos.get((pod.get("spec") or {}).get("nodeName") or "")
            if info is not None:
                info.add_pod(PodInfo(pod))
                snapshot._note(info)
        return snapshot

    def replace(self, nodes: list[NodeInfo]) -> None:
        """Other Nodes, or another order."""
        self.nodes = nodes
        self._index = {info.name: index for index, info in enumerate(nodes)}
        self._with_affinity = {info.name: info for info in nodes if info.with_affinity}
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._epoch += 1
        self._changed.clear()

    @property
    def version(self) -> tuple[int, int]:
        """Where the list of changes stands, for `changed_since`."""
        return self._epoch, len(self._changed)

    def changed_since(self, version: tuple[int, int]) -> Sequence[str] | None:
        """Names of the Nodes that changed since then; None: possibly all, and other ones are there."""
        epoch, count = version
        return list(dict.fromkeys(self._changed[count:])) if epoch == self._epoch else None

    @property
    def nodes_with_affinity(self) -> Sequence[NodeInfo]:
        """The Nodes with Pods that have terms of Pod affinity or anti-affinity: mostly few, often none."""
        return list(self._with_affinity.values())

    def _note(self, info: NodeInfo) -> None:
        if len(self._changed) > 4 * len(self.nodes):
            self._begin_epoch()
        self._changed.append(info.name)
        if info.with_affinity:
            self._with_affinity[info.name] = info
        else:
            self._with_affinity.pop(info.name, None)

    def update(self, info: NodeInfo) -> None:
        """Another state of a Node that is here. KeyError when it is not."""
        self.nodes[self._index[info.name]] = info
        self._note(info)

    def get(self, name: str) -> NodeInfo | None:
        index = self._index.get(name)
        return None if index is None else self.nodes[index]

    def assume(self, pod: Object, node_name: str) -> None:
        """Count `pod` on a Node, as if it had been bound there (what-ifs; the running scheduler has its cache)."""
        info = self.get(node_name)
        if info is None:
            raise ValueError(f"node {node_name!r}: not in the snapshot")
        self.generation += 1
        info.add_pod(PodInfo(pod))
        self._note(info)
        info.generation = self.generation

    def evict(self, key: str, node_name: str) -> None:
        """No longer count a Pod (`namespace/name`) on a Node. ValueError for an unknown Node, KeyError for a Pod."""
        info = self.get(node_name)
        if info is None:
            raise ValueError(f"node {node_name!r}: not in the snapshot")
        self.generation += 1
        info.remove_pod(key)
        self._note(info)
        info.generation = self.generation

    def __len__(self) -> int:
        return len(self.nodes)

    def check_invariants(self) -> None:
        """List and index agree, every total is the sum over its Pods, and images are counted right."""
        assert self.image_nodes == count_images(self.nodes), f"snapshot: image counts are {self.image_nodes}"
        assert [n.name for n in self.nodes] == list(self._index), "snapshot: list and index name different nodes"
        for info in self.nodes:
            info.check_invariants()
            noted = self._with_affinity.get(info.name) is info
            assert noted or not info.with_affinity, f"snapshot: {info.name} has Pods with affinity, and is not noted"
