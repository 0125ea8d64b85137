"""What each revision wrote, in the order of revisions.

Upstream: etcd server/storage/backend and the "key" bucket of server/storage/mvcc/kvstore.go
Simplified: memory in place of a bbolt file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from k8slab.etcd.messages import KeyValue
from k8slab.etcd.revision import Revision


class Backend:
    """Revision → KeyValue. A tombstone is a KeyValue of version 0."""

    def __init__(self) -> None:
        self.records: dict[Revision, KeyValue] = {}
        self._order: list[Revision] = []

    def append(self, revision: Revision, kv: KeyValue) -> None:
        self.records[revision] = kv
        self._order.append(revision)

    def since(self, main: int) -> Iterator[KeyValue]:
        """Every record from transaction `main` on, oldest first."""
        first = bisect_left(self._order, (main, 0))
        return (self.records[self._order[position]] for position in range(first, len(self._order)))

    def compact(self, main: int, keep: set[Revision]) -> None:
        """Drop the records up to transaction `main` that are not in `keep`."""
        end = bisect_left(self._order, (main + 1, 0))
        old, recent = self._order[:end], self._order[end:]
        for revision in old:
            if revision not in keep:
                del self.records[revision]
        self._order = [revision for revision in old if revision in keep] + recent

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert self._order == sorted(self._order), "the records are not in the order of their revisions"
        assert list(self.records) == self._order, "the records and their order differ"
        for revision, kv in self.records.items():
            assert kv.mod_revision == revision.main, f"record {revision} says mod_revision {kv.mod_revision}"
