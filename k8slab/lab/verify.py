"""Playing a lab's checks against a solution.

Every check plays its public cases, then its hidden ones. What fails in public is made short: the report shows the
fewest operations that break the property. Of hidden cases only the number is told, and by what causes they fail; of
what was refused there, or which limit was reached, one sentence that is always the same: by more than that, a solution
could tell what the cases are. What it was, is for the teacher, in words of ours.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from difflib import get_close_matches

from k8slab.lab.model import Broken, Case, Check, LabSpec, Odd, Outcome, Raised, Record, Report, Result, Script
from k8slab.lab.runner import Limits, Problem, Runner, Session, Setup, default_runner
from k8slab.lab.shrink import shrink
from k8slab.lab.source import Lab, names_of

__all__ = ["judge", "raised_text", "replay", "replay_script", "setup_of", "verify"]

_LOST_SECONDS = 15.0
"""How much time, as its session counts it, a solution may lose in cases that end early or are slow; what is left then
counts as failed."""
_SLOW_SECONDS = 0.1
_MOST_SECONDS = 30.0
_SHRINK_SECONDS = 3.0
_MOST_WHY = 300
HIDDEN_NOTE = "in hidden cases something was refused, or a limit was reached; the teacher's gradebook says what"
_ENDS = (
    "it did not end within",
    "its process was ended",
    "its process ended",
    "it closed the channel of the answers",
    "it wrote into the channel of the answers",
    "it broke the channel of the answers",
    "it flooded the channel of the answers",
    "the time for this solution is used up",
    "while it was loaded",
)
"""How what is told of an early end begins; the rest may be the solution's (an exit code)."""


def setup_of(lab: Lab, code: str, limits: Limits | None = None) -> Setup:
    """What a runner needs for `code`. Closed: all labs, and the modules that hold the answer."""
    import importlib.util

    closed = [str(lab.folder.parent)]
    for module in lab.spec.forbidden:
        found = importlib.util.find_spec(module)
        if found is not None and found.origin is not None:
            closed += list(found.submodule_search_locations or [found.origin])
            closed.append(importlib.util.cache_from_source(found.origin))
    return Setup(code, lab.drive, lab.spec.names, lab.spec.forbidden, tuple(closed), limits or Limits())


def verify(
    lab: Lab,
    code: str,
    *,
    seed: str = "0",
    only: Iterable[str] = (),
    runner: Runner | None = None,
    limits: Limits | None = None,
    elsewhere: Collection[str] = (),
) -> Report:
    """The report on `code`. `seed` decides the hidden cases; `only`: names of checks; `elsewhere`: names that the
    learner defines in cells that do not count. Never raises for the code."""
    runner = runner or default_runner()
    wanted = tuple(only)
    checks = [lab.spec.check(name) for name in wanted] if wanted else list(lab.spec.checks)
    player = _Player(lab.spec, elsewhere)
    none = misnamed(lab.spec, code)
    if none and not any(name in names_of([code]) for name in lab.spec.names):
        nothing = tuple(_nothing(check, seed) for check in checks)
        return Report(lab.name, nothing, seed, problem="; ".join(none))
    notes = [runner.says] if runner.says else []
    try:
        player.session = runner.open(setup_of(lab, code, limits))
        try:
            shown = [player.public(check, seed) for check in checks]
        finally:
            player.session.close()
            notes += player.session.notes
        notes += player.limits()
        # what was learnt from hidden cases cannot reach what is shown: that is settled
        player.session = runner.open(setup_of(lab, code, limits))
    except Problem as problem:
        results = tuple(_nothing(check, seed) for check in checks)
        notes += problem.notes
        why = str(problem) if problem.raised is None else load_text(lab, code, problem.raised, elsewhere)
        return Report(lab.name, results, seed, tuple(dict.fromkeys(notes)), why)
    player.forget_limits()
    try:
        results = tuple(player.hidden(one, seed) for one in shown)
    finally:
        player.session.close()
    hidden = tuple(sorted({*player.session.notes, *player.ends()} - {*notes}))
    notes += [HIDDEN_NOTE] if hidden else []
    return Report(lab.name, results, seed, tuple(dict.fromkeys(notes)), teacher_notes=hidden)


def replay(
    lab: Lab,
    code: str,
    check: Check,
    script: Script,
    *,
    runner: Runner | None = None,
    elsewhere: Collection[str] = (),
) -> Outcome:
    """One script against one check, as it is. Raises Problem."""
    session = (runner or default_runner()).open(setup_of(lab, code))
    try:
        record = session.play(script, check.setting, lab.spec.needs(check))
        return Outcome(Case(script, name="replay"), judge(check, record, elsewhere), record)
    finally:
        session.close()


