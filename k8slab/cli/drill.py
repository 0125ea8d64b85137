"""`k8slab drill TOPIC --seed N`: an exercise, its answer, and a judge.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from k8slab.progress import remember
from k8slab.table import Table

if TYPE_CHECKING:
    from k8slab.drill import Drill

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Add `drill` to the subcommands."""
    parser = commands.add_parser(
        "drill",
        help="generated exercises with answers and explanations",
        description="Print an exercise; the same topic and seed give the same one everywhere. With --try or --ask an "
        "answer is judged and recorded (k8slab progress). Exit code: 0 right, 1 wrong, 2 wrong usage or no answer.",
    )
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="what about; without it the topics are listed")
    parser.add_argument("--seed", metavar="N", help="which exercise: a number or a short text (default 1)")
    parser.add_argument("--answer", action="store_true", help="print the answer and why")
    parser.add_argument("--list", action="store_true", help="list the topics")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--try", dest="attempt", metavar="TEXT", help="judge this answer")
    how.add_argument("--ask", action="store_true", help="ask for the answer (in a terminal) until it is right")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from k8slab.drill import TOPICS, drill

    if args.topic is None and not args.list and (given := _needs_topic(args)):
        print(f"k8slab drill: {given}: which topic? expected one of {', '.join(TOPICS)}", file=sys.stderr)
        return 2
    if args.list or args.topic is None:
        return _list()
    try:
        one = drill(args.topic, "1" if args.seed is None else args.seed)
    except ValueError as error:
        print(f"k8slab drill: {error}", file=sys.stderr)
        return 2
    if args.ask and not sys.stdin.isatty():
        print("k8slab drill: --ask: standard input is no terminal; use --try TEXT", file=sys.stderr)
        return 2
    if args.attempt is not None and (problem := one.judge.problem(args.attempt)):
        print(f"k8slab drill: --try {_short(args.attempt)}: {problem}", file=sys.stderr)
        return 2
    code = 0
    if args.attempt is not None:
        code = _judge(one, args.attempt)
    elif args.ask:
        code = _ask(one)
    else:
        _show(one)
    if args.answer:
        print(f"answer: {one.answer}\n\n{one.explanation}")
    elif args.attempt is None and not args.ask:
        _how_to_go_on(one)
    return code


def _needs_topic(args: argparse.Namespace) -> str:
    """The first option that was given and means nothing without a topic."""
    given = {
        "--try": args.attempt is not None,
        "--ask": args.ask,
        "--answer": args.answer,
        "--seed": args.seed is not None,
    }
    return next((option for option, is_given in given.items() if is_given), "")


def _list() -> int:
    from k8slab.drill import TITLES

    print(Table(TITLES.items(), ("TOPIC", "ABOUT")))
    return 0


def _show(one: Drill) -> None:
    print(f"{one.topic}, seed {one.seed}, level {one.level} of 3\n\n{one.question}\n")


def _how_to_go_on(one: Drill) -> None:
    command = f"k8slab drill {one.topic} --seed {shlex.quote(one.seed)}"
    print(f"judge an answer:  {command} --try '...'\nsee the answer:   {command} --answer")


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def _judge(one: Drill, text: str) -> int:
    """What is no answer at all is not recorded: who asked for 1, 2 and got `banana` has not tried."""
    right, message = one.check(text)
    print(message)
    if not one.judge.problem(text):
        remember(lambda progress: progress.done("drill", f"{one.topic}/{one.seed}", right=right))
    return 0 if right else 1


def _ask(one: Drill) -> int:
    """Until the answer is right; an empty line or the end of input gives up."""
    _show(one)
    for line in iter(_line, ""):
        if _judge(one, line) == 0:
            return 0
    print(f"the answer is {one.answer}")
    return 1


def _line() -> str:
    print("your answer (empty to give up): ", end="", flush=True)
    return sys.stdin.readline().strip()
