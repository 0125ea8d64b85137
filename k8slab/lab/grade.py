"""Grading a folder of submissions: who handed in what, how it went, a gradebook.

Of a submission only the solution cells count; all others are taken from the lab. Papermill carries each out, with an
engine that plays the checks in place of a kernel, and leaves an executed notebook for the student. Any
`concurrent.futures.Executor` may do the work: what is sent to it are names and plain data.

Simplified: one lab a folder; no late penalties.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import secrets
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import k8slab
from k8slab.lab.model import Report, clean
from k8slab.lab.runner import LATE, SLOW, RunnerError
from k8slab.lab.source import (
    Lab,
    LabError,
    Notebook,
    grading,
    labs,
    other_names,
    read_notebook,
    solution_cells,
    solution_of,
    source,
    with_solution,
)
from k8slab.lab.submissions import (
    MOST_BYTES,
    OtherResultsError,
    ResultsFolderError,
    Submission,
    UnknownStudentError,
    find_submissions,
    is_plain,
    name_of,
)
from k8slab.lab.verify import HIDDEN_NOTE, verify

__all__ = ["Gradebook", "assembled", "filled", "fingerprint", "grade_folder", "grade_one"]

_PERHAPS_BUSY = "the machine may have been too busy to load it: graded anew the next time"
_ONE_SEED = "the same for everybody"
_ENDS_IN_DIGEST = re.compile(r".*-[0-9a-f]{8}").fullmatch


@dataclass(frozen=True)
class Gradebook:
    """`rows`: plain data for each student, in order of their names. `seed`: what hidden cases were made from; with it
    the same submissions give the same bytes. `one_seed`: everybody has the same ones. `left_out`: what of the folder is
    no submission."""

    lab: str
    possible: int
    checks: tuple[str, ...]
    rows: tuple[dict[str, Any], ...] = field(default_factory=tuple)
    seed: str = ""
    one_seed: bool = False
    left_out: tuple[str, ...] = ()

    def to_json(self) -> str:
        found = {
            "lab": self.lab,
            "seed": self.seed,
            "one_seed": self.one_seed,
            "possible": self.possible,
            "checks": list(self.checks),
            "left_out": list(self.left_out),
            "students": list(self.rows),
        }
        return json.dumps(found, indent=1, ensure_ascii=False) + "\n"

    def to_csv(self) -> str:
        """One line for each student; for every check its points and the reason."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        head = ["student", "status", "points", "possible", "public", "hidden", "submission", "seed", "notes"]
        writer.writerow([*head, *[part for check in self.checks for part in (check, f"{check}: why")]])
        for row in self.rows:
            line = [row["student"], row["status"], row["points"], self.possible, _ratio(row["public"])]
            line += [_ratio(row["hidden"]), row["submission"], row["seed"], "; ".join(row["notes"])]
            for check in self.checks:
                found = row["checks"].get(check, {})
                line += [found.get("points", 0), found.get("reason", "")]
            writer.writerow(list(map(_cell, line)))
        return out.getvalue()


def _ratio(pair: Sequence[int]) -> str:
    return f"{pair[0]}/{pair[1]}"


def _cell(value: Any) -> Any:
    """A spreadsheet must not take a text for a formula."""
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return "'" + text if text[:1] in ("=", "+", "-", "@") else text


# -- one submission --------------------------------------------------------------------------------


def assembled(lab: Lab, submission: Notebook) -> Notebook:
    """The lab's notebook with the submission's solution cells; where one is missing, the starter's stub."""
    theirs = {str(grading(cell).get("grade_id")): source(cell) for cell in solution_cells(submission)}
    starter = lab.starter
    parts = [theirs.get(str(grading(cell).get("grade_id")), source(cell)) for cell in solution_cells(starter)]
    return with_solution(starter, parts)


def grade_one(lab_folder: str, path: str, student: str, seed: str, feedback: str) -> dict[str, Any]:
    """The row of one student; `feedback`: where the executed notebook goes ("": nowhere). Never raises for the
    submission. RunnerError on a machine that has not got the lab or the folder."""
    lab = Lab(Path(lab_folder))
    for wanted in (lab.folder / "checks.py", Path(path)):
        if not os.path.lexists(wanted):
            raise RunnerError(f"{wanted}: expected on every machine that grades, at the same place")
    row = _row(lab, student, seed, Path(path).name)
    try:
        if not is_plain(Path(path)):
            raise LabError(f"expected a plain file of at most {MOST_BYTES >> 20} MB")
        theirs = read_notebook(Path(path))
        _expect_cells_of(lab, theirs)
        notebook = assembled(lab, theirs)
    except (LabError, OSError) as error:
        return {**row, "status": "unreadable", "notes": [clean(error).replace(str(Path(path).parent) + os.sep, "")]}
    row["notes"] = _odd_cells(theirs)
    elsewhere = other_names(theirs)
    if not feedback:
        return filled(row, verify(lab, solution_of(notebook, student), seed=seed, elsewhere=elsewhere))
    from k8slab.lab.papermill_engine import execute

    report, text = execute(lab, notebook, student, seed, elsewhere)
    _write(Path(feedback), text)
    return filled(row, report)


