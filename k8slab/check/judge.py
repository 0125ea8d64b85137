"""What a judge is: it reads a trace and the recorded history, and names what must never have happened.

Upstream: none. Spec: jepsen-io/jepsen `checker` (judging a recorded history, never live objects).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from k8slab.sim import Trace

__all__ = ["Change", "Judge", "Violation", "judge", "timeline"]


class Violation(NamedTuple):
    """Something that must not happen. `seq`: the trace event that shows it (None: the whole run does)."""

    judge: str
    seq: int | None
    message: str

    def __str__(self) -> str:
        where = "" if self.seq is None else f" (event {self.seq})"
        return f"{self.judge}: {self.message}{where}"


class Judge(Protocol):
    """`name` is what a violation is filed under."""

    name: str

    def judge(self, trace: Trace) -> list[Violation]:
        """Every violation in `trace`, in the order they happened; [] when all is well."""


class Change(NamedTuple):
    """One state of one object. `obj` None: it was deleted at `revision`."""

    revision: int
    resource: str
    key: str
    obj: Any


def timeline(trace: Trace) -> Iterator[Change]:
    """Every recorded change of every object, by revision."""
    changes = [
        Change(revision, resource, key, obj)
        for resource, key in trace.objects()
        for revision, obj in trace.history(resource, key)
    ]
    return iter(sorted(changes, key=lambda change: change.revision))


def judge(trace: Trace, judges: Iterable[Judge]) -> list[Violation]:
    """What all `judges` find."""
    return [violation for one in judges for violation in one.judge(trace)]
