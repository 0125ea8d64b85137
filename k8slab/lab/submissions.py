"""Who handed in what: a folder of submissions, and the roster of those who should have.

Names are the same however their accents are written (Unicode's NFC): a file system may take them apart.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import csv
import io
import stat
import time
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from k8slab.lab.model import clean
from k8slab.lab.source import LabError, read_notebook

__all__ = ["MOST_BYTES", "Submission", "UnknownStudentError", "find_submissions", "is_plain", "name_of", "read_roster"]

MOST_BYTES = 10 << 20
_STUDENT, _WHEN = "student", "submitted_at"
_HEADS = (_STUDENT, "name", "login", "username", "user", "id", "email", "e-mail", "mail")
"""What the column of the students may be called; the first of these that is there."""


class UnknownStudentError(LabError):
    """Nobody of this name handed in; the text names some who did."""


def name_of(text: str) -> str:
    """A student's name, the same however it was typed."""
    return unicodedata.normalize("NFC", clean(text.strip(), 200))


@dataclass(frozen=True)
class Submission:
    """One file of one student. `others`: older ones of the same student, not graded. `claimed`: only the notebook
    itself says whose it is, not its name."""

    student: str
    path: Path
    others: tuple[str, ...] = ()
    claimed: bool = False


# -- the roster ------------------------------------------------------------------------------------


def read_roster(path: Path) -> list[str]:
    """The students of a CSV file, separated by commas, semicolons or tabs.

    With a line of headers its column `student`, else `name`, `login`, `email` ...; without one the first column. A line
    that is there twice counts once. LabError says which line cannot be used, and why.
    """
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
        named = name_of(parts[0] if len(parts) > 1 else path.stem)
        said = _says(path)
        student = name_of(said.get(_STUDENT, "")) or named
        # a file under somebody's own name counts before one that only says it is theirs
        found.setdefault(student, []).append((named == student, _when(path, said.get(_WHEN, "")), str(path), path))
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
