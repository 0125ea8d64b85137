"""Command line: parsing and dispatch.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import k8slab
from k8slab.cli import drill, explain_pending, lab, progress, run, simulate

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="k8slab", description="How Kubernetes works inside, simulated.")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run.add_parser(commands)
    explain_pending.add_parser(commands)
    simulate.add_parsers(commands)
    lab.add_parsers(commands)
    drill.add_parser(commands)
    progress.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: the process's). Returns the exit code."""
    parser = _parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    if args.version:
        print(f"k8slab {k8slab.__version__}")
        return 0
    if args.command is None:
        parser.print_usage(sys.stderr)
        print("k8slab: expected a command", file=sys.stderr)
        return 2
    try:
        code: int = args.handler(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("k8slab: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
