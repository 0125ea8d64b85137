"""Sphinx extension of the book: reference pages from docstrings, and glossary terms that Markdown links can point to.

`{k8slab-package} NAME` shows every name in the package's `__all__`; `{k8slab-floors}` lists the packages. Docstrings
are plain text, so nothing in them can be wrong markup: what is between backticks becomes code, the rest stays.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from k8slab.dev import glossary, public
from k8slab.dev.public import Block, Entry, Module, Package

ROOT = Path(__file__).resolve().parents[2]
WHOLE = "k8slab"
ONE_LINE = 64  # a longer signature gets one line a parameter
CHINESE_TEXT = re.compile("(?<=>)([^<>]*[\u4e00-\u9fff][^<>]*)(?=<)")
CODE = re.compile(r"`([^`]+)`")
STRESSED = re.compile(r"(?<![\w*])\*(\w[^*`\n]*)\*(?![\w*])")


class PackagePage(SphinxDirective):
    """What a package's page holds: its tour, then each module with those of its names that are public."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        package = public.load(self.arguments[0])
        depend(self, [package.name, *(module.name for module in package.modules)])
        writer = Writer(self, package)
        if package.name == WHOLE:
            return [*writer.text(package.doc), *writer.whole()]
        return [*writer.text(package.doc), *(node for module in package.modules for node in writer.module(module))]


def depend(directive: SphinxDirective, modules: Iterable[str]) -> None:
    """The page is made anew when one of these modules has changed, or what makes it."""
    for path in (__file__, public.__file__, *(importlib.import_module(module).__file__ for module in modules)):
        directive.env.note_dependency(str(path))


class Writer:
    """Document nodes for one package."""

    def __init__(self, directive: SphinxDirective, package: Package) -> None:
        self.directive = directive
        self.package = package
        self.names = {entry.name for module in package.modules for entry in module.entries}

    def whole(self) -> Iterator[nodes.Node]:
        """The names of the whole: a sentence each, and where the rest is said."""
        entries = [entry for module in self.package.modules for entry in module.entries]
        for entry in sorted(entries, key=lambda entry: entry.name):
            home = ".".join(entry.home.split(".")[:2])
            if home in public.packages(ROOT) and home != WHOLE:
                full = f"{home}.{entry.name}"
                said = [*self.inline(public.first_sentence(entry.doc)), nodes.Text(". See "), link(full, full)]
                short = dataclasses.replace(entry, parameters=None, returns="")
                yield self.described(short, [paragraph([*said, nodes.Text(".")])])
            else:
                yield self.entry(entry)

    def module(self, module: Module) -> Iterator[nodes.Node]:
        """A section for a module; names that the package defines itself come without one."""
        entries = [self.entry(entry) for entry in module.entries]
        if module.name == self.package.name:
            yield from entries
            return
        section = nodes.section(ids=[nodes.make_id(f"module-{module.name}")])
        section += nodes.title("", module.name)
        section += list(self.text(module.doc))
        section += entries
        yield section

    def entry(self, entry: Entry) -> nodes.Node:
        members = [self.described(member, list(self.text(member.doc)), entry.name) for member in entry.members]
        if entry.members and all(member.kind == "attribute" for member in entry.members):
            values = [nodes.literal("", member.name) for member in entry.members]
            members = [nodes.paragraph("", "", nodes.Text("Values: "), *comma_separated(values), nodes.Text("."))]
        return self.described(entry, [*self.text(entry.doc), *members])

    def described(self, entry: Entry, content: list[nodes.Node], owner: str = "") -> nodes.Node:
        """A name with its signature, an anchor, and what is said of it."""
        local = f"{owner}.{entry.name}" if owner else entry.name
        full = f"{self.package.name}.{local}"
        line = addnodes.desc_signature("", "", ids=[full], module=self.package.name, fullname=local)
        if not owner:
            line["_toc_name"], line["_toc_parts"] = entry.name, (entry.name,)
        line += signature(entry)
        box = addnodes.desc("", line, addnodes.desc_content("", *content), domain="py", objtype=entry.kind)
        box["classes"] += ["py", entry.kind]
        self.directive.env.get_domain("py").note_object(full, entry.kind, full, location=line)  # type: ignore[attr-defined]
        return box

    def text(self, doc: str) -> Iterator[nodes.Node]:
        for block in public.blocks(doc):
            yield self.block(block)

    def block(self, block: Block) -> nodes.Node:
        if block.kind in ("examples", "code"):
            text = "\n".join(block.texts)
            return nodes.literal_block(text, text, language="pycon" if block.kind == "examples" else "text")
        if block.kind == "list":
            items = [nodes.list_item("", paragraph(self.inline(text))) for text in block.texts]
            return nodes.bullet_list("", *items)
        said = self.inline(" ".join(block.texts))
        if block.kind == "paragraph":
            return paragraph(said)
        label = nodes.strong("", f"{block.kind}:")
        return paragraph([label, nodes.Text(" "), *said], classes=["k8slab-label", block.kind.lower()])

    def inline(self, text: str) -> Iterator[nodes.Node]:
        """Text with its code: names of this package lead to their entries."""
        for number, piece in enumerate(CODE.split(text)):
            if number % 2 and piece in self.names:
                yield link(f"{self.package.name}.{piece}", piece)
            elif number % 2:
                yield nodes.literal("", piece)
            else:
                yield from plain(piece)


