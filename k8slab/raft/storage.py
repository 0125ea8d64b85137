"""What is on disk, as the log reads it.

Upstream: go.etcd.io/raft/v3 storage.go
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Protocol

from k8slab.raft.errors import CompactedError, SnapshotOutOfDateError, UnavailableError
from k8slab.raft.messages import EMPTY_SNAPSHOT, NO_LIMIT, ConfState, Entry, HardState, Snapshot, limit_size

__all__ = ["MemoryStorage", "Storage"]


class Storage(Protocol):
    """Reads of what was saved. Entries from `first_index` to `last_index`, before them a snapshot."""

    def initial_state(self) -> tuple[HardState, ConfState]:
        """What was saved last, and who belonged to the group then."""

    def entries(self, low: int, high: int, max_size: int = NO_LIMIT) -> tuple[Entry, ...]:
        """Entries [low, high), at most `max_size` bytes but at least one. CompactedError, UnavailableError."""

    def term(self, index: int) -> int:
        """The term of an entry, or of the one before the first. CompactedError, UnavailableError."""

    def first_index(self) -> int: ...

    def last_index(self) -> int: ...

    def snapshot(self) -> Snapshot:
        """The newest. SnapshotTemporarilyUnavailableError: ask again."""


class MemoryStorage:
    """A Storage in memory: lists and numbers, for tests and simulations.

    >>> storage = MemoryStorage()
    >>> storage.append([Entry(1, 1), Entry(1, 2), Entry(2, 3)])
    >>> storage.first_index(), storage.last_index(), storage.term(3)
    (1, 3, 2)
    """

    def __init__(self, snapshot: Snapshot = EMPTY_SNAPSHOT) -> None:
        self.hard_state = HardState()
        self._snapshot = snapshot
        # the first stands for what the snapshot ends with: its index and term, no data
        self._entries: list[Entry] = [Entry(snapshot.term, snapshot.index)]

    def initial_state(self) -> tuple[HardState, ConfState]:
        return self.hard_state, self._snapshot.conf_state

    def first_index(self) -> int:
        return self._entries[0].index + 1

    def last_index(self) -> int:
        return self._entries[-1].index

    def entries(self, low: int, high: int, max_size: int = NO_LIMIT) -> tuple[Entry, ...]:
        first = self._entries[0].index
        if low <= first:
            raise CompactedError
        if high > self.last_index() + 1:
            raise UnavailableError(f"entries up to {high - 1} were asked for, the last is {self.last_index()}")
        return limit_size(tuple(self._entries[low - first : high - first]), max_size)

    def term(self, index: int) -> int:
        first = self._entries[0].index
        if index < first:
            raise CompactedError
        if index > self.last_index():
            raise UnavailableError
        return self._entries[index - first].term

    def snapshot(self) -> Snapshot:
        return self._snapshot

    # -- writing -----------------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries; those from the first of them on are replaced. What is compacted already is left out."""
        first = self._entries[0].index
        entries = [entry for entry in entries if entry.index > first]
        if not entries:
            return
        at = entries[0].index - first
        if at > len(self._entries):
            raise UnavailableError(f"entry {entries[0].index} is not next to the last, {self.last_index()}")
        self._entries[at:] = entries

    def create_snapshot(self, index: int, conf_state: ConfState, data: bytes = b"") -> Snapshot:
        """A snapshot after entry `index`. SnapshotOutOfDateError when there is one as new, UnavailableError beyond."""
        if index <= self._snapshot.index:
            raise SnapshotOutOfDateError
        self._snapshot = Snapshot(index, self.term(index), conf_state, data)
        return self._snapshot

    def compact(self, index: int) -> None:
        """Forget entries up to `index`. CompactedError when they are gone, UnavailableError beyond the last."""
        first = self._entries[0].index
        if index <= first:
            raise CompactedError
        if index > self.last_index():
            raise UnavailableError(f"compact {index} is out of bound lastindex({self.last_index()})")
        kept = self._entries[index - first]
        self._entries = [Entry(kept.term, kept.index), *self._entries[index - first + 1 :]]

    def apply_snapshot(self, snapshot: Snapshot) -> None:
        """Replace everything by a snapshot. SnapshotOutOfDateError when it is not newer than the one there."""
        if snapshot.index <= self._snapshot.index:
            raise SnapshotOutOfDateError
        self._snapshot = snapshot
        self._entries = [Entry(snapshot.term, snapshot.index)]

    def copy(self) -> MemoryStorage:
        """The same entries, which change apart from now on."""
        twin = copy.copy(self)
        twin._entries = list(self._entries)
        return twin

    def check_invariants(self) -> None:
        """AssertionError unless indexes follow each other and terms never fall."""
        for one, two in zip(self._entries, self._entries[1:], strict=False):
            assert two.index == one.index + 1, f"entry {two.index} follows entry {one.index}"
            assert two.term >= one.term, f"entry {two.index} has term {two.term}, the one before it {one.term}"
