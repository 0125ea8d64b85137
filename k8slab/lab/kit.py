"""`check-kit`: does a lab keep what labs promise?

The starter fails every graded check, and so does a solution that answers everything the same; both solutions pass all,
every named mutant is killed by the check meant for it and by the cause it names, machine-made mutants die (those that
live are listed, and explained in `survivors.txt`), two runs say the same, and the right solution passes any part of any
script: a shortened schedule accuses nobody wrongly.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import unified_diff

from k8slab.lab.lazy import lazy_solutions
from k8slab.lab.model import Check
from k8slab.lab.mutate import Change, machine_mutants
from k8slab.lab.runner import Limits, Problem, Runner, Session, default_runner
from k8slab.lab.show import report_text
from k8slab.lab.source import Lab
from k8slab.lab.verify import judge, setup_of, verify

__all__ = ["KitReport", "check_kit"]

LEAST_MACHINE_MUTANTS = 20


@dataclass
class KitReport:
    """`problems` is empty when all is well. `survivors`: machine-made mutants that no check notices, and why."""

    lab: str
    problems: list[str] = field(default_factory=list)
    killed: int = 0
    machine: int = 0
    survivors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        state = "is sound" if not self.problems else f"has {len(self.problems)} problems"
        lines = [f"{self.lab} {state}: {self.killed} named mutants killed, {self.machine} machine-made ones"]
        lines += [f"  lives on: {text}" for text in self.survivors]
        return "\n".join([*lines, *(f"  problem: {text}" for text in self.problems)])


def check_kit(lab: Lab, *, runner: Runner | None = None, machine_step: int = 1) -> KitReport:
    """All that a lab must keep. Takes seconds. `machine_step`: 5 tries every fifth machine-made mutant only."""
    runner = runner or default_runner()
    found = KitReport(lab.name)
    found.problems += _starter(lab, runner)
    for name, code in (("the solution", lab.solution), ("second.py", lab.second)):
        report = verify(lab, code, runner=runner)
        if not report.passed:
            found.problems.append(f"{name} does not pass:\n{report_text(lab, report)}")
        found.problems += [f"{name} is accused: {note}" for note in (*report.notes, *report.teacher_notes)]
    first, again = (report_text(lab, verify(lab, lab.starter_code, runner=runner)) for _ in range(2))
    if first != again:
        changed = unified_diff(first.splitlines(), again.splitlines(), "first run", "second run", lineterm="", n=0)
        found.problems.append("\n".join(["two runs say different things:", *changed]))
    found.problems += _lazy(lab, runner)
    _named(lab, runner, found)
    found.problems += _parts(lab, runner)
    _machine(lab, runner, found, machine_step)
    return found


def _starter(lab: Lab, runner: Runner) -> Iterator[str]:
    report = verify(lab, lab.starter_code, runner=runner)
    yield from (f"the starter is accused: {note}" for note in (*report.notes, *report.teacher_notes))
    for result in report.results:
        if result.passed:
            yield f"the starter passes {result.check.name}"
        if result.check.points < 1:
            yield f"{result.check.name} has no points"


def _lazy(lab: Lab, runner: Runner) -> Iterator[str]:
    for what, code in lazy_solutions(lab.solution):
        for result in verify(lab, code, runner=runner).results:
            if result.passed:
                yield f"{what}: passes {result.check.name}"


def _named(lab: Lab, runner: Runner, found: KitReport) -> None:
    names = {check.name for check in lab.spec.checks}
    for mutant in lab.mutants():
        if mutant.killed_by not in names:
            found.problems.append(f"mutant {mutant.name}: there is no check {mutant.killed_by!r}")
            continue
        (result,) = verify(lab, mutant.code, runner=runner, only=(mutant.killed_by,)).results
        if result.passed:
            found.problems.append(f"mutant {mutant.name}: {mutant.killed_by} does not notice")
        elif result.failure is None or result.failure.broken is None:
            found.problems.append(f"mutant {mutant.name}: only hidden cases notice")
        elif result.failure.broken.cause != mutant.cause:  # or nobody who makes this mistake is told what it is
            by = result.failure.broken.cause
            found.problems.append(f"mutant {mutant.name}: noticed by cause {by!r}, expected {mutant.cause!r}")
        elif not result.check.ladder(result.failure.broken.cause):
            found.problems.append(f"mutant {mutant.name}: no hint for {result.failure.broken.cause!r}")
        else:
            found.killed += 1


def _parts(lab: Lab, runner: Runner) -> list[str]:
    """The right solution, on parts of scripts as shrinking makes them."""
    session = runner.open(setup_of(lab, lab.solution))
    try:
        return [text for check in lab.spec.checks for text in _parts_of(lab, check, session)]
    finally:
        session.close()


def _parts_of(lab: Lab, check: Check, session: Session) -> Iterator[str]:
    rng = random.Random(check.name)
    for case in check.cases("parts"):
        for _ in range(3):
            keep = rng.choice([0.3, 0.6, 0.9])
            script = tuple(op for op in case.script if rng.random() < keep)
            if script:
                broken = judge(check, session.play(script, check.setting, lab.spec.needs(check)))
                if broken is not None:
                    yield f"{check.name}: accuses the right solution in a part of a script: {broken.why} ({script})"
                    return


def _machine(lab: Lab, runner: Runner, found: KitReport, step: int) -> None:
    explained = _explanations(lab)
    changes = list(machine_mutants(lab.solution))
    found.machine = len(changes)
    for left_out in (change for number, change in enumerate(changes) if number % step):
        explained.pop(str(left_out), None)
    for change in changes[::step]:
        if not _dies(lab, change, runner):
            why = explained.pop(str(change), "")
            found.survivors.append(f"{change} ({why or 'not explained'})")
            if not why:
                found.problems.append(f"machine-made mutant lives and survivors.txt does not say why: {change}")
    found.problems += [f"survivors.txt explains a mutant that dies or is none: {line}" for line in explained]
    if found.machine < LEAST_MACHINE_MUTANTS:
        found.problems.append(f"{found.machine} machine-made mutants, expected at least {LEAST_MACHINE_MUTANTS}")


def _dies(lab: Lab, change: Change, runner: Runner) -> bool:
    """Check by check, so that the first that notices saves the others."""
    try:
        session = runner.open(setup_of(lab, change.code, Limits(seconds=0.5)))
    except Problem:
        return True
    try:
        for check in lab.spec.checks:
            for case in check.cases("0"):
                if judge(check, session.play(case.script, check.setting, lab.spec.needs(check))) is not None:
                    return True
        return False
    finally:
        session.close()


def _explanations(lab: Lab) -> dict[str, str]:
    """`survivors.txt`: `<mutant> | <why it is no mistake>`, one a line."""
    path = lab.folder / "survivors.txt"
    if not path.exists():
        return {}
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {mutant.strip(): why.strip() for mutant, _, why in (line.partition(" | ") for line in lines)}
