"""The paper, clause by clause: each is a small experiment that holds here, or raises AssertionError.

>>> from k8slab.raft import paper
>>> paper.coverage()[0]
('figure 2', 'State', 'current term and vote survive a crash')

The book prints the table; the tests run every row.

Upstream: none. Spec: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", 2014;
Ongaro, "Consensus: Bridging Theory and Practice" (thesis), 2014
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from k8slab.raft.errors import ProposalDroppedError
from k8slab.raft.log import Log
from k8slab.raft.messages import NONE, ConfChange, ConfState, Entry, HardState, Message, Snapshot, conf_change_of
from k8slab.raft.node import Node, Ready
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import MemoryStorage
from k8slab.raft.wal import WriteAheadLog
from k8slab.sim import Disk

__all__ = ["CLAUSES", "Clause", "coverage"]


class Clause(NamedTuple):
    """`where` in the paper or thesis, which part of the `rule`, what it says in our words, and the experiment."""

    where: str
    rule: str
    says: str
    experiment: Callable[[], None]


CLAUSES: list[Clause] = []


def clause(where: str, rule: str, says: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add the decorated experiment to the table."""

    def add(experiment: Callable[[], None]) -> Callable[[], None]:
        CLAUSES.append(Clause(where, rule, says, experiment))
        return experiment

    return add


def coverage() -> list[tuple[str, str, str]]:
    """Every clause, in the order of the paper."""
    return [(one.where, one.rule, one.says) for one in CLAUSES]


# -- how the experiments are made ------------------------------------------------------------------


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


# -- figure 2: state -------------------------------------------------------------------------------

FIGURE = "figure 2"


@clause(FIGURE, "State", "current term and vote survive a crash")
def _() -> None:
    disk = Disk(random.Random(1))
    wal = WriteAheadLog(disk)
    wal.save(HardState(term=4, vote=2), [], sync=True)
    disk.crash()
    assert WriteAheadLog(disk).load().hard_state[:2] == (4, 2)


@clause(FIGURE, "State", "entries survive a crash before anybody hears that they are there")
def _() -> None:
    trial = Trial()
    trial.node.step(Message("MsgApp", 1, 2, 1, log_term=1, index=1, entries=(Entry(1, 2, data=b"a"),)))
    ready = trial.node.ready()
    assert ready.entries and ready.must_sync
    assert [m.type for m in ready.messages] == ["MsgAppResp"]


@clause(FIGURE, "State", "a new leader starts with nextIndex behind its last entry and matchIndex 0")
def _() -> None:
    trial = Trial([1, 1, 1])
    trial.node.campaign()
    trial.settle()
    trial.node.step(Message("MsgVoteResp", 1, 2, 2))
    progress = trial.node.raft.progress[3]
    assert (progress.match, progress.next) == (0, 5)  # 4 entries with the first; the new leader's own is number 5


# -- figure 2: AppendEntries -----------------------------------------------------------------------


@clause(FIGURE, "AppendEntries 1", "a leader of an earlier term is refused")
def _() -> None:
    trial = Trial([1], term=5, check_quorum=True)
    answer = trial.answer("MsgApp", term=3, index=2, log_term=1)
    assert answer.term == 5 and trial.terms == [1]


@clause(FIGURE, "AppendEntries 2", "refused without the entry before, or with one of another term there")
def _() -> None:
    for terms in ([1], [1, 2, 2]):
        trial = Trial(terms, term=3)
        answer = trial.answer("MsgApp", index=4, log_term=3, entries=(Entry(3, 5),))
        assert answer.reject and trial.terms == terms


@clause(FIGURE, "AppendEntries 3", "an entry that conflicts goes, with all that follow it")
def _() -> None:
    trial = Trial([1, 2, 2, 2], term=3)
    trial.answer("MsgApp", index=2, log_term=1, entries=(Entry(3, 3),))
    assert trial.terms == [1, 3]


@clause(FIGURE, "AppendEntries 3", "entries that agree stay: an old message does not cut the log")
def _() -> None:
    trial = Trial([1, 1, 1])
    trial.answer("MsgApp", index=1, log_term=1, entries=(Entry(1, 2, data=b"e"),))
    assert trial.terms == [1, 1, 1]


