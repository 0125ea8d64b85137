"""Small worlds for the drill on consolidation: two or three nodes, a price list, and what Karpenter makes of them.

Simplified: only CPU is scarce, and everything is on demand, in one zone.
"""

from __future__ import annotations

import random

from k8slab.autoscaling.cloud import GIB, ON_DEMAND, InstanceType, Offering, node_object
from k8slab.autoscaling.karpenter import (
    LIFE_CYCLE,
    Catalogue,
    ClusterState,
    Consolidation,
    Method,
    NodeClaim,
    NodePool,
    StateNode,
    candidates_of,
)
from k8slab.drill.exercise import table_block

__all__ = ["consolidation_world", "decision", "left_of", "shown"]

_ZONE = "a"
_RULE = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [ON_DEMAND]}
_POOL = {"metadata": {"name": "default"}, "spec": {"template": {"spec": {"requirements": [_RULE]}}}}
_CPUS = (2, 4, 8)


def _types(rng: random.Random) -> list[InstanceType]:
    cents = rng.choice([9, 10, 11])
    return [
        InstanceType(
            name=f"m5.{size}",
            architecture="amd64",
            category="m",
            family="m5",
            generation=5,
            size=size,
            milli_cpu=1_000 * cpus,
            memory=64 * GIB,
            pods=110,
            offerings=(Offering(_ZONE, ON_DEMAND, cents * cpus * 10_000 // 2),),
        )
        for size, cpus in zip(("large", "xlarge", "2xlarge"), _CPUS, strict=True)
    ]


def _run(state: ClusterState, name: str, kind: InstanceType, requests: list[int]) -> None:
    """A node that is ready, with Pods of these requests (thousandths of a CPU)."""
    pool = state.pools["default"]
    ready = {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
    labels = {**pool.labels, "karpenter.sh/capacity-type": ON_DEMAND, **ready}
    node = node_object(name, kind, _ZONE, labels=labels)
    claim = NodeClaim(name, "default", 0, labels=dict(node["metadata"]["labels"]), pool_hash=pool.hash)
    for condition in (*LIFE_CYCLE, "Consolidatable"):
        claim.set(condition, "True", 0)
    state.add_node(StateNode(node, claim))
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
    for number, milli in enumerate(requests):
        container = {"name": "c", "resources": {"requests": {"cpu": f"{milli}m"}}}
        metadata = {"name": f"{name.lower()}{number}", "namespace": "default", "ownerReferences": [owner]}
        spec = {"nodeName": name, "containers": [container]}
        state.add_pod({"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})


def _requests(rng: random.Random, room: int, share: float) -> list[int]:
    """Requests that fill so much of a node, in hundreds."""
    found: list[int] = []
    left = int(room * share)
    while left >= 200 and len(found) < 4:
        found.append(min(left // 100 * 100, rng.randrange(200, 2_600, 100)))
        left -= found[-1]
    return found or [200]


def consolidation_world(rng: random.Random) -> tuple[ClusterState, str]:
    """A cluster, and the node that is asked about."""
    types = _types(rng)
    state = ClusterState([NodePool.parse(_POOL)], Catalogue(types))
    for name in "AB" if rng.random() < 0.5 else "ABC":
        kind = rng.choice(types[1:] if name == "A" else types)
        share = rng.choice([0.2, 0.4, 0.6, 0.9]) if name == "A" else rng.choice([0.5, 0.7, 0.95])
        _run(state, name, kind, _requests(rng, kind.allocatable()["cpu"], share))
    return state, "A"


def decision(state: ClusterState, name: str) -> tuple[str, str]:
    """`delete`, `replace` or `stays`, and a sentence on it."""
    told: list[str] = []
    consolidation = Consolidation(state, report=lambda _, reason: told.append(reason))
    (candidate,) = (one for one in candidates_of(state, 0) if one.name == name)
    command = consolidation.compute(Method.SINGLE, (candidate,), 0)
    if command is None:
        return "stays", f"Karpenter says: {told[-1]}."
    if command.replacements:
        kind = command.replacements[0].cheapest()[0].name
        return "replace", f"What does not fit there goes to a new {kind}, which is cheaper."
    return "delete", "All its Pods fit there."


def shown(state: ClusterState) -> str:
    """The price list and the nodes, as the question has them."""
    kinds = state.catalogue.types
    prices = [(one.name, _cpu(one.allocatable()["cpu"]), f"{one.offerings[0].price_micros / 1e6:.3f}") for one in kinds]
    nodes = [
        (node.name, node.labels()["node.kubernetes.io/instance-type"], " ".join(_asked(node))) for node in _nodes(state)
    ]
    return (
        f"What is sold (CPUs for Pods; dollars an hour):\n\n{table_block(prices, ('TYPE', 'CPU', 'PRICE'))}\n\n"
        f"The nodes, and the CPU requests of their Pods:\n\n{table_block(nodes, ('NODE', 'TYPE', 'PODS'))}"
    )


def _nodes(state: ClusterState) -> list[StateNode]:
    return list(state.nodes.values())


def _cpu(milli: int) -> str:
    return f"{milli}m"


def _asked(node: StateNode) -> list[str]:
    return [info.pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for info in node.pods.values()]


def left_of(state: ClusterState, name: str) -> str:
    """CPUs that are free on the other nodes."""
    return ", ".join(f"{_cpu(node.available()['cpu'])} on {node.name}" for node in _nodes(state) if node.name != name)
