"""The lab's folder, and its source notebook: where the solution is, and what a learner gets.

    labs/09-workqueue/
        09-workqueue.ipynb   the source, nbgrader's cell metadata, solutions between ### BEGIN SOLUTION / END SOLUTION
        checks.py            LAB: a LabSpec
        drive.py             drive(names, setting) -> do(verb, ...): plays operations against the solution, in the child
        mutants/*.py         wrong implementations: CHANGES to the solution, a docstring that says what is wrong,
                             KILLED_BY the check and CAUSE the cause by which it has to be noticed
        second.py            another correct solution
        README.md

Upstream: nbgrader/preprocessors/clearsolutions.py, nbgrader/nbgraderformat/v3.py
Simplified: of nbgrader's format what labs need: solution cells and graded cells, schema version 3.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import symtable
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from k8slab.lab.model import LabSpec

__all__ = [
    "Lab",
    "LabError",
    "Mutant",
    "UnknownLabError",
    "find_lab",
    "labs",
    "names_of",
    "not_utf_8",
    "other_names",
    "read_notebook",
    "solution_of",
    "starter_of",
]

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"

_HALF = re.compile("[\\ud800-\\udfff]")

Notebook = dict[str, Any]
Cell = dict[str, Any]


class LabError(ValueError):
    """A lab, a notebook or a name that cannot be used; the text says what was expected."""


class UnknownLabError(LabError):
    """There is no lab of this name; the text names those there are."""


@dataclass(frozen=True)
class Mutant:
    """A wrong implementation: `why` it is wrong, and the check that has to notice (`cause`: by which cause)."""

    name: str
    code: str
    why: str
    killed_by: str
    cause: str


@dataclass(frozen=True)
class Lab:
    """A lab's folder, read when asked."""

    folder: Path

    @property
    def name(self) -> str:
        """`09-workqueue`"""
        return self.folder.name

    @cached_property
    def spec(self) -> LabSpec:
        module = _load(self.folder / "checks.py", f"k8slab_lab_{self.name.replace('-', '_')}")
        found = getattr(module, "LAB", None)
        if not isinstance(found, LabSpec):
            raise LabError(f"{self.folder / 'checks.py'}: expected LAB, a LabSpec")
        return found

    @cached_property
    def notebook(self) -> Notebook:
        return read_notebook(self.folder / f"{self.name}.ipynb")

    @property
    def drive(self) -> str:
        return (self.folder / "drive.py").read_text(encoding="utf-8")

    @property
    def solution(self) -> str:
        """The code of the solution cells."""
        return solution_of(self.notebook, f"{self.name}: the source notebook")

    @property
    def second(self) -> str:
        return (self.folder / "second.py").read_text(encoding="utf-8")

    @property
    def starter(self) -> Notebook:
        return starter_of(self.notebook)

    @property
    def starter_code(self) -> str:
        """The code of the starter's solution cells."""
        return solution_of(self.starter, f"{self.name}: the starter")

    def mutants(self) -> list[Mutant]:
        """The named wrong implementations, by name."""
        return [_mutant(path, self.solution) for path in sorted((self.folder / "mutants").glob("*.py"))]


def _load(path: Path, name: str) -> Any:
    where = importlib.util.spec_from_file_location(name, path)
    if where is None or where.loader is None or not path.exists():
        raise LabError(f"{path}: expected the checks of a lab")
    module = importlib.util.module_from_spec(where)
    sys.modules[name] = module  # where dataclasses look for the module of a class
    where.loader.exec_module(module)
    return module


def _mutant(path: Path, solution: str) -> Mutant:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    why = ast.get_docstring(tree)
    if not why or not {"KILLED_BY", "CAUSE", "CHANGES"} <= set(named):
        raise LabError(f"{path}: expected a docstring that says what is wrong, KILLED_BY, CAUSE and CHANGES")
    code = solution
    for old, new in named["CHANGES"]:
        if code.count(old) != 1:
            raise LabError(f"{path}: {old!r}: expected once in the solution, found {code.count(old)} times")
        code = code.replace(old, new)
    return Mutant(path.stem.replace("_", "-"), code, why, named["KILLED_BY"], named["CAUSE"])


# -- which labs there are --------------------------------------------------------------------------


