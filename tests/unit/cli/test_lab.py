"""`k8slab lab` and `k8slab grade` from the shell: a student's and a teacher's way through."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from k8slab.lab import find_lab
from k8slab.lab.source import solution_cells, source, with_solution
from k8slab.lab.work import write_notebook

LAB = find_lab("09")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def solve(path: Path) -> None:
    write_notebook(path, with_solution(LAB.starter, [source(cell) for cell in solution_cells(LAB.notebook)]))


def test_a_students_way(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert "09-workqueue" in k8slab("lab", "list").out
    assert k8slab("lab", "start", "09").code == 0
    path = tmp_path / "09-workqueue" / "09-workqueue.ipynb"
    assert "BEGIN SOLUTION" not in path.read_text() and "YOUR CODE HERE" in path.read_text()
    first = k8slab("lab", "verify", "09")
    assert first.code == 1 and "0 of 16 points" in first.out and "WorkQueue.__init__ is not written yet" in first.out
    again = k8slab("lab", "start", "09")
    assert again.code == 1 and "is there already" in again.err
    hint = k8slab("lab", "hint", "workqueue")
    assert hint.code == 0 and "is not written yet. Write it" in hint.out
    assert k8slab("lab", "solution", "09").code == 1
    assert "self.processing" in k8slab("lab", "solution", "09", "--yes").out
    solve(path)
    done = k8slab("lab", "verify", "9")
    assert done.code == 0 and "16 of 16 points" in done.out
    assert "every check passes" in k8slab("lab", "hint", "09").out
    assert k8slab("lab", "submit", "09", "--student", "ann").code == 0
    assert json.loads((tmp_path / "ann.ipynb").read_text())["metadata"]["k8slab"]["student"] == "ann"
    assert k8slab("lab", "reset", "09").code == 0
    assert "YOUR CODE HERE" in path.read_text()
    assert "self.processing" in path.with_name("09-workqueue.before-reset-1.ipynb").read_text()


def test_hints_climb(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    bad = tmp_path / "mine.py"
    bad.write_text(next(m.code for m in LAB.mutants() if m.name == "lost-re-add"))
    rungs = [k8slab("lab", "hint", "09", str(bad), "--check", "nothing-lost").out for _ in range(4)]
    assert ["hint 1 of 3" in rungs[0], "hint 2 of 3" in rungs[1], "hint 3 of 3" in rungs[2]] == [True] * 3
    assert rungs[3] == rungs[2]


def test_one_schedule_again(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    bad = tmp_path / "mine.py"
    bad.write_text(next(m.code for m in LAB.mutants() if m.name == "parallel-processing"))
    script = "add a; get worker-1; add a; get worker-2"
    found = k8slab("lab", "verify", "09", str(bad), "--check", "one-worker-a-key", "--replay", script)
    assert found.code == 1
    assert found.out.splitlines()[-1] == "worker-1 still works on a, and worker-2 was given it too"
    assert "✗   4  get worker-2  a" in found.out
    right = tmp_path / "right.py"
    right.write_text(LAB.solution)
    found = k8slab("lab", "verify", "09", str(right), "--check", "one-worker-a-key", "--replay", script)
    assert (found.code, found.out.splitlines()[-1]) == (0, "the property holds in this schedule")


def test_a_helper_in_a_cell_of_the_learners_own_is_named(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    solve(tmp_path / "09-workqueue.ipynb")
    path = tmp_path / "09-workqueue.ipynb"
    notebook = json.loads(path.read_text())
    own = {"cell_type": "code", "id": "mine", "metadata": {}, "source": "import heapq", "outputs": []}
    notebook["cells"].insert(0, own)
    cell = solution_cells(notebook)[0]
    cell["source"] = source(cell).replace("self.queue = []", "self.queue = heapq.nsmallest(0, [])")
    path.write_text(json.dumps(notebook))
    said = "`heapq` is defined in another cell; only the cells given in the lab count: move it into the cell of "
    assert f"{said}`WorkQueue`" in k8slab("lab", "verify", "09").out
    script = ["--check", "first-in-first-out", "--replay", "get worker-1"]
    assert f"{said}`WorkQueue`" in k8slab("lab", "verify", "09", *script).out


def test_progress_keeps_the_best_points_of_whole_verifications(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    def told() -> str:
        return " ".join(k8slab("progress").out.splitlines()[-1].split()[:-1])

    mine = tmp_path / "mine.py"
    mine.write_text(next(m.code for m in LAB.mutants() if m.name == "lost-re-add"))
    found = k8slab("lab", "verify", "09", str(mine))
    points = found.out.partition(" of 16 points")[0].split()[-1]
    assert found.code == 1 and 0 < int(points) < 16
    assert told() == f"lab 09-workqueue {points} of 16 points"
    for one in ("verify", "watch"):
        assert k8slab("lab", one, "09", str(mine), "--check", "first-in-first-out").code == 0
        assert told() == f"lab 09-workqueue {points} of 16 points", "one check is not the lab"
    right = tmp_path / "right.py"
    right.write_text(LAB.solution)
    assert k8slab("lab", "verify", "09", str(right)).code == 0
    assert told() == "lab 09-workqueue passed, 16 of 16 points"
    assert k8slab("lab", "verify", "09", str(mine)).code == 1
    assert told() == "lab 09-workqueue passed, 16 of 16 points"


def test_what_can_be_handed_in_is_said_before_a_python_file_is_refused(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    started = k8slab("lab", "start", "09").out.splitlines()
    assert started[-1] == "a Python file can be verified, too, but only the notebook can be handed in"
    for verb, takes in {"submit": False, "reset": False, "verify": True, "watch": True, "hint": True}.items():
        said = " ".join(k8slab("lab", verb, "--help").out.split())
        assert ("notebook, Python file or folder" in said) is takes
    assert "A Python file cannot be handed in" in " ".join(k8slab("lab", "submit", "--help").out.split())


def test_help_tells_the_exit_codes(k8slab) -> None:  # type: ignore[no-untyped-def]
    said = " ".join(k8slab("lab", "verify", "--help").out.split())
    assert "0 every check passes, 1 one does not" in said and "2 wrong usage: an unknown lab, check or option" in said


def test_start_tells_what_opens_the_notebook(k8slab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """The JupyterLab of this environment has k8slab; that of `make jupyter` lists only what lies in the clone."""
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "bin" / name))
    told = k8slab("lab", "start", "09", "--to", "first").out
    assert "open it: in JupyterLab, which comes with pip install 'k8slab[book]'" in told
    program = tmp_path / "bin" / "scripts" / "jupyter-lab"
    program.parent.mkdir(parents=True)
    program.touch()
    told = k8slab("lab", "start", "09", "--to", "my labs").out
    assert "open it: bin/scripts/jupyter-lab 'my labs/09-workqueue.ipynb'\n" in told
    assert "then: k8slab lab verify 09-workqueue 'my labs/09-workqueue.ipynb'\n" in told


def test_an_error_of_ours_is_not_taken_for_a_wrong_name(k8slab, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def broken() -> None:
        raise KeyError("a mistake in the package")

    monkeypatch.setattr("k8slab.lab.labs", broken)
    with pytest.raises(KeyError, match="a mistake in the package"):
        k8slab("lab", "list")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["lab", "verify", "99"], 2, "09-workqueue", id="no such lab"),
        pytest.param(["lab", "verify", "09"], 1, "begin with: k8slab lab start", id="not started"),
        pytest.param(["lab", "verify", "09", "nothing.py"], 1, "expected your notebook", id="no such file"),
        pytest.param(
            ["lab", "verify", "09", "x.py", "--check", "nix"], 2, "expected one of first-in", id="no such check"
        ),
        pytest.param(
            ["lab", "verify", "09", "x.py", "--replay", "add a"], 2, "--check with the name", id="which check"
        ),
        pytest.param(
            ["lab", "verify", "09", "x.py", "--check", "forgets", "--replay", ";"], 1, "expected operations", id="empty"
        ),
        pytest.param(
            ["lab", "verify", "09", "x.py", "--check", "forgets", "--replay", "when a b"],
            1,
            "--replay: 'when a b': when takes words as in 'when a'",
            id="too many words",
        ),
        pytest.param(
            ["lab", "verify", "09", "x.py", "--check", "earliest-wins", "--replay", "later a soon"],
            1,
            "--replay: 'later a soon': later takes words as in 'later ",
            id="no number",
        ),
        pytest.param(
            ["lab", "verify", "09", "x.py", "--check", "backs-off", "--replay", "when a; forget a; when a"],
            1,
            "--replay: backs-off cannot judge this schedule: at 'when a' it accuses the lab's own solution, too",
            id="not for this check",
        ),
        pytest.param(["lab"], 2, "", id="no verb"),
        pytest.param(["lab", "verify", "09", "--check", "forgets"], 1, "begin with: k8slab lab start", id="no file"),
        pytest.param(
            ["lab", "verify", "09", "--check", "forgets", "x.py", "y.py"],
            2,
            "k8slab lab verify: error: unrecognized arguments: y.py",
            id="too many files",
        ),
        pytest.param(["lab", "verify", "--seed", "1"], 2, "usage: k8slab lab verify", id="verify what"),
        pytest.param(["grade", "nowhere", "--lab", "09"], 1, "expected a folder", id="no folder"),
        pytest.param(["grade", ".", "--lab", "99"], 2, "expected one of", id="no lab to grade"),
        pytest.param(["grade", ".", "--lab", "09", "--jobs", "0"], 2, "expected 1 or more", id="no jobs"),
    ],
)
def test_wrong_commands(arguments: list[str], code: int, said: str, k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "x.py").write_text(LAB.solution)
    found = k8slab(*arguments)
    assert found.code == code
    assert said in found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize(
    "arguments",
    [["09", "x.py", "--check", "forgets"], ["--check", "forgets", "09", "x.py"], ["09", "--check", "forgets", "x.py"]],
    ids=["after the file", "before the lab", "between them"],
)
def test_options_stand_anywhere(arguments: list[str], k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "x.py").write_text(LAB.solution)
    found = k8slab("lab", "verify", *arguments)
    assert found.code == 0, found.err
    assert "forgets" in found.out and "backs-off" not in found.out


def test_a_schedule_with_unknown_operations_is_no_traceback(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "x.py").write_text(LAB.solution)
    found = k8slab("lab", "verify", "09", "x.py", "--check", "nothing-lost", "--replay", "jump a; get worker-1")
    assert (found.code, found.out) == (1, "")
    assert "'jump': expected one of add, get, done" in found.err


def test_nobodys_file_is_lost(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    mine = tmp_path / "mine.py"
    mine.write_text(LAB.solution)
    refused = k8slab("lab", "reset", "09", str(mine))
    assert refused.code == 1 and mine.read_text() == LAB.solution
    assert "hand in the notebook" in k8slab("lab", "submit", "09", str(mine), "--student", "ann").err
    solve(tmp_path / "09-workqueue.ipynb")
    (tmp_path / "ann.ipynb").write_text("something else")
    refused = k8slab("lab", "submit", "09", "--student", "ann")
    assert refused.code == 1 and (tmp_path / "ann.ipynb").read_text() == "something else"
    assert k8slab("lab", "submit", "09", "--student", "bob").code == 0
    assert k8slab("lab", "submit", "09", "--student", "bob").code == 0, "a newer one of the same takes its place"
    refused = k8slab("lab", "submit", "05", "09-workqueue.ipynb", "--student", "eve")
    assert refused.code == 1 and "is no notebook of 05-optimistic-concurrency" in refused.err
    assert (
        "expected a folder that exists" in k8slab("lab", "submit", "09", "--student", "ann", "--to", "no/x.ipynb").err
    )


def test_watch_verifies_again_when_the_file_is_saved(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    mine = tmp_path / "mine.py"
    mine.write_text("class WorkQueue: pass\n")

    def later() -> None:
        time.sleep(1.5)
        mine.write_text(LAB.solution)

    saver = threading.Thread(target=later)
    saver.start()
    found = k8slab("lab", "watch", "09", str(mine), "--check", "first-in-first-out")
    saver.join()
    assert found.code == 0
    assert "✗  0/1  first" in found.out and "✓  1/1  first" in found.out


def test_a_teachers_way(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "in"
    folder.mkdir()
    solve(folder / "ann.ipynb")
    write_notebook(folder / "ben.ipynb", LAB.starter)
    (tmp_path / "roster.csv").write_text("student\nann\nben\nzoe\n")
    found = k8slab("grade", "in", "--lab", "09", "--roster", "roster.csv", "--jobs", "2")
    assert found.code == 1, "zoe is missing"
    assert "zoe" in found.out and "no submission" in found.out
    assert (tmp_path / "graded" / "gradebook.csv").exists()
    assert (tmp_path / "graded" / "feedback" / "ben.ipynb").exists()


def test_what_a_teacher_gets_wrong_is_told(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "in").mkdir()
    solve(tmp_path / "in" / "ann.ipynb")
    (tmp_path / "roster.csv").write_text("name,login\nAnn A,ann\n")
    found = k8slab("grade", "in", "--lab", "09", "--jobs", "1", "--seed", "7", "--roster", "roster.csv")
    assert "graded/gradebook.csv: 2 students, hidden cases by --seed 7" in found.out
    assert "nobody of it, such as 'Ann A', handed in, but 'ann' did: is it the right column?" in found.err
    again = k8slab("grade", "in", "--lab", "09", "--jobs", "1")
    assert (again.code, again.err) == (0, "")
    assert "hidden cases by --seed 7" in again.out, "as the last time"
    unknown = k8slab("grade", "in", "--lab", "09", "--regrade", "nosuch")
    assert (unknown.code, unknown.out) == (2, "")
    assert "regrade 'nosuch': expected a student with a submission in in: ann" in unknown.err
    other = k8slab("grade", "in", "--lab", "05")
    assert other.code == 2 and "holds the results of 09-workqueue" in other.err


@pytest.mark.parametrize("out", ["in", "in/../in", "."], ids=["the same", "the same by a detour", "the one above"])
def test_results_do_not_go_among_the_submissions(k8slab, tmp_path: Path, out: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "in").mkdir()
    write_notebook(tmp_path / "in" / "ann.ipynb", LAB.starter)
    before = sorted(tmp_path.rglob("*"))
    found = k8slab("grade", "in", "--lab", "09", "--jobs", "1", "--out", out)
    says = f"k8slab: {Path(out)}: the submissions lie there: expected another folder for the results\n"
    assert found == (2, "", says)
    assert sorted(tmp_path.rglob("*")) == before
    assert k8slab("grade", "in", "--lab", "09", "--jobs", "1", "--out", "in/graded").code == 0


def test_one_seed_is_remembered(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "in").mkdir()
    solve(tmp_path / "in" / "ann.ipynb")
    (tmp_path / "in" / "ben.py").write_text("pass\n")
    first = k8slab("grade", "in", "--lab", "09", "--jobs", "1", "--seed", "7", "--one-seed")
    assert "1 students, hidden cases by --seed 7 --one-seed" in first.out
    assert first.err == "k8slab grade: left out: ben.py: no notebook (.ipynb)\n"
    again = k8slab("grade", "in", "--lab", "09", "--jobs", "1")
    assert again.code == 0 and again.out == first.out
    k8slab("grade", "in", "--lab", "09", "--jobs", "1", "--out", "each")
    refused = k8slab("grade", "in", "--lab", "09", "--jobs", "1", "--out", "each", "--one-seed")
    assert (refused.code, refused.out) == (2, "")
    assert "each: was graded with hidden cases of their own for each student; for cases the same" in refused.err


def test_what_nobody_could_use_again_is_refused(k8slab, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "in").mkdir()
    solve(tmp_path / "in" / "ann.ipynb")
    for seed in ("a\nb", "", " a", "x" * 65):
        found = k8slab("grade", "in", "--lab", "09", "--seed", seed)
        assert found.code == 1 and "expected 1 to 64 printable characters" in found.err
    endless = k8slab("grade", "in", "--lab", "09", "--roster", "/dev/zero")
    assert endless.code == 1 and "expected a plain file of at most 10 MB" in endless.err
    assert not (tmp_path / "graded" / "seed.txt").exists()
    long = k8slab("lab", "submit", "09", "in/ann.ipynb", "--student", "a" * 400)
    assert long.code == 1 and "expected a name that can be a file's" in long.err
    (tmp_path / "deep.json").write_text("[" * 100_000)
    deep = k8slab("progress", "--import", "deep.json")
    assert deep.code == 1 and "deep.json: not JSON" in deep.err
