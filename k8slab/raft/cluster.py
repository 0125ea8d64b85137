"""A whole group on one virtual clock: run it, break it, look at it.

>>> from k8slab.raft import RaftCluster
>>> raft = RaftCluster(3, seed=7)
>>> raft.run(until=raft.has_leader)
True
>>> write = raft.propose("x=1")
>>> raft.run(for_ms=100), write.state, raft.read("x", via=raft.leader, how="serializable").value
(True, 'applied', '1')
>>> raft.crash(raft.leader)
>>> raft.run(until=raft.has_leader), len(raft.alive)
(True, 2)

The defaults are etcd's: a tick of 100 ms, an election timeout of 10 to 20 of them, a heartbeat each, pre-votes and
checks of the quorum. `RaftCluster(5, tick_ms=10, election_tick=15, heartbeat_tick=5, pre_vote=False,
check_quorum=False)` is the paper's: 150 to 300 ms.

Upstream: the MIT 6.5840 test harness for the kinds of faults; etcd server/embed/config.go for the defaults
Simplified: one machine holds key=value pairs; a client waits for its own node and never asks twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from k8slab.raft.confchange import Change, changed
from k8slab.raft.errors import RaftError
from k8slab.raft.inputs import check_number, check_options, check_parts
from k8slab.raft.member import Carried, Machine, Member
from k8slab.raft.messages import NONE, ConfChange, Entry, ReadState
from k8slab.raft.node import Node
from k8slab.raft.state import RaftConfig
from k8slab.sim import Clock, Disk, Faults, Kind, Loop, Network, Order, Trace, add_kinds

__all__ = ["KeyValues", "Proposal", "RaftCluster", "Read"]

_TAG = b"\x00"

MOST_MEMBERS = 50

add_kinds(
    {
        "raft.cut": Kind(
            "state",
            1,
            ("source", "target"),
            "cut {source} to {target}",
            "messages from node {source} to node {target} are lost from now on",
        ),
        "raft.split": Kind(
            "state", 1, ("sides",), "cut {sides}", "messages between nodes {sides} are lost from now on"
        ),
        "raft.mend": Kind("state", 1, ("sides",), "heal {sides}", "messages between nodes {sides} pass again"),
        "raft.heal": Kind("state", 1, (), "heal", "all messages pass again"),
    }
)


class KeyValues:
    """A state machine for examples: `x=1` sets a key."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def apply(self, entry: Entry) -> None:
        """Carry `key=value` out; other texts change nothing."""
        key, equals, value = entry.data.partition(_TAG)[0].decode("utf-8", "replace").partition("=")
        if equals:
            self.values[key] = value

    def snapshot(self) -> bytes:
        """JSON of all pairs."""
        return json.dumps(self.values, sort_keys=True).encode()

    def restore(self, data: bytes) -> None:
        """The pairs of a snapshot; none for the empty one."""
        self.values = json.loads(data) if data else {}


@dataclass
class Proposal:
    """What became of a proposal as the node knows that took it: `pending`, `applied` (with its index), `dropped`.

    One that a follower passed on stays `pending` when the leader drops it: nobody tells the follower. `why`: why it was
    dropped, or that an applied change of the group left it as it was. Raft applies such a change like any other.
    """

    what: str
    via: int
    state: Literal["pending", "applied", "dropped"] = "pending"
    index: int = 0
    why: str = ""


@dataclass
class Read:
    """A read: `pending` until a value is there. `index`: the log index at which it was answered."""

    key: str
    via: int
    how: str
    state: Literal["pending", "answered"] = "pending"
    value: str | None = None
    index: int = 0


