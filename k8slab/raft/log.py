"""The log: what is saved, and behind it what is not saved yet.

Four numbers go up and never down: `applied` <= `applying` <= `committed` <= last index. Below them lie the entries
that storage holds, above the unstable ones, which are on their way to it.

Upstream: go.etcd.io/raft/v3 log.go, log_unstable.go
Simplified: no pause of applying by size (the caller applies what `Ready` holds before it asks again).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from k8slab.raft.errors import CompactedError, UnavailableError
from k8slab.raft.messages import NO_LIMIT, Entry, EntryID, Snapshot, limit_size
from k8slab.raft.storage import Storage

__all__ = ["Log", "Logger"]

Logger = Callable[[str, str], None]
"""Takes a level (DEBUG, INFO, WARN, ERROR) and a line."""


class Log:
    """Reads find the newest: unstable before saved."""

    __slots__ = (
        "applied",
        "applying",
        "committed",
        "in_progress",
        "logger",
        "max_committed_size",
        "offset",
        "snapshot_in_progress",
        "storage",
        "unstable",
        "unstable_snapshot",
    )

    def __init__(self, storage: Storage, logger: Logger | None = None, max_committed_size: int = NO_LIMIT) -> None:
        self.storage = storage
        self.logger = logger
        self.max_committed_size = max_committed_size
        first = storage.first_index()
        self.committed = self.applying = self.applied = first - 1
        self.offset = self.in_progress = storage.last_index() + 1
        """`unstable[0]` has index `offset`; those below `in_progress` are being written."""
        self.unstable: list[Entry] = []
        self.unstable_snapshot: Snapshot | None = None
        self.snapshot_in_progress = False

    # -- reading -----------------------------------------------------------------------------------

    @property
    def first_index(self) -> int:
        if self.unstable_snapshot is not None:
            return self.unstable_snapshot.index + 1
        return self.storage.first_index()

    @property
    def last_index(self) -> int:
        if self.unstable:
            return self.offset + len(self.unstable) - 1
        if self.unstable_snapshot is not None:
            return self.unstable_snapshot.index
        return self.storage.last_index()

    @property
    def last(self) -> EntryID:
        if self.unstable:
            entry = self.unstable[-1]
            return EntryID(entry.term, entry.index)
        return EntryID(self.term(self.last_index), self.last_index)

    def term(self, index: int) -> int:
        """The term of an entry. CompactedError before the log, UnavailableError behind it."""
        at = index - self.offset
        if at >= 0:
            if at < len(self.unstable):
                return self.unstable[at].term
        elif self.unstable_snapshot is not None and index == self.unstable_snapshot.index:
            return self.unstable_snapshot.term
        if index + 1 < self.first_index:
            raise CompactedError
        if index > self.last_index:
            raise UnavailableError
        return self.storage.term(index)

    def term_or_zero(self, index: int) -> int:
        try:
            return self.term(index)
        except (CompactedError, UnavailableError):
            return 0

    def matches(self, wanted: EntryID) -> bool:
        """Whether this log has that entry: then it agrees with the other log up to there."""
        try:
            return self.term(wanted.index) == wanted.term
        except (CompactedError, UnavailableError):
            return False

    def is_up_to_date(self, other: EntryID) -> bool:
        """Whether a log that ends with `other` holds all that this one may have committed (§5.4.1)."""
        return other >= self.last

    def entries(self, low: int, max_size: int = NO_LIMIT) -> tuple[Entry, ...]:
        """From `low` to the end."""
        return self.slice(low, self.last_index + 1, max_size) if low <= self.last_index else ()

    def slice(self, low: int, high: int, max_size: int = NO_LIMIT) -> tuple[Entry, ...]:
        """Entries [low, high), at most `max_size` bytes but at least one. CompactedError, UnavailableError."""
        if low < self.first_index:
            raise CompactedError
        if high > self.last_index + 1:
            raise UnavailableError
        if low >= self.offset:
            return limit_size(tuple(self.unstable[low - self.offset : high - self.offset]), max_size)
        saved = self.storage.entries(low, min(high, self.offset), max_size)
        if high <= self.offset or len(saved) < self.offset - low:
            return saved
        return limit_size((*saved, *self.unstable[: high - self.offset]), max_size)

    def snapshot(self) -> Snapshot:
        return self.unstable_snapshot if self.unstable_snapshot is not None else self.storage.snapshot()

    # -- growing -----------------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries, in place of all from the first of them on; the last index."""
        if entries:
            after = entries[0].index - 1
            assert after >= self.committed, f"after({after}) is out of range [committed({self.committed})]"
            self._replace_from(entries[0].index, entries)
        return self.last_index

    def maybe_append(self, previous: EntryID, entries: Sequence[Entry], committed: int) -> int | None:
        """What a leader sent: None when this log has not the entry before, else the last index that now agrees.

        Entries that are there already stay; the first that differs and all behind it are replaced (§5.3).
        """
        if not self.matches(previous):
            return None
        last_new = previous.index + len(entries)
        conflict = self.find_conflict(entries)
        if conflict:
            assert conflict > self.committed, (
                f"entry {conflict} conflict with committed entry [committed({self.committed})]"
            )
            self.append(entries[conflict - previous.index - 1 :])
        self.commit_to(min(committed, last_new))
        return last_new

    def find_conflict(self, entries: Sequence[Entry]) -> int:
        """The index of the first entry that this log has not, 0 when it has all."""
        for entry in entries:
            if not self.matches(EntryID(entry.term, entry.index)):
                if entry.index <= self.last_index:
                    existing = self.term_or_zero(entry.index)
                    self._info(
                        f"found conflict at index {entry.index} "
                        f"[existing term: {existing}, conflicting term: {entry.term}]"
                    )
                return entry.index
        return 0

    def find_conflict_by_term(self, index: int, term: int) -> tuple[int, int]:
        """A guess how far the logs agree at most: the last entry up to `index` whose term is not above `term`.

        With its term; 0 where the log does not reach back so far.
        """
        while index > 0:
            try:
                own = self.term(index)
            except (CompactedError, UnavailableError):
                return index, 0
            if own <= term:
                return index, own
            index -= 1
        return 0, 0

    def commit_to(self, index: int) -> None:
        if index > self.committed:
            assert index <= self.last_index, (
                f"tocommit({index}) is out of range [lastIndex({self.last_index})]. "
                "Was the raft log corrupted, truncated, or lost?"
            )
            self.committed = index

    def restore(self, snapshot: Snapshot) -> None:
        """Replace everything by a snapshot, which is still to be saved."""
        self._info(
            f"log [{self}] starts to restore snapshot [index: {snapshot.index}, term: {snapshot.term}]",
        )
        self.committed = snapshot.index
        self.offset = self.in_progress = snapshot.index + 1
        self.unstable = []
        self.unstable_snapshot = snapshot
        self.snapshot_in_progress = False

    def _replace_from(self, index: int, entries: Sequence[Entry]) -> None:
        if index == self.offset + len(self.unstable):
            self.unstable.extend(entries)
        elif index <= self.offset:
            self._info(f"replace the unstable entries from index {index}")
            self.unstable = list(entries)
            self.offset = self.in_progress = index
        else:
            self._info(f"truncate the unstable entries before index {index}")
            self.unstable[index - self.offset :] = entries
            self.in_progress = min(self.in_progress, index)

    # -- saving and applying -----------------------------------------------------------------------

    @property
    def next_unstable(self) -> tuple[Entry, ...]:
        """Entries that nobody writes yet."""
        return tuple(self.unstable[self.in_progress - self.offset :])

    @property
    def next_unstable_snapshot(self) -> Snapshot | None:
        return None if self.snapshot_in_progress else self.unstable_snapshot

    def accept_unstable(self) -> None:
        """All that is unstable is being written now."""
        self.in_progress = self.offset + len(self.unstable)
        if self.unstable_snapshot is not None:
            self.snapshot_in_progress = True

    def stable_to(self, saved: EntryID) -> None:
        """Everything up to `saved` is on disk, unless the log was changed since."""
        at = saved.index - self.offset
        if not 0 <= at < len(self.unstable):
            self._info(f"entry at index {saved.index} missing from unstable log; ignoring")
            return
        own = self.unstable[at]
        if own.term != saved.term:
            self._info(
                f"entry at (index,term)=({saved.index},{saved.term}) mismatched with entry at "
                f"({own.index},{own.term}) in unstable log; ignoring"
            )
            return
        del self.unstable[: at + 1]
        self.offset = saved.index + 1
        self.in_progress = max(self.in_progress, self.offset)

    def stable_snapshot_to(self, index: int) -> None:
        """The snapshot is on disk."""
        if self.unstable_snapshot is not None and self.unstable_snapshot.index == index:
            self.unstable_snapshot = None
            self.snapshot_in_progress = False

    @property
    def has_next_committed(self) -> bool:
        return self.committed > self.applying and self.unstable_snapshot is None

    @property
    def next_committed(self) -> tuple[Entry, ...]:
        """Entries to apply: committed, and in nobody's hands yet. None while a snapshot waits."""
        if not self.has_next_committed:
            return ()
        return self.slice(self.applying + 1, self.committed + 1, self.max_committed_size)

    def accept_applying(self, index: int) -> None:
        """Entries up to `index` are being applied."""
        assert self.applying <= index <= self.committed, f"applying({index}) is out of range"
        self.applying = index

    def applied_to(self, index: int) -> None:
        """Entries up to `index` have been applied."""
        assert self.applied <= index <= self.committed, (
            f"applied({index}) is out of range [prevApplied({self.applied}), committed({self.committed})]"
        )
        self.applied = index
        self.applying = max(self.applying, index)

    # -- showing -----------------------------------------------------------------------------------

    def _info(self, text: str) -> None:
        if self.logger is not None:
            self.logger("INFO", text)

    def __str__(self) -> str:
        return (
            f"committed={self.committed}, applied={self.applied}, applying={self.applying}, "
            f"unstable.offset={self.offset}, unstable.offsetInProgress={self.in_progress}, "
            f"len(unstable.Entries)={len(self.unstable)}"
        )

    def check_invariants(self) -> None:
        """AssertionError when the numbers are out of order or an unstable entry is out of place."""
        assert self.applied <= self.applying <= self.committed <= self.last_index, f"out of order: {self}"
        assert self.offset <= self.in_progress <= self.offset + len(self.unstable), f"out of order: {self}"
        for at, entry in enumerate(self.unstable):
            assert entry.index == self.offset + at, f"entry {entry.index} at place {self.offset + at}"
