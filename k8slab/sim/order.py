"""Who goes next when several tasks are ready.

An order is asked before every action with the ready tasks (oldest first) and the number of the action; it
returns an index, or None when everybody who is ready is held back. FIFO is index 0; so a schedule that was found
by any other order can be written as a sparse map {action: index} and replayed by `Choices`.

Upstream: none. Spec: Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs"
(PCT) for `Priority`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

__all__ = ["Choices", "Chosen", "Fifo", "Hold", "Holds", "Named", "Order", "Priority", "Shuffle", "matches"]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Named = _Named


class Order(Protocol):
    """Decides which ready task takes the next step."""

    def pick(self, ready: Sequence[Named], action: int) -> int | None: ...


def matches(name: str, prefix: str) -> bool:
    """Whether the task `name` belongs to the component `prefix` (whole parts of the path)."""
    return name == prefix or name.startswith(prefix + "/") or prefix == ""


class Fifo:
    """The task that has been ready longest."""

    def pick(self, ready: Sequence[Named], action: int) -> int | None:
        return 0


class Chosen:
    """This one task, by identity, as soon as it is ready; FIFO otherwise."""

    def __init__(self, task: Named) -> None:
        self._task = task

    def pick(self, ready: Sequence[Named], action: int) -> int | None:
        return next((index for index, task in enumerate(ready) if task is self._task), 0)


class Shuffle:
    """Any ready task, evenly. `choices` records the picks that differ from FIFO."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.choices: dict[int, int] = {}

    def pick(self, ready: Sequence[Named], action: int) -> int | None:
        index = self._rng.randrange(len(ready)) if len(ready) > 1 else 0
        if index:
            self.choices[action] = index
        return index


class Choices:
    """A schedule written down: at these actions this index, otherwise FIFO."""

    def __init__(self, choices: Mapping[int, int]) -> None:
        self.choices = dict(choices)

    def pick(self, ready: Sequence[Named], action: int) -> int | None:
        return min(self.choices.get(action, 0), len(ready) - 1)


class Priority:
    """PCT: every component gets a random priority, the highest ready one goes; at `changes` random actions out of
    the next `span` the leader drops to the bottom."""

    def __init__(self, rng: random.Random, *, changes: int = 3, span: int = 2_000) -> None:
        self._rng = rng
        self._rank: dict[str, float] = {}
        self._drops = {rng.randrange(span) for _ in range(changes)}
        self._floor = 0.0
        self.choices: dict[int, int] = {}

    def pick(self, ready: Sequence[Named], action: int) -> int | None:
        for task in ready:
            if task.name not in self._rank:
                self._rank[task.name] = self._rng.random()
        index = max(range(len(ready)), key=lambda i: (self._rank[ready[i].name], -i))
        if action in self._drops:
            self._floor -= 1.0
            self._rank[ready[index].name] = self._floor
        if index:
            self.choices[action] = index
        return index


class Hold(NamedTuple):
    """`actor` (a component prefix) is not let act from action `start` for `length` actions."""

    actor: str
    start: int
    length: int

    def covers(self, name: str, action: int) -> bool:
        return self.start <= action < self.start + self.length and matches(name, self.actor)

    def __str__(self) -> str:
        return f"{self.actor} held from action {self.start} for {self.length} actions"


class Holds:
    """FIFO but for a few holds: a schedule that a person can read."""

    def __init__(self, holds: Sequence[Hold] = ()) -> None:
        self.holds = tuple(holds)

    def pick(self, ready: Sequence[Named], action: int) -> int | None:
        active = [hold for hold in self.holds if hold.start <= action < hold.start + hold.length]
        if not active:
            return 0
        for index, task in enumerate(ready):
            if not any(hold.covers(task.name, action) for hold in active):
                return index
        return None
