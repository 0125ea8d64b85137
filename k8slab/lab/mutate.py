"""Machine-made wrong implementations: one operator, constant or branch of a correct one is flipped.

Spec: DeMillo, Lipton and Sayward, "Hints on Test Data Selection" (1978): a check that no small change of a right
program escapes will catch large ones too.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

__all__ = ["Change", "machine_mutants"]

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


_Block: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.If | ast.For | ast.While | ast.ExceptHandler
_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.If, ast.For, ast.While, ast.ExceptHandler)


@dataclass(frozen=True)
class Change:
    """A mutant: `line` of the original that was changed, `what` in words, `code` the whole."""

    line: int
    what: str
    code: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}"


def machine_mutants(code: str) -> Iterator[Change]:
    """Every program that differs from `code` by one flip, in the order of its lines."""
    tree = ast.parse(code)
    seen = {ast.unparse(tree)}
    for position, original in enumerate(ast.walk(tree)):
        for variant in range(3):
            if _flip(copy.deepcopy(original), variant) is None:  # a copy of the whole tree for each node takes seconds
                continue
            mutant = copy.deepcopy(tree)
            node = next(islice(ast.walk(mutant), position, None))
            what = _flip(node, variant)
            assert what is not None
            text = ast.unparse(ast.fix_missing_locations(mutant))
            if text not in seen:
                seen.add(text)
                yield Change(getattr(node, "lineno", 0), what, text + "\n")


def _flip(node: ast.AST, variant: int) -> str | None:
    """Change `node` in place; what was done, or None where this variant has nothing to change."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and variant == 0:
        return _operator(node, "op")
    if isinstance(node, ast.BoolOp) and variant == 0:
        return _operator(node, "op")
    if isinstance(node, ast.Compare) and variant == 0 and len(node.ops) == 1:
        other = _OPERATORS.get(type(node.ops[0]))
        if other is None:
            return None
        before = type(node.ops[0]).__name__
        node.ops = [other()]  # type: ignore[list-item]
        return f"{before} became {other.__name__}"
    if isinstance(node, ast.Constant):
        return _constant(node, variant)
    if isinstance(node, ast.If | ast.IfExp | ast.While) and variant in (1, 2):
        node.test = ast.Constant(variant == 1)
        return f"the condition became {variant == 1}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and variant == 0:
        node.op = ast.UAdd()
        node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
        return "a not was dropped"
    if isinstance(node, ast.ExceptHandler) and variant == 1:
        return _handler(node)
    if isinstance(node, _BLOCKS) and variant == 0:
        return _statement(node)
    return None


def _operator(node: ast.AST, field: str) -> str | None:
    before = getattr(node, field)
    other = _OPERATORS.get(type(before))
    if other is None:
        return None
    setattr(node, field, other())
    return f"{type(before).__name__} became {other.__name__}"


def _constant(node: ast.Constant, variant: int) -> str | None:
    before = node.value
    if isinstance(before, bool):
        node.value = not before
        return f"{before} became {node.value}" if variant == 0 else None
    if isinstance(before, int) and variant in (0, 1):
        node.value = before + 1 if variant == 0 else before - 1
        return f"{before} became {node.value}"
    return None


def _handler(node: ast.ExceptHandler) -> str | None:
    """It catches everything."""
    before = "nothing" if node.type is None else ast.unparse(node.type)
    if before == "Exception":
        return None
    node.type = ast.Name("Exception", ast.Load())
    return f"except {before} became except Exception"


def _statement(node: _Block) -> str | None:
    """The last statement is dropped (docstrings are none)."""
    last = node.body[-1]
    if isinstance(last, ast.Pass) or (isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)):
        return None
    node.body[-1] = ast.copy_location(ast.Pass(), last)
    return f"dropped: {ast.unparse(last).splitlines()[0][:60]}"
