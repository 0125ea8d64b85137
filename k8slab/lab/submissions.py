"""Who handed in what: a folder of submissions, and the roster of those who should have.

Names are the same however their accents are written (Unicode's NFC): a file system may take them apart.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import csv
import io
import re
import stat
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from k8slab.lab.model import clean
from k8slab.lab.source import LabError, read_notebook

__all__ = [
    "MOST_BYTES",
    "Found",
    "OtherResultsError",
    "ResultsFolderError",
    "Submission",
    "UnknownStudentError",
    "find_submissions",
    "is_plain",
    "name_of",
    "read_roster",
]

MOST_BYTES = 10 << 20
_STUDENT, _WHEN = "student", "submitted_at"
_NUMBERED = re.compile(r"(?P<name>.+?)(?:(?P<copy> ?\(\d{1,3}\))|[-_ ]\d{1,3})", re.DOTALL).fullmatch
_HEADS = (_STUDENT, "name", "login", "username", "user", "id", "email", "e-mail", "mail")
"""What the column of the students may be called; the first of these that is there."""


class UnknownStudentError(LabError):
    """Nobody of this name handed in; the text names some who did."""


class OtherResultsError(LabError):
    """The folder for results holds some that contradict what was asked for; the text says which."""


class ResultsFolderError(LabError):
    """The folder for results holds the submissions: none could be told from a result."""


def name_of(text: str) -> str:
    """A student's name, the same however it was typed."""
    return unicodedata.normalize("NFC", clean(text.strip(), 200))


@dataclass(frozen=True)
class Submission:
    """The file of a student that counts. `others`: files of the same student that do not, since they are older.
    `claimed`: only the notebook itself says whose it is, not its name."""

    student: str
    path: Path
    others: tuple[str, ...] = ()
    claimed: bool = False


@dataclass(frozen=True)
class Found:
    """What a folder holds. `notes`: for a student, what was decided about files that say of themselves that they are
    somebody else's. `left_out`: what is no submission, and why."""

    submissions: tuple[Submission, ...]
    notes: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()


# -- the roster ------------------------------------------------------------------------------------


