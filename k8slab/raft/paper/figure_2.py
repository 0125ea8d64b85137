"""Figure 2 of the paper: state, AppendEntries, RequestVote, the rules for servers.

Upstream: none. Spec: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", 2014;
Ongaro, "Consensus: Bridging Theory and Practice" (thesis), 2014
"""

from __future__ import annotations

import random

from k8slab.raft.messages import Entry, HardState, Message
from k8slab.raft.paper.table import clause
from k8slab.raft.paper.trial import Trial
from k8slab.raft.wal import WriteAheadLog
from k8slab.sim import Disk

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
