"""A learner's copy of a lab: its links lead into the book, or are none."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from k8slab.dev.glossary import terms
from k8slab.lab import Lab, labs
from k8slab.lab.source import read_notebook, source, starter_of
from k8slab.lab.work import placed, reset, start, write_notebook

ROOT = Path(__file__).resolve().parents[3]
LINK = re.compile(r"\]\((?!http)([^)#]+)(?:#([^)]+))?\)")


def links(path: Path) -> list[tuple[str, str]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        (found[1], found[2] or "")
        for cell in cells
        if cell["cell_type"] == "markdown"
        for found in LINK.finditer(source(cell))
    ]


def links_of(lab: Lab) -> list[tuple[str, str]]:
    return links(lab.folder / f"{lab.name}.ipynb")


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_a_labs_page_links_its_words_to_the_glossary_and_a_chapter(lab: Lab) -> None:
    """Its page stands in book/labs."""
    page = (ROOT / "book/reference/glossary.md").read_text(encoding="utf-8")
    known = {f"term-{name.replace(' ', '-')}" for term in terms(page) for name in term.english}
    found = links_of(lab)
    words = [anchor for target, anchor in found if target == "../reference/glossary.md"]
    assert len(words) >= 5 and set(words) <= known
    assert len(words) == len(set(words)), "the first use of each is linked"
    assert all((ROOT / "book/labs" / target).resolve().is_file() for target, _ in found)
    assert any(target.startswith(("../start/", "../etcd/", "../scheduler/")) for target, _ in found)


@pytest.mark.parametrize("lab", labs(), ids=lambda lab: lab.name)
def test_a_labs_page_says_how_to_start_it(lab: Lab) -> None:
    first = source(lab.starter["cells"][0])
    number = lab.name.partition("-")[0]
    assert f"`k8slab lab start {number}`" in first and f"`.venv/bin/k8slab lab start {number}`" in first
    assert "Open in the browser" in first


def test_links_of_a_copy_in_the_clone_lead_into_the_book(tmp_path: Path) -> None:
    """A clone like ours: the book beside the learner's folder."""
    shutil.copytree(ROOT / "book", tmp_path / "book", ignore=shutil.ignore_patterns("labs", "_static"))
    (tmp_path / "mine" / "09").mkdir(parents=True)
    for lab in labs():
        path = tmp_path / "mine" / "09" / "copy.ipynb"
        write_notebook(path, placed(lab.starter, path.parent, tmp_path / "book"))
        found = links(path)
        assert found == [(f"../../book/{target[3:]}", anchor) for target, anchor in links_of(lab)]
        assert all((path.parent / target).resolve().is_file() for target, _ in found)


def test_a_copy_elsewhere_has_no_links_and_names_no_place_of_this_machine(tmp_path: Path) -> None:
    for lab in labs():
        path = start(lab, tmp_path / lab.name)
        assert links(path) == []
        assert str(ROOT.name) + "/book" not in path.read_text(encoding="utf-8")
        reset(lab, path)
        assert links(path) == []


def test_a_source_for_nbgrader_has_no_links_and_gives_the_same_starter(tmp_path: Path) -> None:
    """As the page for teachers writes it."""
    for lab in labs():
        path = tmp_path / f"{lab.name}.ipynb"
        write_notebook(path, placed(lab.notebook, tmp_path))
        assert links(path) == []
        ours = [source(cell) for cell in placed(lab.starter, tmp_path)["cells"]]
        assert [source(cell) for cell in starter_of(read_notebook(path))["cells"]] == ours


def test_without_a_book_there_are_no_links() -> None:
    cell = {"cell_type": "markdown", "source": ["a [queue](../reference/glossary.md#term-work-queue) and\n", "[it](x)"]}
    notebook = {"cells": [cell, {"cell_type": "code", "source": ["[a](../b)"]}]}
    found = placed(notebook, Path("somewhere"), Path("nowhere"))
    assert found["cells"][0]["source"] == ["a queue and\n", "[it](x)"]
    assert found["cells"][1] == notebook["cells"][1]
