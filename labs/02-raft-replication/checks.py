"""Lab 02: the properties of replication, judged over what logs, leaders and groups of nodes answered.

Spec: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", figure 2, §5.3, §5.4
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from k8slab.lab import Broken, Check, LabSpec, Op, Step

Entry: TypeAlias = tuple[int, str]
Entries: TypeAlias = tuple[Entry, ...]
Judge: TypeAlias = Callable[[Sequence[Step]], Broken | None]
QUICK_TICKS = 12
"""With a leader and a quiet network it takes 6 or 7 ticks: to all, back, and the commit index with a heartbeat."""
MOST_REFUSALS = 8
"""Of one follower to one leader, where it would need two or three and one by one twenty."""


def _parsed(words: Sequence[str]) -> Entries:
    return tuple((int(term), command) for term, _, command in (word.partition(":") for word in words))


def _shown(entries: Sequence[Entry]) -> str:
    return " ".join(f"{term}:{command}" for term, command in entries) or "nothing"


def _fields(step: Step) -> dict[str, list[str]]:
    """`yes 3; log 1:a; commit 0` by its first words."""
    return {words[0]: words[1:] for words in (part.split() for part in step.result.split("; "))}


def _term(entries: Entries, index: int) -> int | None:
    """The term of entry `index`; 0 before the first, None behind the last."""
    if index == 0:
        return 0
    return entries[index - 1][0] if 0 < index <= len(entries) else None


# -- a log -----------------------------------------------------------------------------------------


class Held(NamedTuple):
    """A log after a step."""

    entries: Entries = ()
    commit: int = 0
    last: str = "0/0"
    disk: Entries = ()


class Sent(NamedTuple):
    """What a leader sent: `append 3/1 2 2:x`."""

    prev_index: int
    prev_term: int
    commit: int
    entries: Entries

    @classmethod
    def of(cls, op: Op) -> Sent:
        index, _, term = op[1].partition("/")
        return cls(int(index), int(term), int(op[2]), _parsed(op[3:]))

    @property
    def compared(self) -> int:
        return self.prev_index + len(self.entries)

    def fits(self, log: Entries) -> bool:
        return _term(log, self.prev_index) == self.prev_term

    def result(self, log: Entries) -> Entries:
        """The log after it: what conflicts goes with all that follows it, what is missing is added."""
        for place, (term, _) in enumerate(self.entries, start=self.prev_index + 1):
            if _term(log, place) != term:
                return (*log[: place - 1], *self.entries[place - 1 - self.prev_index :])
        return log

    def hint(self, log: Entries) -> int:
        """Where to begin after a refusal."""
        if self.prev_index > len(log):
            return len(log) + 1
        return 1 + min(place for place, (term, _) in enumerate(log) if term == _term(log, self.prev_index))


def _held(fields: dict[str, list[str]]) -> Held:
    entries = _parsed(fields["log"])
    disk = _parsed(fields["disk"]) if "disk" in fields else entries
    return Held(entries, int(fields["commit"][0]), fields["last"][0], disk)


def _logged(steps: Sequence[Step]) -> Iterator[Broken]:
    """All that is wrong with a log, step by step."""
    before = Held()
    for step in steps:
        fields = _fields(step)
        after = _held(fields)
        if step.verb == "append":
            for cause, why in _append(before, Sent.of(step.op), "yes" in fields, after, fields):
                yield Broken(step.number, why, cause)
        elif step.verb == "have" and after.entries != _parsed(step.op[1:]):
            why = f"the disk holds {_shown(_parsed(step.op[1:]))}, and the log begins with {_shown(after.entries)}"
            yield Broken(step.number, why, "forgets")
        elif step.verb == "restart":
            if after.entries != before.disk:
                why = f"the disk held {_shown(before.disk)}; after the restart the log is {_shown(after.entries)}"
                yield Broken(step.number, why, "forgets")
            if after.entries != before.entries:
                why = f"the log was {_shown(before.entries)}, and after a crash it is {_shown(after.entries)}"
                yield Broken(step.number, why, "unsaved")
        right = f"{len(after.entries)}/{_term(after.entries, len(after.entries))}"
        if after.last != right:
            why = f"the log is {_shown(after.entries)}, and last says {after.last}, expected {right} (index/term)"
            yield Broken(step.number, why, "other-last")
        before = after


def _append(
    before: Held, sent: Sent, success: bool, after: Held, fields: dict[str, list[str]]
) -> Iterator[tuple[str, str]]:
    """(cause, why) for everything that is wrong about one append."""
    told = f"the log was {_shown(before.entries)}, the leader's entries follow {sent.prev_index}/{sent.prev_term}"
    if not sent.fits(before.entries):
        yield from _refusal(before, sent, success, after, fields, told)
        return
    if not success:
        yield "refuses", f"{told}: it has that entry, and refuses"
        return
    right = sent.result(before.entries)
    if after.entries != right:
        why = f"{told} and are {_shown(sent.entries)}: expected {_shown(right)}, found {_shown(after.entries)}"
        yield _difference(before.entries, right, after.entries), why
    where = int(fields["yes"][0])
    if where != sent.compared:
        cause = "claims-more" if where > sent.compared else "claims-less"
        why = f"{len(sent.entries)} entries after entry {sent.prev_index} were compared, and it claims {where}"
        yield cause, why
    commit = max(before.commit, min(sent.commit, sent.compared))
    if after.commit != commit:
        why = (
            f"compared up to entry {sent.compared}, the leader has committed {sent.commit}, this log {before.commit}: "
            f"expected {commit}, found {after.commit}"
        )
        yield _commit_cause(before, sent, after, commit), why
    if after.disk != after.entries:
        yield "unsaved", f"it says yes; its log is {_shown(after.entries)}, and its disk holds {_shown(after.disk)}"


def _refusal(
    before: Held, sent: Sent, success: bool, after: Held, fields: dict[str, list[str]], told: str
) -> Iterator[tuple[str, str]]:
    if success:
        gap = sent.prev_index > len(before.entries)
        yield "accepts-a-gap" if gap else "accepts-a-conflict", f"{told}: there is no such entry, and it says yes"
        return
    if after.entries != before.entries:
        yield "changes-and-refuses", f"{told}: it refuses, and its log is {_shown(after.entries)} now"
    if after.commit != before.commit:
        yield "commits-and-refuses", f"{told}: it refuses, and commits {after.commit}"
    where, right = int(fields["no"][0]), sent.hint(before.entries)
    if where != right:
        yield "begins-elsewhere", f"{told}: it refuses, and says begin at {where}, expected {right}"


def _difference(before: Entries, right: Entries, found: Entries) -> str:
    """The cause behind a log that is not what it should be."""
    if found == right[: len(found)]:
        return "cuts" if len(found) < len(before) and right[: len(before)] == before else "adds-too-little"
    if found[: len(right)] == right:
        return "keeps-what-follows" if found[len(right) :] == before[len(right) :] else "adds-twice"
    if found[: len(before)] == before and len(found) > len(right):
        return "adds-twice"
    return "keeps-conflicts"


def _commit_cause(before: Held, sent: Sent, after: Held, right: int) -> str:
    found = after.commit
    if found < before.commit:
        return "goes-back"
    if found < right:
        return "waits"
    if found > len(after.entries):
        return "beyond-its-log"
    return "beyond-what-was-compared" if found > sent.compared else "beyond-the-leader"


def log_with(*causes: str) -> Judge:
    """The judge of a log for these causes, and for those of a log that does nothing."""
    wanted = {"refuses", "adds-too-little", *causes}

    def judge(steps: Sequence[Step]) -> Broken | None:
        return next((broken for broken in _logged(steps) if broken.cause in wanted), None)

    return judge


# -- a leader --------------------------------------------------------------------------------------


@dataclass
class Known:
    """What a leader should know, from what it was answered."""

    term: int = 1
    size: int = 3
    entries: Entries = ()
    commit: int = 0
    match: dict[str, int] = field(default_factory=dict)
    next: dict[str, int | None] = field(default_factory=dict)  # None: until it sends we cannot say
    why_next: dict[str, str] = field(default_factory=dict)
    stale: bool = False

    def begin(self, term: int, size: int, entries: Entries) -> None:
        others = [f"n{number}" for number in range(2, size + 1)]
        self.term, self.size, self.entries, self.commit = term, size, entries, 0
        self.match = dict.fromkeys(others, 0)
        self.next = dict.fromkeys(others, len(entries) + 1)
        self.why_next = dict.fromkeys(others, "is-new")

    def hear(self, other: str, success: bool, index: int) -> None:
        match, at = self.match[other], self.next[other]
        if success:
            stale = index < match
            self.match[other] = max(match, index)
            self.next[other] = self.match[other] + 1
            self.why_next[other] = "old-answer" if stale else "has-it"
        elif index <= match:
            self.next[other] = None if at is None else at if at > match else match + 1
            self.why_next[other] = "old-refusal"
        else:
            self.next[other] = index if at is not None and index <= at else None
            self.why_next[other] = "refused"

    def agreed(self) -> int:
        """The last entry that a majority has."""
        have = sorted([len(self.entries), *self.match.values()], reverse=True)
        return have[len(have) // 2]

    def due(self) -> int:
        """How much should be committed."""
        index = self.agreed()
        return index if index > self.commit and _term(self.entries, index) == self.term else self.commit


_WRONG_NEXT = {
    "is-new": "first-elsewhere",
    "has-it": "not-behind-what-it-has",
    "refused": "ignores-the-refusal",
    "old-refusal": "back-behind-what-it-has",
    "old-answer": "back-behind-what-it-has",
}


def _led(steps: Sequence[Step]) -> Iterator[Broken]:
    """All that is wrong with a leader, step by step."""
    known = Known()
    known.begin(1, 3, ())
    for step in steps:
        if step.result is None:
            continue
        fields = _fields(step)
        entries, commit = _parsed(fields["log"]), int(fields["commit"][0])
        if step.verb == "lead":
            known.begin(int(step.op[1]), int(step.op[2]), _parsed(step.op[3:]))
        elif step.verb in ("ok", "no"):
            known.hear(step.op[1], step.verb == "ok", int(step.op[2]))
        elif step.verb == "send":
            yield from _sending(step, known, fields["after"])
        elif step.verb == "propose":
            known.entries = (*known.entries, (known.term, step.op[1]))
            if fields["index"][0] != str(len(known.entries)):
                why = f"entry {len(known.entries)} was proposed, and propose returned {fields['index'][0]}"
                yield Broken(step.number, why, "other-index")
        if "disk" in fields:
            disk = _shown(_parsed(fields["disk"]))
            yield Broken(step.number, f"the leader's log is {_shown(entries)}, and its disk holds {disk}", "unsaved")
        if entries != known.entries:
            why = f"the leader's log should be {_shown(known.entries)}, and is {_shown(entries)}"
            yield Broken(step.number, why, "other-log")
        yield from _committing(step, known, commit)
        known.entries, known.commit = entries, commit


def _sending(step: Step, known: Known, words: list[str]) -> Iterator[Broken]:
    """`3/1 commit 2 entries 2:x`"""
    other = step.op[1]
    prev, prev_term = map(int, words[0].split("/"))
    commit, entries = int(words[2]), _parsed(words[4:])
    at = known.next[other]
    if prev < known.match[other] or (at is not None and prev != at - 1):
        has = f"{other} has {known.match[other]} entries for certain"
        why = f"{has}; expected entries from {at or 'behind those'} on, it sends them from {prev + 1} on"
        yield Broken(step.number, why, _WRONG_NEXT[known.why_next[other]])
    known.next[other] = prev + 1
    if _term(known.entries, prev) != prev_term:
        why = f"entry {prev} is of term {_term(known.entries, prev)}, and prev_term says {prev_term}"
        yield Broken(step.number, why, "other-prev-term")
    if entries != known.entries[max(0, prev) :]:
        why = f"behind entry {prev} stand {_shown(known.entries[max(0, prev) :])}, it sends {_shown(entries)}"
        yield Broken(step.number, why, "not-all-that-is-missing")
    if commit != known.commit:
        yield Broken(step.number, f"{known.commit} entries are committed, it says {commit}", "other-commit")


def _committing(step: Step, known: Known, commit: int) -> Iterator[Broken]:
    right = known.due()
    if commit == right:
        return
    have = ", ".join(f"{other} {index}" for other, index in known.match.items())
    told = f"in term {known.term} the log is {_shown(known.entries)}, others have: {have}"
    why = f"{told}; expected commit_index {right}, found {commit}"
    if commit < right:
        yield Broken(step.number, why, "goes-back" if commit < known.commit else "waits")
    elif commit > known.agreed():
        yield Broken(step.number, why, "without-a-majority")
    else:
        yield Broken(step.number, f"{why}: that entry is of term {_term(known.entries, commit)}", "counts-old-terms")


def leader_with(*causes: str) -> Judge:
    """The judge of a leader for these causes."""

    def judge(steps: Sequence[Step]) -> Broken | None:
        return next((broken for broken in _led(steps) if broken.cause in causes), None)

    return judge


# -- a group ---------------------------------------------------------------------------------------


@dataclass
class World:
    """What is known of a group before an event."""

    size: int = 3
    apart: frozenset[str] = frozenset()
    down: frozenset[str] = frozenset()
    is_lossy: bool = False
    since: set[str] = field(default_factory=set)  # entries proposed since nodes were last cut off or stopped
    is_steady: bool = False  # all agreed, and since then nothing but new commands
    quiet: int = -1  # ticks since all agreed, with nothing new; -1: they have not
    applied: dict[int, tuple[str, str]] = field(default_factory=dict)  # index -> entry, who
    known: dict[tuple[int, int], tuple[str, int, str]] = field(default_factory=dict)
    refusals: dict[tuple[str, ...], int] = field(default_factory=dict)
    proposed: set[str] = field(default_factory=set)

    def side(self, name: str) -> set[str]:
        names = {f"n{number}" for number in range(1, self.size + 1)}
        return (set(self.apart) if name in self.apart else names - self.apart) - self.down


class Event(NamedTuple):
    """`applies n2 3 1:c3` in words, told in a step."""

    step: Step
    words: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.words[0]

    def breaks(self, why: str, cause: str) -> Broken:
        return Broken(self.step.number, why, cause)


def _events(steps: Sequence[Step]) -> Iterator[tuple[Event, World]]:
    world = World()
    for step in steps:
        if step.result is None:
            continue
        states, *parts = step.result.split("; ")
        if step.verb == "group":
            world = World(size=int(step.op[1]))
        elif step.verb == "net":
            world.is_lossy = step.op[1:] != ("0", "1")
        elif step.verb == "heal":
            world.apart = frozenset()
        if step.verb not in ("run", "agree", "propose"):
            world.since, world.is_steady = set(), False
        if step.verb not in ("run", "agree"):
            world.quiet = -1
        world.down = frozenset(state.split(":")[0] for state in states.split() if state.endswith(":down"))
        for part in parts:
            event = Event(step, tuple(part.split()))
            yield event, world
            _note(world, event)


def _note(world: World, event: Event) -> None:
    words = event.words
    if event.kind == "apart":
        world.apart = frozenset(words[1:])
    elif event.kind == "proposed":
        world.since.add(words[2])
        world.proposed.add(words[2])
    elif event.kind == "applies":
        world.applied.setdefault(int(words[2]), (words[3], words[1]))
    elif event.kind == "refuses":
        world.refusals[words[1:4]] = world.refusals.get(words[1:4], 0) + int(words[4])
    elif event.kind == "leads":
        world.quiet, world.is_steady = -1, False
    elif event.kind == "agreed":
        world.quiet, world.is_steady = 0, True
    elif event.kind == "sent" and world.quiet >= 0:
        world.quiet += int(event.step.op[1])
    elif event.kind == "log":
        for key, value in _placed(event):
            world.known.setdefault(key, value)


def _placed(event: Event) -> Iterator[tuple[tuple[int, int], tuple[str, int, str]]]:
    """Each entry of a log: (index, term), and what it holds, the term before it, and whose log it is."""
    before = 0
    for index, (term, command) in enumerate(_parsed(event.words[2:]), start=1):
        yield (index, term), (command, before, event.words[1])
        before = term


Watch: TypeAlias = Callable[[Event, World], Broken | None]


def _same_everywhere(event: Event, world: World) -> Broken | None:
    if event.kind == "applies":
        _, name, index, entry = event.words
        first, whose = world.applied.get(int(index), (entry, name))
        if first != entry:
            why = f"at index {index} {whose} applied {first}, and {name} applies {entry}: a committed entry is lost"
            return event.breaks(why, "differs")
        if entry not in world.proposed:
            return event.breaks(f"{name} applies {entry} at {index}, which nobody proposed", "invented")
    return None


def _logs_match(event: Event, world: World) -> Broken | None:
    if event.kind == "log":
        for key, (command, before, name) in _placed(event):
            what, term, whose = world.known.get(key, (command, before, name))
            if (what, term) != (command, before):
                why = (
                    f"entry {key[0]} of term {key[1]} is {command} after term {before} at {name}, and {what} after "
                    f"term {term} at {whose}"
                )
                return event.breaks(why, "logs-differ")
    return None


def _no_more_than_proposed(event: Event, world: World) -> Broken | None:
    if event.kind == "swells":
        why = f"{event.words[3]} commands were proposed, and the log of {event.words[1]} has {event.words[2]} entries"
        return event.breaks(why, "swells")
    return None


def _agreement(event: Event, world: World) -> Broken | None:
    if event.kind == "disagreed":
        why = f"a majority is connected, nothing gets lost, and after {event.words[1]} ticks not all have a new command"
        return event.breaks(why, "no-agreement")
    return None


def _minority(event: Event, world: World) -> Broken | None:
    if event.kind == "applies" and event.words[3] in world.since:
        side = world.side(event.words[1])
        if 2 * len(side) <= world.size:
            why = (
                f"{event.words[1]} applies {event.words[3]}; it can reach {len(side)} of {world.size}, itself included"
            )
            return event.breaks(why, "minority")
    return None


def _frugal(event: Event, world: World) -> Broken | None:
    if event.kind == "sent" and world.quiet >= 10 and not world.is_lossy and event.words[3] != "0":
        why = f"everybody has everything, and in {event.step.op[1]} ticks {event.words[3]} entries were sent again"
        return event.breaks(why, "sends-again")
    return None


def _swift(event: Event, world: World) -> Broken | None:
    if event.kind == "agreed" and world.is_steady and not world.is_lossy and int(event.words[1]) > QUICK_TICKS:
        why = f"nothing is disturbed, and agreement took {event.words[1]} ticks; {QUICK_TICKS} are more than enough"
        return event.breaks(why, "slow")
    return None


def _backs_up(event: Event, world: World) -> Broken | None:
    if event.kind == "refuses" and not world.is_lossy:
        follower, leader, term = event.words[1:4]
        times = world.refusals.get(event.words[1:4], 0) + int(event.words[4])
        if times > MOST_REFUSALS:
            why = f"{follower} has refused {leader} {times} times in term {term}: they go back too slowly"
            return event.breaks(why, "step-by-step")
    return None


SAFE: tuple[Watch, ...] = (_same_everywhere, _logs_match, _no_more_than_proposed)


def watches(*all_of: Watch) -> Judge:
    """The judge that several watches make."""

    def judge(steps: Sequence[Step]) -> Broken | None:
        for event, world in _events(steps):
            for watch in all_of:
                if found := watch(event, world):
                    return found
        return None

    return judge


# -- scripts for a log and a leader ----------------------------------------------------------------


class Reign(NamedTuple):
    """A leader of the past or present: its log at the end, and how much of it was committed then."""

    term: int
    entries: list[str]
    committed: int


def history(rng: random.Random, terms: int) -> list[Reign]:
    """Leaders one after the other. Each has what is committed, maybe more, and adds its own."""
    reigns = [Reign(0, [], 0)]
    for term in sorted(rng.sample(range(1, 9), terms)):
        before = reigns[-1]
        entries = before.entries[: rng.randint(before.committed, len(before.entries))]
        entries = entries + [f"{term}:{letter}" for letter in "abcde"[: rng.randint(1, 5)]]
        reigns.append(Reign(term, entries, rng.randint(before.committed, len(entries))))
    return reigns[1:]


def _statement(rng: random.Random, reign: Reign) -> Op:
    """Something that this leader may have sent at some time."""
    prev = rng.randint(0, len(reign.entries))
    entries = reign.entries[prev : rng.randint(prev, len(reign.entries))]
    term = reign.entries[prev - 1].partition(":")[0] if prev else "0"
    return ("append", f"{prev}/{term}", str(rng.randint(0, reign.committed)), *entries)


def statements(rng: random.Random) -> list[Op]:
    """What a node hears from leaders in the order of their terms, each message at any time, any number of times."""
    first, *later = history(rng, rng.randint(2, 4))
    ops: list[Op] = [("have", *first.entries)]
    for reign in later:
        ops += [_statement(rng, reign) for _ in range(rng.randint(2, 6))]
        if rng.random() < 0.3:
            ops.append(("restart",))
    return ops


def catching_up(rng: random.Random) -> list[Op]:
    """A node that is far behind, and a leader that sends what is missing piece by piece."""
    *_, reign = history(rng, rng.randint(1, 4))
    ops: list[Op] = [("have",)]
    at = 0
    while at < len(reign.entries):
        size = rng.randint(1, 3)
        term = reign.entries[at - 1].partition(":")[0] if at else "0"
        part = reign.entries[at : at + size]
        ops += [("append", f"{at}/{term}", str(min(reign.committed, at + size)), *part)] * rng.choice((1, 1, 2))
        at += len(part)
        if rng.random() < 0.2:
            ops.append(("restart",))
    return ops


def answers(rng: random.Random) -> list[Op]:
    """A leader, and what its followers answer: in order, late, twice. Each of its messages went to the end of its log,
    so no yes is for less than it began with."""
    size, term = rng.choice((2, 3, 4, 5)), rng.randint(2, 6)
    *_, reign = history(rng, 3)
    old = [entry for entry in reign.entries if int(entry.partition(":")[0]) < term]
    ops: list[Op] = [("lead", str(term), str(size), *old)]
    names = [f"n{number}" for number in range(2, size + 1)]
    length = len(old)
    match, next_index = dict.fromkeys(names, 0), dict.fromkeys(names, length + 1)
    for number in range(rng.randint(12, 30)):
        name = rng.choice(names)
        kind = rng.choice(("propose", "send", "send", "ok", "ok", "ok", "old", "no"))
        if kind == "propose":
            length += 1
            ops.append(("propose", f"p{number}"))
        elif kind == "ok" and match[name] < length:
            match[name] = rng.randint(max(match[name] + 1, len(old)), length)
            next_index[name] = match[name] + 1
            ops.append(("ok", name, str(match[name])))
        elif kind == "old" and match[name]:
            late = rng.choice(("ok", "no"))
            ops.append((late, name, str(rng.randint(max(1, len(old)) if late == "ok" else 1, match[name]))))
        elif kind == "no" and next_index[name] - 1 > match[name]:
            next_index[name] = rng.randint(match[name] + 1, next_index[name] - 1)
            ops.append(("no", name, str(next_index[name])))
        ops.append(("send", name))
    return ops


# -- scripts for a group ---------------------------------------------------------------------------


def _size(rng: random.Random) -> tuple[list[str], Op]:
    size = rng.choice((3, 3, 5))
    return [f"n{number}" for number in range(1, size + 1)], ("group", str(size), str(rng.randrange(10_000)))


def _propose(rng: random.Random, most: int, who: str = "leader") -> list[Op]:
    return [("propose", who)] * rng.randint(1, most)


def quiet_times(rng: random.Random) -> list[Op]:
    _, first = _size(rng)
    ops: list[Op] = [first, ("agree",)]
    for _ in range(3):
        ops += [*_propose(rng, 9), ("agree",), ("agree",), ("run", "12"), ("run", "20")]
    return ops


def fewer(rng: random.Random) -> list[Op]:
    names, first = _size(rng)
    ops: list[Op] = [first, ("agree",)]
    for _ in range(2):
        few = rng.sample(names, len(names) // 2)
        ops += [("split", *few), ("run", "2"), *[("propose", name) for name in names], ("run", "30"), ("agree",)]
        ops += [("heal",), ("agree",)]
    return ops


def returning(rng: random.Random) -> list[Op]:
    """Leaders cut off with entries that nobody else has, one after the other."""
    _, first = _size(rng)
    ops: list[Op] = [first, ("agree",)]
    for _ in range(rng.randint(2, 3)):
        ops += [("split", "leader"), *_propose(rng, 4), ("agree",), *_propose(rng, 3), ("agree",)]
        ops += rng.choice([[("split", "leader"), *_propose(rng, 2), ("run", "30")], []])
        ops += [("heal",), ("agree",)]
    return ops


def conflicting(rng: random.Random) -> list[Op]:
    """Two sides write much, one of them in vain. The leader that comes then has a long log, and is new."""
    names = [f"n{number}" for number in range(1, 6)]
    ops: list[Op] = [("group", "5", str(rng.randrange(10_000))), ("agree",)]
    for _ in range(2):
        ops += [("split", "leader"), *[("propose",)] * rng.randint(16, 22), ("agree",)]
        ops += [*[("propose",)] * rng.randint(14, 20), ("run", "5"), ("crash", "leader"), ("agree",), ("heal",)]
        ops += [("agree",), *[("restart", name) for name in names], ("agree",)]
    return ops


def stopping(rng: random.Random) -> list[Op]:
    """Crashes of one, of some, of all."""
    names, first = _size(rng)
    ops: list[Op] = [first, ("agree",)]
    for _ in range(rng.randint(3, 5)):
        away = rng.choice([["leader"], rng.sample(names, len(names) // 2), names])
        ops += [*_propose(rng, 3), ("run", str(rng.randint(1, 5))), *[("crash", name) for name in away]]
        ops += [("agree",), *[("restart", name) for name in names], ("agree",)]
    return ops


def figure_8(rng: random.Random) -> list[Op]:
    """The paper's figure, with other nodes, other numbers of entries, and maybe something in between."""
    one, two, four, five = rng.sample([f"n{number}" for number in range(1, 6)], 4)
    ops: list[Op] = [("group", "5", "1"), ("elect", one), ("run", "4"), *rng.choice([[], [("agree",)]])]
    ops += [("elect", one), ("run", "4"), ("split", one, two), *_propose(rng, 2, one), ("run", "4")]
    ops += [("crash", one), ("heal",), ("split", two), ("elect", five), ("run", "4")]
    ops += [("split", five), *_propose(rng, 2, five), ("run", "2"), ("crash", five), ("heal",), ("restart", one)]
    ops += [("split", four), ("elect", one), ("run", str(rng.randint(7, 9))), *rng.choice([[], [("propose", one)]])]
    ops += [("crash", one), ("heal",), ("restart", five), ("elect", five), ("run", "6"), ("agree",)]
    return [*ops, ("restart", one), ("agree",)]


