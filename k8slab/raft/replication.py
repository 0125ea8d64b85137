"""Log replication (paper §5.3, §5.4.2): what a leader sends, what a follower answers, when an entry is committed.

Upstream: go.etcd.io/raft/v3 raft.go (appendEntry, maybeSendAppend, handleAppendEntries, MsgAppResp, maybeCommit)
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.raft import reads, snapshots, transfer
from k8slab.raft.errors import CompactedError, UnavailableError
from k8slab.raft.messages import Entry, EntryID, Message, payload_size
from k8slab.raft.progress import Progress
from k8slab.raft.state import RaftState

__all__ = [
    "FIRST",
    "append",
    "handle_append",
    "handle_append_response",
    "handle_heartbeat",
    "handle_heartbeat_response",
    "maybe_commit",
    "maybe_send",
    "send_heartbeats",
    "send_to_all",
]

FIRST = (Entry(),)
"""What a new leader appends: committing it commits all that came before (§5.4.2)."""


# -- the leader sends ------------------------------------------------------------------------------


def append(node: RaftState, entries: Sequence[Entry]) -> bool:
    """Add proposals to the leader's log. False when too much is uncommitted already."""
    first = node.log.last_index + 1
    stamped = [entry._replace(term=node.term, index=first + at) for at, entry in enumerate(entries)]
    if not _has_room(node, stamped):
        text = "%x appending new entries to log would exceed uncommitted entry size limit; dropping proposal"
        node.say("WARN", text, node.id)
        return False
    last = node.log.append(stamped)
    node.send("MsgAppResp", node.id, index=last)  # the leader counts itself once the entries are on disk
    return True


def _has_room(node: RaftState, entries: Sequence[Entry]) -> bool:
    """An empty entry always has, and so has one proposal when nothing is under way, whatever its size."""
    size, most = payload_size(entries), node.options.max_uncommitted_size
    if most and node.uncommitted_size > 0 and size > 0 and node.uncommitted_size + size > most:
        return False
    node.uncommitted_size += size
    return True


def send_to_all(node: RaftState) -> None:
    for to in node.others:
        maybe_send(node, to)


def maybe_send(node: RaftState, to: int, *, if_empty: bool = True) -> bool:
    """Send what follows `next`, or a snapshot where the log begins later. False when nothing was sent.

    `if_empty`: a message without entries is worth sending, for the commit index in it.
    """
    progress = node.progress[to]
    if progress.is_paused:
        return False
    previous = progress.next - 1
    entries: tuple[Entry, ...] = ()
    try:
        log_term = node.log.term(previous)
        if progress.state != "StateReplicate" or not progress.inflights.full:
            entries = node.log.entries(progress.next, node.options.max_size_per_message)
    except (CompactedError, UnavailableError):
        return snapshots.maybe_send(node, to, progress)
    if not entries and not if_empty:
        return False
    commit = node.log.committed
    node.send("MsgApp", to, index=previous, log_term=log_term, entries=entries, commit=commit)
    progress.sent_entries(len(entries), payload_size(entries))
    progress.sent_commit = commit
    return True


def send_heartbeats(node: RaftState, context: bytes = b"") -> None:
    """To everyone, with no more than what they are known to have: a commit index above that would be a lie."""
    for to in node.others:
        progress = node.progress[to]
        commit = min(progress.match, node.log.committed)
        node.send("MsgHeartbeat", to, commit=commit, context=context)
        progress.sent_commit = commit


# -- the follower answers --------------------------------------------------------------------------


def handle_append(node: RaftState, m: Message) -> None:
    """Take the entries if the one before them is there; else say where the logs may agree."""
    if m.index < node.log.committed:
        node.send("MsgAppResp", m.sender, index=node.log.committed)
        return
    last = node.log.maybe_append(EntryID(m.log_term, m.index), m.entries, m.commit)
    if last is not None:
        node.send("MsgAppResp", m.sender, index=last)
        return
    if node.logger is not None:
        text = "%x [logterm: %d, index: %d] rejected MsgApp [logterm: %d, index: %d] from %x"
        node.say("DEBUG", text, node.id, node.log.term_or_zero(m.index), m.index, m.log_term, m.index, m.sender)
    # Not only "no": of the follower's entries those of later terms than the leader's cannot agree, so the leader may
    # go back a whole term at once (end of §5.3).
    hint, hint_term = node.log.find_conflict_by_term(min(m.index, node.log.last_index), m.log_term)
    node.send("MsgAppResp", m.sender, index=m.index, reject=True, reject_hint=hint, log_term=hint_term)


def handle_heartbeat(node: RaftState, m: Message) -> None:
    node.log.commit_to(m.commit)
    node.send("MsgHeartbeatResp", m.sender, context=m.context)


# -- the leader hears ------------------------------------------------------------------------------


def handle_append_response(node: RaftState, m: Message, progress: Progress) -> None:
    progress.recent_active = True
    if m.reject:
        _go_back(node, m, progress)
        return
    if not progress.maybe_update(m.index) and not (progress.match == m.index and progress.state == "StateProbe"):
        return  # an old answer
    if progress.state == "StateProbe":
        progress.become_replicate()
    elif progress.state == "StateSnapshot":
        snapshots.caught_up(node, m.sender, progress)
    else:
        progress.inflights.free_up_to(m.index)
    if maybe_commit(node):
        reads.release_waiting(node)
        send_to_all(node)
    elif m.sender != node.id and progress.can_bump_commit(node.log.committed):
        maybe_send(node, m.sender)
    if m.sender != node.id:
        while maybe_send(node, m.sender, if_empty=False):
            pass
    if m.sender == node.transferee and progress.match == node.log.last_index:
        node.say("INFO", "%x sent MsgTimeoutNow to %x after received MsgAppResp", node.id, m.sender)
        transfer.send_timeout_now(node, m.sender)


def _go_back(node: RaftState, m: Message, progress: Progress) -> None:
    """The logs differ: look further back, where the follower's hint says."""
    text = "%x received MsgAppResp(rejected, hint: (index %d, term %d)) from %x for index %d"
    node.say("DEBUG", text, node.id, m.reject_hint, m.log_term, m.sender, m.index)
    hint = m.reject_hint
    if m.log_term > 0:
        hint, _ = node.log.find_conflict_by_term(m.reject_hint, m.log_term)
    if progress.maybe_decrease(m.index, hint):
        node.say("DEBUG", "%x decreased progress of %x to [%s]", node.id, m.sender, progress)
        if progress.state == "StateReplicate":
            progress.become_probe()
        maybe_send(node, m.sender)


def maybe_commit(node: RaftState) -> bool:
    """Commit what a majority has, if it is of this term: counting says nothing about older entries (§5.4.2)."""
    index = node.committed_by_quorum()
    if index > node.log.committed and node.log.matches(EntryID(node.term, index)):
        node.log.commit_to(index)
        return True
    return False


def handle_heartbeat_response(node: RaftState, m: Message, progress: Progress) -> None:
    """The follower lives: try again what may have been lost."""
    progress.recent_active = True
    progress.paused = False
    if progress.match < node.log.last_index or progress.state == "StateProbe":
        maybe_send(node, m.sender)
    reads.handle_heartbeat_response(node, m)


def reduce_uncommitted(node: RaftState, entries: Sequence[Entry]) -> None:
    """Entries were applied. A follower's count is 0 and stays so."""
    node.uncommitted_size = max(0, node.uncommitted_size - payload_size(entries))
