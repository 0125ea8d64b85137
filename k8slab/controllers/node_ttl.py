"""Tells kubelets how long they may cache Secrets and ConfigMaps: the more nodes, the longer.

    >>> ttl = NodeTTL()
    >>> [ttl.resize(count) for count in (100, 101, 95, 89)]
    [0, 15, 15, 0]

Upstream: pkg/controller/ttl/ttl_controller.go
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from k8slab.api.objects import Object
from k8slab.api.scheme import NODES
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.context import ControllerContext

__all__ = ["ANNOTATION", "NodeTTL", "TTLController"]

LANE = "kcm/ttl"
ANNOTATION = "node.alpha.kubernetes.io/ttl"


class Boundary(NamedTuple):
    size_min: int
    size_max: int
    ttl_seconds: int


BOUNDARIES = (
    Boundary(0, 100, 0),
    Boundary(90, 500, 15),
    Boundary(450, 1000, 30),
    Boundary(900, 2000, 60),
    Boundary(1800, sys.maxsize, 300),
)
"""Ranges of cluster sizes; they overlap, so that a node more or less does not change the TTL to and fro."""


class NodeTTL:
    """The TTL for a cluster that grows and shrinks, one node at a time."""

    def __init__(self) -> None:
        self.nodes = 0
        self._step = 0

    @property
    def seconds(self) -> int:
        return BOUNDARIES[self._step].ttl_seconds

    def add(self) -> None:
        self.nodes += 1
        if self.nodes > BOUNDARIES[self._step].size_max:
            self._step += 1

    def remove(self) -> None:
        self.nodes -= 1
        if self.nodes < BOUNDARIES[self._step].size_min:
            self._step -= 1

    def resize(self, nodes: int) -> int:
        """Add or remove nodes until there are `nodes`; the TTL then, in seconds."""
        while self.nodes < nodes:
            self.add()
        while self.nodes > nodes:
            self.remove()
        return self.seconds


class TTLController:
    """Keeps the annotation of every node at the TTL for the present number of nodes.

    Nodes learn of a new TTL at their next change, which their kubelet's status makes before long.
    """

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.client = ctx.client
        self.ttl = NodeTTL()
        self.queue = WorkQueue(ctx.loop, "ttl", lane=LANE)
        self.nodes = ctx.informers.informer(NODES)
        self.nodes.add_event_handler(
            on_add=self._node_added,
            on_update=lambda old, new: self.queue.add(new["metadata"]["name"]),
            on_delete=lambda node: self.ttl.remove(),
        )

    def start(self) -> None:
        """Start the workers."""
        run_workers(self.ctx.component, self.queue, self.sync, 5, LANE, informers=(self.nodes,))

    def _node_added(self, node: Object, is_initial: bool) -> None:
        self.ttl.add()
        self.queue.add(node["metadata"]["name"])

    async def sync(self, name: str) -> None:
        """Set the annotation if it differs."""
        node = self.nodes.indexer.get(name)
        if node is None:
            return
        wanted = str(self.ttl.seconds)
        if (node["metadata"].get("annotations") or {}).get(ANNOTATION) != wanted:
            await self.client.patch(NODES, name, {"metadata": {"annotations": {ANNOTATION: wanted}}})
