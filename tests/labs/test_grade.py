"""Grading a folder: who counts, what counts, what is written; any executor; again only what changed."""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import papermill
import pytest

from k8slab.lab import LabError, Script, find_lab
from k8slab.lab.grade import Gradebook, grade_folder, grade_one
from k8slab.lab.runner import RunnerError
from k8slab.lab.source import grading, solution_cells, source, with_solution
from k8slab.lab.submissions import OtherResultsError, UnknownStudentError, find_submissions, read_roster
from k8slab.lab.verify import HIDDEN_NOTE
from k8slab.lab.work import submit, write_notebook
from tests.unit.lab.hostile import with_line

LAB = find_lab("09")


def notebook(code: str = "") -> dict[str, Any]:
    """A submission whose first solution cell holds `code`, the others the solution."""
    parts = [source(cell) for cell in solution_cells(LAB.notebook)]
    return with_solution(LAB.starter, [code, "pass", "pass"] if code else parts)


def hand_in(folder: Path, student: str, code: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{student}.ipynb"
    write_notebook(path, notebook(code))
    return path


class Here(Executor):
    """Works at once, in this thread; counts."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        json.dumps(args)  # names and plain data alone: another machine could do it
        assert all(Path(args[n]).is_absolute() for n in (0, 1, 4) if args[n]), "it may stand elsewhere"
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def graded(folder: Path, **options: Any) -> Gradebook:
    return grade_folder(LAB, folder, executor=options.pop("executor", Here()), **options)


def row(book: Gradebook, student: str) -> dict[str, Any]:
    return next(row for row in book.rows if row["student"] == student)


def test_a_right_and_a_wrong_submission(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    wrong = LAB.solution.replace("self.queue.pop(0)", "self.queue.pop()")
    hand_in(tmp_path / "in", "ben", wrong)
    book = graded(tmp_path / "in", out=tmp_path / "out")
    assert row(book, "ann")["points"] == 16
    assert row(book, "ann")["public"][0] == row(book, "ann")["public"][1]
    ben = row(book, "ben")
    assert ben["checks"]["first-in-first-out"]["points"] == 0
    assert "came out" in ben["checks"]["first-in-first-out"]["reason"]
    assert ben["checks"]["one-worker-a-key"]["points"] == 2
    assert 0 < ben["points"] < 16


def test_the_gradebook_says_it_in_csv_and_json(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    graded(tmp_path / "in", out=tmp_path / "out", roster=["ann", "zoe"])
    lines = list(csv.DictReader(io.StringIO((tmp_path / "out" / "gradebook.csv").read_text())))
    assert [(line["student"], line["status"], line["points"]) for line in lines] == [
        ("ann", "graded", "16"),
        ("zoe", "no submission", "0"),
    ]
    assert lines[0]["public"] == "77/77" and lines[0]["hidden"] == "120/120"
    found = json.loads((tmp_path / "out" / "gradebook.json").read_text())
    assert found["possible"] == 16
    assert found["students"][0]["checks"]["forgets"] == {
        "points": 2, "possible": 2, "public": [6, 6], "hidden": [10, 10], "reason": "",
    }  # fmt: skip


def test_the_student_gets_an_executed_notebook(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann", LAB.solution.replace("self.queue.pop(0)", "self.queue.pop()"))
    graded(tmp_path / "in", out=tmp_path / "out")
    done = json.loads((tmp_path / "out" / "feedback" / "ann.ipynb").read_text())
    outputs = {
        grading(cell).get("grade_id"): "".join(cell["outputs"][0]["text"])
        for cell in done["cells"]
        if cell["cell_type"] == "code" and cell["outputs"]
    }
    assert outputs["check-first-in-first-out"].startswith("✗  0/1  first-in-first-out")
    assert outputs["check-one-worker-a-key"].startswith("✓  2/2  one-worker-a-key")
    injected = [c for c in done["cells"] if "injected-parameters" in c["metadata"].get("tags", [])]
    assert "ann" in "".join(injected[0]["source"])
    assert done["metadata"]["papermill"]["exception"] is None


def test_edited_checks_and_added_cells_change_nothing(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "eve", LAB.solution.replace("self.queue.pop(0)", "self.queue.pop()"))
    theirs = json.loads(path.read_text())
    for cell in theirs["cells"]:
        if grading(cell).get("grade"):
            cell["source"] = "print('16 of 16 points')"
            cell["metadata"]["nbgrader"]["points"] = 100
    extra = {"grade_id": "mine", "solution": True, "grade": False, "schema_version": 3}
    theirs["cells"].append(
        {"cell_type": "code", "source": LAB.solution, "metadata": {"nbgrader": extra}, "outputs": [], "id": "x"}
    )
    path.write_text(json.dumps(theirs))
    assert row(graded(tmp_path), "eve")["checks"]["first-in-first-out"]["points"] == 0


def test_a_deleted_solution_cell_counts_as_not_written(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "dan")
    theirs = json.loads(path.read_text())
    theirs["cells"] = [cell for cell in theirs["cells"] if grading(cell).get("grade_id") != "rate-limiter"]
    path.write_text(json.dumps(theirs))
    found = row(graded(tmp_path), "dan")
    assert found["points"] == 13
    assert "not written yet" in found["checks"]["backs-off"]["reason"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param("no json", "is no notebook", id="not JSON"),
        pytest.param("[]", "is no notebook", id="not an object"),
        pytest.param('{"cells": [1]}', "every cell should be an object", id="odd cells"),
        pytest.param('{"cells": "x"}', "is no notebook", id="no list"),
        pytest.param("[" * 100_000, "is no notebook", id="nested without end"),
        pytest.param("x" * (11 << 20), "a plain file of at most 10 MB", id="huge"),
    ],
)
def test_a_file_that_is_no_notebook_is_told(content: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "fay.ipynb").write_text(content)
    hand_in(tmp_path, "ann")
    book = graded(tmp_path)
    assert row(book, "fay")["status"] == "unreadable"
    assert why in row(book, "fay")["notes"][0]
    assert row(book, "ann")["points"] == 16


def test_of_two_submissions_the_newest_counts(tmp_path: Path) -> None:
    for number, name in enumerate(["first.ipynb", "second.ipynb"]):
        (tmp_path / "gus").mkdir(exist_ok=True)
        path = tmp_path / "gus" / name
        write_notebook(path, notebook("" if number else LAB.starter_code))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    found = row(graded(tmp_path), "gus")
    assert found["points"] == 16
    assert found["notes"] == ["the newest of 2 counts; older: gus/first.ipynb"]


def test_what_submit_wrote_names_its_student_and_time(tmp_path: Path) -> None:
    hand_in(tmp_path, "work")
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    submit(LAB, tmp_path / "work.ipynb", "hal", inbox)
    (inbox / "hal.ipynb").rename(inbox / "upload-17.ipynb")
    assert [one.student for one in find_submissions(inbox).submissions] == ["hal"]
    for bad in ("", "../x", "a/b", ".hidden"):
        with pytest.raises(LabError, match="expected a name"):
            submit(LAB, tmp_path / "work.ipynb", bad, inbox)


def test_nothing_is_graded_twice_unless_asked(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    hand_in(tmp_path / "in", "ben")

    def calls(**options: Any) -> int:
        here = Here()
        graded(tmp_path / "in", out=tmp_path / "out", executor=here, **options)
        return here.calls

    assert calls() == 2
    assert calls() == 0
    assert calls(regrade=["ben"]) == 1
    assert calls(regrade=None) == 2
    hand_in(tmp_path / "in", "ann", LAB.starter_code)
    assert calls() == 1
    assert calls(seed="other") == 2
    (tmp_path / "out" / "results" / "ann.json").write_text("{half")
    assert calls(seed="other") == 1


def test_seeds_are_each_students_own(tmp_path: Path) -> None:
    hand_in(tmp_path, "ann")
    hand_in(tmp_path, "ben")
    assert [one["seed"] for one in graded(tmp_path, seed="7").rows] == ["7/ann", "7/ben"]
    assert [one["seed"] for one in graded(tmp_path, seed="7", per_student=False).rows] == ["7", "7"]


def test_any_executor_gives_the_same_book(tmp_path: Path) -> None:
    for student in ("ann", "ben"):
        hand_in(tmp_path, student, LAB.starter_code if student == "ben" else "")
    here = graded(tmp_path, seed="7")
    with ThreadPoolExecutor(2) as threads:
        assert graded(tmp_path, executor=threads, seed="7") == here
    assert grade_folder(LAB, tmp_path, jobs=2, seed="7") == here


def test_a_cheat_reaches_neither_the_gradebook_nor_the_others(tmp_path: Path) -> None:
    """It looks for gradebooks from where it runs, and beside its notebook."""
    out = tmp_path / "out"
    trick = f"import os\ntry: os.listdir({str(tmp_path / 'in')!r})\nexcept PermissionError: pass\n"
    trick += f"open({str(out / 'gradebook.csv')!r}, 'w').write('mallory,16')"
    hand_in(tmp_path / "in", "ann")
    hand_in(tmp_path / "in", "mallory", with_line("add", trick))
    graded(tmp_path / "in", out=out)
    book = graded(tmp_path / "in", out=out, regrade=None)
    assert row(book, "ann")["points"] == 16
    assert row(book, "mallory")["points"] < 16
    assert row(book, "mallory")["notes"] == ["listing a folder that is not its own", "writing a file"]


def test_spreadsheets_take_no_formula_from_a_student(tmp_path: Path) -> None:
    hand_in(tmp_path, "=cmd()")
    lines = graded(tmp_path).to_csv().splitlines()
    assert lines[1].startswith("'=cmd()")


def test_names_of_files_stay_in_their_folder(tmp_path: Path) -> None:
    path = hand_in(tmp_path / "in", "x")
    theirs = json.loads(path.read_text())
    theirs["metadata"]["k8slab"] = {"student": "../../escaped"}
    path.write_text(json.dumps(theirs))
    graded(tmp_path / "in", out=tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out"]
    assert len(list((tmp_path / "out" / "results").iterdir())) == 1


def test_rosters(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("name,student\nAnn A,ann\nBen B,ben\n\n")
    assert read_roster(path) == ["ann", "ben"]
    path.write_text("ann\nben\n")
    assert read_roster(path) == ["ann", "ben"]
    with pytest.raises(LabError, match="cannot be read as a roster: No such file"):
        read_roster(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("content", "students"),
    [
        pytest.param(b"Name,Email\nann,a@x.org\nben,b@x.org\n", ["ann", "ben"], id="a name and a mail"),
        pytest.param(b"mail;student\na@x.org;ann\nb@x.org;ben\n", ["ann", "ben"], id="semicolons"),
        pytest.param(b"student;mail\nLee, Ann;a@x.org\n", ["Lee, Ann"], id="semicolons around commas"),
        pytest.param(b'"Lee, Ann",a@x.org\n"Ray, Ben",b@x.org\n', ["Lee, Ann", "Ray, Ben"], id="commas in quotes"),
        pytest.param(b"Email\tLogin\na@x.org\tann\n", ["ann"], id="tabs"),
        pytest.param(b"\xef\xbb\xbfstudent\r\nann\r\n\r\nben\r\n", ["ann", "ben"], id="as Windows writes it"),
        pytest.param(b"ann\nben\nann\n", ["ann", "ben"], id="a line that is there twice"),
        pytest.param("student\nZoe\u0301\n".encode(), ["Zo\u00e9"], id="an accent of its own"),
        pytest.param(b" ann , x\n;,\nben,y\n", ["ann", ";", "ben"], id="spaces"),
    ],
)
def test_rosters_are_read_as_programs_write_them(content: bytes, students: list[str], tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(content)
    assert read_roster(path) == students


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"\xff\xfea\x00", "expected UTF-8, save it as such", id="UTF-16"),
        pytest.param(b"\n\n", "expected a line for each student", id="empty"),
        pytest.param(b"name,student\nAnn A,\n", "line 2: expected a name in column 2, found ''", id="no name"),
        pytest.param(b"name,student\nAnn A\n", "line 2: expected a name in column 2, found ''", id="a short line"),
        pytest.param(b"name,mail\nann,a\nann,b\n", "line 3: ann is there already", id="two of one name"),
        pytest.param(b'"ann\nben\ncid\n', "expected a name in column 1, found 'ann.nben", id="an open quotation"),
    ],
)
def test_a_roster_that_cannot_be_used_says_why(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(content)
    with pytest.raises(LabError, match=why):
        read_roster(path)


def test_names_are_the_same_however_their_accents_are_written(tmp_path: Path) -> None:
    apart, whole = "Zoe\u0301", "Zo\u00e9"
    hand_in(tmp_path / "in", apart)
    book = graded(tmp_path / "in", out=tmp_path / "out", roster=[whole])
    assert [(one["student"], one["points"], one["notes"]) for one in book.rows] == [(whole, 16, [])]
    here = Here()
    graded(tmp_path / "in", out=tmp_path / "out", roster=[apart], regrade=[apart], executor=here)
    assert here.calls == 1


def test_a_notebook_that_begins_with_a_mark_is_read(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ann")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert row(graded(tmp_path), "ann")["points"] == 16


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_in(tmp_path, "ann")
    path = hand_in(tmp_path, "ben")
    original = Path.open

    def refusing(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refusing)
    book = graded(tmp_path)
    assert row(book, "ann")["points"] == 16
    assert row(book, "ben")["status"] == "unreadable"
    assert "cannot be read: Permission denied" in row(book, "ben")["notes"][0]


def test_only_who_is_there_is_graded_again(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    with pytest.raises(UnknownStudentError, match=r"regrade 'nosuch': expected a student with a submission in .*: ann"):
        graded(tmp_path / "in", out=tmp_path / "out", regrade=["ann", "nosuch"])


# -- the seed, and what is left of earlier runs -------------------------------------------------------


def test_hidden_cases_are_nobodys_guess_and_stay(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann", LAB.starter_code)
    first = graded(tmp_path / "in", out=tmp_path / "out")
    other = graded(tmp_path / "in", out=tmp_path / "other")
    assert len(first.seed) == 16 and first.seed != other.seed
    assert row(first, "ann")["seed"] == f"{first.seed}/ann"
    assert json.loads((tmp_path / "out" / "gradebook.json").read_text())["seed"] == first.seed
    assert graded(tmp_path / "in", out=tmp_path / "out", regrade=None) == first
    assert graded(tmp_path / "in", out=tmp_path / "out", seed="mine").seed == "mine"
    assert graded(tmp_path / "in", out=tmp_path / "out").seed == "mine", "kept for the next time"
    (tmp_path / "out" / "seed.txt").write_bytes(b"\xff")
    with pytest.raises(LabError, match="expected the seed of the hidden cases"):
        graded(tmp_path / "in", out=tmp_path / "out")


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    hand_in(tmp_path / "in", "ben", LAB.starter_code)

    def files(name: str) -> dict[str, bytes]:
        graded(tmp_path / "in", out=tmp_path / name, seed="7")
        return {str(p.relative_to(tmp_path / name)): p.read_bytes() for p in (tmp_path / name).rglob("*.*")}

    one = files("one")
    assert sorted(one) == [
        "feedback/ann.ipynb", "feedback/ben.ipynb", "gradebook.csv", "gradebook.json", "results/ann.json",
        "results/ben.json", "seed.txt",
    ]  # fmt: skip
    assert one == files("two")


def test_feedback_says_nothing_of_the_machine(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    graded(tmp_path / "in", out=tmp_path / "out")
    text = (tmp_path / "out" / "feedback" / "ann.ipynb").read_text(encoding="utf-8")
    assert str(tmp_path) not in text and "/tmp" not in text
    done = json.loads(text)
    assert done["metadata"]["papermill"] == {"exception": None, "parameters": {"student": "ann"}}
    assert not any("papermill" in cell["metadata"] for cell in done["cells"])
    assert text.count("class WorkQueue") == 1, "no copy of itself"


def test_no_feedback_is_left_of_who_is_gone(tmp_path: Path) -> None:
    """Who renamed a file, or handed in what cannot be read now. What others wrote there stays."""
    out = tmp_path / "out"
    for student in ("ann", "ben", "cid", "dan"):
        hand_in(tmp_path / "in", student)
    graded(tmp_path / "in", out=out)
    (out / "feedback" / "mine.ipynb").write_text("{}")
    (out / "results" / "mine.json").write_text("{}")
    with (out / "feedback" / "dan.ipynb").open("a") as file:
        file.write("\n")  # the teacher wrote something into it
    for student in ("ben", "dan"):
        (tmp_path / "in" / f"{student}.ipynb").unlink()
    (tmp_path / "in" / "cid.ipynb").write_text("no json")
    book = graded(tmp_path / "in", out=out, roster=["ann", "ben"])
    assert [(one["student"], one["status"]) for one in book.rows] == [
        ("ann", "graded"), ("ben", "no submission"), ("cid", "unreadable"),
    ]  # fmt: skip
    assert sorted(p.name for p in (out / "feedback").iterdir()) == ["ann.ipynb", "dan.ipynb", "mine.ipynb"]
    assert sorted(p.name for p in (out / "results").iterdir()) == ["ann.json", "cid.json", "mine.json"]
    here = Here()
    (out / "feedback" / "ann.ipynb").unlink()
    graded(tmp_path / "in", out=out, executor=here)
    assert (out / "feedback" / "ann.ipynb").exists(), "made again when it is missing"


def test_results_of_another_lab_are_not_overwritten(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    graded(tmp_path / "in", out=tmp_path / "out")
    with pytest.raises(LabError, match="holds the results of 09-workqueue; name another folder for those of 05-"):
        grade_folder(find_lab("05"), tmp_path / "in", out=tmp_path / "out", executor=Here())


def test_somebody_who_is_not_on_the_roster_is_noted(tmp_path: Path) -> None:
    hand_in(tmp_path, "ivy")
    assert "not on the roster" in row(graded(tmp_path, roster=["ann"]), "ivy")["notes"]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="expected a folder of submissions"):
        graded(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert graded(tmp_path / "empty").rows == ()


def test_one_seed_for_all_is_kept_and_not_contradicted(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann", LAB.starter_code)
    first = graded(tmp_path / "in", out=tmp_path / "out", per_student=False)
    assert first.one_seed and row(first, "ann")["seed"] == first.seed
    assert json.loads((tmp_path / "out" / "gradebook.json").read_text())["one_seed"] is True
    here = Here()
    assert graded(tmp_path / "in", out=tmp_path / "out", executor=here) == first
    assert here.calls == 0
    other = graded(tmp_path / "in", out=tmp_path / "out", seed="other")
    assert (other.seed, other.one_seed) == ("other", True), "another seed, and still one for all"
    with pytest.raises(OtherResultsError, match="cases the same for everybody; for cases of their own for each"):
        graded(tmp_path / "in", out=tmp_path / "out", per_student=True)
    graded(tmp_path / "in", out=tmp_path / "each")
    with pytest.raises(OtherResultsError, match="cases of their own for each student; for cases the same for every"):
        graded(tmp_path / "in", out=tmp_path / "each", per_student=False)
    assert not graded(tmp_path / "in", out=tmp_path / "each").one_seed


# -- one student, and all the others ----------------------------------------------------------------

NESTED = "for fd in range(3, 12):\n    try: os.write(fd, b'[' * 200_000 + b'\\n')\n    except OSError: pass"
BREAKERS = {
    "half a character in an exception": with_line("add", "raise RuntimeError('\\ud800')"),
    "half a character in a name to import": with_line(
        "add", "try: __import__('k8slab.client.\\ud800')\nexcept ImportError: pass"
    ),
    "nested lists in the channel": "import os\n"
    + with_line(
        "add", "for fd in range(3, 12):\n    try: os.write(fd, b'[' * 200_000 + b'\\n')\n    except OSError: pass"
    ),
    "kills the grader": "import os, signal\n"
    + with_line("add", "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)"),
    "limits the grader": "import os, resource\n"
    + with_line("add", "resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, 0))"),
    "writes beside a folder": "import os\n"
    + with_line("add", "os.open('x', os.O_WRONLY | os.O_CREAT, dir_fd=os.open('/', os.O_RDONLY))"),
    "reads what is not its own": with_line("add", "raise RuntimeError(open('/proc/self/environ').read())"),
}


@pytest.mark.parametrize("code", BREAKERS.values(), ids=BREAKERS)
def test_nobody_takes_the_others_down(code: str, tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    hand_in(tmp_path / "in", "mallory", code)
    book = grade_folder(LAB, tmp_path / "in", out=tmp_path / "out", jobs=1)
    assert row(book, "ann")["points"] == 16
    assert row(book, "mallory")["status"] in ("graded", "not graded")
    assert row(book, "mallory")["points"] < 16 or row(book, "mallory")["notes"]
    (tmp_path / "out" / "gradebook.csv").read_text(encoding="utf-8")
    assert "HOME=" not in book.to_json()


def test_files_that_are_none_are_told(tmp_path: Path) -> None:
    hand_in(tmp_path, "ann")
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "zero.ipynb").symlink_to("/dev/zero")
    (tmp_path / "lost.ipynb").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.ipynb").mkdir()
    with (tmp_path / "sparse.ipynb").open("wb") as file:
        file.truncate(5 << 30)
    book = graded(tmp_path)
    assert row(book, "ann")["points"] == 16
    for student in ("pipe", "zero", "lost", "sparse"):
        assert row(book, student)["status"] == "unreadable", student


def test_odd_metadata_is_survived(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "kim")
    theirs = json.loads(path.read_text())
    extra = {"grade_id": ["x"], "solution": True, "grade": False, "schema_version": 3}
    theirs["cells"].append({"cell_type": "code", "source": 5, "metadata": {"nbgrader": extra}, "outputs": []})
    theirs["metadata"]["k8slab"] = {"student": "\ud800" + "l" * 400, "submitted_at": "soon"}
    path.write_text(json.dumps(theirs))
    book = graded(tmp_path, out=tmp_path / "out")
    assert [one["points"] for one in book.rows] == [16]
    assert "says itself that it is of" in book.rows[0]["notes"][0]


def test_a_file_that_says_it_is_somebody_elses_does_not_replace_theirs(tmp_path: Path) -> None:
    hand_in(tmp_path, "ann")
    path = hand_in(tmp_path, "evil", LAB.starter_code)
    theirs = json.loads(path.read_text())
    theirs["metadata"]["k8slab"] = {"student": "ann", "submitted_at": "9999-01-01T00:00:00Z"}
    path.write_text(json.dumps(theirs))
    book = graded(tmp_path)
    assert row(book, "ann")["points"] == 16
    says = "evil.ipynb says itself that it is of ann"
    assert row(book, "ann")["notes"] == [f"{says}; set aside, since it carries the name evil"]
    assert row(book, "evil")["points"] == 0
    assert row(book, "evil")["notes"] == [f"{says}; it counts for evil, whose name it carries"]


def says(path: Path, student: str, when: str = "") -> None:
    """As `k8slab lab submit` writes it."""
    theirs = json.loads(path.read_text())
    theirs["metadata"]["k8slab"] = {"student": student, "submitted_at": when}
    path.write_text(json.dumps(theirs))


NEWEST = "the newest of 2 counts; older: ben.ipynb"


@pytest.mark.parametrize("roster", [[], ["ben", "imp"]], ids=["no roster", "a roster"])
def test_the_newest_of_one_student_counts_whatever_number_it_was_given(roster: list[str], tmp_path: Path) -> None:
    """A browser saves a second download as `ben (1)`."""
    for number, name in enumerate(["ben", "ben (1)"]):
        path = hand_in(tmp_path, name, "" if number else LAB.starter_code)
        says(path, "ben", f"2026-09-01T1{number}:00:00Z")
        os.utime(path, (10 - number, 10 - number))  # copied in another order
    found = row(graded(tmp_path, roster=roster), "ben")
    assert (found["points"], found["submission"], found["notes"]) == (16, "ben (1).ipynb", [NEWEST])


@pytest.mark.parametrize(
    ("name", "said", "roster", "students"),
    [
        pytest.param("ben (1)", "", [], ["ben"], id="a second download"),
        pytest.param("ben(2)", "", [], ["ben"], id="without a space"),
        pytest.param("ben-2", "ben", [], ["ben"], id="it says so"),
        pytest.param("ben_2", "", ["ben"], ["ben"], id="the roster has no other"),
        pytest.param("ben-2", "", [], ["ben", "ben-2"], id="it may be somebody"),
        pytest.param("ben-2", "ben-2", ["ben"], ["ben", "ben-2"], id="it says that it is somebody else"),
        pytest.param("ben-2", "", ["ben", "ben-2"], ["ben", "ben-2"], id="the roster has both"),
        pytest.param("zoe (1)", "", [], ["ben", "zoe (1)"], id="there is no zoe"),
    ],
)
def test_whose_a_numbered_file_is(name: str, said: str, roster: list[str], students: list[str], tmp_path: Path) -> None:
    hand_in(tmp_path, "ben")
    path = hand_in(tmp_path, name)
    if said:
        says(path, said)
    assert [one.student for one in find_submissions(tmp_path, roster=roster).submissions] == students


def test_nobody_on_the_roster_hands_in_for_another(tmp_path: Path) -> None:
    """Neither for one who has handed in nor for one who has not; both rows say it."""
    hand_in(tmp_path, "ben")
    for name, victim in (("imp", "ben"), ("pim", "zoe")):
        says(hand_in(tmp_path, name, LAB.starter_code), victim, "2026-09-01T10:00:00Z")
    book = graded(tmp_path, roster=["ben", "imp", "pim", "zoe"])
    assert [(one["student"], one["status"], one["points"]) for one in book.rows] == [
        ("ben", "graded", 16), ("imp", "graded", 0), ("pim", "graded", 0), ("zoe", "no submission", 0),
    ]  # fmt: skip
    claim = "{}.ipynb says itself that it is of {}; "
    aside, counts = "set aside, since it carries the name {0}", "it counts for {0}, whose name it carries"
    for name, victim in (("imp", "ben"), ("pim", "zoe")):
        assert row(book, victim)["notes"] == [claim.format(name, victim) + aside.format(name)]
        assert row(book, name)["notes"] == [claim.format(name, victim) + counts.format(name)]


def test_a_file_of_nobody_does_not_push_out_one_with_the_students_name(tmp_path: Path) -> None:
    hand_in(tmp_path, "ben")
    says(hand_in(tmp_path, "upload-17", LAB.starter_code), "ben", "2026-09-01T10:00:00Z")
    book = graded(tmp_path, roster=["ben"])
    assert [(one["student"], one["points"]) for one in book.rows] == [("ben", 16)]
    told = "upload-17.ipynb says itself that it is of ben; set aside for one that carries the name ben"
    assert book.rows[0]["notes"] == [told]


def test_what_is_no_submission_is_named(tmp_path: Path) -> None:
    """Capital letters are no reason."""
    hand_in(tmp_path, "con").rename(tmp_path / "con.IPYNB")
    (tmp_path / "adir.ipynb").mkdir()
    (tmp_path / "fay.py").write_text("pass")
    (tmp_path / "gus" / "old").mkdir(parents=True)
    hand_in(tmp_path / "hal.ipynb", "first")
    book = graded(tmp_path, out=tmp_path / "out")
    assert [(one["student"], one["points"]) for one in book.rows] == [("con", 16), ("hal", 16)]
    assert book.left_out == (
        "adir.ipynb: a folder without a notebook in it",
        "fay.py: no notebook (.ipynb)",
        "gus: a folder without a notebook in it",
    )
    assert json.loads((tmp_path / "out" / "gradebook.json").read_text())["left_out"] == list(book.left_out)


def test_a_notebook_of_another_lab_is_told(tmp_path: Path) -> None:
    write_notebook(tmp_path / "ann.ipynb", find_lab("05").notebook)
    theirs = json.loads(hand_in(tmp_path, "ben").read_text())
    for cell in theirs["cells"]:
        grading(cell)["grade_id"] = "mine"
    (tmp_path / "ben.ipynb").write_text(json.dumps(theirs))
    book = graded(tmp_path)
    assert [(one["status"], one["notes"]) for one in book.rows] == [
        ("unreadable", ["it is no notebook of 09-workqueue: it is one of 05-optimistic-concurrency"]),
        ("unreadable", ["it is no notebook of 09-workqueue"]),
    ]


def test_half_a_character_in_a_cell_is_replaced_and_told(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ann")
    text = path.read_text().replace("# what needs work", "# what needs \\ud83d work")
    assert "\\ud83d" in text
    path.write_text(text)
    found = row(graded(tmp_path, out=tmp_path / "out"), "ann")
    assert (found["status"], found["points"]) == ("graded", 16)
    assert found["notes"] == ["work-queue: half a character in it was replaced by \N{REPLACEMENT CHARACTER}"]
    feedback = (tmp_path / "out" / "feedback" / "ann.ipynb").read_text(encoding="utf-8")
    assert "# what needs \N{REPLACEMENT CHARACTER} work" in feedback
    submit(LAB, path, "ann", tmp_path / "again.ipynb")  # it can be written, too


def test_who_could_not_be_graded_is_told_why(tmp_path: Path) -> None:
    for student in ("ann", "ben"):
        hand_in(tmp_path / "in", student)

    class Breaks(Here):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            if "ben" not in args:
                return super().submit(fn, *args, **kwargs)
            done: Future[Any] = Future()
            done.set_exception(UnicodeError("half a \ud800 character"))
            return done

    book = graded(tmp_path / "in", out=tmp_path / "out", executor=Breaks())
    assert row(book, "ann")["points"] == 16
    ben = row(book, "ben")
    assert (ben["status"], ben["submission"]) == ("not graded", "ben.ipynb")
    assert ben["notes"] == ["could not be graded: UnicodeError: half a ? character"]
    assert "could not be graded: UnicodeError" in (tmp_path / "out" / "gradebook.csv").read_text()
    assert not (tmp_path / "out" / "results" / "ben.json").exists(), "the next run tries again"


def test_threads_do_not_mix_up_feedback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have told papermill of their engine before either notebook is carried out."""
    hand_in(tmp_path / "in", "ann")
    hand_in(tmp_path / "in", "ben", LAB.starter_code)
    graded(tmp_path / "in", out=tmp_path / "one", seed="7")
    both, original = threading.Barrier(2, timeout=60), papermill.execute_notebook

    def waiting(*args: Any, **kwargs: Any) -> Any:
        both.wait()
        return original(*args, **kwargs)

    monkeypatch.setattr(papermill, "execute_notebook", waiting)
    with ThreadPoolExecutor(2) as threads:
        graded(tmp_path / "in", out=tmp_path / "two", seed="7", executor=threads)
    for student in ("ann", "ben"):
        one, two = ((tmp_path / out / "feedback" / f"{student}.ipynb").read_bytes() for out in ("one", "two"))
        assert one == two


def test_hidden_schedules_reach_neither_notes_nor_feedback(tmp_path: Path) -> None:
    """It writes down what it is asked, and tries to import it by that name."""
    spy = "open('seen', 'a').write(str(item) + ' ')\n"
    spy += "try: __import__('k8slab.client.' + open('seen').read()[-80:])\nexcept ImportError: pass\n"
    spy += "import os, sys\ntry: sys.audit('gc.' + str(item))\nexcept PermissionError: pass\n"
    spy += "told = b'{\"tried\": \"' + str(item).encode() + b'\"}\\n'\n"
    spy += "for fd in range(3, 9):\n    try: os.write(fd, told)\n    except OSError: pass"
    hand_in(tmp_path / "in", "spy", with_line("add", spy))
    book = graded(tmp_path / "in", out=tmp_path / "out", seed="secret")
    text = book.to_json() + (tmp_path / "out" / "feedback" / "spy.ipynb").read_text(encoding="utf-8")
    assert "importing k8slab.client: this lab asks you to write it" in text
    assert row(book, "spy")["notes"] == ["importing k8slab.client: this lab asks you to write it", "gc: not in a lab"]
    feedback = (tmp_path / "out" / "feedback" / "spy.ipynb").read_text(encoding="utf-8")
    assert "secret" not in feedback, "the seed is the teacher's"


def test_what_happens_in_hidden_cases_is_told_the_teacher_alone(tmp_path: Path) -> None:
    """It forks when it is asked for what no public schedule asks: a 22nd delay of b or c."""
    forks = "import os\n" + LAB.solution.replace(
        "failures = self.failures.get(item, 0)\n",
        "failures = self.failures.get(item, 0)\n"
        "        try: [os.fork() for _ in [0] if failures == 21 and item != 'a']\n"
        "        except PermissionError: pass\n",
        1,
    )
    asked = [case for case in LAB.spec.check("backs-off").cases("7/ann") if asks_often(case.script)]
    assert asked and all(case.hidden for case in asked), "another seed is needed"
    hand_in(tmp_path / "in", "ann", forks)
    book = graded(tmp_path / "in", out=tmp_path / "out", seed="7")
    assert row(book, "ann")["points"] == 16
    assert row(book, "ann")["notes"] == ["in hidden cases: os.fork: not in a lab"]
    feedback = (tmp_path / "out" / "feedback" / "ann.ipynb").read_text(encoding="utf-8")
    assert HIDDEN_NOTE in feedback and "os.fork: not" not in feedback


def asks_often(script: Script) -> bool:
    return max(script.count(("when", item)) for item in "bc") >= 22


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    for student in ("ann", "ben", "cid"):
        hand_in(tmp_path / "in", student)

    class Interrupted(Here):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            done = super().submit(fn, *args, **kwargs)
            if self.calls == 3:
                done = Future()
                done.set_exception(KeyboardInterrupt())
            return done

    with pytest.raises(KeyboardInterrupt):
        graded(tmp_path / "in", out=tmp_path / "out", executor=Interrupted())
    rest = Here()
    graded(tmp_path / "in", out=tmp_path / "out", executor=rest)
    assert rest.calls < 3


def test_results_cannot_be_written(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ann")
    (tmp_path / "out").write_text("a file")
    with pytest.raises(LabError, match="results cannot be written there"):
        graded(tmp_path / "in", out=tmp_path / "out")


def test_results_inside_the_folder_are_no_submissions(tmp_path: Path) -> None:
    hand_in(tmp_path, "ann")
    for _ in range(2):
        assert [one["student"] for one in graded(tmp_path, out=tmp_path / "graded {x}").rows] == ["ann"]


def test_a_runner_that_does_not_run_is_nobodys_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_in(tmp_path, "ann")
    for command, why in (("/no/such/command", "cannot be started"), ("false", "before it listened")):
        monkeypatch.setenv("K8SLAB_RUNNER", command)
        with pytest.raises(RunnerError, match=why):
            grade_folder(LAB, tmp_path, jobs=1)


def test_a_machine_without_the_lab_is_nobodys_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hand_in(tmp_path / "in", "ann")
    lab, there = str(LAB.folder), str(path)
    for one, other in ((str(tmp_path / "nowhere"), there), (lab, str(tmp_path / "lost.ipynb"))):
        with pytest.raises(RunnerError, match="expected on every machine that grades, at the same place"):
            grade_one(one, other, "ann", "7", "")
    monkeypatch.chdir(tmp_path)
    book = grade_folder(LAB, Path("in"), out=Path("out"), executor=Here())
    assert row(book, "ann")["points"] == 16, "a folder may be named from here"
