"""What a learner sees of a result: a line for each check, for a failure its seed, step, schedule and replay, and a
recorded schedule as something to step through, with what the lab's solution answers beside it.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

from k8slab.lab.model import Check, Odd, Op, Outcome, Raised, Record, Report, Result, Step, script_text
from k8slab.lab.runner import InProcessRunner
from k8slab.lab.source import Lab, Mutant
from k8slab.lab.verify import judge, setup_of
from k8slab.sim import Clock, Kind, Trace, add_kinds
from k8slab.widgets.story import add_lane

__all__ = ["Played", "answer_text", "as_typed", "failure_text", "picture", "played", "recognised", "report_text"]

add_kinds(
    {
        "lab.call": Kind("work", 1, ("op", "answer", "resource", "key"), "{op}", "{op}{answer}"),
        "lab.broken": Kind("state", 1, ("op", "why", "resource", "key"), "✗ {op}", "here it breaks: {why}"),
    }
)
add_lane("calls", "calls", "calls", "ctl")
add_lane("worker", "worker", "w", "ctl", each=True)
add_lane("client", "client", "c", "ctl", each=True)
add_lane("server", "server", "server", "api")

NOT_REACHED = "not reached"
_MOST_TEXT, _MOST_WHY = 120, 103
_ABOUT = {"resource": "after-this-step", "key": "yours"}
"""The name under which the inspector shows the state, in every event."""


def answer_text(value: Any) -> str:
    """An answer in a few characters: nothing for None."""
    if value is None:
        return ""
    if isinstance(value, Odd):
        return str(value)
    if isinstance(value, Raised) and not value.misfit:
        return f"raised {value.type}"
    said = value.misfit if isinstance(value, Raised) else value
    text = said if isinstance(said, str) else repr(said)
    return text if len(text) <= 60 else text[:59] + "…"


def picture(record: Record, broken_at: int = 0, most: int = 30) -> str:
    """The schedule as text: step, operation, answer; a mark where it breaks. Of what comes after an early end only how
    much it is."""
    rows = [(str(step.number), " ".join(step.op), answer_text(step.result)) for step in record.steps]
    left = record.script[len(record.steps) :]
    if left:
        rows.append((str(len(rows) + 1), " ".join(left[0]), "does not end" if record.ended else NOT_REACHED))
    if len(rows) > most:
        first = max(0, min(broken_at, len(rows)) - most)
        rows = rows[first : first + most]
    width = max((len(op) for _, op, _ in rows), default=0)
    lines = []
    for number, op, answer in rows:
        mark = "✗" if number == str(broken_at) else " "
        lines.append(f"  {mark} {number:>3}  {op:{width}}  {answer}".rstrip())
    if len(left) > 1:
        lines.append(f"         ({len(left) - 1} more, {NOT_REACHED})")
    return "\n".join(lines)


def failure_text(lab: str, result: Result, path: str = "") -> str:
    """Why a check failed, with everything to look at it again. `path`: the file that was checked."""
    failure = result.failure
    if failure is None or failure.broken is None:
        return f"Only hidden cases fail. {result.reason}"
    case, broken = failure.case, failure.broken
    where = f"the schedule of seed {case.seed}" if case.seed else f"the example {case.name!r}"
    steps = f"step {broken.step} of {len(failure.record.script)}"
    made = f"{where}, {steps}:" if failure.record.ended else f"{where}, made as short as shows it, {steps}:"
    lines = [f"{broken.why}.", made, picture(failure.record, broken.step)]
    if failure.record.printed.strip():
        lines.append(f"it printed: {failure.record.printed.strip().splitlines()[0][:100]}")
    again = f"again: k8slab lab verify {lab}{path and ' ' + path} --check {result.check.name}"
    lines.append(f'{again} --replay "{script_text(failure.record.script)}"')
    return "\n".join(lines)


def recognised(lab: Lab, result: Result) -> str:
    """What a named mutant says that breaks the same schedule by the same cause, at the same step with the same answer;
    "" if none does. Of several, the one with the most equal answers before that."""
    if result.failure is None or result.failure.broken is None:
        return ""
    most, best = -1, None
    for mutant in lab.mutants():
        if (mutant.killed_by, mutant.cause) == (result.check.name, result.failure.broken.cause):
            equal = _equal_answers(lab, mutant, result.check, result.failure)
            if equal > most:
                most, best = equal, mutant
    return f"Looks like {best.name!r}: {best.why.split(chr(10) * 2)[0].replace(chr(10), ' ')}" if best else ""


def _equal_answers(lab: Lab, mutant: Mutant, check: Check, failure: Outcome) -> int:
    """How many answers of a mutant are those of a failure; -1 when it does not break there, or with another answer."""
    assert failure.broken is not None
    record = _played_here(lab, mutant.code, check, failure.record)
    broken, step = judge(check, record), failure.broken.step
    if broken is None or (broken.cause, broken.step) != (failure.broken.cause, step):
        return -1
    theirs, mine = ([str(one.result) for one in some.steps[:step]] for some in (record, failure.record))
    if theirs[step - 1 :] != mine[step - 1 :]:
        return -1
    return sum(one == other for one, other in zip(theirs, mine, strict=True))


def _played_here(lab: Lab, code: str, check: Check, record: Record) -> Record:
    """The schedule of a record with other code: the lab's own, which is trusted."""
    session = InProcessRunner().open(setup_of(lab, code))
    return session.play(record.script, check.setting, lab.spec.needs(check))


