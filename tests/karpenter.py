"""NodePools, nodes that run and Pods for the tests of Karpenter, as short as the tests can read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.autoscaling.cloud import GIB, ON_DEMAND, SPOT, InstanceType, Offering, node_object
from k8slab.autoscaling.karpenter import Catalogue, ClusterState, NodeClaim, NodePool, Requirements, StateNode
from k8slab.autoscaling.karpenter.node_claim import LIFE_CYCLE, update_consolidatable
from tests.scheduling import pod

__all__ = [
    "CAPACITY_TYPE",
    "DO_NOT_DISRUPT",
    "ZONE",
    "app_pod",
    "cluster",
    "instance_type",
    "ladder",
    "node_pool",
    "rule",
    "run_node",
    "waiting",
]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
Json = dict[str, Any]


def rule(key: str, operator: str, *values: str, **more: Any) -> Json:
    """An entry of `requirements`."""
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {}), **more}


def node_pool(name: str = "default", *requirements: Json, template: Json | None = None, **spec: Any) -> Json:
    """A NodePool; `template` is more of `spec.template.spec`, `spec` more of `spec` (`disruption`, `limits`, ...)."""
    inner = {"requirements": list(requirements), **(template or {})}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": inner}, **spec}}


def instance_type(
    name: str,
    cpus: int,
    dollars: float,
    *,
    spot: float = 0,
    zones: Sequence[str] = ("a", "b", "c"),
    gib: int = 0,
    arch: str = "amd64",
    **more: Any,
) -> InstanceType:
    """A type `family.size`; prices in dollars an hour, on demand and (not 0) on the spot market, equal in all zones."""
    family, _, size = name.partition(".")
    kinds = [(ON_DEMAND, dollars), *([(SPOT, spot)] if spot else [])]
    offerings = tuple(Offering(zone, kind, round(price * 1e6)) for zone in zones for kind, price in kinds if price)
    return InstanceType(
        name=name,
        architecture=arch,
        category=family[0],
        family=family,
        generation=int("".join(filter(str.isdigit, family)) or 0),
        size=size,
        milli_cpu=1_000 * cpus,
        memory=(gib or 4 * cpus) * GIB,
        pods=110,
        offerings=offerings,
        **more,
    )


def ladder(count: int = 20, **more: Any) -> list[InstanceType]:
    """Types t1.s01 (2 CPUs, 0.01 $) to t1.sNN (2 CPUs more expensive each): equal machines at rising prices."""
    return [instance_type(f"t1.s{n:02d}", 4, n / 100, spot=n / 200, **more) for n in range(1, count + 1)]


def cluster(
    *pools: Json, types: Iterable[InstanceType] = (), daemons: Iterable[Object] = (), pdbs: Iterable[Object] = ()
) -> ClusterState:
    """A state without nodes: NodePool `default` and three sizes unless told otherwise."""
    sizes = list(types) or [
        instance_type("m5.large", 2, 0.1, spot=0.04),
        instance_type("m5.xlarge", 4, 0.2, spot=0.08),
        instance_type("m5.2xlarge", 8, 0.4, spot=0.16),
    ]
    parsed = map(NodePool.parse, pools or (node_pool(),))
    return ClusterState(parsed, Catalogue(sizes), daemons=daemons, pdbs=pdbs)


def run_node(
    state: ClusterState,
    name: str,
    kind: str = "m5.large",
    *pods: Object,
    zone: str = "a",
    capacity_type: str = ON_DEMAND,
    pool: str = "default",
    now_ms: int = 0,
    annotations: dict[str, str] | None = None,
    **claim: Any,
) -> StateNode:
    """A node of the pool that runs since `now_ms`, with these Pods on it."""
    of_pool, one = state.pools[pool], state.catalogue.types[state.catalogue.index[kind]]
    own = state.catalogue.requirements[state.catalogue.index[kind]]
    labels = {r.key: r.only for r in own if r.only is not None}
    labels |= {**of_pool.labels, CAPACITY_TYPE: capacity_type, "karpenter.sh/registered": "true"}
    labels |= {"karpenter.sh/initialized": "true"}
    node: Json = dict(node_object(name, one, zone, labels=labels, taints=of_pool.taints))
    node["metadata"] = {**node["metadata"], "annotations": annotations or {}}
    made = NodeClaim(name, pool, now_ms, labels=dict(node["metadata"]["labels"]), pool_hash=of_pool.hash, **claim)
    made.requirements = Requirements()
    for condition in LIFE_CYCLE:
        made.set(condition, "True", now_ms)
    update_consolidatable(made, of_pool, now_ms)
    found = state.add_node(StateNode(node, made))
    for one_pod in pods:
        state.add_pod({**one_pod, "spec": {**one_pod["spec"], "nodeName": name}, "status": {"phase": "Running"}})
    return found


def app_pod(name: str, cpu: str = "100m", memory: str = "100Mi", *, app: str = "web", **spec: Any) -> Json:
    """A Pod of a ReplicaSet, labelled with its app. `annotations` go where they belong."""
    annotations = spec.pop("annotations", None)
    made = pod(name, cpu, memory, **spec)
    made["metadata"]["labels"] = {"app": app}
    made["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app}]
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def waiting(one: Json) -> Json:
    """The Pod as the scheduler left it."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {**one, "status": {"phase": "Pending", "conditions": [condition]}}
