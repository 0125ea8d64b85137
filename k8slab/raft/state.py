"""The state of one node, and how its role changes (paper, figure 2 and §5.1).

Upstream: go.etcd.io/raft/v3 raft.go (type raft, Config, reset, become*, send)
Simplified: no asynchronous storage writes (what is saved is reported by `advance` alone).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from typing import Any, Literal

from k8slab.raft.confchange import Change, Configuration, restore
from k8slab.raft.errors import RaftError
from k8slab.raft.log import Log, Logger
from k8slab.raft.messages import (
    NO_LIMIT,
    NONE,
    ConfState,
    HardState,
    Message,
    MessageType,
    ReadState,
    Role,
    SoftState,
)
from k8slab.raft.progress import Inflights, Progress
from k8slab.raft.read_index import ReadOnly
from k8slab.raft.storage import Storage

__all__ = ["RaftConfig", "RaftState"]

_TERM_OF_ITS_OWN = ("MsgVote", "MsgVoteResp", "MsgPreVote", "MsgPreVoteResp")
_AFTER_SAVING = ("MsgAppResp", "MsgVoteResp", "MsgPreVoteResp")


@dataclass(frozen=True)
class RaftConfig:
    """How a node behaves. Times in ticks, sizes in bytes.

    `election_tick`: silence after which a follower campaigns; the real limit is drawn from [election_tick, 2 *
    election_tick) for each term. `read_only`: `safe` asks a majority before each read, `lease-based` trusts clocks
    and needs `check_quorum`.
    """

    id: int
    election_tick: int = 10
    heartbeat_tick: int = 1
    applied: int = 0
    max_size_per_message: int = NO_LIMIT
    max_committed_size_per_ready: int = 0  # 0: as max_size_per_message
    max_uncommitted_size: int = 0  # 0: no limit
    max_inflight_messages: int = 256
    max_inflight_bytes: int = 0  # 0: no limit
    pre_vote: bool = False
    check_quorum: bool = False
    read_only: Literal["safe", "lease-based"] = "safe"
    disable_proposal_forwarding: bool = False
    disable_conf_change_validation: bool = False
    step_down_on_removal: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value, kind = getattr(self, field.name), type(field.default)
            if field.name == "id" or kind is int:
                if type(value) is not int or value < 0:
                    raise RaftError(f"{field.name} {value!r}: expected a whole number, at least 0")
            elif kind is bool and type(value) is not bool:
                raise RaftError(f"{field.name} {value!r}: expected True or False")
        if self.id == NONE:
            raise RaftError("cannot use none as id")
        if self.heartbeat_tick <= 0:
            raise RaftError("heartbeat tick must be greater than 0")
        if self.election_tick <= self.heartbeat_tick:
            raise RaftError("election tick must be greater than heartbeat tick")
        if self.max_inflight_messages <= 0:
            raise RaftError("max inflight messages must be greater than 0")
        if self.max_inflight_bytes and self.max_inflight_bytes < self.max_size_per_message < NO_LIMIT:
            raise RaftError("max inflight bytes must be >= max message size")
        if self.read_only not in ("safe", "lease-based"):
            raise RaftError(f"read_only {self.read_only!r}: expected safe or lease-based")
        if self.read_only == "lease-based" and not self.check_quorum:
            raise RaftError("CheckQuorum must be enabled when ReadOnlyOption is ReadOnlyLeaseBased")


class RaftState:
    """One node: who it thinks leads, its term and vote, its log, and as a leader its followers' progress.

    The other modules of the package are the rules by which this changes; this one knows roles and the outbox.
    """

    def __init__(self, options: RaftConfig, storage: Storage, rng: random.Random, logger: Logger | None = None) -> None:
        hard, conf = storage.initial_state()
        self.options = options
        self.id = options.id
        self.logger = logger
        self._rng = rng
        self.term = hard.term
        self.vote = hard.vote
        self.role: Role = "StateFollower"
        self.lead = NONE
        most = options.max_committed_size_per_ready or options.max_size_per_message
        self.log = Log(storage, logger, most)
        self.votes: dict[int, bool] = {}
        self.config = Configuration()
        self.progress: dict[int, Progress] = {}
        self.others: tuple[int, ...] = ()
        self.is_learner = False

        self.election_elapsed = 0
        self.heartbeat_elapsed = 0
        self.randomized_election_timeout = 0

        self.transferee = NONE
        self.pending_conf_index = 0
        """The newest change of the configuration in the log is at or before this index."""
        self.uncommitted_size = 0
        self.reads = ReadOnly()
        self.read_states: list[ReadState] = []
        self.waiting_reads: list[Message] = []
        """Reads that came before this leader committed anything in its term."""
        self.outbox: list[Message] = []
        self.after_saving: list[Message] = []
        """Answers that promise something: they leave when what they promise is on disk."""

        self._start(conf, hard)

    def _start(self, conf: ConfState, hard: HardState) -> None:
        self.use(restore(conf, last_index=self.log.last_index, inflights=self.inflight_limits))
        if hard != HardState():
            last = self.log.last_index
            if not self.log.committed <= hard.commit <= last:
                bounds = f"[{self.log.committed}, {last}]"
                raise RaftError(f"{self.id:x} state.commit {hard.commit} is out of range {bounds}")
            self.log.committed = hard.commit
        if self.options.applied:
            self.log.applied_to(self.options.applied)
        self.become_follower(self.term, NONE)
        last_entry = self.log.last
        peers = ",".join(f"{node:x}" for node in self.config.electorate)
        self.say(
            "INFO",
            "newRaft %x [peers: [%s], term: %d, commit: %d, applied: %d, lastindex: %d, lastterm: %d]",
            *(self.id, peers, self.term, self.log.committed, self.log.applied, last_entry.index, last_entry.term),
        )

    def use(self, change: Change) -> None:
        """Take over a configuration."""
        self.config, self.progress = change
        self.others = tuple(node for node in self.progress if node != self.id)
        self.say("INFO", "%x switched to configuration %s", self.id, self.config)
        own = self.progress.get(self.id)
        self.is_learner = own is not None and own.is_learner

    @property
    def inflight_limits(self) -> tuple[int, int]:
        return self.options.max_inflight_messages, self.options.max_inflight_bytes

    @property
    def hard_state(self) -> HardState:
        return HardState(self.term, self.vote, self.log.committed)

    @property
    def soft_state(self) -> SoftState:
        return SoftState(self.lead, self.role)

    def committed_by_quorum(self) -> int:
        """The highest index that a majority (of both halves, in a joint configuration) has saved."""
        progress = self.progress
        acked = sorted([progress[voter].match for voter in self.config.voters], reverse=True)
        index = acked[len(acked) // 2] if acked else NO_LIMIT
        if self.config.outgoing:
            acked = sorted([progress[voter].match for voter in self.config.outgoing], reverse=True)
            index = min(index, acked[len(acked) // 2])
        return index

    @property
    def is_promotable(self) -> bool:
        """Whether it may become leader: a voter, with no snapshot still to be saved."""
        own = self.progress.get(self.id)
        return own is not None and not own.is_learner and self.log.unstable_snapshot is None

    # -- roles -------------------------------------------------------------------------------------

    def become_follower(self, term: int, lead: int) -> None:
        self._reset(term)
        self.lead = lead
        self.role = "StateFollower"
        self.say("INFO", "%x became follower at term %d", self.id, self.term)

    def become_candidate(self) -> None:
        """A new term, and its own vote in it."""
        assert self.role != "StateLeader", "invalid transition [leader -> candidate]"
        self._reset(self.term + 1)
        self.vote = self.id
        self.role = "StateCandidate"
        self.say("INFO", "%x became candidate at term %d", self.id, self.term)

    def become_pre_candidate(self) -> None:
        """Like a candidate, but term and vote stay: nobody is disturbed by asking."""
        assert self.role != "StateLeader", "invalid transition [leader -> pre-candidate]"
        self.votes = {}
        self.lead = NONE
        self.role = "StatePreCandidate"
        self.say("INFO", "%x became pre-candidate at term %d", self.id, self.term)

    def become_leader(self) -> None:
        """The entry that a new leader appends is the caller's to add."""
        assert self.role != "StateFollower", "invalid transition [follower -> leader]"
        self._reset(self.term)
        self.lead = self.id
        self.role = "StateLeader"
        own = self.progress[self.id]
        own.become_replicate()
        own.recent_active = True
        # whatever its log holds may contain a change of the configuration that is not applied yet
        self.pending_conf_index = self.log.last_index

    def _reset(self, term: int) -> None:
        if self.term != term:
            self.term = term
            self.vote = NONE
        self.lead = NONE
        self.election_elapsed = 0
        self.heartbeat_elapsed = 0
        self.draw_election_timeout()
        self.transferee = NONE
        self.votes = {}
        last = self.log.last_index
        for node, progress in self.progress.items():
            self.progress[node] = Progress(
                match=last if node == self.id else 0,
                next=last + 1,
                inflights=Inflights(*self.inflight_limits),
                is_learner=progress.is_learner,
            )
        self.pending_conf_index = 0
        self.uncommitted_size = 0
        self.reads = ReadOnly()

    def draw_election_timeout(self) -> None:
        """Anew for each term, so that a split vote is not repeated for ever (§5.2)."""
        shortest = self.options.election_tick
        self.randomized_election_timeout = shortest + self._rng.randrange(shortest)

    # -- speaking ----------------------------------------------------------------------------------

    def send(self, type: MessageType, to: int, **fields: Any) -> None:
        """Put a message into the outbox, with this node's term (votes bring their own)."""
        if type not in _TERM_OF_ITS_OWN:
            fields["term"] = self.term
        message = Message(type, to, self.id, **fields)
        (self.after_saving if type in _AFTER_SAVING else self.outbox).append(message)

    def forward(self, message: Message) -> None:
        """Pass a client's message on to the leader. It has no term: it is no part of the algorithm."""
        sender = message.sender or self.id
        self.outbox.append(message._replace(to=self.lead, sender=sender))

    def say(self, level: str, text: str, *values: object) -> None:
        """A line for the log, in upstream's words (node ids are hexadecimal)."""
        if self.logger is not None:
            self.logger(level, text % values)
