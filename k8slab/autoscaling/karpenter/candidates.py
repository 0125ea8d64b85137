"""Candidates for disruption, how many of a pool's nodes may go, and where their Pods would go.

Upstream: kubernetes-sigs/karpenter pkg/controllers/disruption/types.go (Candidate), helpers.go
Simplified: no capacity buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from k8slab.api.objects import Object
from k8slab.autoscaling.karpenter.budgets import allowed_disruptions
from k8slab.autoscaling.karpenter.node_claim import INSTANCE_TERMINATING
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.packing import Packing, pack
from k8slab.autoscaling.karpenter.pods import eviction_cost, is_disruptable, is_provisionable, is_reschedulable
from k8slab.autoscaling.karpenter.requirements import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from k8slab.autoscaling.karpenter.state import ClusterState, StateNode
from k8slab.scheduler.framework import pod_key

__all__ = [
    "EVENTUAL",
    "GRACEFUL",
    "MAX_INSTANCE_TYPES",
    "Candidate",
    "Simulation",
    "budgets_left",
    "candidates_of",
    "pods_to_place",
    "simulate",
]

GRACEFUL = "graceful"
EVENTUAL = "eventual"
MAX_INSTANCE_TYPES = 600
_BASE_COST = 1.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that may be disrupted. `price_micros` an hour, 0 when it is unknown; `pods`: those that have to move."""

    node: StateNode
    pool: NodePool
    instance_type: str
    zone: str
    capacity_type: str
    price_micros: int
    pods: tuple[Object, ...]

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def cost(self) -> float:
        """What the disruption costs: 1 for the node, and what it costs to evict each Pod, where that is above 0."""
        return _BASE_COST + sum(max(0.0, eviction_cost(pod)) for pod in self.pods)

    @property
    def is_empty(self) -> bool:
        """No Pod has a cost: there are none but DaemonSets', or all of them are marked as cheap."""
        return self.cost <= _BASE_COST

    @property
    def savings_ratio(self) -> float:
        """Price per cost: who is high goes first."""
        return self.price_micros / self.cost


def _candidate(node: StateNode, state: ClusterState, disruption_class: str, now_ms: int) -> Candidate | str:
    """The candidate, or why the node is none."""
    refused = node.why_not_disruptable(now_ms)
    if refused:
        return refused
    assert node.claim is not None
    labels = node.labels()
    pool = state.pools.get(node.claim.pool)
    if pool is None:
        return f"NodePool not found (NodePool={node.claim.pool})"
    refused = _why_pods_hold(node, state, now_ms)
    waits_for_no_pod = disruption_class == EVENTUAL and node.claim.termination_grace_period_ms is not None
    if refused and not waits_for_no_pod:
        return refused
    kind, zone, capacity_type = labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, "")
    price = state.catalogue.price(kind, zone, capacity_type)
    pods = tuple(info.pod for info in node.pods.values() if is_reschedulable(info.pod))
    return Candidate(node, pool, kind, zone, capacity_type, price or 0, pods)


def _why_pods_hold(node: StateNode, state: ClusterState, now_ms: int) -> str:
    for key, info in node.pods.items():
        if not is_disruptable(info.pod, now_ms):
            return f'pod has "karpenter.sh/do-not-disrupt" annotation (Pod={key})'
    return state.limits.why_not((info.pod for info in node.pods.values()), now_ms)


def candidates_of(
    state: ClusterState,
    now_ms: int,
    *,
    disruption_class: str = GRACEFUL,
    busy: Iterable[str] = (),
    blocked: Callable[[str, str], None] | None = None,
) -> list[Candidate]:
    """All nodes that may be disrupted. `busy`: names that a command is about already. `blocked` hears (node,
    reason)."""
    taken = frozenset(busy)
    found = []
    for node in state.nodes.values():
        if node.name in taken:
            continue
        one = _candidate(node, state, disruption_class, now_ms)
        if isinstance(one, Candidate):
            found.append(one)
        elif blocked is not None and node.is_managed:
            blocked(node.name, one)
    return found