def _folders() -> Iterator[Path]:
    """Of an installed package its own copy, else the clone's `labs`."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "_labs", package.parent / "labs"):
        if place.is_dir():
            yield from sorted(path.parent for path in place.glob("*/checks.py"))
            return


def labs() -> list[Lab]:
    """All labs, by number."""
    return [Lab(folder) for folder in _folders()]


def find_lab(name: str) -> Lab:
    """By `09-workqueue`, `09`, `9` or `workqueue`. UnknownLabError names what there is."""
    known = labs()
    for lab in known:
        number, _, word = lab.name.partition("-")
        if name in (lab.name, number, number.lstrip("0"), word):
            return lab
    raise UnknownLabError(
        f"lab {name!r}: expected one of {', '.join(lab.name for lab in known) or '(none is installed)'}"
    )


# -- notebooks -------------------------------------------------------------------------------------


def read_notebook(path: Path) -> Notebook:
    """A notebook file as plain data. Half a character in it, which cannot be written again, becomes U+FFFD. LabError
    when it is no notebook."""
    try:
        found = _whole(json.loads(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise LabError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise LabError(f"{path}: is no notebook: {not_utf_8(error)}") from None
    except (ValueError, RecursionError) as error:
        raise LabError(f"{path}: is no notebook: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        raise LabError(f"{path}: is no notebook: expected an object with a list of cells")
    if not all(isinstance(cell, dict) for cell in found["cells"]):
        raise LabError(f"{path}: is no notebook: every cell should be an object")
    return found


def not_utf_8(error: UnicodeDecodeError) -> str:
    """Which byte, and what was expected."""
    byte = error.object[error.start]
    return f"expected text in UTF-8, found the byte 0x{byte:02x} at position {error.start}"


def _whole(value: Any) -> Any:
    """The same without lone surrogates."""
    if isinstance(value, str):
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return {_whole(key): _whole(one) for key, one in value.items()} if isinstance(value, dict) else value


def source(cell: Cell) -> str:
    """The text of a cell, written as a string or as a list of lines."""
    text = cell.get("source", "")
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def grading(cell: Cell) -> dict[str, Any]:
    """nbgrader's metadata of a cell; empty without."""
    found = (cell.get("metadata") or {}).get("nbgrader") if isinstance(cell.get("metadata"), dict) else None
    return found if isinstance(found, dict) else {}


def solution_cells(notebook: Notebook) -> list[Cell]:
    """The code cells that are a learner's to write, in order. Of two with one id the first counts."""
    found: dict[str, Cell] = {}
    for cell in notebook["cells"]:
        if cell.get("cell_type") == "code" and grading(cell).get("solution") and not grading(cell).get("grade"):
            found.setdefault(str(grading(cell).get("grade_id")), cell)
    return list(found.values())


def solution_of(notebook: Notebook, where: str) -> str:
    """What the solution cells hold, markers left out. LabError without solution cells."""
    cells = solution_cells(notebook)
    if not cells:
        raise LabError(f"{where}: no solution cell (nbgrader metadata with solution: true) is left in it")
    return "\n\n".join(_without_markers(source(cell)) for cell in cells) + "\n"


def other_names(notebook: Notebook) -> frozenset[str]:
    """What code cells define that are not a learner's solution."""
    own = [id(cell) for cell in solution_cells(notebook)]
    others = [cell for cell in notebook["cells"] if cell.get("cell_type") == "code" and id(cell) not in own]
    return names_of(map(source, others))


def names_of(cells: Iterable[str]) -> frozenset[str]:
    """The names that cells define, import or assign to outside of functions. A cell that is no Python has none."""
    found: set[str] = set()
    for cell in cells:
        plain = "\n".join("" if line.startswith(("%", "!")) else line for line in cell.split("\n"))
        try:
            table = symtable.symtable(plain, "<cell>", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # no cell that counts, and nested as deep as its author liked
        found |= {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    return frozenset(found)


def _without_markers(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.strip() not in (BEGIN, END))


def starter_of(notebook: Notebook) -> Notebook:
    """The notebook a learner gets: solutions cut out, no outputs."""
    copy: Notebook = json.loads(json.dumps(notebook))
    for cell in copy["cells"]:
        if cell["cell_type"] != "code":
            continue
        cell["outputs"], cell["execution_count"] = [], None
        if grading(cell).get("solution"):
            cell["source"] = _lines(cut(source(cell)))
    copy["metadata"].pop("widgets", None)
    return copy


def cut(text: str) -> str:
    """A solution cell with a stub in place of every solution, as nbgrader cuts it."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.strip() == BEGIN:
            if inside:
                raise LabError(f"{BEGIN} inside a solution")
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + part for part in STUB.split("\n")]
        elif line.strip() == END:
            inside = False
        elif not inside:
            lines.append(line)
    if inside:
        raise LabError(f"{BEGIN} without {END}")
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def with_solution(notebook: Notebook, parts: Sequence[str]) -> Notebook:
    """A copy of `notebook` with these texts in its solution cells."""
    copy: Notebook = json.loads(json.dumps(notebook))
    for cell, text in zip(solution_cells(copy), parts, strict=True):
        cell["source"] = _lines(text)
    return copy
