"""Sections 5 to 8 of the paper and the parts of the thesis that are used: what figure 2 leaves out.

Upstream: none. Spec: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", 2014;
Ongaro, "Consensus: Bridging Theory and Practice" (thesis), 2014
"""

from __future__ import annotations

from contextlib import suppress

from k8slab.raft.errors import ProposalDroppedError
from k8slab.raft.messages import ConfChange, ConfState, Message, Snapshot
from k8slab.raft.paper.table import clause
from k8slab.raft.paper.trial import Trial

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
    with suppress(ProposalDroppedError):
        trial.node.propose(b"y")
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