def paragraph(said: Iterable[nodes.Node], classes: Iterable[str] = ()) -> nodes.paragraph:
    """A paragraph whose quotes and dashes stay as typed: `--flag` is no dash."""
    return nodes.paragraph("", "", *said, classes=list(classes), support_smartquotes=False)


def plain(text: str) -> Iterator[nodes.Node]:
    """Text in which *a stressed word* may stand."""
    for number, piece in enumerate(STRESSED.split(text)):
        if piece:
            yield nodes.emphasis("", piece) if number % 2 else nodes.Text(piece)


def link(full: str, shown: str) -> nodes.Node:
    """A reference to a documented name by its public path."""
    return addnodes.pending_xref(
        "", nodes.literal("", shown), refdomain="py", reftype="obj", reftarget=full, refexplicit=True, refwarn=True
    )


def comma_separated(given: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    for number, node in enumerate(given):
        if number:
            yield nodes.Text(", ")
        yield node


def signature(entry: Entry) -> Iterator[nodes.Node]:
    """What stands in the line of a name: its kind, itself, parameters, what is returned, or its value."""
    if entry.kind not in ("function", "method", "data", "attribute"):
        yield addnodes.desc_annotation(entry.kind, "", nodes.Text(f"{entry.kind} "))
    yield addnodes.desc_name("", entry.name)
    if entry.parameters is not None:
        many = len(", ".join((entry.kind, entry.name, *entry.parameters, entry.returns))) > ONE_LINE
        ends = ["," if many else ", "] * (len(entry.parameters) - 1) + [""]
        classes = ["k8slab-parameter", *(["k8slab-own-line"] if many else [])]
        yield nodes.inline("", "(", classes=["sig-paren"])
        for text, end in zip(entry.parameters, ends, strict=True) if entry.parameters else ():
            yield nodes.inline("", text + end, classes=classes)
        yield nodes.inline("", ")", classes=["sig-paren"])
    if entry.returns:
        yield addnodes.desc_returns("", entry.returns)
    if entry.value:
        yield addnodes.desc_annotation("", "", nodes.Text(f" = {entry.value}"), classes=["value"])


class Floors(SphinxDirective):
    """The packages from the ground floor up, a sentence each."""

    def run(self) -> list[nodes.Node]:
        depend(self, public.packages(ROOT))
        lines = ["| floor | package |", "| --- | --- |", page_row("", WHOLE)]
        floors = public.floors(ROOT)
        top = next(number for number, floor in enumerate(floors) if "cluster" in floor)
        for number, floor in enumerate(floors):
            named = str(number) if number <= top else "edge"
            lines += [page_row(named, f"{WHOLE}.{name}") for name in floor]
        return self.parse_text_to_nodes("\n".join(lines))


def page_row(floor: str, package: str) -> str:
    page = f"/book/reference/api/{package.removeprefix('k8slab.')}"
    sentence = public.first_sentence(public.module_doc(package)).removeprefix(f"{package}: ").replace("|", "\\|")
    return f"| {floor} | {{doc}}`{package} <{page}>`<br>{sentence} |"


class ChineseTerms(SphinxDirective):
    """The Chinese names in the glossary of this page, by pinyin, with their English ones."""

    def run(self) -> list[nodes.Node]:
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        names = {chinese: term.english[0] for term in glossary.terms(page) for chinese in term.chinese}
        lines = [f"- {{term}}`{chinese}` {names[chinese]}" for chinese in sorted(names, key=glossary.by_pinyin)]
        columns = nodes.container(classes=["k8slab-columns"])
        columns += self.parse_text_to_nodes("\n".join(lines))
        return [columns]


def glossary_anchors(app: Sphinx, doctree: nodes.document) -> None:
    """Let `[text](glossary.md#term-x)` find the terms: such links, unlike `{term}`, work in JupyterLab too."""
    slugs: dict[str, Any] = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for term in doctree.findall(nodes.term):
        for anchor in term["ids"]:
            slugs[anchor] = (term.line or 0, anchor, term.astext())


def chinese_as_such(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Say of Chinese text that it is: browsers choose its font, and screen readers its voice, by that."""
    if doctree is not None and "body" in context:
        context["body"] = CHINESE_TEXT.sub(r'<span lang="zh-Hans">\1</span>', context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("k8slab-package", PackagePage)
    app.add_directive("k8slab-floors", Floors)
    app.add_directive("k8slab-chinese-terms", ChineseTerms)
    app.connect("doctree-read", glossary_anchors)
    app.connect("html-page-context", chinese_as_such)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
