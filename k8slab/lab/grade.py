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
import stat
import tempfile
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import k8slab
from k8slab.lab.model import Report, clean
from k8slab.lab.runner import RunnerError
from k8slab.lab.source import (
    Lab,
    LabError,
    Notebook,
    grading,
    read_notebook,
    solution_cells,
    solution_of,
    source,
    with_solution,
)
from k8slab.lab.verify import verify

__all__ = ["Gradebook", "Submission", "assembled", "find_submissions", "grade_folder", "grade_one", "read_roster"]

MOST_BYTES = 10 << 20
_ENDS_IN_DIGEST = re.compile(r".*-[0-9a-f]{8}").fullmatch
STUDENT, WHEN = "student", "submitted_at"


@dataclass(frozen=True)
class Submission:
    """One file of one student. `others`: older ones of the same student, not graded. `claimed`: only the notebook
    itself says whose it is, not its name."""

    student: str
    path: Path
    others: tuple[str, ...] = ()
    claimed: bool = False


@dataclass(frozen=True)
class Gradebook:
    """`rows`: plain data for each student, in order of their names."""

    lab: str
    possible: int
    checks: tuple[str, ...]
    rows: tuple[dict[str, Any], ...] = field(default_factory=tuple)

    def to_json(self) -> str:
        head = {"lab": self.lab, "possible": self.possible, "checks": list(self.checks)}
        return json.dumps({**head, "students": list(self.rows)}, indent=1, ensure_ascii=False) + "\n"

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


# -- who handed in what ----------------------------------------------------------------------------


def read_roster(path: Path) -> list[str]:
    """The students of a CSV file: its column `student`, or its first. LabError for a bad one."""
    try:
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LabError(f"{path}: cannot be read as a roster: {error}") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise LabError(f"{path}: expected a line for each student")
    head = [cell.strip().lower() for cell in rows[0]]
    column = head.index("student") if "student" in head else 0
    names = [row[column].strip() for row in (rows[1:] if "student" in head else rows) if len(row) > column]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise LabError(f"{path}: named more than once: {', '.join(twice)}")
    return [name for name in names if name]


def find_submissions(folder: Path, skip: Path | None = None) -> list[Submission]:
    """`<student>.ipynb`, or notebooks in a folder `<student>`; what `k8slab lab submit` wrote names its student.

    Of several of one student the newest counts: by the time it was submitted, else by the file's. `skip`: a folder in
    it that holds results. LabError for a folder that does not exist.
    """
    if not folder.is_dir():
        raise LabError(f"{folder}: expected a folder of submissions")
    found: dict[str, list[tuple[bool, float, str, Path]]] = {}
    for path in sorted(folder.rglob("*.ipynb")):
        parts = path.relative_to(folder).parts
        is_other = path.is_dir() or any(part.startswith(".") for part in parts)
        if is_other or (skip is not None and path.resolve().is_relative_to(skip.resolve())):
            continue
        named = clean(parts[0] if len(parts) > 1 else path.stem, 200)
        said = _says(path)
        student = said.get(STUDENT) or named
        # a file under somebody's own name counts before one that only says it is theirs
        found.setdefault(student, []).append((named == student, _when(path, said.get(WHEN, "")), str(path), path))
    submissions = []
    for student, files in sorted(found.items()):
        *older, newest = sorted(files)
        others = tuple(clean(one[3].relative_to(folder)) for one in older)
        submissions.append(Submission(student, newest[3], others, claimed=not newest[0]))
    return submissions


def _when(path: Path, said: str) -> float:
    """When it was handed in: what it says of itself, unless that is no time or in the future; else its file's time."""
    own = path.lstat().st_mtime
    try:
        told = datetime.fromisoformat(said.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return own
    return told if told <= time.time() + 86_400 else own


def _is_plain(path: Path) -> bool:
    """A regular file of a size that is read: no pipe, no link, no device."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES


def _says(path: Path) -> dict[str, str]:
    """What a submission says of itself."""
    if not _is_plain(path):
        return {}
    try:
        found = read_notebook(path).get("metadata", {})
    except LabError:
        return {}
    said = found.get("k8slab") if isinstance(found, dict) else None
    if not isinstance(said, dict):
        return {}
    return {key: clean(said[key], 200) for key in (STUDENT, WHEN) if isinstance(said.get(key), str) and said[key]}


# -- one submission --------------------------------------------------------------------------------


def assembled(lab: Lab, submission: Notebook) -> Notebook:
    """The lab's notebook with the submission's solution cells; where one is missing, the starter's stub."""
    theirs = {str(grading(cell).get("grade_id")): source(cell) for cell in solution_cells(submission)}
    starter = lab.starter
    parts = [theirs.get(str(grading(cell).get("grade_id")), source(cell)) for cell in solution_cells(starter)]
    return with_solution(starter, parts)


def grade_one(lab_folder: str, path: str, student: str, seed: str, feedback: str) -> dict[str, Any]:
    """The row of one student; `feedback`: where the executed notebook goes ("": nowhere). Never raises for the
    submission."""
    lab = Lab(Path(lab_folder))
    row = _row(lab, student, seed, Path(path).name)
    try:
        if not _is_plain(Path(path)):
            raise LabError(f"expected a plain file of at most {MOST_BYTES >> 20} MB")
        theirs = read_notebook(Path(path))
        if not solution_cells(theirs):
            raise LabError("it has no solution cells")
        notebook = assembled(lab, theirs)
    except (LabError, OSError) as error:
        return {**row, "status": "unreadable", "notes": [clean(error).replace(str(Path(path).parent) + os.sep, "")]}
    if not feedback:
        return filled(row, verify(lab, solution_of(notebook, student), seed=seed))
    from k8slab.lab.papermill_engine import execute

    return filled(row, execute(lab, notebook, student, seed, Path(feedback)))


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
        "notes": list(report.notes),
        "problem": report.problem,
        "checks": checks,
    }


