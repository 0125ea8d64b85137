"""Which items of a range are taken, and which free one comes next.

    >>> import random
    >>> items = AllocationBitmap(32, "thirty-two", random.Random(7), offset=16)
    >>> drawn = [items.allocate_next() for _ in range(16)]
    >>> sorted(drawn) == list(range(16, 32))           # the upper band first
    True
    >>> items.allocate_next() < 16, items.allocate(3), items.free
    (True, True, 14)

The lower band, the first `offset` items, is left to those who ask for a certain one as long as the upper band lasts.

Upstream: pkg/registry/core/service/allocator/bitmap.go
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from k8slab.apiserver.allocators.errors import RestoreError

__all__ = ["AllocationBitmap"]

_NONE, _TAKEN = b"\0", 1


class AllocationBitmap:
    """Items 0 to `size - 1`. `range_spec` names the range in snapshots; `rng` says where a search begins."""

    def __init__(self, size: int, range_spec: str, rng: random.Random, *, offset: int = 0) -> None:
        self.size = max(size, 0)
        self.range_spec = range_spec
        self.offset = offset if offset < self.size else 0
        self.count = 0
        self._rng = rng
        self._taken = bytearray()  # a byte an item, up to the last that was ever taken: a search is one call

    @property
    def free(self) -> int:
        return self.size - self.count

    def has(self, item: int) -> bool:
        return 0 <= item < len(self._taken) and bool(self._taken[item])

    def allocate(self, item: int) -> bool:
        """Take the item; False when it is taken."""
        if self.has(item):
            return False
        self._take(item)
        return True

    def allocate_next(self) -> int | None:
        """Take a free item: the next one after a random place in the upper band, then in the lower. None: all taken."""
        if self.count >= self.size:
            return None
        item = self._search(self.offset, self.size)
        if item < 0:
            item = self._search(0, self.offset)
        self._take(item)
        return item

    def release(self, item: int) -> None:
        """Free the item; nothing happens to a free one."""
        if self.has(item):
            self._taken[item] = 0
            self.count -= 1

    def copy(self) -> AllocationBitmap:
        """Another one with the same items taken, and the same dice."""
        twin = AllocationBitmap(0, self.range_spec, self._rng)
        twin.size, twin.offset, twin.count, twin._taken = self.size, self.offset, self.count, self._taken[:]
        return twin

    def __iter__(self) -> Iterator[int]:
        """The taken items, in order."""
        at = self._taken.find(_TAKEN)
        while at >= 0:
            yield at
            at = self._taken.find(_TAKEN, at + 1)

    def snapshot(self) -> tuple[str, bytes]:
        """(range, bits): the number whose bit n is item n, from its highest byte on."""
        bits = sum(1 << item for item in self) if self.count < 64 else int(self._digits(), 2)
        return self.range_spec, bits.to_bytes((bits.bit_length() + 7) // 8, "big")

    def restore(self, range_spec: str, data: bytes) -> None:
        """Become what a snapshot was of. RestoreError, and no change, for another range or too many bits."""
        if range_spec != self.range_spec:
            raise RestoreError("the provided range does not match the current range")
        bits = int.from_bytes(data, "big")
        if bits.bit_length() > self.size:
            raise RestoreError(f"the snapshot has item {bits.bit_length() - 1}, the range ends at {self.size - 1}")
        text = f"{bits:b}"[::-1].encode() if bits else b""
        taken = bytearray(text.translate(_FROM_DIGITS))
        self._taken, self.count = taken, taken.count(_TAKEN)

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert len(self._taken) <= self.size, "no item beyond the range is taken"
        assert self._taken.count(_TAKEN) == self.count, "the count of taken items is their number"
        assert self._taken.count(0) + self.count == len(self._taken), "an item is free or taken"

    def _take(self, item: int) -> None:
        if item >= len(self._taken):
            self._taken.extend(bytes(item + 1 - len(self._taken)))
        self._taken[item] = _TAKEN
        self.count += 1

    def _search(self, begin: int, end: int) -> int:
        """A free item between these, from a random place on and then from the beginning; -1: none."""
        start = begin + self._rng.randrange(end - begin)
        found = self._free_from(start, end)
        return found if found >= 0 else self._free_from(begin, start)

    def _free_from(self, begin: int, end: int) -> int:
        found = self._taken.find(_NONE, begin, end)
        if found < 0 and len(self._taken) < end:
            return max(begin, len(self._taken))
        return found

    def _digits(self) -> str:
        return self._taken.translate(_TO_DIGITS)[::-1].decode()


_TO_DIGITS = bytes(ord("1") if byte else ord("0") for byte in range(256))
_FROM_DIGITS = bytes(1 if byte == ord("1") else 0 for byte in range(256))
