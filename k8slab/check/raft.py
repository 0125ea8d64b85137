"""The five properties of Raft (paper, figure 3), looked for in the trace of a group.

Upstream: none. Spec: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm", figure 3
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from k8slab.check.judge import Violation
from k8slab.sim import Trace, TraceEvent

__all__ = ["RAFT", "ElectionSafety", "LeaderAppendOnly", "LeaderCompleteness", "LogMatching", "StateMachineSafety"]


class ElectionSafety:
    """At most one leader a term."""

    name = "election safety"

    def judge(self, trace: Trace) -> list[Violation]:
        leaders: dict[int, str] = {}
        found = []
        for event in trace:
            if event.kind == "raft.role" and event.data["role"] == "leader":
                first = leaders.setdefault(_number(event, "term"), event.actor)
                if first != event.actor:
                    text = f"{first} and {event.actor} both lead in term {event.data['term']}"
                    found.append(Violation(self.name, event.seq, text))
        return found


class _Entry(NamedTuple):
    term: int
    what: str


class _Logs:
    """The logs of all members as the trace tells them, event after event."""

    def __init__(self) -> None:
        self.logs: dict[str, dict[int, _Entry]] = {}
        self.bases: dict[str, tuple[int, int]] = {}
        self.committed: dict[int, _Entry] = {}
        self.leads: dict[str, bool] = {}

    def read(self, trace: Trace) -> Iterator[TraceEvent]:
        """Every event, before it is taken in."""
        for event in trace:
            if not event.kind.startswith("raft."):
                continue
            yield event
            self._take(event)

    def of(self, actor: str) -> dict[int, _Entry]:
        return self.logs.setdefault(actor, {})

    def base(self, actor: str) -> tuple[int, int]:
        """Index and term of what a member's snapshot ends with."""
        return self.bases.get(actor, (0, 0))

    def _take(self, event: TraceEvent) -> None:
        log = self.of(event.actor)
        match event.kind:
            case "raft.append":
                index = _number(event, "index")
                _cut(log, index)
                log[index] = _entry(event)
            case "raft.commit":
                for index in range(max(self.committed, default=0) + 1, _number(event, "index") + 1):
                    if index in log:
                        self.committed[index] = log[index]
            case "raft.snapshot":
                self.bases[event.actor] = (_number(event, "index"), _number(event, "term"))
                if event.data["how"] == "restores":
                    log.clear()
            case "raft.start":
                _cut(log, _number(event, "last") + 1)
                self.leads[event.actor] = False
            case "raft.role":
                self.leads[event.actor] = event.data["role"] == "leader"


def _cut(log: dict[int, _Entry], index: int) -> None:
    """Forget entries from `index` on."""
    for later in [at for at in log if at >= index]:
        del log[later]


def _number(event: TraceEvent, key: str) -> int:
    value = event.data[key]
    assert isinstance(value, int)
    return value


def _entry(event: TraceEvent) -> _Entry:
    return _Entry(_number(event, "term"), str(event.data["what"]))


class LeaderAppendOnly:
    """A leader adds to its log, and never overwrites or deletes in it."""

    name = "leader append-only"

    def judge(self, trace: Trace) -> list[Violation]:
        logs = _Logs()
        found = []
        for event in logs.read(trace):
            if event.kind == "raft.append" and logs.leads.get(event.actor):
                index = _number(event, "index")
                if index in logs.of(event.actor):
                    found.append(Violation(self.name, event.seq, f"{event.actor} leads and overwrites entry {index}"))
        return found


class LogMatching:
    """Two logs that have an entry of the same index and term are equal up to it.

    By induction: an entry is known by index and term to hold the same, and to follow an entry of the same term.
    """

    name = "log matching"

    def judge(self, trace: Trace) -> list[Violation]:
        logs = _Logs()
        known: dict[tuple[int, int], tuple[str, int, str]] = {}
        found = []
        for event in logs.read(trace):
            if event.kind != "raft.append":
                continue
            index, entry = _number(event, "index"), _entry(event)
            before = self._term_before(logs, event.actor, index)
            if before is None:
                text = f"{event.actor} saves entry {index} without the one before it"
                found.append(Violation(self.name, event.seq, text))
                continue
            what, term, whose = known.setdefault((index, entry.term), (entry.what, before, event.actor))
            if (what, term) != (entry.what, before):
                text = (
                    f"entry {index} of term {entry.term} is {what!r} after term {term} at {whose}, "
                    f"{entry.what!r} after term {before} at {event.actor}"
                )
                found.append(Violation(self.name, event.seq, text))
        return found

    @staticmethod
    def _term_before(logs: _Logs, actor: str, index: int) -> int | None:
        entry = logs.of(actor).get(index - 1)
        if entry is not None:
            return entry.term
        base, term = logs.base(actor)
        if base == index - 1:
            return term
        return 1 if index == 2 else None  # entry 1 is the first configuration


class LeaderCompleteness:
    """What was committed is in the log of every later leader."""

    name = "leader completeness"

    def judge(self, trace: Trace) -> list[Violation]:
        logs = _Logs()
        found = []
        for event in logs.read(trace):
            if event.kind != "raft.role" or event.data["role"] != "leader":
                continue
            log, (base, _) = logs.of(event.actor), logs.base(event.actor)
            for index, entry in logs.committed.items():
                if index > base and entry.term < _number(event, "term") and log.get(index) != entry:
                    text = f"{event.actor} leads in term {event.data['term']} without committed entry {index}"
                    found.append(Violation(self.name, event.seq, text))
                    break
        return found


class StateMachineSafety:
    """No two members apply different entries at the same index."""

    name = "state machine safety"

    def judge(self, trace: Trace) -> list[Violation]:
        applied: dict[int, tuple[_Entry, str]] = {}
        found = []
        for event in trace:
            if event.kind == "raft.apply":
                index, entry = _number(event, "index"), _entry(event)
                first, whose = applied.setdefault(index, (entry, event.actor))
                if first != entry:
                    text = f"{whose} applies {first.what!r} at {index}, {event.actor} {entry.what!r}"
                    found.append(Violation(self.name, event.seq, text))
        return found


RAFT = (ElectionSafety(), LeaderAppendOnly(), LogMatching(), LeaderCompleteness(), StateMachineSafety())
"""All five."""
