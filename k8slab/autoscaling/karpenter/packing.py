"""Packing: which Pods go to nodes that there are, and which new nodes do the others need?

Pods are taken largest first. Each is tried on the existing nodes, then on those that this packing makes (the emptiest
first), then on a new one of the heaviest NodePool that can have it. What fails is tried again as long as others
succeed, and drops its preferences one by one.

Upstream: kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/scheduler.go, queue.go
Simplified: no volumes, no reserved capacity, no DRA claims; preferences are respected (PreferencePolicy Respect).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from k8slab.api.objects import Object
from k8slab.api.tolerations import PREFER_NO_SCHEDULE
from k8slab.autoscaling.cloud import InstanceType, Offering
from k8slab.autoscaling.karpenter.existing_node import ExistingNode
from k8slab.autoscaling.karpenter.in_flight import InFlightNode, Template, untolerated
from k8slab.autoscaling.karpenter.instance_types import Catalogue, Mask
from k8slab.autoscaling.karpenter.node_claim import is_under_consolidate_after
from k8slab.autoscaling.karpenter.nodepool import NodePool, by_weight
from k8slab.autoscaling.karpenter.pod_data import PodData, relaxed, requests_of
from k8slab.autoscaling.karpenter.pods import is_pending
from k8slab.autoscaling.karpenter.requirements import Requirements, strict_pod_requirements
from k8slab.autoscaling.karpenter.state import ClusterState, StateNode
from k8slab.autoscaling.karpenter.topology import PlacedPod, Topology
from k8slab.scheduler.framework import PodInfo

__all__ = ["NewNode", "Packing", "pack"]


@dataclass(slots=True)
class NewNode:
    """A node to be made: of one of the types in `mask`, with these requirements, for these Pods.

    `requests`: what Pods and DaemonSets ask for (cpu in milli).
    """

    pool: NodePool
    catalogue: Catalogue
    requirements: Requirements
    mask: Mask
    pods: tuple[Object, ...]
    requests: Mapping[str, int]

    def options(self) -> list[InstanceType]:
        """The types that will do, cheapest first."""
        return [self.catalogue.types[place] for place in self.places()]

    def places(self) -> list[int]:
        return self.catalogue.by_price(self.mask, self.requirements)

    def cheapest(self) -> tuple[InstanceType, Offering]:
        """The type and the offering with the lowest price. ValueError when nothing is left."""
        for place in self.places():
            offering = self.catalogue.cheapest(place, self.requirements)
            if offering is not None:
                return self.catalogue.types[place], offering
        raise ValueError("new node: no instance type is left that is for sale")


@dataclass(slots=True)
class Packing:
    """Where the Pods go. `existing`: keys of Pods by node. `errors`: by key, why a Pod goes nowhere."""

    new: list[NewNode] = field(default_factory=list)
    existing: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def price_micros(self) -> int:
        """What the new nodes cost an hour, each at its cheapest."""
        return sum(one.cheapest()[1].price_micros for one in self.new)


def pack(
    pods: Iterable[Object],
    state: ClusterState,
    *,
    without: Iterable[str] = (),
    now_ms: int = 0,
    is_consolidation: bool = False,
) -> Packing:
    """Find a place for `pods`, on nodes of the state (but those in `without`, and those that go) or on new ones.

    `is_consolidation`: Pods that run are not moved to nodes that have not been quiet for consolidateAfter. Pods of the
    state that are among `pods` do not count where they are.
    """
    return _Packer(list(pods), state, frozenset(without), now_ms, is_consolidation).solve()


class _Packer:
    def __init__(
        self, pods: Sequence[Object], state: ClusterState, without: frozenset[str], now_ms: int, is_consolidation: bool
    ) -> None:
        self._state = state
        self._data = [PodData(pod) for pod in pods]
        pools = by_weight(state.pools.values())
        self._prefers = any(t.get("effect") == PREFER_NO_SCHEDULE for pool in pools for t in pool.taints)
        active = [one for name, one in state.nodes.items() if name not in without and not one.is_deleting]
        self._going = {name for name, one in state.nodes.items() if one.is_deleting}
        self._topology = self._make_topology(pools, active)
        self._templates = [t for pool in pools if (t := Template(pool, state.catalogue, state.daemons)).mask]
        self._left = {pool.name: dict(pool.limits) for pool in pools}
        self._existing = [self._node(one, now_ms, is_consolidation) for one in active]
        self._existing.sort(key=lambda one: (not one.node.is_initialized, one.node.name))
        self._new: list[InFlightNode] = []
        self._count = 0
        for one in active:
            self._spend(one)

    def _make_topology(self, pools: Sequence[NodePool], active: Sequence[StateNode]) -> Topology:
        moving = {data.uid for data in self._data}
        placed = []
        for node in self._state.nodes.values():
            if node.node is not None:
                labels, taints = node.labels(), node.taints()
                rows = (PlacedPod(info, node.name, labels, taints) for info in node.pods.values())
                placed += [one for one in rows if one.info.uid not in moving]
        nodes = [(one.labels(), one.taints()) for one in active if one.node is not None]
        topology = Topology(pools, self._state.catalogue, nodes, placed, self._state.namespaces)
        for data in self._data:
            topology.update(data)
        return topology

    def _node(self, node: StateNode, now_ms: int, is_consolidation: bool) -> ExistingNode:
        total: dict[str, int] = {}
        for info in self._state.daemons:
            if self._runs_on(info, node):
                for name, amount in requests_of(info).items():
                    total[name] = total.get(name, 0) + amount
        pool = self._state.pools.get(node.claim.pool) if node.claim is not None else None
        is_fresh = is_consolidation and node.claim is not None and is_under_consolidate_after(node.claim, pool, now_ms)
        return ExistingNode(node, self._topology, total, is_fresh=is_fresh)

    @staticmethod
    def _runs_on(info: PodInfo, node: StateNode) -> bool:
        if untolerated(node.taints(), info.pod["spec"].get("tolerations") or ()):
            return False
        return Requirements.of_labels(node.labels()).compatible(strict_pod_requirements(info.pod))

    def _spend(self, node: StateNode) -> None:
        left = self._left.get(node.claim.pool) if node.claim is not None else None
        if left:
            capacity = node.capacity()
            for name in left:
                left[name] -= capacity.get(name, 0)

    # -- the queue ----------------------------------------------------------------------------------

    def solve(self) -> Packing:
        queue = deque(sorted(self._data, key=_largest_first))
        last: dict[str, int] = {}
        errors: dict[str, str] = {}
        while queue:
            data = queue[0]
            if last.get(data.uid) == len(queue):
                break  # all of them were tried since the last success
            queue.popleft()
            error = self._try(data)
            if not error:
                errors.pop(data.key, None)
                continue
            errors[data.key] = error
            self._topology.update(data)  # with all its wishes again
            queue.append(data)
            last[data.uid] = len(queue)
        return self._result(errors)

    def _try(self, data: PodData) -> str:
        """Place the Pod, dropping wishes as long as that may help. The reason when it does not, "" when it went."""
        while True:
            error = self._add(data)
            if not error:
                return ""
            dropped = relaxed(data.pod, tolerate_prefer_no_schedule=self._prefers)
            if dropped is None:
                return error
            data = PodData(dropped[0])
            self._topology.update(data)

    def _add(self, data: PodData) -> str:
        moves = not is_pending(data.pod) and data.pod["spec"].get("nodeName") not in self._going
        for node in self._existing:
            if node.is_fresh and moves:
                continue
            requirements = node.can_add(data)
            if requirements is not None:
                node.add(data, requirements)
                return ""
        if self._add_to_new(data):
            return ""
        if not self._templates:
            return "nodepool requirements filtered out all available instance types"
        return self._add_new(data)

    def _add_to_new(self, data: PodData) -> bool:
        """The emptiest of the new nodes that can have the Pod; `_new` stays sorted by how many Pods they have."""
        cpu, memory = data.requests.get("cpu", 0), data.requests.get("memory", 0)
        bounds = self._topology.hostname_bounds(data)
        for index, one in enumerate(self._new):
            room = one.room
            if cpu > room[0] or memory > room[1] or (bounds and _out_of_bounds(one.hostname, bounds)):
                continue
            addition = one.can_add(data)
            if addition is not None:
                one.add(data, addition)
                del self._new[index]
                self._new.insert(bisect_left(self._new, len(one.pods), key=_pods_on), one)
                return True
        return False

    def _add_new(self, data: PodData) -> str:
        errors = []
        for template in self._templates:
            left = self._left[template.pool.name]
            if left.get("nodes") is not None and left["nodes"] <= 0:
                errors.append(f"node limits have been exhausted for nodepool (NodePool={template.pool.name})")
                continue
            mask = _within(template, left)
            if not mask:
                errors.append(
                    f"all available instance types exceed limits for nodepool (NodePool={template.pool.name})"
                )
                continue
            made = InFlightNode(template, self._topology, mask, self._count + 1)
            addition = made.can_add(data)
            if addition is None:
                errors.append(made.why_not(data))
                continue
            self._count += 1
            made.add(data, addition)
            self._new.insert(bisect_right(self._new, 1, key=_pods_on), made)
            self._spend_most(made)
            return ""
        return "; ".join(errors)

    def _spend_most(self, made: InFlightNode) -> None:
        """Which type it will be is not known: count the largest amount of each resource that it may have."""
        left = self._left[made.pool.name]
        if left:
            capacities = [one.capacity() for one in self._state.catalogue.select(made.mask)]
            for name in left:
                most = 1 if name == "nodes" else max(capacity.get(name, 0) for capacity in capacities)
                left[name] -= most

    def _result(self, errors: Mapping[str, str]) -> Packing:
        new = [
            NewNode(
                one.pool,
                self._state.catalogue,
                one.launchable(),
                one.mask,
                tuple(data.pod for data in one.pods),
                one.with_daemons(),
            )
            for one in sorted(self._new, key=lambda one: one.hostname)
        ]
        existing = {one.node.name: [data.key for data in one.pods] for one in self._existing if one.pods}
        return Packing(new, existing, dict(errors))


def _largest_first(data: PodData) -> tuple[int, int, str, str]:
    return -data.requests.get("cpu", 0), -data.requests.get("memory", 0), data.created, data.uid


def _pods_on(node: InFlightNode) -> int:
    return len(node.pods)


def _out_of_bounds(hostname: str, bounds: Iterable[tuple[Mapping[str, int], int, int]]) -> bool:
    for counts, least, most in bounds:  # noqa: SIM110  (it runs once a Pod and node)
        if not least <= counts.get(hostname, 0) <= most:
            return True
    return False


def _within(template: Template, left: Mapping[str, int]) -> Mask:
    """The types that would not go beyond what is left of the pool's limits."""
    counted = [(name, amount) for name, amount in left.items() if name != "nodes"]
    if not counted:
        return template.mask
    mask = 0
    for place in Catalogue.places(template.mask):
        capacity = template.catalogue.types[place].capacity()
        if all(capacity.get(name, 0) <= amount for name, amount in counted):
            mask |= 1 << place
    return mask