@clause(FIGURE, "AppendEntries 4", "entries that are not there yet are added")
def _() -> None:
    trial = Trial([1])
    answer = trial.answer("MsgApp", index=2, log_term=1, entries=(Entry(1, 3), Entry(1, 4)))
    assert not answer.reject and answer.index == 4 and trial.terms == [1, 1, 1]


@clause(FIGURE, "AppendEntries 5", "commitIndex goes to the leader's, but not beyond the last entry just compared")
def _() -> None:
    trial = Trial([1, 1, 1])
    trial.answer("MsgApp", index=2, log_term=1, commit=4)
    assert trial.log.committed == 2
    trial.answer("MsgApp", index=4, log_term=1, commit=3)
    assert trial.log.committed == 3


@clause(FIGURE, "AppendEntries 5", "a heartbeat never commits more than the follower is known to have")
def _() -> None:
    trial = Trial([1, 1])
    trial.lead()
    trial.acknowledge(2)
    trial.node.tick()
    commits = {m.to: m.commit for m in trial.settle() if m.type == "MsgHeartbeat"}
    assert commits == {2: 4, 3: 0}


# -- figure 2: RequestVote -------------------------------------------------------------------------


@clause(FIGURE, "RequestVote 1", "a candidate of an earlier term gets no vote")
def _() -> None:
    trial = Trial(term=5)
    assert not [m for m in trial.hear("MsgVote", term=4, index=9, log_term=4) if not m.reject]


@clause(FIGURE, "RequestVote 2", "one vote a term, first come first served; the same candidate may ask again")
def _() -> None:
    trial = Trial()
    assert not trial.answer("MsgVote", 2, term=2, index=1, log_term=1).reject
    assert trial.answer("MsgVote", 3, term=2, index=1, log_term=1).reject
    assert not trial.answer("MsgVote", 2, term=2, index=1, log_term=1).reject


@clause(FIGURE, "RequestVote 2", "the vote is on disk before it is told")
def _() -> None:
    trial = Trial()
    trial.node.step(Message("MsgVote", 1, 2, 2, index=1, log_term=1))
    ready = trial.node.ready()
    assert ready.must_sync and ready.hard_state is not None and ready.hard_state[:2] == (2, 2)
    assert [m.type for m in ready.messages] == ["MsgVoteResp"]


# -- figure 2: rules for servers -------------------------------------------------------------------


@clause(FIGURE, "All servers", "what is committed is applied, in order")
def _() -> None:
    trial = Trial([1, 1, 1])
    trial.answer("MsgApp", index=4, log_term=1, commit=4)
    assert [entry.index for entry in trial.applied] == [2, 3, 4]


@clause(FIGURE, "All servers", "a later term in any message makes a follower of candidates and leaders")
def _() -> None:
    for role in ("candidate", "leader"):
        trial = Trial()
        trial.node.campaign()
        trial.settle()
        if role == "leader":
            trial.hear("MsgVoteResp")
        trial.hear("MsgAppResp", term=9)
        assert (trial.role, trial.node.raft.term) == ("StateFollower", 9)


@clause(FIGURE, "Followers", "silence for an election timeout makes a candidate; a heartbeat or a vote starts it anew")
def _() -> None:
    trial = Trial()
    raft = trial.node.raft
    for _ in range(raft.randomized_election_timeout - 1):
        trial.node.tick()
    trial.hear("MsgHeartbeat")
    assert trial.role == "StateFollower"
    for _ in range(raft.randomized_election_timeout):
        trial.node.tick()
    assert trial.role == "StateCandidate"


@clause(FIGURE, "Candidates", "a new term, a vote for itself, a request to all others")
def _() -> None:
    trial = Trial([1], term=3)
    trial.node.campaign()
    sent = trial.settle()
    assert trial.node.raft.term == 4 and trial.storage.hard_state[:2] == (4, 1)
    assert [(m.type, m.to, m.term, m.index, m.log_term) for m in sent] == [
        ("MsgVote", 2, 4, 2, 1),
        ("MsgVote", 3, 4, 2, 1),
    ]


