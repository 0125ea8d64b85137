"""Node ports.

    >>> import random
    >>> ports = PortAllocator("30000-32767", random.Random(7))
    >>> ports.offset, ports.allocate_next() >= 30086
    (86, True)
    >>> ports.allocate(30443)

Upstream: pkg/registry/core/service/portallocator/{allocator.go,operation.go}, apimachinery/pkg/util/net/port_range.go
Simplified: no metrics.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from k8slab.apiserver.allocators.bitmap import AllocationBitmap
from k8slab.apiserver.allocators.errors import FullError, PortAllocatedError, PortNotInRangeError

__all__ = ["PortAllocator", "PortRange", "calculate_port_offset"]

BAND_MIN, BAND_MAX, BAND_STEP = 16, 128, 32
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
"""What Go's Atoi takes: no underscores, no spaces, no digits of other scripts."""


class PortRange(NamedTuple):
    """`size` ports from `base` on."""

    base: int
    size: int

    @classmethod
    def parse(cls, text: str) -> PortRange:
        """`30000-32767`, `30000+2767` (as many after the first) or one port; an empty text is no port. ValueError.

        >>> PortRange.parse("30000-32767"), str(PortRange.parse("30000+10"))
        (PortRange(base=30000, size=2768), '30000-30010')
        """
        if not isinstance(text, str):
            raise ValueError(f"port range {text!r}: expected a text such as 30000-32767")
        value = text.strip()
        if not value:
            return cls(0, 0)
        sign = "-" if "-" in value else "+"
        low, found, rest = value.partition(sign)
        if not (_NUMBER.fullmatch(low) and (_NUMBER.fullmatch(rest) or not found)) or ("-" in value and "+" in value):
            raise ValueError(f"port range {text!r}: expected two ports with a hyphen, such as 30000-32767")
        first = int(low)
        last = first if not found else int(rest) if sign == "-" else first + int(rest)
        if first > 65535 or last > 65535:
            raise ValueError(f"the port range cannot be greater than 65535: {value}")
        if first > last:
            raise ValueError(f"end port cannot be less than start port: {value}")
        if first < 1:
            raise ValueError(f"port range {text!r}: expected ports from 1 on, such as 30000-32767")
        return cls(first, last - first + 1)

    def __str__(self) -> str:
        return f"{self.base}-{self.base + self.size - 1}" if self.size else ""


def calculate_port_offset(size: int) -> int:
    """How many ports the static band has: a thirty-second, 16 at least, 128 at most; 0 in a small range.

    >>> [calculate_port_offset(size) for size in (16, 17, 2768, 4096)]
    [0, 16, 86, 128]
    """
    return 0 if size <= BAND_MIN else min(max(BAND_MIN, size // BAND_STEP), BAND_MAX)


class PortAllocator:
    """The ports of `ports` (a PortRange, or its text)."""

    def __init__(self, ports: PortRange | str, rng: random.Random) -> None:
        self.range = PortRange.parse(ports) if isinstance(ports, str) else ports
        offset = calculate_port_offset(self.range.size)
        self._bits = AllocationBitmap(self.range.size, str(self.range), rng, offset=offset)

    @property
    def free(self) -> int:
        return self._bits.free

    @property
    def used(self) -> int:
        return self._bits.count

    @property
    def offset(self) -> int:
        """The size of the static band."""
        return self._bits.offset

    def allocate(self, port: int) -> None:
        """Take one. PortNotInRangeError, PortAllocatedError."""
        if not self._contains(port):
            raise PortNotInRangeError(str(self.range))
        if not self._bits.allocate(port - self.range.base):
            raise PortAllocatedError

    def allocate_next(self) -> int:
        """Take a free one: of the upper band, then of the lower. FullError."""
        item = self._bits.allocate_next()
        if item is None:
            raise FullError
        return self.range.base + item

    def release(self, port: int) -> None:
        """Free it; nothing happens to a free one or one outside."""
        if self._contains(port):
            self._bits.release(port - self.range.base)

    def note(self, port: int) -> bool:
        """Somebody has it, as the Services say. False for one outside, and for one that was noted before."""
        return self._contains(port) and self._bits.allocate(port - self.range.base)

    def has(self, port: int) -> bool:
        return self._contains(port) and self._bits.has(port - self.range.base)

    def copy(self) -> PortAllocator:
        """Another one with the same ports taken, and the same dice."""
        twin = copy.copy(self)
        twin._bits = self._bits.copy()
        return twin

    def __iter__(self) -> Iterator[int]:
        """The ports that are taken, in order."""
        return (self.range.base + item for item in self._bits)

    def snapshot(self) -> tuple[str, bytes]:
        """(range, bits), as a RangeAllocation holds them."""
        return self._bits.snapshot()

    def restore(self, ports: str, data: bytes) -> None:
        """Become what a snapshot was of. RestoreError for another range."""
        self._bits.restore(ports, data)

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        self._bits.check_invariants()

    def _contains(self, port: int) -> bool:
        return self.range.base <= port < self.range.base + self.range.size
