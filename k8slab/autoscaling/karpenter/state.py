"""What Karpenter knows of the cluster: nodes with their claims and Pods, Pods that wait, pools, budgets.

Upstream: kubernetes-sigs/karpenter pkg/controllers/state/cluster.go, statenode.go
Simplified: nodes that Karpenter did not make are known by name instead of provider id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from k8slab.api.labels import Labels
from k8slab.api.objects import Object
from k8slab.api.pods import get_condition, is_pod_terminal
from k8slab.api.tolerations import taint_exists
from k8slab.autoscaling.karpenter.instance_types import Catalogue
from k8slab.autoscaling.karpenter.node_claim import (
    INITIALIZED_LABEL,
    REGISTERED_LABEL,
    NodeClaim,
    is_known_ephemeral_taint,
)
from k8slab.autoscaling.karpenter.nodepool import NodePool, amounts
from k8slab.autoscaling.karpenter.pod_data import requests_of
from k8slab.autoscaling.karpenter.pods import DO_NOT_DISRUPT, Limits, is_of_daemon_set
from k8slab.autoscaling.karpenter.requirements import HOSTNAME, NODEPOOL
from k8slab.scheduler.framework import PodInfo, labels_of

__all__ = ["ClusterState", "StateNode"]


class StateNode:
    """A Node, its NodeClaim, or both; and the Pods on it, by key."""

    __slots__ = ("_allocatable", "claim", "is_marked_for_deletion", "node", "nominated_until_ms", "pods")

    def __init__(self, node: Object | None = None, claim: NodeClaim | None = None) -> None:
        if node is None and claim is None:
            raise ValueError("state node: neither a Node nor a NodeClaim, expected at least one")
        self.claim = claim
        self.pods: dict[str, PodInfo] = {}
        self.nominated_until_ms = -1
        self.is_marked_for_deletion = False
        self.set_node(node)

    def set_node(self, node: Object | None) -> None:
        """Another state of the Node."""
        self.node = node
        raw = ((node or {}).get("status") or {}).get("allocatable") or {}
        self._allocatable = amounts(raw, "status.allocatable")

    @property
    def name(self) -> str:
        if self.node is not None:
            return str(self.node["metadata"]["name"])
        assert self.claim is not None
        return self.claim.name

    @property
    def hostname(self) -> str:
        return self.labels().get(HOSTNAME) or self.name

    @property
    def is_managed(self) -> bool:
        return self.claim is not None

    def _has(self, label: str) -> bool:
        return self.claim is None or (self.node is not None and labels_of(self.node).get(label) == "true")

    @property
    def is_registered(self) -> bool:
        return self._has(REGISTERED_LABEL)

    @property
    def is_initialized(self) -> bool:
        return self._has(INITIALIZED_LABEL)

    @property
    def is_deleting(self) -> bool:
        """It is on its way out: a command takes it away, or somebody deleted it."""
        deleted = self.claim is not None and self.claim.deleted_ms is not None
        gone = self.node is not None and self.node["metadata"].get("deletionTimestamp") is not None
        return self.is_marked_for_deletion or deleted or gone

    @property
    def is_ready(self) -> bool:
        ready = None if self.node is None else get_condition(self.node, "Ready")
        return ready is not None and ready.get("status") == "True"

    def labels(self) -> Mapping[str, str]:
        """The Node's once it is registered, until then what the claim knows."""
        if self.node is not None and self.is_registered:
            return labels_of(self.node)
        assert self.claim is not None
        return self.claim.labels

    def annotations(self) -> Mapping[str, str]:
        if self.node is not None and self.is_registered:
            found: Mapping[str, str] = self.node["metadata"].get("annotations") or {}
            return found
        assert self.claim is not None
        return self.claim.annotations

    def taints(self) -> Sequence[Object]:
        """Those that will stay: while a node starts, start-up and ephemeral taints do not count."""
        if self.node is not None and self.is_registered:
            taints: Sequence[Object] = self.node["spec"].get("taints") or ()
        else:
            assert self.claim is not None
            taints = self.claim.taints
        if self.is_initialized or self.claim is None:
            return taints
        startup = self.claim.startup_taints
        return [one for one in taints if not is_known_ephemeral_taint(one) and not taint_exists(startup, one)]

    def allocatable(self) -> dict[str, int]:
        """The Node's; what it does not report yet, while it starts, as its type promises."""
        found = dict(self._allocatable)
        if self.claim is not None and not self.is_initialized:
            for name, amount in self.claim.allocatable.items():
                if not found.get(name):
                    found[name] = amount
        return found

    def capacity(self) -> Mapping[str, int]:
        """What counts against the pool's limits, one of `nodes` included."""
        raw = ((self.node or {}).get("status") or {}).get("capacity") or {}
        found = amounts(raw, "status.capacity")
        if self.claim is not None and not self.is_initialized:
            found = {**self.claim.capacity, **{name: amount for name, amount in found.items() if amount}}
        return {**found, "nodes": 1}

    def available(self) -> dict[str, int]:
        """Allocatable minus what the Pods ask for."""
        left = self.allocatable()
        for info in self.pods.values():
            for name, amount in requests_of(info).items():
                left[name] = left.get(name, 0) - amount
        return left

    def daemon_requests(self) -> dict[str, int]:
        total: dict[str, int] = {}
        for info in self.pods.values():
            if is_of_daemon_set(info.pod):
                for name, amount in requests_of(info).items():
                    total[name] = total.get(name, 0) + amount
        return total

    def why_not_disruptable(self, now_ms: int) -> str:
        """What on the node itself forbids to disrupt it; "" for nothing (ValidateNodeDisruptable)."""
        if self.claim is None:
            return "node isn't managed by karpenter"
        if self.node is None:
            return "nodeclaim does not have an associated node"
        if not self.is_initialized:
            return "node isn't initialized"
        if self.is_deleting:
            return "node is deleting or marked for deletion"
        if self.nominated_until_ms > now_ms:
            return "node is nominated for a pending pod"
        if self.annotations().get(DO_NOT_DISRUPT) == "true":
            return f'disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
        if NODEPOOL not in self.labels():
            return f"node doesn't have required label (label={NODEPOOL})"
        return ""


