"""All keys in order, each with its history.

Upstream: etcd server/storage/mvcc/index.go (treeIndex)
Simplified: a sorted list and a dict in place of a B-tree; compaction runs in one go instead of in batches.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from k8slab.etcd.key_index import Generation, KeyIndex
from k8slab.etcd.messages import FROM_KEY, KeyValue
from k8slab.etcd.revision import Revision


class TreeIndex:
    """Maps keys to KeyIndex and intervals of keys to revisions."""

    def __init__(self) -> None:
        self._keys: list[bytes] = []
        self._living: list[bytes] = []
        """Those of the keys that exist at the newest revision."""
        self._indexes: dict[bytes, KeyIndex] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[KeyIndex]:
        return (self._indexes[key] for key in self._keys)

    def find(self, key: bytes) -> KeyIndex | None:
        return self._indexes.get(key)

    def put(self, key: bytes, revision: Revision) -> Generation:
        index = self._indexes.get(key)
        if index is None:
            index = self._indexes[key] = KeyIndex(key)
            _insert(self._keys, key)
        if not index.is_alive:
            _insert(self._living, key)
        return index.put(revision)

    def restore(self, revision: Revision, kv: KeyValue) -> None:
        """Take in a record of a snapshot, oldest first: of a key that compaction went over, the first that is left.

        ValueError for one that can't be: a deletion of a key that does not live, a put that continues no life of it.
        """
        index = self._indexes.get(kv.key)
        if kv.version == 0:
            if index is None or not index.is_alive:
                raise ValueError(f"record {revision} deletes {kv.key!r}, which does not live")
            if kv != KeyValue(kv.key, 0, revision.main, 0, b""):
                raise ValueError(f"record {revision} deletes {kv.key!r} and holds more than that: {kv}")
            self.tombstone(kv.key, revision)
            return
        generation = self.put(kv.key, revision)
        if index is None and kv.version > 1:  # compaction took the puts before it, each of a revision of its own
            first, last = 2, revision.main - kv.version + 1
            generation.created, generation.version = Revision(kv.create_revision), kv.version
        else:
            first = last = generation.created.main
        if kv.version != generation.version or not first <= kv.create_revision <= last:
            raise ValueError(
                f"record {revision} of {kv.key!r} has version {kv.version} and create_revision {kv.create_revision}, "
                f"expected {generation.version} and {first} to {last}"
            )

    def tombstone(self, key: bytes, revision: Revision) -> None:
        self._indexes[key].tombstone(revision)
        del self._living[bisect_left(self._living, key)]

    def revision_of(self, key: bytes, at_revision: int) -> Revision | None:
        index = self._indexes.get(key)
        return None if index is None else index.get(at_revision)

    def revisions(self, key: bytes, range_end: bytes, at_revision: int) -> list[Revision]:
        """Revisions current at `at_revision` of the keys in `[key, range_end)`, in key order."""
        if not range_end:
            found = self.revision_of(key, at_revision)
            return [] if found is None else [found]
        indexes = self._indexes
        names = _between(self._keys, key, range_end)
        return [revision for name in names if (revision := indexes[name].get(at_revision)) is not None]

    def count_living(self, key: bytes, range_end: bytes) -> int:
        """How many keys in `[key, range_end)` exist at the newest revision."""
        first, last = _place(self._living, key, range_end)
        return max(last - first, 0)

    def compact(self, at_revision: int) -> set[Revision]:
        """Compact every key; return the revisions up to `at_revision` that must be kept."""
        kept = {revision for index in self if (revision := index.compact(at_revision)) is not None}
        gone = [index.key for index in self if index.is_empty]
        for key in gone:
            del self._indexes[key]
        if gone:
            self._keys = [key for key in self._keys if key in self._indexes]
        return kept

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert self._keys == sorted(set(self._keys)), "the keys of the index are not sorted or not unique"
        assert set(self._keys) == set(self._indexes), "the sorted keys and the histories differ"
        assert self._living == [index.key for index in self if index.is_alive], (
            "the keys that live are not those listed"
        )
        for index in self:
            assert not index.is_empty, f"key {index.key!r} stayed in the index without a revision"
            index.check_invariants()


def _insert(keys: list[bytes], key: bytes) -> None:
    if not keys or key > keys[-1]:
        keys.append(key)
    else:
        insort(keys, key)


def _place(keys: list[bytes], key: bytes, range_end: bytes) -> tuple[int, int]:
    return bisect_left(keys, key), len(keys) if range_end == FROM_KEY else bisect_left(keys, range_end)


def _between(keys: list[bytes], key: bytes, range_end: bytes) -> list[bytes]:
    first, last = _place(keys, key, range_end)
    return keys[first:last]