class RaftCluster:
    """Members 1 to `size`. Options beyond the named ones are RaftConfig's, for every member.

    `sync_ms`: how long a disk takes to make a write durable, from and to. `in_step`: the members' clocks tick in the
    same millisecond, as those of real machines do not: equal timeouts then end together. `loop`, `network`: to share
    them with others. `machine`: what a member's entries are for, by its id. `on_start` is told of every member that
    starts.

    `Stepper(raft)` shows it: an election, or what was proposed, up to where all members have applied it; with
    `live=True` members are crashed and links cut in the picture.
    """

    views = ("raft", "lanes")
    looks_within = True  # an action is several events: a Stepper looks at the state between them

    def __init__(
        self,
        size: int = 3,
        seed: int | str = 0,
        *,
        faults: Faults | None = None,
        sync_ms: tuple[int, int] = (0, 0),
        tick_ms: int = 100,
        in_step: bool = False,
        order: Order | None = None,
        trace: bool = True,
        loop: Loop | None = None,
        network: Network | None = None,
        machine: Callable[[int], Machine] = lambda id: KeyValues(),
        snapshot_count: int = 10_000,
        keep_entries: int = 5_000,
        name: str = "raft",
        on_start: Callable[[int, Member], None] | None = None,
        **options: Any,
    ) -> None:
        check_number("size", size, 1, MOST_MEMBERS)
        check_number("tick_ms", tick_ms, 1)
        check_number("snapshot_count", snapshot_count, 1)
        check_number("keep_entries", keep_entries, 0)
        if not isinstance(name, str) or not name:
            raise ValueError(f"name {name!r}: expected text that is not empty")
        check_parts(loop, network, machine, on_start)
        check_options(options)
        if network is not None and name in network.groups:
            raise ValueError(f"name {name!r}: expected one that no other group on this network has")
        self.loop = loop or Loop(seed, order=order, trace=Trace(Clock(), on=trace))
        self.network = network or Network(self.loop, faults or Faults(delay_ms=(1, 5)), stream=f"{name}/network")
        self.name = name
        self.members: dict[int, Member] = {}
        self._machine = machine
        self._on_start = on_start
        self._config = RaftConfig(id=1, **{"pre_vote": True, "check_quorum": True, **options})
        self._sync_ms = sync_ms
        self._tick_ms = tick_ms
        self._in_step = in_step
        self._counts = {"snapshot_count": snapshot_count, "keep_entries": keep_entries}
        self._first = tuple(range(1, size + 1))
        self._disks = {id: self._new_disk(id) for id in self._first}
        self._proposals: dict[bytes, Proposal] = {}
        self._reads: dict[bytes, Read] = {}
        self._number = 0
        self._seen: dict[int, dict[str, Any]] = {}
        for id in self._first:
            self._start(id, self._first)
        self.network.groups.add(name)

    def check_open(self) -> None:
        """ValueError once the group, or whoever has its loop too, is closed."""
        if self.loop.is_closed:
            raise ValueError("the cluster is closed, expected one that runs")

    # -- members -----------------------------------------------------------------------------------

    def endpoint(self, id: int) -> str:
        """The name of a member in traces and in the network."""
        return f"{self.name}/{id}"

    def _new_disk(self, id: int) -> Disk:
        return Disk(self.loop.stream(f"{self.endpoint(id)}/disk"), sync_ms=self._sync_ms)

    def _start(self, id: int, voters: tuple[int, ...]) -> None:
        """A member begins to work with what its disk holds. When that cannot be read, nothing has changed."""
        member = Member(
            self.loop,
            self.network,
            self._disks[id],
            replace(self._config, id=id),
            self._machine(id),
            name=self.endpoint(id),
            voters=voters,
            endpoint=self.endpoint,
            tick_ms=self._tick_ms,
            in_step=self._in_step,
            **self._counts,
        )
        member.on_apply.append(lambda entry: self._applied(id, entry))
        member.on_read.append(lambda state: self._readable(member, state))
        self.members[id] = member
        if self._on_start is not None:
            self._on_start(id, member)

    def _member(self, id: int) -> Member:
        if type(id) is not int or id not in self.members:
            raise ValueError(f"member {id!r}: expected one of {', '.join(map(str, self.members))}")
        return self.members[id]

    @property
    def alive(self) -> list[int]:
        return [id for id, member in self.members.items() if member.component.alive]

    @property
    def leader(self) -> int:
        """Who leads in the newest term, 0 when nobody does. A deposed leader may believe that it still does."""
        leaders = [
            (member.node.raft.term, id)
            for id, member in self.members.items()
            if member.component.alive and member.node.raft.role == "StateLeader"
        ]
        return max(leaders)[1] if leaders else NONE

    def has_leader(self) -> bool:
        """Whether a majority follows one leader."""
        lead = self.leader
        if lead == NONE:
            return False
        electorate = self.members[lead].node.raft.config.electorate
        term = self.members[lead].node.raft.term
        following = [
            id in self.alive and self.members[id].node.raft.lead == lead and self.members[id].node.raft.term == term
            for id in electorate
        ]
        return sum(following) > len(electorate) // 2

    # -- using it ----------------------------------------------------------------------------------

    def propose(self, what: str, *, via: int | None = None) -> Proposal:
        """Have `key=value` agreed on, by way of a member (default: the leader, else the first alive)."""
        via = self._via(via)
        self._key_values(via)
        data = _encoded("what", what) + _TAG + self._next_number()
        if self._member(via).component.alive:
            self.loop.trace.current = None
            self.loop.trace.emit("raft.propose", "you", what=what)
        return self._ask(via, what, data, lambda node: node.propose(data), what)

    def _ask(self, via: int, what: str, data: bytes, act: Callable[[Node], None], shown: str) -> Proposal:
        """Have a member propose an entry with `data`, which no other entry has."""
        proposal = self._proposals[data] = Proposal(what, via)
        member = self._member(via)
        if not member.component.alive:
            proposal.state, proposal.why = "dropped", f"member {via} does not run"
            return proposal

        def attempt(node: Node) -> None:
            try:
                act(node)
            except RaftError as error:
                proposal.state, proposal.why = "dropped", str(error)
                raise

        member.call(attempt, shown)
        return proposal

    def _next_number(self) -> bytes:
        self._number += 1
        return str(self._number).encode()

    def _key_values(self, id: int) -> KeyValues:
        machine = self._member(id).machine
        if not isinstance(machine, KeyValues):
            found = type(machine).__name__
            raise ValueError(f"machine of member {id}: {found}, expected KeyValues; ask whoever made it")
        return machine

    def read(self, key: str, *, via: int | None = None, how: str = "linearizable") -> Read:
        """Read a key by way of a member: `linearizable` (asks a majority first) or `serializable` (what it has)."""
        via = self._via(via)
        self._key_values(via)
        _encoded("key", key)
        if how not in ("linearizable", "serializable"):
            raise ValueError(f"how {how!r}: expected linearizable or serializable")
        member = self._member(via)
        read = Read(key, via, how)
        if how == "serializable":
            self._answer(member, read)
        else:
            context = f"{via}/".encode() + self._next_number()
            self._reads[context] = read
            member.call(lambda node: node.read_index(context), f"read {key}")
        return read

    def _via(self, via: int | None) -> int:
        self.check_open()
        if via is not None:
            self._member(via)
            return via
        return self.leader or (self.alive or [self._first[0]])[0]

    def _applied(self, id: int, entry: Entry) -> None:
        proposal = self._proposals.get(entry.data)
        if proposal is not None and proposal.via == id and proposal.state == "pending":
            member = self.members[id]
            is_dropped = member.unfit == entry.index
            proposal.state, proposal.index = ("dropped", 0) if is_dropped else ("applied", entry.index)
            if entry.type != "EntryNormal":
                proposal.why = member.why
        if entry.type != "EntryNormal":
            self._welcome(self.members[id])
        for context in [context for context, read in self._reads.items() if read.via == id and read.index]:
            self._answer_when_applied(self.members[id], context)

    def _welcome(self, member: Member) -> None:
        """Start who has become part of the group: no sooner, or a change that is dropped would leave them behind."""
        cause = self.loop.trace.current
        for id in member.node.raft.progress:
            if id not in self.members:
                self._disks[id] = self._new_disk(id)
                self._start(id, ())
                self.loop.trace.current = cause

    def _readable(self, member: Member, state: ReadState) -> None:
        read = self._reads.get(state.context)
        if read is not None:
            read.index = state.index
            self._answer_when_applied(member, state.context)

    def _answer_when_applied(self, member: Member, context: bytes) -> None:
        read = self._reads[context]
        if member.applied >= read.index:
            del self._reads[context]
            self._answer(member, read)

    def _answer(self, member: Member, read: Read) -> None:
        read.value, read.state = self._key_values(read.via).values.get(read.key), "answered"
        read.index = member.applied

    def change(
        self, text: str, *, via: int | None = None, transition: Literal["auto", "implicit", "explicit"] = "auto"
    ) -> Proposal:
        """Change the group: `v4` adds voter 4, `l5` a learner, `r1` removes 1, no word at all leaves a joint
        configuration. New members start empty, once a member has applied the change.

        RaftError: `text` or `transition` cannot be read. A change that cannot be made now is `dropped`.
        """
        change = ConfChange.parse(text, transition=transition)
        for one in change.changes:
            check_number(f"change {text!r}: member", one.node, 1, MOST_MEMBERS)
        via = self._via(via)
        change = change._replace(context=self._next_number())
        return self._ask(via, text, change.entry().data, lambda node: _propose_change(node, change), f"change {text}")

    def transfer(self, to: int) -> None:
        """Ask the leader to hand over."""
        self._member(to)
        self._member(self._via(None)).call(lambda node: node.transfer_leadership(to), f"transfer to {to}")

    def campaign(self, id: int) -> None:
        """Have a member try to become leader now."""
        self.check_open()
        self._member(id).call(lambda node: node.campaign(), "campaign")

    # -- breaking it -------------------------------------------------------------------------------

    def crash(self, id: int) -> None:
        """End a member where it stands; its disk keeps what was synced."""
        self.check_open()
        member = self._member(id)
        if member.component.alive:
            self.loop.trace.current = None
            member.crash()

    def restart(self, id: int) -> None:
        """Start a crashed member from its disk."""
        self.check_open()
        member = self._member(id)
        if member.component.alive:
            raise ValueError(f"member {id} is running: crash it first")
        self.loop.trace.current = None
        self._start(id, ())

    def cut(self, source: int, target: int) -> None:
        """Lose messages from one member to another (one way)."""
        self._check_pair(source, target)
        self._fault("raft.cut", source=source, target=target)
        self.network.cut(self.endpoint(source), self.endpoint(target))

    def partition(self, *sides: Iterable[int]) -> None:
        """Lose messages between the sides, both ways. Members that are not named are a side together."""
        if not all(isinstance(side, Iterable) for side in sides):
            raise ValueError(f"sides {sides!r}: expected members in lists, such as [1, 2]")
        named = [list(side) for side in sides]
        ids = [id for side in named for id in side]
        for id in ids:
            self._member(id)
        if len(ids) > len(set(ids)):
            raise ValueError(f"sides {named!r}: expected each member once")
        rest = [id for id in self.members if not any(id in side for side in named)]
        self._split([side for side in [*named, rest] if side])

    def cut_link(self, one: int, other: int) -> None:
        """Lose messages between two members, both ways."""
        self._check_pair(one, other)
        self._split([[one], [other]])

    def _split(self, sides: list[list[int]]) -> None:
        self._fault("raft.split", sides=_sides(sides))
        groups = [[self.endpoint(id) for id in side] for side in sides]
        for at, one in enumerate(groups):
            for other in groups[at + 1 :]:
                self.network.partition(one, other)

    def isolate(self, id: int) -> None:
        """Cut a member off from all others."""
        self.partition([id])

    def heal(self) -> None:
        """All messages pass again."""
        self._fault("raft.heal")
        self.network.heal()

    def heal_link(self, one: int, other: int) -> None:
        """Messages between two members pass again, both ways."""
        self._check_pair(one, other)
        self._fault("raft.mend", sides=_sides([[one], [other]]))
        for source, target in ((one, other), (other, one)):
            self.network.heal(self.endpoint(source), self.endpoint(target))

    def _check_pair(self, one: int, other: int) -> None:
        if self._member(one) is self._member(other):
            raise ValueError(f"member {one}: expected two that differ")

    def _fault(self, kind: str, **data: Any) -> None:
        self.check_open()
        self.loop.trace.current = None
        self.loop.trace.emit(kind, "network", **data)

    def command(self, text: str) -> None:
        """What the picture asks for in a live Stepper: `crash 2`, `restart 2`, `cut 1 3`, `heal 1 3`, `heal`.

        ValueError: another text, or a member that cannot do it.
        """
        self.check_open()
        verb, *words = text.split() if isinstance(text, str) and text.strip() else [""]
        deeds: dict[tuple[str, int], Callable[..., None]] = {
            ("crash", 1): self.crash,
            ("restart", 1): self.restart,
            ("cut", 2): self.cut_link,
            ("heal", 2): self.heal_link,
            ("heal", 0): self.heal,
        }
        deed = deeds.get((verb, len(words)))
        if deed is None or not all(word.isascii() and word.isdecimal() for word in words):
            raise ValueError(f"command {text!r}: expected crash N, restart N, cut N N, heal N N or heal")
        deed(*map(int, words))

    def skew(self, id: int, percent: int) -> None:
        """A member's clock runs at `percent` of the true rate: 200 makes its timeouts half as long."""
        self.check_open()
        check_number("percent", percent, 1)
        self._member(id).tick_ms = max(1, self._tick_ms * 100 // percent)

    # -- running and looking -----------------------------------------------------------------------

    @property
    def trace(self) -> Trace:
        return self.loop.trace

    @property
    def now_ms(self) -> int:
        return self.loop.clock.now_ms

    def run(self, *, until: Callable[[], bool] | None = None, for_ms: int | None = None) -> bool:
        """Run until `until()` holds (at most a minute of virtual time), or for `for_ms`.

        TypeError, ValueError: as of `Loop.run`; ValueError too once the group is closed.
        """
        self.check_open()
        if until is None:
            return self.loop.run(for_ms=1000 if for_ms is None else for_ms)
        return self.loop.run(until=until, for_ms=60_000 if for_ms is None else for_ms)

    def step(self) -> bool:
        """One action."""
        self.check_open()
        return self.loop.step()

    def all_ready(self) -> bool:
        """Whether there is a leader, and all that follow it have applied the whole log: nothing is under way."""
        if not self.has_leader():
            return False
        lead = self.members[self.leader].node.raft
        return all(
            member.is_idle and member.node.raft.log.applied == lead.log.last_index
            for member in (self.members[id] for id in self.alive)
            if member.node.raft.lead == lead.id
        )

    def view(self) -> Mapping[str, Any]:
        """`raft`: members by id, messages on their way by number, cuts `"1>2"` by direction; `ready`: who may act next.

        A message: `from`, `to`, `type`, `term`, `at` (when it was sent, if the trace is on), and what sets it apart:
        `reject`, and of entries `count` and the newest one's term, `entry`.
        """
        for id, member in self.members.items():
            now = member.view()
            if now != self._seen.get(id):
                self._seen[id] = now  # else the state before is handed out again: frames share what did not change
        raft = {
            "members": {str(id): self._seen[id] for id in self.members},
            "messages": {str(number): self._flight(carried) for number, (_, _, carried) in self._flights()},
            "cuts": self._cuts(),
        }
        return {"raft": raft, "ready": {task.name: True for task in self.loop.ready}}

    def _flights(self) -> Iterable[tuple[int, tuple[str, str, Any]]]:
        """What is on its way between members; others may share the network."""
        names = {self.endpoint(id) for id in self.members}
        return [(number, flight) for number, flight in self.network.in_flight.items() if flight[0] in names]

    def _flight(self, carried: Carried) -> dict[str, Any]:
        message = carried.message
        sent = self.trace.get(carried.sent) if carried.sent is not None else None
        about: dict[str, Any] = {
            "from": str(message.sender),
            "to": str(message.to),
            "type": message.type,
            "term": message.term,
        }
        if sent is not None:
            about["at"] = sent.now_ms
        if message.reject:
            about["reject"] = True
        if message.entries:
            about |= {"count": len(message.entries), "entry": message.entries[-1].term}
        return about

    def _cuts(self) -> dict[str, bool]:
        if not self.network.cuts:
            return {}
        return {
            f"{one}>{other}": True
            for one in self.members
            for other in self.members
            if one != other and self.network.blocked(self.endpoint(one), self.endpoint(other))
        }

    def close(self) -> None:
        """End everything: what was seen can still be read, nothing runs any more."""
        self.loop.close()

    def check_invariants(self) -> None:
        """AssertionError when a member contradicts itself."""
        for id in self.alive:
            self.members[id].check_invariants()

    def __repr__(self) -> str:
        roles = ", ".join(f"{id}: {member.view()['role']}" for id, member in self.members.items() if id in self.alive)
        return f"<RaftCluster t={self.now_ms} ms: {roles}>"


def _propose_change(node: Node, change: ConfChange) -> None:
    """A leader says at once what does not fit; otherwise members would find out when they apply it."""
    raft = node.raft
    if raft.role == "StateLeader" and not raft.options.disable_conf_change_validation:
        if raft.pending_conf_index > raft.log.applied:
            raise RaftError(f"the change at index {raft.pending_conf_index} comes first: it is not applied yet")
        changed(Change(raft.config, raft.progress), change, last_index=raft.log.last_index)
    node.propose_conf_change(change)


def _encoded(name: str, text: object) -> bytes:
    """As UTF-8. ValueError for what is no such text, or holds the character that ends it in an entry."""
    data = text.encode(errors="ignore") if isinstance(text, str) else b""
    if data.decode() != text or _TAG in data:
        raise ValueError(f"{name} {text!r}: expected text without NUL and surrogates, such as x=1")
    return data


def _sides(sides: Iterable[Iterable[int]]) -> str:
    """`1,2 and 3,4,5`"""
    return " and ".join(",".join(map(str, side)) for side in sides)
