"""One node whose peers are played by hand: what the experiments are made with.

Upstream: none.
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.raft.log import Log
from k8slab.raft.messages import NONE, ConfState, Entry, HardState, Message, Snapshot, conf_change_of
from k8slab.raft.node import Node, Ready
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import MemoryStorage

__all__ = ["Trial"]


class Trial:
    """One node whose peers are played by hand. `terms`: of the entries in its log, from index 2 on (1 is the first
    configuration)."""

    def __init__(
        self, terms: Sequence[int] = (), *, term: int = 1, voters: int = 3, vote: int = NONE, **options: object
    ) -> None:
        self.storage = MemoryStorage(Snapshot(1, 1, ConfState(tuple(range(1, voters + 1)))))
        self.storage.append([Entry(t, index, data=b"e") for index, t in enumerate(terms, 2)])
        self.storage.hard_state = HardState(term, vote, 1)
        config = RaftConfig(id=1, applied=1, **options)  # type: ignore[arg-type]
        self.node = Node(config, self.storage, seed="paper")
        self.sent: list[Message] = []
        self.applied: list[Entry] = []

    def settle(self) -> list[Message]:
        """Save, send and apply what is ready; the messages that were sent now."""
        before = len(self.sent)
        while self.node.has_ready():
            self.carry_out(self.node.ready())
        return self.sent[before:]

    def carry_out(self, ready: Ready) -> None:
        if ready.snapshot is not None:
            self.storage.apply_snapshot(ready.snapshot)
        self.storage.append(ready.entries)
        if ready.hard_state is not None:
            self.storage.hard_state = ready.hard_state
        self.sent += ready.messages
        self.applied += ready.committed_entries
        for entry in ready.committed_entries:
            if entry.type != "EntryNormal":
                self.node.apply_conf_change(conf_change_of(entry))
        self.node.advance()

    def hear(self, type: str, sender: int = 2, **fields: object) -> list[Message]:
        """A message from a peer, and what is sent because of it."""
        self.node.step(Message(type, 1, sender, **{"term": self.node.raft.term, **fields}))  # type: ignore[arg-type]
        return self.settle()

    def answer(self, type: str, sender: int = 2, **fields: object) -> Message:
        """The one message of this type that is sent back."""
        found = [m for m in self.hear(type, sender, **fields) if m.to == sender]
        assert len(found) == 1, f"expected one answer to {type}, got {found}"
        return found[0]

    def lead(self) -> list[Message]:
        """Become leader with the vote of node 2."""
        self.node.campaign()
        self.settle()
        return self.hear("MsgVoteResp", 2)

    def acknowledge(self, sender: int, index: int | None = None) -> list[Message]:
        """A follower has everything up to `index` (default: all)."""
        return self.hear("MsgAppResp", sender, index=self.log.last_index if index is None else index)

    @property
    def log(self) -> Log:
        return self.node.raft.log

    @property
    def role(self) -> str:
        return self.node.raft.role

    @property
    def terms(self) -> list[int]:
        """Terms of the log's entries from index 2 on."""
        return [entry.term for entry in self.log.entries(2)]
