"""What Raft nodes say to each other, and what they keep.

Upstream: go.etcd.io/raft/v3 raftpb/raft.proto, raft.go (StateType, SoftState), read_only.go (ReadState)
Simplified: a change of configuration is kept as JSON in its entry, not as protobuf; sizes are counted as protobuf's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias, get_args

from k8slab.raft.errors import RaftError

__all__ = [
    "EMPTY_SNAPSHOT",
    "NONE",
    "NO_LIMIT",
    "ConfChange",
    "ConfChangeSingle",
    "ConfState",
    "Entry",
    "EntryID",
    "EntryType",
    "HardState",
    "Message",
    "MessageType",
    "ReadState",
    "Role",
    "Snapshot",
    "SoftState",
    "Transition",
    "conf_change_of",
    "entries_size",
    "limit_size",
    "payload_size",
]

NONE = 0
"""No node: nobody was voted for, nobody leads."""

NO_LIMIT = 2**64 - 1
"""A size or a number that is never reached."""

Role: TypeAlias = Literal["StateFollower", "StatePreCandidate", "StateCandidate", "StateLeader"]

MessageType: TypeAlias = Literal[
    "MsgApp",
    "MsgAppResp",
    "MsgBeat",
    "MsgCheckQuorum",
    "MsgForgetLeader",
    "MsgHeartbeat",
    "MsgHeartbeatResp",
    "MsgHup",
    "MsgPreVote",
    "MsgPreVoteResp",
    "MsgProp",
    "MsgReadIndex",
    "MsgReadIndexResp",
    "MsgSnap",
    "MsgSnapStatus",
    "MsgTimeoutNow",
    "MsgTransferLeader",
    "MsgUnreachable",
    "MsgVote",
    "MsgVoteResp",
]

EntryType: TypeAlias = Literal["EntryNormal", "EntryConfChange", "EntryConfChangeV2"]

Transition: TypeAlias = Literal["auto", "implicit", "explicit"]
"""How a joint configuration is left: as fits, by itself, by a second proposal."""


class EntryID(NamedTuple):
    """Which entry: equal ids mean equal logs up to it (the log matching property)."""

    term: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here


class Entry(NamedTuple):
    """One place in the log. `data`: what the state machine above gets; empty for a new leader's first entry."""

    term: int = 0
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    type: EntryType = "EntryNormal"
    data: bytes = b""

    @property
    def size(self) -> int:
        """Bytes in protobuf, which limits are about."""
        data = len(self.data)
        return 4 + _varint(self.term) + _varint(self.index) + (1 + _varint(data) + data if data else 0)


