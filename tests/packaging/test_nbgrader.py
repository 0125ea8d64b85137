"""nbgrader, in an environment of its own, cuts the same student version from a lab's source and grades the same way."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from k8slab.lab import find_lab, verify
from k8slab.lab.source import grading, solution_cells, source, with_solution

ROOT = Path(__file__).resolve().parents[2]
LAB = find_lab("09")
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "k8slab"
c.ExecutePreprocessor.timeout = 120
"""


class Course:
    """A course folder, and nbgrader in an environment of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        uv = Path(sys.executable).parent / "uv"
        self.run(uv, "venv", "-q", "env", "--python", sys.executable)
        install = [uv, "pip", "install", "-q", "--python", self.python]
        self.run(*install, "--require-hashes", "-r", ROOT / "requirements" / "nbgrader.txt")
        self.run(*install, "--no-deps", ROOT)
        (folder / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")

    def run(self, *command: str | Path) -> None:
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        variables = {**os.environ, "PATH": path, "JUPYTER_PREFER_ENV_PATH": "1"}
        done = subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"

    def nbgrader(self, *arguments: str) -> None:
        self.run(self.python, "-m", "nbgrader", *arguments)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = Course(tmp_path_factory.mktemp("nbgrader"))
    (made.folder / "source" / "lab").mkdir(parents=True)
    shutil.copy(LAB.folder / f"{LAB.name}.ipynb", made.folder / "source" / "lab")
    made.nbgrader("generate_assignment", "lab", "--create")
    return made


def sources(notebook: dict[str, Any]) -> list[str]:
    return [source(cell) for cell in notebook["cells"]]


def test_the_student_version_is_the_starter_that_we_cut(course: Course) -> None:
    released = json.loads((course.folder / "release" / "lab" / f"{LAB.name}.ipynb").read_text(encoding="utf-8"))
    assert sources(released) == sources(LAB.starter)


def test_the_points_are_the_same(course: Course) -> None:
    """The solution, the starter, and a queue that hands a key to two workers."""
    folder = course.folder
    parallel = next(m.code for m in LAB.mutants() if m.name == "parallel-processing")
    rest = [source(cell) for cell in solution_cells(LAB.notebook)][1:]
    first = parallel[: parallel.index("class DelayingQueue")]
    handed_in = {
        "ann": LAB.notebook,
        "ben": LAB.starter,
        "eve": with_solution(LAB.starter, [first, *rest]),
    }
    for student, notebook in handed_in.items():
        place = folder / "submitted" / student / "lab"
        place.mkdir(parents=True)
        (place / f"{LAB.name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    course.nbgrader("autograde", "lab", "--create")
    course.nbgrader("export")
    with (folder / "grades.csv").open(encoding="utf-8") as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    ours = {"ann": LAB.solution, "ben": LAB.starter_code, "eve": parallel}
    assert scores == {student: verify(LAB, code).points for student, code in ours.items()}
    assert scores["ann"] == LAB.spec.points
    graded = json.loads((folder / "source" / "lab" / f"{LAB.name}.ipynb").read_text(encoding="utf-8"))
    points = [grading(cell)["points"] for cell in graded["cells"] if grading(cell).get("grade")]
    assert sum(points) == LAB.spec.points == 16
