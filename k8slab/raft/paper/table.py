"""The table of clauses, which the modules with experiments fill.

Upstream: none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["CLAUSES", "Clause", "clause", "coverage"]


class Clause(NamedTuple):
    """`where` in the paper or thesis, which part of the `rule`, what it says in our words, and the experiment."""

    where: str
    rule: str
    says: str
    experiment: Callable[[], None]


CLAUSES: list[Clause] = []


def clause(where: str, rule: str, says: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add the decorated experiment to the table."""

    def add(experiment: Callable[[], None]) -> Callable[[], None]:
        CLAUSES.append(Clause(where, rule, says, experiment))
        return experiment

    return add


def coverage() -> list[tuple[str, str, str]]:
    """Every clause, in the order of the paper."""
    return [(one.where, one.rule, one.says) for one in CLAUSES]
