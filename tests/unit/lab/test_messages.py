"""What a learner reads when it is not the algorithm that is wrong: slow cells, typing errors, names, loops."""

from __future__ import annotations

import pytest

from k8slab.lab import InProcessRunner, Limits, find_lab, verify
from k8slab.lab.inside import hint_for
from k8slab.lab.runner import SLOW
from k8slab.lab.show import report_text

LAB = find_lab("09")


@pytest.mark.parametrize("more", ["for n in range(3_000_000): hash(n)", "import time; time.sleep(0.8)"])
def test_cells_that_take_long_to_load_are_named_and_cost_no_minute(more: str) -> None:
    report = verify(LAB, f"{LAB.solution}\n{more}\n")
    assert report.problem == SLOW
    assert report.points == 0


def test_the_same_where_there_are_no_processes() -> None:
    report = verify(LAB, f"{LAB.solution}\nfor n in range(3_000_000): hash(n)\n", runner=InProcessRunner())
    assert report.problem == SLOW


def test_an_import_is_no_slow_load() -> None:
    assert verify(LAB, f"import dataclasses, heapq, decimal, statistics\n{LAB.solution}", only=["forgets"]).passed


def test_a_typing_error_is_told_at_a_place_that_a_learner_finds() -> None:
    code = LAB.solution.replace("def forget(self, item):", "def forget(self, item)")
    start = next(at for at, line in enumerate(code.split("\n"), 1) if line.startswith("class RateLimiter"))
    wrong = next(at for at, line in enumerate(code.split("\n"), 1) if line.strip() == "def forget(self, item)")
    problem = verify(LAB, code).problem
    assert (
        problem == f"SyntaxError: expected ':' in line {wrong - start + 1} of class RateLimiter: def forget(self, item)"
    )


def test_a_magic_is_explained() -> None:
    problem = verify(LAB, f"%load_ext autoreload\n{LAB.solution}").problem
    assert "what begins with % or ! is IPython's: solution cells are plain Python" in problem


def test_a_file_with_none_of_the_names_is_told_so() -> None:
    report = verify(LAB, "x = 1\n")
    assert report.problem == "it defines no WorkQueue, no DelayingQueue, no RateLimiter"
    assert report_text(LAB, report).count("\n") == 1


def test_a_name_in_another_spelling_is_pointed_out() -> None:
    problem = verify(LAB, LAB.solution.replace("class WorkQueue:", "class Workqueue:")).problem
    assert problem.startswith("NameError: name 'WorkQueue' is not defined in line 1 of class DelayingQueue")
    assert problem.endswith("it defines no WorkQueue, but a Workqueue")


def test_of_a_half_finished_class_the_missing_method_is_named_in_the_report_and_in_the_hint() -> None:
    done = LAB.solution.index("    def done(")
    code = LAB.solution[:done] + LAB.solution[done:].replace(
        "        self.processing.discard(item)\n", "        raise NotImplementedError()\n", 1
    )
    report = verify(LAB, code)
    lines = report_text(LAB, report).split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith("✗") and "one-worker-a-key" in line)
    assert lines[at + 1].strip() == "WorkQueue.done is not written yet"
    assert hint_for(LAB, report, "one-worker-a-key", 1).startswith("WorkQueue.done is not written yet. ")


def test_the_step_that_hangs_is_the_one_marked_and_what_follows_is_a_number() -> None:
    code = LAB.solution.replace(
        "        if not self.queue:\n            return None\n", "        while not self.queue: pass\n"
    )
    text = report_text(LAB, verify(LAB, code, only=["at-most-once"], limits=Limits(seconds=0.2)))
    marked = next(line for line in text.split("\n") if "✗" in line and "get" in line)
    assert marked.split("  ")[-1].strip() == "does not end"
    assert text.count("not reached") <= 1
