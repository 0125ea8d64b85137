"""A network between named endpoints, with faults.

Endpoints are component names; rules match by prefix, so a rule for `kubelet/node-1` covers all its tasks. The
network answers two questions: may a message pass (`blocked`), and if it is sent, when does it arrive, how often,
and in what order (`send`).

Upstream: none. Spec: the fault model of Jepsen (delay, loss, duplication, reordering, partitions, also one-way).
Simplified: no bandwidth, no congestion; a message is lost or arrives whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from k8slab.sim.latency import check_bounds
from k8slab.sim.loop import Loop
from k8slab.sim.order import matches

__all__ = ["Faults", "Network"]


@dataclass(slots=True)
class Faults:
    """What happens to messages. Probabilities are between 0 and 1, delays in milliseconds, inclusive.

    With `reorder` False (like TCP) messages from one endpoint to another keep their order.
    """

    delay_ms: tuple[int, int] = (1, 1)
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: bool = False

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ValueError(f"{name} {value!r}: expected a probability between 0 and 1")
        check_bounds("delay_ms", self.delay_ms)


class Network:
    """Carries messages between endpoints on the loop's clock; randomness from its own stream. `sent`: how many.

    `groups`: names of those who share it, each of whose endpoints begin with its name.
    """

    def __init__(self, loop: Loop, faults: Faults | None = None, *, stream: str = "network") -> None:
        if not isinstance(faults, Faults | None):
            raise ValueError(f"faults {faults!r}: expected Faults")
        self.loop = loop
        self.faults = faults or Faults()
        self.groups: set[str] = set()
        self.in_flight: dict[int, tuple[str, str, Any]] = {}
        self._rng = loop.stream(stream)
        self._receivers: dict[str, Callable[[str, Any], None]] = {}
        self._cuts: dict[tuple[str, str], None] = {}
        self._last_due: dict[tuple[str, str], int] = {}
        self.sent = 0

    # -- partitions --------------------------------------------------------------------------------

    def cut(self, source: str, target: str) -> None:
        """Block messages from `source` to `target` (prefixes; one way)."""
        self._cuts[(source, target)] = None

    def partition(self, one: Iterable[str], other: Iterable[str]) -> None:
        """Block messages between the two sides, both ways."""
        others = list(other)
        for a in one:
            for b in others:
                self.cut(a, b)
                self.cut(b, a)

    def heal(self, source: str | None = None, target: str | None = None) -> None:
        """Remove the cuts that match; without arguments all of them."""
        self._cuts = {
            pair: None
            for pair in self._cuts
            if not ((source is None or pair[0] == source) and (target is None or pair[1] == target))
        }

    def blocked(self, source: str, target: str) -> bool:
        """Whether a message from `source` to `target` cannot pass now."""
        if not self._cuts:  # nearly always; every message asks
            return False
        return any(matches(source, a) and matches(target, b) for a, b in self._cuts)

    @property
    def cuts(self) -> list[tuple[str, str]]:
        return list(self._cuts)

    # -- messages ----------------------------------------------------------------------------------

    def listen(self, endpoint: str, receive: Callable[[str, Any], None]) -> None:
        """Messages to `endpoint` are given to `receive(source, message)`, which must not wait."""
        self._receivers[endpoint] = receive

    def unlisten(self, endpoint: str) -> None:
        """Messages to `endpoint` are lost from now on (a crashed process)."""
        self._receivers.pop(endpoint, None)

    def send(self, source: str, target: str, message: Any) -> None:
        """Send a message. It may arrive, late or twice, or never; nobody is told."""
        faults, rng = self.faults, self._rng
        copies = 2 if faults.duplicate and rng.random() < faults.duplicate else 1
        for _ in range(copies):
            if faults.loss and rng.random() < faults.loss:
                continue
            due = self.loop.clock.now_ms + rng.randint(*faults.delay_ms)
            if not faults.reorder:
                due = max(due, self._last_due.get((source, target), 0))
                self._last_due[(source, target)] = due
            self.sent += 1
            number = self.sent
            self.in_flight[number] = (source, target, message)
            self.loop.call_later(due - self.loop.clock.now_ms, lambda number=number: self._arrive(number))  # type: ignore[misc]

    def _arrive(self, number: int) -> None:
        source, target, message = self.in_flight.pop(number)
        receive = self._receivers.get(target)
        if receive is not None and not self.blocked(source, target):
            receive(source, message)

    def view(self) -> dict[str, Any]:
        """Cuts and messages on their way, keyed by stable ids."""
        return {
            "cuts": {f"{a} -> {b}": True for a, b in self._cuts},
            "in_flight": {str(n): {"from": a, "to": b} for n, (a, b, _) in self.in_flight.items()},
        }

    def check_invariants(self) -> None:
        """AssertionError when the network's books do not balance."""
        assert all(n <= self.sent for n in self.in_flight), "a message is in flight that was never sent"
