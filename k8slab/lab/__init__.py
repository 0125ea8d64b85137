"""Graded labs: rebuild a mechanism, and let it be checked by properties over what it answers.

>>> from k8slab.lab import find_lab, verify
>>> lab = find_lab("09")
>>> report = verify(lab, lab.solution, only=["one-worker-a-key"])
>>> report.passed, report.results[0].counts
(True, 'public 6/6, hidden 10/10')

A solution runs in a child process (`child.py`) that knows the operations, not the answers; the parent compares plain
values. So a forged answer would have to be a right one.

What this is not: a wall. The limits (time, memory, output, files, processes) stop mistakes and idle cheating. The
audit hook that refuses the rest is Python, in the process that it guards: handmade bytecode goes past it, with the
rights of whoever grades. A solution sees the operations of hidden cases while it plays them; the code that makes them
is public, their seed is not. What its author is told of them is how many fail, by which of a check's causes, and
whether anything was refused or ended: a few bits can still be told by that. It is a tool for learning; for an exam run
solutions in a container of your own (`ChildRunner`, `K8SLAB_RUNNER`; the teacher's page has a line).

The caller's duties: checks, drives and mutants of a lab are trusted code; solutions are not.

Simplified: in a browser there is no other process: checks run without limits, and say so.
"""

from k8slab.lab.model import (
    Broken,
    Case,
    Check,
    Judge,
    LabSpec,
    Odd,
    Op,
    Outcome,
    Raised,
    Record,
    Report,
    Result,
    Script,
    State,
    Step,
    UnknownCheckError,
    parse_script,
    script_text,
)
from k8slab.lab.runner import ChildRunner, InProcessRunner, Limits, Problem, Runner, Session, Setup
from k8slab.lab.source import Lab, LabError, Mutant, UnknownLabError, find_lab, labs
from k8slab.lab.verify import replay, verify

__all__ = [
    "Broken",
    "Case",
    "Check",
    "ChildRunner",
    "InProcessRunner",
    "Judge",
    "Lab",
    "LabError",
    "LabSpec",
    "Limits",
    "Mutant",
    "Odd",
    "Op",
    "Outcome",
    "Problem",
    "Raised",
    "Record",
    "Report",
    "Result",
    "Runner",
    "Script",
    "Session",
    "Setup",
    "State",
    "Step",
    "UnknownCheckError",
    "UnknownLabError",
    "find_lab",
    "labs",
    "parse_script",
    "replay",
    "script_text",
    "verify",
]
