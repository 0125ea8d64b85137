"""Taints of a node: which conditions bring which, and how they are put on and taken off.

    >>> add_or_update_taint([], {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"})
    [{'key': 'node.kubernetes.io/not-ready', 'effect': 'NoExecute'}]

Upstream: pkg/controller/controller_utils.go (AddOrUpdateTaintOnNode, RemoveTaintOffNode, PatchNodeTaints),
    pkg/util/taints/taints.go, pkg/controller/util/node/controller_utils.go (SwapNodeControllerTaint)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from k8slab.api.errors import ConflictError
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import NODES
from k8slab.api.times import rfc3339
from k8slab.api.tolerations import taint_exists, taint_matches
from k8slab.client import Backoff, Client, on_error
from k8slab.sim.loop import Loop

__all__ = [
    "CONDITION_OF_TAINT",
    "CONDITION_TO_TAINT",
    "NOT_READY",
    "UNREACHABLE",
    "UNSCHEDULABLE",
    "NodeTainter",
    "add_or_update_taint",
    "delete_taint",
    "taint_set_diff",
    "taints_of",
]

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

CONDITION_TO_TAINT: dict[str, dict[str, str]] = {
    "Ready": {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"},
    "MemoryPressure": {"True": "node.kubernetes.io/memory-pressure"},
    "DiskPressure": {"True": "node.kubernetes.io/disk-pressure"},
    "NetworkUnavailable": {"True": "node.kubernetes.io/network-unavailable"},
    "PIDPressure": {"True": "node.kubernetes.io/pid-pressure"},
}
"""Condition type → condition status → key of the NoSchedule taint that mirrors it."""

CONDITION_OF_TAINT = {key: kind for kind, keys in CONDITION_TO_TAINT.items() for key in keys.values()}

UPDATE_TAINT_BACKOFF = Backoff(duration_ms=100, jitter=1.0, steps=5)


def taints_of(node: Object) -> list[Object]:
    return list((node.get("spec") or {}).get("taints") or ())


def add_or_update_taint(taints: Sequence[Object], new: Object) -> list[Object]:
    """`taints` with `new` in the place of the one with its key and effect, or at the end."""
    if taint_exists(taints, new):
        return [new if taint_matches(taint, new) else taint for taint in taints]
    return [*taints, new]


def delete_taint(taints: Sequence[Object], old: Object) -> list[Object]:
    return [taint for taint in taints if not taint_matches(taint, old)]


def taint_set_diff(wanted: Sequence[Object], present: Sequence[Object]) -> tuple[list[Object], list[Object]]:
    """Which taints are to be added and which removed, by key and effect."""
    to_add = [taint for taint in wanted if not taint_exists(present, taint)]
    to_remove = [taint for taint in present if not taint_exists(wanted, taint)]
    return to_add, to_remove


class NodeTainter:
    """Writes taints to the API server, on condition that the node did not change in between."""

    def __init__(self, loop: Loop, client: Client, lane: str) -> None:
        self.loop = loop
        self.client = client
        self.lane = lane

    async def swap(self, node: Object, to_add: Iterable[Object], to_remove: Sequence[Object]) -> None:
        """Add some taints, stamped with the present time, then remove others: two writes if both are needed."""
        now = rfc3339(self.loop.clock.now_ms)
        await self.add(node["metadata"]["name"], [{**taint, "timeAdded": now} for taint in to_add])
        await self.remove(node, to_remove)

    async def add(self, name: str, taints: Sequence[Object]) -> None:
        if taints:
            await self._change(name, taints, ())

    async def remove(self, node: Object, taints: Sequence[Object]) -> bool:
        """Whether the cached `node` had any of them; if not, nothing is sent."""
        present = taints_of(node)
        if not any(taint_exists(present, taint) for taint in taints):
            return False
        await self._change(node["metadata"]["name"], (), taints)
        return True

    async def _change(self, name: str, to_add: Sequence[Object], to_remove: Sequence[Object]) -> None:
        tries = 0

        async def attempt() -> None:
            nonlocal tries
            tries += 1
            # The first read may be from the server's cache; after a conflict only the newest will do.
            version = {"resource_version": "0"} if tries == 1 else {}
            await self._patch(await self.client.get(NODES, name, **version), to_add, to_remove)

        await on_error(self.loop, UPDATE_TAINT_BACKOFF, lambda error: isinstance(error, ConflictError), attempt)

    async def _patch(self, node: Object, to_add: Sequence[Object], to_remove: Sequence[Object]) -> None:
        old = new = taints_of(node)
        for taint in to_remove:
            new = delete_taint(new, taint)
        for taint in to_add:
            new = add_or_update_taint(new, taint)
        if new == old:
            return
        name = node["metadata"]["name"]
        change = "; ".join(
            f"{verb} {', '.join(_names(taints))}"
            for verb, taints in (("adds", to_add), ("removes", to_remove))
            if taints
        )
        self.loop.trace.emit("node.taint", self.lane, resource="nodes", key=name, change=change)
        patch: dict[str, Any] = {
            "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
            "spec": {"taints": thaw(new) or None},
        }
        await self.client.patch(NODES, name, patch)


def _names(taints: Iterable[Object]) -> list[str]:
    return [f"{str(taint['key']).rpartition('/')[2]}:{taint['effect']}" for taint in taints]
