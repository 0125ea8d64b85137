"""What a lab is made of, and what a verification says.

A lab asks for a mechanism: code without clock, threads or I/O. A check plays scripts against it, operation by
operation, and judges the record of what it answered. So one property holds for any correct implementation, a script
that breaks it can be made shorter, and the record can be stepped through.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "Broken",
    "Case",
    "Check",
    "Judge",
    "LabSpec",
    "Odd",
    "Op",
    "Outcome",
    "Raised",
    "Record",
    "Report",
    "Result",
    "Script",
    "State",
    "Step",
    "UnknownCheckError",
    "clean",
    "parse_script",
    "script_text",
]


def clean(text: object, most: int = 300) -> str:
    """A text that somebody else wrote, fit to be printed and stored: no half characters, no control codes."""
    whole = str(text)[:most].encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in whole)


Op: TypeAlias = tuple[str, ...]
"""One operation in words: `("get", "worker-1")`."""

Script: TypeAlias = tuple[Op, ...]
"""Operations in the order in which they are played."""


def script_text(script: Sequence[Op]) -> str:
    """The script on one line, as `--replay` takes it: `add a; get worker-1`."""
    return "; ".join(" ".join(op) for op in script)


def parse_script(text: str) -> Script:
    """The other way round. ValueError for an empty one."""
    script = tuple(tuple(part.split()) for part in text.split(";") if part.strip())
    if not script:
        raise ValueError(f"script {text!r}: expected operations, such as 'add a; get worker-1'")
    return script


class Raised(NamedTuple):
    """The learner's code raised. `line`: in the solution, 0 if it was not there; `code`: that line; `where`: the
    function it is in, as `WorkQueue.add`."""

    type: str
    text: str
    line: int = 0
    code: str = ""
    where: str = ""

    @property
    def misfit(self) -> str:
        """Why the lab's drive could not call the solution, or not use what it returned, when no line of the solution
        raised this: a missing method, other parameters, a value of another type. "" if one did."""
        if self.line:
            return ""
        return self.text if self.text and self.type in _SAYS_ALL else str(self)

    def __str__(self) -> str:
        place = self.where if self.where not in ("", "<module>") else f"line {self.line}"
        where = f" in {place}: {self.code}" if self.line else ""
        return f"{self.type}: {self.text}{where}" if self.text else f"{self.type}{where}"


_SAYS_ALL = ("AttributeError", "NameError", "TypeError", "ValueError")
"""Of these the text alone says what does not fit."""


class Odd(NamedTuple):
    """An answer that is no plain value. It is equal to nothing, whatever it says of itself. `shown`: of a tuple, list
    or dict, what is in it."""

    type: str
    shown: str = ""

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return f"a {self.type}, {self.shown}" if self.shown else f"an object of type {self.type}"


class Step(NamedTuple):
    """One operation of a record: `number` from 1, `op` the words, `result` what came back."""

    number: int
    op: Op
    result: Any

    @property
    def verb(self) -> str:
        return self.op[0]


class Record(NamedTuple):
    """What happened when a script was played. `ended`: why it ended early ("" if it did not): a limit, a death."""

    script: Script
    steps: tuple[Step, ...]
    ended: str = ""
    printed: str = ""


class Broken(NamedTuple):
    """A property that does not hold: at which step, why (a full sentence), and the `cause` that hints go by."""

    step: int
    why: str
    cause: str


State: TypeAlias = Callable[[Sequence["Step"]], Mapping[str, str]]
"""From what was answered to what holds then, as somebody can tell who sees the answers alone: a few named lines."""

Judge: TypeAlias = Callable[[Sequence[Step]], Broken | None]
"""From what was answered to what is wrong with it; None: the property holds."""


class Case(NamedTuple):
    """One script to play. `name` for explicit ones, `seed` for generated ones."""

    script: Script
    hidden: bool = False
    name: str = ""
    seed: str = ""


@dataclass(frozen=True)
class Check:
    """One property. `examples`: named scripts, played first. `generate`: one more script from a random stream.

    `judge` looks at a whole record in which nothing was raised and no answer was `Odd`. `hints`: for each cause that
    `judge` names, a ladder from a question to nearly the code; `""` is for all others. `raises`: what the code raises
    is an answer too. `structured`: so are lists and dicts. `setting` is for the lab's `drive`: what the operations
    work on. `needs`: the names of the solution that it plays with (none given: all of them). `state`: what holds after
    some steps, to be shown beside them.
    """

    name: str
    title: str
    points: int
    judge: Judge
    examples: Mapping[str, str]
    generate: Callable[[random.Random], Sequence[Op]] | None = None
    hints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    public: int = 5
    hidden: int = 10
    raises: bool = False
    structured: bool = False
    setting: str = ""
    needs: tuple[str, ...] = ()
    state: State | None = None

    def cases(self, seed: str) -> list[Case]:
        """Public ones first. `seed` decides the hidden ones; the public are the same for everybody."""
        found = [Case(parse_script(text), name=name) for name, text in self.examples.items()]
        if self.generate is None:
            return found
        for number in range(self.public):
            name = f"public-{number + 1}"
            found.append(Case(tuple(self.generate(random.Random(f"{self.name}/{name}"))), seed=name))
        for number in range(self.hidden):
            stream = random.Random(f"{self.name}/{seed}/hidden-{number + 1}")
            found.append(Case(tuple(self.generate(stream)), hidden=True))
        return found

    def operations(self) -> dict[str, list[Op]]:
        """By their first word all operations of this check's schedules, in the order in which they come."""
        found: dict[str, list[Op]] = {}
        for case in self.cases("0"):
            for op in case.script:
                found.setdefault(op[0], []).append(op)
        return found

    def ladder(self, cause: str) -> Sequence[str]:
        """The hints for `cause`."""
        return self.hints.get(cause) or self.hints.get("", ())


