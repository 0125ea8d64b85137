"""Scripts that drive a group of nodes by hand and show everything that is said.

A script is a list of commands, each with what it printed below four dashes. `run_script` carries the commands out anew:
equal texts mean equal behaviour, message by message and log line by log line.

>>> print(run_script('''add-nodes 1 voters=(1) index=2
... ----
...
... campaign 1
... ----
... '''))
add-nodes 1 voters=(1) index=2
----
INFO 1 switched to configuration voters=(1)
INFO 1 became follower at term 0
INFO newRaft 1 [peers: [1], term: 0, commit: 2, applied: 2, lastindex: 2, lastterm: 1]
<BLANKLINE>
campaign 1
----
INFO 1 is starting a new election at term 0
INFO 1 became candidate at term 1
<BLANKLINE>

Upstream: go.etcd.io/raft/v3 rafttest/interaction_env*.go, cockroachdb/datadriven (the form of scripts)
Simplified: no threads of their own for saving and applying (process-append-thread, process-apply-thread).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from k8slab.raft.describe import entry_text, message_text, ready_text
from k8slab.raft.errors import RaftError
from k8slab.raft.messages import NO_LIMIT, ConfChange, ConfState, Message, Snapshot, conf_change_of
from k8slab.raft.node import Node
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import MemoryStorage

__all__ = ["Command", "Interaction", "parse_script", "run_script"]

LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL", "NONE")
_ARGUMENT = re.compile(r"([^\s=]+)(=(?:\([^)]*\)|\S*))?")


class Command(NamedTuple):
    """One step of a script: its first line, the lines below it, and what it printed when it was recorded."""

    line: str
    input: str
    expected: str
    before: str = ""

    @property
    def name(self) -> str:
        return self.line.split(maxsplit=1)[0]

    @property
    def positions(self) -> list[str]:
        """Arguments without a key."""
        return [key for key, values in self._arguments() if values is None]

    def values(self, key: str) -> list[str]:
        """`drop=(1,2)` and `drop=1`: the values of a key, none without it."""
        return [value for name, values in self._arguments() if name == key for value in values or ()]

    def value(self, key: str, default: str = "") -> str:
        found = self.values(key)
        return found[0] if found else default

    def is_set(self, key: str) -> bool:
        return self.value(key) == "true"

    def numbers(self, key: str) -> tuple[int, ...]:
        return tuple(map(int, self.values(key)))

    def _arguments(self) -> Iterator[tuple[str, list[str] | None]]:
        rest = self.line[len(self.name) :]
        for key, values in _ARGUMENT.findall(rest):
            parts = values[1:].strip("()").split(",")
            yield key, [part.strip() for part in parts if part.strip()] if values else None


def parse_script(text: str) -> list[Command]:
    """The commands of a script. What stands between them (comments, blank lines) is kept in `before`."""
    commands: list[Command] = []
    lines = text.split("\n")
    at, before = 0, list[str]()
    while at < len(lines):
        if not lines[at].strip() or lines[at].startswith("#"):
            before.append(lines[at])
            at += 1
            continue
        line, given, printed = lines[at], list[str](), list[str]()
        at += 1
        while at < len(lines) and lines[at] != "----":
            given.append(lines[at])
            at += 1
        at += 1
        while at < len(lines) and lines[at]:
            printed.append(lines[at])
            at += 1
        commands.append(Command(line, "\n".join(given), "\n".join(printed), "\n".join(before)))
        before = []
    return commands


def run_script(text: str) -> str:
    """The script with what its commands print now."""
    interaction = Interaction()
    parts = []
    for command in parse_script(text):
        parts += [f"{command.before}\n"] if command.before.strip() else []
        given = f"{command.input}\n" if command.input else ""
        parts.append(f"{command.line}\n{given}----\n{interaction.run(command)}\n\n")
    return "".join(parts).rstrip("\n") + "\n"


class _Member:
    """A node with its disk, and every state that it went through."""

    def __init__(self, config: RaftConfig, first: Snapshot, log: Callable[[str, str], None]) -> None:
        self.storage = _LatestSnapshot(first)
        self.history = self.storage.history
        self.node = Node(config, self.storage, seed="interaction", logger=log)


class _LatestSnapshot(MemoryStorage):
    """A snapshot is always ready: of the state after the last entry that was applied."""

    def __init__(self, first: Snapshot) -> None:
        super().__init__(first)
        self.history = [first]

    def snapshot(self) -> Snapshot:
        return self.history[-1]


class Interaction:
    """Nodes 1, 2, …, what they have said and nobody has heard yet, and how much is printed."""

    def __init__(self) -> None:
        self.members: list[_Member] = []
        self.messages: list[Message] = []
        self._level = 0
        self._indent = ""
        self._printed: list[str] = []

    def run(self, command: Command) -> str:
        """Carry a command out; what it printed. RaftError for a command that is not known."""
        handler = _HANDLERS.get(command.name)
        if handler is None:
            raise RaftError(f"command {command.name!r}: expected one of {', '.join(_HANDLERS)}")
        self._printed = []
        try:
            handler(self, command)
        except RaftError as error:
            if self._is_quiet:
                return str(error)
            self._print(str(error))
        return "\n".join(self._printed) or "ok"

    # -- printing ----------------------------------------------------------------------------------

    @property
    def _is_quiet(self) -> bool:
        return LEVELS[self._level] == "NONE"

    def _print(self, text: str) -> None:
        if not self._is_quiet:
            self._printed += [self._indent + line for line in text.split("\n")]

    def _log(self, level: str, text: str) -> None:
        if LEVELS.index(level) >= self._level:
            self._print(f"{level} {text}")

    def _indented(self, title: str, action: Callable[[], object]) -> None:
        self._print(title)
        before, self._indent = self._indent, self._indent + "  "
        try:
            action()
        finally:
            self._indent = before

    # -- nodes -------------------------------------------------------------------------------------

    def _node(self, text: str) -> Node:
        number = int(text)
        if not 1 <= number <= len(self.members):
            raise RaftError(f"node {number}: expected 1 to {len(self.members)}")
        return self.members[number - 1].node

    def _chosen(self, command: Command) -> list[int]:
        return [int(text) for text in command.positions] or list(range(1, len(self.members) + 1))

    def _add_nodes(self, command: Command) -> None:
        index = int(command.value("index", "0"))
        state = ConfState(command.numbers("voters"), command.numbers("learners"))
        bootstrapped = bool(index or state.voters or state.learners)
        if bootstrapped and index <= 1:
            raise RaftError("index must be specified as > 1 due to bootstrap")
        first = Snapshot(index, 1 if bootstrapped else 0, state, command.value("content").encode())
        for _ in range(int(command.positions[0])):
            config = RaftConfig(
                id=len(self.members) + 1,
                election_tick=3,
                applied=index,
                max_inflight_messages=int(command.value("inflight", "2147483647")),
                max_committed_size_per_ready=int(command.value("max-committed-size-per-ready", str(NO_LIMIT))),
                pre_vote=command.is_set("prevote"),
                check_quorum=command.is_set("checkquorum"),
                read_only="lease-based" if command.value("read-only") == "lease-based" else "safe",
                disable_conf_change_validation=command.is_set("disable-conf-change-validation"),
                step_down_on_removal=command.is_set("step-down-on-removal"),
            )
            self.members.append(_Member(config, first, self._log))

    def _compact(self, command: Command) -> None:
        node, index = command.positions
        self._node(node)
        self.members[int(node) - 1].storage.compact(int(index))
        self._raft_log(command)

    def _raft_log(self, command: Command) -> None:
        storage = self.members[int(command.positions[0]) - 1].storage
        first, last = storage.first_index(), storage.last_index()
        if first > last:
            self._print(f"log is empty: first index={first}, last index={last}")
            return
        for entry in storage.entries(first, last + 1):
            self._print(entry_text(entry))

    def _raft_state(self, command: Command) -> None:
        for member in self.members:
            raft = member.node.raft
            voter = "(Voter)" if raft.id in raft.config.electorate else "(Non-Voter)"
            self._print(f"{raft.id}: {raft.role} {voter} Term:{raft.term} Lead:{raft.lead}")

    def _set_timeout(self, command: Command) -> None:
        self._node(command.positions[0]).raft.randomized_election_timeout = int(command.value("timeout"))

    def _tick(self, command: Command, times: Callable[[RaftConfig], int]) -> None:
        node = self._node(command.positions[0])
        for _ in range(times(node.raft.options)):
            node.tick()

    def _propose_conf_change(self, command: Command) -> None:
        transition = command.value("transition", "auto")
        if transition not in ("auto", "implicit", "explicit"):
            raise RaftError(f"transition {transition!r}: expected auto, implicit or explicit")
        change = ConfChange.parse(command.input, transition=transition, v1=command.is_set("v1"))  # type: ignore[arg-type]
        self._node(command.positions[0]).propose_conf_change(change)

    def _send_snapshot(self, command: Command) -> None:
        sender, to = map(int, command.positions)
        raft = self.members[sender - 1].node.raft
        snapshot = self.members[sender - 1].storage.snapshot()
        message = Message("MsgSnap", to, sender, raft.term, snapshot=snapshot)
        self.messages.append(message)
        self._print(message_text(message))

    # -- working -----------------------------------------------------------------------------------

    def _process_ready(self, number: int) -> None:
        member = self.members[number - 1]
        ready = member.node.ready()
        self._print(ready_text(ready))
        storage = member.storage
        if ready.hard_state is not None:
            storage.hard_state = ready.hard_state
        if ready.snapshot is not None:
            storage.apply_snapshot(ready.snapshot)
            storage.history.append(ready.snapshot)
        storage.append(ready.entries)
        for entry in ready.committed_entries:
            before = storage.history[-1]
            if entry.type == "EntryNormal":
                state, update = before.conf_state, entry.data
            else:
                change = conf_change_of(entry)
                state, update = member.node.apply_conf_change(change), change.context
            storage.history.append(Snapshot(entry.index, entry.term, state, before.data + update))
        self.messages += ready.messages
        member.node.advance()

    def _process_readies(self, command: Command) -> None:
        chosen = self._chosen(command)
        for number in chosen:
            if len(chosen) == 1:
                self._process_ready(number)
            else:
                self._indented(f"> {number} handling Ready", lambda number=number: self._process_ready(number))  # type: ignore[misc]

    def _deliver(self, to: int, *, type: str = "", drop: bool = False) -> int:
        """Hand over, or lose, all messages to a node; how many there were."""
        found = [m for m in self.messages if m.to == to and type in ("", m.type)]
        self.messages = [m for m in self.messages if m not in found]
        for m in found:
            self._print(f"{'dropped: ' if drop else ''}{message_text(m)}")
            if not drop:
                try:
                    self._node(str(to)).step(m)
                except RaftError as error:
                    self._print(str(error))
        return len(found)

    def _deliver_messages(self, command: Command) -> None:
        type = command.value("type")
        count = sum(self._deliver(int(text), type=type) for text in command.positions)
        count += sum(self._deliver(number, type=type, drop=True) for number in command.numbers("drop"))
        if not count:
            self._print("no messages")

    def _stabilize(self, command: Command) -> None:
        before = self._level
        if command.value("log-level"):
            self._level = LEVELS.index(command.value("log-level").upper())
        try:
            while any([self._work(self._chosen(command)), self._hear(self._chosen(command))]):
                pass
        finally:
            self._level = before

    def _work(self, chosen: list[int]) -> bool:
        ready = False
        for number in chosen:
            if self.members[number - 1].node.has_ready():
                ready = True
                self._indented(f"> {number} handling Ready", lambda number=number: self._process_ready(number))  # type: ignore[misc]
        return ready

    def _hear(self, chosen: list[int]) -> bool:
        heard = False
        for number in chosen:
            if any(m.to == number for m in self.messages):
                heard = True
                self._indented(f"> {number} receiving messages", lambda number=number: self._deliver(number))  # type: ignore[misc]
        return heard

    def _set_level(self, command: Command) -> None:
        level = command.positions[0].upper()
        if level not in LEVELS:
            raise RaftError(f"log levels must be either of {list(LEVELS)}")
        self._level = LEVELS.index(level)


_HANDLERS: dict[str, Callable[[Interaction, Command], object]] = {
    "add-nodes": Interaction._add_nodes,
    "campaign": lambda env, c: env._node(c.positions[0]).campaign(),
    "compact": Interaction._compact,
    "deliver-msgs": Interaction._deliver_messages,
    "forget-leader": lambda env, c: env._node(c.positions[0]).forget_leader(),
    "log-level": Interaction._set_level,
    "process-ready": Interaction._process_readies,
    "propose": lambda env, c: env._node(c.positions[0]).propose(c.positions[1].encode()),
    "propose-conf-change": Interaction._propose_conf_change,
    "raft-log": Interaction._raft_log,
    "raft-state": Interaction._raft_state,
    "report-unreachable": lambda env, c: env._node(c.positions[0]).report_unreachable(int(c.positions[1])),
    "send-snapshot": Interaction._send_snapshot,
    "set-randomized-election-timeout": Interaction._set_timeout,
    "stabilize": Interaction._stabilize,
    "status": lambda env, c: env._print(env._node(c.positions[0]).status()),
    "tick-election": lambda env, c: env._tick(c, lambda options: options.election_tick),
    "tick-heartbeat": lambda env, c: env._tick(c, lambda options: options.heartbeat_tick),
    "transfer-leadership": lambda env, c: env._node(c.value("from")).transfer_leadership(int(c.value("to"))),
}
