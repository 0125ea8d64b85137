"""A lab passed in its notebook is in the reader's progress: at once, or check by check with the newest cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.lab import InProcessRunner, Lab
from k8slab.lab.inside import NBGRADER, Checker, CheckFailed
from k8slab.progress import Progress
from tests.unit.lab.toy import SECOND, SOLUTION, write_toy

WRONG = SOLUTION.replace("if self.value > 0:", "if True:")
ONLY_UP = """
        Check("climbs", "It climbs", 1, right, {"up": "up; up"}, lambda rng: [("up",)], {"": ["Look at one step."]}),
    ),
)
"""
PASSED = [("lab", "77-counter", "passed, 2 of 2 points")]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("K8SLAB_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


class Notebook:
    """Cells that were executed, and the checks of a lab that has two: `counts`, and `climbs`, which is easier."""

    def __init__(self, folder: Path) -> None:
        lab = write_toy(folder)
        text = (lab / "checks.py").read_text(encoding="utf-8")
        (lab / "checks.py").write_text(text.removesuffix("    ),\n)\n") + ONLY_UP, encoding="utf-8")
        self.cells: list[str] = []
        self.check = Checker(Lab(lab), runner=InProcessRunner(), cells=lambda: self.cells)


@pytest.fixture
def notebook(tmp_path: Path, home: Path) -> Notebook:
    return Notebook(tmp_path)


def kept() -> list[tuple[str, ...]]:
    return [tuple(row[:3]) for row in Progress().summary().rows]


def test_all_checks_at_once(notebook: Notebook) -> None:
    notebook.cells.append(SOLUTION)
    notebook.check()
    assert kept() == PASSED


def test_one_check_after_the_other(notebook: Notebook) -> None:
    notebook.cells.append(SOLUTION)
    notebook.check("counts")
    assert kept() == []
    notebook.check("climbs")
    assert kept() == PASSED


def test_a_check_that_passed_before_the_cell_was_changed_has_to_pass_again(notebook: Notebook) -> None:
    notebook.cells.append(WRONG)
    notebook.check("climbs")
    with pytest.raises(CheckFailed):
        notebook.check("counts", stepper=False)
    notebook.cells.append(SECOND)
    notebook.check("counts")
    assert kept() == [], "climbs passed with the wrong one"
    notebook.check("climbs")
    assert kept() == PASSED


def test_what_fails_is_not_recorded(notebook: Notebook) -> None:
    notebook.cells.append(WRONG)
    with pytest.raises(CheckFailed):
        notebook.check()
    assert kept() == []


def test_what_nbgrader_runs_is_not_the_teachers_progress(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NBGRADER, "autograde")
    notebook.cells.append(SOLUTION)
    notebook.check()
    assert kept() == []


def test_a_home_that_cannot_be_written_does_not_break_the_notebook(
    notebook: Notebook, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.write_text("a file where the folder should be")
    notebook.cells.append(SOLUTION)
    notebook.check()
    notebook.check("climbs")
    out, err = capsys.readouterr()
    assert "2 of 2 points" in out
    assert err.count("progress is not kept") == 1
