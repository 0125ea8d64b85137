"""Snapshots: for a follower that needs what the leader no longer holds entry by entry (paper §7).

Upstream: go.etcd.io/raft/v3 raft.go (maybeSendSnapshot, handleSnapshot, restore, MsgSnapStatus)
"""

from __future__ import annotations

from k8slab.raft import confchange
from k8slab.raft.errors import RaftError, SnapshotTemporarilyUnavailableError
from k8slab.raft.messages import NONE, EntryID, Message, Snapshot
from k8slab.raft.progress import Progress
from k8slab.raft.state import RaftState

__all__ = ["caught_up", "handle_snapshot", "handle_status", "maybe_send"]


def maybe_send(node: RaftState, to: int, progress: Progress) -> bool:
    """Send the newest snapshot, and nothing more until the follower has it. False when that cannot be now."""
    if not progress.recent_active:
        node.say("DEBUG", "ignore sending snapshot to %x since it is not recently active", to)
        return False
    try:
        snapshot = node.log.snapshot()
    except SnapshotTemporarilyUnavailableError:
        text = "%x failed to send snapshot to %x because snapshot is temporarily unavailable"
        node.say("DEBUG", text, node.id, to)
        return False
    if snapshot.index == 0:
        raise RaftError("need non-empty snapshot")
    text = "%x [firstindex: %d, commit: %d] sent snapshot[index: %d, term: %d] to %x [%s]"
    where = (node.id, node.log.first_index, node.log.committed, snapshot.index, snapshot.term)
    node.say("DEBUG", text, *where, to, progress)
    progress.become_snapshot(snapshot.index)
    node.say("DEBUG", "%x paused sending replication messages to %x [%s]", node.id, to, progress)
    node.send("MsgSnap", to, snapshot=snapshot)
    return True


def caught_up(node: RaftState, sender: int, progress: Progress) -> None:
    """An answer from a follower that gets a snapshot: go on with entries if the leader's log reaches back so far."""
    if progress.match + 1 < node.log.first_index:
        return
    text = "%x recovered from needing snapshot, resumed sending replication messages to %x [%s]"
    node.say("DEBUG", text, node.id, sender, progress)
    progress.become_probe()  # which looks behind the snapshot
    progress.become_replicate()


def handle_status(node: RaftState, m: Message, progress: Progress) -> None:
    """Whoever carried the snapshot says whether it arrived. Then wait for the follower to speak."""
    if progress.state != "StateSnapshot":
        return
    if m.reject:
        progress.pending_snapshot = 0  # or probing would begin behind a snapshot that nobody has
    progress.become_probe()
    text = "%x snapshot %s, resumed sending replication messages to %x [%s]"
    node.say("DEBUG", text, node.id, "failed" if m.reject else "succeeded", m.sender, progress)
    progress.paused = True


def handle_snapshot(node: RaftState, m: Message) -> None:
    """Take a snapshot in place of the log, if it is news."""
    assert m.snapshot is not None
    snapshot = m.snapshot
    what = "restored" if _restore(node, snapshot) else "ignored"
    text = "%x [commit: %d] %s snapshot [index: %d, term: %d]"
    node.say("INFO", text, node.id, node.log.committed, what, snapshot.index, snapshot.term)
    last = node.log.last_index if what == "restored" else node.log.committed
    node.send("MsgAppResp", m.sender, index=last)


def _restore(node: RaftState, snapshot: Snapshot) -> bool:
    if snapshot.index <= node.log.committed:
        return False
    if node.role != "StateFollower":
        node.say("WARN", "%x attempted to restore snapshot as leader; should never happen", node.id)
        node.become_follower(node.term + 1, NONE)
        return False
    state = snapshot.conf_state
    if node.id not in (*state.voters, *state.learners, *state.voters_outgoing):
        text = "%x attempted to restore snapshot but it is not in the ConfState %s; should never happen"
        node.say("WARN", text, node.id, state)
        return False
    at = EntryID(snapshot.term, snapshot.index)
    last = node.log.last
    where = (node.id, node.log.committed, last.index, last.term)
    if node.log.matches(at):
        text = "%x [commit: %d, lastindex: %d, lastterm: %d] fast-forwarded commit to snapshot [index: %d, term: %d]"
        node.say("INFO", text, *where, at.index, at.term)
        node.log.commit_to(at.index)
        return False
    node.log.restore(snapshot)
    node.use(confchange.restore(state, last_index=node.log.last_index, inflights=node.inflight_limits))
    last = node.log.last
    text = "%x [commit: %d, lastindex: %d, lastterm: %d] restored snapshot [index: %d, term: %d]"
    node.say("INFO", text, node.id, node.log.committed, last.index, last.term, at.index, at.term)
    return True
