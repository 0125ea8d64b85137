"""The revisions of one key, in generations that each end with a tombstone.

    put(1.0); put(2.0); tombstone(3.0); put(4.0); tombstone(5.0)
        generations  {1.0, 2.0, 3.0(t)}  {4.0, 5.0(t)}  {empty}
    compact(2)       {2.0, 3.0(t)}  {4.0, 5.0(t)}  {empty}
    compact(4)       {4.0, 5.0(t)}  {empty}
    compact(5)       {empty}   the key leaves the index

Upstream: etcd server/storage/mvcc/key_index.go (3.5: a tombstone at the compacted revision goes too)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from k8slab.etcd.revision import Revision

ZERO = Revision(0, 0)


@dataclass(slots=True)
class Generation:
    """One life of a key: `revisions` from creation to, unless it still lives, the tombstone. `version` counts puts."""

    created: Revision = ZERO
    version: int = 0
    revisions: list[Revision] = field(default_factory=list)

    def last_at(self, at_revision: int) -> int:
        """The position of the newest revision whose main is at most `at_revision`, or -1."""
        for position in range(len(self.revisions) - 1, -1, -1):
            if self.revisions[position].main <= at_revision:
                return position
        return -1


class KeyIndex:
    """History of `key`. The last generation is the living one, empty while the key is deleted."""

    __slots__ = ("generations", "key", "modified")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.modified = ZERO
        self.generations = [Generation()]

    def put(self, revision: Revision) -> Generation:
        """Record a write and return the living generation. `revision` must be the newest of all."""
        if revision <= self.modified:
            raise ValueError(f"revision {revision} of key {self.key!r} is not after {self.modified}")
        living = self.generations[-1]
        if not living.revisions:
            living.created = revision
        living.revisions.append(revision)
        living.version += 1
        self.modified = revision
        return living

    def tombstone(self, revision: Revision) -> None:
        """Record a deletion: the living generation ends and an empty one follows. ValueError when nothing lives."""
        if not self.is_alive:
            raise ValueError(f"key {self.key!r} is already deleted, tombstone {revision} has no generation to end")
        self.put(revision)
        self.generations.append(Generation())

    @property
    def is_alive(self) -> bool:
        """The key exists at the newest revision."""
        return bool(self.generations[-1].revisions)

    @property
    def is_empty(self) -> bool:
        """Nothing is left to remember: the index may forget the key."""
        return len(self.generations) == 1 and not self.generations[0].revisions

    def get(self, at_revision: int) -> Revision | None:
        """The revision that was current at `at_revision`, or None when the key did not exist then."""
        if at_revision >= self.modified.main:
            living = self.generations[-1].revisions
            return living[-1] if living else None
        generation = self.find_generation(at_revision)
        if generation is None:
            return None
        position = generation.last_at(at_revision)
        return generation.revisions[position] if position >= 0 else None

    def find_generation(self, at_revision: int) -> Generation | None:
        """The generation alive at `at_revision`; None in the gap after a tombstone or before the first put."""
        last = len(self.generations) - 1
        for position in range(last, -1, -1):
            revisions = self.generations[position].revisions
            if not revisions:
                continue
            if position != last and revisions[-1].main <= at_revision:
                return None
            if revisions[0].main <= at_revision:
                return self.generations[position]
        return None

    def compact(self, at_revision: int) -> Revision | None:
        """Forget what no read at `at_revision` or later needs. Return the one old revision that must be kept."""
        first = 0
        while first < len(self.generations) - 1 and self.generations[first].revisions[-1].main <= at_revision:
            first += 1
        del self.generations[:first]
        generation = self.generations[0]
        position = generation.last_at(at_revision)
        if position < 0:
            return None
        del generation.revisions[:position]
        return generation.revisions[0]

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert self.generations, f"key {self.key!r} has no generation"
        for generation in self.generations[:-1]:
            assert generation.revisions, f"key {self.key!r} has an empty generation before the last"
        flat = [revision for generation in self.generations for revision in generation.revisions]
        assert flat == sorted(set(flat)), f"revisions of key {self.key!r} are not strictly increasing: {flat}"
        assert not flat or flat[-1] == self.modified, f"key {self.key!r}: modified {self.modified} is not {flat[-1]}"
        for generation in self.generations:
            count = len(generation.revisions)
            assert generation.version >= count, f"key {self.key!r}: version {generation.version} below {count} writes"
            assert not count or generation.created <= generation.revisions[0], f"key {self.key!r} created too late"
