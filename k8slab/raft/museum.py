"""The bug museum: mistakes from the history of Raft and etcd, each as a few wrong lines that a check catches.

>>> from k8slab.raft import museum
>>> print(museum.show("figure-8")[1].partition(" (")[0])
state machine safety: raft/1 applies 'x=old' at 3, raft/5 'an empty entry'
>>> museum.show("figure-8", mended=True)
[]

Upstream: see `source` of each exhibit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from k8slab.raft import member, reads, replication
from k8slab.raft.chaos import Schedule, play
from k8slab.raft.log import Log
from k8slab.raft.messages import Entry, EntryID, HardState, Message
from k8slab.raft.state import RaftState
from k8slab.raft.wal import WriteAheadLog

__all__ = ["EXHIBITS", "Change", "Exhibit", "in_place", "lines", "show"]

Change = tuple[Any, str, Any]
"""What is put in place of an attribute of a class or a module: (owner, attribute, value)."""


class Exhibit(NamedTuple):
    """`story`: what goes wrong. `source`: where it happened, or who warned of it. `wrong`: what is put in place of
    what. `schedule`: how it comes to light. `check`: the judge that says so."""

    name: str
    story: str
    source: str
    wrong: Sequence[Change]
    schedule: str
    check: str


def show(name: str, *, mended: bool = False) -> list[str]:
    """What the checks find in the wrong variant; `mended`: in the right one, by the same schedule. KeyError."""
    exhibit = EXHIBITS[name]
    with in_place(() if mended else exhibit.wrong):
        try:
            return play(Schedule.parse(exhibit.schedule), heal=False).problems
        except AssertionError as error:
            return [f"a node refuses to go on: {error}".split("\n")[0]]


def lines(changes: Sequence[Change]) -> str:
    """The lines that are put in place, each under the name of what they replace."""
    shown = []
    for owner, attribute, value in changes:
        source = inspect.getsource(value).replace("  # fmt: skip", "").rstrip()
        shown.append(f"# {owner.__name__.rpartition('.')[2]}.{attribute} becomes\n{source}")
    return "\n\n".join(shown)


@contextmanager
def in_place(changes: Sequence[Change]) -> Iterator[None]:
    """Have the lines in place for as long as the block lasts."""
    before = [(owner, attribute, getattr(owner, attribute)) for owner, attribute, _ in changes]
    try:
        for owner, attribute, value in changes:
            setattr(owner, attribute, value)
        yield
    finally:
        for owner, attribute, value in before:
            setattr(owner, attribute, value)


# -- the wrong lines -------------------------------------------------------------------------------


def _commit_by_counting(node: RaftState) -> bool:
    index = node.committed_by_quorum()
    if index <= node.log.committed:
        return False
    # right: only if the entry is of this leader's term
    node.log.commit_to(index)
    return True


_save: Callable[..., int] = WriteAheadLog.save


def _save_without_vote(
    self: WriteAheadLog, state: HardState | None,
    entries: Sequence[Entry], *, sync: bool,
) -> int:  # fmt: skip
    without = state._replace(vote=0) if state else None  # right: with it
    return _save(self, without, entries, sync=sync)


def _save_without_sync(
    self: WriteAheadLog, state: HardState | None,
    entries: Sequence[Entry], *, sync: bool,
) -> int:  # fmt: skip
    return _save(self, state, entries, sync=False)  # right: sync=sync


def _whatever_its_log(self: Log, other: EntryID) -> bool:
    return True  # right: other >= self.last


def _always_replace(
    self: Log, previous: EntryID, entries: Sequence[Entry], committed: int
) -> int | None:  # fmt: skip
    if not self.matches(previous):
        return None
    last = previous.index + len(entries)
    if last < self.last_index and last >= self.committed:
        # right: what agrees stays, also behind the last of the entries
        self.unstable = list(self.slice(self.committed + 1, last + 1))
        self.offset = self.in_progress = self.committed + 1
    elif entries:
        self.append([one for one in entries if one.index > self.committed])
    self.commit_to(min(committed, last))
    return last


def _heartbeat_with_everything(node: RaftState, context: bytes = b"") -> None:
    commit = node.log.committed  # right: at most what each is known to have
    for to in node.others:
        node.send("MsgHeartbeat", to, commit=commit, context=context)


def _answer_without_asking(node: RaftState, m: Message) -> None:
    # right: first a majority says that this node still leads
    reads._answer(node, m, node.log.committed)


def _answer_before_it_knows(node: RaftState, m: Message) -> None:
    reads._ask(node, m)  # right: first an entry of its own term is committed


def _holds_all_that_is_committed(self: member.Member) -> int:
    return self.node.raft.log.committed  # right: what was applied


_QUIET = "pre_vote=0 check_quorum=0 delay_ms=1"
_ALL = (
    Exhibit(
        "votes-twice",
        "A node tells its vote before it is on disk. It crashes, forgets, and votes for another: two lead in one term.",
        "The paper, figure 2: votedFor is persistent state; a common mistake in courses (MIT 6.5840 lab 3C).",
        ((WriteAheadLog, "save", _save_without_vote),),
        f"size=3 seed=1 {_QUIET}: cut 1 2; cut 2 1; campaign 1; run 2; cut 1 3; crash 3; restart 3; campaign 2; run 3",
        "election safety",
    ),
    Exhibit(
        "log-not-compared",
        "A vote for whoever asks, whatever its log: a node that missed a committed entry leads, and overwrites it.",
        "The paper, §5.4.1: without this restriction leaders would need a way to learn what they missed.",
        ((Log, "is_up_to_date", _whatever_its_log),),
        f"size=3 seed=1 {_QUIET}: campaign 1; run 5; partition 3; write x=1 1; run 9; heal; crash 1; campaign 3; run 9",
        "leader completeness",
    ),
    Exhibit(
        "figure-8",
        "A new leader counts who has an entry of an older term, and calls it committed. A third leader overwrites it.",
        "The paper, figure 8 and §5.4.2; LogCabin issue 44 (2013), PySyncObj issue 169, canonical/raft issue 220.",
        ((replication, "maybe_commit", _commit_by_counting),),
        f"size=5 seed=1 {_QUIET} max_size_per_message=0: campaign 1; run 5; partition 1 2; write x=old 1; run 3; "
        "crash 1; heal; campaign 5; run 2; partition 5; run 3; crash 5; heal; restart 1; campaign 1; run 3; "
        "campaign 1; run 6; partition 1 2; run 3; restart 5; campaign 5; run 3; campaign 5; run 20",
        "state machine safety",
    ),
    Exhibit(
        "cuts-what-agrees",
        "A follower drops everything behind the entries of a message, even if it agrees: a late message from before "
        "undoes what it has promised.",
        "Gjengset, Students' Guide to Raft: delete only on a conflict; akka-entity-replication issue 152 (2022).",
        ((Log, "maybe_append", _always_replace),),
        f"size=3 seed=4 {_QUIET.replace('delay_ms=1', 'delay_ms=30')} reorder=1 duplicate=20: campaign 1; run 90; "
        + "; ".join(f"write x={n} 1; run 7" for n in range(12))
        + "; run 60; crash 1; campaign 2; run 200; campaign 3; run 200",
        "leader completeness",
    ),
    Exhibit(
        "heartbeat-says-too-much",
        "A heartbeat carries the leader's commit index to a follower whose log differs: it commits what it has.",
        "etcd raft, sendHeartbeat: no commit index beyond what is known to match; ScyllaDB issue 9965 (2022).",
        ((replication, "send_heartbeats", _heartbeat_with_everything),),
        f"size=3 seed=1 {_QUIET}: campaign 1; run 5; partition 1; write x=old 1; run 3; campaign 2; run 9; heal; "
        "run 30",
        "state machine safety",
    ),
    Exhibit(
        "no-fsync",
        "Answers leave before the disk has the entry. One crash, and an entry that a majority had is gone.",
        "etcd --unsafe-no-fsync; Pillai et al., All File Systems Are Not Created Equal (OSDI 2014).",
        ((WriteAheadLog, "save", _save_without_sync),),
        f"size=3 seed=1 {_QUIET}: campaign 1; run 5; partition 3; write x=1 1; run 9; crash 2; crash 1; heal; "
        "restart 2; campaign 3; run 5; campaign 3; run 30",
        "leader completeness",
    ),
    Exhibit(
        "stale-read",
        "A leader answers reads from what it has. It was deposed behind a partition and does not know.",
        "Jepsen: etcd and Consul, 2014; etcd issue 741 (a leader read from what it had); thesis §6.4.",
        ((reads, "handle_read", _answer_without_asking),),
        f"size=3 seed=1 {_QUIET}: campaign 1; run 5; write x=1 1; run 9; partition 1; campaign 2; run 9; write x=2 2; "
        "run 9; read x 1; run 9",
        "no order explains",
    ),
    Exhibit(
        "read-too-soon",
        "A new leader asks a majority and answers a read. But what its predecessor committed last it does not know "
        "yet.",
        "etcd issue 7331 (2017), mended by 7332: a read waits until an entry of the leader's own term is committed.",
        ((reads, "handle_read", _answer_before_it_knows),),
        f"size=3 seed=1 {_QUIET}: campaign 1; run 5; partition 3; write x=1 1; run 2; heal; partition 1; campaign 2; "
        "run 2; read x 2; run 9",
        "no order explains",
    ),
    Exhibit(
        "index-ahead-of-data",
        "A snapshot claims more than its data holds: after a restart the entries between are never applied.",
        "etcd 3.5.0 to 3.5.2, issue 13766: the consistent index was saved before the data; members differed in "
        "silence.",
        ((member.Member, "_holds", _holds_all_that_is_committed),),
        f"size=3 seed=1 {_QUIET} snapshot_count=4 max_committed_size_per_ready=1: campaign 1; run 5; "
        "cut 1 3; write x=1 1; run 4; write x=2 1; run 4; write x=3 1; run 4; write x=4 1; run 9; heal; run 40; "
        "crash 3; restart 3; run 40; read x 3; run 40",
        "no order explains",
    ),
)
EXHIBITS: dict[str, Exhibit] = {exhibit.name: exhibit for exhibit in _ALL}
"""By name."""
