"""The status page: what is finished, how long each chapter takes to run, how many questions, labs and drills there are.

Seconds come from book/reference/status.json, which `notebook` writes when it stores a chapter; everything else is
counted.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

__all__ = ["Chapter", "chapters", "labs", "page", "record", "seconds"]

PAGE = "book/reference/status.md"
TIMES = "book/reference/status.json"
HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)
QUESTION = re.compile(r"^\*\*(.+?)\*\*$", re.MULTILINE | re.DOTALL)
HEAD = """\
# Status

<!-- Written by `python -m k8slab.dev status`. -->

What is finished. A chapter is listed when its code runs, its claims are checked and its questions have answers.
"""


class Chapter(NamedTuple):
    """A page of the book. `name`: its path below the root. `seconds`: to run it, rounded up; None without code."""

    name: str
    part: str
    title: str
    question: str
    seconds: int | None
    cells: int
    questions: int


class Lab(NamedTuple):
    """`mutants`: how many wrong implementations its checks are tried on."""

    name: str
    title: str
    checks: int
    points: int
    mutants: int


LABS = "book/labs/"


def listed(toc: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Part and name of every page in the table of contents."""
    yield "", toc["root"]
    for part in toc.get("parts", []):
        for entry in part["chapters"]:
            yield part["caption"], entry["file"]


def chapters(root: Path) -> list[Chapter]:
    """Every page of the table of contents but those of the reference part, and those cut from labs."""
    toc = yaml.safe_load((root / "book/_toc.yml").read_text(encoding="utf-8"))
    times = seconds(root)
    pages = [(part, name) for part, name in listed(toc) if part != "Reference" and not name.startswith(LABS)]
    return [chapter(root, part, name, times) for part, name in pages]


def chapter(root: Path, part: str, name: str, times: Mapping[str, int]) -> Chapter:
    notebook = root / f"{name}.ipynb"
    if notebook.exists():
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        prose = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        code = sum(cell["cell_type"] == "code" for cell in cells)
    else:
        prose, code = (root / f"{name}.md").read_text(encoding="utf-8"), 0
    title, asked = HEADING.search(prose), QUESTION.search(prose)
    if title is None:
        raise ValueError(f"{name} has no heading")
    question = " ".join(asked[1].split()) if asked else ""
    return Chapter(name, part, title[1], question, times.get(f"{name}.ipynb"), code, questions(root, name))


def questions(root: Path, name: str) -> int:
    """Questions in the bank of a chapter: book/quizzes/<its name>.yml."""
    from k8slab.widgets import load_bank

    bank = root / "book" / "quizzes" / f"{Path(name).name}.yml"
    return len(load_bank(bank).questions) if bank.exists() else 0


def labs(root: Path) -> list[Lab]:
    """The labs of the clone, by number."""
    from k8slab.lab import Lab as Kit

    kits = [Kit(path.parent) for path in sorted((root / "labs").glob("*/checks.py"))]
    return [Lab(kit.name, kit.spec.title, len(kit.spec.checks), kit.spec.points, len(kit.mutants())) for kit in kits]


def drills(root: Path) -> list[str]:
    """Topics of `k8slab drill`, when the package has it."""
    if not (root / "k8slab" / "drill" / "__init__.py").exists():
        return []
    return list(getattr(importlib.import_module("k8slab.drill"), "TOPICS", ()))


def page(root: Path) -> str:
    """The text of book/reference/status.md."""
    found = chapters(root)
    parts = [HEAD, "\n## Chapters\n", table(found)]
    asked = sum(chapter.questions for chapter in found)
    parts.append(
        f"\n{len(found)} pages, {asked} questions. *Run*: seconds to run all cells once, with the start of the "
        "kernel, rounded up, on the machine that stored the chapter. *Cells*: those with code. *Quiz*: its questions.\n"
    )
    if rows := labs(root):
        lines = [f"| {lab.name} | {lab.title} | {lab.checks} | {lab.points} | {lab.mutants} |\n" for lab in rows]
        head = "| lab | what it is | checks | points | mutants |\n| --- | --- | ---: | ---: | ---: |\n"
        parts += ["\n## Labs\n\n", head, *lines]
    if topics := drills(root):
        parts += ["\n## Drills\n\n", *(f"- `k8slab drill {topic}`\n" for topic in topics)]
    return "".join(parts)


def table(found: list[Chapter]) -> str:
    lines = ["\n```{table}\n:class: k8slab-narrow\n\n", "| chapter and its question | run, s | cells | quiz |\n"]
    lines.append("| --- | ---: | ---: | ---: |\n")
    for chapter in found:
        numbers = [dash(chapter.seconds), dash(chapter.cells), dash(chapter.questions)]
        link = f"[{chapter.title}](/{chapter.name})".replace("(/book/", "(../")
        asked = f"<br>{chapter.question}" if chapter.question else ""
        lines.append(f"| {link}{asked} | {' | '.join(numbers)} |\n")
    return "".join([*lines, "```\n"])


def dash(number: int | None) -> str:
    return str(number) if number else "\N{EN DASH}"


def seconds(root: Path) -> dict[str, int]:
    """Notebook, below the root -> seconds it took."""
    path = root / TIMES
    found: dict[str, int] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def record(root: Path, measured: Mapping[str, float]) -> None:
    """Add measurements, rounded up, and drop those of notebooks that are gone."""
    times = {**seconds(root), **{name: math.ceil(took) for name, took in measured.items()}}
    kept = {name: took for name, took in sorted(times.items()) if (root / name).exists()}
    (root / TIMES).write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