def _ids(notebook: Notebook) -> set[str]:
    return {str(grading(cell).get("grade_id")) for cell in solution_cells(notebook)}


def _expect_cells_of(lab: Lab, theirs: Notebook) -> None:
    """LabError for a notebook that has none of the lab's solution cells."""
    found = _ids(theirs)
    if not found:
        raise LabError("it has no solution cells")
    if not found & _ids(lab.notebook):
        other = next((f": it is one of {one.name}" for one in labs() if found & _ids(one.notebook)), "")
        raise LabError(f"it is no notebook of {lab.name}{other}")


def _odd_cells(theirs: Notebook) -> list[str]:
    """A note for each solution cell in which a character was replaced."""
    return [
        f"{clean(grading(cell).get('grade_id'))}: half a character in it was replaced by \N{REPLACEMENT CHARACTER}"
        for cell in solution_cells(theirs)
        if "\N{REPLACEMENT CHARACTER}" in source(cell)
    ]


def _row(lab: Lab, student: str, seed: str, name: str, status: str = "no submission") -> dict[str, Any]:
    return {
        "student": student,
        "status": status,
        "points": 0,
        "public": [0, 0],
        "hidden": [0, 0],
        "submission": clean(name),
        "seed": seed,
        "notes": [],
        "problem": "",
        "checks": {},
    }


