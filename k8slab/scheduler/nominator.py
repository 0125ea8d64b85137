"""Which pending Pods were promised room on which Node.

A nominated Pod has evicted others and waits for their end. Until it is placed, Filter counts it on its Node for
Pods that are not more important, so that nobody slips into the room it has made.

Upstream: pkg/scheduler/backend/queue/nominator.go
"""

from __future__ import annotations

from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import PodInfo, uid_of

__all__ = ["Nominator", "nominated_node_name"]


def nominated_node_name(pod: Object) -> str:
    """`status.nominatedNodeName`, or ""."""
    name: str = (pod.get("status") or {}).get("nominatedNodeName") or ""
    return name


class Nominator:
    """Nominated Pods by Node, in the order of their nomination."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, PodInfo]] = {}  # node -> uid -> Pod
        self._node_of: dict[str, str] = {}  # uid -> node

    def add(self, pod: Object, node_name: str | None = None) -> None:
        """Nominate `pod` for a Node; None: for the one its status names; "": for none."""
        uid = uid_of(pod)
        self._remove(uid)
        node_name = nominated_node_name(pod) if node_name is None else node_name
        if node_name and not pod["spec"].get("nodeName"):
            self._by_node.setdefault(node_name, {})[uid] = PodInfo(pod)
            self._node_of[uid] = node_name

    def update(self, old: Object | None, new: Object) -> None:
        """Another state of a pending Pod.

        An update that names no Node before and after says nothing about a nomination that was just made and not yet
        seen written: it stays.
        """
        keep = None
        if old is not None:
            uid = uid_of(old)
            if not nominated_node_name(old) and not nominated_node_name(new):
                keep = self._node_of.get(uid)
            self._remove(uid)
        self.add(new, keep)

    def delete(self, pod: Object) -> None:
        """The Pod is placed or gone. Idempotent."""
        self._remove(uid_of(pod))

    def __bool__(self) -> bool:
        """Whether anybody is nominated."""
        return bool(self._node_of)

    def for_node(self, node_name: str) -> list[PodInfo]:
        """The Pods nominated for a Node."""
        return list(self._by_node.get(node_name, {}).values())

    def node_of(self, uid: str) -> str | None:
        """The Node a Pod is nominated for."""
        return self._node_of.get(uid)

    def view(self) -> dict[str, Any]:
        """Node by Pod."""
        return {info.key: node for node, pods in self._by_node.items() for info in pods.values()}

    def check_invariants(self) -> None:
        """Every nominated Pod is on one Node, and both tables say which."""
        by_uid = {uid: node for node, pods in self._by_node.items() for uid in pods}
        assert by_uid == self._node_of, f"nominator: by node {by_uid}, by pod {self._node_of}"
        assert all(self._by_node.values()), "nominator: a node without nominated pods is listed"

    def _remove(self, uid: str) -> None:
        node = self._node_of.pop(uid, None)
        if node is not None:
            del self._by_node[node][uid]
            if not self._by_node[node]:
                del self._by_node[node]