def read_roster(path: Path) -> list[str]:
    """The students of a CSV file, separated by commas, semicolons or tabs.

    With a line of headers its column `student`, else `name`, `login`, `email` ...; without one the first column. A line
    that is there twice counts once. LabError says which line cannot be used, and why.
    """
    if path.exists() and not path.is_dir() and not is_plain(path.resolve()):
        raise LabError(f"{path}: cannot be read as a roster: expected a plain file of at most {MOST_BYTES >> 20} MB")
    try:
        text = path.read_text(encoding="utf-8-sig")
        lines = [(number, row) for number, row in _rows(text) if any(row)]
    except OSError as error:
        raise LabError(f"{path}: cannot be read as a roster: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LabError(f"{path}: cannot be read as a roster: expected UTF-8, save it as such") from None
    except csv.Error as error:
        raise LabError(f"{path}: cannot be read as a roster: {error}") from None
    if not lines:
        raise LabError(f"{path}: expected a line for each student")
    head = [cell.lower() for cell in lines[0][1]]
    known = [name for name in _HEADS if name in head]
    column = head.index(known[0]) if known else 0
    seen: dict[str, list[str]] = {}
    for number, row in lines[1:] if known else lines:
        name = name_of(row[column]) if len(row) > column else ""
        if not name or "\n" in name:
            raise LabError(f"{path}: line {number}: expected a name in column {column + 1}, found {name[:40]!r}")
        if seen.setdefault(name, row) != row:
            raise LabError(f"{path}: line {number}: {name} is there already, with other words: which is which?")
    return list(seen)


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """Line numbers and cells, by the separator that is in every line; a comma, if none is."""
    for separator in (";", "\t", ","):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
        if all(len(row) > 1 for _, row in rows if any(row)):
            break
    return rows


# -- the folder ------------------------------------------------------------------------------------


class _File(NamedTuple):
    """A notebook: the time that decides, whose its name and what it says of itself say it is ("": it says nothing)."""

    when: float
    name: str
    path: Path
    named: str
    said: str


def find_submissions(folder: Path, skip: Path | None = None, roster: Sequence[str] = ()) -> Found:
    """`<student>.ipynb`, or notebooks in a folder `<student>`; what `k8slab lab submit` wrote names its student.

    Of several of one student the newest counts: by the time it was submitted, else by the file's. `ben (1).ipynb` is
    Ben's, and `ben-2.ipynb` too, unless the `roster` has somebody of that name. A file that says it is somebody's whose
    own name another one carries, or that carries the name of somebody on the roster, counts for whom it is called
    after. `skip`: a folder in it that holds results. LabError for a folder that does not exist.
    """
    if not folder.is_dir():
        raise LabError(f"{folder}: expected a folder of submissions")
    known = frozenset(map(name_of, roster))
    files, left_out = _files(folder, skip)
    exact = known | {file.named for file in files}
    files = [file._replace(named=_without_number(file, known, exact)) for file in files]
    carried = {file.named for file in files}
    owned: dict[str, list[_File]] = {}
    notes: dict[str, list[str]] = {}
    for file in files:
        if not file.said or file.said == file.named:
            owned.setdefault(file.named, []).append(file)
        elif file.named not in known and file.said not in carried:
            owned.setdefault(file.said, []).append(file)
        else:
            says = f"{file.name} says itself that it is of {file.said}"
            if not known or file.named in known:
                owned.setdefault(file.named, []).append(file)
                notes.setdefault(file.named, []).append(f"{says}; it counts for {file.named}, whose name it carries")
                notes.setdefault(file.said, []).append(f"{says}; set aside, since it carries the name {file.named}")
            else:
                notes.setdefault(file.said, []).append(f"{says}; set aside for one that carries the name {file.said}")
    submissions = tuple(_newest(student, owned[student]) for student in sorted(owned))
    return Found(submissions, {student: tuple(told) for student, told in notes.items()}, tuple(left_out))


def _newest(student: str, files: list[_File]) -> Submission:
    *older, newest = sorted(files)
    return Submission(student, newest.path, tuple(one.name for one in older), claimed=newest.named != student)


def _files(folder: Path, skip: Path | None) -> tuple[list[_File], list[str]]:
    """The notebooks in `folder`, and what at its top is none and holds none."""
    files: list[_File] = []
    left_out: list[str] = []
    for top in sorted(folder.iterdir()):
        if top.name.startswith(".") or _is_in(top, skip):
            continue
        found = _notebooks(top, folder, skip)
        files += found
        if not found:
            what = "a folder without a notebook in it" if top.is_dir() else "no notebook (.ipynb)"
            left_out.append(f"{clean(top.name)}: {what}")
    return files, left_out


def _notebooks(top: Path, folder: Path, skip: Path | None) -> list[_File]:
    files = []
    student = name_of(top.stem if top.suffix.lower() == ".ipynb" else top.name) or top.name
    for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
        parts = path.relative_to(folder).parts
        if path.suffix.lower() != ".ipynb" or path.is_dir() or any(part.startswith(".") for part in parts):
            continue
        if not _is_in(path, skip):
            said = _says(path)
            when = _when(path, said.get(_WHEN, ""))
            name = clean(path.relative_to(folder))
            files.append(_File(when, name, path, student, name_of(said.get(_STUDENT, ""))))
    return files


def _is_in(path: Path, skip: Path | None) -> bool:
    return skip is not None and path.resolve().is_relative_to(skip.resolve())


def _without_number(file: _File, known: frozenset[str], exact: frozenset[str]) -> str:
    """`ben` for `ben (1)`, as browsers and people number what is there already, if there is a Ben."""
    numbered = _NUMBERED(file.named)
    if numbered is None or file.named in known or file.said == file.named:
        return file.named
    base = name_of(numbered["name"])
    is_copy = base in exact and (numbered["copy"] or base in known)  # without a roster `ann-2` may be somebody
    return base if base == file.said or is_copy else file.named


def _when(path: Path, said: str) -> float:
    """When it was handed in: what it says of itself, unless that is no time or in the future; else its file's time."""
    own = path.lstat().st_mtime
    try:
        told = datetime.fromisoformat(said.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return own
    return told if told <= time.time() + 86_400 else own


def is_plain(path: Path) -> bool:
    """A regular file of a size that is read: no pipe, no link, no device."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES


def _says(path: Path) -> dict[str, str]:
    """What a submission says of itself."""
    if not is_plain(path):
        return {}
    try:
        found = read_notebook(path).get("metadata", {})
    except LabError:
        return {}
    said = found.get("k8slab") if isinstance(found, dict) else None
    if not isinstance(said, dict):
        return {}
    return {key: clean(said[key], 200) for key in (_STUDENT, _WHEN) if isinstance(said.get(key), str) and said[key]}
