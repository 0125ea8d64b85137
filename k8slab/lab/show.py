"""What a learner sees of a result: a line for each check, for a failure its seed, step, schedule and replay, and a
recorded schedule as something to step through.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import Any

from k8slab.lab.model import Odd, Outcome, Raised, Record, Report, Result, Step, script_text
from k8slab.lab.runner import InProcessRunner
from k8slab.lab.source import Lab, Mutant
from k8slab.lab.verify import setup_of
from k8slab.sim import Clock, Kind, Trace, add_kinds
from k8slab.widgets.story import add_lane

__all__ = ["Played", "answer_text", "failure_text", "picture", "recognised", "report_text"]

add_kinds(
    {
        "lab.call": Kind("work", 1, ("op", "answer"), "{op}", "{op}{answer}"),
        "lab.broken": Kind("state", 1, ("why",), "here it breaks", "{why}"),
    }
)
add_lane("calls", "calls", "calls", "you")
add_lane("worker", "worker", "w", "ctl", each=True)
add_lane("client", "client", "c", "ctl", each=True)
add_lane("server", "server", "server", "api")

_MOST_TEXT = 120


def answer_text(value: Any) -> str:
    """An answer in a few characters: nothing for None."""
    if value is None:
        return ""
    if isinstance(value, (Raised, Odd)):
        return f"raised {value.type}" if isinstance(value, Raised) else str(value)
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def picture(record: Record, broken_at: int = 0, most: int = 30) -> str:
    """The schedule as text: step, operation, answer; a mark where it breaks."""
    rows = [(str(step.number), " ".join(step.op), answer_text(step.result)) for step in record.steps]
    for position in range(len(record.steps), len(record.script)):
        rows.append((str(position + 1), " ".join(record.script[position]), "not reached" if record.ended else ""))
    if len(rows) > most:
        first = max(0, min(broken_at, len(rows)) - most)
        rows = rows[first : first + most]
    width = max((len(op) for _, op, _ in rows), default=0)
    lines = []
    for number, op, answer in rows:
        mark = "✗" if number == str(broken_at) else " "
        lines.append(f"  {mark} {number:>3}  {op:{width}}  {answer}".rstrip())
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
    """What a named mutant says that fails the same check by the same cause; "" if none does."""
    if result.failure is None or result.failure.broken is None:
        return ""
    record, step, cause = result.failure.record, result.failure.broken.step, result.failure.broken.cause
    found = [
        mutant
        for mutant in lab.mutants()
        if (mutant.killed_by, mutant.cause) == (result.check.name, cause)
        and _answers(lab, mutant, result, step) == [str(one.result) for one in record.steps[:step]]
    ]
    return f"Looks like {found[0].name!r}: {found[0].why.split(chr(10) * 2)[0].replace(chr(10), ' ')}" if found else ""


def _answers(lab: Lab, mutant: Mutant, result: Result, steps: int) -> list[str]:
    """What a mutant answers in the schedule of a failure. Mutants are trusted: they are played here."""
    assert result.failure is not None
    session = InProcessRunner().open(setup_of(lab, mutant.code))
    script = result.failure.record.script[:steps]
    record = session.play(script, result.check.setting, lab.spec.needs(result.check))
    return [str(one.result) for one in record.steps]


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
    waiting = dict.fromkeys(result.reason for result in report.results if _is_unwritten(result))
    lines += [] if report.problem else [*waiting]
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


class Played:
    """A steppable: a recorded schedule, one operation a step, and in the end what it breaks. For `Stepper(...)`."""

    views = ("lanes",)

    def __init__(self, outcome: Outcome, title: str = "") -> None:
        self.trace = Trace(Clock())
        self.title = shorten(title or "The schedule that fails", 40, placeholder=" …")
        self._outcome = outcome
        self._done: list[Step] = []
        self._plan = self._play()

    def view(self) -> dict[str, Any]:
        """`answers`: what the latest operation of each actor answered."""
        return {"answers": {_lane(step.op): answer_text(step.result) or "None" for step in self._done}}

    def step(self) -> bool:
        """The next operation; False after the last."""
        return next(self._plan, None) is not None

    def _play(self) -> Iterator[bool]:
        broken = self._outcome.broken
        for step in self._outcome.record.steps:
            self._done.append(step)
            answer = answer_text(step.result)
            shown = f" → {answer}" if answer else ""
            op = " ".join(step.op)[:30]
            self.trace.emit("lab.call", _lane(step.op), op=op, answer=shown[: _MOST_TEXT - len(op)])
            yield True
        if broken is not None:
            script = self._outcome.record.script
            lane = _lane(script[broken.step - 1]) if script else "calls"
            why = broken.why if len(broken.why) <= _MOST_TEXT else broken.why[: _MOST_TEXT - 1] + "…"
            self.trace.emit("lab.broken", lane, why=why)
            yield True
