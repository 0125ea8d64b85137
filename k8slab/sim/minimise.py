"""Make a failing schedule small, so that a person can read it.

A shuffled schedule that fails differs from FIFO at hundreds of actions, and deleting those one by one leaves
dozens that mean nothing. A schedule made of a few *holds* ("the ReplicaSet controller is held from action 339 for
200 actions") shrinks to one sentence. So: search with shuffling and priorities, explain with holds.

Spec: Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (ddmin).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from k8slab.sim.order import Hold

__all__ = ["find_holds", "minimise", "minimise_holds"]

T = TypeVar("T")


def minimise(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """The smallest part of `items` that ddmin finds for which `fails` still holds; `fails(items)` must hold."""
    if not fails(items):
        raise ValueError("nothing to minimise: the whole sequence does not fail")
    rest, parts = list(items), 2
    while len(rest) >= 2:
        size = -(-len(rest) // parts)
        for start in range(0, len(rest), size):
            without = rest[:start] + rest[start + size :]
            if fails(without):
                rest, parts = without, max(parts - 1, 2)
                break
        else:
            if parts >= len(rest):
                break
            parts = min(len(rest), parts * 2)
    return [] if len(rest) == 1 and fails([]) else rest


def minimise_holds(holds: Sequence[Hold], fails: Callable[[Sequence[Hold]], bool]) -> list[Hold]:
    """Fewest holds, then the shortest ones, then the latest starts: what is left matters."""
    rest = minimise(holds, fails)
    shrinking = True
    while shrinking:
        shrinking = False
        for index, hold in enumerate(rest):
            for smaller in (_shorter(hold), _later(hold)):
                if smaller is not None and fails(trial := [*rest[:index], smaller, *rest[index + 1 :]]):
                    rest, shrinking = trial, True
                    break
    return rest


def _shorter(hold: Hold) -> Hold | None:
    return hold._replace(length=hold.length // 2) if hold.length > 1 else None


def _later(hold: Hold) -> Hold | None:
    step = hold.length // 2
    return Hold(hold.actor, hold.start + step, hold.length - step) if step else None


def find_holds(
    actors: Sequence[str],
    fails: Callable[[Sequence[Hold]], bool],
    rng: random.Random,
    *,
    span: int,
    tries: int = 200,
    most: int = 3,
    longest: int = 300,
) -> list[Hold] | None:
    """Search for a schedule of at most `most` holds that fails, and minimise it; None when `tries` found none.

    `actors`: component prefixes that may be held. `span`: holds start within so many actions.
    """
    for _ in range(tries):
        holds = [
            Hold(rng.choice(list(actors)), rng.randint(1, max(1, span)), rng.randint(5, longest))
            for _ in range(rng.randint(1, most))
        ]
        if fails(holds):
            return minimise_holds(holds, fails)
    return None
