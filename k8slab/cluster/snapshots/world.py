"""A Pod and the Nodes it is tried on: what a change turns into another one, and what the framework is asked about.

Upstream: none
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler import SUCCESS, CycleState, Framework, NodeInfo, PodInfo, Snapshot

__all__ = ["World", "accepting", "another_state", "with_node", "with_spec"]


@dataclass(frozen=True)
class World:
    """`pod` on `nodes`. Nothing in it is changed in place."""

    pod: Object
    nodes: tuple[NodeInfo, ...]

    def snapshot(self) -> Snapshot:
        """The Nodes, as plugins see them."""
        made = Snapshot()
        made.replace(list(self.nodes))
        return made

    def node(self, name: str) -> NodeInfo:
        return next(info for info in self.nodes if info.name == name)


def with_spec(world: World, **fields: Any) -> World:
    """Other fields of the Pod's spec; None takes one away."""
    spec = {**world.pod["spec"], **fields}
    return replace(world, pod={**world.pod, "spec": {k: v for k, v in spec.items() if v is not None}})


def with_node(world: World, changed: NodeInfo) -> World:
    """Another state of one Node."""
    return replace(world, nodes=tuple(changed if info.name == changed.name else info for info in world.nodes))


def another_state(info: NodeInfo, node: Object, without: Sequence[str] = ()) -> NodeInfo:
    """A NodeInfo of `node` with the Pods of `info` but those with these keys."""
    made = NodeInfo.of(node)
    for key, pod in info.pods.items():
        if key not in without:
            made.add_pod(PodInfo(pod.pod))
    return made


def accepting(framework: Framework, world: World, among: Sequence[str] | None = None) -> list[str]:
    """The Nodes (of `among`, None: of all) that the Pod fits on: PreFilter over all, then Filter, nominated Pods
    counted."""
    framework.use_snapshot(world.snapshot())
    state = CycleState()
    names, status, _ = framework.run_pre_filter(state, world.pod, world.nodes)
    if status is not SUCCESS:
        return []
    asked = world.nodes if among is None else [world.node(name) for name in among]
    return [
        info.name
        for info in asked
        if (names is None or info.name in names)
        and framework.run_filter_with_nominated(state, world.pod, info) is SUCCESS
    ]
