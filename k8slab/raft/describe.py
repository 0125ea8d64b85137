"""Messages, entries and ready work as text, in the words of upstream's scripts.

Upstream: go.etcd.io/raft/v3 util.go, quorum/majority.go (Describe)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from k8slab.raft.messages import NONE, Entry, HardState, Message, Snapshot, SoftState, conf_change_of
from k8slab.raft.node import Ready

__all__ = ["committed_picture", "entry_text", "message_text", "ready_text"]


def entry_text(entry: Entry) -> str:
    """`1/3 EntryNormal "put a"`"""
    if entry.type == "EntryNormal":
        said = f' "{_quoted(entry.data)}"'
    else:
        said = f" {conf_change_of(entry)}" if entry.data else ""
    return f"{entry.term}/{entry.index} {entry.type}{said}"


def _quoted(data: bytes) -> str:
    text = data.decode("utf-8", "backslashreplace")
    return text.replace("\\", "\\\\").replace('"', '\\"')


def snapshot_text(snapshot: Snapshot) -> str:
    """Index, term and who belongs to the group."""
    state = snapshot.conf_state
    sets = [
        f"{name}:[{' '.join(map(str, nodes))}]"
        for name, nodes in (
            ("Voters", state.voters),
            ("VotersOutgoing", state.voters_outgoing),
            ("Learners", state.learners),
            ("LearnersNext", state.learners_next),
        )
    ]
    auto = str(state.auto_leave).lower()
    return f"Index:{snapshot.index} Term:{snapshot.term} ConfState:{' '.join(sets)} AutoLeave:{auto}"


def message_text(m: Message, indent: str = "") -> str:
    """`1->2 MsgApp Term:1 Log:1/2 Commit:2 Entries:[1/3 EntryNormal ""]`, more entries a line each."""
    words = [f"{_node(m.sender)}->{_node(m.to)} {m.type} Term:{m.term} Log:{m.log_term}/{m.index}"]
    words += [f"Rejected (Hint: {m.reject_hint})"] if m.reject else []
    words += [f"Commit:{m.commit}"] if m.commit else []
    if len(m.entries) == 1:
        words.append(f"Entries:[{entry_text(m.entries[0])}]")
    elif m.entries:
        lines = "".join(f"\n{indent}  {entry_text(entry)}" for entry in m.entries)
        words.append(f"Entries:[{lines}\n{indent}]")
    text = " ".join(words)
    if m.snapshot is not None and m.snapshot.index:
        text += f"\n{indent}  Snapshot: {snapshot_text(m.snapshot)}"
    return text


def _node(id: int) -> str:
    return "None" if id == NONE else f"{id:x}"


def _hard_state(state: HardState) -> str:
    return f"Term:{state.term}{f' Vote:{state.vote}' if state.vote else ''} Commit:{state.commit}"


def _soft_state(state: SoftState) -> str:
    return f"Lead:{state.lead} State:{state.role}"


def ready_text(ready: Ready) -> str:
    """What a node wants done."""
    lines: list[str] = []
    if ready.soft_state is not None:
        lines.append(_soft_state(ready.soft_state))
    if ready.hard_state is not None:
        lines.append(f"HardState {_hard_state(ready.hard_state)}")
    if ready.read_states:
        states = " ".join(f"{{{state.index} {list(state.context)}}}" for state in ready.read_states)
        lines.append(f"ReadStates [{states}]")
    lines += _titled("Entries:", map(entry_text, ready.entries))
    if ready.snapshot is not None:
        lines.append(f"Snapshot {snapshot_text(ready.snapshot)}")
    lines += _titled("CommittedEntries:", map(entry_text, ready.committed_entries))
    lines += _titled("Messages:", map(message_text, ready.messages))
    if not lines:
        return "<empty Ready>"
    return "\n".join([f"Ready MustSync={str(ready.must_sync).lower()}:", *lines])


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    found = list(lines)
    return [title, *found] if found else []


def committed_picture(voters: Sequence[int], acked: Callable[[int], int | None]) -> str:
    """A bar for each voter, as long as it is ahead of others; the committed index is where a majority's bars reach.

    `?`: nothing is known of it.
    """
    if not voters:
        return "<empty majority quorum>"
    known = {voter: acked(voter) for voter in voters}
    by_index = sorted(voters, key=lambda voter: (known[voter] or 0, voter))
    bars: dict[int, int] = {}
    for at, voter in enumerate(by_index):
        behind = by_index[at - 1] if at else None
        bars[voter] = bars[behind] if behind is not None and (known[behind] or 0) >= (known[voter] or 0) else at
    width = len(voters)
    lines = [" " * width + "    idx"]
    for voter in sorted(voters):
        bar = "?" if known[voter] is None else "x" * bars[voter] + ">"
        lines.append(f"{bar:{width + 1}} {known[voter] or 0:5d}    (id={voter})")
    return "\n".join(lines)
