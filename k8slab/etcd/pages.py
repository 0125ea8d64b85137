"""Where the records lie in the database's file: pages that are freed and used again, in a file that never shrinks.

>>> pages = Pages()
>>> leaf = pages.place(3_000), pages.place(3_000)
>>> pages.size, pages.size_in_use
(28672, 28672)
>>> pages.remove(leaf[0])
>>> pages.size, pages.size_in_use
(28672, 24576)

Compaction empties pages; what is written later fills them again; only `defrag` gives them back to the disk.

Upstream: go.etcd.io/bbolt (node.go, freelist.go), etcd server/storage/backend/backend.go (Size, SizeInUse, Defrag)
Simplified: a page is free when its last record is gone (bbolt merges pages that are nearly empty); pages of the tree's
inner nodes, of leases and of alarms are not counted, nor are pages that a write copies before the old ones are freed; a
record of several pages need not find them side by side.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["PAGE_SIZE", "Pages"]

PAGE_SIZE = 4_096
"""Bytes."""

_FIRST_PAGES = 5
_LEAF_ROOM = PAGE_SIZE * 9 // 10  # etcd writes keys in ascending order and fills pages to nine tenths


class Pages:
    """A file of pages. Records are put on the newest leaf; one that doesn't fit starts a new leaf, of several pages if
    it must."""

    def __init__(self) -> None:
        self.count = _FIRST_PAGES
        self.free = 0
        self._leaves: dict[int, list[int]] = {}
        self._newest = 0
        self._entry = [0, 0]
        self._room = 0

    @property
    def size(self) -> int:
        """Bytes of the file (`db_size`)."""
        return self.count * PAGE_SIZE

    @property
    def size_in_use(self) -> int:
        """Bytes of the pages that hold something (`db_size_in_use`)."""
        return (self.count - self.free) * PAGE_SIZE

    def place(self, size: int) -> int:
        """Find room for a record of `size` bytes; the number of the leaf it lies on."""
        if size <= self._room:  # the usual case, and the hottest line of a backend
            self._room -= size
            self._entry[1] += 1
            return self._newest
        pages = -(-size // PAGE_SIZE)
        reused = min(pages, self.free)
        self.free -= reused
        self.count += pages - reused
        self._newest += 1
        self._entry = self._leaves[self._newest] = [pages, 1]
        self._room = _LEAF_ROOM - size
        return self._newest

    def remove(self, leaf: int) -> None:
        """Take one record off a leaf, which is free when that was the last."""
        entry = self._leaves[leaf]
        entry[1] -= 1
        if entry[1] == 0:
            self.free += entry[0]
            del self._leaves[leaf]
            if leaf == self._newest:
                self._room = 0

    def defrag(self, sizes: Iterable[int]) -> list[int]:
        """Write the file anew with records of these sizes, and no free page; returns their leaves."""
        self.count, self.free, self._room = _FIRST_PAGES, 0, 0
        self._leaves = {}
        return [self.place(size) for size in sizes]

    def grow(self, size: int) -> None:
        """Make the file at least `size` bytes long; the new pages are free."""
        pages = max(0, -(-size // PAGE_SIZE) - self.count)
        self.count += pages
        self.free += pages

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        used = sum(pages for pages, _ in self._leaves.values())
        assert used + self.free + _FIRST_PAGES == self.count, "pages are lost, or counted twice"
        assert self.free >= 0, "more pages were used again than were free"
        assert all(records > 0 for _, records in self._leaves.values()), "an empty leaf was not freed"
