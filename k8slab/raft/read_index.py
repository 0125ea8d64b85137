"""Reads that a majority confirms: remember the commit index, ask whether one still leads, then answer (§6.4 thesis).

Upstream: go.etcd.io/raft/v3 read_only.go
"""

from __future__ import annotations

from dataclasses import dataclass, field

from k8slab.raft.messages import Message

__all__ = ["PendingRead", "ReadOnly"]


@dataclass(slots=True)
class PendingRead:
    """A read that came when `index` was committed; `acks`: who has confirmed since that this node leads."""

    request: Message
    index: int
    acks: dict[int, bool] = field(default_factory=dict)


class ReadOnly:
    """Reads that wait for a majority, by the context that names them, in the order in which they came."""

    def __init__(self) -> None:
        self._pending: dict[bytes, PendingRead] = {}

    def add(self, index: int, request: Message) -> None:
        """The same context again is the same read."""
        self._pending.setdefault(request.entries[0].data, PendingRead(request, index))

    def acknowledge(self, node: int, context: bytes) -> dict[int, bool]:
        """`node` answered a heartbeat that carried `context`; who has so far."""
        pending = self._pending.get(context)
        if pending is None:
            return {}
        pending.acks[node] = True
        return pending.acks

    def release(self, context: bytes) -> list[PendingRead]:
        """The read that was confirmed, after all that came before it: they are confirmed with it."""
        if context not in self._pending:
            return []
        released = []
        while True:
            first = next(iter(self._pending))
            released.append(self._pending.pop(first))
            if first == context:
                return released

    @property
    def last_context(self) -> bytes:
        """The newest, which confirms all of them; empty when nothing waits."""
        return next(reversed(self._pending), b"")

    def __len__(self) -> int:
        return len(self._pending)
