"""A skip that nobody admitted fails a whole run, with and without workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)], ids=["in CI", "elsewhere"])
def test_a_run_that_skips_for_want_of_a_program_fails_in_ci(ci: str, code: int) -> None:
    test = "tests/browser/test_quiz_static.py::test_it_works_by_keyboard"
    program = (
        "import sys, pytest; from k8slab.dev import system; system.find = lambda name: None; "
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    variables = {**os.environ, "CI": ci, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", "-rs", test]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert "chromium is not installed" in done.stdout
    assert (test in done.stdout) is (ci == "true"), "the summary names the test that was skipped"


@pytest.mark.parametrize("workers", ["0", "2"])
def test_workers_report_what_they_skipped_when_they_collected_too(workers: str, tmp_path: Path) -> None:
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.skip('all', allow_module_level=True)\n")
    (tmp_path / "test_one.py").write_text("import pytest\ndef test_a(): pytest.skip('one')\ndef test_b(): pass\n")
    variables = {**os.environ, "CI": "true", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "-n", workers]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    summary = done.stdout.partition("skipped in CI")[2].splitlines()[1:3]
    assert sorted(summary) == ["test_one.py::test_a", "test_whole.py"], done.stdout + done.stderr
