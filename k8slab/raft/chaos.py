"""Schedules of faults: made from a seed, played, judged, made short.

>>> from k8slab.raft.chaos import Schedule, play
>>> outcome = play(Schedule.parse("size=3 seed=1: run 2000; write x=1 1; run 50; crash 1; run 3000; read x 2; run 100"))
>>> outcome.problems, [(op.kind, op.value) for op in outcome.history]
([], [('write', '1'), ('read', '1')])

A schedule is text, so that a failing one can be told in a line: `Schedule.parse(line)` plays it again.

Upstream: none. Spec: Jepsen (kinds of faults); Kingsbury and Alvaro, "Elle" and Knossos (judging histories)
Simplified: clients do one thing at a time each, and never repeat what timed out.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from k8slab.check import Judge, Operation, judge, not_linearizable
from k8slab.check.raft import RAFT
from k8slab.raft.cluster import Proposal, RaftCluster, Read
from k8slab.raft.messages import NO_LIMIT, NONE
from k8slab.raft.raft import Raft
from k8slab.sim import Faults, Trace, minimise

__all__ = ["Outcome", "Schedule", "Staged", "generate", "play", "shortest"]

Word = tuple[str, ...]


class Schedule(NamedTuple):
    """The options of a RaftCluster, and what is done to it, word by word."""

    options: Mapping[str, int]
    steps: tuple[Word, ...]

    def __str__(self) -> str:
        options = " ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{options}: {'; '.join(' '.join(step) for step in self.steps)}"

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """The other way round. ValueError names the word that is not understood."""
        head, colon, tail = text.partition(":")
        if not colon:
            raise ValueError(f"schedule {text[:60]!r}: expected options, a colon and steps")
        options = {}
        for word in head.split():
            name, equals, value = word.partition("=")
            if name not in _OPTIONS or not equals or not value.lstrip("-").isdigit():
                raise ValueError(f"option {word!r}: expected {', '.join(_OPTIONS)}, each with =number")
            options[name] = int(value)
        steps = tuple(tuple(part.split()) for part in tail.split(";") if part.strip())
        for step in steps:
            if step[0] not in _STEPS:
                raise ValueError(f"step {' '.join(step)!r}: expected one of {', '.join(_STEPS)}")
        return cls(options, steps)


@dataclass
class Outcome:
    """`problems`: what judges found, and keys whose history no order explains. `alive`: whether, once all was healed,
    a write went through, or none ever could."""

    problems: list[str]
    history: list[Operation]
    alive: bool
    trace: Trace


_OPTIONS = {
    "size": 3,
    "seed": 0,
    "pre_vote": 1,
    "check_quorum": 1,
    "lease": 0,
    "sync_ms": 0,
    "delay_ms": 5,
    "loss": 0,  # percent
    "duplicate": 0,  # percent
    "reorder": 0,
    "snapshot_count": 10_000,
    "keep_entries": 5_000,
    "max_inflight_messages": 256,
    "max_size_per_message": NO_LIMIT,
    "max_committed_size_per_ready": 0,
}
TICK_MS = 10


@dataclass
class _Run:
    """A schedule while it is played."""

    raft: RaftCluster
    leaders: list[int] = field(default_factory=list)
    asked: list[tuple[Proposal | Read, Operation]] = field(default_factory=list)

    def note(self, what: Proposal | Read, operation: Operation) -> None:
        self.asked.append((what, operation))

    def write(self, pair: str, via: str) -> None:
        """A client of member `via` writes `key=value`."""
        key, _, value = pair.partition("=")
        id = self._known(via)
        operation = Operation(f"client/{len(self.asked)}", key, "write", value, self.raft.now_ms)
        self.note(self.raft.propose(pair, via=id), operation)

    def read(self, key: str, via: str) -> None:
        """A client of member `via` asks for a key, linearizably."""
        id = self._known(via)
        if id in self.raft.alive:
            operation = Operation(f"client/{len(self.asked)}", key, "read", None, self.raft.now_ms)
            self.note(self.raft.read(key, via=id), operation)

    def run(self, ms: str) -> None:
        """Let time pass, and note which answers came."""
        end = self.raft.now_ms + int(ms)
        while self.raft.now_ms < end:
            self._known("leader")
            self.raft.run(until=self._answered, for_ms=end - self.raft.now_ms)
            self.collect()

    def _answered(self) -> bool:
        return any(
            operation.returned is None and what.state in ("applied", "answered") for what, operation in self.asked
        )

    def collect(self) -> None:
        for at, (what, operation) in enumerate(self.asked):
            if operation.returned is None and what.state in ("applied", "answered"):
                value = what.value if isinstance(what, Read) else operation.value
                self.asked[at] = (what, operation._replace(returned=self.raft.now_ms, value=value))

    def crash(self, id: str) -> None:
        self.raft.crash(self._known(id))

    def restart(self, id: str) -> None:
        known = self._known(id)
        if known not in self.raft.alive:
            self.raft.restart(known)

    def cut(self, source: str, target: str) -> None:
        one, other = self._known(source), self._known(target)
        if one != other:
            self.raft.cut(one, other)

    def partition(self, *side: str) -> None:
        self.raft.partition(dict.fromkeys(self._known(id) for id in side))

    def heal(self) -> None:
        self.raft.heal()

    def skew(self, id: str, percent: str) -> None:
        self.raft.skew(self._known(id), int(percent))

    def transfer(self, to: str) -> None:
        self.raft.transfer(self._known(to))

    def campaign(self, id: str) -> None:
        self.raft.campaign(self._known(id))

    def change(self, *words: str) -> None:
        if self.raft.leader != NONE:
            self.raft.change(" ".join(words))

    def _known(self, id: str) -> int:
        """A member; `leader` and `former`: who leads and who did before, as far as the schedule has seen.

        One that was never added (its step was left out) is another word for the first.
        """
        leader = self.raft.leader
        if leader != NONE and self.leaders[-1:] != [leader]:
            self.leaders.append(leader)
        first = next(iter(self.raft.members))
        if id in ("leader", "former"):
            place = 1 if id == "leader" else 2
            return self.leaders[-place] if len(self.leaders) >= place else first
        return int(id) if int(id) in self.raft.members else first


_STEPS: dict[str, Callable[..., None]] = {
    "write": _Run.write,
    "read": _Run.read,
    "run": _Run.run,
    "crash": _Run.crash,
    "restart": _Run.restart,
    "cut": _Run.cut,
    "partition": _Run.partition,
    "heal": _Run.heal,
    "skew": _Run.skew,
    "transfer": _Run.transfer,
    "campaign": _Run.campaign,
    "change": _Run.change,
}


def play(
    schedule: Schedule,
    *,
    judges: Sequence[Judge] = RAFT,
    cluster: Callable[..., RaftCluster] = RaftCluster,
    heal: bool = True,
) -> Outcome:
    """Carry a schedule out, then (`heal`) repair everything and see whether the group works again.

    `cluster` makes the group: a wrong one shows what judges are good for.
    """
    raft = _group(schedule, cluster)
    run = _Run(raft)
    for step in schedule.steps:
        _STEPS[step[0]](run, *step[1:])
        raft.check_invariants()
    alive = _heals(run) if heal else True
    history = [operation for _, operation in run.asked]
    problems = [str(violation) for violation in judge(raft.trace, judges)]
    problems += [f"no order explains the answers about {key}" for key in not_linearizable(history)]
    raft.close()
    return Outcome(problems, history, alive, raft.trace)


class Staged:
    """A schedule that is carried out one action at a time, in the very order of `play`: for a Stepper.

    >>> staged = Staged(Schedule.parse("size=3 seed=1: campaign 1; run 50; crash 1"))
    >>> while staged.step():
    ...     pass
    >>> staged.raft.now_ms, staged.raft.alive
    (50, [2, 3])
    """

    views = ("raft", "lanes")
    looks_within = True

    def __init__(self, schedule: Schedule) -> None:
        self.raft = _group(schedule, RaftCluster)
        self._run = _Run(self.raft)
        self._steps = deque(schedule.steps)
        self._end_ms: int | None = None

    @property
    def trace(self) -> Trace:
        """What happened so far."""
        return self.raft.trace

    def view(self) -> Mapping[str, Any]:
        """The group's."""
        return self.raft.view()

    def step(self) -> bool:
        """One action of the group while a `run` lasts, then the next word of the schedule. False: it is over."""
        loop = self.raft.loop
        if self._end_ms is not None:
            actions = loop.actions
            loop.run(for_ms=self._end_ms - loop.clock.now_ms, max_actions=1)
            if loop.actions > actions:
                return True
            self._end_ms = None
        if not self._steps:
            return False
        word, *rest = self._steps.popleft()
        if word == "run":
            self._end_ms = loop.clock.now_ms + int(rest[0])
        else:
            _STEPS[word](self._run, *rest)
        return True


