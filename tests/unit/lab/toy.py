"""The smallest lab there can be: a counter that never falls below zero. Written into a folder, to be spoilt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["SOLUTION", "write_toy"]

SOLUTION = '''class Counter:
    """Counts up and down, never below zero."""

    def __init__(self):
        ### BEGIN SOLUTION
        self.value = 0
        ### END SOLUTION

    def up(self):
        ### BEGIN SOLUTION
        self.value = self.value + 1
        return self.value
        ### END SOLUTION

    def down(self):
        ### BEGIN SOLUTION
        if self.value > 0:
            self.value = self.value - 1
        return self.value
        ### END SOLUTION
'''
SECOND = '''class Counter:
    """The same with a list."""

    def __init__(self):
        self.marks = []

    def up(self):
        self.marks.append(1)
        return len(self.marks)

    def down(self):
        del self.marks[:1]
        return len(self.marks)
'''
DRIVE = """def drive(names, setting):
    counter = names["Counter"]()
    return lambda verb: getattr(counter, verb)()
"""
CHECKS = """from k8slab.lab import Broken, Check, LabSpec


def right(steps):
    value = 0
    for step in steps:
        value = value + 1 if step.verb == "up" else max(0, value - 1)
        if step.result != value:
            cause = "below" if isinstance(step.result, int) and step.result < 0 else "wrong"
            return Broken(step.number, f"the counter is at {value}, and {step.verb} says {step.result}", cause)
    return None


LAB = LabSpec(
    "A counter",
    "How far down?",
    {"Counter": "class"},
    (
        Check(
            "counts", "It counts", 1, right, {"both": "up; up; down", "below": "down; up"},
            lambda rng: [(rng.choice(["up", "down"]),) for _ in range(rng.randint(1, 12))],
            {"below": ["What is down of zero?"], "": ["Look at one step."]},
        ),
    ),
)
"""
MUTANT = '''"""It falls below zero."""

KILLED_BY = "counts"
CAUSE = "below"
CHANGES = (("        if self.value > 0:\\n            self.value", "        if True:\\n            self.value"),)
'''


def write_toy(folder: Path) -> Path:
    """The lab `77-counter` in `folder`; returns its folder."""
    lab = folder / "labs" / "77-counter"
    (lab / "mutants").mkdir(parents=True)
    metadata = {"grade": False, "grade_id": "counter", "locked": False, "schema_version": 3, "solution": True}
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "counter",
        "metadata": {"nbgrader": metadata},
        "outputs": [],
        "source": SOLUTION.splitlines(keepends=True),
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (lab / "77-counter.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    for name, text in (("checks.py", CHECKS), ("drive.py", DRIVE), ("second.py", SECOND)):
        (lab / name).write_text(text, encoding="utf-8")
    (lab / "mutants" / "below_zero.py").write_text(MUTANT, encoding="utf-8")
    return lab
