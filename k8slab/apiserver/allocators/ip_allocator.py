"""Cluster IPs: the addresses of a Service range.

    >>> import random
    >>> addresses = Allocator("10.96.0.0/24", random.Random(7))
    >>> addresses.allocate("10.96.0.10")
    >>> addresses.offset_address, int(addresses.allocate_next().rpartition(".")[2]) > 16
    ('10.96.0.17', True)

Two allocators give the same: `Range` keeps a bitmap, as releases to 1.32 did (65,536 addresses at most of an IPv6
range); `Allocator` keeps the addresses that are taken, as since the IPAddress objects of 1.33 (64 bits of an IPv6
range).

Upstream: pkg/registry/core/service/ipallocator/{bitmap.go,ipallocator.go,cidrallocator.go}
Simplified: one range a family, so ServiceCIDR objects change nothing; no metrics.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from k8slab.apiserver.allocators.bitmap import AllocationBitmap
from k8slab.apiserver.allocators.errors import (
    FullError,
    IPAllocatedError,
    IPNotInRangeError,
    MismatchedNetworkError,
    RestoreError,
)

__all__ = [
    "Allocator",
    "Range",
    "broadcast_address",
    "calculate_range_offset",
    "hosts_per_network",
    "ip_iterator",
    "is_usable",
    "range_size",
]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
MAX_INT64 = (1 << 63) - 1
MAX_UINT64 = (1 << 64) - 1
BAND_MIN, BAND_MAX, BAND_STEP = 16, 256, 16
MOST_BITS_IPV6_BITMAP = 1 << 16
DENSE = 1 << 20
"""Up to this many addresses are kept as one byte each."""


def range_size(cidr: str | Network) -> int:
    """How many addresses there are, network and broadcast address included; 2**63 - 1 for more. 0 for half of all."""
    network: Network = ip_network(cidr, strict=False)
    bits = network.max_prefixlen - network.prefixlen
    if bits >= network.max_prefixlen - 1:
        return 0
    return MAX_INT64 if bits >= 63 else 1 << bits


def hosts_per_network(cidr: str | Network) -> int:
    """How many addresses Services can have: all but the first, and (IPv4) the last. At most 2**64 - 1."""
    network: Network = ip_network(cidr, strict=False)
    bits = network.max_prefixlen - network.prefixlen
    if bits >= 64:
        return MAX_UINT64
    return max((1 << bits) - (2 if network.version == 4 else 1), 0)


def broadcast_address(cidr: str | Network) -> str:
    """The last address."""
    return str(ip_network(cidr, strict=False).broadcast_address)


def is_usable(cidr: str | Network, address: str) -> bool:
    """Whether a Service could have the address: it is in the range, not the first, and not (IPv4) the last."""
    network: Network = ip_network(cidr, strict=False)
    parsed = _parsed(address)
    if parsed not in network or parsed == network.network_address:
        return False
    return network.version == 6 or parsed != network.broadcast_address


def calculate_range_offset(cidr: str | Network) -> int:
    """How many addresses the static band has: a sixteenth of the range, 16 at least, 256 at most; 0 in a small range.

    >>> [calculate_range_offset(f"10.0.0.0/{bits}") for bits in (28, 24, 22, 20, 12)]
    [0, 16, 64, 256, 256]
    """
    size = range_size(cidr)
    return 0 if size <= BAND_MIN else min(max(BAND_MIN, size // BAND_STEP), BAND_MAX)


def ip_iterator(first: str, last: str, offset: int) -> Iterator[str]:
    """Every address from `first` to `last` once, beginning `offset` addresses after `first`.

    It does not come round where `last` is the last address that there is: after that one upstream's arithmetic ends.

    >>> list(ip_iterator("10.0.0.1", "10.0.0.4", 2))
    ['10.0.0.3', '10.0.0.4', '10.0.0.1', '10.0.0.2']
    """
    begin, end = ip_address(first), ip_address(last)
    low, high = int(begin), max(int(end), int(begin))
    start = low + offset
    if start >= 1 << begin.max_prefixlen:
        return
    if start > high:
        start = low
    comes_round = high + 1 < 1 << begin.max_prefixlen
    for at in (range(start, high + 1), range(low, start) if comes_round else range(0)):
        for number in at:
            yield _text(begin.version, number)


class Range:
    """A range whose state is one bitmap, which a snapshot can hold."""

    def __init__(self, cidr: str, rng: random.Random) -> None:
        self.network: Network = ip_network(cidr, strict=False)
        size = range_size(self.network)
        usable = min(size, MOST_BITS_IPV6_BITMAP) - 1 if self.network.version == 6 else size - 2
        self._base = int(self.network.network_address) + 1
        offset = calculate_range_offset(self.network)
        self._bits = AllocationBitmap(usable, str(self.network), rng, offset=offset)

    @property
    def free(self) -> int:
        return self._bits.free

    @property
    def used(self) -> int:
        return self._bits.count

    @property
    def offset(self) -> int:
        return self._bits.offset

    def allocate(self, address: str) -> None:
        """Take one. IPNotInRangeError, IPAllocatedError."""
        item = self._item(address)
        if item is None:
            raise IPNotInRangeError(str(_parsed(address)), str(self.network))
        if not self._bits.allocate(item):
            raise IPAllocatedError

    def allocate_next(self) -> str:
        """Take a free one: of the upper band, then of the lower. FullError."""
        item = self._bits.allocate_next()
        if item is None:
            raise FullError
        return self._address(item)

    def release(self, address: str) -> None:
        """Free it; nothing happens to a free one or one outside."""
        item = self._item(address)
        if item is not None:
            self._bits.release(item)

    def note(self, address: str) -> bool:
        """Somebody has it, as the Services say. False for one outside, and for one that was noted before."""
        item = self._item(address)
        return item is not None and self._bits.allocate(item)

    def has(self, address: str) -> bool:
        item = self._item(address)
        return item is not None and self._bits.has(item)

    def copy(self) -> Range:
        """Another one with the same addresses taken, and the same dice."""
        twin = copy.copy(self)
        twin._bits = self._bits.copy()
        return twin

    def __iter__(self) -> Iterator[str]:
        """The addresses that are taken, in order."""
        return (self._address(item) for item in self._bits)

    def snapshot(self) -> tuple[str, bytes]:
        """(range, bits), as a RangeAllocation holds them."""
        return self._bits.snapshot()

    def restore(self, cidr: str, data: bytes) -> None:
        """Become what a snapshot was of. MismatchedNetworkError for another range, RestoreError for other bits."""
        if ip_network(cidr, strict=False) != self.network:
            raise MismatchedNetworkError
        try:
            self._bits.restore(str(self.network), data)
        except RestoreError as error:
            raise RestoreError(f"restoring snapshot encountered {error}") from None

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        self._bits.check_invariants()

    def _item(self, address: str) -> int | None:
        parsed = _parsed(address)
        if parsed not in self.network:
            return None
        item = int(parsed) - self._base
        return item if 0 <= item < self._bits.size else None

    def _address(self, item: int) -> str:
        return _text(self.network.version, self._base + item)


class Allocator:
    """A range whose state is the addresses in use. ValueError for an IPv6 range with a mask shorter than 64."""

    def __init__(self, cidr: str, rng: random.Random, taken: Iterable[str] = ()) -> None:
        self.network: Network = ip_network(cidr, strict=False)
        if self.network.version == 6 and self.network.prefixlen < 64:
            bits = self.network.prefixlen
            raise ValueError(f"shortest allowed prefix length for service CIDR is 64, got {bits}")
        self.size = hosts_per_network(self.network)
        self.offset = calculate_range_offset(self.network)
        self._first = int(self.network.network_address) + 1
        self._rng = rng
        self._dense = bytearray(self.size if self.size <= DENSE else 0)
        self._sparse: set[int] = set()
        self.used = 0
        for address in taken:
            self.note(address)

    @property
    def free(self) -> int:
        return min(self.size, MAX_INT64) - self.used

    @property
    def offset_address(self) -> str:
        """The first address of the upper band."""
        return _text(self.network.version, self._first + self.offset)

    def contains(self, address: str) -> bool:
        """Whether a Service could have it: not the first address, nor (IPv4) the last."""
        return self._item(address) is not None

    def note(self, address: str) -> bool:
        """Somebody has it, as the Services say. False for one outside, and for one that was noted before."""
        item = self._item(address)
        if item is None or self._has(item):
            return False
        self._take(item)
        return True

    def has(self, address: str) -> bool:
        item = self._item(address)
        return item is not None and self._has(item)

    def allocate(self, address: str) -> None:
        """Take one. MismatchedNetworkError for one outside, IPAllocatedError."""
        if not self.contains(address):
            raise MismatchedNetworkError
        if not self.note(address):
            raise IPAllocatedError

    def allocate_next(self) -> str:
        """Take a free one: of the upper band, then of the lower; each from a random place on. FullError."""
        if self.size - self.offset <= 0:
            raise FullError
        item = self._search(self.offset, self.size)
        if item is None and self.offset:
            item = self._search(0, self.offset)
        if item is None:
            raise FullError
        self._take(item)
        return _text(self.network.version, self._first + item)

    def release(self, address: str) -> None:
        """Free it; nothing happens to a free one or one outside."""
        item = self._item(address)
        if item is None or not self._has(item):
            return
        if self._dense:
            self._dense[item] = 0
        self._sparse.discard(item)
        self.used -= 1

    def copy(self) -> Allocator:
        """Another one with the same addresses taken, and the same dice."""
        twin = copy.copy(self)
        twin._dense, twin._sparse = self._dense[:], set(self._sparse)
        return twin

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert self._dense.count(1) + len(self._sparse) == self.used, "the count of taken addresses is their number"
        assert not (self._dense and self._sparse), "an address is kept in one place"

    def _item(self, address: str) -> int | None:
        parsed = _parsed(address)
        item = int(parsed) - self._first
        return item if 0 <= item < self.size and parsed.version == self.network.version else None

    def _has(self, item: int) -> bool:
        return bool(self._dense[item]) if self._dense else item in self._sparse

    def _take(self, item: int) -> None:
        if self._dense:
            self._dense[item] = 1
        else:
            self._sparse.add(item)
        self.used += 1

    def _search(self, begin: int, end: int) -> int | None:
        start = begin + self._rng.randrange(end - begin)
        if self._dense:
            found = self._dense.find(0, start, end)
            found = found if found >= 0 else self._dense.find(0, begin, start)
            return None if found < 0 else found
        for at in (range(start, end), range(begin, start)):
            for item in at:
                if item not in self._sparse:
                    return item
        return None


def _parsed(address: str) -> Address:
    """An address; one of IPv4 written as IPv6 (::ffff:10.0.0.1) is the IPv4 one, as to upstream's parser."""
    parsed = ip_address(address)
    return parsed if isinstance(parsed, IPv4Address) else parsed.ipv4_mapped or parsed


def _text(version: int, number: int) -> str:
    return str(IPv4Address(number) if version == 4 else IPv6Address(number))