def replay_script(lab: Lab, check: Check, text: str, *, runner: Runner | None = None) -> Script:
    """A script that somebody wrote for a check. ValueError: it has words that the lab does not know, or is none that
    this check can judge: it would accuse the lab's own solution."""
    script = lab.spec.script(check, text)
    broken = replay(lab, lab.solution, check, script, runner=runner).broken
    if broken is not None and broken.cause != "ended":
        raise ValueError(
            f"{check.name} cannot judge this schedule: at {' '.join(script[broken.step - 1])!r} it accuses the lab's "
            f"own solution, too; expected one like its own, of {', '.join(check.operations())}"
        )
    return script


def load_text(lab: Lab, code: str, raised: Raised, elsewhere: Collection[str] = ()) -> str:
    """What was raised while the solution was loaded, at a place that a learner finds: cells have no line 63."""
    text = re.sub(r" \(<solution>, line \d+\)", "", raised.text)
    if raised.type == "SyntaxError" and raised.code.startswith(("%", "!")):
        text += " (what begins with % or ! is IPython's: solution cells are plain Python)"
    place = _place(code, raised.line) if raised.where in ("", "<module>") else raised.where
    shown = raised_text(raised._replace(text=text, where=place), elsewhere)
    return "; ".join([shown, *misnamed(lab.spec, code)])


def _place(code: str, line: int) -> str:
    """`line 3 of class WorkQueue`: counted from the definition that a line belongs to; "" outside of all."""
    lines = code.split("\n")[:line]
    for at in range(len(lines) - 1, -1, -1):
        found = re.match(r"(?:async )?(class|def) \w+", lines[at])
        if found:
            return f"line {line - at} of {found[0]}"
    return ""


def misnamed(spec: LabSpec, code: str) -> list[str]:
    """A sentence for each name that the lab asks for and the code has under another spelling; one if it has none."""
    there = names_of([code])
    if not there:
        return []  # not even Python, or nothing at all: that is told already
    missing = [name for name in spec.names if name not in there]
    texts = []
    for name in missing:
        like = get_close_matches(name.lower(), {one.lower(): one for one in there}, 1, 0.85)
        texts += [f"it defines no {name}, but a {one}" for one in sorted(there) if like and one.lower() == like[0]]
    if not texts and len(missing) == len(spec.names):
        texts = [f"it defines no {', no '.join(missing)}"]
    return texts


def raised_text(raised: Raised, elsewhere: Collection[str] = ()) -> str:
    """What was raised; of a name that only another cell defines, where it belongs."""
    found = re.match(r"name '(\w+)' is not defined", raised.text)
    if raised.type != "NameError" or found is None or found[1] not in elsewhere:
        return str(raised)
    owner = raised.where.rpartition(" ")[2].partition(".")[0]
    there = "the cell that uses it" if owner in ("", "<module>") else f"the cell of `{owner}`"
    return (
        f"{raised}. `{found[1]}` is defined in another cell; only the cells given in the lab count: "
        f"move it into {there}"
    )


def judge(check: Check, record: Record, elsewhere: Collection[str] = ()) -> Broken | None:
    """What is wrong with a record: an early end, something raised, a call or an answer that does not fit, no plain
    value, else what the check finds. `elsewhere`: as for `verify`. What is said is at most 300 characters long: a part
    of it may be an answer."""
    broken = _judged(check, record, elsewhere)
    if broken is None or len(broken.why) <= _MOST_WHY:
        return broken
    return broken._replace(why=broken.why[: _MOST_WHY - 1] + "…")


