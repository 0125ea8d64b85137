"""Upstream's own scripts for Raft (`interaction`, `quorum`, `confchange`): every command must print what it says there.

What a command is judged by stands below it in the file, so no comparator is needed: texts are equal or they are not.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from k8slab.raft import ConfChange, Configuration, RaftError
from k8slab.raft.confchange import Change, enter_joint, leave_joint, simple
from k8slab.raft.describe import committed_picture
from k8slab.raft.interaction import Command, Interaction, parse_script
from k8slab.raft.messages import NO_LIMIT
from k8slab.raft.quorum import joint_committed_index, joint_vote_result

OPTIONAL = ("async_storage_writes.txt", "async_storage_writes_append_aba_race.txt")
"""Scripts about a mode that is simplified away."""


class Answer(NamedTuple):
    """One command of a script: its place and line, what it should print and what it does."""

    number: int
    line: str
    expected: str
    actual: str


def scripts(path: Path) -> list[Path]:
    """The scripts named, and those of a folder but the optional ones."""
    if path.is_file():
        return [path] if path.suffix == ".txt" else []
    return [file for file in sorted(path.rglob("*.txt")) if file.name not in OPTIONAL and _is_script(file)]


def _is_script(file: Path) -> bool:
    return "\n----" in file.read_text(encoding="utf-8")


def answers(file: Path) -> Iterator[Answer]:
    """Every command of a script, carried out."""
    commands = parse_script(file.read_text(encoding="utf-8"))
    run = _runner(commands)
    for number, command in enumerate(commands, 1):
        yield Answer(number, command.line, command.expected, run(command))


def _runner(commands: list[Command]) -> Callable[[Command], str]:
    names = {command.name for command in commands}
    if names <= {"committed", "vote"}:
        return quorum
    if names <= {"simple", "enter-joint", "leave-joint"}:
        return ConfigurationScript().run
    return Interaction().run


def quorum(command: Command) -> str:
    """`committed cfg=(1,2) cfgj=(3) idx=(12,_,5)`, `vote cfg=(1) votes=(y)`; `cfgj=zero` is an empty half."""
    incoming = list(command.numbers("cfg"))
    outgoing = [] if command.value("cfgj") == "zero" else list(command.numbers("cfgj"))
    voters = list(dict.fromkeys([*incoming, *outgoing]))
    given = command.values("idx" if command.name == "committed" else "votes")
    if len(given) != len(voters):
        return f"error: mismatched input (explicit or _) for voters {voters}: {given}"
    known = {voter: value for voter, value in zip(voters, given, strict=True) if value not in ("_", "0")}
    if command.name == "vote":
        return joint_vote_result(incoming, outgoing, {voter: value == "y" for voter, value in known.items()})
    indexes = {voter: int(value) for voter, value in known.items()}
    index = joint_committed_index(incoming, outgoing, indexes.get)
    picture = committed_picture(sorted(voters), indexes.get)
    return f"{picture}∞" if not voters else f"{picture}\n{index if index < NO_LIMIT else '∞'}"


class ConfigurationScript:
    """A configuration that changes command by command; each command counts as one more entry in the log."""

    def __init__(self) -> None:
        self.now = Change(Configuration(), {})
        self.last_index = 0

    def run(self, command: Command) -> str:
        try:
            self.now = self._changed(command)
        except RaftError as error:
            return str(error)
        finally:
            self.last_index += 1
        return "\n".join([str(self.now.config), *(f"{id}: {progress}" for id, progress in self.now.progress.items())])

    def _changed(self, command: Command) -> Change:
        changes = ConfChange.parse(command.input).changes
        if command.name == "simple":
            return simple(self.now, changes, last_index=self.last_index)
        if command.name == "enter-joint":
            return enter_joint(self.now, changes, auto_leave=command.is_set("autoleave"), last_index=self.last_index)
        return leave_joint(self.now)


def difference(answer: Answer) -> str:
    """Where the texts part, for people."""
    lines = difflib.unified_diff(
        answer.expected.splitlines(), answer.actual.splitlines(), "upstream", "k8slab", lineterm="", n=2
    )
    return f"command {answer.number}: {answer.line}\n" + "\n".join(lines)
