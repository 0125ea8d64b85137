"""Equal Pods get equal verdicts from plugins that look only at the Pod and at one Node: remember them.

An entry is good as long as its NodeInfo has the generation it was made from, so after a placement one Node is
worked out anew and thousands are not. Placements do not change by it (a property test holds this).

Upstream: none with this shape; the opportunistic batching of 1.35 (KEP-5598) reuses results by Pod signature too.
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.scheduler.framework import NodeInfo, Status
from k8slab.scheduler.snapshot import Snapshot

__all__ = ["MAX_SIGNATURES", "Entry", "NodeMemo"]

MAX_SIGNATURES = 16


class Entry:
    """What node-local plugins said of one Node: the Filter verdict, and raw scores once somebody asked."""

    __slots__ = ("generation", "scores", "status")

    def __init__(self, generation: int, status: Status) -> None:
        self.generation = generation
        self.status = status
        self.scores: Sequence[int] | None = None


class NodeMemo:
    """Per Pod signature, entries by Node name. Bounded: the signature used longest ago goes first."""

    def __init__(self) -> None:
        self._snapshot: Snapshot | None = None
        self._by_signature: dict[str, dict[str, Entry]] = {}
        self.hits = 0
        self.misses = 0

    def entries(self, signature: str, snapshot: Snapshot) -> dict[str, Entry]:
        """The entries for `signature`; all are dropped when another snapshot is used (generations differ)."""
        if snapshot is not self._snapshot:
            self._snapshot = snapshot
            self._by_signature.clear()
        found = self._by_signature.pop(signature, None)
        if found is None:
            found = {}
            if len(self._by_signature) >= MAX_SIGNATURES:
                del self._by_signature[next(iter(self._by_signature))]
        self._by_signature[signature] = found
        return found

    def check_invariants(self, nodes: Sequence[NodeInfo]) -> None:
        """No entry is from the future."""
        newest = {node.name: node.generation for node in nodes}
        for entries in self._by_signature.values():
            for name, entry in entries.items():
                limit = newest.get(name, entry.generation)
                assert entry.generation <= limit, (
                    f"memo: {name} of generation {entry.generation}, the node is at {limit}"
                )
