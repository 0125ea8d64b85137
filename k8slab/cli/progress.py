"""`k8slab progress`: what was done, kept in a local file.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from k8slab.cli.files import file_name, trouble
from k8slab.cli.things import known, thing
from k8slab.progress import Progress, ProgressError

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Add `progress` to the subcommands."""
    parser = commands.add_parser(
        "progress",
        help="chapters, quizzes, labs and drills done; export and import",
        description="Print what was done. It is kept in one local file ($K8SLAB_HOME/progress.json, else "
        "~/.local/share/k8slab/progress.json) and sent nowhere. Exit code: 0 done, 1 not possible, 2 wrong usage.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--export", type=file_name, metavar="FILE", help="write everything as JSON to FILE, or to standard output (-)"
    )
    what.add_argument(
        "--import", dest="import_", type=file_name, metavar="FILE", help="add what another place exported (- for stdin)"
    )
    what.add_argument(
        "--done",
        nargs=2,
        metavar=("KIND", "NAME"),
        help="mark something as done: chapter, quiz, lab or drill, and which (a drill is TOPIC/SEED)",
    )
    what.add_argument("--reset", action="store_true", help="forget everything, after asking")
    parser.add_argument("--yes", action="store_true", help="with --reset: do not ask")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Carry out the command; returns the exit code."""
    try:
        progress = Progress()
        if args.export is not None:
            return _export(progress, args.export)
        if args.import_ is not None:
            return _import(progress, args.import_)
        if args.done is not None:
            return _done(progress, *args.done)
        if args.reset:
            return _reset(progress, sure=args.yes)
        return _show(progress)
    except BrokenPipeError:
        raise
    except (ProgressError, OSError) as error:
        print(f"k8slab progress: {trouble(error) if isinstance(error, OSError) else error}", file=sys.stderr)
        return 1


def _show(progress: Progress) -> int:
    table = progress.summary(known())
    print(table if len(table) else f"nothing yet (it would be in {progress.path})")
    return 0


def _export(progress: Progress, target: str) -> int:
    text = json.dumps(progress.export(), indent=2, ensure_ascii=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        Path(target).write_text(text, encoding="utf-8")
    return 0


def _import(progress: Progress, source: str) -> int:
    name = "standard input" if source == "-" else source
    raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProgressError(f"{name}: not JSON: {error}") from error
    print(f"{progress.merge(data, name)} new or changed")
    return 0


def _done(progress: Progress, kind: str, name: str) -> int:
    try:
        meant = thing(kind, name)
    except ValueError as error:
        print(f"k8slab progress: --done: {error}", file=sys.stderr)
        return 2
    progress.done(kind, meant, **({"right": True} if kind == "drill" else {}))
    print(f"{kind} {meant}: done")
    return 0


def _reset(progress: Progress, *, sure: bool) -> int:
    if not sure:
        if not sys.stdin.isatty():
            print("k8slab progress: --reset: standard input is no terminal; add --yes", file=sys.stderr)
            return 2
        print(f"forget everything in {progress.path}? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("nothing was changed")
            return 1
    progress.reset()
    print(f"{progress.path} is empty now")
    return 0