def report_text(lab: Lab, report: Report, *, details: bool = True, path: str = "") -> str:
    """The whole report. `path`: the file that was checked, for the lines to try again."""
    lines = []
    if report.problem:
        lines.append(f"The solution could not be loaded: {report.problem}")
    for result in report.results if not report.problem else ():
        mark = "✓" if result.passed else "✗"
        points = f"{result.points}/{result.check.points}"
        lines.append(f"{mark} {points:>4}  {result.check.name}: {result.check.title}  ({result.counts})")
        if details and not result.passed and not _is_unwritten(result):
            known = recognised(lab, result)
            text = failure_text(report.lab, result, path) + (f"\n{known}" if known else "")
            lines += ["        " + line for line in text.split("\n")]
        elif details and _is_unwritten(result):
            lines.append(f"        {result.reason}")
    if len(report.results) != 1:
        (public, public_all), (hidden, hidden_all) = report.counts()
        sums = f"public {public}/{public_all}, hidden {hidden}/{hidden_all}"
        lines.append(f"{report.points} of {report.possible} points; {sums}")
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines)


def _is_unwritten(result: Result) -> bool:
    failure = result.failure
    return failure is not None and failure.broken is not None and failure.broken.cause == "unwritten"


# -- to step through -------------------------------------------------------------------------------


def _lane(op: Sequence[str]) -> str:
    """Who acts: `get worker-1` is worker 1's."""
    for word in op[1:]:
        kind, dash, number = word.partition("-")
        if dash and kind in ("worker", "client") and number:
            return f"{kind}/{number}"
    return "calls"


def played(lab: Lab, result: Result) -> Played:
    """The failure of a check to step through, with what the lab's own solution answers."""
    assert result.failure is not None
    right = _played_here(lab, lab.solution, result.check, result.failure.record)
    return Played(result.failure, result.check, right)


