"""Handing leadership over (thesis §3.10): bring one follower up to date, then tell it to campaign at once.

Upstream: go.etcd.io/raft/v3 raft.go (MsgTransferLeader, MsgTimeoutNow)
"""

from __future__ import annotations

from k8slab.raft import replication
from k8slab.raft.messages import NONE, Message
from k8slab.raft.progress import Progress
from k8slab.raft.state import RaftState

__all__ = ["handle_transfer", "send_timeout_now"]


def handle_transfer(node: RaftState, m: Message, progress: Progress) -> None:
    """The leader is asked to hand over to `m.sender`. It takes no proposals from now on; one election timeout it
    tries, then it stays leader."""
    to = m.sender
    if progress.is_learner:
        node.say("DEBUG", "%x is learner. Ignored transferring leadership", node.id)
        return
    if node.transferee != NONE:
        if node.transferee == to:
            text = "%x [term %d] transfer leadership to %x is in progress, ignores request to same node %x"
            node.say("INFO", text, node.id, node.term, to, to)
            return
        before, node.transferee = node.transferee, NONE
        node.say("INFO", "%x [term %d] abort previous transferring leadership to %x", node.id, node.term, before)
    if to == node.id:
        node.say("DEBUG", "%x is already leader. Ignored transferring leadership to self", node.id)
        return
    node.say("INFO", "%x [term %d] starts to transfer leadership to %x", node.id, node.term, to)
    node.election_elapsed = 0
    node.transferee = to
    if progress.match == node.log.last_index:
        send_timeout_now(node, to)
        text = "%x sends MsgTimeoutNow to %x immediately as %x already has up-to-date log"
        node.say("INFO", text, node.id, to, to)
    else:
        replication.maybe_send(node, to)


def send_timeout_now(node: RaftState, to: int) -> None:
    node.send("MsgTimeoutNow", to)
