"""A node as its user drives it: tick, step, propose; take what is ready, carry it out, say so.

>>> from k8slab.raft import ConfState, MemoryStorage, Node, RaftConfig, Snapshot
>>> storage = MemoryStorage(Snapshot(1, 1, ConfState(voters=(1,))))
>>> node = Node(RaftConfig(id=1), storage, seed="a")
>>> node.campaign()
>>> while node.has_ready():
...     ready = node.ready()
...     storage.append(ready.entries)
...     node.advance()
>>> node.raft.role, node.raft.log.committed
('StateLeader', 2)

Whoever drives a node must, in this order: save entries, hard state and snapshot; send the messages; apply the
committed entries; call `advance()`.

Upstream: go.etcd.io/raft/v3 rawnode.go, node.go (Ready), status.go
Simplified: no asynchronous storage writes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import get_args

from k8slab.raft import membership
from k8slab.raft.errors import PeerNotFoundError, RaftError, StepLocalMessageError
from k8slab.raft.log import Logger
from k8slab.raft.messages import (
    NONE,
    ConfChange,
    ConfState,
    Entry,
    EntryID,
    HardState,
    Message,
    MessageType,
    ReadState,
    Snapshot,
    SoftState,
)
from k8slab.raft.raft import Raft
from k8slab.raft.replication import reduce_uncommitted
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import Storage

__all__ = ["Node", "Ready"]

_TYPES = frozenset(get_args(MessageType))
_LOCAL = frozenset(("MsgHup", "MsgBeat", "MsgUnreachable", "MsgSnapStatus", "MsgCheckQuorum"))
_RESPONSES = frozenset(
    ("MsgAppResp", "MsgVoteResp", "MsgHeartbeatResp", "MsgUnreachable", "MsgReadIndexResp", "MsgPreVoteResp")
)


@dataclass(slots=True)
class Ready:
    """What to do now. None: no change of it. `must_sync`: entries and hard state must be on disk before the messages
    leave; otherwise only the commit index moved, which a crash may forget."""

    soft_state: SoftState | None = None
    hard_state: HardState | None = None
    read_states: tuple[ReadState, ...] = ()
    entries: tuple[Entry, ...] = ()
    snapshot: Snapshot | None = None
    committed_entries: tuple[Entry, ...] = ()
    messages: tuple[Message, ...] = ()
    must_sync: bool = False


class Node:
    """One member of a group. The seed decides its election timeouts."""

    def __init__(
        self, config: RaftConfig, storage: Storage, *, seed: str | random.Random = "0", logger: Logger | None = None
    ) -> None:
        rng = seed if isinstance(seed, random.Random) else random.Random(f"{seed}/{config.id}")
        self.raft = Raft(config, storage, rng, logger)
        self._soft = self.raft.soft_state
        self._hard = self.raft.hard_state
        self._given: Ready | None = None
        self._own_answers: list[Message] = []
        self._saved: EntryID | None = None
        self._saved_in_term = 0

    # -- what goes in ------------------------------------------------------------------------------

    def tick(self) -> None:
        """One unit of time passes."""
        self.raft.tick()

    def step(self, message: Message) -> None:
        """A message came from the network. ProposalDroppedError, StepLocalMessageError, PeerNotFoundError.

        ValueError for what is no message, or one of an unknown type.
        """
        if not isinstance(message, Message):
            raise ValueError(f"message {message!r}: expected a Message")
        if message.type not in _TYPES:
            raise ValueError(f"type {message.type!r} of a message: expected one of {', '.join(sorted(_TYPES))}")
        if message.type in _LOCAL:
            raise StepLocalMessageError
        if message.type in _RESPONSES and message.sender not in self.raft.progress:
            raise PeerNotFoundError
        self.raft.step(message)

    def propose(self, data: bytes) -> None:
        """Have `data` appended to the log, if all goes well. ProposalDroppedError when nobody takes it."""
        if not isinstance(data, bytes):
            raise ValueError(f"data {data!r}: expected bytes")
        self.raft.step(Message("MsgProp", sender=self.raft.id, entries=(Entry(data=data),)))

    def propose_conf_change(self, change: ConfChange) -> None:
        """Have the group changed; `apply_conf_change` when it is committed. RaftError for what no change can hold."""
        _expect_change(change)
        self.raft.step(Message("MsgProp", entries=(change.entry(),)))

    def apply_conf_change(self, change: ConfChange) -> ConfState:
        """A committed change is applied: who belongs to the group now. RaftError for one that does not fit."""
        _expect_change(change)
        change.check()
        return membership.apply_change(self.raft, change)

    def campaign(self) -> None:
        """Try to become leader now."""
        self.raft.step(Message("MsgHup", sender=self.raft.id))

    def read_index(self, context: bytes) -> None:
        """Ask for an index at which a read sees everything answered before; it comes as a ReadState."""
        self.raft.step(Message("MsgReadIndex", entries=(Entry(data=context),)))

    def transfer_leadership(self, to: int) -> None:
        """Ask the leader to hand over to `to`."""
        self.raft.step(Message("MsgTransferLeader", sender=to))

    def forget_leader(self) -> None:
        """The leader is known to be gone: a vote need not wait for the timeout."""
        self.raft.step(Message("MsgForgetLeader"))

    def report_unreachable(self, node: int) -> None:
        """A message to `node` could not be sent."""
        self.raft.step(Message("MsgUnreachable", sender=node))

    def report_snapshot(self, node: int, *, failed: bool) -> None:
        """What became of the snapshot for `node`."""
        self.raft.step(Message("MsgSnapStatus", sender=node, reject=failed))

    # -- what comes out ----------------------------------------------------------------------------

    def has_ready(self) -> bool:
        """Whether there is something to do."""
        raft, log = self.raft, self.raft.log
        return bool(
            raft.outbox
            or raft.after_saving
            or log.in_progress < log.offset + len(log.unstable)
            or (log.committed > log.applying and log.has_next_committed)
            or (raft.term, raft.vote, log.committed) != self._hard
            or (raft.lead, raft.role) != self._soft
            or raft.read_states
            or log.next_unstable_snapshot is not None
        )

    def ready(self) -> Ready:
        """Take what there is to do. RaftError before `advance()` said that the last is done."""
        if self._given is not None:
            raise RaftError("two accepted Ready structs without call to Advance")
        raft, log = self.raft, self.raft.log
        soft, hard = raft.soft_state, raft.hard_state
        own_id = raft.id
        answers = raft.after_saving
        entries = log.next_unstable
        ready = Ready(
            soft_state=soft if soft != self._soft else None,
            hard_state=hard if hard != self._hard else None,
            read_states=tuple(raft.read_states),
            entries=entries,
            snapshot=log.next_unstable_snapshot,
            committed_entries=log.next_committed,
            messages=(*raft.outbox, *[m for m in answers if m.to != own_id]),
            must_sync=bool(entries) or hard[:2] != self._hard[:2],
        )
        self._soft, self._hard = soft, hard
        self._own_answers = [m for m in answers if m.to == own_id]
        self._saved, self._saved_in_term = log.last if log.unstable else None, raft.term
        raft.outbox, raft.after_saving, raft.read_states = [], [], []
        log.accept_unstable()
        if ready.committed_entries:
            log.accept_applying(ready.committed_entries[-1].index)
        self._given = ready
        return ready

    def advance(self) -> None:
        """What `ready()` gave is saved, sent and applied."""
        ready = self._given
        if ready is None:
            raise RaftError("advance without a Ready")
        self._given = None
        raft = self.raft
        for answer in self._own_answers:
            raft.step(answer)
        if self._saved is not None or ready.snapshot is not None:
            self._saved_up_to(ready)
        if ready.committed_entries:
            raft.applied_to(ready.committed_entries[-1].index)
            reduce_uncommitted(raft, ready.committed_entries)

    def _saved_up_to(self, ready: Ready) -> None:
        log = self.raft.log
        if self._saved is not None and self._saved_in_term >= self.raft.term:
            log.stable_to(self._saved)  # in a later term these entries may have been replaced since
        if ready.snapshot is not None:
            log.stable_snapshot_to(ready.snapshot.index)
            self.raft.applied_to(ready.snapshot.index)

    def status(self) -> str:
        """A leader's view of its followers, a line each."""
        return "\n".join(f"{id}: {progress}" for id, progress in self.raft.progress.items())

    def check_invariants(self) -> None:
        """AssertionError when the parts contradict each other."""
        raft = self.raft
        raft.log.check_invariants()
        assert (raft.role == "StateLeader") <= (raft.lead == raft.id), "a leader that does not know it leads"
        for progress in raft.progress.values():
            progress.check_invariants()
        assert raft.vote == NONE or raft.term > 0, "a vote before the first term"


def _expect_change(change: object) -> None:
    if not isinstance(change, ConfChange):
        raise ValueError(f"change {change!r}: expected a ConfChange, such as ConfChange.parse('v4')")