def _group(schedule: Schedule, cluster: Callable[..., RaftCluster]) -> RaftCluster:
    o = {**_OPTIONS, **schedule.options}
    return cluster(
        o["size"],
        seed=o["seed"],
        tick_ms=TICK_MS,
        sync_ms=(0, o["sync_ms"]),
        faults=Faults((1, max(1, o["delay_ms"])), o["loss"] / 100, o["duplicate"] / 100, bool(o["reorder"])),
        snapshot_count=o["snapshot_count"],
        keep_entries=o["keep_entries"],
        pre_vote=bool(o["pre_vote"]),
        check_quorum=bool(o["check_quorum"]),
        read_only="lease-based" if o["lease"] else "safe",
        max_inflight_messages=o["max_inflight_messages"],
        max_size_per_message=o["max_size_per_message"],
        max_committed_size_per_ready=o["max_committed_size_per_ready"],
    )


def _heals(run: _Run) -> bool:
    raft = run.raft
    raft.heal()
    raft.network.faults = Faults((1, 3))
    for id in raft.members:
        raft.skew(id, 100)
        run.restart(str(id))
    for _ in range(5):
        raft.run(until=raft.has_leader, for_ms=5_000)
        write = raft.propose("healed=yes")
        raft.run(until=lambda write=write: write.state != "pending", for_ms=5_000)  # type: ignore[misc]
        run.collect()
        if write.state == "applied":
            return True
        raft.run(for_ms=500)
    return _is_lost(raft)


