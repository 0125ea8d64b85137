"""A node at work: its disk, its clock, its place in the network, and the state machine above it.

Tasks: `<name>/run` takes one message at a time and carries out what is ready, `<name>/clock` ticks. Between saving
and sending lies an `await` when the disk takes time: there a crash finds a promise that was never made.

Upstream: etcd server/etcdserver/raft.go (raftNode), server.go (applyAll, snapshot)
Simplified: a removed member stops after ten ticks (etcd: after a second); entries are applied by the task that saves
them, not by one of its own; a snapshot and the cut of the log come together, as in etcd up to 3.5 (3.6 cuts the log in
memory every 100 entries).
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from k8slab.raft.errors import RaftError
from k8slab.raft.messages import (
    NONE,
    ConfState,
    Entry,
    Message,
    ReadState,
    Role,
    Snapshot,
    conf_change_of,
)
from k8slab.raft.node import Node, Ready
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import MemoryStorage
from k8slab.raft.wal import WriteAheadLog
from k8slab.sim import Component, Disk, DiskError, Loop, Network, Waiters, pause, sleep

__all__ = ["Machine", "Member"]


class Machine(Protocol):
    """What committed entries are for. All members apply the same entries in the same order."""

    def apply(self, entry: Entry) -> None:
        """Carry out a normal entry."""

    def snapshot(self) -> bytes:
        """All that was applied, as bytes."""

    def restore(self, data: bytes) -> None:
        """Become what `snapshot` gave."""


LEAVE_TICKS, SNAPSHOT_TICKS = 10, 10
"""How long a removed member stays to tell the others, and how long a snapshot may be under way."""

MOST_SHOWN = 24
"""So many entries of a log, the newest, are in a member's view."""

ROLES = {
    "StateFollower": "follower",
    "StatePreCandidate": "pre-candidate",
    "StateCandidate": "candidate",
    "StateLeader": "leader",
}


class Carried(NamedTuple):
    """A message on its way, and two events: `sent` is its sending, `committed` the sender's commit that it tells of."""

    message: Message
    sent: int | None
    committed: int | None


class _Applied(MemoryStorage):
    """A snapshot for a follower is taken when it is needed: of what is applied now, with who belongs to the group now.

    The one on the disk may be older than the follower's membership.
    """

    def __init__(self, saved: MemoryStorage, take: Callable[[], Snapshot]) -> None:
        super().__init__()
        self.__dict__.update(saved.__dict__)
        self._take = take

    @property
    def saved(self) -> Snapshot:
        """The newest that is on the disk."""
        return super().snapshot()

    def snapshot(self) -> Snapshot:
        return self._take()


