"""Which Nodes are being deleted just now, and which Pods were evicted a moment ago.

Upstream: cluster-autoscaler/core/scaledown/deletiontracker/nodedeletiontracker.go
"""

from __future__ import annotations

from k8slab.scheduler import PodInfo

__all__ = ["NodeDeletionTracker"]

_EVICTIONS_MS = 60_000
"""How long an eviction is remembered: by then its Pod is made anew, or never."""


class NodeDeletionTracker:
    """Told by whoever deletes: `start` and `end` for each Node, `register_eviction` for each Pod."""

    def __init__(self) -> None:
        self.empty: dict[str, str] = {}
        """Node -> group, of Nodes that go without a drain."""
        self.drained: dict[str, str] = {}
        """Node -> group, of Nodes that are drained first."""
        self._evicted: dict[str, tuple[PodInfo, int]] = {}

    def start(self, group: str, node: str, *, drain: bool) -> None:
        (self.drained if drain else self.empty)[node] = group

    def end(self, node: str) -> None:
        self.empty.pop(node, None)
        self.drained.pop(node, None)

    def in_progress(self) -> list[str]:
        """Names of the Nodes that go."""
        return [*self.empty, *self.drained]

    def count(self, group: str) -> int:
        """How many Nodes of the group go."""
        return sum(one == group for one in (*self.empty.values(), *self.drained.values()))

    def register_eviction(self, pod: PodInfo, now_ms: int) -> None:
        self._evicted[pod.uid] = (pod, now_ms)

    def recent_evictions(self, now_ms: int) -> list[PodInfo]:
        """The Pods evicted within the last minute."""
        self._evicted = {uid: entry for uid, entry in self._evicted.items() if entry[1] + _EVICTIONS_MS > now_ms}
        return [pod for pod, _ in self._evicted.values()]