class Played:
    """A steppable: a recorded schedule, one operation a step; the step that breaks says why. For `Stepper(...)`.

    Beside it stands after each step what holds then (`Check.state`), and what would with the answers of `right`.
    """

    views = ("lanes",)

    def __init__(self, outcome: Outcome, check: Check, right: Record) -> None:
        self.trace = Trace(Clock())
        self.title = shorten(check.title, 40, placeholder=" …")
        self._outcome = outcome
        self._check = check
        self._right = right
        self._number = 0
        self._plan = self._play()

    def view(self) -> dict[str, Any]:
        """`answers`: the latest answer of each actor. `objects`: one, which says what holds, line by line; and
        what would hold with the solution, where that is something else."""
        record, number = self._outcome.record, self._number
        answers = {_lane(step.op): answer_text(step.result) or "None" for step in record.steps[:number]}
        mine, right = (_holds(self._check, some.steps, number) for some in (record, self._right))
        other = {name: right.get(name, "-") for name in {**mine, **right} if mine.get(name) != right.get(name)}
        shown = {**mine, **({"with the solution": other} if other else {})}
        return {"answers": answers, "objects": {"/".join(_ABOUT.values()): shown}}

    def step(self) -> bool:
        """The next operation; False after the last."""
        return next(self._plan, None) is not None

    def _play(self) -> Iterator[bool]:
        record, broken = self._outcome.record, self._outcome.broken
        for number, words in enumerate(record.script, 1):
            self._number = number
            op = " ".join(words)[:30]
            here = broken is not None and number == broken.step
            causes = _causes(record, number, broken.why if broken is not None and here else "")
            self.trace.current = causes[0] - 1 if causes else None
            also = tuple(cause - 1 for cause in causes[1:])
            if broken is not None and here:
                why = broken.why if len(broken.why) <= _MOST_WHY else broken.why[: _MOST_WHY - 1] + "…"
                self.trace.emit("lab.broken", _lane(words), also=also, op=op, why=why, **_ABOUT)
            else:
                answer = answer_text(record.steps[number - 1].result) if number <= len(record.steps) else NOT_REACHED
                shown = f" → {answer}"[: _MOST_TEXT - len(op)] if answer else ""
                self.trace.emit("lab.call", _lane(words), also=also, op=op, answer=shown, **_ABOUT)
            yield True


def _holds(check: Check, steps: Sequence[Step], number: int) -> dict[str, str]:
    """The answer of step `number`, and what holds after it."""
    found = {"answer": "-"}
    if 0 < number <= len(steps):
        found["answer"] = answer_text(steps[number - 1].result) or "None"
    if check.state is not None:
        try:
            found |= check.state(steps[:number])
        except (ArithmeticError, LookupError, TypeError, ValueError):  # as for a judge: no state follows from these
            found["state"] = "cannot be told from these answers"
    return found


def _causes(record: Record, number: int, why: str = "") -> list[int]:
    """The steps that a step follows from, the latest first: those that `why` names, and of every word it shares with
    earlier steps (an item, a worker, an answer) the latest."""
    last = {word: step for step in range(1, number) for word in _words(record, step)}
    words = [*_words(record, number), *re.findall(r"[\w@=-]+", why)]
    named = [int(one) for one in re.findall(r"\bstep (\d+)", why) if int(one) < number]
    return sorted({*named, *(last[word] for word in words if word in last)}, reverse=True)


def _words(record: Record, number: int) -> list[str]:
    """What a step is about: the words of its operation and of its answer that are no numbers."""
    op: Op = record.script[number - 1]
    answer = answer_text(record.steps[number - 1].result) if number <= len(record.steps) else ""
    said = [answer] if answer.isidentifier() or ("-" in answer and " " not in answer) else []
    return [word for word in (*op[1:], *said) if not word.isdigit()]


def as_typed(text: str, script: Path) -> str:
    """A text with `k8slab lab` and `k8slab grade` as they can be typed here. `script`: the command's own file."""
    if script.name != "k8slab" or not script.is_file():
        return text
    return re.sub(r"(?<![\w/])k8slab (?=lab |grade )", lambda _: f"{typed(script)} ", text)


def typed(program: Path) -> str:
    """A program's file as it can be typed here: its name alone where the shell finds it."""
    found = shutil.which(program.name)
    if found is not None and Path(found).samefile(program):
        return program.name
    whole = program.absolute()
    name = whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) and whole.parent != Path.cwd() else whole
    return shlex.quote(str(name))
