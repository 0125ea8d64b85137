"""The book builds strictly, its extension shares text, and no built page names a foreign host to load from."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from k8slab.dev import public

ROOT = Path(__file__).resolve().parents[2]
LOADS = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\bhref=["']?(?:https?:)?//"""
)


@pytest.fixture(scope="module")
def extension() -> ModuleType:
    spec = importlib.util.spec_from_file_location("k8slab_book", ROOT / "book" / "_ext" / "k8slab_book.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_book_builds_without_a_warning_and_loads_nothing_from_another_host(book_html: Path) -> None:
    pages = sorted(book_html.rglob("*.html"))
    assert book_html / "book" / "intro.html" in pages
    found = {p.name: m[0] for p in pages if (m := LOADS.search(p.read_text(encoding="utf-8")))}
    assert found == {}


@pytest.mark.parametrize("package", public.packages(ROOT))
def test_a_reference_page_lists_exactly_the_public_names(package: str, book_html: Path) -> None:
    page = book_html / "book/reference/api" / f"{package.removeprefix('k8slab.')}.html"
    anchors = re.findall(rf'<dt class="sig[^"]*" id="{re.escape(package)}\.(\w+)">', page.read_text(encoding="utf-8"))
    assert sorted(anchors) == sorted(importlib.import_module(package).__all__)


def test_equal_long_texts_of_widgets_are_stored_once(extension: ModuleType) -> None:
    code = "x" * 300
    models = {name: {"model_module": "anywidget", "state": {"_esm": code, "n": 1, "t": name}} for name in "abc"}
    shared = extension.share({"version_major": 2, "state": models})
    assert shared["shared"] == {"0": code}
    assert [model["state"] for model in shared["state"].values()] == [
        {"_esm": "k8slab-shared:0", "n": 1, "t": name} for name in "abc"
    ]
    assert models["a"]["state"]["_esm"] == code, "the document given must stay as it was"


def test_short_or_single_texts_stay_where_they_are(extension: ModuleType) -> None:
    models = {name: {"state": {"_esm": name * 300, "_css": "short"}} for name in "ab"}
    assert extension.share({"state": models}) == {"state": models, "shared": {}}