@clause(FIGURE, "Candidates", "votes of a majority make a leader, its own among them")
def _() -> None:
    trial = Trial(voters=5)
    trial.node.campaign()
    trial.settle()
    trial.hear("MsgVoteResp", 2)
    assert trial.role == "StateCandidate"
    trial.hear("MsgVoteResp", 3)
    assert trial.role == "StateLeader"


@clause(FIGURE, "Candidates", "a leader of the same term makes a follower of a candidate")
def _() -> None:
    trial = Trial()
    trial.node.campaign()
    trial.settle()
    trial.hear("MsgApp", 3, index=1, log_term=1)
    assert (trial.role, trial.node.raft.lead) == ("StateFollower", 3)


@clause(FIGURE, "Candidates", "another timeout starts another election")
def _() -> None:
    trial = Trial()
    trial.node.campaign()
    trial.settle()
    for _ in range(2 * trial.node.raft.options.election_tick):
        trial.node.tick()
    assert trial.node.raft.term == 3


@clause(FIGURE, "Leaders 1", "a new leader speaks at once, and again each heartbeat")
def _() -> None:
    trial = Trial()
    assert {m.to for m in trial.lead() if m.type == "MsgApp"} == {2, 3}
    trial.node.tick()
    assert {m.to for m in trial.settle() if m.type == "MsgHeartbeat"} == {2, 3}


@clause(FIGURE, "Leaders 2", "a command is appended first, and answered for when it is applied")
def _() -> None:
    trial = Trial()
    trial.lead()
    trial.node.propose(b"x")
    trial.settle()
    assert trial.terms == [2, 2] and b"x" not in [entry.data for entry in trial.applied]
    trial.acknowledge(3)
    assert trial.applied[-1].data == b"x"


@clause(FIGURE, "Leaders 3", "a follower gets the entries from its nextIndex on, and nextIndex grows with its answers")
def _() -> None:
    trial = Trial([1, 1])
    trial.lead()
    trial.acknowledge(2, 4)
    progress = trial.node.raft.progress[2]
    assert (progress.match, progress.next) == (4, 5)


@clause(FIGURE, "Leaders 3", "a refusal moves nextIndex back, and the leader tries again")
def _() -> None:
    trial = Trial([1, 1, 1])
    trial.lead()
    again = trial.hear("MsgAppResp", index=4, reject=True, reject_hint=2, log_term=1)
    assert [(m.index, len(m.entries)) for m in again if m.to == 2] == [(2, 3)]


@clause(FIGURE, "Leaders 4", "what a majority has is committed, if it is of the leader's term")
def _() -> None:
    trial = Trial(voters=5)
    trial.lead()
    trial.hear("MsgVoteResp", 3)
    trial.acknowledge(2)
    assert trial.log.committed == 1
    trial.acknowledge(3)
    assert trial.log.committed == 2


# -- §5 --------------------------------------------------------------------------------------------


@clause("§5.2", "Randomised timeouts", "timeouts lie in [T, 2T) and differ from term to term")
def _() -> None:
    raft = Trial().node.raft
    drawn = []
    for _ in range(200):
        raft.draw_election_timeout()
        drawn.append(raft.randomized_election_timeout)
    assert min(drawn) == 10 and max(drawn) == 19


@clause("§5.3", "Backing up", "a refusal names the last entry that can agree: a leader goes back a term at once")
def _() -> None:
    trial = Trial([1, 1, 2, 2, 2], term=5)
    answer = trial.answer("MsgApp", index=9, log_term=1)
    assert answer.reject and (answer.reject_hint, answer.log_term) == (3, 1)


@clause("§5.4.1", "Election restriction", "a log is newer by its last term, and with equal terms by its length")
def _() -> None:
    for terms, candidate, gets_vote in (
        ([1, 2], (3, 2), True),  # (index, term) of the candidate's last entry
        ([1, 2], (9, 1), False),
        ([1, 1, 1], (3, 1), False),
        ([1, 1, 1], (2, 2), True),
    ):
        trial = Trial(terms, term=2)
        answer = trial.answer("MsgVote", term=3, index=candidate[0], log_term=candidate[1])
        assert answer.reject != gets_vote, (terms, candidate)