class Member:
    """One member of a group, from its start to its crash; what survives is on its disk.

    `snapshot_count`: after so many applied entries it takes a snapshot, and keeps `keep_entries` before it for slow
    followers. `tick_ms` of virtual time make a tick; the first begins at a moment drawn by lot, unless `in_step`.
    """

    def __init__(
        self,
        loop: Loop,
        network: Network,
        disk: Disk,
        config: RaftConfig,
        machine: Machine,
        *,
        name: str,
        voters: tuple[int, ...],
        endpoint: Callable[[int], str],
        tick_ms: int = 100,
        in_step: bool = False,
        snapshot_count: int = 10_000,
        keep_entries: int = 5_000,
    ) -> None:
        self.loop = loop
        self.network = network
        self.name = name
        self.machine = machine
        self.wal = WriteAheadLog(disk)
        self.component = Component(loop, name)
        self.tick_ms = tick_ms
        self._in_step = in_step
        self.snapshot_count = snapshot_count
        self.keep_entries = keep_entries
        self.storage = _Applied(self._open(voters), self._snapshot_now)
        snapshot = self.storage.saved
        machine.restore(snapshot.data)
        self._applied = (snapshot.index, snapshot.term)
        self.node = Node(replace(config, applied=snapshot.index), self.storage, seed=loop.stream(f"{name}/elections"))
        self.conf_state: ConfState = snapshot.conf_state
        self.on_read: list[Callable[[ReadState], None]] = []
        self.on_apply: list[Callable[[Entry], None]] = []
        self.on_role: list[Callable[[Role], None]] = []
        self.on_lead: list[Callable[[int], None]] = []
        self._endpoint = endpoint
        self._inbox: deque[tuple[int | None, Callable[[], None]]] = deque()
        self._heard: tuple[int, Carried] | None = None  # the message at hand and its event, if it tells of a commit
        self._commits: list[tuple[int, int]] = []  # what it told: the commit index, and the event
        self._woken = Waiters(loop)
        self._leaderless: list[tuple[int | None, Callable[[Node], None], str]] = []
        self._told = (self.node.raft.role, self.node.raft.term, self.node.raft.log.committed)
        self._lead = self.node.raft.lead
        self._has_left = False
        self.unfit = 0
        """The index of the last committed change that did not fit, and changed nothing."""
        self.why = ""
        """Why the last committed change did not fit, or that it left the group as it was; else empty."""
        self._remains: MemoryStorage | None = None  # what the disk holds, once crashed and looked at
        self._emit("raft.start", term=self.node.raft.term, last=self.node.raft.log.last_index)
        network.listen(name, self._receive)
        self.component.on_close(lambda: network.unlisten(name))
        self.component.spawn("run", self._run)
        self.component.spawn("clock", self._tick)

    def _open(self, voters: tuple[int, ...]) -> MemoryStorage:
        """What is on the disk; a new disk is given the first configuration, as entry 1."""
        storage = self.wal.load()
        if storage.snapshot().index == 0 and storage.last_index() == 0 and voters:
            storage.apply_snapshot(Snapshot(1, 1, ConfState(voters), b""))
            self.wal.save_snapshot(storage.snapshot(), storage)
        return storage

    def _emit(self, kind: str, **data: Any) -> int | None:
        """An event of this member. Always before what it tells is done, or `view()` would run ahead of the trace."""
        return self.loop.trace.emit(kind, self.name, id=self.node.raft.id, **data)

    @property
    def applied(self) -> int:
        """The index of the last entry that is in the machine."""
        return self._applied[0]

    def _snapshot_now(self) -> Snapshot:
        index, term = self._applied
        return Snapshot(index, term, self.conf_state, self.machine.snapshot())

    # -- what comes in -----------------------------------------------------------------------------

    def _receive(self, source: str, carried: Carried) -> None:
        self._put(carried.sent, lambda: self._hear(carried))

    def _hear(self, carried: Carried) -> None:
        message = carried.message
        if self.loop.trace.on:
            received = self._emit("raft.receive", type=message.type, sender=message.sender, term=message.term)
            if received is not None and carried.committed is not None:
                self._heard = (received, carried)
        try:
            self.node.step(message)
        except RaftError as error:
            self._drop(str(message.type), error)

    def call(self, action: Callable[[Node], None], what: str) -> None:
        """Have the node do something in its next step, such as propose."""
        self._put(self.loop.trace.current, lambda: self._try(lambda: action(self.node), what))

    def call_with_leader(self, action: Callable[[Node], None], what: str) -> None:
        """The same, as soon as the node knows a leader."""
        if self.node.raft.lead:
            self.call(action, what)
        else:
            self._leaderless.append((self.loop.trace.current, action, what))

    def _try(self, action: Callable[[], None], what: str) -> None:
        try:
            action()
        except RaftError as error:
            self._drop(what, error)

    def _drop(self, what: str, error: RaftError) -> None:
        self._emit("raft.drop", what=what, why=str(error))

    def _put(self, cause: int | None, action: Callable[[], None]) -> None:
        self._inbox.append((cause, action))
        self._woken.wake()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be heard or done."""
        return not self._inbox and not self._leaderless

    # -- what is done ------------------------------------------------------------------------------

    async def _tick(self) -> None:
        # machines were not switched on in the same millisecond: two equal timeouts rarely end together
        if not self._in_step:
            await sleep(self.loop.stream(f"{self.name}/ticks").randrange(self.tick_ms), periodic=True)
        while True:
            await sleep(self.tick_ms, periodic=True)
            self._put(None, self.node.tick)

    async def _run(self) -> None:
        while True:
            while not self._inbox:
                await pause(self._woken)
            self.loop.trace.current, action = self._inbox.popleft()
            self._heard = None
            action()
            while self.node.has_ready():
                await self._carry_out(self.node.ready())
            if self._leaderless and self.node.raft.lead:
                self._go_on()
            if self._inbox:
                await pause()  # one message an action

    def _go_on(self) -> None:
        """There is a leader again: what waited for one may be done."""
        waiting, self._leaderless = self._leaderless, []
        for cause, action, what in waiting:
            self._put(cause, lambda action=action, what=what: self._try(lambda: action(self.node), what))  # type: ignore[misc]

    async def _carry_out(self, ready: Ready) -> None:
        """Save, send, apply: in this order, or a crash makes this node break its word."""
        self._tell_role()
        if ready.snapshot is not None:
            self._tell_commit()
        took = self._save(ready)
        saved = self.loop.trace.current
        self._tell_commit()  # now that the entries are here: what was in their place was not committed
        committed = self.loop.trace.current
        if took:
            await sleep(took)
        if self._heard is not None:
            self.loop.trace.current = saved  # it answers what it was sent, whether that commits something or not
        for message in ready.messages:
            self._send(message)
        self.loop.trace.current = committed
        for entry in ready.committed_entries:
            self._apply(entry)
        self.node.advance()
        for state in ready.read_states:
            for hear in list(self.on_read):
                hear(state)
        self._tell_role()
        self._tell_commit()
        self._maybe_snapshot()

    def _save(self, ready: Ready) -> int:
        trace, storage = self.loop.trace, self.storage
        took = 0
        if ready.hard_state is not None:
            storage.hard_state = ready.hard_state
        if ready.snapshot is not None:
            storage.apply_snapshot(ready.snapshot)
            took += self.wal.save_snapshot(ready.snapshot, storage)
            self.machine.restore(ready.snapshot.data)
            self._applied = (ready.snapshot.index, ready.snapshot.term)
            self.conf_state = ready.snapshot.conf_state
            self._emit("raft.snapshot", index=ready.snapshot.index, term=ready.snapshot.term, how="restores")
        for entry in ready.entries:
            if trace.on:
                self._emit("raft.append", index=entry.index, term=entry.term, what=shown(entry))
            storage.append([entry])
        return took + self.wal.save(ready.hard_state, ready.entries, sync=ready.must_sync)

    def _send(self, message: Message) -> None:
        trace = self.loop.trace
        cause = trace.current
        if trace.on:
            count = len(message.entries)
            head: dict[str, Any] = {
                "type": message.type,
                "to": message.to,
                "term": message.term,
                "index": message.index,
            }
            self._emit("raft.send", **head, count=count)
        self.network.send(
            self.name, self._endpoint(message.to), Carried(message, trace.current, self._told_by(message))
        )
        trace.current = cause
        if message.type == "MsgSnap" and message.snapshot is not None:
            index = message.snapshot.index
            self.loop.call_later(SNAPSHOT_TICKS * self.tick_ms, lambda: self._doubt_snapshot(message.to, index))

    def _told_by(self, message: Message) -> int | None:
        """The event by which this member knew that what a message tells of is committed."""
        index = message.snapshot.index if message.snapshot is not None else message.commit
        if not index:
            return None
        at = bisect_left(self._commits, (index, 0))
        return self._commits[at][1] if at < len(self._commits) else None

    def _doubt_snapshot(self, to: int, index: int) -> None:
        """Whoever carries a snapshot says whether it arrived; here: no answer in time is a no."""
        progress = self.node.raft.progress.get(to)
        if self.component.alive and progress is not None and progress.pending_snapshot == index:
            self.call(lambda node: node.report_snapshot(to, failed=True), f"snapshot for {to}")

    def _apply(self, entry: Entry) -> None:
        trace = self.loop.trace
        if trace.on:
            self._emit("raft.apply", index=entry.index, term=entry.term, what=shown(entry))
        self._applied = (entry.index, entry.term)
        if entry.type == "EntryNormal":
            if entry.data:
                self.machine.apply(entry)
        else:
            self._change_group(entry)
        for listener in list(self.on_apply):
            listener(entry)

    def _change_group(self, entry: Entry) -> None:
        """Every member decides alike whether a committed change fits; one that does not changes nothing."""
        change, before = conf_change_of(entry), self.node.raft.config
        try:
            self.conf_state = self.node.apply_conf_change(change)
        except RaftError as error:
            self.unfit, self.why = entry.index, str(error)
            self._drop(f"change {change}", error)
        else:
            now = self.node.raft.config
            is_idle = change.changes and (before.voters, before.learners) == (now.voters, now.learners)
            self.why = f"nobody's part changes: {before} as before" if is_idle else ""
            self._emit("raft.config", config=str(now))
            if self.node.raft.id not in self.node.raft.progress:
                self.loop.call_later(LEAVE_TICKS * self.tick_ms, self._leave)

    def _leave(self) -> None:
        """Removed: it has told the others for a while that this is committed, and stops for good."""
        if self.component.alive and self.node.raft.id not in self.node.raft.progress:
            self._emit("raft.leave")
            self._has_left = True
            self.component.kill()

    def _holds(self) -> int:
        """The index of the last entry that is in the machine."""
        return self.node.raft.log.applied

    def _maybe_snapshot(self) -> None:
        index = self._holds()
        if index - self.storage.saved.index < self.snapshot_count:
            return
        snapshot = self.storage.create_snapshot(index, self.conf_state, self.machine.snapshot())
        upto = snapshot.index - self.keep_entries
        if upto >= self.storage.first_index():
            self.storage.compact(upto)
        self.wal.save_snapshot(snapshot, self.storage)
        self._emit("raft.snapshot", index=snapshot.index, term=snapshot.term, how="takes")

    def _tell_role(self) -> None:
        """Changes of role, term and leader, for the trace and whoever listens."""
        raft = self.node.raft
        role, term, committed = self._told
        if (role, term) != (raft.role, raft.term):
            self._emit("raft.role", role=ROLES[raft.role], term=raft.term)
            self._told = (raft.role, raft.term, committed)
            for listener in self.on_role:
                listener(raft.role)
        if self._lead != raft.lead:
            self._lead = raft.lead
            for hears in self.on_lead:
                hears(raft.lead)

    def _tell_commit(self) -> None:
        """A change of the commit index, for the trace.

        A follower has it from a message. The cause is that message if the leader sent it because of its commit; a
        message that was due for another reason is named in `also`, and the cause is the leader's commit.
        """
        raft, trace = self.node.raft, self.loop.trace
        role, term, committed = self._told
        index = raft.log.committed
        if committed == index:
            return
        also: tuple[int, ...] = ()
        if self._heard is not None:
            received, carried = self._heard
            sent = None if carried.sent is None else trace.get(carried.sent)
            is_sent_for_it = sent is not None and sent.cause == carried.committed
            trace.current, also = (received, ()) if is_sent_for_it else (carried.committed, (received,))
        seq = self._emit("raft.commit", also=also, index=index, term=raft.log.term_or_zero(index))
        self._told = (role, term, index)
        if seq is not None:
            self._commits.append((index, seq))

    # -- the end -----------------------------------------------------------------------------------

    def crash(self) -> None:
        """Stop where it stands, and lose what the disk has not synced."""
        self.component.kill()
        self.wal.disk.crash()
        self._emit("raft.crash")

    def view(self) -> dict[str, Any]:
        """What it has told and saved: role, term, vote, committed, applied, and the newest entries of its log by index
        (`"<term> <what>"`, `first`: the oldest that is in no snapshot). A crashed one: what its disk holds."""
        if not self.component.alive:
            return self._view_of_the_dead()
        role, term, committed = self._told
        return {
            "role": ROLES[role],
            "term": term,
            "vote": _vote(self.storage, term),
            "lead": self.node.raft.lead,
            "committed": committed,
            "applied": self._applied[0],
            **_log_view(self.storage),
        }

    def _view_of_the_dead(self) -> dict[str, Any]:
        role = "left" if self._has_left else "crashed"
        if self._remains is None:
            # A copy of the disk: reading mends a torn end.
            try:
                self._remains = WriteAheadLog(copy.deepcopy(self.wal.disk)).load()
            except (RaftError, DiskError) as error:
                return {"role": role, "term": 0, "vote": 0, "committed": 0, "first": 1, "log": {}, "disk": str(error)}
        state = self._remains.hard_state
        return {
            "role": role,
            "term": state.term,
            "vote": state.vote,
            "committed": state.commit,
            **_log_view(self._remains),
        }

    def check_invariants(self) -> None:
        """AssertionError when node and storage contradict each other."""
        self.node.check_invariants()
        self.storage.check_invariants()


def _vote(storage: MemoryStorage, term: int) -> int:
    """Whom the node voted for in `term`, as the disk knows it."""
    return storage.hard_state.vote if storage.hard_state.term == term else NONE


def _log_view(storage: MemoryStorage) -> dict[str, Any]:
    first, last = storage.first_index(), storage.last_index()
    low = max(first, last + 1 - MOST_SHOWN)
    entries = storage.entries(low, last + 1) if low <= last else ()
    return {"first": first, "log": {str(entry.index): f"{entry.term} {shown(entry)}".rstrip() for entry in entries}}


def shown(entry: Entry, most: int = 24) -> str:
    """What an entry holds, in a few characters."""
    if entry.type != "EntryNormal":
        change = str(conf_change_of(entry))
        return f"change {change}" if change else "leave joint"
    text = entry.data.partition(b"\x00")[0].decode("utf-8", "replace") or "an empty entry"
    return text if len(text) <= most else text[: most - 1] + "…"
