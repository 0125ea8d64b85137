"""What the reference pages show of the package: its public packages, their names, and what is said of each.

A package's page holds exactly the names in its `__all__`, under the module that defines each. Docstrings are plain
text; `blocks` takes one apart into paragraphs, lists, examples and the labelled lines (`Upstream:` and others).
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, ForwardRef, NamedTuple, get_origin

__all__ = [
    "Block",
    "Entry",
    "Module",
    "Package",
    "blocks",
    "docstring",
    "first_sentence",
    "floors",
    "labelled",
    "load",
    "packages",
]

LABELS = ("Upstream", "Spec", "Simplified")
LABEL = re.compile(rf"^({'|'.join(LABELS)}):\s*(.*)")
LONGEST_VALUE = 60


class Block(NamedTuple):
    """A piece of a docstring. `kind`: paragraph, list (one text an item), examples, code, or one of LABELS."""

    kind: str
    texts: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One documented name. `home`: the module that defines it. `kind`: class, exception, function, data, method, …"""

    name: str
    home: str
    kind: str
    doc: str
    parameters: tuple[str, ...] | None = None
    returns: str = ""
    value: str = ""
    members: tuple[Entry, ...] = ()


class Module(NamedTuple):
    """A module with those of its names that the package shows."""

    name: str
    doc: str
    entries: tuple[Entry, ...]


class Package(NamedTuple):
    """`modules`: in the order in which their first name appears in `__all__`, the package itself first."""

    name: str
    doc: str
    modules: tuple[Module, ...]


def floors(root: Path) -> list[list[str]]:
    """Names of the packages that exist, floor by floor from the bottom, by the import contract in pyproject.toml."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "floors")
    named = [[name.strip(" ()") for name in layer.split("|")] for layer in reversed(layers)]
    return [[name for name in layer if (root / "k8slab" / name / "__init__.py").exists()] for layer in named]


def packages(root: Path) -> list[str]:
    """Every public package, the whole first, then from the ground floor up."""
    return ["k8slab", *(f"k8slab.{name}" for floor in floors(root) for name in floor)]


def load(package: str) -> Package:
    """A package with everything in its `__all__`. Imports it."""
    names: list[str] = list(importlib.import_module(package).__all__)
    homes: dict[str, list[Entry]] = {}
    for name in names:
        found = entry(package, name)
        homes.setdefault(found.home, []).append(found)
    order = sorted(homes, key=lambda home: home != package)
    modules = tuple(Module(home, module_doc(home), tuple(homes[home])) for home in order)
    return Package(package, module_doc(package), modules)


def entry(package: str, name: str) -> Entry:
    """What the package's public name is, and what is said of it where it is defined."""
    thing = getattr(importlib.import_module(package), name)
    if inspect.ismodule(thing):
        return Entry(name, thing.__name__, "module", module_doc(thing.__name__))
    home, node = definition(package, name)
    doc = written_doc(home, node)
    if isinstance(thing, type) and not isinstance(node, ast.Assign | ast.AnnAssign):
        kind = "exception" if issubclass(thing, BaseException) else "class"
        return Entry(name, home, kind, doc, *constructor(thing), members=tuple(members(thing, home)))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return Entry(name, home, "function", doc, *signature(thing))
    value = value_of(thing)
    return Entry(name, home, "data", doc, value="" if value in (name, "…") else value)


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8"))


def docstring(path: Path) -> str:
    """The docstring of a module's file, which is not imported."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def module_doc(module: str) -> str:
    return ast.get_docstring(tree(module)) or ""


def definition(module: str, name: str) -> tuple[str, ast.stmt]:
    """The module and the statement that define a name, through all imports. LookupError when there is none."""
    for statement in tree(module).body:
        if name in defined(statement):
            return module, statement
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return definition(node.module, alias.name)
    raise LookupError(f"{module} has {name} in __all__ and neither defines nor imports it by name")


def defined(node: ast.stmt) -> list[str]:
    """Names that a statement of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def written_doc(module: str, node: ast.stmt) -> str:
    """The docstring in the source, or the text below an assignment; empty when there is none."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ast.get_docstring(node) or ""
    body = tree(module).body
    after = body[body.index(node) + 1 :][:1]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return inspect.cleandoc(str(after[0].value.value))
    return ""


def signature(function: Any, *, bound: bool = False) -> tuple[tuple[str, ...], str]:
    """Parameters as written, without `self`, and what is returned."""
    found = inspect.signature(function)
    shown = list(found.parameters.values())[1 if bound else 0 :]
    returns = "" if found.return_annotation is found.empty else annotation(found.return_annotation)
    return tuple(marked(shown)), returns


def marked(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Texts of parameters, with the `*` before those given by name only and the `/` after those that can't be."""
    star = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    for before, parameter in zip([None, *parameters], [*parameters, None], strict=True):
        if before and before.kind is before.POSITIONAL_ONLY and not (parameter and parameter.kind is before.kind):
            yield "/"
        if parameter and parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        if parameter:
            yield parameter_text(parameter)