def _is_like(op: Op, other: Op) -> bool:
    """As many words, and numbers where the other has numbers."""
    return len(op) == len(other) and all(
        _is_number(one) or not _is_number(two) for one, two in zip(op[1:], other[1:], strict=True)
    )


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


@dataclass(frozen=True)
class LabSpec:
    """A lab, as its `checks.py` describes it. `names`: what the solution must define, by what it must be (`class`,
    `function`). `forbidden`: modules of the package that hold the answer."""

    title: str
    question: str
    names: Mapping[str, str]
    checks: tuple[Check, ...]
    forbidden: tuple[str, ...] = ()
    minutes: int = 60

    def check(self, name: str) -> Check:
        """UnknownCheckError with the names there are."""
        for one in self.checks:
            if one.name == name:
                return one
        raise UnknownCheckError(f"check {name!r}: expected one of {', '.join(one.name for one in self.checks)}")

    def needs(self, check: Check) -> tuple[str, ...]:
        """The names of the solution that a check plays with."""
        return check.needs or tuple(self.names)

    def script(self, check: Check, text: str) -> Script:
        """A script for a check, as `--replay` takes it: in the words of all checks of its setting. ValueError names the
        first operation that is none of theirs, and what it takes."""
        script = parse_script(text)
        known: dict[str, list[Op]] = {}
        for one in (check, *self.checks):
            if one.setting == check.setting:
                for verb, ops in one.operations().items():
                    known.setdefault(verb, []).extend(ops)
        for op in script:
            if op[0] not in known:
                raise ValueError(f"{op[0]!r}: expected one of {', '.join(known)}")
            if not any(_is_like(op, other) for other in known[op[0]]):
                ways = list({len(other): " ".join(other) for other in reversed(known[op[0]])}.values())
                raise ValueError(f"{' '.join(op)!r}: {op[0]} takes words as in {' or '.join(map(repr, ways))}")
        return script

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)


class UnknownCheckError(KeyError):
    """A lab has no check of this name; the text names those it has."""

    def __str__(self) -> str:
        return str(self.args[0])


class Outcome(NamedTuple):
    """One case: whether the property held; if not why, and the record (made as short as possible, public ones)."""

    case: Case
    broken: Broken | None
    record: Record


@dataclass(frozen=True)
class Result:
    """One check. `failure`: the first public case that failed, else None."""

    check: Check
    public: tuple[int, int]
    hidden: tuple[int, int]
    failure: Outcome | None
    causes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.public[0] == self.public[1] and self.hidden[0] == self.hidden[1]

    @property
    def points(self) -> int:
        return self.check.points if self.passed else 0

    @property
    def counts(self) -> str:
        """`public 5/5, hidden 9/10`"""
        return f"public {self.public[0]}/{self.public[1]}, hidden {self.hidden[0]}/{self.hidden[1]}"

    @property
    def reason(self) -> str:
        """One sentence for a gradebook; "" when it passed. Of hidden cases only that they fail, and by which cause."""
        if self.passed:
            return ""
        if self.failure is not None and self.failure.broken is not None:
            return self.failure.broken.why
        wrong = self.hidden[1] - self.hidden[0]
        cases = "1 hidden case fails" if wrong == 1 else f"{wrong} hidden cases fail"
        return f"{cases} ({', '.join(self.causes) or 'no cause'})"


@dataclass(frozen=True)
class Report:
    """A verification. `notes`: what the learner and the teacher should know (limits hit, forbidden things tried); of
    hidden cases one sentence, whatever happened. `teacher_notes`: what it was that happened there, for the teacher
    alone: a solution could tell hidden cases through it."""

    lab: str
    results: tuple[Result, ...]
    seed: str
    notes: tuple[str, ...] = ()
    problem: str = ""  # why nothing could be checked: a syntax error, a missing name
    teacher_notes: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        return sum(result.points for result in self.results)

    @property
    def possible(self) -> int:
        return sum(result.check.points for result in self.results)

    @property
    def passed(self) -> bool:
        return not self.problem and all(result.passed for result in self.results)

    def counts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """(public held, public all), (hidden held, hidden all)."""
        sums = [sum(values) for values in zip(*((*r.public, *r.hidden) for r in self.results), strict=True)]
        return ((sums[0], sums[1]), (sums[2], sums[3])) if sums else ((0, 0), (0, 0))
