"""The book's glossary as data: what book/reference/glossary.md holds between its fences.

An entry is a line a name (English first, Chinese last) and the definition, indented; a blank line ends it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Term", "by_pinyin", "terms"]

GLOSSARY = re.compile(r"^```\{glossary\}\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
CHINESE = re.compile("[\u4e00-\u9fff]")


class Term(NamedTuple):
    """`english`: the names, the one that sorts it first. `chinese`: likewise."""

    english: tuple[str, ...]
    chinese: tuple[str, ...]
    definition: str


def terms(text: str) -> list[Term]:
    """The entries in the order of the page. ValueError when the page has no glossary."""
    found = GLOSSARY.search(text)
    if found is None:
        raise ValueError("the page has no {glossary}")
    return [term(entry) for entry in re.split(r"\n\n+", found[1].strip("\n"))]


def term(entry: str) -> Term:
    lines = entry.splitlines()
    names = [line for line in lines if not line.startswith(" ")]
    definition = " ".join(line.strip() for line in lines if line.startswith(" "))
    chinese = tuple(name for name in names if CHINESE.search(name))
    return Term(tuple(name for name in names if name not in chinese), chinese, definition)


def by_pinyin(chinese: str) -> bytes:
    """What to sort by: GB 18030 keeps the 3,755 common characters in the order of their pronunciation."""
    return chinese.upper().encode("gb18030")
