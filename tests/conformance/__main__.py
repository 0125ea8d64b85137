"""Run the golden data against k8slab: `python -m tests.conformance FILE_OR_FOLDER... [--emit] [--limit N]`.

Every golden file has an adapter, the module `tests/conformance/adapters/<stem, - as _>.py`:

    def run(case_input) -> Any                          vectors: the value in the shape of `expected`
    def records(doc) -> Iterator[tuple[str, Any]]       anything else: (record name, actual), names as in compare.py

A file with another stem finds its adapter by its `topic`, else `live.py` (API scenarios) or `ctl.py` (timelines).
Raft's scripts (`*.txt`) are carried out by `raft_scripts.py`, and judged by what they say themselves.

What we return is emitted as JSON lines and judged by `compare.py`, which is never changed. A case whose adapter
raises is named on stderr and emits nothing, so the comparator counts it as missing; a file without adapter too.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import itertools
import json
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ADAPTERS = "tests.conformance.adapters"
NOT_GOLDEN = frozenset(json.loads((HERE / "compare_rules.json").read_text(encoding="utf-8"))["not_golden"])
DATA = HERE / "data"

Json = Any
Records = Iterator[tuple[str, Callable[[], Json]]]

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.conformance import raft_scripts  # noqa: E402 - the line above makes it importable


class AdapterMissingError(LookupError):
    """No adapter module exists for a golden file."""


def golden(paths: list[Path]) -> list[Path]:
    """The files named, and all golden files of the folders named (what the comparator would take)."""
    files = [file for path in paths for file in (sorted(path.rglob("*.json")) if path.is_dir() else [path])]
    files = [file for file in files if file.suffix == ".json"]
    return [file for file in files if file.stem not in NOT_GOLDEN and file.parent.name != "inputs"]


def candidates(stem: str, doc: dict[str, Json]) -> list[str]:
    """Adapter modules that may serve a golden file, best first."""
    timeline = stem.startswith("ctl-") or "projection" in doc
    names = [stem, doc.get("topic", stem), f"live_{stem}"]
    if "steps" in doc:
        names.append("ctl" if timeline else "live")
    return list(dict.fromkeys(name.replace("-", "_") for name in names))


def adapter(stem: str, doc: dict[str, Json]) -> Any:
    """The adapter module of a golden file. Raises AdapterMissingError."""
    for name in candidates(stem, doc):
        if importlib.util.find_spec(f"{ADAPTERS}.{name}") is not None:
            return importlib.import_module(f"{ADAPTERS}.{name}")
    raise AdapterMissingError(
        f"no adapter for {stem}: expected tests/conformance/adapters/{candidates(stem, doc)[0]}.py"
    )


def produce(module: Any, doc: dict[str, Json]) -> Records:
    """(name, function that returns the actual value) for every record of a golden document."""
    if "cases" in doc and hasattr(module, "run"):
        for case in doc["cases"]:
            yield case["name"], lambda case=case: module.run(case["input"])
    else:
        for name, actual in module.records(doc):
            yield name, lambda actual=actual: actual


def emit(file: Path) -> Iterator[str]:
    """JSON lines for one golden file; what goes wrong is told on stderr."""
    doc = json.loads(file.read_text(encoding="utf-8"))
    name = "(adapter)"
    try:
        for name, make in produce(adapter(file.stem, doc), doc):
            try:
                yield json.dumps({"file": file.stem, "name": name, "actual": make()})
            except Exception:
                complain(file, name)
    except AdapterMissingError as missing:
        print(f"{file.stem}: {missing}", file=sys.stderr)
    except Exception:
        complain(file, f"after {name}")


def complain(file: Path, name: str) -> None:
    """The failing case and the last frames of its traceback, on stderr."""
    last = "".join(traceback.format_exc(limit=-3))
    print(f"{file.stem}: {name}: the adapter raised\n{last}", file=sys.stderr)


def judge_scripts(files: list[Path], limit: int) -> int:
    """Carry Raft's scripts out and print how many commands of each answered as upstream; the exit code."""
    left, failed = limit, False
    for file in files:
        answers = list(raft_scripts.answers(file))
        wrong = [answer for answer in answers if answer.actual != answer.expected]
        print(f"{file.parent.name}/{file.stem}: {len(answers) - len(wrong)}/{len(answers)}")
        for answer in wrong[: max(0, left)]:
            print(raft_scripts.difference(answer))
        left -= len(wrong)
        failed = failed or bool(wrong)
    return 1 if failed else 0


def emit_script(file: Path) -> Iterator[str]:
    """JSON lines for one of Raft's scripts."""
    for answer in raft_scripts.answers(file):
        yield json.dumps({"file": file.stem, "name": f"command {answer.number}", "actual": answer.actual})


def judge(files: list[Path], lines: Iterator[str], limit: int) -> int:
    """Hand the lines to the comparator in a process of its own; its exit code."""
    command = [sys.executable, str(HERE / "compare.py"), *map(str, files), "--limit", str(limit)]
    sys.stdout.flush()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, encoding="utf-8")
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        pipe.writelines(line + "\n" for line in lines)
    return process.wait()


def main(argv: list[str] | None = None) -> int:
    """Exit code 0: every case passed. 1: differences, missing cases or adapters. 2: usage."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Compare k8slab with golden data.")
    parser.add_argument("paths", nargs="*", type=Path, default=[DATA], metavar="FILE_OR_FOLDER")
    parser.add_argument("--emit", action="store_true", help="print the JSON lines only, for any comparator")
    parser.add_argument("--limit", type=int, default=20, help="differences to print (20)")
    args = parser.parse_args(argv)
    for path in args.paths:
        if not path.exists():
            parser.error(f"{path}: no such file or folder")
    files = golden(args.paths)
    scripts = [script for path in args.paths for script in raft_scripts.scripts(path)]
    if not files and not scripts:
        parser.error(f"no golden files in {', '.join(map(str, args.paths))}")
    if twice := [stem for stem, count in Counter(file.stem for file in files).items() if count > 1]:
        parser.error(f"several files named {twice[0]}.json: give them one at a time")
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # an adapter that prints must not spoil the lines
        lines = (line for file in files for line in emit(file))
        if not args.emit:
            with contextlib.redirect_stdout(out):
                codes = [judge_scripts(scripts, args.limit)] if scripts else []
            return max([*codes, *([judge(files, lines, args.limit)] if files else [])])
        lines = itertools.chain(lines, (line for script in scripts for line in emit_script(script)))
        count = 0
        for line in lines:
            print(line, file=out)
            count += 1
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
