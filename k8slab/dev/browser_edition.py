"""The browser edition: JupyterLite with the book's notebooks, as files that any web server can hand out.

`build()` makes it in `_build/lite` and makes it again only when something that goes into it has changed.
Cells tagged `needs-desktop` are replaced in its copies of the notebooks; the notebooks themselves stay as they are.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from k8slab.dev import pyodide, system
from k8slab.dev.environment import SetUpError, say

__all__ = ["build", "copy_into", "for_browser", "listed"]

FOLDERS = ("book",)
# The reader's view of one notebook, its list of files, its editor for those of a lab; JupyterLab for who wants it
APPS = ("notebooks", "tree", "edit", "lab")
EXTENSIONS = (
    "@jupyterlite/pyodide-kernel-extension",  # Python
    "@jupyter-widgets/jupyterlab-manager",  # ipywidgets
    "anywidget",  # steppers, quizzes
    "jupyterlab-myst",  # notes and cross-references in the text
)
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
# What Pyodide and its kernel would fall back on if they were not told where their files are
ELSEWHERE = b"https://cdn.jsdelivr.net/"
DESKTOP_ONLY = ("graphviz", "matplotlib", "numpy", "pandas")
PREFERENCES: dict[str, Any] = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"},
    # All cells stay in the page: a stepper scrolled out of sight keeps its place, and the browser's search finds all
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
STAMP = "k8slab-edition.txt"


def build(root: Path) -> Path | None:
    """The folder of the site, up to date; None where npm is missing and Pyodide was never downloaded."""
    work = root / "_build" / "lite"
    with alone(work):
        site, wanted = work / "site", fingerprint(root)
        if stamp(site) == wanted:
            return site
        if not system.find("npm") and not list((work / "downloads").glob("pyodide-*.tgz")):
            return None
        say("building the browser edition in _build/lite")
        (site / STAMP).unlink(missing_ok=True)
        make(root, work)
        (site / STAMP).write_text(wanted, encoding="utf-8")
        return site


@contextmanager
def alone(work: Path) -> Iterator[None]:
    """One build at a time: parallel tests share the folder."""
    import fcntl

    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def stamp(site: Path) -> str | None:
    file = site / STAMP
    return file.read_text(encoding="utf-8") if file.exists() else None


def fingerprint(root: Path) -> str:
    """Changes with every file that goes into the site: contents, package, locked versions, and how it is built."""
    files = [root / "pyproject.toml", root / "README.md", root / "book" / "_toc.yml"]
    files += [root / "requirements" / name for name in ("book.txt", "browser.txt", "pyodide.json")]
    for folder in ("k8slab", "labs"):  # both are in the wheel
        files += [path for path in (root / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files += [root / name for name in contents(root)]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def listed(entry: object) -> list[str]:
    """The pages that a table of contents names, without suffix."""
    if isinstance(entry, list):
        return [page for item in entry for page in listed(item)]
    if not isinstance(entry, dict):
        return []
    own = [str(entry[key]) for key in ("root", "file") if key in entry]
    return own + [page for key in ("parts", "chapters", "sections") for page in listed(entry.get(key))]


def contents(root: Path) -> list[str]:
    """Paths of the notebooks of the table of contents and of the files that they may read (banks).

    Labs read their checks from the wheel.
    """
    import yaml

    toc = yaml.safe_load((root / "book" / "_toc.yml").read_text(encoding="utf-8"))
    pages = [f"{page.removesuffix('.ipynb')}.ipynb" for page in listed(toc)]
    found = [page for page in pages if (root / page).exists()]
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root)
            hidden = any(part.startswith(("_", ".")) for part in inside.parts)
            if path.is_file() and not hidden and path.suffix not in (".ipynb", ".pyc"):
                found.append(inside.as_posix())
    return found


def make(root: Path, work: Path) -> None:
    """Build `work/site` from nothing but `work/downloads`."""
    source, site = work / "source", work / "site"
    for old in (source, site):
        shutil.rmtree(old, ignore_errors=True)
    extensions = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    kernel_wheels = extensions / "@jupyterlite" / "pyodide-kernel-extension" / "static" / "pypi"
    pyodide.folder(root, work / "downloads", kernel_wheels, source / "static" / "pyodide")
    for name in contents(root):
        copy = source / "contents" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".ipynb"):
            notebook = json.loads((root / name).read_text(encoding="utf-8"))
            copy.write_text(json.dumps(for_browser(notebook), ensure_ascii=False), encoding="utf-8")
        else:
            shutil.copyfile(root / name, copy)
    write(source / "jupyter-lite.json", {"jupyter-lite-schema-version": 0, "jupyter-config-data": settings()})
    write(source / "overrides.json", PREFERENCES)
    write(source / "jupyter_lite_config.json", {"LiteBuildConfig": options(extensions, site)})
    command = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", str(source)]
    done = subprocess.run(command, cwd=source, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetUpError(f"the browser edition does not build ({done.returncode}):\n{done.stdout}{done.stderr}")
    shutil.copytree(favicons(), site / "static" / "favicons")
    forget_elsewhere(site)


def favicons() -> Path:
    """The icons that say whether a kernel is busy: JupyterLite asks for them but brings none."""
    spec = importlib.util.find_spec("jupyter_server")
    if spec is None or spec.origin is None:
        raise SetUpError("jupyter_server, which requirements/book.txt lists, is not installed")
    return Path(spec.origin).parent / "static" / "favicons"


def forget_elsewhere(site: Path) -> None:
    """Point the fall-back addresses in scripts into the site, so that a missing file is a 404 and not a request."""
    for script in [*site.rglob("*.js"), *site.rglob("*.mjs")]:
        code = script.read_bytes()
        if ELSEWHERE in code:
            script.write_bytes(code.replace(ELSEWHERE, b"./no-other-host/"))


def settings() -> dict[str, Any]:
    """What the pages of the edition read first."""
    return {
        "appName": "k8slab in the browser",
        "exposeAppInBrowser": True,  # the tests ask it which cells have run
        "litePluginSettings": {
            KERNEL: {
                "disablePyPIFallback": True,  # a package that is not here is an error, not a question to the network
                "loadPyodideOptions": {"packages": pyodide.PACKAGES_LOADED_FIRST},
            }
        },
    }


def options(extensions: Path, site: Path) -> dict[str, Any]:
    """How the site is built; `extensions`: where JupyterLab's are installed."""
    return {
        "apps": list(APPS),
        "contents": ["contents"],
        "ignore_contents": [],  # the usual patterns would drop all that lies under _build
        "federated_extensions": [str(extensions / name) for name in EXTENSIONS],
        "ignore_sys_prefix": True,  # EXTENSIONS, and not what else is installed here
        "no_sourcemaps": True,
        "no_unused_shared_packages": True,
        "output_dir": str(site),
    }


