"""A leader that hears from no majority steps down, and followers that hear from a leader ignore candidates.

Together they keep a node that comes back from a partition from disturbing (thesis §4.2.3, §6.2), and make reads by
lease possible.

Upstream: go.etcd.io/raft/v3 raft.go (MsgCheckQuorum, the lease in Step)
"""

from __future__ import annotations

from k8slab.raft import election
from k8slab.raft.messages import NONE, Message
from k8slab.raft.state import RaftState

__all__ = ["check", "ignores_vote_request"]


def check(node: RaftState) -> None:
    """Once an election timeout: has a majority answered since?"""
    active = {id: progress.recent_active for id, progress in node.progress.items() if not progress.is_learner}
    if node.config.vote_result(active) != "VoteWon":
        node.say("WARN", "%x stepped down to follower since quorum is not active", node.id)
        node.become_follower(node.term, NONE)
    for id, progress in node.progress.items():
        if id != node.id:
            progress.recent_active = False


def ignores_vote_request(node: RaftState, m: Message) -> bool:
    """Whether a request for a vote in a later term is not even looked at: there is a leader, who spoke lately."""
    if not node.options.check_quorum or node.lead == NONE or m.context == election.TRANSFER:
        return False
    left = node.options.election_tick - node.election_elapsed
    if left <= 0:
        return False
    election.log_vote_request(node, "ignored %s from", m, f": lease is not expired (remaining ticks: {left})")
    return True