@clause("§5.4.2", "Figure 8", "an entry of an earlier term is not committed by counting, only through a later one")
def _() -> None:
    trial = Trial([2], term=3)
    trial.lead()  # term 4, with entry 3 of its own
    trial.acknowledge(2, 2)
    assert trial.log.committed == 1, "entry 2 is on a majority, but of term 2"
    trial.acknowledge(2, 3)
    assert trial.log.committed == 3


@clause("§5.4.3", "Safety", "an empty entry at the start of each term lets old entries be committed")
def _() -> None:
    trial = Trial([1])
    trial.lead()
    last = trial.log.entries(3)
    assert [(entry.term, entry.data) for entry in last] == [(2, b"")]


# -- §6 and the thesis: changes of the group -------------------------------------------------------


@clause("§6", "Joint consensus", "between two configurations both majorities must agree")
def _() -> None:
    trial = Trial()
    trial.lead()
    trial.acknowledge(2)
    trial.node.propose_conf_change(ConfChange.parse("v4 v5 r2", transition="explicit"))
    trial.settle()
    trial.acknowledge(2)
    assert str(trial.node.raft.config) == "voters=(1 3 4 5)&&(1 2 3)"
    trial.node.propose(b"x")
    trial.settle()
    index = trial.log.last_index
    trial.acknowledge(2)
    assert trial.log.committed < index, "a majority of the old group alone"
    trial.acknowledge(3)
    assert trial.log.committed < index, "1 and 3 are half of the new group"
    trial.acknowledge(4)
    assert trial.log.committed == index


@clause("thesis §4.1", "One at a time", "a second change waits until the first is applied")
def _() -> None:
    trial = Trial()
    trial.lead()
    trial.acknowledge(2)
    trial.node.propose_conf_change(ConfChange.parse("v4"))
    trial.node.propose_conf_change(ConfChange.parse("v5"))
    trial.settle()
    assert [entry.type for entry in trial.log.entries(3)] == ["EntryConfChangeV2", "EntryNormal"]


@clause("thesis §4.2.1", "New servers", "a learner gets entries and counts for nothing")
def _() -> None:
    storage_of = Trial()
    storage_of.lead()
    storage_of.acknowledge(2)
    storage_of.node.propose_conf_change(ConfChange.parse("l4"))
    storage_of.settle()
    storage_of.acknowledge(2)
    assert storage_of.node.raft.config.learners == (4,)
    storage_of.node.propose(b"x")
    assert 4 in {m.to for m in storage_of.settle() if m.type == "MsgApp"} or storage_of.node.raft.progress[4].is_paused
    index = storage_of.log.last_index
    storage_of.acknowledge(4, index)
    assert storage_of.log.committed < index


@clause("thesis §4.2.2", "Removing the leader", "it leads until its removal is committed, and does not count itself")
def _() -> None:
    trial = Trial(step_down_on_removal=True)
    trial.lead()
    trial.acknowledge(2)
    trial.node.propose_conf_change(ConfChange.parse("r1"))
    trial.settle()
    assert trial.role == "StateLeader"
    trial.acknowledge(2)
    trial.acknowledge(3)
    assert trial.role == "StateFollower" and not trial.node.raft.is_promotable


@clause("thesis §4.2.3", "Disruptive servers", "who has heard from a leader lately ignores requests for votes")
def _() -> None:
    trial = Trial(check_quorum=True)
    trial.hear("MsgHeartbeat", 3)
    assert not trial.hear("MsgVote", 2, term=9, index=9, log_term=9)
    assert trial.node.raft.term == 1


@clause("thesis §9.6", "Pre-vote", "a candidate asks first whether it could win, and raises no term until then")
def _() -> None:
    trial = Trial(pre_vote=True)
    trial.node.campaign()
    asked = trial.settle()
    assert {(m.type, m.term) for m in asked} == {("MsgPreVote", 2)} and trial.node.raft.term == 1
    trial.hear("MsgPreVoteResp", 2, term=2)
    assert trial.node.raft.term == 2


@clause("thesis §6.2", "Check quorum", "a leader that no majority answers for an election timeout steps down")
def _() -> None:
    trial = Trial(check_quorum=True)
    trial.lead()
    for _ in range(trial.node.raft.options.election_tick):
        assert trial.role == "StateLeader"
        trial.node.tick()
    assert trial.role == "StateFollower"


