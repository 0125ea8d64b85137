"""The trace: what happened, who did it, and because of what.

A `TraceEvent` carries no prose. Its sentence, mark and level come from `KINDS` (see `kinds.py`), so a figure,
a judge and a translation all read the same data.

The cause is ambient: `Trace.current` is the event that the running task last emitted or was handed. The loop
saves and restores it with every step of a task; the places where work changes hands (stream, FIFO, work queue,
server, and the queue of nodes that wait for a taint) set it. Nobody passes a cause as a parameter. Two tables lead
over gaps: `of_revision` from a state that somebody reads to its commit, `silenced` from a silence to what made it.

The main story is level 1 without what it would tell twice: see `is_main`.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from k8slab.sim.clock import Clock
from k8slab.sim.kinds import KINDS

__all__ = ["Scalar", "Trace", "TraceEvent", "is_main", "main_story"]

Scalar: TypeAlias = str | int | bool | None
MAX_ALSO = 16


class TraceEvent(NamedTuple):
    """One thing that happened.

    `seq` numbers events from 0. `action` is the loop's action during which it happened. `actor` is a lane
    (`apiserver`, `kubelet/node-1`). `data` holds scalars whose keys are fixed per kind. `cause` is the seq of
    the last straw, `also` names further causes (merged adds of a queue key, a quorum), at most 16.
    """

    seq: int
    now_ms: int
    action: int
    actor: str
    kind: str
    data: Mapping[str, Scalar]
    cause: int | None
    also: tuple[int, ...]

    @property
    def message(self) -> str:
        """The sentence of this event, from the table `KINDS`."""
        return KINDS[self.kind].text(self.data)

    @property
    def label(self) -> str:
        """The short form of `message`, at most 30 characters where the names allow it."""
        return KINDS[self.kind].label(self.data)


def is_main(event: TraceEvent, lookup: Callable[[int], TraceEvent | None]) -> bool:
    """Whether an event is told in the main story: level 1, but not the write that carries out a decision told before.

    That is a write that leads back, over nothing but requests of the same actor, to this actor's decision (a level 1
    event with mark `work`): "the scheduler picks node-2" tells the binding too. `lookup`: an event by number, or None.
    """
    kind = KINDS.get(event.kind)
    if kind is None or kind.level != 1 or kind.mark != "write":
        return kind is not None and kind.level == 1
    at = event.cause
    while at is not None:
        before = lookup(at)
        row = KINDS.get(before.kind) if before is not None else None
        if before is None or row is None or before.actor != event.actor:
            return True
        if row.mark not in ("write", "request"):
            return row.mark != "work" or row.level != 1
        at = before.cause
    return True


def main_story(events: Iterable[TraceEvent]) -> frozenset[int]:
    """The numbers of those of `events` that the main story tells: see `is_main`. Left out are also the writes of
    components that were refused (a kubelet that creates its Node after every start, say)."""
    known = {event.seq: event for event in events}
    refused = {event.cause for event in known.values() if event.kind == "response.error" and event.actor != "you"}
    return frozenset(seq for seq, event in known.items() if seq not in refused and is_main(event, known.get))


_Row: TypeAlias = tuple[Any, ...]
"""An event as a trace keeps it: now_ms, action, actor, kind, cause, also, names, and the values that go with them.
A flat tuple of scalars takes a third of the memory of an event with a dict, and Python's collector skips it."""


def _event(seq: int, row: _Row) -> TraceEvent:
    now_ms, action, actor, kind, cause, also, names, *values = row
    return TraceEvent(seq, now_ms, action, actor, kind, dict(zip(names, values, strict=True)), cause, also)