def parameter_text(parameter: inspect.Parameter) -> str:
    stars = (
        "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    )
    typed = "" if parameter.annotation is parameter.empty else f": {annotation(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{typed}"
    equals = " = " if typed else "="
    return f"{parameter.name}{typed}{equals}{value_of(parameter.default)}"


def annotation(given: Any) -> str:
    """A type as the source writes it, without the modules' names."""
    plain = given.__forward_arg__ if isinstance(given, ForwardRef) else given
    text = plain if isinstance(plain, str) else inspect.formatannotation(plain)
    return re.sub(r"\b(?:[a-z_0-9]+\.)+(?=[A-Z])", "", text)


def value_of(value: Any) -> str:
    """A short text for a default or a constant: the same on every run; empty when it would be long."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if get_origin(value) is not None:
        return annotation(value) if len(annotation(value)) <= LONGEST_VALUE else ""
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = repr(value)
    if text == "<factory>":
        return "…"
    return text if len(text) <= LONGEST_VALUE and " at 0x" not in text and not text.startswith("<") else "…"


def constructor(thing: type) -> tuple[tuple[str, ...] | None, str]:
    """How a class is made; nothing for enums, protocols, and classes that take what their base takes."""
    own = any(name in vars(thing) for name in ("__init__", "__new__"))
    if issubclass(thing, Enum) or getattr(thing, "_is_protocol", False) or not own:
        return None, ""
    return signature(thing)[0], ""


def members(thing: type, home: str) -> Iterator[Entry]:
    """Public methods, properties and enum members of the class itself, in the order of the source."""
    for name, member in vars(thing).items():
        if name.startswith("_"):
            continue
        if isinstance(member, Enum):
            yield Entry(name, home, "attribute", "", value=repr(member.value))
        elif isinstance(member, property):
            returns = signature(member.fget, bound=True)[1]
            yield Entry(name, home, "property", member_doc(member), returns=returns)
        elif isinstance(member, classmethod | staticmethod):
            bound = isinstance(member, classmethod)
            kind = "classmethod" if bound else "staticmethod"
            yield Entry(name, home, kind, member_doc(member), *signature(member.__func__, bound=bound))
        elif inspect.isfunction(member):
            yield Entry(name, home, "method", member_doc(member), *signature(member, bound=True))


def member_doc(member: Any) -> str:
    return inspect.cleandoc(member.__doc__) if member.__doc__ else ""


def blocks(doc: str) -> list[Block]:
    """The pieces of a docstring in their order."""
    return [piece for chunk in re.split(r"\n\s*\n", doc.strip("\n")) if chunk.strip() for piece in pieces(chunk)]


def pieces(chunk: str) -> Iterator[Block]:
    """The pieces of a part of a docstring that has no blank line in it."""
    lines = inspect.cleandoc("\n" + chunk).splitlines()
    indented = bool(chunk.strip("\n")) and chunk.strip("\n").startswith("    ")
    kind, texts = ("code", []) if indented and not lines[0].startswith((">>>", "- ")) else ("paragraph", list[str]())
    for line in lines:
        label = LABEL.match(line)
        starts = (
            "examples" if line.startswith(">>>") else label[1] if label else "list" if line.startswith("- ") else ""
        )
        if starts and kind not in ("examples", "code") and not (kind == "list" == starts):
            if texts:
                yield Block(kind, tuple(texts))
            kind, texts = starts, []
        text = label[2] if label and kind in LABELS else line
        if kind in ("examples", "code"):
            texts = ["\n".join([*texts, text])]
        elif kind == "list" and text.startswith("- "):
            texts.append(text[2:])
        else:
            texts = [*texts[:-1], " ".join([*texts[-1:], text.strip()]).strip()]
    if texts:
        yield Block(kind, tuple(texts))


def labelled(doc: str, label: str) -> str:
    """The text behind `Label:` in a docstring, empty when it has none.

    >>> labelled("One queue.\\n\\nUpstream: util/workqueue/queue.go\\nSimplified: no metrics.", "Simplified")
    'no metrics.'
    """
    return " ".join(text for kind, texts in blocks(doc) for text in texts if kind == label)


def first_sentence(doc: str) -> str:
    """The first paragraph of a docstring up to its first full stop, without it."""
    paragraph = next((texts[0] for kind, texts in blocks(doc) if kind == "paragraph"), "")
    return re.split(r"\.(?=\s|$)", paragraph, maxsplit=1)[0]
