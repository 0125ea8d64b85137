"""Keeps a `ClusterState` as the caches of an API server's client are.

Until `fill` nothing is taken over: at the start a process reads its claims first, then Nodes, then the Pods on them.

Upstream: kubernetes-sigs/karpenter pkg/controllers/state/ (informer/, cluster.go), pkg/controllers/nodeclaim/podevents/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.pods import is_pod_terminal
from k8slab.api.scheme import DAEMONSETS, NAMESPACES, NODES, PODDISRUPTIONBUDGETS, PODS
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.objects import NODEPOOLS
from k8slab.autoscaling.karpenter.pods import is_provisionable
from k8slab.autoscaling.karpenter.state import ClusterState, StateNode
from k8slab.client import SharedInformer, SharedInformerFactory
from k8slab.scheduler.framework import PodInfo, labels_of, pod_key
from k8slab.sim.loop import Loop

__all__ = ["Watcher"]


class Watcher:
    """`fixed`: NodePools that are no objects. `changed` is called after everything that may need an answer.

    `causes`: by Pod or node, the event of the trace that last made a difference to it.
    """

    def __init__(
        self,
        loop: Loop,
        informers: SharedInformerFactory,
        state: ClusterState,
        fixed: Mapping[str, NodePool],
        changed: Callable[[], None],
    ) -> None:
        self._loop, self._state, self._fixed, self._changed = loop, state, fixed, changed
        self.nodes, self.pods = informers.informer(NODES), informers.informer(PODS)
        self.pools = informers.informer(NODEPOOLS)
        self._pdbs, self._daemons = informers.informer(PODDISRUPTIONBUDGETS), informers.informer(DAEMONSETS)
        self._namespaces = informers.informer(NAMESPACES)
        self.causes: dict[str, int | None] = {}
        self.problems: dict[str, str] = {}
        self._is_filled = False
        self._listen(self.nodes, self._node, self._node_gone)
        self._listen(self.pods, self._pod, self._pod_gone)
        for informer, read in (
            (self.pools, self._read_pools),
            (self._pdbs, self._read_pdbs),
            (self._daemons, self._read_daemons),
            (self._namespaces, self._read_namespaces),
        ):
            self._listen(informer, lambda _, read=read: read(), lambda _, read=read: read())  # type: ignore[misc]

    def _listen(self, informer: SharedInformer, seen: Callable[[Object], None], gone: Callable[[Object], None]) -> None:
        def hear(what: Callable[[Object], None], obj: Object) -> None:
            if self._is_filled:
                what(obj)
                self._changed()

        informer.add_event_handler(
            lambda obj, _: hear(seen, obj), lambda _, obj: hear(seen, obj), lambda obj: hear(gone, obj)
        )

    @property
    def informers(self) -> Sequence[SharedInformer]:
        return (self.nodes, self.pods, self.pools, self._pdbs, self._daemons, self._namespaces)

    def fill(self) -> None:
        """Take over all that the caches hold; the claims are in the state already."""
        self._is_filled = True
        for read in (self._read_pools, self._read_pdbs, self._read_daemons, self._read_namespaces):
            read()
        for node in sorted(self.nodes.indexer.list(), key=lambda one: str(one["metadata"]["name"])):
            self._node(node)
        for pod in sorted(self.pods.indexer.list(), key=pod_key):
            self._pod(pod)

    # -- what rarely changes ------------------------------------------------------------------------

    def _read_pools(self) -> None:
        found = dict(self._fixed)
        self.problems.clear()
        for obj in sorted(self.pools.indexer.list(), key=lambda one: str(one["metadata"]["name"])):
            name = obj["metadata"]["name"]
            if obj["metadata"].get("deletionTimestamp") is not None:
                continue
            try:
                found[name] = NodePool.parse(obj)
            except (TypeError, ValueError) as error:
                self.problems[name] = str(error)
        self._state.pools = found

    def _read_pdbs(self) -> None:
        self._state.set_pdbs(sorted(self._pdbs.indexer.list(), key=pod_key))

    def _read_daemons(self) -> None:
        made = []
        for one in sorted(self._daemons.indexer.list(), key=pod_key):
            template, own = one["spec"].get("template") or {}, one["metadata"]
            owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": own["name"], "controller": True}
            metadata = {**(template.get("metadata") or {}), "name": own["name"], "namespace": own["namespace"]}
            made.append(PodInfo({"metadata": {**metadata, "ownerReferences": [owner]}, "spec": template["spec"]}))
        self._state.daemons = tuple(made)

    def _read_namespaces(self) -> None:
        self._state.namespaces = {one["metadata"]["name"]: labels_of(one) for one in self._namespaces.indexer.list()}

    # -- Nodes --------------------------------------------------------------------------------------

    def _node(self, node: Object) -> None:
        name = node["metadata"]["name"]
        there = self._state.nodes.get(name)
        if there is None:
            self._state.add_node(StateNode(node))
            self._take_pods(name)
        elif there.claim is None or self._is_of(node, there):
            is_first = there.node is None
            there.set_node(node)
            if is_first:
                self._take_pods(name)
            if there.claim is not None and not there.is_initialized:
                self.causes[name] = self._loop.trace.current

    @staticmethod
    def _is_of(node: Object, there: StateNode) -> bool:
        assert there.claim is not None
        return (node.get("spec") or {}).get("providerID") == there.claim.provider_id

    def adopt(self, there: StateNode) -> None:
        """A claim has got its instance, or has come from outside: its Node may be here already."""
        node = self.nodes.indexer.get(there.name)
        if node is not None:
            self._node(node)

    def _take_pods(self, name: str) -> None:
        for pod in sorted(self.pods.indexer.list(), key=pod_key):
            if pod["spec"].get("nodeName") == name:
                self._state.add_pod(pod)

    def _node_gone(self, node: Object) -> None:
        name = node["metadata"]["name"]
        there = self._state.nodes.get(name)
        if there is None:
            return
        if there.claim is None:
            self._state.nodes.pop(name)
        elif self._is_of(node, there):
            there.set_node(None)

    # -- Pods ---------------------------------------------------------------------------------------

    def _pod(self, pod: Object) -> None:
        key = pod_key(pod)
        before = self._state.node_of(key)
        was_asking = key in self._state.waiting and is_provisionable(self._state.waiting[key])
        was_leaving = before is not None and _is_leaving(before.pods[key].pod)
        self._state.add_pod(pod)
        if is_pod_terminal(pod):
            self._state.waiting.pop(key, None)
        after = self._state.node_of(key)
        if key in self._state.waiting and is_provisionable(pod) and not was_asking:
            self.causes[key] = self._loop.trace.current
        if after is not before or (_is_leaving(pod) and not was_leaving):
            self._touch(before)
            self._touch(after)

    def _pod_gone(self, pod: Object) -> None:
        key = pod_key(pod)
        self._touch(self._state.node_of(key))
        self._state.remove_pod(key)
        self.causes.pop(key, None)

    def _touch(self, node: StateNode | None) -> None:
        """A Pod came or went: consolidateAfter starts anew."""
        if node is not None and node.claim is not None:
            node.claim.last_pod_event_ms = self._loop.clock.now_ms
            self.causes[node.name] = self._loop.trace.current

    def object_of(self, key: str) -> Any:
        """A Pod as the cache has it; None when there is none."""
        return self.pods.indexer.get(key)


def _is_leaving(pod: Object) -> bool:
    return pod["metadata"].get("deletionTimestamp") is not None