def filled(row: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """The row with what a report says."""
    public, hidden = report.counts()
    checks = {
        result.check.name: {
            "points": result.points,
            "possible": result.check.points,
            "public": list(result.public),
            "hidden": list(result.hidden),
            "reason": report.problem or result.reason,
        }
        for result in report.results
    }
    return {
        **row,
        "status": "graded",
        "points": report.points,
        "public": list(public),
        "hidden": list(hidden),
        "notes": [*row["notes"], *_told(report), *([_PERHAPS_BUSY] if _is_late(report.problem) else [])],
        "problem": report.problem,
        "checks": checks,
    }


def _is_late(problem: str) -> bool:
    """Whether a submission was not loaded for want of time, which a busy machine may have taken."""
    return problem.startswith((LATE, SLOW))


def _told(report: Report) -> list[str]:
    """The notes for the teacher: what a student is only told to have happened in hidden cases, in words."""
    public = [note for note in report.notes if note != HIDDEN_NOTE]
    return [*public, *(f"in hidden cases: {note}" for note in report.teacher_notes)]


# -- all of them -----------------------------------------------------------------------------------


def grade_folder(
    lab: Lab,
    folder: Path,
    *,
    out: Path | None = None,
    roster: Sequence[str] = (),
    seed: str | None = None,
    per_student: bool | None = None,
    regrade: Iterable[str] | None = (),
    executor: Executor | None = None,
    jobs: int | None = None,
) -> Gradebook:
    """Grade everybody in `folder`; with `out` also write feedback, gradebook.csv and gradebook.json there.

    `roster`: who should have handed in. `seed`: of the hidden cases; without it the one that is kept in `out`, else one
    that nobody can guess. `per_student`: hidden cases of their own for each (None: as is kept in `out`, else yes).
    Results in `out` are used again while nothing changed, but for the students of `regrade` (None: all) and those whose
    code was not loaded in time; what was written for somebody who is gone is removed. `executor` does the work, else
    `jobs` processes. LabError for a folder that cannot be used, ResultsFolderError if `folder` is `out` or lies in it,
    OtherResultsError if what is in `out` contradicts what is asked for, UnknownStudentError for a student of `regrade`
    who handed nothing in.
    """
    if out is not None:
        _expect_apart(out, folder)
        _try_writing(out, lab)
    roster = [name_of(student) for student in roster]
    found = find_submissions(folder, out, roster)
    submissions = {one.student: one for one in found.submissions}
    again = None if regrade is None else _known(regrade, submissions, folder)
    seed, per_student = _seed(out, seed, per_student)
    rows: dict[str, dict[str, Any]] = {}
    waiting: dict[str, tuple[str, ...]] = {}
    prints: dict[str, str] = {}
    for student, one in submissions.items():
        mine = f"{seed}/{student}" if per_student else seed
        prints[student] = fingerprint(lab, one.path, mine)
        kept = None if again is None or student in again else _kept(out, student, prints[student])
        if kept is not None:
            rows[student] = kept
            continue
        feedback = str(_feedback(out, student).absolute()) if out is not None else ""
        waiting[student] = (str(lab.folder.absolute()), str(one.path.absolute()), student, mine, feedback)
    for student, row in _work(waiting, executor, jobs):
        rows[student] = row if isinstance(row, dict) else _not_graded(lab, submissions[student], row)
        if out is not None and rows[student]["status"] != "graded":
            _forget(out, student)
        if isinstance(row, dict):
            _keep(out, student, "" if _is_late(row["problem"]) else prints[student], row)
    for student, one in submissions.items():
        rows[student] = {**rows[student], "notes": _notes(rows[student]["notes"], one, roster)}
    for student in roster:
        rows.setdefault(student, _row(lab, student, "", ""))
    for student in rows:
        rows[student] = {**rows[student], "notes": [*rows[student]["notes"], *found.notes.get(student, ())]}
    names = tuple(check.name for check in lab.spec.checks)
    students = tuple(rows[student] for student in sorted(rows))
    book = Gradebook(lab.name, lab.spec.points, names, students, seed, not per_student, found.left_out)
    if out is not None:
        _clear(out, submissions)
        _write(out / "gradebook.csv", book.to_csv())
        _write(out / "gradebook.json", book.to_json())
    return book


def _work(
    arguments: Mapping[str, tuple[str, ...]], executor: Executor | None, jobs: int | None
) -> Iterator[tuple[str, dict[str, Any] | BaseException]]:
    """(student, row) as they come; for one that could not be graded the error: somebody broke the process it was in."""
    if not arguments:
        return
    if executor is None:
        with ProcessPoolExecutor(max_workers=min(len(arguments), jobs or os.cpu_count() or 1)) as own:
            broken = []
            for student, row in _work(arguments, own, jobs):
                if isinstance(row, dict):
                    yield student, row
                else:
                    broken.append(student)
        for student in broken:
            yield student, _alone(arguments[student])
        return
    futures = {executor.submit(grade_one, *values): student for student, values in arguments.items()}
    last: BaseException | None = None
    for future in as_completed(futures):
        error = future.exception()
        if error is not None and (isinstance(error, RunnerError) or not isinstance(error, Exception)):
            last = error  # raised when what is done has been kept
        else:
            yield futures[future], future.result() if error is None else error
    if last is not None:
        raise last


def _alone(values: tuple[str, ...]) -> dict[str, Any] | BaseException:
    """Once more, in a process of its own: whoever broke the others' breaks only this one."""
    with ProcessPoolExecutor(max_workers=1) as own:
        future = own.submit(grade_one, *values)
        error = future.exception()
    if isinstance(error, RunnerError):
        raise error
    return future.result() if error is None else error


def _not_graded(lab: Lab, one: Submission, error: BaseException) -> dict[str, Any]:
    """The row of a student whose grading failed, with the reason."""
    row = _row(lab, one.student, "", one.path.name, "not graded")
    return {**row, "notes": [f"could not be graded: {type(error).__name__}: {clean(error) or 'no more is known'}"]}


def _expect_apart(out: Path, folder: Path) -> None:
    """All that is in `out` is a result: results may lie among the submissions only in a folder of their own."""
    if folder.resolve().is_relative_to(out.resolve()):
        raise ResultsFolderError(f"{out}: the submissions lie there: expected another folder for the results")


def _try_writing(out: Path, lab: Lab) -> None:
    """LabError before the work, not after it. Results of another lab are not overwritten."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
        before = _object(out / "gradebook.json").get("lab", lab.name)
    except OSError as error:
        raise LabError(f"{out}: results cannot be written there: {error.strerror}") from None
    if before != lab.name:
        raise OtherResultsError(f"{out}: holds the results of {before}; name another folder for those of {lab.name}")


def _known(students: Iterable[str], submissions: Mapping[str, Submission], folder: Path) -> set[str]:
    """The students to grade again. UnknownStudentError for one who is not there."""
    wanted = {name_of(student) for student in students}
    for unknown in sorted(wanted - set(submissions)):
        there = ", ".join([*list(submissions)[:10], *(["..."] if len(submissions) > 10 else [])]) or "(none)"
        raise UnknownStudentError(f"regrade {unknown!r}: expected a student with a submission in {folder}: {there}")
    return wanted


def _seed(out: Path | None, given: str | None, per_student: bool | None) -> tuple[str, bool]:
    """The seed that is given, else the one of the last time, else a new one; and whether everybody has cases of their
    own. Both are kept in `out`: the seed in the first line of a file, and in a second one that it serves for all."""
    path = None if out is None else out / "seed.txt"
    try:
        text = path.read_text(encoding="utf-8-sig").strip() if path is not None and path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path}: expected the seed of the hidden cases: {error}") from None
    kept, _, second = (part.strip() for part in text.partition("\n"))
    was_per_student = second != _ONE_SEED if kept else None
    if None not in (per_student, was_per_student) and per_student != was_per_student:
        before = "of their own for each student" if was_per_student else _ONE_SEED
        now = "of their own for each student" if per_student else _ONE_SEED
        raise OtherResultsError(f"{out}: was graded with hidden cases {before}; for cases {now} name another folder")
    if per_student is None:
        per_student = was_per_student is not False
    if given is not None and not (0 < len(given) <= 64 and given.isprintable() and given == given.strip()):
        raise LabError(f"seed {given[:64]!r}: expected 1 to 64 printable characters, without spaces around them")
    seed = given if given is not None else kept or secrets.token_hex(8)
    new = seed if per_student else f"{seed}\n{_ONE_SEED}"
    if path is not None and new != text:
        _write(path, new + "\n")
    return seed, per_student


def _notes(notes: Sequence[str], one: Submission, roster: Sequence[str]) -> list[str]:
    found = list(notes)
    if one.others:
        found.append(f"the newest of {len(one.others) + 1} counts; older: {', '.join(one.others)}")
    if one.claimed:
        found.append(f"{clean(one.path.name)} says itself that it is of {one.student}")
    if roster and one.student not in roster:
        found.append("not on the roster")
    return list(dict.fromkeys(found))


def fingerprint(lab: Lab, path: Path, seed: str) -> str:
    """Changes when the submission, the lab, the seed or the package does."""
    digest = hashlib.sha256(f"{k8slab.__version__}\0{seed}\0".encode())
    if is_plain(path):
        try:
            digest.update(path.read_bytes() + b"\0")
        except OSError as error:  # `grade_one` tells it
            digest.update(str(error).encode() + b"\0")
    for file in (*sorted(lab.folder.glob("*.py")), lab.folder / f"{lab.name}.ipynb"):
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


def _file_name(student: str) -> str:
    """A name for a file that cannot leave its folder."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in student).strip(".")[:60] or "_"
    if safe == student == student.casefold() and student.isascii() and not _ENDS_IN_DIGEST(student):
        return safe
    same = unicodedata.normalize("NFC", student)
    return f"{safe}-{hashlib.sha256(same.encode()).hexdigest()[:8]}"


def _feedback(out: Path, student: str) -> Path:
    return out / "feedback" / f"{_file_name(student)}.ipynb"


def _result(out: Path, student: str) -> Path:
    return out / "results" / f"{_file_name(student)}.json"


def _object(path: Path) -> dict[str, Any]:
    """What a JSON file of ours holds; empty when there is none or only half of one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _kept(out: Path | None, student: str, print_: str) -> dict[str, Any] | None:
    """The row of the last time, if nothing changed since and the feedback is there."""
    found = {} if out is None else _object(_result(out, student))
    row = found.get("row") if found.get("fingerprint") == print_ else None
    if out is None or not isinstance(row, dict) or (found.get("feedback") and not _feedback(out, student).exists()):
        return None
    return row


def _keep(out: Path | None, student: str, print_: str, row: Mapping[str, Any]) -> None:
    if out is not None:
        feedback = _digest(_feedback(out, student)) if row["status"] == "graded" else ""
        found = {"fingerprint": print_, "feedback": feedback, "row": row}
        _write(_result(out, student), json.dumps(found, indent=1, ensure_ascii=False))


def _forget(out: Path, student: str) -> None:
    """Remove what an earlier run wrote for a student; feedback that somebody changed since is left."""
    result, feedback = _result(out, student), _feedback(out, student)
    if feedback.is_file() and _object(result).get("feedback") == _digest(feedback):
        feedback.unlink()
    result.unlink(missing_ok=True)


def _clear(out: Path, students: Iterable[str]) -> None:
    """Forget all others."""
    current = {_result(out, student) for student in students}
    for path in sorted((out / "results").glob("*.json")):
        row = _object(path).get("row")
        student = row.get("student") if isinstance(row, dict) else None
        if path not in current and isinstance(student, str) and path == _result(out, student):
            _forget(out, student)


def _write(path: Path, text: str) -> None:
    """All or nothing: never half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", suffix=".new", delete=False) as file:
        file.write(text)
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)
