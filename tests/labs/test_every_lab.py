"""What holds for every lab's right solutions, beyond what `check-kit` plays."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from k8slab.lab import InProcessRunner, Lab, find_lab, labs
from k8slab.lab.verify import judge, setup_of
from tests.counts import SOAK
from tests.labs.taken import Taken

LABS = labs()
each_lab = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
both_solutions = pytest.mark.parametrize(
    "code_of", [lambda lab: lab.solution, lambda lab: lab.second], ids=["the solution", "second.py"]
)

IN_PROCESS = {
    "01": ("votes-twice", "no-randomised-timeout", "vote-not-saved"),
    "02": ("cuts-what-agrees", "counts-its-term-and-before", "an-old-no-takes-back"),
    "03": ("reuses-version-after-delete",),
    "04": ("loses-a-delete-at-compaction",),
    "06": ("validates-before-the-last-mutation", "asks-for-ever", "ignore-is-fail"),
    "09": ("parallel-processing",),
    "11": ("stale-accepted", "higher-is-better", "always-comes-back"),
    "12": ("divides-first", "counts-terminating", "only-where-somebody-is"),
    "13": ("evicts-from-below", "evicts-equals", "by-priority-alone"),
    "15": ("sorts-by-qos", "forgets-priority", "ignores-grace"),
    "17": ("leaks-on-failed-add", "gives-the-gateway", "no-second-del"),
    "19": ("floor-instead-of-ceil", "without-tolerance", "last-instead-of-highest"),
}
"""Wrong solutions that a browser's kernel must judge as a child does."""

ON_THE_GENERAL_LADDER = ("05", "09", "11")
"""Labs some of whose mutants' causes have no ladder of their own."""

WITH_A_GENERAL_LADDER = ("03", "04", "05", "06", "12", "13", "15", "19")
"""Labs with a general ladder in every check."""

HINTED_EVERYWHERE = ("03", "04", "14")
"""Labs in which every check has hints for every cause, whichever check notices it."""


@each_lab
@both_solutions
@pytest.mark.parametrize("seed", ["1", "a class", "ü"] if SOAK else ["ü"])
def test_a_right_solution_holds_for_other_hidden_cases(lab: Lab, code_of: Callable[[Lab], str], seed: str) -> None:
    assert Taken(lab).judged(code_of(lab), seed=seed).passed


@each_lab
@both_solutions
def test_any_part_of_a_script_is_fair(lab: Lab, code_of: Callable[[Lab], str]) -> None:
    """More cases than check-kit plays: where the judge and `drive.py` disagree is a rare coincidence."""
    session, rng = InProcessRunner().open(setup_of(lab, code_of(lab))), random.Random("parts")
    for check in lab.spec.checks:
        for case in (one for seed in range(4) for one in check.cases(f"parts/{seed}")):
            keep = rng.choice((0.3, 0.6, 0.9))
            script = tuple(op for op in case.script if rng.random() < keep)
            if script:
                assert judge(check, session.play(script, check.setting, lab.spec.needs(check))) is None, script


@each_lab
def test_the_starter_can_be_loaded(lab: Lab) -> None:
    """What is not written yet is missing where it is asked for, and hides nothing of what is written."""
    assert Taken(lab).judged(lab.starter_code).problem == ""


@each_lab
def test_the_same_seed_makes_the_same_scripts(lab: Lab) -> None:
    for check in lab.spec.checks:
        assert check.generate is not None
        one, two = (tuple(check.generate(random.Random("7"))) for _ in range(2))
        assert one == two


@pytest.mark.parametrize(("lab", "mutants"), IN_PROCESS.items())
def test_in_process_judges_the_same(lab: str, mutants: Sequence[str]) -> None:
    """Lab 05, whose mutants leave tasks behind, has its own test."""
    taken = Taken(find_lab(lab))
    wrong = [one.code for one in taken.lab.mutants() if one.name in mutants]
    assert len(wrong) == len(mutants)
    wrong = wrong if SOAK else wrong[:1]
    for code in [taken.lab.solution, taken.lab.second, *wrong]:
        inside, outside = taken.judged(code, runner=InProcessRunner()), taken.judged(code)
        assert [(r.counts, r.causes) for r in inside.results] == [(r.counts, r.causes) for r in outside.results]


@each_lab
def test_every_cause_has_hints(lab: Lab) -> None:
    """A ladder of its own, mostly; what is noticed without one falls back on the general ladder, whose cause is ""."""
    number, causes = lab.name[:2], {mutant.cause for mutant in lab.mutants()}
    for mutant in lab.mutants():
        hints = lab.spec.check(mutant.killed_by).hints
        assert mutant.cause in hints or (number in ON_THE_GENERAL_LADDER and "" in hints), mutant.name
    for check in lab.spec.checks:
        assert number not in WITH_A_GENERAL_LADDER or "" in check.hints, check.name
        assert number not in HINTED_EVERYWHERE or causes <= {*check.hints}, check.name
