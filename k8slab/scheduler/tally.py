"""Sums over all Nodes that are kept, not added up again for each Pod.

Spreading and affinity between Pods ask how many Pods of a kind there are in each zone, on each host. The answer is a
sum of what every Node contributes, and between two Pods one or two Nodes change. A `Tally` remembers the contributions,
and takes in the Nodes that changed: the cost of a Pod no longer grows with the Pods that are there.

    >>> from k8slab.scheduler import Snapshot
    >>> from k8slab.scheduler.tally import Tally
    >>> nodes = [{"metadata": {"name": name, "labels": {"zone": zone}}} for name, zone in (("a", "z1"), ("b", "z2"))]
    >>> snapshot = Snapshot.of(nodes)
    >>> pods = Tally(lambda node: {node.labels["zone"]: len(node.pods)})
    >>> snapshot.assume({"metadata": {"name": "web"}, "spec": {}}, "a")
    >>> pods.over(snapshot)
    {'z1': 1, 'z2': 0}

Upstream: none; it adds up anew, by 16 workers
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

from k8slab.scheduler.framework import Contribution
from k8slab.scheduler.snapshot import Snapshot

__all__ = ["Tallies", "Tally"]

MAX_TALLIES = 64

_Key = TypeVar("_Key", bound=Hashable)


class Tally(Generic[_Key]):
    """What the Nodes of a snapshot contribute, summed by key. A key is there while some Node contributes it, even 0.

    `contribute` must depend on nothing but the Node and the Pods on it.
    """

    def __init__(self, contribute: Contribution[_Key]) -> None:
        self._contribute = contribute
        self._snapshot: Snapshot | None = None
        self._version = (0, 0)
        self._parts: dict[str, Mapping[_Key, int]] = {}
        self._totals: dict[_Key, int] = {}
        self._contributors: dict[_Key, int] = {}

    def over(self, snapshot: Snapshot) -> dict[_Key, int]:
        """The sums over the Nodes as they are now; the caller may change the dict."""
        changed = None if snapshot is not self._snapshot else snapshot.changed_since(self._version)
        if changed is None:
            self._parts, self._totals, self._contributors = {}, {}, {}
            changed = [node.name for node in snapshot.nodes]
        for name in changed:
            self._replace(name, snapshot)
        self._snapshot, self._version = snapshot, snapshot.version
        return dict(self._totals)

    def _replace(self, name: str, snapshot: Snapshot) -> None:
        totals, contributors = self._totals, self._contributors
        for key, amount in self._parts.pop(name, {}).items():
            contributors[key] -= 1
            totals[key] -= amount
            if not contributors[key]:
                del contributors[key], totals[key]
        node = snapshot.get(name)
        part = self._contribute(node) if node is not None else {}
        if part:
            self._parts[name] = part
        for key, amount in part.items():
            contributors[key] = contributors.get(key, 0) + 1
            totals[key] = totals.get(key, 0) + amount

    def check_invariants(self) -> None:
        """What is kept equals what is there."""
        if self._snapshot is not None:
            kept, fresh = self.over(self._snapshot), Tally(self._contribute).over(self._snapshot)
            assert kept == fresh, f"tally: {kept}, the nodes say {fresh}"


class Tallies:
    """Tallies by what is asked. Bounded: the one used longest ago goes first. Another snapshot: all begin anew."""

    def __init__(self) -> None:
        self._snapshot: Snapshot | None = None
        self._by_key: dict[Hashable, Tally[Any]] = {}

    def over(self, key: Hashable, contribute: Contribution[_Key], snapshot: Snapshot) -> dict[_Key, int]:
        """See `Tally.over`. Equal keys promise equal contributions."""
        if snapshot is not self._snapshot:
            self._snapshot = snapshot
            self._by_key.clear()
        tally = self._by_key.pop(key) if key in self._by_key else Tally(contribute)
        if len(self._by_key) >= MAX_TALLIES:
            del self._by_key[next(iter(self._by_key))]
        self._by_key[key] = tally
        return tally.over(snapshot)

    def check_invariants(self) -> None:
        """Those of each."""
        for tally in self._by_key.values():
            tally.check_invariants()
