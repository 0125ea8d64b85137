"""Reads that see every write that was answered before them (thesis §6.4), without an entry in the log.

Upstream: go.etcd.io/raft/v3 raft.go (MsgReadIndex, sendMsgReadIndexResponse, releasePendingReadIndexMessages)
"""

from __future__ import annotations

from k8slab.raft import replication
from k8slab.raft.messages import NONE, Message, ReadState
from k8slab.raft.state import RaftState

__all__ = ["handle_heartbeat_response", "handle_read", "handle_response", "release_waiting"]


def handle_read(node: RaftState, m: Message) -> None:
    """The leader is asked for an index at which a read may be answered."""
    if node.config.electorate == (node.id,):
        _answer(node, m, node.log.committed)
    elif node.log.term_or_zero(node.log.committed) != node.term:
        # what former leaders committed is not known before an entry of this term is
        node.waiting_reads.append(m)
    else:
        _ask(node, m)


def _ask(node: RaftState, m: Message) -> None:
    if node.options.read_only == "lease-based":
        _answer(node, m, node.log.committed)
        return
    context = m.entries[0].data
    node.reads.add(node.log.committed, m)
    node.reads.acknowledge(node.id, context)
    replication.send_heartbeats(node, context)


def release_waiting(node: RaftState) -> None:
    """An entry of this term may be committed now: look after the reads that waited for one."""
    if not node.waiting_reads or node.log.term_or_zero(node.log.committed) != node.term:
        return
    waiting, node.waiting_reads = node.waiting_reads, []
    for m in waiting:
        _ask(node, m)


def handle_heartbeat_response(node: RaftState, m: Message) -> None:
    """A follower confirms that this node still leads, by the context of a read."""
    if not m.context or node.options.read_only != "safe":
        return
    acks = node.reads.acknowledge(m.sender, m.context)
    if node.config.vote_result(acks) != "VoteWon":
        return
    for read in node.reads.release(m.context):
        _answer(node, read.request, read.index)


def _answer(node: RaftState, m: Message, index: int) -> None:
    """To the client of this node, or to the follower that asked on behalf of its own."""
    if m.sender in (NONE, node.id):
        node.read_states.append(ReadState(index, m.entries[0].data))
    else:
        node.send("MsgReadIndexResp", m.sender, index=index, entries=m.entries)


def handle_response(node: RaftState, m: Message) -> None:
    """A follower gets the index it asked the leader for."""
    if len(m.entries) != 1:
        text = "%x invalid format of MsgReadIndexResp from %x, entries count: %d"
        node.say("ERROR", text, node.id, m.sender, len(m.entries))
        return
    node.read_states.append(ReadState(m.index, m.entries[0].data))
