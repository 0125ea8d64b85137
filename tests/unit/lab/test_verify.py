"""What a verification says: points, counts, causes, the shortest schedule, hints; and that hidden cases stay hidden."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from k8slab.lab import (
    Broken,
    Case,
    Check,
    InProcessRunner,
    Lab,
    Limits,
    Odd,
    Outcome,
    Problem,
    Raised,
    Record,
    Step,
    find_lab,
    parse_script,
    replay,
    script_text,
    verify,
)
from k8slab.lab.inside import Checker, CheckFailed, hint_for, newest_source
from k8slab.lab.mutate import machine_mutants
from k8slab.lab.show import Played, as_typed, played, recognised, report_text
from k8slab.lab.shrink import shrink
from k8slab.lab.source import names_of
from k8slab.widgets import Stepper
from k8slab.widgets.frames import expand

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
    assert 1 < wrong < 40
    assert (result.counts, result.points) == (f"public 6/6, hidden {40 - wrong}/40", 0)
    text = report_text(lab, report)
    assert f"{wrong} hidden cases fail (spilled)" in text
    assert "secret" not in text
    one_left = replace(result, hidden=(39, 40))
    assert (one_left.reason, result.reason) == ("1 hidden case fails (spilled)", f"{wrong} hidden cases fail (spilled)")
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
    assert "SyntaxError" in report.problem and "line 2 of class WorkQueue: def add(self item):" in report.problem


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


def test_a_mutant_is_recognised_beside_other_harmless_differences() -> None:
    """It also calls `change` twice, which is told in the step before; the step that breaks answers the same."""
    lab = find_lab("05")
    mutant = next(one for one in lab.mutants() if one.name == "retries-timeouts")
    code = mutant.code.replace("        new = change(value)\n", "        change(value)\n        new = change(value)\n")
    pure, mixed = (verify(lab, one, only=[mutant.killed_by]).results[0] for one in (mutant.code, code))
    assert pure.failure is not None and mixed.failure is not None
    assert pure.failure.record.script == mixed.failure.record.script
    assert [one.result for one in pure.failure.record.steps[:-1]] != [
        one.result for one in mixed.failure.record.steps[:-1]
    ]
    assert recognised(lab, mixed).startswith("Looks like 'retries-timeouts': ")


def test_a_likeness_needs_the_same_answer_where_it_breaks_and_not_before() -> None:
    """`len` counts what is in work (a mutant) or answers 7 there (none): both break in the same step by one cause."""
    check = LAB.spec.check("counts-what-waits")
    for wrong, name in (
        ("len(self.queue) + len(self.processing)", "len-counts-work"),
        ("7 if self.processing else 0", ""),
    ):
        code = LAB.solution.replace("return len(self.queue)", f"return {wrong}")
        found = recognised(LAB, verify(LAB, code, only=[check.name]).results[0])
        assert found.startswith(f"Looks like {name!r}: ") if name else found == ""


def test_in_process_says_so_and_judges_the_same() -> None:
    for code in (LAB.solution, PARALLEL):
        inside = verify(LAB, code, runner=InProcessRunner())
        outside = verify(LAB, code)
        assert [r.counts for r in inside.results] == [r.counts for r in outside.results]
    assert "no limits" in inside.notes[0]


def test_a_stepper_opens_on_a_failure() -> None:
    report = verify(LAB, PARALLEL, only=["one-worker-a-key"])
    assert report.results[0].failure is not None
    stepper = Stepper(played(LAB, report.results[0]))
    steps = stepper.frames["steps"]
    assert len(steps) == len(report.results[0].failure.record.script) == 4
    assert steps[3]["text"] == "Here it breaks: worker-1 still works on a, and worker-2 was given it too."
    assert [(step.get("cause"), step.get("also")) for step in steps] == [(None, None), (0, None), (1, None), (2, [1])]
    assert "you" not in {lane["role"] for lane in stepper.frames["lanes"]}, "else the first step says: you did this"


def test_a_stepper_shows_what_holds_and_what_would_with_the_solution() -> None:
    """By hand: worker-1 took a, it was added again, and the wrong queue hands it to worker-2."""
    stepper = Stepper(played(LAB, verify(LAB, PARALLEL, only=["one-worker-a-key"]).results[0]))
    shown = [state["objects"]["after-this-step/yours"] for state in expand(stepper.frames)]
    assert all(step["focus"] == "after-this-step/yours" for step in stepper.frames["steps"])
    assert shown[0] == {"answer": "None", "waiting": "a", "in work": "none", "wanted again": "none"}
    assert shown[1] == {"answer": "a", "waiting": "none", "in work": "a (worker-1)", "wanted again": "none"}
    assert shown[2] == {"answer": "None", "waiting": "none", "in work": "a (worker-1)", "wanted again": "a"}
    assert shown[3] == {
        "answer": "a",
        "waiting": "none",
        "in work": "a (worker-1 and worker-2)",
        "wanted again": "none",
        "with the solution": {"answer": "None", "in work": "a (worker-1)", "wanted again": "a"},
    }


@pytest.mark.parametrize("lab", [LAB, find_lab("05")], ids=lambda lab: lab.name)
def test_a_stepper_and_the_text_count_the_same_steps(lab: Lab) -> None:
    for mutant in lab.mutants():
        result = verify(lab, mutant.code, only=[mutant.killed_by]).results[0]
        assert result.failure is not None and result.failure.broken is not None
        text = report_text(lab, verify(lab, mutant.code, only=[mutant.killed_by]))
        steps = Stepper(played(lab, result), main=1_000).frames["steps"]
        number = [n for n, step in enumerate(steps, 1) if step["text"].startswith("Here it breaks: ")]
        assert len(number) == 1 and f"step {number[0]} of {len(steps)}:" in text, mutant.name


def test_a_stepper_on_a_loop_without_end_has_all_steps() -> None:
    code = LAB.solution.replace("self.processing.add(item)", "while True: pass")
    result = verify(LAB, code, only=["first-in-first-out"], limits=Limits(seconds=0.2)).results[0]
    steps = Stepper(played(LAB, result)).frames["steps"]
    assert [step["label"] for step in steps] == ["add a", "add b", "✗ get worker-1", "get worker-2"]
    assert steps[2]["text"].startswith("Here it breaks: it did not end within 0.2 s and 512 MB, in 'get worker-1'")
    assert steps[3]["text"] == "Get worker-2 → not reached."


def test_answers_that_make_no_sense_have_no_state() -> None:
    """It hands out what nobody holds, and takes it back twice."""
    check = LAB.spec.check("forgets")
    odd = Record((("when", "a"),), (Step(1, ("when", "a"), Raised("ValueError", "no")),))
    shown = Played(
        Outcome(Case(odd.script), Broken(1, "it raised", "raised"), odd), replace(check, state=_no_state), odd
    )
    assert shown.step()
    assert shown.view()["objects"]["after-this-step/yours"]["state"] == "cannot be told from these answers"


def _no_state(steps: Sequence[Step]) -> dict[str, str]:
    return {"sum": str(sum(int(step.result) for step in steps))}


# -- in a notebook ---------------------------------------------------------------------------------


def test_the_newest_cell_that_defines_a_name_counts() -> None:
    cells = ["class A:\n    old = 1", "x = 1", "%time pass", "class A:\n    new = 1", "def broken(:"]
    assert newest_source(cells, ["A"]) == "class A:\n    new = 1\n"
    with pytest.raises(ValueError, match="no executed cell defines B"):
        newest_source(cells, ["B"])
    assert (
        newest_source(["class B: pass", *cells], ["A", "B", "C"], ["A"]) == "class A:\n    new = 1\n\nclass B: pass\n"
    )


HELPED = LAB.solution.replace("self.queue.append(item)", "put(self.queue, item)")
HELPER = "%time pass\ndef put(queue, item):\n    queue.append(item)"
MOVE = "`put` is defined in another cell; only the cells given in the lab count: move it into the cell of `WorkQueue`"


def test_a_helper_in_another_cell_is_named_in_a_notebook() -> None:
    check = Checker(LAB, cells=lambda: [HELPER, HELPED])
    with pytest.raises(CheckFailed, match=r"name 'put' is not defined in WorkQueue\.add") as failed:
        check("first-in-first-out", stepper=False)
    assert MOVE in str(failed.value)
    check = Checker(LAB, cells=lambda: [HELPED])
    with pytest.raises(CheckFailed) as failed:
        check("first-in-first-out", stepper=False)
    assert "another cell" not in str(failed.value), "nobody defines it"


def test_a_helper_in_any_given_cell_counts_for_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    """As it does for `k8slab lab verify`: the cell of RateLimiter, which this check does not need, has it."""
    queue, limiter = HELPED.split("class RateLimiter", 1)
    check = Checker(LAB, cells=lambda: [queue, f"{HELPER}\n\nclass RateLimiter{limiter}".replace("%time pass\n", "")])
    check("first-in-first-out")
    assert "public 7/7" in capsys.readouterr().out


def test_an_import_in_another_cell_is_named_although_nothing_could_be_loaded() -> None:
    code = LAB.solution.replace("class WorkQueue:", "class WorkQueue(collections.abc.Sized):")
    report = verify(LAB, code, elsewhere=names_of(["import collections.abc"]))
    assert report.problem.startswith("NameError: name 'collections' is not defined in line ")
    assert report.problem.endswith("only the cells given in the lab count: move it into the cell of `WorkQueue`")


def test_names_of_cells() -> None:
    cells = [
        "import os.path as p, sys\nfrom heapq import heappush",
        "!ls\nx: int = 1\nfor y in (): z = 2",
        "def broken(:",
    ]
    cells += ["class A:\n    inner = 1", "def f(a):\n    b = a", "print(q)"]
    assert names_of(cells) == {"p", "sys", "heappush", "x", "y", "z", "A", "f"}


# -- notes -----------------------------------------------------------------------------------------


def test_a_limit_that_is_reached_is_noted_with_the_checks() -> None:
    code = LAB.solution.replace("self.processing.discard(item)", "while True: pass")
    report = verify(LAB, code, only=["first-in-first-out", "at-most-once", "nothing-lost"], limits=Limits(seconds=0.2))
    assert report.notes == ("it did not end within 0.2 s and 512 MB, in at-most-once, nothing-lost",)
    code = LAB.solution.replace("self.processing.discard(item)", "[0] * (1 << 40)")
    report = verify(LAB, code, only=["at-most-once"])
    assert report.notes == ("it did not end within 0.5 s and 512 MB, in at-most-once",)


def test_what_was_refused_while_loading_is_noted() -> None:
    report = verify(LAB, f"try:\n    open('/etc/hostname')\nexcept OSError:\n    pass\n1 / 0\n{LAB.solution}")
    assert report.problem.startswith("ZeroDivisionError")
    assert report.notes == ("opening a file that is not its own",)


# -- what was typed --------------------------------------------------------------------------------


def test_commands_are_told_as_they_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "again: k8slab lab verify 09; with k8slab.lab and ./k8slab lab as they are"
    script = tmp_path / ".venv" / "bin" / "k8slab"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert as_typed(text, script) == text.replace("again: k8slab", "again: .venv/bin/k8slab")
    monkeypatch.chdir(script.parent)
    assert as_typed(text, script) == text.replace("again: k8slab", f"again: {script}")
    monkeypatch.setenv("PATH", str(script.parent))
    assert as_typed(text, script) == text, "it is found under its name"
    assert as_typed(text, Path("pytest")) == text


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


def test_a_check_in_a_browser_knows_of_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Checker(LAB, cells=lambda: [PARALLEL], runner=InProcessRunner())
    monkeypatch.setattr("sys.executable", "")
    with pytest.raises(CheckFailed, match="again: k8slab lab verify 09-workqueue --check one-worker-a-key --replay"):
        check("one-worker-a-key", stepper=False)


def test_hints_follow_the_cause() -> None:
    lost = next(mutant for mutant in LAB.mutants() if mutant.name == "lost-re-add")
    report = verify(LAB, lost.code, only=["nothing-lost"])
    assert "The worker read the object before the change" in hint_for(LAB, report, "nothing-lost", 1)
    report = verify(LAB, LAB.starter_code, only=["nothing-lost"])
    assert hint_for(LAB, report, "nothing-lost", 1).startswith("WorkQueue.__init__ is not written yet. Write it")


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
