"""What a learner reads when no line of theirs raised: a method that is not there, other parameters, an answer of
another type than the lab's drive can use."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.lab import InProcessRunner, Lab, Raised, find_lab, verify
from k8slab.lab.inside import hint_for
from k8slab.lab.show import answer_text, report_text
from tests.unit.lab.toy import write_toy

DRIVE = """def drive(names, setting):
    counter = names["Counter"]()

    def do(verb):
        found = getattr(counter, verb)()
        if type(found) is not int:
            raise TypeError(f"{verb}: expected a number, found {found!r}")
        return found

    return do
"""


@pytest.fixture
def toy(tmp_path: Path) -> Lab:
    folder = write_toy(tmp_path)
    (folder / "drive.py").write_text(DRIVE, encoding="utf-8")
    return Lab(folder)


def test_an_answer_of_another_type_is_told_as_the_drive_says_it(toy: Lab) -> None:
    code = toy.solution.replace("return self.value", "return self.value > 0")
    report = verify(toy, code)
    assert report.results[0].causes == ("misfit",)
    assert report.results[0].reason == "up: expected a number, found True, in 'up'"
    text = report_text(toy, report)
    assert "✗   1  up  up: expected a number, found True" in text
    assert "raised" not in text
    hint = hint_for(toy, report, "counts", 1)
    assert hint.startswith("No line of yours raised this: ") and "what it returns" in hint


def test_the_same_where_there_are_no_processes(toy: Lab) -> None:
    code = toy.solution.replace("return self.value", "return self.value > 0")
    inside, outside = (verify(toy, code, runner=runner).results[0] for runner in (InProcessRunner(), None))
    assert (inside.reason, inside.causes) == (outside.reason, outside.causes)


def test_what_a_line_of_the_solution_raises_is_told_with_the_line(toy: Lab) -> None:
    code = toy.solution.replace("self.value = self.value + 1", "self.value = self.value + 'x'")
    report = verify(toy, code)
    assert report.results[0].causes == ("raised",)
    assert report.results[0].reason.startswith("'up' raised TypeError: ")
    assert report.results[0].reason.endswith(" in Counter.up: self.value = self.value + 'x'")
    assert hint_for(toy, report, "counts", 1).startswith("Look at the line that raised")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        pytest.param(
            "def add(self, item)",
            "def put(self, item)",
            "'WorkQueue' object has no attribute 'add', in 'add a'",
            id="a method of another name",
        ),
        pytest.param(
            "def add(self, item)",
            "def add(self, item, why)",
            "WorkQueue.add() missing 1 required positional argument: 'why', in 'add a'",
            id="another parameter",
        ),
        pytest.param("class WorkQueue", "class Queue", "WorkQueue: the solution does not define it", id="no class"),
    ],
)
def test_a_call_that_does_not_fit_points_to_no_line(old: str, new: str, why: str) -> None:
    lab = find_lab("09")
    code = lab.solution.replace(old, new, 1).replace("(WorkQueue)", "(object)")
    report = verify(lab, code, only=["first-in-first-out"])
    assert report.results[0].causes == ("misfit",)
    assert report.results[0].reason.startswith(why)


def test_other_exceptions_without_a_line_keep_their_type() -> None:
    assert Raised("KeyError", "'a'").misfit == "KeyError: 'a'"
    assert Raised("TypeError", "").misfit == "TypeError"
    assert Raised("TypeError", "up: expected a number", 3, "return None", "Counter.up").misfit == ""
    assert answer_text(Raised("TypeError", "x" * 100)) == "x" * 59 + "…"
    assert answer_text(Raised("TypeError", "no", 3)) == "raised TypeError"