@clause("thesis §3.10", "Leadership transfer", "no proposals meanwhile; the target is brought up to date first")
def _() -> None:
    trial = Trial()
    trial.lead()
    trial.node.propose(b"x")
    trial.settle()
    trial.node.transfer_leadership(2)
    try:
        trial.node.propose(b"y")
    except ProposalDroppedError:
        pass
    else:
        raise AssertionError("a proposal was taken during the transfer")
    assert "MsgTimeoutNow" in [m.type for m in trial.acknowledge(2)]


@clause("thesis §3.10", "Leadership transfer", "the target campaigns at once, and no lease keeps it from winning")
def _() -> None:
    target = Trial(pre_vote=True, check_quorum=True)
    target.hear("MsgHeartbeat", 2)
    requests = target.hear("MsgTimeoutNow", 2)
    assert {m.type for m in requests} == {"MsgVote"}
    voter = Trial(check_quorum=True)
    voter.hear("MsgHeartbeat", 2)
    assert not voter.answer("MsgVote", 3, term=2, index=1, log_term=1, context=requests[0].context).reject


# -- §7: snapshots ---------------------------------------------------------------------------------


@clause("§7", "InstallSnapshot", "a follower that needs what is compacted gets a snapshot, and nothing else meanwhile")
def _() -> None:
    trial = Trial([1, 1, 1])
    trial.lead()
    trial.acknowledge(2)
    trial.storage.create_snapshot(4, ConfState((1, 2, 3)))
    trial.storage.compact(4)
    sent = trial.hear("MsgAppResp", 3, index=4, reject=True, reject_hint=1, log_term=1)
    assert [m.type for m in sent if m.to == 3] == ["MsgSnap"]
    trial.node.propose(b"x")
    assert 3 not in {m.to for m in trial.settle()}


@clause("§7", "InstallSnapshot 6", "a snapshot that ends with an entry the follower has cuts nothing")
def _() -> None:
    trial = Trial([1, 1, 1])
    trial.answer("MsgSnap", snapshot=Snapshot(3, 1, ConfState((1, 2, 3))))
    assert trial.terms == [1, 1, 1] and trial.log.committed == 3


@clause("§7", "InstallSnapshot 7", "otherwise it takes the place of the whole log")
def _() -> None:
    trial = Trial([1, 1], term=2)
    answer = trial.answer("MsgSnap", snapshot=Snapshot(9, 2, ConfState((1, 2, 3))))
    assert answer.index == 9 and (trial.log.first_index, trial.log.last_index) == (10, 9)


@clause("§7", "InstallSnapshot", "an old snapshot is not news")
def _() -> None:
    trial = Trial([1, 1, 1])
    trial.answer("MsgApp", index=4, log_term=1, commit=4)
    answer = trial.answer("MsgSnap", snapshot=Snapshot(2, 1, ConfState((1, 2, 3))))
    assert answer.index == 4 and trial.terms == [1, 1, 1]


# -- §8 and the thesis: reads ----------------------------------------------------------------------


@clause("§8", "Reads", "a leader first commits an entry of its term: before it does not know what is committed")
def _() -> None:
    trial = Trial()
    trial.lead()
    trial.node.read_index(b"r")
    assert not [m for m in trial.settle() if m.context == b"r"]
    asked = trial.acknowledge(2)
    assert [m.to for m in asked if m.context == b"r"] == [2, 3]


@clause("thesis §6.4", "ReadIndex", "then it asks a majority whether it still leads, and only then answers")
def _() -> None:
    trial = Trial()
    trial.lead()
    trial.acknowledge(2)
    trial.node.read_index(b"r")
    trial.settle()
    trial.node.step(Message("MsgHeartbeatResp", 1, 3, trial.node.raft.term, context=b"r"))
    states = trial.node.ready().read_states
    assert [(state.index, state.context) for state in states] == [(2, b"r")]


@clause("thesis §6.4.1", "Lease reads", "with a lease no majority is asked; clocks must not run apart")
def _() -> None:
    trial = Trial(check_quorum=True, read_only="lease-based")
    trial.lead()
    trial.acknowledge(2)
    trial.node.read_index(b"r")
    ready = trial.node.ready()
    assert ready.read_states and not ready.messages
