"""Solutions that solve nothing: every function answers the same. No check may give points for one.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["lazy_solutions"]

_ANSWERS = ("None", "0", "1", "True", "'a'", "[]")


def lazy_solutions(code: str) -> Iterator[tuple[str, str]]:
    """What is lazy about it, and the code: a solution with all classes and functions of `code`, and nothing in them."""
    for answer in _ANSWERS:
        yield f"every function returns {answer}", _emptied(code, answer)
    yield "every function returns its first argument", _emptied(code, "")


def _emptied(code: str, answer: str) -> str:
    """`answer`: an expression; "": the first argument."""
    tree = ast.parse(code)
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for one in inner:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                _empty(one, answer, is_method=isinstance(node, ast.ClassDef))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _empty(function: ast.FunctionDef | ast.AsyncFunctionDef, answer: str, *, is_method: bool) -> None:
    arguments = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)][is_method:]
    if function.name == "__init__":
        answer = "None"  # Python takes no other
    text = answer or (arguments[0] if arguments else "None")
    function.body = [ast.Return(ast.parse(text, mode="eval").body)]
