"""What each revision wrote, in the order of revisions, and how much of the disk that takes.

Upstream: etcd server/storage/backend and the "key" bucket of server/storage/mvcc/kvstore.go
Simplified: memory in place of a bbolt file; `Pages` counts what the file would have.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from k8slab.etcd.messages import KeyValue
from k8slab.etcd.pages import Pages
from k8slab.etcd.revision import Revision

_RECORD_OVERHEAD = 80
"""Bytes beside key and value: bbolt's element and etcd's revision (33), the KeyValue's tags and numbers (up to 47)."""


class Backend:
    """Revision → KeyValue. A tombstone is a KeyValue of version 0."""

    def __init__(self) -> None:
        self.records: dict[Revision, KeyValue] = {}
        self.pages = Pages()
        self._order: list[Revision] = []
        self._leaves: list[int] = []

    def append(self, revision: Revision, kv: KeyValue) -> None:
        self.records[revision] = kv
        self._order.append(revision)
        self._leaves.append(self.pages.place(_RECORD_OVERHEAD + len(kv.key) + len(kv.value)))

    def since(self, main: int) -> Iterator[KeyValue]:
        """Every record from transaction `main` on, oldest first."""
        first = bisect_left(self._order, (main, 0))
        return (self.records[self._order[position]] for position in range(first, len(self._order)))

    def count_since(self, main: int) -> int:
        """How many records there are from transaction `main` on."""
        return len(self._order) - bisect_left(self._order, (main, 0))

    def compact(self, main: int, keep: set[Revision]) -> None:
        """Drop the records up to transaction `main` that are not in `keep`."""
        end = bisect_left(self._order, (main + 1, 0))
        order, leaves = [], []
        for revision, leaf in zip(self._order[:end], self._leaves, strict=False):
            if revision in keep:
                order.append(revision)
                leaves.append(leaf)
            else:
                del self.records[revision]
                self.pages.remove(leaf)
        self._order = order + self._order[end:]
        self._leaves = leaves + self._leaves[end:]

    def defrag(self) -> None:
        """Write the file anew without its free pages."""
        self._leaves = self.pages.defrag(_RECORD_OVERHEAD + len(kv.key) + len(kv.value) for kv in self.records.values())

    @classmethod
    def of(cls, records: Iterable[tuple[Revision, KeyValue]], size: int) -> Backend:
        """The records of a snapshot, oldest first, in a file of at least `size` bytes."""
        backend = cls()
        for revision, kv in records:
            backend.append(revision, kv)
        backend.pages.grow(size)
        return backend

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert self._order == sorted(self._order), "the records are not in the order of their revisions"
        assert list(self.records) == self._order, "the records and their order differ"
        for revision, kv in self.records.items():
            assert kv.mod_revision == revision.main, f"record {revision} says mod_revision {kv.mod_revision}"
        self.pages.check_invariants()
        assert len(self._leaves) == len(self._order), "not every record lies on a page"