class ClusterState:
    """Pools, nodes, Pods that are on no node, budgets. Plain state: whoever watches the cluster keeps it up to date.

    `daemons`: one Pod of each DaemonSet, as its template makes it. `namespaces`: labels by name.
    """

    def __init__(
        self,
        pools: Iterable[NodePool],
        catalogue: Catalogue,
        *,
        daemons: Iterable[Object] = (),
        pdbs: Iterable[Object] = (),
        namespaces: Mapping[str, Labels] | None = None,
    ) -> None:
        self.pools = {pool.name: pool for pool in pools}
        self.catalogue = catalogue
        self.daemons = tuple(PodInfo(pod) for pod in daemons)
        self.limits = Limits(pdbs)
        self.namespaces: Mapping[str, Labels] = namespaces or {}
        self.nodes: dict[str, StateNode] = {}
        self.waiting: dict[str, Object] = {}

    def set_pdbs(self, pdbs: Iterable[Object]) -> None:
        self.limits = Limits(pdbs)

    def add_node(self, node: StateNode) -> StateNode:
        """ValueError when one of that name is there."""
        if node.name in self.nodes:
            raise ValueError(f"node {node.name}: is there already")
        self.nodes[node.name] = node
        return node

    def add_pod(self, pod: Object) -> None:
        """A Pod as it is now: on the node that `spec.nodeName` names, or waiting. It takes the place of an older
        state."""
        info = PodInfo(pod)
        self.remove_pod(info.key)
        name = pod["spec"].get("nodeName")
        if name and name in self.nodes:
            if not is_pod_terminal(pod):
                self.nodes[name].pods[info.key] = info
        elif not name:
            self.waiting[info.key] = pod

    def remove_pod(self, key: str) -> None:
        self.waiting.pop(key, None)
        for node in self.nodes.values():
            node.pods.pop(key, None)

    def node_of(self, key: str) -> StateNode | None:
        """The node that a Pod is on."""
        return next((node for node in self.nodes.values() if key in node.pods), None)

    def of_pool(self, name: str) -> Iterator[StateNode]:
        return (node for node in self.nodes.values() if node.claim is not None and node.claim.pool == name)

    def check_invariants(self) -> None:
        """Every Pod is in one place, every node is filed under its name."""
        seen: set[str] = set(self.waiting)
        for name, node in self.nodes.items():
            assert name == node.name, f"cluster state: {node.name} is filed under {name}"
            assert seen.isdisjoint(node.pods), f"cluster state: {sorted(seen & set(node.pods))} are in two places"
            seen |= set(node.pods)
