"""Checks inside a notebook: `check = begin("09")`, then `check("one-worker-a-key")` in a cell of its own.

The newest executed cells that define the lab's names are what is checked. A check that does not hold raises
`CheckFailed`, which a notebook shows as the report alone, and which nbgrader counts as no points. Once every check has
passed with the newest cells, the reader's `k8slab.progress` has the lab as passed.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from k8slab.lab.model import Report, Result
from k8slab.lab.runner import Runner
from k8slab.lab.show import as_typed, failure_text, played, recognised, report_text
from k8slab.lab.source import Lab, LabError, find_lab, names_of
from k8slab.lab.verify import verify
from k8slab.progress import remember

__all__ = ["CheckFailed", "Checker", "begin", "newest_source"]


NBGRADER = "NBGRADER_EXECUTION"
"""Says `autograde` where nbgrader runs a submission: what passes there is not the teacher's progress."""


class CheckFailed(AssertionError):
    """A check does not hold; the text is the report."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback."""
        return str(self).split("\n")


def begin(name: str, **options: Any) -> Checker:
    """The checks of a lab, for the notebook that calls this. LabError for an unknown name, or outside a notebook."""
    lab = find_lab(name)
    if "cells" not in options:
        executed_cells()
    return Checker(lab, **options)


class Checker:
    """`checker()` runs all checks, `checker("name")` one of them. `seed`: whose hidden cases."""

    def __init__(
        self,
        lab: Lab,
        *,
        seed: str = "0",
        runner: Runner | None = None,
        cells: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        self.lab = lab
        self.seed = seed
        self.report: Report | None = None
        self._runner = runner
        self._cells = cells or executed_cells
        self._hints: dict[str, int] = {}
        self._passed: dict[str, str] = {}
        """The code with which each check passed."""

    def __repr__(self) -> str:
        return f"<checks of lab {self.lab.name}: {', '.join(check.name for check in self.lab.spec.checks)}>"

    def __call__(self, name: str = "", *, stepper: bool = True) -> None:
        """Print how a check (all of them) went; CheckFailed unless it holds, after a Stepper on what fails."""
        spec = self.lab.spec
        cells = list(self._cells())
        code = newest_source(cells, tuple(spec.names), spec.needs(spec.check(name)) if name else None)
        report = verify(
            self.lab,
            code,
            only=[name] if name else [],
            seed=self.seed,
            runner=self._runner,
            elsewhere=names_of(cells) - names_of([code]),
        )
        self.report = report
        if report.passed:
            print(report_text(self.lab, report))
            self._remember(name)
            return
        if stepper and name and report.results[0].failure is not None:
            _show(self.lab, report.results[0])
        text = _one(self.lab, report) if name else report_text(self.lab, report, details=False)
        raise CheckFailed(as_typed(text, Path(sys.executable or "python").with_name("k8slab")))

    def _newest(self, name: str) -> str:
        """The cells of the names that a check plays with."""
        return newest_source(self._cells(), self.lab.spec.needs(self.lab.spec.check(name)))

    def _remember(self, name: str) -> None:
        """Note what passed. The lab is done once each check has passed with the code that is the newest now."""
        checks = [check.name for check in self.lab.spec.checks]
        for one in [name] if name else checks:
            self._passed[one] = self._newest(one)
        done = all(one in self._passed and self._passed[one] == self._newest(one) for one in checks)
        if done and os.environ.get(NBGRADER) != "autograde":
            points = self.lab.spec.points
            remember(lambda progress: progress.done("lab", self.lab.name, passed=True, points=points, of=points))

    def hint(self, name: str, rung: int = 0) -> str:
        """The next hint for the cause by which `name` failed last, or number `rung` of them; the last one when there
        are no more."""
        self._hints[name] = rung or self._hints.get(name, 0) + 1
        return hint_for(self.lab, self.report, name, self._hints[name])


_PLAIN = {
    "unwritten": "Write it: the check plays it, among the operations that its schedule shows.",
    "raised": "Look at the line that raised, and at the schedule before it: what did that line work on?",
    "misfit": "No line of yours raised this: the check calls your method, or reads what it returned, and that does not "
    "fit. The docstring says which parameters there are and what it returns.",
    "ended": "Which loop does not end, and what does it wait for? Nothing in a lab waits for real time.",
}
"""For causes that are the same in every lab."""


def hint_for(lab: Lab, report: Report | None, name: str, rung: int) -> str:
    """One rung of the ladder that belongs to the cause of a check's failure."""
    check = lab.spec.check(name)
    if report is not None and report.problem:
        return f"The solution could not be loaded: {report.problem}"
    results = [] if report is None else [one for one in report.results if one.check.name == name]
    causes = results[0].causes if results else ()
    shown = results[0].failure if results else None
    cause = shown.broken.cause if shown is not None and shown.broken is not None else (causes or ("",))[0]
    if cause in _PLAIN:
        named = shown.broken if cause == "unwritten" and shown is not None else None
        return (f"{named.why}. " if named is not None else "") + _PLAIN[cause]
    ladder = check.ladder(cause) or next(iter(check.hints.values()), ("What does each step of the schedule read?",))
    number = min(max(1, rung), len(ladder))
    return f"hint {number} of {len(ladder)}: {ladder[number - 1]}"


def _one(lab: Lab, report: Report) -> str:
    """The report on one check that does not hold."""
    result = report.results[0]
    lines = [f"✗ {result.check.title}: {result.counts}"]
    if report.problem:
        lines.append(f"The solution could not be loaded: {report.problem}")
    else:
        lines.append(failure_text(lab.name, result))
        lines += [text for text in [recognised(lab, result)] if text]
        lines.append(f'for a hint: print(check.hint("{result.check.name}"))')
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines)


