"""What a verification says: points, counts, causes, the shortest schedule, hints; and that hidden cases stay hidden."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from k8slab.lab import (
    Broken,
    Check,
    InProcessRunner,
    Lab,
    Odd,
    Problem,
    Step,
    find_lab,
    parse_script,
    replay,
    script_text,
    verify,
)
from k8slab.lab.inside import Checker, CheckFailed, hint_for, newest_source
from k8slab.lab.mutate import machine_mutants
from k8slab.lab.show import Played, recognised, report_text
from k8slab.lab.shrink import shrink
from k8slab.widgets import Stepper

LAB = find_lab("09")
PARALLEL = next(mutant for mutant in LAB.mutants() if mutant.name == "parallel-processing").code


def test_a_failure_shows_seed_step_schedule_and_replay() -> None:
    report = verify(LAB, PARALLEL, only=["one-worker-a-key"])
    result = report.results[0]
    assert result.failure is not None and result.failure.broken is not None
    assert script_text(result.failure.record.script) == "add a; get worker-1; add a; get worker-2"
    assert result.failure.broken.step == 4
    text = report_text(LAB, report)
    assert "worker-1 still works on a, and worker-2 was given it too" in text
    assert 'k8slab lab verify 09-workqueue --check one-worker-a-key --replay "add a; get worker-1; add a' in text
    assert "Looks like 'parallel-processing'" in text
    assert "the example 'at once', made as short as shows it, step 4 of 4:" in text


def test_the_replay_shows_the_same() -> None:
    check = LAB.spec.check("one-worker-a-key")
    script = parse_script("add a; get worker-1; add a; get worker-2")
    outcome = replay(LAB, PARALLEL, check, script)
    assert outcome.broken is not None and outcome.broken.cause == "two-workers"
    assert replay(LAB, LAB.solution, check, script).broken is None


def test_hidden_cases_are_counted_and_never_printed() -> None:
    """A check whose public schedules hold: of the hidden ones that do not, there is a number and a cause."""
    most = max(random.Random(f"one/public-{n}").random() for n in range(1, 6))

    def generate(rng: random.Random) -> list[tuple[str, ...]]:
        return [("add", "secret" if rng.random() > most else "known")]

    def no_secrets(steps: Sequence[Step]) -> Broken | None:
        found = [step for step in steps if step.op[1] == "secret"]
        return Broken(1, "a secret came by", "spilled") if found else None

    check = Check("one", "One", 3, no_secrets, {"e": "add a"}, generate, {"": ["a hint"]}, hidden=40)
    lab = Lab(LAB.folder)
    vars(lab)["spec"] = replace(LAB.spec, checks=(check,))
    report = verify(lab, LAB.solution)
    result = report.results[0]
    wrong = sum(case.hidden and "secret" in case.script[0] for case in check.cases("0"))
    assert 0 < wrong < 40
    assert (result.counts, result.points) == (f"public 6/6, hidden {40 - wrong}/40", 0)
    text = report_text(lab, report)
    assert f"{wrong} hidden cases fail (spilled)" in text
    assert "secret" not in text
    assert hint_for(lab, report, "one", 1) == "hint 1 of 1: a hint"


def test_seeds_change_hidden_cases_alone() -> None:
    check = LAB.spec.check("nothing-lost")
    one, other = check.cases("a"), check.cases("b")
    assert [case for case in one if not case.hidden] == [case for case in other if not case.hidden]
    assert [case.script for case in one if case.hidden] != [case.script for case in other if case.hidden]
    assert one == check.cases("a")


def test_a_report_is_the_same_twice() -> None:
    first, second = (report_text(LAB, verify(LAB, PARALLEL)) for _ in range(2))
    assert first == second


def test_a_syntax_error_is_told_with_its_line() -> None:
    report = verify(LAB, "class WorkQueue:\n    def add(self item):\n        pass\n")
    assert report.points == 0
    assert "SyntaxError" in report.problem and "line 2: def add(self item):" in report.problem


def test_a_missing_class_fails_its_own_checks_only() -> None:
    code = LAB.solution.replace("class RateLimiter", "class Limiter")
    report = verify(LAB, code)
    assert [result.check.name for result in report.results if not result.passed] == ["backs-off", "forgets"]
    assert "RateLimiter: the solution does not define it" in report.results[-1].reason


@pytest.mark.parametrize("mutant", LAB.mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_is_recognised_or_at_least_told(mutant: object) -> None:
    report = verify(LAB, mutant.code, only=[mutant.killed_by])  # type: ignore[attr-defined]
    assert recognised(LAB, report.results[0])


def test_a_mistake_that_only_looks_like_a_mutant_is_not_called_one() -> None:
    """It forgets one failure instead of all: not `forget does nothing`."""
    code = LAB.solution.replace("self.failures.pop(item, None)", "self.failures[item] = self.failures.get(item, 1) - 1")
    report = verify(LAB, code, only=["forgets"])
    assert report.results[0].failure is not None and report.results[0].failure.broken is not None
    assert report.results[0].failure.broken.cause == "kept"
    assert recognised(LAB, report.results[0]) == ""


def test_in_process_says_so_and_judges_the_same() -> None:
    for code in (LAB.solution, PARALLEL):
        inside = verify(LAB, code, runner=InProcessRunner())
        outside = verify(LAB, code)
        assert [r.counts for r in inside.results] == [r.counts for r in outside.results]
    assert "no limits" in inside.notes[0]


def test_a_stepper_opens_on_a_failure() -> None:
    report = verify(LAB, PARALLEL, only=["one-worker-a-key"])
    assert report.results[0].failure is not None
    stepper = Stepper(Played(report.results[0].failure, "No two workers"))
    assert [step["text"] for step in stepper.frames["steps"]][-1].startswith("worker-1 still works on a")
    assert len(stepper.frames["steps"]) == 5


# -- in a notebook ---------------------------------------------------------------------------------


def test_the_newest_cell_that_defines_a_name_counts() -> None:
    cells = ["class A:\n    old = 1", "x = 1", "%time pass", "class A:\n    new = 1", "def broken(:"]
    assert newest_source(cells, ["A"]) == "class A:\n    new = 1\n"
    with pytest.raises(ValueError, match="no executed cell defines B"):
        newest_source(cells, ["B"])


def test_a_check_in_a_notebook_raises_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    check = Checker(LAB, cells=lambda: [LAB.solution])
    check("one-worker-a-key")
    assert "public 6/6, hidden 10/10" in capsys.readouterr().out
    check = Checker(LAB, cells=lambda: [PARALLEL])
    with pytest.raises(CheckFailed, match="worker-1 still works on a") as failed:
        check("one-worker-a-key", stepper=False)
    assert failed.value._render_traceback_() == str(failed.value).split("\n")
    assert [check.hint("one-worker-a-key")[:11] for _ in range(4)] == [
        "hint 1 of 3", "hint 2 of 3", "hint 3 of 3", "hint 3 of 3"
    ]  # fmt: skip
    assert check.hint("one-worker-a-key", 1).startswith("hint 1 of 3: ")
    assert check.hint("one-worker-a-key", 9).startswith("hint 3 of 3: ")


def test_hints_follow_the_cause() -> None:
    lost = next(mutant for mutant in LAB.mutants() if mutant.name == "lost-re-add")
    report = verify(LAB, lost.code, only=["nothing-lost"])
    assert "The worker read the object before the change" in hint_for(LAB, report, "nothing-lost", 1)
    report = verify(LAB, LAB.starter_code, only=["nothing-lost"])
    assert hint_for(LAB, report, "nothing-lost", 1).startswith("Write it first")


# -- the parts -------------------------------------------------------------------------------------


def test_a_queue_that_does_nothing_gets_nothing() -> None:
    """Doing nothing breaks no promise but one: to do something."""
    idle = "class WorkQueue:\n    def add(self, item): pass\n    def get(self): return None\n"
    idle += "    def done(self, item): pass\n    def __len__(self): return 0\n    def shut_down(self): pass\n"
    assert verify(LAB, idle).points == 0
    inventive = idle.replace("return None", "return 'z'")
    assert verify(LAB, inventive).points == 0


def test_shrinking_keeps_what_fails_and_drops_the_rest() -> None:
    rng = random.Random(5)
    for _ in range(50):
        items = tuple(rng.randrange(10) for _ in range(rng.randint(2, 40)))
        needed = sorted({rng.choice(items) for _ in range(3)})

        def fails(some: tuple[int, ...], needed: list[int] = needed) -> bool:
            return all(one in some for one in needed)

        assert sorted(shrink(items, fails)) == needed


def test_scripts_are_read_as_they_are_written() -> None:
    script = parse_script("add a; get worker-1;")
    assert script == (("add", "a"), ("get", "worker-1"))
    assert parse_script(script_text(script)) == script
    with pytest.raises(ValueError, match="expected operations"):
        parse_script(" ; ")


def test_an_odd_answer_is_equal_to_nothing() -> None:
    odd = Odd("Anything")
    assert odd != odd
    assert odd not in [Odd("Anything")]


def test_machine_mutants_differ_from_the_code_by_one_flip() -> None:
    code = "def f(x):\n    if x < 1:\n        return 1\n    return x + 1\n"
    found = list(machine_mutants(code))
    assert len({change.code for change in found}) == len(found)
    whats = {change.what for change in found}
    assert {"Lt became LtE", "Add became Sub", "the condition became True", "1 became 2", "1 became 0"} <= whats
    for change in found:
        compile(change.code, "mutant", "exec")


def test_a_check_without_generator_plays_its_examples() -> None:
    check = Check("one", "One", 1, lambda steps: Broken(1, "no", "x") if not steps else None, {"e": "add a"})
    assert [case.script for case in check.cases("0")] == [(("add", "a"),)]
    assert Step(1, ("add", "a"), None).verb == "add"


def test_a_problem_is_raised_by_a_runner_for_code_that_cannot_be_loaded() -> None:
    with pytest.raises(Problem, match="ZeroDivisionError"):
        replay(LAB, "1 / 0\n", LAB.spec.checks[0], parse_script("add a"))