def _is_lost(raft: RaftCluster) -> bool:
    """Whether no member that is left can ever win: those it must ask have left, or their logs hold more than its own.

    Remove one of two while the other is down: the one removed leaves, and the other never learns that it was. Or add
    one again that had been removed and has left: it is waited for in vain.
    """
    rafts = {id: raft.members[id].node.raft for id in raft.alive}

    def wins(candidate: Raft) -> bool:
        votes = {
            id: id in rafts and rafts[id].log.is_up_to_date(candidate.log.last) for id in candidate.config.electorate
        }
        return candidate.config.vote_result(votes) == "VoteWon"

    return not any(wins(candidate) for candidate in rafts.values())


def generate(seed: int, *, most: int = 40) -> Schedule:
    """A schedule with all kinds of faults, from a seed."""
    rng = random.Random(f"chaos/{seed}")
    size = rng.choice((1, 2, 3, 3, 3, 4, 5, 5))
    options = {
        "size": size,
        "seed": seed,
        "pre_vote": rng.randrange(2),
        "check_quorum": rng.randrange(2),
        "sync_ms": rng.choice((0, 0, 20)),
        "delay_ms": rng.choice((1, 3, 30)),
        "loss": rng.choice((0, 0, 10, 30)),
        "duplicate": rng.choice((0, 0, 20)),
        "reorder": rng.choice((0, 0, 1)),
        "snapshot_count": rng.choice((5, 20, 10_000)),
        "keep_entries": rng.choice((0, 3)),
        "max_inflight_messages": rng.choice((1, 4, 256)),
        "max_size_per_message": rng.choice((0, 50, NO_LIMIT)),
    }
    steps: list[Word] = []
    known = size
    mood = {kind: weight * rng.choice((0, 1, 1, 4)) for kind, weight in _WEIGHTS.items()}
    longest = rng.choice((20, 100, 400))
    for number in range(rng.randint(most // 4, most)):
        step = _step(rng, mood, number, known)
        known += sum(word.startswith(("v", "l")) and int(word[1:]) > known for word in step[1:] if step[0] == "change")
        steps += [step, ("run", str(rng.randint(1, longest)))]
    return Schedule(options, tuple(steps))


_WEIGHTS = {
    "write": 35,
    "read": 15,
    "crash": 10,
    "restart": 12,
    "partition": 8,
    "cut": 3,
    "heal": 8,
    "skew": 3,
    "transfer": 2,
    "change": 4,
}
"""How often each kind of step comes; a schedule has moods: some kinds never, some more often."""


def _step(rng: random.Random, mood: Mapping[str, int], number: int, known: int) -> Word:
    def one() -> str:
        return rng.choice(("leader", "former", *map(str, range(1, known + 1))))

    kind = rng.choices(list(mood), list(mood.values()))[0] if any(mood.values()) else "heal"
    match kind:
        case "write":
            return kind, f"{rng.choice('xy')}={number}", one()
        case "read":
            return kind, rng.choice("xy"), one()
        case "partition":
            ids = rng.sample(range(1, known + 1), rng.randint(1, known))
            return kind, *rng.choice((("leader",), tuple(map(str, ids))))
        case "cut":
            return kind, one(), one()
        case "skew":
            return kind, one(), rng.choice(("50", "150", "300"))
        case "heal":
            return (kind,)
        case "change":
            new, old = min(known + 1, 7), rng.randint(1, known)
            return kind, *rng.choice(((f"v{new}",), (f"l{new}",), (f"r{old}",), (f"v{new}", f"r{old}")))
    return kind, one()


def shortest(schedule: Schedule, fails: Callable[[Schedule], bool]) -> Schedule:
    """The fewest steps with which a schedule still fails."""
    steps = minimise(schedule.steps, lambda steps: fails(schedule._replace(steps=tuple(steps))))
    return schedule._replace(steps=tuple(steps))
