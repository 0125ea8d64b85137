"""A learner's copy of a lab: where it is, what was shown already, how it is handed in.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

from k8slab.lab.source import (
    Lab,
    LabError,
    Notebook,
    grading,
    not_utf_8,
    other_names,
    read_notebook,
    solution_cells,
    solution_of,
    source,
)

__all__ = [
    "code_of",
    "elsewhere_of",
    "find_work",
    "hints_shown",
    "placed",
    "reset",
    "start",
    "submit",
    "write_notebook",
]

_STATE = ".k8slab-lab.json"
_BOOK = Path(__file__).resolve().parents[2] / "book"
_LINK = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(#[^)]*)?\)")


def write_notebook(path: Path, notebook: Notebook) -> None:
    """All or nothing."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(path)


def placed(notebook: Notebook, folder: Path, book: Path = _BOOK) -> Notebook:
    """A copy of a lab's notebook whose links into the book lead there from `folder`, if that is in the same clone; else
    they are plain text."""
    here = folder.resolve()

    def link(found: re.Match[str]) -> str:
        target = book / found[2]
        if not target.exists() or not here.is_relative_to(book.resolve().parent):
            return found[1]
        return f"[{found[1]}]({Path(os.path.relpath(target, here)).as_posix()}{found[3] or ''})"

    copy: Notebook = json.loads(json.dumps(notebook))
    for cell in copy["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = _LINK.sub(link, source(cell)).splitlines(keepends=True)
    return copy


def start(lab: Lab, folder: Path) -> Path:
    """Write the starter into `folder`. LabError when there is one: nothing is overwritten."""
    path = folder / f"{lab.name}.ipynb"
    if path.exists():
        raise LabError(f"{path}: is there already; go on with it, or begin anew with: k8slab lab reset {lab.name}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_notebook(path, placed(lab.starter, folder))
    except OSError as error:
        raise LabError(f"{folder}: cannot be written: {error.strerror}") from None
    return path


def reset(lab: Lab, path: Path) -> Path:
    """Put the starter in place of the notebook, which is kept beside; returns where."""
    if path.suffix != ".ipynb":
        raise LabError(f"{path}: only a notebook of the lab is begun anew")
    number = 1
    while (kept := path.with_name(f"{path.stem}.before-reset-{number}.ipynb")).exists():
        number += 1
    path.rename(kept)
    write_notebook(path, placed(lab.starter, path.parent))
    (path.parent / _STATE).unlink(missing_ok=True)
    return kept


def find_work(lab: Lab, where: str) -> Path:
    """The learner's file: `where`, or the lab's notebook in it, or here. LabError says what was looked for."""
    begin = f"begin with: k8slab lab start {lab.name}"
    place = Path(where) if where else Path()
    try:
        is_folder = place.is_dir()
        path = place / f"{lab.name}.ipynb" if is_folder else place
        if path.is_file():
            return path
        is_there = path.exists()
    except OSError as error:
        raise LabError(f"{where}: cannot be read: {error.strerror}") from None
    if not where:
        raise LabError(f"{path}: expected your notebook of this lab; {begin}")
    if is_folder:
        raise LabError(f"{where}: a folder without {lab.name}.ipynb: expected your notebook of this lab; {begin}")
    what = "is no file" if is_there else "no such file"
    raise LabError(f"{where}: {what}: expected your notebook of this lab or a Python file; {begin}")


def code_of(path: Path) -> str:
    """What of a notebook (its solution cells) or of a Python file (all of it) is checked."""
    if path.suffix == ".py":
        try:
            return path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise LabError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise LabError(f"{path}: cannot be read: {not_utf_8(error)}") from None
    return solution_of(read_notebook(path), str(path))


def elsewhere_of(path: Path) -> frozenset[str]:
    """What a notebook defines in cells that do not count; of a Python file everything counts."""
    return frozenset() if path.suffix == ".py" else other_names(read_notebook(path))


def submit(lab: Lab, path: Path, student: str, out: Path) -> Path:
    """Pack the notebook for handing in: the student, the time, the solution cells' outputs dropped."""
    too_long = len(os.fsencode(f"{student.strip()}.ipynb.new")) > 255
    if not student.strip() or "/" in student or "\\" in student or student.startswith(".") or too_long:
        raise LabError(f"student {student[:60]!r}: expected a name that can be a file's")
    if path.suffix != ".ipynb":
        raise LabError(f"{path}: hand in the notebook; put your code into its cells first")
    notebook = read_notebook(path)
    solution_of(notebook, str(path))
    theirs, ours = ([grading(cell).get("grade_id") for cell in solution_cells(one)] for one in (notebook, lab.starter))
    if not set(theirs) & set(ours):
        raise LabError(f"{path}: is no notebook of {lab.name}: expected solution cells {', '.join(map(str, ours))}")
    for cell in solution_cells(notebook):
        cell["outputs"], cell["execution_count"] = [], None
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    metadata: dict[str, Any] = notebook.setdefault("metadata", {})
    metadata["k8slab"] = {"lab": lab.name, "student": student.strip(), "submitted_at": when}
    target = out / f"{student.strip()}.ipynb" if out.is_dir() else out
    if not target.parent.is_dir():
        raise LabError(f"{target.parent}: expected a folder that exists")
    if target.exists() and _packed(target) != (lab.name, student.strip()):
        raise LabError(f"{target}: is there already, and no submission of {student} for {lab.name}; name another --to")
    write_notebook(target, notebook)
    return target


def _packed(path: Path) -> tuple[str, str] | None:
    """Lab and student of a submission; None: it is none."""
    try:
        found = read_notebook(path).get("metadata", {}).get("k8slab", {})
        return str(found["lab"]), str(found["student"])
    except (LabError, AttributeError, KeyError, TypeError):
        return None


def hints_shown(folder: Path, lab: str, check: str, cause: str) -> int:
    """How many hints of a check's cause were shown before, counting this one."""
    path = folder / _STATE
    try:
        state = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError:
        state = {}  # only a memory of hints
    key = f"{lab}/{check}/{cause}"
    shown = state.get(key, 0) if isinstance(state, dict) else 0
    count = shown + 1 if isinstance(shown, int) else 1
    path.write_text(json.dumps({**(state if isinstance(state, dict) else {}), key: count}, indent=1), encoding="utf-8")
    return count
