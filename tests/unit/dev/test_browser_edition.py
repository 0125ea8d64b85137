"""The browser edition's parts: cells for the desktop, what goes in, wheels, the table of packages, what is refused."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from k8slab.dev import browser_edition, environment, pyodide

ROOT = Path(__file__).resolve().parents[3]
DRAWING = "import graphviz\n\ngraphviz.Digraph()"


def cell(source: str, *tags: str, kind: str = "code") -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "metadata": {"tags": list(tags)}, "source": source}
    return {**made, "outputs": ["a stored figure"]} if kind == "code" else made


def printed(code: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    return out.getvalue()


@pytest.mark.parametrize(
    ("code", "which"),
    [
        (DRAWING, " (graphviz)"),
        ("table.to_pandas()", " (pandas)"),
        ("import matplotlib.pyplot as plt\nimport numpy as np", " (matplotlib, numpy)"),
        ("serve()", ""),
    ],
)
def test_a_cell_that_needs_the_desktop_prints_one_sentence_and_shows_its_code(code: str, which: str) -> None:
    notebook = {"cells": [cell(code, "needs-desktop")]}
    (made,) = browser_edition.for_browser(notebook)["cells"]
    assert printed("".join(made["source"])) == f"This cell needs a desktop library{which}: run it in JupyterLab.\n"
    assert all(line in "".join(made["source"]) for line in code.splitlines())
    assert made["outputs"] == ["a stored figure"], "what the chapter shows stays until the cell is run"


def test_other_cells_and_the_notebook_itself_stay_as_they_are() -> None:
    cells = [cell(DRAWING, "needs-desktop"), cell("1 + 1", "hide-cell"), cell("text", "needs-desktop", kind="markdown")]
    notebook = {"cells": cells, "nbformat": 4}
    before = json.dumps(notebook)
    made = browser_edition.for_browser(notebook)
    assert json.dumps(notebook) == before
    assert made["cells"][1:] == cells[1:] and made["nbformat"] == 4


def test_what_the_table_of_contents_lists_goes_in_with_the_files_it_reads(tmp_path: Path) -> None:
    files = {
        "book/_toc.yml": "{root: book/intro, parts: [{chapters: [{file: labs/01-watch/lab}, {file: book/read}]}]}",
        "book/intro.ipynb": "",
        "book/read.md": "",
        "book/unfinished.ipynb": "",
        "book/_static/page.css": "",
        "book/quizzes/intro.yml": "",
        "labs/01-watch/lab.ipynb": "",
        "labs/01-watch/solution.ipynb": "",
        "labs/01-watch/checks.py": "",
        "labs/01-watch/.ipynb_checkpoints/lab.ipynb": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert browser_edition.contents(tmp_path) == [
        "book/intro.ipynb",
        "labs/01-watch/lab.ipynb",
        "book/quizzes/intro.yml",
        "book/read.md",
    ]


def test_a_copy_is_made_when_the_site_changed_and_removed_with_it(tmp_path: Path) -> None:
    site, html = tmp_path / "site", tmp_path / "html"
    site.mkdir()
    (site / browser_edition.STAMP).write_text("first")
    browser_edition.copy_into(html, site)
    kept = html / "lite" / "kept"
    kept.touch()
    browser_edition.copy_into(html, site)
    assert kept.exists(), "nothing changed, nothing to copy"
    (site / browser_edition.STAMP).write_text("second")
    browser_edition.copy_into(html, site)
    assert not kept.exists() and (html / "lite" / browser_edition.STAMP).read_text() == "second"
    browser_edition.copy_into(html, None)
    assert not (html / "lite").exists()


def test_without_npm_there_is_no_edition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_edition, "fingerprint", lambda root: "any")
    monkeypatch.setattr(browser_edition.system, "find", lambda name: None)
    assert browser_edition.build(tmp_path) is None


def test_an_archive_that_is_not_the_locked_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "requirements").mkdir()
    locked = {"name": "pyodide", "version": "1.0", "integrity": "sha512-of-something-else"}
    (tmp_path / "requirements" / "pyodide.json").write_text(json.dumps(locked))
    monkeypatch.setattr(pyodide.system, "find", lambda name: "npm")
    monkeypatch.setattr(pyodide, "run", lambda command, where: (where / "pyodide-1.0.tgz").write_bytes(b"forged"))
    with pytest.raises(environment.SetUpError, match=r"pyodide-1\.0\.tgz is not what requirements/pyodide\.json says"):
        pyodide.core_archive(tmp_path, tmp_path)


def test_the_checksum_is_npms(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    # of no bytes at all, as RFC 6234's test vectors and npm have it
    assert pyodide.integrity(tmp_path / "empty") == (
        "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
    )


def test_the_core_is_taken_from_the_archive_and_its_table_is_not_kept_for_packages(tmp_path: Path) -> None:
    archive = tmp_path / "core.tgz"
    with tarfile.open(archive, "w:gz") as packed:
        for name in (*pyodide.CORE, "pyodide-lock.json", "README.md"):
            content = b'{"info": {"python": "3.14.2"}, "packages": {"numpy": {}}}' if name.endswith("json") else b"core"
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    target = tmp_path / "target"
    target.mkdir()
    info = pyodide.unpack_core(archive, target)
    pyodide.write_table(target, info)
    assert json.loads((target / "pyodide-lock.json").read_text()) == {"info": {"python": "3.14.2"}, "packages": {}}
    assert not (target / "README.md").exists()


def test_yaml_is_packed_from_what_is_installed_without_its_compiled_half(tmp_path: Path) -> None:
    version = importlib.metadata.version("pyyaml")
    pyodide.repack("pyyaml", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    entry = pyodide.table_entry(wheel)
    assert (entry["name"], entry["version"]) == ("pyyaml", version) and "yaml" in entry["imports"]
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        listed = [row.split(",")[0] for row in packed.read(names[-1]).decode().splitlines()]
    assert names == listed and not [name for name in names if name.endswith(".so")]
    assert any("LICENSE" in name for name in names)


def test_needs_are_those_of_the_browser() -> None:
    texts = [
        "PyYAML>=6",
        "orjson; sys_platform != 'emscripten'",
        "anywidget; extra == 'browser'",
        "pip; extra == 'dev'",
    ]
    assert list(pyodide.needs(texts, own=True)) == ["pyyaml", "anywidget"]
    assert list(pyodide.needs(texts, own=False)) == ["pyyaml"]


def test_a_package_whose_needs_are_not_there_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "one-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("one-1.dist-info/METADATA", "Name: one\nVersion: 1\nRequires-Dist: two\n")
    with pytest.raises(environment.SetUpError, match="lacks two, which one needs"):
        pyodide.write_table(tmp_path, {})


def test_modules_and_packages_of_a_wheel_are_what_can_be_imported() -> None:
    names = ["six.py", "yaml/__init__.py", "yaml/nodes.py", "deep/down/x.py", "a-1.dist-info/METADATA", "a/data.json"]
    assert sorted(set(pyodide.imports(names))) == ["six", "yaml"]


def test_a_wheel_is_copied_without_the_stubs_of_other_packages(tmp_path: Path) -> None:
    stub = f"{pyodide.LEFT_OUT[1]}six/six.pyi"
    record = f"jedi/__init__.py,,\n{stub},,\njedi-1.dist-info/RECORD,,\n"
    with zipfile.ZipFile(tmp_path / "jedi.whl", "w") as wheel:
        for name, content in (("jedi/__init__.py", ""), (stub, ""), ("jedi-1.dist-info/RECORD", record)):
            wheel.writestr(name, content)
    pyodide.copy_wheel(tmp_path / "jedi.whl", tmp_path / "copy.whl")
    with zipfile.ZipFile(tmp_path / "copy.whl") as copy:
        assert copy.namelist() == ["jedi/__init__.py", "jedi-1.dist-info/RECORD"]
        assert stub not in copy.read("jedi-1.dist-info/RECORD").decode()
