"""Playing a lab's checks against a solution.

Every check plays its public cases, then its hidden ones. What fails in public is made short: the report shows the
fewest operations that break the property. Of hidden cases only the number is told, and by what causes they fail.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from k8slab.lab.model import Broken, Case, Check, LabSpec, Odd, Outcome, Raised, Record, Report, Result, Script
from k8slab.lab.runner import Limits, Problem, Runner, Session, Setup, default_runner
from k8slab.lab.shrink import shrink
from k8slab.lab.source import Lab

__all__ = ["judge", "replay", "setup_of", "verify"]

_LOST_SECONDS = 15.0
"""How much time a solution may lose in cases that end early; what is left then counts as failed."""


def setup_of(lab: Lab, code: str, limits: Limits | None = None) -> Setup:
    """What a runner needs for `code`. Closed: all labs, and the modules that hold the answer."""
    import importlib.util

    closed = [str(lab.folder.parent)]
    for module in lab.spec.forbidden:
        found = importlib.util.find_spec(module)
        if found is not None and found.origin is not None:
            closed += list(found.submodule_search_locations or [found.origin])
    return Setup(code, lab.drive, lab.spec.names, lab.spec.forbidden, tuple(closed), limits or Limits())


def verify(
    lab: Lab,
    code: str,
    *,
    seed: str = "0",
    only: Iterable[str] = (),
    runner: Runner | None = None,
    limits: Limits | None = None,
) -> Report:
    """The report on `code`. `seed` decides the hidden cases; `only`: names of checks. Never raises for the code."""
    runner = runner or default_runner()
    wanted = tuple(only)
    checks = [lab.spec.check(name) for name in wanted] if wanted else list(lab.spec.checks)
    notes = [runner.says] if runner.says else []
    try:
        session = runner.open(setup_of(lab, code, limits))
    except Problem as problem:
        return Report(lab.name, tuple(_nothing(check, seed) for check in checks), seed, tuple(notes), str(problem))
    try:
        player = _Player(session, lab.spec)
        results = tuple(player.run(check, seed) for check in checks)
        return Report(lab.name, results, seed, (*notes, *session.notes))
    finally:
        session.close()


def replay(lab: Lab, code: str, check: Check, script: Script, *, runner: Runner | None = None) -> Outcome:
    """One script against one check, as it is. Raises Problem."""
    session = (runner or default_runner()).open(setup_of(lab, code))
    try:
        record = session.play(script, check.setting, lab.spec.needs(check))
        return Outcome(Case(script, name="replay"), judge(check, record), record)
    finally:
        session.close()


def judge(check: Check, record: Record) -> Broken | None:
    """What is wrong with a record: an early end, something raised, no plain value, else what the check finds."""
    if record.ended:
        step = min(len(record.steps) + 1, len(record.script))
        doing = " ".join(record.script[step - 1]) if record.script else "nothing"
        return Broken(step, f"{record.ended}, in {doing!r}", "ended")
    if not check.raises:
        for one in record.steps:
            if isinstance(one.result, Raised) and one.result.type == "NotImplementedError":
                return Broken(
                    one.number, f"{' '.join(one.op)!r}: line {one.result.line} is not written yet", "unwritten"
                )
            if isinstance(one.result, Raised):
                return Broken(one.number, f"{' '.join(one.op)!r} raised {one.result}", "raised")
    for one in record.steps:
        found = one.result
        if not check.structured and isinstance(found, (list, dict)):
            found = Odd(type(found).__name__)  # a judge may compare and hash what it sees
        if isinstance(found, Odd):
            return Broken(one.number, f"{' '.join(one.op)!r} returned {found}, expected a plain value", "odd")
    try:
        return check.judge(record.steps)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # a number expected, a text answered
        return Broken(len(record.steps), f"the answers cannot be judged ({type(error).__name__}: {error})", "odd")


def _nothing(check: Check, seed: str) -> Result:
    """The result when nothing could be played."""
    cases = check.cases(seed)
    hidden = sum(case.hidden for case in cases)
    return Result(check, (0, len(cases) - hidden), (0, hidden), None, ("not loaded",))


class _Player:
    """Plays the checks of one verification."""

    def __init__(self, session: Session, spec: LabSpec) -> None:
        self._session = session
        self._spec = spec
        self._lost = 0.0

    def run(self, check: Check, seed: str) -> Result:
        held = {False: 0, True: 0}
        count = {False: 0, True: 0}
        failure: Outcome | None = None
        causes: dict[str, None] = {}
        given_up = ""
        for case in check.cases(seed):
            count[case.hidden] += 1
            outcome = self._play(check, case, given_up)
            if outcome.broken is None:
                held[case.hidden] += 1
                continue
            causes[outcome.broken.cause] = None
            if outcome.record.ended:
                given_up = outcome.record.ended  # the other cases of this check would end so too, at the same cost
            if failure is None and not case.hidden:
                failure = outcome
        if failure is not None:
            failure = self._shortened(check, failure)
        return Result(check, (held[False], count[False]), (held[True], count[True]), failure, tuple(causes))

    def _play(self, check: Check, case: Case, given_up: str) -> Outcome:
        if given_up or self._lost > _LOST_SECONDS:
            why = given_up or "the time for this solution is used up"
            return Outcome(case, Broken(1, f"not played: {why}", "ended"), Record(case.script, (), why))
        started = time.monotonic()
        record = self._session.play(case.script, check.setting, self._spec.needs(check))
        if record.ended:
            self._lost += time.monotonic() - started
        return Outcome(case, judge(check, record), record)

    def _shortened(self, check: Check, failure: Outcome) -> Outcome:
        """The same failure with as few operations as possible."""
        assert failure.broken is not None
        cause = failure.broken.cause
        if cause == "ended":
            return failure  # every try would cost a process
        best = failure

        def fails(script: Script) -> bool:
            nonlocal best
            record = self._session.play(script, check.setting, self._spec.needs(check))
            broken = judge(check, record)
            if broken is None or broken.cause != cause or record.ended:
                return False
            best = Outcome(failure.case._replace(script=script), broken, record)
            return True

        first = failure.case.script[: failure.broken.step]
        shrink(first if fails(first) else failure.case.script, fails)
        return best
