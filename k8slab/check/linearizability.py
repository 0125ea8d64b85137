"""Linearizability: could the answers that clients got have come from one copy that did one thing at a time?

Each key is judged alone (a history is linearizable exactly if every key's is), by the search of Wing and Gong: pick an
operation that may be the first, try it on a register, go on with the rest; remember where the search has been (Lowe).

>>> write = Operation("a", "x", "write", "1", 0, 10)
>>> late = Operation("b", "x", "read", None, 20, 30)
>>> linearizable([write, Operation("b", "x", "read", "1", 5, 6)]), linearizable([write, late])
(True, False)

Upstream: none. Spec: Herlihy and Wing 1990; Wing and Gong 1993; Lowe, "Testing for linearizability" (2017)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

__all__ = ["Operation", "linearizable", "not_linearizable"]

NEVER = 2**62


class Operation(NamedTuple):
    """What a client asked and got. `value`: what was written or read; None: nothing was there.

    `called` and `returned`: when, in ms or any order; `returned` None: no answer came, so a write may have happened at
    any time since, or never. A `cas` writes `value` if `expected` was there; `ok` says whether it did.
    """

    client: str
    key: str
    kind: Literal["read", "write", "cas"]
    value: str | None
    called: int
    returned: int | None = None
    expected: str | None = None
    ok: bool = True


def linearizable(history: Iterable[Operation]) -> bool:
    """Whether one order explains all answers."""
    return not not_linearizable(history)


def not_linearizable(history: Iterable[Operation]) -> list[str]:
    """The keys whose answers no order explains."""
    by_key: dict[str, list[Operation]] = {}
    for operation in history:
        if operation.returned is not None and operation.returned < operation.called:
            raise ValueError(f"{operation}: returned before it was called")
        if operation.kind == "read" and operation.returned is None:
            continue  # nobody saw an answer: it explains itself
        by_key.setdefault(operation.key, []).append(operation)
    return [key for key, operations in by_key.items() if not _explained(operations)]


def _applies(operation: Operation, state: str | None) -> tuple[bool, str | None]:
    """Whether the answer fits a register that holds `state`, and what it holds then."""
    if operation.kind == "read":
        return state == operation.value, state
    if operation.kind == "write":
        return True, operation.value
    if operation.returned is None:
        return True, operation.value if state == operation.expected else state
    fits = (state == operation.expected) == operation.ok
    return fits, operation.value if operation.ok else state


def _explained(operations: Sequence[Operation]) -> bool:
    """Depth first, without recursion. An operation may be next if none that is left returned before it was called."""
    ordered = sorted(operations, key=lambda operation: operation.called)
    ends = [NEVER if operation.returned is None else operation.returned for operation in ordered]
    must = sum(1 << number for number, end in enumerate(ends) if end < NEVER)
    seen: dict[tuple[int, str | None], None] = {}
    stack: list[tuple[int, str | None]] = [(0, None)]
    while stack:
        done, state = stack.pop()
        if done & must == must:
            return True
        if (done, state) in seen:
            continue
        seen[(done, state)] = None
        stack += _next(ordered, ends, done, state)
    return False


def _next(
    ordered: Sequence[Operation], ends: Sequence[int], done: int, state: str | None
) -> list[tuple[int, str | None]]:
    found = []
    first_end = NEVER
    # lowest number that is not done: all before it are
    number = (~done & (done + 1)).bit_length() - 1
    while number < len(ordered) and ordered[number].called <= first_end:
        if not done >> number & 1:
            first_end = min(first_end, ends[number])
            fits, after = _applies(ordered[number], state)
            if fits:
                found.append((done | 1 << number, after))
        number += 1
    # Only those called before the first of the rest returned may come first.
    found.reverse()  # the one called first is tried first
    return [one for one in found if _may_be_first(ordered, ends, done, one[0] ^ done)]


def _may_be_first(ordered: Sequence[Operation], ends: Sequence[int], done: int, bit: int) -> bool:
    called = ordered[bit.bit_length() - 1].called
    number = (~done & (done + 1)).bit_length() - 1
    while number < len(ordered) and ordered[number].called <= called:
        if not done >> number & 1 and ends[number] < called:
            return False
        number += 1
    return True
