"""Committed files that are made from others: written anew, or compared with what they should be.

`python -m k8slab.dev api|deviations|status [--check]`; tests/lint asserts that all of them are up to date.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from k8slab.dev import public
from k8slab.dev.status import PAGE, page

__all__ = ["MAKERS", "api_pages", "deviations", "main", "outdated"]

API = "book/reference/api"
API_LINE = re.compile(rf"^( *)- file: {API}/\S+\n", re.MULTILINE)
NOTHING = re.compile(r"nothing\b|see [^;:,]*$")
CODE = re.compile(r"(?<![`\w./-])(?:[\w.-]+\.(?:io|dev|com)(?![\w`])[\w./-]*|--[a-z][\w-]*)")
SPECIAL = re.compile(r"([\\*_<>\[\]${}|#])")
DEVIATIONS = """\
# Where k8slab deviates from Kubernetes

<!-- Written by `python -m k8slab.dev deviations` from the `Simplified:` lines of the modules: change those. -->
<!-- begin -->

"""


def api_pages(root: Path) -> dict[Path, str]:
    """One page a public package, and their lines in the table of contents."""
    names = public.packages(root)
    pages = {
        root / f"{API}/{name.removeprefix('k8slab.')}.md": f"# {name}\n\n```{{k8slab-package}} {name}\n```\n"
        for name in names
    }
    path = root / "book/_toc.yml"
    toc = path.read_text(encoding="utf-8")
    first = API_LINE.search(toc)
    if first is None:
        raise ValueError(f"{path} lists no page under {API}: add the first, the others follow")
    lines = "".join(f"{first[1]}- file: {API}/{name.removeprefix('k8slab.')}\n" for name in names)
    return {**pages, path: toc[: first.start()] + lines + API_LINE.sub("", toc[first.end() :])}


def deviations(root: Path) -> dict[Path, str]:
    """docs/deviations.md: what each module leaves out, package by package from the ground floor up."""
    parts, without = [DEVIATIONS], []
    for name in public.packages(root):
        found = simplified(root, name)
        rows = [f"- `{module}`: {text}\n" for module, text in found if not NOTHING.match(text)]
        without += [f"`{module}`" for module, text in found if text.startswith("nothing")]
        if rows:
            parts += [f"## {name}\n\n", *rows, "\n"]
    parts.append(f"## Nothing left out\n\nThese say so: {', '.join(without)}.\n")
    return {root / "docs/deviations.md": "".join(parts)}


def simplified(root: Path, package: str) -> list[tuple[str, str]]:
    """Module and what it says under `Simplified:`, by path; of the whole package, only of its own modules."""
    folder = root / package.replace(".", "/")
    if package == "k8slab":
        files = sorted(path for path in folder.glob("*.py") if path.stem != "__init__")
    else:
        files = sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).parts)
    found = []
    for path in files:
        text = public.labelled(public.docstring(path), "Simplified")
        if text:
            module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            found.append((module, markdown(text)))
    return found


def markdown(text: str) -> str:
    """Plain text as Markdown: code stays code; flags and names of hosts become it; nothing else is markup."""
    pieces = re.split(r"(`[^`]+`)", CODE.sub(r"`\g<0>`", text))
    return "".join(piece if number % 2 else SPECIAL.sub(r"\\\1", piece) for number, piece in enumerate(pieces))


def status(root: Path) -> dict[Path, str]:
    return {root / PAGE: page(root)}


MAKERS: dict[str, Callable[[Path], dict[Path, str]]] = {"api": api_pages, "deviations": deviations, "status": status}
"""Files that each of the verbs writes, with their text."""


def outdated(files: Mapping[Path, str]) -> list[Path]:
    """Those whose stored text is another one."""
    return [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main(verb: str, root: Path, arguments: list[str]) -> int:
    """Write what differs; with --check write nothing, and return 1 when something does."""
    parser = argparse.ArgumentParser(prog=f"python -m k8slab.dev {verb}")
    parser.add_argument("--check", action="store_true", help="write nothing; tell which files would change")
    options = parser.parse_args(arguments)
    files = MAKERS[verb](root)
    changed = outdated(files)
    for path in changed:
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
        print(f"{path.relative_to(root)}: {'would change' if options.check else 'written'}")
    if not changed:
        print("up to date")
    return 1 if changed and options.check else 0
