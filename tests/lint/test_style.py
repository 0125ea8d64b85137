"""The rules for k8slab's code that no ready-made tool checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "k8slab"
EDGE = ("cli", "dev", "widgets", "progress", "lab", "drill", "serve", "testing")
LONGEST_FILE, LONGEST_FUNCTION = 600, 60
WORLD = re.compile(
    r"datetime\.(now|utcnow|today)|date\.today|os\.(urandom|getpid|environ|getenv)|uuid\.uuid[14]"
    r"|random\.(?!Random\b)\w+|urllib\.request\S*|http\.(client|server)\S*"
)

MODULES = sorted(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py"))
each_module = pytest.mark.parametrize("module", MODULES)
each_module_below_the_edge = pytest.mark.parametrize(
    "module", [m for m in MODULES if m.count("/") > 1 and m.split("/")[1] not in EDGE]
)


def has_a_source(module: str) -> bool:
    """Modules that stand for something upstream: not the laboratory itself, its edge, trace tables and tours."""
    folders = module.split("/")
    own = len(folders) < 3 or folders[1] in (*EDGE, "sim", "check", "cluster")
    return not own and folders[-1] != "__init__.py" and not folders[-1].endswith("kinds.py")


@cache
def source(module: str) -> str:
    return (ROOT / module).read_text(encoding="utf-8")


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(source(module))


def functions(module: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree(module)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to its end, less the docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        words = function.body[0]
        assert words.end_lineno is not None
        lines -= words.end_lineno - words.lineno + 1
    return lines


@each_module
def test_a_file_has_at_most_600_lines(module: str) -> None:
    assert source(module).count("\n") <= LONGEST_FILE


@each_module
def test_a_function_fits_in_60_lines(module: str) -> None:
    assert [f"{f.name}: {n}" for f in functions(module) if (n := lines_of(f)) > LONGEST_FUNCTION] == []


@each_module
def test_a_module_says_what_it_is(module: str) -> None:
    assert ast.get_docstring(tree(module)) or module == "k8slab/__init__.py"


@pytest.mark.parametrize("module", [m for m in MODULES if has_a_source(m)])
def test_a_module_names_its_source(module: str) -> None:
    words = ast.get_docstring(tree(module)) or ""
    assert "Upstream:" in words or "Spec:" in words, "the docstring has neither Upstream: nor Spec:"


@pytest.mark.parametrize("module", [m for m in MODULES if m.endswith("__init__.py") and m.count("/") == 2])
def test_a_package_is_a_tour_with_runnable_lines_and_a_public_list(module: str) -> None:
    words = ast.get_docstring(tree(module)) or ""
    assert words.count(">>>") >= 3, "the tour has no five runnable lines"
    assert "Simplified:" in words
    names = {target.id for node in tree(module).body for target in targets(node) if isinstance(target, ast.Name)}
    assert "__all__" in names


def targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.AnnAssign):
        return [node.target]
    return node.targets if isinstance(node, ast.Assign) else []


ABOUT_STUBS = ("k8slab/lab/source.py", "k8slab/lab/verify.py")  # a lab's starter is made of them


@each_module
def test_nothing_is_left_for_later(module: str) -> None:
    words = r"\b(?:TODO|FIXME|XXX)\b" if module in ABOUT_STUBS else r"\b(?:TODO|FIXME|XXX)\b|NotImplementedError"
    assert re.findall(words, source(module)) == []


@each_module
def test_no_exception_is_swallowed(module: str) -> None:
    handlers = (node for node in ast.walk(tree(module)) if isinstance(node, ast.ExceptHandler))
    silent = [h.lineno for h in handlers if len(h.body) == 1 and isinstance(h.body[0], ast.Pass)]
    assert silent == []


@each_module
def test_no_comparison_with_the_exact_type_dict_or_list(module: str) -> None:
    wrong = []
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            called = node.left.func
            if isinstance(called, ast.Name) and called.id == "type":
                wrong += [node.lineno for x in node.comparators if isinstance(x, ast.Name) and x.id in ("dict", "list")]
    assert wrong == [], "what comes out of servers and caches is a subclass: use isinstance"


@each_module_below_the_edge
def test_no_real_clock_global_dice_or_environment_below_the_edge(module: str) -> None:
    names = [ast.unparse(node) for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)]
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    assert [name for name in names if WORLD.fullmatch(name)] == []


@each_module_below_the_edge
def test_no_floor_imports_from_the_top_package(module: str) -> None:
    wrong = []
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module == "k8slab":
            wrong += [alias.name for alias in node.names if not (PACKAGE / alias.name).is_dir()]
        elif isinstance(node, ast.Import):
            wrong += [alias.name for alias in node.names if alias.name == "k8slab"]
    assert wrong == [], "k8slab/__init__.py stands above all floors"


@each_module_below_the_edge
def test_no_loop_over_a_set(module: str) -> None:
    loops = [
        node.iter for node in ast.walk(tree(module)) if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
    ]
    wrong = [ast.unparse(over) for over in loops if is_set(over)]
    assert wrong == [], "the order of a set differs from run to run: iterate a dict, or sorted(...)"


def is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")


@each_module_below_the_edge
def test_no_await_in_finally(module: str) -> None:
    blocks = [node.finalbody for node in ast.walk(tree(module)) if isinstance(node, ast.Try)]
    awaits = [x.lineno for body in blocks for s in body for x in ast.walk(s) if isinstance(x, ast.Await)]
    assert awaits == []


@each_module
def test_no_name_that_says_nothing(module: str) -> None:
    assert Path(module).stem not in ("utils", "util", "helpers", "common", "misc", "base", "manager")
