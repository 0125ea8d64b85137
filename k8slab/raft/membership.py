"""Changes of who belongs to the group, as entries in the log (paper §6, thesis §4).

Upstream: go.etcd.io/raft/v3 raft.go (MsgProp, applyConfChange, switchToConfig, appliedTo)
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.raft import confchange, replication
from k8slab.raft.messages import NONE, ConfChange, ConfState, Entry, Message, conf_change_of
from k8slab.raft.state import RaftState

__all__ = ["apply_change", "leave_when_due", "screened"]


def screened(node: RaftState, entries: Sequence[Entry]) -> list[Entry]:
    """Proposals, with an empty entry in place of a change that may not come now: one at a time."""
    kept = []
    for at, entry in enumerate(entries):
        if entry.type != "EntryNormal":
            change = conf_change_of(entry)
            refused = _refusal(node, change)
            if refused and not node.options.disable_conf_change_validation:
                text = "%x ignoring conf change %s at config %s: %s"
                node.say("INFO", text, node.id, _proto_text(change), node.config, refused)
                entry = Entry()
            else:
                node.pending_conf_index = node.log.last_index + at + 1
        kept.append(entry)
    return kept


def _refusal(node: RaftState, change: ConfChange) -> str:
    if node.pending_conf_index > node.log.applied:
        return f"possible unapplied conf change at index {node.pending_conf_index} (applied to {node.log.applied})"
    if node.config.is_joint and change.changes:
        return "must transition out of joint config first"
    if not node.config.is_joint and not change.changes:
        return "not in joint state; refusing empty conf change"
    return ""


_TRANSITIONS = {
    "auto": "ConfChangeTransitionAuto",
    "implicit": "ConfChangeTransitionJointImplicit",
    "explicit": "ConfChangeTransitionJointExplicit",
}


def _proto_text(change: ConfChange) -> str:
    """As upstream's log shows it: protobuf's text form."""
    if change.v1:
        return f"id:0 type:ConfChange{change.changes[0].type} node_id:{change.changes[0].node}"
    words = [f"transition:{_TRANSITIONS[change.transition]}"]
    words += [f"changes:{{type:ConfChange{one.type} node_id:{one.node}}}" for one in change.changes]
    return " ".join(words)


def apply_change(node: RaftState, change: ConfChange) -> ConfState:
    """A change was committed and is applied now: who belongs to the group from here on."""
    before = confchange.Change(node.config, node.progress)
    limits = node.inflight_limits
    node.use(confchange.changed(before, change, last_index=node.log.last_index, inflights=limits))
    if node.role == "StateLeader":
        _go_on(node)
    return node.config.state


def _go_on(node: RaftState) -> None:
    """What a leader does about a new configuration."""
    if node.id not in node.progress or node.is_learner:
        if node.options.step_down_on_removal:
            node.become_follower(node.term, NONE)
        return
    if not node.config.voters:
        return
    if replication.maybe_commit(node):
        replication.send_to_all(node)
    else:
        for to in node.others:
            replication.maybe_send(node, to, if_empty=False)
    if node.transferee not in node.config.electorate:
        node.transferee = NONE


def leave_when_due(node: RaftState) -> Message | None:
    """The proposal that ends a joint configuration which is to be left by itself, once it is applied."""
    if node.role != "StateLeader" or not node.config.auto_leave or node.log.applied < node.pending_conf_index:
        return None
    return Message("MsgProp", sender=node.id, entries=(ConfChange().entry(),))