def budgets_left(state: ClusterState, reason: str, now_ms: int) -> dict[str, int]:
    """By pool, how many more nodes may be disrupted: what the budgets allow, minus nodes that go or are not ready.

    Nodes whose instance is being given back are out of the count altogether.
    """
    left = {}
    for name, pool in state.pools.items():
        nodes = [one for one in state.of_pool(name) if one.is_initialized and not _is_given_back(one)]
        going = sum(1 for one in nodes if one.is_deleting or not one.is_ready)
        left[name] = max(allowed_disruptions(pool.budgets, reason, now_ms, len(nodes)) - going, 0)
    return left


def _is_given_back(node: StateNode) -> bool:
    return node.claim is not None and node.claim.is_true(INSTANCE_TERMINATING)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Where the Pods of candidates would go. `errors`: why some would go nowhere, those left out that wait anyway."""

    packing: Packing
    errors: Mapping[str, str]

    @property
    def message(self) -> str:
        """The errors in upstream's words, "" for none."""
        if not self.errors:
            return ""
        shown = " ".join(f"{key} => {text}" for key, text in list(self.errors.items())[:5])
        more = f"  and {len(self.errors) - 5} other(s)" if len(self.errors) > 5 else ""
        return f"not all pods would schedule, {shown}{more}"


def pods_to_place(state: ClusterState, now_ms: int) -> tuple[list[Object], list[Object]]:
    """The Pods that wait for a node, and those on nodes that go (as far as anything lets them leave)."""
    waiting = [pod for pod in state.waiting.values() if is_provisionable(pod)]
    leaving = [
        info.pod
        for node in state.nodes.values()
        if node.is_deleting
        for info in node.pods.values()
        if state.limits.is_currently_reschedulable(info.pod, now_ms)
    ]
    return waiting, leaving


def simulate(
    state: ClusterState, candidates: Sequence[Candidate], now_ms: int, *, is_consolidation: bool = False
) -> Simulation:
    """Pack the Pods of the candidates, and all that wait, on the cluster without the candidates."""
    waiting, leaving = pods_to_place(state, now_ms)
    moving = [pod for one in candidates for pod in one.pods if state.limits.is_currently_reschedulable(pod, now_ms)]
    names = [one.name for one in candidates]
    packing = pack(
        [*waiting, *moving, *leaving], state, without=names, now_ms=now_ms, is_consolidation=is_consolidation
    )
    _truncate(packing)
    waits = {pod_key(pod) for pod in waiting}
    errors = {key: text for key, text in packing.errors.items() if key not in waits}
    excused = {pod_key(pod) for pod in leaving}
    for name, keys in packing.existing.items():
        node = state.nodes[name]
        if not node.is_initialized:
            errors.update({key: _uninitialized(node) for key in keys if key not in excused})
    return Simulation(packing, errors)


def _uninitialized(node: StateNode) -> str:
    """A decision is not built on a node that may never come."""
    parts = [f"nodeclaim/{node.claim.name}"] if node.claim is not None else []
    parts += [f"node/{node.name}"] if node.node is not None else []
    return f"would schedule against uninitialized {', '.join(parts)}"


def _truncate(packing: Packing) -> None:
    """A launch names 600 types at most; a node that cannot keep its minValues with them is no answer."""
    kept = []
    for one in packing.new:
        places = one.places()[:MAX_INSTANCE_TYPES]
        unmet = one.catalogue.min_values_unmet(places, one.requirements)[1]
        if unmet:
            keys = ", ".join(sorted(unmet))
            for pod in one.pods:
                packing.errors[pod_key(pod)] = (
                    "pod didn't schedule because NodePool couldn't meet minValues requirements, minValues requirement "
                    f"is not met for label(s) {keys} (NodePool={one.pool.name})"
                )
            continue
        one.mask = sum(1 << place for place in places)
        kept.append(one)
    packing.new[:] = kept