def unreliable(rng: random.Random) -> list[Op]:
    names, first = _size(rng)
    ops: list[Op] = [first, ("net", str(rng.choice((10, 30))), str(rng.choice((1, 3, 6))))]
    for _ in range(rng.randint(4, 8)):
        ops += [*_propose(rng, 3), ("run", str(rng.randint(5, 30)))]
        if rng.random() < 0.4:
            ops.append(rng.choice([("split", *rng.sample(names, len(names) // 2)), ("heal",)]))
    return [*ops, ("net", "0", "1"), ("heal",), ("run", "10"), ("agree",), ("agree",)]


def storm(rng: random.Random) -> list[Op]:
    """Leaders that crash soon after they have written, as in MIT's `figure 8 (unreliable)`."""
    names = [f"n{number}" for number in range(1, 6)]
    net: Op = ("net", str(rng.choice((0, 10, 20))), str(rng.choice((1, 4))))
    ops: list[Op] = [("group", "5", str(rng.randrange(10_000))), net]
    for _ in range(rng.randint(8, 12)):
        ops += [("propose",), ("run", str(rng.choice((1, 2, 3, 25))))]
        ops += rng.choice([[("crash", "leader")], [("split", "leader")], [("heal",)], []])
        ops += [("restart", rng.choice(names)), ("run", str(rng.choice((5, 25))))]
    ops += [("net", "0", "1"), ("heal",), *[("restart", name) for name in names], ("run", "10")]
    return [*ops, ("agree",), ("agree",)]


F8 = (
    "group 5; elect n1; run 4; split n1 n2; propose n1; run 4; crash n1; heal; split n2; elect n5; run 4; split n5; "
    "propose n5; run 2; crash n5; heal; restart n1; split n4; elect n1; run 8; crash n1; heal; restart n5; elect n5; "
    "run 6; agree; restart n1; agree"
)
F8_OWN = F8.replace("run 8; crash n1", "run 8; propose n1; crash n1")
TWENTY = "; ".join(["propose"] * 20)
PLAIN = "Read the schedule from the last line upwards: what did each side have before that step?"
BASIC: dict[str, list[str]] = {
    "refuses": [
        "The entry before the new ones is there, with the right term. What do you compare it with?",
        "Entry number 1 is entries[0]. And before the first entry the index is 0 and the term 0: that always fits.",
    ],
    "adds-too-little": ["What became of the entries that were not there yet?", "Figure 2, AppendEntries 4."],
    "": [PLAIN],
}
LOST = [
    "Somebody was told that this entry is committed. Which of the nodes that had it gave it up, and when?",
    "Look at the node that applied it first: did a majority have it, on disk, and from a leader of its own term?",
    "The checks of a single log and a single leader show the same mistake in fewer steps.",
]
GROUP: dict[str, list[str]] = {
    "differs": LOST,
    "logs-differ": [
        "Two entries with one index and one term: the same leader made both, so they should be the same.",
        "What did on_append_entries do with what stood there, and with what stood behind it?",
    ],
    "swells": ["Which entries were there already? Compare place by place before you add."],
    "no-agreement": [
        "There is a leader. What does it send, what is answered, and does next_index move?",
        "Step through the schedule: which node does not get further, and what is the entry that it refuses?",
    ],
    "": [PLAIN, "The checks of a single log and a single leader show the same mistake in fewer steps."],
}
ONE, ALL = ("Log",), ("Log", "Leader")

LAB = LabSpec(
    title="Raft: replication",
    question="A majority has the entry, the leader has told the client, and a minute later it is gone. Which line of "
    "figure 2 was left out?",
    names={"Log": "class", "Leader": "class"},
    forbidden=("k8slab.raft", "k8slab.etcd"),
    minutes=90,
    checks=(
        Check(
            "adds-what-follows",
            "Entries that follow what is there are added",
            1,
            log_with("adds-twice", "other-last", "forgets"),
            {
                "the first": "have; append 0/0 0 1:a",
                "two more": "have 1:a; append 1/1 0 1:b 2:c",
                "none": "have 1:a; append 1/1 0",
            },
            catching_up,
            {
                "adds-twice": ["These entries were there already. Where does an entry with this index belong?"],
                "other-last": ["last() is (index, term) of the last entry: the index is the number of entries."],
                "forgets": ["entries = disk.load(): the log that was saved."],
                **BASIC,
            },
            setting="log",
            needs=ONE,
        ),
        Check(
            "refuses-what-does-not-fit",
            "Without the entry before, with just that term, it refuses and changes nothing",
            2,
            log_with("accepts-a-gap", "accepts-a-conflict", "changes-and-refuses", "commits-and-refuses"),
            {
                "a gap": "have 1:a; append 3/1 0 1:d",
                "another term": "have 1:a 1:b; append 2/2 0 3:c",
                "it fits": "have 1:a 1:b; append 2/1 0 3:c",
                "commits nothing": "have 1:a 1:b; append 2/2 1",
            },
            statements,
            {
                "accepts-a-gap": [
                    "Entry 3 has never arrived. Where would entry 4 go?",
                    "AppendEntries 2: refuse if the log has no entry at prev_index.",
                ],
                "accepts-a-conflict": [
                    "There is an entry with that number. Is it the leader's?",
                    "Same index and same term, or refuse: so two logs that agree in one entry agree in all before it.",
                ],
                "changes-and-refuses": ["First look whether it fits, then change something."],
                "commits-and-refuses": ["It does not know whether its entries are the leader's. What may it commit?"],
                **BASIC,
            },
            setting="log",
            needs=ONE,
        ),
        Check(
            "conflicts-go",
            "An entry of another term goes, with all that stand behind it",
            1,
            log_with("keeps-conflicts", "keeps-what-follows"),
            {
                "one": "have 1:a 1:b; append 1/1 0 2:c",
                "with its followers": "have 1:a 1:b 1:c 1:d; append 1/1 0 2:e",
                "from the start": "have 1:a 1:b; append 0/0 0 2:c",
                "behind what agrees": "have 1:a 1:b 1:c; append 0/0 0 1:a 3:d",
            },
            statements,
            {
                "keeps-conflicts": [
                    "Two entries claim one place. Whose is right?",
                    "AppendEntries 3: same index, other term: the entry goes, and all that follow it.",
                ],
                "keeps-what-follows": [
                    "The entry was replaced. What about those behind it, which followed the wrong one?",
                    "self.entries[index - 1:] = ..., to the end.",
                ],
                **BASIC,
            },
            setting="log",
            needs=ONE,
        ),
        Check(
            "agreeing-entries-stay",
            "A message that arrives late or twice takes nothing away",
            2,
            log_with("cuts", "adds-twice"),
            {
                "an old message": "have 1:a; append 1/1 0 1:b 1:c; append 1/1 0 1:b",
                "a heartbeat": "have 1:a; append 1/1 0 1:b; append 1/1 0",
                "twice": "have 1:a; append 1/1 0 1:b; append 1/1 0 1:b",
            },
            statements,
            {
                "cuts": [
                    "Those entries were confirmed, the leader counts on them. What did the late message say of them?",
                    "It said nothing about what stands behind. Only a conflict removes entries.",
                    "Go through the new entries until one is missing or conflicts; from there on replace.",
                ],
                "adds-twice": ["Which of the entries are there already? Compare place by place."],
                **BASIC,
            },
            setting="log",
            needs=ONE,
        ),
        Check(
            "says-how-far",
            "Yes names the last entry that was compared, whatever else the log holds",
            2,
            log_with("claims-more", "claims-less"),
            {
                "a longer log": "have 1:a 1:b 1:c; append 1/1 0 1:b",
                "a heartbeat": "have 1:a 1:b 1:c; append 1/1 0",
                "all new": "have 1:a; append 1/1 0 1:b 1:c",
            },
            statements,
            {
                "claims-more": [
                    "The log may end with entries of a dead leader. Does it know that the leader has them?",
                    "prev_index + len(entries): so far it was compared.",
                ],
                "claims-less": ["prev_index + len(entries), also when all of them were there before."],
                **BASIC,
            },
            setting="log",
            needs=ONE,
        ),
        Check(
            "says-where-to-begin",
            "No says where to begin: a whole term back, or behind the last entry",
            1,
            log_with("begins-elsewhere", "accepts-a-gap", "accepts-a-conflict", "changes-and-refuses"),
            {
                "too short": "have 1:a; append 5/2 0 2:f; append 1/1 0 2:b",
                "a term back": "have 1:a 2:b 2:c 2:d; append 4/3 0; append 1/1 0",
                "all of one term": "have 1:a 1:b; append 2/2 0; append 0/0 0 2:c",
            },
            statements,
            {
                "accepts-a-gap": ["There is no such entry: the answer is (False, where to begin)."],
                "accepts-a-conflict": ["The entry there is of another term: (False, where to begin)."],
                "changes-and-refuses": ["A refusal leaves the log as it is: the leader will send what belongs there."],
                "begins-elsewhere": [
                    "The entry in the way is of a term. Where in the log does that term begin?",
                    "If there is no entry at prev_index, the first one missing is number len(entries) + 1.",
                    "Walk back while the entry before has the same term.",
                ],
                **BASIC,
            },
            setting="log",
            needs=ONE,
        ),
        Check(
            "commits-what-was-compared",
            "It commits what the leader has committed, up to the entry just compared, and never less than before",
            2,
            log_with(
                "beyond-what-was-compared",
                "beyond-its-log",
                "beyond-the-leader",
                "waits",
                "goes-back",
                "commits-and-refuses",
            ),
            {
                "a heartbeat": "have 1:a 1:b 1:c; append 1/1 3; append 3/1 3",
                "less than it has": "have 1:a 1:b; append 2/1 1; append 2/1 2",
                "an old message": "have 1:a 1:b; append 2/1 2; append 2/1 1; append 1/1 1",
                "behind the leader": "have 1:a; append 1/1 5 1:b",
            },
            statements,
            {
                "beyond-what-was-compared": [
                    "The leader has committed 3 entries. Are the three in this log the same ones?",
                    "AppendEntries 5: min(leaderCommit, index of last new entry). That is not the end of your log.",
                    "prev_index + len(entries) is as far as you know that you agree.",
                ],
                "beyond-its-log": [
                    "How many entries are in this log? It calls some committed that it has not got.",
                    "AppendEntries 5: min(leaderCommit, index of last new entry), also when entries came with it.",
                ],
                "beyond-the-leader": ["How much does the leader say is committed?"],
                "waits": ["commit_index follows leader_commit, also with a message that brings no entries."],
                "goes-back": ["An old message says an old number. What is committed stays so: max."],
                "commits-and-refuses": ["No commit without agreement."],
                **BASIC,
            },
            setting="log",
            needs=ONE,
        ),
        Check(
            "saved-before-it-says-yes",
            "What it confirms is on its disk, and is there after a crash",
            2,
            log_with("unsaved", "forgets"),
            {
                "one": "have; append 0/0 0 1:a; restart",
                "instead of others": "have 1:a 1:b; append 1/1 0 2:c; restart",
            },
            catching_up,
            {
                "unsaved": [
                    "The leader counts this yes. What is left of the entry after a crash?",
                    "disk.save(self.entries) wherever the entries change, before return.",
                ],
                "forgets": ["entries = disk.load()"],
                **BASIC,
            },
            setting="log",
            needs=ONE,
        ),
        Check(
            "sends-what-is-missing",
            "A leader sends all entries from the next one on, and what stands before them",
            1,
            leader_with(
                "first-elsewhere",
                "other-prev-term",
                "not-all-that-is-missing",
                "other-commit",
                "other-index",
                "other-log",
            ),
            {
                "new, nothing to send": "lead 3 3 1:a 2:b; send n2",
                "three at once": "lead 3 3 1:a; propose x; propose y; propose z; send n2; send n3",
                "an empty log": "lead 1 3; propose x; send n2",
            },
            answers,
            {
                "first-elsewhere": [
                    "A new leader believes that all others have what it has. Which entry would be next?",
                    "Figure 2: nextIndex starts at the leader's last log index + 1.",
                ],
                "other-prev-term": [
                    "prev_term is the term of the entry at prev_index, not the leader's.",
                    "Before the first entry: index 0, term 0.",
                ],
                "not-all-that-is-missing": [
                    "Entry number n is entries[n - 1]. Which slice begins at the next one?",
                    "All of them in one message: a round trip for each would be slow.",
                ],
                "other-commit": ["leader_commit is the commit_index of the leader's log, as it is now."],
                "other-index": ["The first entry has index 1."],
                "other-log": ["propose adds one entry (term, command), at the end, and nothing else changes the log."],
            },
            setting="leader",
            needs=ALL,
        ),
        Check(
            "learns-from-answers",
            "Yes moves next behind what the node has, no moves it back, and old answers do neither",
            2,
            leader_with(
                "not-behind-what-it-has",
                "ignores-the-refusal",
                "back-behind-what-it-has",
                "first-elsewhere",
                "other-log",
            ),
            {
                "yes": "lead 3 3 1:a; propose x; ok n2 2; send n2",
                "no": "lead 3 3 1:a 1:b 2:c; send n2; no n2 2; send n2",
                "a late no": "lead 3 3 1:a 1:b 2:c; ok n2 3; no n2 2; send n2",
                "a late yes": "lead 3 3 1:a; propose x; propose y; ok n2 3; ok n2 2; send n2",
            },
            answers,
            {
                "not-behind-what-it-has": [
                    "It has told you how far it has everything. Which entry is next?",
                    "next is match + 1: one entry too many is sent again and again, one too few is never sent.",
                ],
                "ignores-the-refusal": ["A refusal says where to begin: that is its next index."],
                "back-behind-what-it-has": [
                    "That answer is older than one you had. What do you know for certain?",
                    "match never goes back (max), and next stays behind match.",
                ],
                "first-elsewhere": ["nextIndex starts at the last index + 1."],
                "": [PLAIN],
            },
            setting="leader",
            needs=ALL,
        ),
        Check(
            "commits-by-majority",
            "An entry of its own term is committed as soon as a majority has it, the leader included",
            2,
            leader_with("without-a-majority", "waits", "goes-back", "other-log", "unsaved"),
            {
                "three": "lead 2 3 1:a; propose x; ok n2 2",
                "five": "lead 2 5 1:a; propose x; ok n2 2; ok n3 2",
                "four": "lead 2 4; propose x; ok n2 1; ok n3 1",
                "the same twice": "lead 2 5; propose x; ok n2 1; ok n2 1",
                "alone": "lead 2 1; propose x",
                "a late yes": "lead 2 3; propose x; propose y; ok n2 2; ok n2 1",
            },
            answers,
            {
                "without-a-majority": [
                    "How many of the group have the entry, and how many are more than half?",
                    "Sort what they have, the leader too, the greatest first: the one in the middle is what a majority "
                    "has.",
                ],
                "waits": [
                    "The leader has the entry too: it counts.",
                    "When does your leader look? After each yes, and after propose: it may be alone in its group.",
                ],
                "goes-back": ["What is committed stays committed."],
                "unsaved": ["The leader counts itself. Does it have the entry also after a crash?"],
                "other-log": ["propose adds (term, command); the log starts with what load() gives."],
            },
            setting="leader",
            needs=ALL,
        ),
        Check(
            "only-its-own-term",
            "Entries of older terms are not committed by counting, only under one of its own",
            2,
            leader_with("counts-old-terms", "waits", "other-log"),
            {
                "an old entry": "lead 4 3 2:a; ok n2 1; propose x; ok n2 2",
                "in five": "lead 4 5 1:a 2:b; ok n2 2; ok n3 2; propose x; ok n2 3; ok n3 3",
            },
            answers,
            {
                "counts-old-terms": [
                    "A majority has the entry. Can a node without it still win an election? Compare last terms.",
                    "It can, if its own last entry is of a later term than this one. That is figure 8 of the paper.",
                    "Commit an index only if log.term_at(index) == self.term; all before it are committed with it.",
                ],
                "other-log": ["propose adds (term, command); the log starts with what load() gives."],
                "waits": ["With an entry of its own term on a majority, everything before it is committed too."],
            },
            setting="leader",
            needs=ALL,
        ),
        Check(
            "agreement",
            "Commands reach everybody, in one order, also several at once",
            1,
            watches(*SAFE, _agreement),
            {
                "three": "group 3; agree; agree; agree",
                "at once": "group 5; agree; propose; propose; propose; propose; agree; agree",
                "alone": "group 1; agree; agree",
                "one is away": "group 3; agree; split n2; agree; agree; heal; agree",
            },
            quiet_times,
            GROUP,
            public=4,
            hidden=8,
            setting="group",
            needs=ALL,
        ),
        Check(
            "few-messages",
            "Nothing is sent twice without need, and many commands travel together",
            1,
            watches(_no_more_than_proposed, _agreement, _frugal, _swift),
            {
                "ten at once": f"group 3; agree; {TWENTY}; agree; run 12; run 20",
                "quiet": "group 5; agree; run 12; run 30",
            },
            quiet_times,
            {
                "sends-again": [
                    "Who has everything needs nothing. Which entry goes out, and what did its receiver say of it?",
                    "After yes: next is match + 1.",
                ],
                "slow": ["A message may carry many entries: all from next to the last."],
                **GROUP,
            },
            public=4,
            hidden=8,
            setting="group",
            needs=ALL,
        ),
        Check(
            "nothing-without-a-majority",
            "Who reaches half of the group or less commits nothing",
            1,
            watches(*SAFE, _minority, _agreement),
            {
                "the leader is cut off": "group 3; agree; split leader; propose; propose; run 30; agree; heal; agree",
                "two of four": "group 4; agree; split n1 n2; propose; run 30; heal; agree",
            },
            fewer,
            {"minority": ["Half is no majority. Of how many do you count: the group, or those who answer?"], **GROUP},
            public=4,
            hidden=8,
            setting="group",
            needs=ALL,
        ),
        Check(
            "the-old-leader-returns",
            "A leader that was cut off comes back with entries of its own, and gives them up",
            1,
            watches(*SAFE, _agreement),
            {
                "one": "group 3; agree; split leader; propose; propose; agree; heal; agree",
                "two": "group 3 4; agree; split leader; propose; agree; propose; split leader; propose; run 30; heal; "
                "agree; agree",
            },
            returning,
            GROUP,
            public=4,
            hidden=8,
            setting="group",
            needs=ALL,
        ),
        Check(
            "backs-up-quickly",
            "A log with many wrong entries is mended in a few round trips",
            1,
            watches(*SAFE, _agreement, _backs_up),
            {
                "twenty in vain": f"group 5; agree; split leader; {TWENTY}; agree; {TWENTY}; run 5; crash leader; "
                "agree; heal; agree",
                "twenty behind": f"group 3; agree; split leader; {TWENTY}; agree; {TWENTY}; run 5; heal; agree",
            },
            conflicting,
            {
                "step-by-step": [
                    "Each refusal costs a round trip. How many entries does one take back?",
                    "A refusal names the place where to begin: begin_here gives the first entry of that term, and the "
                    "leader goes there at once.",
                ],
                **GROUP,
            },
            public=3,
            hidden=6,
            setting="group",
            needs=ALL,
        ),
        Check(
            "survives-crashes",
            "Nodes crash, one or all, and nothing that was committed is lost",
            2,
            watches(*SAFE, _agreement),
            {
                "all": "group 3; agree; agree; crash n1; crash n2; crash n3; restart n1; restart n2; restart n3; agree",
                "one by one": "group 3; agree; crash n1; agree; restart n1; crash n2; agree; restart n2; crash n3; "
                "agree; restart n3; agree",
                "the leader and one of two": "group 3; elect n1; run 4; agree; split n3; propose n1; run 8; crash n1; "
                "heal; crash n2; restart n1; elect n3; agree; restart n2; agree",
            },
            stopping,
            GROUP,
            public=4,
            hidden=8,
            setting="group",
            needs=ALL,
        ),
        Check(
            "figure-8",
            "An old entry on a majority may still be overwritten: whoever calls it committed is wrong",
            2,
            watches(*SAFE, _agreement),
            {"of the paper": F8, "with an entry of its own": F8_OWN},
            figure_8,
            {
                "differs": [
                    "An entry of term 1 was on three of five nodes, in term 3. Was it committed? Could n5 still win?",
                    "n5's last entry is of term 2: later than 1, so the others vote for it, and it overwrites theirs.",
                    "Count only entries of the leader's own term.",
                    "That n1 has an entry of its own is not enough: a majority must have that one.",
                ],
                **{cause: hints for cause, hints in GROUP.items() if cause != "differs"},
            },
            public=4,
            hidden=8,
            setting="scripted",
            needs=ALL,
        ),
        Check(
            "unreliable",
            "Messages are lost, late and out of order: logs agree all the same",
            2,
            watches(*SAFE, _minority, _agreement),
            {"lossy": "group 3; net 30 4; propose; run 40; propose; propose; run 40; net 0 1; run 10; agree; agree"},
            unreliable,
            GROUP,
            public=5,
            hidden=10,
            setting="group",
            needs=ALL,
        ),
        Check(
            "figure-8-unreliable",
            "Leaders crash as soon as they have written, again and again, in a bad network",
            2,
            watches(*SAFE, _agreement),
            {
                "three leaders": "group 5 3; agree; propose; run 2; crash leader; run 40; propose; run 1; "
                "crash leader; run 40; propose; run 2; restart n1; restart n2; restart n3; restart n4; restart n5; "
                "agree; agree",
            },
            storm,
            GROUP,
            public=5,
            hidden=10,
            setting="group",
            needs=ALL,
        ),
    ),
)
