"""Compiling and evaluating expressions with the library, in upstream's words.

Upstream: apiserver/pkg/admission/plugin/cel/{compile,activation}.go, github.com/google/cel-go (error texts)
Simplified: columns in messages about an `Object{}` initialiser count the rewritten text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from k8slab.api.cel.functions import FUNCTIONS
from k8slab.api.cel.initialisers import rewrite

__all__ = [
    "CELUnavailableError",
    "CompileError",
    "EvaluationError",
    "Program",
    "compile_expression",
    "is_available",
]

_MISSING = 'expressions of this kind need the library cel-expr-python: pip install "k8slab[cel]"'
_LOOSE = re.compile(r"\b(object|oldObject|params)\b")
_NAMES = {"BOOL": "bool", "STRING": "string", "NULL": "null_type", "DYN": "dyn", "INT": "int", "DOUBLE": "double"}


class CELUnavailableError(RuntimeError):
    """The library is not installed (there is none for browsers)."""

    def __init__(self) -> None:
        super().__init__(_MISSING)


class CompileError(ValueError):
    """An expression that cannot be evaluated, whatever the object."""


class EvaluationError(ValueError):
    """An expression that has no value for this object."""


class Program(NamedTuple):
    """A compiled expression. `type`: of its value, `dyn` when only evaluating tells."""

    expression: str
    type: str
    compiled: Any

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """The value, as plain Python has it. Raises EvaluationError with upstream's text."""
        value = self.compiled.eval(data=dict(variables))
        if str(value.type()) == "ERROR":
            raise EvaluationError(_runtime_text(str(value)))
        return value.plain_value()


def is_available() -> bool:
    """Whether the library is installed."""
    try:
        _library()
    except CELUnavailableError:
        return False
    return True


@lru_cache(maxsize=1024)
def compile_expression(expression: str, variables: tuple[str, ...], returns: tuple[str, ...] = ("bool",)) -> Program:
    """Compile for the named variables. `returns`: the types it may have (`object` and `list` for mutations).

    Raises CompileError with upstream's text, CELUnavailableError.
    """
    cel = _library()
    environment = _environment(tuple(sorted(variables)))
    try:
        compiled = environment.compile(rewrite(expression))
    except RuntimeError as error:
        raise CompileError(f"compilation failed: {_compile_text(str(error))}") from None
    del cel
    kind = _type_name(str(compiled.return_type()))
    if not _may_be(kind, returns, expression):
        if len(returns) == 1:
            raise CompileError(f"must evaluate to {returns[0]} but got {kind}")
        raise CompileError(f"must evaluate to one of [{' '.join(returns)}] but got {kind}")
    return Program(expression, kind, compiled)


def _may_be(kind: str, returns: tuple[str, ...], expression: str) -> bool:
    if kind in returns:
        return True
    if kind == "list" or kind == "dyn":
        if "object" in returns or "list" in returns:
            return kind == "dyn" or "list" in returns
        return kind == "dyn" and not _LOOSE.search(expression)  # `request` and `variables` have types upstream
    return False


@cache
def _library() -> Any:
    try:
        from cel_expr_python import cel
    except ImportError:
        raise CELUnavailableError from None
    return cel


@cache
def _environment(variables: tuple[str, ...]) -> Any:
    cel = _library()
    from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

    kinds = _types(cel.Type)
    overloads: dict[str, list[Any]] = {}
    for number, spec in enumerate(FUNCTIONS):
        overloads.setdefault(spec.name, []).append(
            cel.Overload(
                f"k8s_{number}",
                return_type=kinds[spec.gives],
                parameters=[kinds[name] for name in spec.takes],
                is_member=spec.is_member,
                impl=spec.call,
            )
        )
    extensions = [ext_strings.ExtStrings(), ext_math.ExtMath(), ext_bindings.ExtBindings(), ext_optional.ExtOptional()]
    return cel.NewEnv(
        variables={name: kinds["map" if name == "variables" else "dyn"] for name in variables},
        extensions=extensions,
        functions=[cel.FunctionDecl(name, found) for name, found in overloads.items()],
    )


def _types(kind: Any) -> dict[str, Any]:
    return {
        "bool": kind.BOOL,
        "string": kind.STRING,
        "int": kind.INT,
        "double": kind.DOUBLE,
        "dyn": kind.DYN,
        "list": kind.List(kind.DYN),
        "map": kind.Map(kind.STRING, kind.DYN),
        "quantity": kind.Map(kind.STRING, kind.STRING),
        "url": kind.Map(kind.STRING, kind.STRING),
    }


def _type_name(text: str) -> str:
    if text.startswith("LIST"):
        return "list"
    return "map" if text.startswith("MAP") else _NAMES.get(text, text.lower())


# -- texts -------------------------------------------------------------------------------------------

_UNDECLARED = re.compile(r"ERROR: <input>:(\d+):(\d+): undeclared reference to '([\w.]+)\.\w+'")
_RUNTIME = (
    (re.compile(r'Key not found in map : "?(.*?)"?$'), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"No matching overloads found : .*"), "no such overload"),
    (re.compile(r"Applying SELECT to non-message type"), "no such overload"),
)


def _compile_text(text: str) -> str:
    text = re.sub(r"^[A-Z_]+: ", "", re.sub(r" \[[A-Z_]+\]$", "", text.strip()))

    def first_name(found: re.Match[str]) -> str:
        """The library points at the last dot of `a.b`, upstream at `a`."""
        line, column, name = found.group(1), int(found.group(2)), found.group(3)
        return f"ERROR: <input>:{line}:{column - len(name)}: undeclared reference to '{name.partition('.')[0]}'"

    return _UNDECLARED.sub(first_name, text)


def _runtime_text(text: str) -> str:
    text = re.sub(r"^[A-Z_]+: ", "", text.strip())
    for pattern, words in _RUNTIME:
        if pattern.search(text):
            return pattern.sub(words, text)
    return text
