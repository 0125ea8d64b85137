"""How long labs take: a verification, a class of a hundred. Goals: < 1 s, < 60 s.

python -m pytest tests/benchmarks/test_labs.py --benchmark-only
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from k8slab.lab import Lab, find_lab, labs, verify
from k8slab.lab.grade import grade_folder
from k8slab.lab.source import with_solution
from k8slab.lab.work import write_notebook
from tests.counts import SOAK

CLASS = 100 if SOAK else 10


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_verifying_a_solution(lab: Lab, benchmark: Any) -> None:
    assert benchmark.pedantic(lambda: verify(lab, lab.solution), rounds=5).passed
    benchmark.extra_info["checks"] = len(lab.spec.checks)


def test_grading_a_class(tmp_path: Path, benchmark: Any) -> None:
    """Two in three are right, the others mutants; with an executed notebook for each."""
    lab = find_lab("09")
    wrong = [mutant.code for mutant in lab.mutants()]
    (tmp_path / "in").mkdir()
    for number in range(CLASS):
        code = lab.solution if number % 3 else wrong[number % len(wrong)]
        notebook = with_solution(lab.starter, [code, "pass", "pass"])
        write_notebook(tmp_path / "in" / f"student-{number:03}.ipynb", notebook)
    book = benchmark.pedantic(lambda: grade_folder(lab, tmp_path / "in", out=tmp_path / "out"), rounds=1)
    assert len(book.rows) == CLASS
    benchmark.extra_info["submissions"] = CLASS
