"""What a reader can have done, by kind and name: the chapters, quizzes, labs and drills that there are.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from k8slab.progress import KINDS

__all__ = ["known", "thing"]


def thing(kind: str, name: str) -> str:
    """The full name of what is meant. ValueError says which there are, and which is the closest."""
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}: expected one of {', '.join(KINDS)}{_closest(kind, KINDS)}")
    if kind == "lab":
        return _lab(name)
    if kind == "drill":
        return _drill(name)
    return _one_of(kind, name, sorted(_quizzes(_book())) if kind == "quiz" else list(_chapters(_book())))


def known() -> dict[str, list[str]]:
    """The names that there are, by kind, of drills the topics; chapters and quizzes where the package lies beside the
    book."""
    from k8slab.drill import TOPICS
    from k8slab.lab import labs

    names = {"lab": [lab.name for lab in labs()], "drill": list(TOPICS)}
    book = _beside() / "book"
    if (book / "_toc.yml").is_file():
        names |= {"chapter": list(_chapters(book)), "quiz": list(_quizzes(book))}
    return names


def _one_of(kind: str, name: str, known: list[str]) -> str:
    if name not in known:
        raise ValueError(f"{kind} {name!r}: expected one of {', '.join(known)}{_closest(name, known)}")
    return name


def _closest(name: str, known: Iterable[str]) -> str:
    found = get_close_matches(name, known, 1)
    return f"; did you mean {found[0]}?" if found else ""


def _lab(name: str) -> str:
    from k8slab.lab import LabError, find_lab, labs

    try:
        return find_lab(name).name
    except LabError:
        return _one_of("lab", name, [lab.name for lab in labs()])


def _drill(name: str) -> str:
    from k8slab.drill import TOPICS, drill

    topic, slash, seed = name.partition("/")
    _one_of("drill", topic, list(TOPICS))
    if not slash:
        raise ValueError(f"drill {name!r}: expected TOPIC/SEED, such as {topic}/1")
    drill(topic, seed)
    return name


# -- the book --------------------------------------------------------------------------------------


def _beside() -> Path:
    return Path(__file__).resolve().parents[2]


def _book() -> Path:
    """The book of this folder or one above it, else the one that the package lies beside."""
    here = Path.cwd()
    for folder in (here, *here.parents, _beside()):
        if (folder / "book" / "_toc.yml").is_file():
            return folder / "book"
    raise ValueError(f"there is no book (book/_toc.yml) in {here} or above it: expected to run in a clone of k8slab")


def _quizzes(book: Path) -> Iterator[str]:
    return (path.stem for path in (book / "quizzes").glob("*.yml"))


def _chapters(book: Path) -> Iterator[str]:
    """The book's pages, but those of the reference and those that are labs."""
    toc: Mapping[str, Any] = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))
    pages = [entry["file"] for part in toc["parts"] if part["caption"] != "Reference" for entry in part["chapters"]]
    return (Path(page).name for page in [toc["root"], *pages] if not page.startswith("book/labs/"))
