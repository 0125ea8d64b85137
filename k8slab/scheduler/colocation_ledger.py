"""Which jobs' Pods stand on which Node: the record that a plugin keeps between Reserve and what it sees bound.

>>> ledger = ColocationLedger()
>>> ledger.add("node-1", "uid-a", "vision-large")
>>> ledger.signatures("node-1")
('vision-large',)
>>> ledger.remove("node-1", "uid-a")
>>> ledger.view()
{}

A plain mechanism. Copies are cheap: the entries of a Node are replaced, never changed, so `snapshot` copies one dict.

Upstream: none. Spec: the source's design (Reserve adds, Unreserve removes)
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Colocation", "ColocationLedger"]


class Colocation:
    """The ledger as it was when a cycle began; it may be changed (dry runs of preemption) without touching others."""

    __slots__ = ("_by_node",)

    def __init__(self, by_node: dict[str, Mapping[str, str]]) -> None:
        self._by_node = by_node

    def clone(self) -> Colocation:
        """A copy that can be changed."""
        return Colocation(dict(self._by_node))

    def add(self, node: str, uid: str, signature: str) -> None:
        """As if a Pod stood on a Node."""
        self._by_node[node] = {**self._by_node.get(node, {}), uid: signature}

    def remove(self, node: str, uid: str) -> None:
        """As if it did not; nothing if it does not."""
        self._by_node[node] = {k: v for k, v in self._by_node.get(node, {}).items() if k != uid}

    def beside(self, node: str, uid: str) -> tuple[str, ...]:
        """The signatures on a Node, without that of the Pod `uid` itself."""
        return tuple(signature for key, signature in self._by_node.get(node, {}).items() if key != uid)


class ColocationLedger:
    """(node, Pod uid) -> signature. A Pod stands on one Node."""

    def __init__(self) -> None:
        self._by_node: dict[str, Mapping[str, str]] = {}
        self._node_of: dict[str, str] = {}

    def add(self, node: str, uid: str, signature: str) -> None:
        """The Pod stands on `node`: reserved there, or seen there. What was seen corrects what was reserved."""
        before = self._node_of.get(uid)
        if before is not None:
            self.remove(before, uid)
        self._by_node[node] = {**self._by_node.get(node, {}), uid: signature}
        self._node_of[uid] = node

    def remove(self, node: str, uid: str) -> None:
        """The Pod does not stand on `node` any more. Nothing if it never did, or stands elsewhere by now."""
        if self._node_of.get(uid) != node:
            return
        del self._node_of[uid]
        left = {k: v for k, v in self._by_node[node].items() if k != uid}
        if left:
            self._by_node[node] = left
        else:
            del self._by_node[node]

    def forget(self, uid: str) -> None:
        """The Pod is gone, wherever it stood."""
        node = self._node_of.get(uid)
        if node is not None:
            self.remove(node, uid)

    def signatures(self, node: str) -> tuple[str, ...]:
        """What stands on a Node, in the order in which it came."""
        return tuple(self._by_node.get(node, {}).values())

    def snapshot(self) -> Colocation:
        """As it is now, for one cycle."""
        return Colocation(dict(self._by_node))

    def view(self) -> dict[str, dict[str, str]]:
        """{node: {uid: signature}}, sorted: equal ledgers have equal views, whatever came first."""
        return {node: dict(sorted(self._by_node[node].items())) for node in sorted(self._by_node)}

    def check_invariants(self) -> None:
        """The two tables agree, and no Node is kept empty."""
        counted = {uid: node for node, pods in self._by_node.items() for uid in pods}
        assert counted == self._node_of, f"ledger: nodes hold {counted}, the table says {self._node_of}"
        assert sum(map(len, self._by_node.values())) == len(counted), "ledger: a Pod stands on two nodes"
        assert all(self._by_node.values()), "ledger: a node is kept without Pods"