class Trace:
    """An append-only list of `TraceEvent`s with ambient cause, and the recorded history of objects.

    `keep` bounds how many events are retained (None: all). `without` names kinds that are not recorded at all
    (by default lease renewals, which would be most of a long run, and stages of admission that say nothing new). `on`
    False records nothing.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        on: bool = True,
        keep: int | None = None,
        without: Iterable[str] = ("lease.renew", "admission.stage"),
    ) -> None:
        self.clock = clock
        self.on = on
        self.without = frozenset(without)
        self.current: int | None = None
        self.action = 0
        self.of_revision: dict[int, int] = {}
        self.silenced: dict[str, int | None] = {}  # component: the event since which nothing is heard from it
        self._rows: list[_Row] = []  # the newest is last; with `keep`, up to twice as many as are kept
        self._keep = keep
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}  # the keys of events' data, stored once
        self._seq = 0
        self._objects: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        self.listeners: list[Callable[[TraceEvent], None]] = []

    # -- recording ---------------------------------------------------------------------------------

    def emit(self, kind: str, actor: str, *, also: tuple[int, ...] = (), **data: Scalar) -> int | None:
        """Record an event caused by `current`, and make it the new `current`. Returns its seq.

        Returns None, and leaves `current` alone, when the trace is off or the kind is not recorded.
        """
        if not self.on or kind in self.without:
            return None
        seq = self._seq
        self._seq = seq + 1
        names = tuple(data)
        names = self._names.setdefault(names, names)
        if also:
            also = also[:MAX_ALSO]
        row = (self.clock.now_ms, self.action, actor, kind, self.current, also, names, *data.values())
        self._rows.append(row)
        if self._keep is not None and len(self._rows) > 2 * self._keep:
            del self._rows[: -self._keep or None]
        self.current = seq
        if self.listeners:
            event = _event(seq, row)
            for listener in self.listeners:
                listener(event)
        return seq

    def commit(self, revision: int, seq: int | None) -> None:
        """Remember that `seq` is the event that committed `revision`: watches find their cause by it."""
        if seq is not None:
            self.of_revision[revision] = seq

    def record_object(self, resource: str, key: str, revision: int, obj: Any) -> None:
        """Add a state of an object to the history (`obj` None: deleted at that revision). `obj` is kept by
        reference and must be frozen."""
        if self.on:
            self._objects.setdefault((resource, key), []).append((revision, obj))

    # -- reading -----------------------------------------------------------------------------------

    def object_at(self, resource: str, key: str, revision: int) -> Any:
        """The object as it was at `revision` (None: did not exist). Objects never recorded: KeyError."""
        found = None
        for at, obj in self._objects[(resource, key)]:
            if at > revision:
                break
            found = obj
        return found

    def history(self, resource: str, key: str) -> list[tuple[int, Any]]:
        """All recorded (revision, object) states of one object, oldest first."""
        return list(self._objects.get((resource, key), ()))

    def objects(self) -> Iterator[tuple[str, str]]:
        """All (resource, key) pairs ever recorded, in order of first appearance."""
        return iter(self._objects)

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} events, t={self.clock.now_ms} ms>"

    def __len__(self) -> int:
        return len(self._rows) if self._keep is None else min(self._keep, len(self._rows))

    def __iter__(self) -> Iterator[TraceEvent]:
        oldest = self._seq - len(self)
        return (self[seq] for seq in range(oldest, self._seq))

    def __getitem__(self, seq: int) -> TraceEvent:
        """The event numbered `seq`; KeyError when it was never recorded or is no longer kept."""
        return _event(seq, self._row(seq))

    def get(self, seq: int) -> TraceEvent | None:
        """The event numbered `seq`, None when it is not kept."""
        return self[seq] if self._seq - len(self) <= seq < self._seq else None

    def actor_of(self, seq: int) -> str:
        """The actor of event `seq`, without the rest; KeyError as above."""
        return self._row(seq)[2]  # type: ignore[no-any-return]

    def since(self, seq: int) -> list[TraceEvent]:
        """Kept events with a number of at least `seq`."""
        oldest = self._seq - len(self)
        return [self[number] for number in range(max(seq, oldest), self._seq)]

    def _row(self, seq: int) -> _Row:
        oldest = self._seq - len(self)
        if not oldest <= seq < self._seq:
            raise KeyError(f"event {seq} is not kept: the trace holds {oldest} to {self._seq - 1}")
        return self._rows[seq - self._seq]

    def causes(self, seq: int) -> list[TraceEvent]:
        """The walk back from event `seq` to its first cause, `seq` first."""
        walk = []
        at: int | None = seq
        while at is not None:
            event = self[at]
            walk.append(event)
            at = event.cause
        return walk

    def to_jsonl(self) -> str:
        """The bytes that "same seed, same bytes" speaks of: one JSON object a line, keys sorted, no floats."""
        return "".join(
            json.dumps(
                {**event._asdict(), "data": dict(event.data), "also": list(event.also)},
                sort_keys=True,
                ensure_ascii=False,
                separators=(",", ":"),
            )
            + "\n"
            for event in self
        )