def write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def for_browser(notebook: dict[str, Any]) -> dict[str, Any]:
    """A copy in which the cells tagged `needs-desktop` print one sentence; their stored outputs stay until run."""
    return {**notebook, "cells": [desktop_cell(cell) if needs_desktop(cell) else cell for cell in notebook["cells"]]}


def needs_desktop(cell: dict[str, Any]) -> bool:
    return cell["cell_type"] == "code" and "needs-desktop" in cell["metadata"].get("tags", [])


def desktop_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """The cell with its code as a comment under the sentence."""
    code = "".join(cell["source"])
    libraries = [name for name in DESKTOP_ONLY if re.search(rf"(?<![A-Za-z]){name}(?![A-Za-z])", code)]
    which = f" ({', '.join(libraries)})" if libraries else ""
    sentence = f"This cell needs a desktop library{which}: run it in JupyterLab."
    comment = "".join(f"# {line}".rstrip() + "\n" for line in code.splitlines())
    return {**cell, "source": f'print("{sentence}")\n\n{comment}'.splitlines(keepends=True)}


def copy_into(html: Path, site: Path | None) -> None:
    """Make `html/lite` the same as the site; remove it where there is none."""
    target = html / "lite"
    if site is not None and stamp(target) == stamp(site):
        return
    shutil.rmtree(target, ignore_errors=True)
    if site is not None:
        shutil.copytree(site, target)
