"""Leader election (paper §5.2, §5.4.1), with pre-votes and forced elections as variations of the same steps.

Upstream: go.etcd.io/raft/v3 raft.go (hup, campaign, poll, the votes in Step, stepCandidate)
"""

from __future__ import annotations

from typing import Literal

from k8slab.raft import replication
from k8slab.raft.messages import NONE, EntryID, Message, MessageType
from k8slab.raft.state import RaftState

__all__ = ["TRANSFER", "answer_vote_request", "campaign", "count_vote", "start"]

TRANSFER = b"CampaignTransfer"
"""The context of a vote request that a leader itself asked for: it counts although there is a leader."""

Campaign = Literal["pre-vote", "vote", "transfer"]
_ANSWER: dict[MessageType, MessageType] = {"MsgVote": "MsgVoteResp", "MsgPreVote": "MsgPreVoteResp"}


def start(node: RaftState, kind: Campaign) -> None:
    """Try to become leader, unless this node may not."""
    if node.role == "StateLeader":
        node.say("DEBUG", "%x ignoring MsgHup because already leader", node.id)
    elif not node.is_promotable:
        node.say("WARN", "%x is unpromotable and can not campaign", node.id)
    elif _has_unapplied_conf_change(node):
        text = "%x cannot campaign at term %d since there are still pending configuration changes to apply"
        node.say("WARN", text, node.id, node.term)
    else:
        node.say("INFO", "%x is starting a new election at term %d", node.id, node.term)
        campaign(node, kind)


def _has_unapplied_conf_change(node: RaftState) -> bool:
    """A committed change that is not applied yet may have made this node no voter."""
    log = node.log
    if log.applied >= log.committed:
        return False
    low = max(log.applied + 1, log.first_index)
    return any(entry.type != "EntryNormal" for entry in log.slice(low, log.committed + 1))


def campaign(node: RaftState, kind: Campaign) -> None:
    """Ask everybody for a vote. A pre-vote asks for the term that would come, and changes nothing yet."""
    request: MessageType
    if kind == "pre-vote":
        node.become_pre_candidate()
        request, term = "MsgPreVote", node.term + 1
    else:
        node.become_candidate()
        request, term = "MsgVote", node.term
    last = node.log.last
    for voter in node.config.electorate:
        if voter == node.id:
            node.send(_ANSWER[request], voter, term=term)  # its own vote counts once it is on disk
            continue
        text = "%x [logterm: %d, index: %d] sent %s request to %x at term %d"
        node.say("INFO", text, node.id, last.term, last.index, request, voter, node.term)
        context = TRANSFER if kind == "transfer" else b""
        node.send(request, voter, term=term, log_term=last.term, index=last.index, context=context)


def answer_vote_request(node: RaftState, m: Message) -> None:
    """Yes, if this node has not voted for another in that term, and the candidate's log is at least as new."""
    may_vote = (
        node.vote == m.sender
        or (node.vote == NONE and node.lead == NONE)
        or (m.type == "MsgPreVote" and m.term > node.term)
    )
    if may_vote and node.log.is_up_to_date(EntryID(m.log_term, m.index)):
        log_vote_request(node, "cast %s for", m)
        # the term of the request: a pre-vote is answered for a term that this node has not entered
        node.send(_ANSWER[m.type], m.sender, term=m.term)
        if m.type == "MsgVote":
            node.election_elapsed = 0
            node.vote = m.sender
    else:
        log_vote_request(node, "rejected %s from", m)
        node.send(_ANSWER[m.type], m.sender, term=node.term, reject=True)


def log_vote_request(node: RaftState, what: str, m: Message, more: str = "") -> None:
    """One line on a request for a vote."""
    if node.logger is not None:
        last = node.log.last
        text = "%x [logterm: %d, index: %d, vote: %x] " + what + " %x [logterm: %d, index: %d] at term %d" + more
        own = (node.id, last.term, last.index, node.vote)
        node.say("INFO", text, *own, m.type, m.sender, m.log_term, m.index, node.term)


def count_vote(node: RaftState, m: Message) -> None:
    """An answer came. With a majority of yes this node leads; when that cannot come it follows again."""
    text = "%x received %s from %x at term %d" if not m.reject else "%x received %s rejection from %x at term %d"
    node.say("INFO", text, node.id, m.type, m.sender, node.term)
    node.votes.setdefault(m.sender, not m.reject)
    counted = [node.votes[voter] for voter in node.config.electorate if voter in node.votes]
    text = "%x has received %d %s votes and %d vote rejections"
    node.say("INFO", text, node.id, counted.count(True), m.type, counted.count(False))
    result = node.config.vote_result(node.votes)
    if result == "VoteWon" and node.role == "StatePreCandidate":
        campaign(node, "vote")
    elif result == "VoteWon":
        node.become_leader()
        replication.append(node, replication.FIRST)
        node.say("INFO", "%x became leader at term %d", node.id, node.term)
        replication.send_to_all(node)
    elif result == "VoteLost":
        node.become_follower(node.term, NONE)
