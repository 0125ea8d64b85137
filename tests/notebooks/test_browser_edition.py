"""The built browser edition: every notebook of the book is in it and linked, and no file of it leads elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from k8slab.dev.browser_edition import for_browser, listed

ROOT = Path(__file__).resolve().parents[2]
PAGES = listed(yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")))
LINK = re.compile(r'<p class="k8slab-launch"><a href="([^"]*)">Open in the browser</a>')
# Hosts that serve code, fonts and packages to pages. Documentation and licences may be named in comments.
# The last two also keep tests/browser/test_lite.py honest: it leaves out what Chromium itself asks those hosts.
SERVES_CODE = re.compile(
    r"jsdelivr|unpkg\.|cdnjs|gstatic\.|esm\.sh|skypack|jspm\.|bootcdn|pypi\.org|pythonhosted|(?<!docs\.)npmjs\.(?:com|org)"
    r"|//[\w.-]+\.google(?:apis)?\.com|gvt1\.com"
)


def settings(edition: Path) -> dict[str, Any]:
    text = (edition / "jupyter-lite.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)["jupyter-config-data"]
    return data


@pytest.mark.parametrize("page", PAGES)
def test_a_page_made_from_a_notebook_leads_to_it(page: str, edition: Path) -> None:
    built = edition.parent / f"{page}.html"
    links = LINK.findall(built.read_text(encoding="utf-8"))
    notebook = ROOT / f"{page}.ipynb"
    assert len(links) == (1 if notebook.exists() else 0)
    for link in map(urlsplit, links):
        assert not link.scheme and not link.netloc and not link.path.startswith("/"), "the link must be relative"
        assert (built.parent / link.path).resolve() == (edition / "notebooks" / "index.html").resolve()
        copy = edition / "files" / parse_qs(link.query)["path"][0]
        assert json.loads(copy.read_text()) == for_browser(json.loads(notebook.read_text(encoding="utf-8")))


def test_every_quiz_bank_is_there(edition: Path) -> None:
    banks = {path.name: path.read_bytes() for path in (ROOT / "book" / "quizzes").glob("*.yml")}
    copies = {path.name: path.read_bytes() for path in (edition / "files" / "book" / "quizzes").glob("*.yml")}
    assert copies == banks


def test_no_script_page_or_style_names_a_host_that_serves_code(edition: Path) -> None:
    kinds = {".html", ".js", ".mjs", ".css"}
    files = [path for path in edition.rglob("*") if path.suffix in kinds]
    assert len(files) > 100
    found = {
        str(path.relative_to(edition)): match[0]
        for path in files
        if (match := SERVES_CODE.search(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert found == {}


def test_what_the_pages_read_first_names_no_host_at_all(edition: Path) -> None:
    read_first = ("jupyter-lite.json", "overrides.json", "all.json", "pyodide-lock.json")
    files = [path for path in edition.rglob("*.json") if path.name in read_first]
    assert len(files) > 5
    found = {
        str(path.relative_to(edition)): named
        for path in files
        # the name of the language of a settings schema looks like an address
        if (
            named := set(re.findall(r'\w+://[^\s"]+', path.read_text("utf-8")))
            - {"http://json-schema.org/draft-07/schema"}
        )
    }
    assert found == {}


def test_packages_come_from_the_folder_with_their_checksums_and_no_registry_is_asked(edition: Path) -> None:
    kernel = settings(edition)["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["disablePyPIFallback"] is True
    assert kernel["pyodideUrl"].startswith("./") and all(url.startswith("./") for url in kernel["pipliteUrls"])
    folder = edition / "static" / "pyodide"
    packages = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    assert {"k8slab", "pyyaml", "anywidget", "ipywidgets", *kernel["loadPyodideOptions"]["packages"]} <= set(packages)
    assert "orjson" not in packages
    for package in packages.values():
        assert hashlib.sha256((folder / package["file_name"]).read_bytes()).hexdigest() == package["sha256"]
        assert set(package["depends"]) <= set(packages)


def test_only_the_chosen_extensions_are_in_it(edition: Path) -> None:
    names = [extension["name"] for extension in settings(edition)["federated_extensions"]]
    assert sorted(names) == [
        "@jupyter-widgets/jupyterlab-manager",
        "@jupyterlite/pyodide-kernel-extension",
        "anywidget",
        "jupyterlab-myst",
    ]