def _varint(value: int) -> int:
    return max(1, (value.bit_length() + 6) // 7)


def entries_size(entries: Iterable[Entry]) -> int:
    return sum(entry.size for entry in entries)


def payload_size(entries: Iterable[Entry]) -> int:
    """Bytes of data alone: what a leader counts as not yet committed."""
    return sum(len(entry.data) for entry in entries)


def limit_size(entries: tuple[Entry, ...], most: int) -> tuple[Entry, ...]:
    """The longest start of `entries` within `most` bytes, and at least one entry."""
    if most >= NO_LIMIT or len(entries) <= 1:
        return entries
    size = 0
    for number, entry in enumerate(entries):
        size += entry.size
        if size > most and number:
            return entries[:number]
    return entries


class ConfState(NamedTuple):
    """Who belongs to the group: node ids in ascending order. `voters_outgoing` is set while two majorities count."""

    voters: tuple[int, ...] = ()
    learners: tuple[int, ...] = ()
    voters_outgoing: tuple[int, ...] = ()
    learners_next: tuple[int, ...] = ()
    auto_leave: bool = False


class Snapshot(NamedTuple):
    """The state after entry `index`, which has `term`, and who belonged to the group then."""

    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    term: int = 0
    conf_state: ConfState = ConfState()
    data: bytes = b""


EMPTY_SNAPSHOT = Snapshot()


class HardState(NamedTuple):
    """What must be on disk before any message that depends on it leaves."""

    term: int = 0
    vote: int = NONE
    commit: int = 0


class SoftState(NamedTuple):
    """What is known of roles; lost in a crash without harm."""

    lead: int
    role: Role


class ReadState(NamedTuple):
    """A read may be answered when entry `index` is applied. `context`: what the request was named."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    context: bytes


class Message(NamedTuple):
    """From `sender` to `to`. What `index`, `log_term` and `commit` mean depends on the type, as in upstream.

    MsgApp: the entry before `entries`. MsgVote: the candidate's last entry. MsgAppResp: the last entry that matches,
    or the one refused (`reject`), with a hint where to look next.
    """

    type: MessageType
    to: int = NONE
    sender: int = NONE
    term: int = 0
    log_term: int = 0
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    entries: tuple[Entry, ...] = ()
    commit: int = 0
    reject: bool = False
    reject_hint: int = 0
    snapshot: Snapshot | None = None
    context: bytes = b""


class ConfChangeSingle(NamedTuple):
    """One change: `type` is AddNode, RemoveNode, UpdateNode or AddLearnerNode."""

    type: str
    node: int


_CHANGES = {"v": "AddNode", "l": "AddLearnerNode", "r": "RemoveNode", "u": "UpdateNode"}
_LETTERS = {name: letter for letter, name in _CHANGES.items()}
_WORD = re.compile(f"[{''.join(_CHANGES)}][0-9]{{1,20}}")
_LARGEST_ID = 2**64 - 1


class ConfChange(NamedTuple):
    """Changes of who belongs to the group. Without any: leave the joint configuration.

    `v1`: the older kind, one change at a time, which never is joint.
    """

    changes: tuple[ConfChangeSingle, ...] = ()
    transition: Transition = "auto"
    v1: bool = False
    context: bytes = b""

    @classmethod
    def parse(cls, text: str, *, transition: Transition = "auto", v1: bool = False) -> ConfChange:
        """From `v1 l2 r3 u4`: add voter 1, add learner 2, remove 3, update 4. RaftError for anything else.

        >>> ConfChange.parse("v4 r1").changes
        (ConfChangeSingle(type='AddNode', node=4), ConfChangeSingle(type='RemoveNode', node=1))
        """
        if not isinstance(text, str):
            raise RaftError(f"changes {text!r}: expected text, such as v4")
        changes = []
        for word in text.split():
            if not _WORD.fullmatch(word):
                raise RaftError(f"change {word!r}: expected v, l, r or u and a node id, such as v4")
            changes.append(ConfChangeSingle(_CHANGES[word[0]], int(word[1:])))
        found = cls(tuple(changes), transition, v1)
        found.check()
        return found

    def check(self) -> None:
        """RaftError naming the field that holds what no change can hold."""
        changes, transition, v1, context = self
        if not isinstance(changes, tuple):
            raise RaftError(f"changes {changes!r}: expected a tuple of ConfChangeSingle")
        for change in changes:
            if not isinstance(change, ConfChangeSingle):
                raise RaftError(f"change {change!r}: expected one such as ConfChangeSingle('AddNode', 4)")
            if change.type not in list(_LETTERS):
                raise RaftError(f"type {change.type!r} of a change: expected one of {', '.join(_LETTERS)}")
            if type(change.node) is not int or not 0 <= change.node <= _LARGEST_ID:
                raise RaftError(f"node {change.node!r} of a change: expected a number from 0 to {_LARGEST_ID}")
        if transition not in get_args(Transition):
            raise RaftError(f"transition {transition!r}: expected one of {', '.join(get_args(Transition))}")
        if v1 and len(changes) != 1:
            raise RaftError(f"changes '{self}': expected one, for the first kind of change (v1)")
        if type(context) is not bytes:
            raise RaftError(f"context {context!r}: expected bytes")

    def __str__(self) -> str:
        return " ".join(f"{_LETTERS[change.type]}{change.node}" for change in self.changes)

    @property
    def leaves_joint(self) -> bool:
        """Whether it asks for the end of a joint configuration."""
        return not self.changes and self.transition == "auto"

    @property
    def enters_joint(self) -> bool:
        """Whether two majorities must count: for more than one change, or when asked for."""
        return self.transition != "auto" or len(self.changes) > 1

    @property
    def auto_leave(self) -> bool:
        """Whether a joint configuration is left without a second proposal."""
        return self.transition != "explicit"

    def entry(self) -> Entry:
        """To propose. RaftError for what is no change."""
        self.check()
        if self == ConfChange():
            return Entry(type="EntryConfChangeV2")
        fields = {
            "changes": [list(change) for change in self.changes],
            "transition": self.transition,
            "context": self.context.hex(),
        }
        data = json.dumps(fields, sort_keys=True).encode()
        return Entry(type="EntryConfChange" if self.v1 else "EntryConfChangeV2", data=data)


def conf_change_of(entry: Entry) -> ConfChange:
    """What an entry changes. RaftError when it is not such an entry, or its data cannot be read."""
    if entry.type == "EntryNormal":
        raise RaftError(f"entry {entry.index} changes no configuration")
    if not entry.data:
        return ConfChange(v1=entry.type == "EntryConfChange")
    try:
        fields = json.loads(entry.data)
        changes = tuple(ConfChangeSingle(kind, node) for kind, node in fields["changes"])
        context = bytes.fromhex(fields["context"])
        change = ConfChange(changes, fields["transition"], entry.type == "EntryConfChange", context)
        change.check()
    except (ValueError, KeyError, TypeError, RaftError) as error:
        raise RaftError(f"entry {entry.index}: no readable change of the configuration: {error!r}") from error
    return change