# -- all of them -----------------------------------------------------------------------------------


def grade_folder(
    lab: Lab,
    folder: Path,
    *,
    out: Path | None = None,
    roster: Sequence[str] = (),
    seed: str = "0",
    per_student: bool = True,
    regrade: Iterable[str] | None = (),
    executor: Executor | None = None,
    jobs: int | None = None,
) -> Gradebook:
    """Grade everybody in `folder`; with `out` also write feedback, gradebook.csv and gradebook.json there.

    `roster`: who should have handed in. `per_student`: hidden cases of their own for each. Results in `out` are used
    again while nothing changed, but for the students of `regrade` (None: all). `executor` does the work, else
    `jobs` processes.
    """
    if out is not None:
        _try_writing(out)
    submissions = {one.student: one for one in find_submissions(folder, out)}
    again = None if regrade is None else set(regrade)
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
        feedback = str(out / "feedback" / f"{_file_name(student)}.ipynb") if out is not None else ""
        waiting[student] = (str(lab.folder), str(one.path), student, mine, feedback)
    for student, row in _work(waiting, executor, jobs):
        rows[student] = row if row is not None else _row(lab, student, "", submissions[student].path.name, "not graded")
        if row is not None:
            _keep(out, student, prints[student], row)
    for student, one in submissions.items():
        rows[student] = {**rows[student], "notes": _notes(rows[student]["notes"], one, roster)}
    for student in roster:
        rows.setdefault(student, _row(lab, student, "", ""))
    names = tuple(check.name for check in lab.spec.checks)
    book = Gradebook(lab.name, lab.spec.points, names, tuple(rows[student] for student in sorted(rows)))
    if out is not None:
        _write(out / "gradebook.csv", book.to_csv())
        _write(out / "gradebook.json", book.to_json())
    return book


def _work(
    arguments: Mapping[str, tuple[str, ...]], executor: Executor | None, jobs: int | None
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """(student, row) as they come; None for one that could not be graded: somebody broke the process it was in."""
    if not arguments:
        return
    if executor is None:
        with ProcessPoolExecutor(max_workers=jobs or min(len(arguments), os.cpu_count() or 1)) as own:
            broken = []
            for student, row in _work(arguments, own, jobs):
                if row is None:
                    broken.append(student)
                else:
                    yield student, row
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
            yield futures[future], future.result() if error is None else None
    if last is not None:
        raise last


def _alone(values: tuple[str, ...]) -> dict[str, Any] | None:
    """Once more, in a process of its own: whoever broke the others' breaks only this one."""
    with ProcessPoolExecutor(max_workers=1) as own:
        future = own.submit(grade_one, *values)
        error = future.exception()
    if isinstance(error, RunnerError):
        raise error
    return None if error is not None else future.result()


def _try_writing(out: Path) -> None:
    """LabError before the work, not after it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise LabError(f"{out}: results cannot be written there: {error.strerror}") from None


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
    own = [path] if _is_plain(path) else []
    for file in (*own, *sorted(lab.folder.glob("*.py")), lab.folder / f"{lab.name}.ipynb"):
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


def _file_name(student: str) -> str:
    """A name for a file that cannot leave its folder."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in student).strip(".")[:60] or "_"
    if safe == student == student.casefold() and student.isascii() and not _ENDS_IN_DIGEST(student):
        return safe
    same = unicodedata.normalize("NFC", student)
    return f"{safe}-{hashlib.sha256(same.encode()).hexdigest()[:8]}"


def _kept(out: Path | None, student: str, print_: str) -> dict[str, Any] | None:
    path = None if out is None else out / "results" / f"{_file_name(student)}.json"
    if path is None or not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None  # half written: graded again
    row = found.get("row") if isinstance(found, dict) and found.get("fingerprint") == print_ else None
    return row if isinstance(row, dict) else None


def _keep(out: Path | None, student: str, print_: str, row: Mapping[str, Any]) -> None:
    if out is not None:
        text = json.dumps({"fingerprint": print_, "row": row}, indent=1, ensure_ascii=False)
        _write(out / "results" / f"{_file_name(student)}.json", text)


def _write(path: Path, text: str) -> None:
    """All or nothing: never half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", suffix=".new", delete=False) as file:
        file.write(text)
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)