def _judged(check: Check, record: Record, elsewhere: Collection[str]) -> Broken | None:
    if record.ended:
        step = min(len(record.steps) + 1, len(record.script))
        doing = " ".join(record.script[step - 1]) if record.script else "nothing"
        return Broken(step, f"{record.ended}, in {doing!r}", "ended")
    if not check.raises:
        for one in record.steps:
            if isinstance(one.result, Raised) and one.result.type == "NotImplementedError":
                return Broken(one.number, f"{one.result.where or 'it'} is not written yet", "unwritten")
            if isinstance(one.result, Raised) and one.result.misfit:
                return Broken(one.number, f"{one.result.misfit}, in {' '.join(one.op)!r}", "misfit")
            if isinstance(one.result, Raised):
                return Broken(one.number, f"{' '.join(one.op)!r} raised {raised_text(one.result, elsewhere)}", "raised")
    for one in record.steps:
        found = one.result
        if not check.structured and isinstance(found, (list, dict)):
            found = Odd(type(found).__name__, repr(found)[:60])  # a judge may compare and hash what it sees
        if isinstance(found, Odd) and found.type == "str":  # all other texts are plain
            why = f"{' '.join(one.op)!r} returned a text that is too long for an answer"
            return Broken(one.number, why, "odd")
        if isinstance(found, Odd):
            return Broken(one.number, f"{' '.join(one.op)!r} returned {found}, expected a single plain value", "odd")
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
    """Plays the checks of one verification, on the `session` that it is given."""

    session: Session

    def __init__(self, spec: LabSpec, elsewhere: Collection[str]) -> None:
        self._spec = spec
        self._elsewhere = elsewhere
        self._reached: dict[str, dict[str, None]] = {}  # limit -> the checks in which it was reached
        self._lost = 0.0
        self._spent = 0.0
        self._given_up: dict[str, str] = {}

    def public(self, check: Check, seed: str) -> Result:
        """The public cases; the first that fails is made short."""
        held, failure, causes = self._cases(check, [case for case in check.cases(seed) if not case.hidden])
        if failure is not None:
            failure = self._shortened(check, failure)
        return Result(check, held, (0, 0), failure, causes)

    def hidden(self, shown: Result, seed: str) -> Result:
        """`shown`, with how many of the hidden cases hold, and by what causes the others do not."""
        check = shown.check
        held, _, causes = self._cases(check, [case for case in check.cases(seed) if case.hidden])
        return replace(shown, hidden=held, causes=tuple(dict.fromkeys((*shown.causes, *sorted(causes)))))

    def _cases(self, check: Check, cases: list[Case]) -> tuple[tuple[int, int], Outcome | None, tuple[str, ...]]:
        held, failure = 0, None
        causes: dict[str, None] = {}
        for case in cases:
            outcome = self._play(check, case, self._given_up.get(check.name, ""))
            if outcome.broken is None:
                held += 1
                continue
            causes[outcome.broken.cause] = None
            if outcome.record.ended:
                # the other cases of this check would end so too, at the same cost
                self._given_up[check.name] = outcome.record.ended
            failure = failure or outcome
        return (held, len(cases)), failure, tuple(causes)

    def limits(self) -> list[str]:
        """A note for each limit that was reached."""
        return [f"{limit}, in {', '.join(checks)}" for limit, checks in self._reached.items()]

    def ends(self) -> list[str]:
        """The same, without the checks and without a word of the solution's."""
        found = {next((end for end in _ENDS if limit.startswith(end)), "it ended early") for limit in self._reached}
        return [f"{end} …" if end == _ENDS[0] else end for end in found]

    def forget_limits(self) -> None:
        """What comes from here on, is another part of the report."""
        self._reached.clear()

    def _note(self, check: Check, record: Record) -> None:
        if record.ended:
            self._reached.setdefault(record.ended, {})[check.name] = None

    def _play(self, check: Check, case: Case, given_up: str) -> Outcome:
        if given_up or self._lost > _LOST_SECONDS or self._spent > _MOST_SECONDS:
            why = given_up or "the time for this solution is used up"
            record = Record(case.script, (), why)
            if not given_up:
                self._note(check, record)
            return Outcome(case, Broken(1, f"not played: {why}", "ended"), record)
        before = self.session.spent
        record = self.session.play(case.script, check.setting, self._spec.needs(check))
        took = self.session.spent - before
        self._note(check, record)
        self._spent += took
        if record.ended or took > _SLOW_SECONDS:
            self._lost += took
        return Outcome(case, judge(check, record, self._elsewhere), record)

    def _shortened(self, check: Check, failure: Outcome) -> Outcome:
        """The same failure with as few operations as possible."""
        assert failure.broken is not None
        cause = failure.broken.cause
        if cause == "ended":
            return failure  # every try would cost a process
        best = failure
        before = self.session.spent
        until = time.monotonic() + min(_SHRINK_SECONDS, _MOST_SECONDS - self._spent)

        def fails(script: Script) -> bool:
            nonlocal best
            if time.monotonic() > until:
                return False
            record = self.session.play(script, check.setting, self._spec.needs(check))
            broken = judge(check, record, self._elsewhere)
            if broken is None or broken.cause != cause or record.ended:
                return False
            best = Outcome(failure.case._replace(script=script), broken, record)
            return True

        first = failure.case.script[: failure.broken.step]
        shrink(first if fails(first) else failure.case.script, fails)
        self._spent += self.session.spent - before
        return best