def _show(lab: Lab, result: Result) -> None:
    """A Stepper on the failing schedule, where something can show it."""
    try:
        from IPython.display import display
    except ImportError:
        return
    from k8slab.widgets import Stepper

    assert result.failure is not None
    if result.failure.record.steps or result.failure.record.ended:
        broken, script = result.failure.broken, result.failure.record.script
        stepper = Stepper(played(lab, result), main=len(script))
        stepper.index = broken.step - 1 if broken is not None else 0
        display(stepper)  # type: ignore[no-untyped-call]


# -- what was executed -----------------------------------------------------------------------------


def executed_cells() -> list[str]:
    """The cells of this kernel from the first call on, and those of its history before. LabError outside a notebook."""
    try:
        from IPython import get_ipython
    except ImportError:
        shell = None
    else:
        shell = get_ipython()
    if shell is None:
        raise LabError("check: expected to run in a notebook; in a shell use: k8slab lab verify")
    cells: list[str] | None = shell.meta.get("k8slab_cells")
    if cells is None:  # cells may be run without being kept in the history, so each is noted here
        noted = cells = shell.meta["k8slab_cells"] = [str(cell) for cell in shell.user_ns.get("In", [])]
        shell.events.register("pre_run_cell", lambda info: noted.append(info.raw_cell))
    return cells


def newest_source(cells: Iterable[str], names: Sequence[str], needs: Sequence[str] | None = None) -> str:
    """For each name the newest cell that defines it, in the order of `names`. LabError names those of `needs` (not
    given: of all) that no cell defines."""
    newest: dict[str, str] = {}
    for cell in cells:
        for name in _defined(cell):
            newest[name] = cell
    missing = [name for name in (names if needs is None else needs) if name not in newest]
    if missing:
        raise LabError(f"check: no executed cell defines {', '.join(missing)}: run the cells above first")
    return "\n\n".join(dict.fromkeys(newest[name] for name in names if name in newest)) + "\n"


_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _defined(cell: str) -> list[str]:
    """The top-level names that a cell defines; none for one that is no plain Python."""
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError):
        return []
    found = [node.name for node in tree.body if isinstance(node, _DEFINITIONS)]
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return found
