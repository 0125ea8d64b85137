"""Which node-sized subnets of the cluster's range are taken.

    >>> subnets = CIDRSet("10.244.0.0/16", 24)
    >>> str(subnets.allocate_next()), str(subnets.allocate_next()), subnets.max_cidrs
    ('10.244.0.0/24', '10.244.1.0/24', 256)
    >>> subnets.release("10.244.0.0/24")
    >>> str(subnets.allocate_next())
    '10.244.2.0/24'

A subnet that came back is handed out when the search has gone round once: an address in some cache should not mean
another node at once.

What is taken is kept as runs of neighbours, so it costs as much memory as there are gaps: none for 16 million subnets
that are all taken, where upstream's bitmap has a bit for each.

Upstream: pkg/controller/nodeipam/ipam/cidrset/cidr_set.go
Simplified: no metrics.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

__all__ = ["CIDRRangeNoCIDRsRemainingError", "CIDRSet", "CIDRSetSubNetTooBigError", "parse_cidr"]

MAX_DIFFERENCE = 16
"""How much longer than the cluster's an IPv6 node mask may be: upstream keeps one bit for each subnet."""

Network = IPv4Network | IPv6Network
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def parse_cidr(what: str, value: Any) -> Network:
    """An address with the length of its prefix, without its host bits; leading zeros of IPv4 parts are overlooked.

    ValueError, which names `what`, for anything else: an address alone, a mask in dots, a number.

    >>> parse_cidr("cluster-cidr", "010.244.0.9/16")
    IPv4Network('10.244.0.0/16')
    """
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    try:
        head, slash, length = value.partition("/")
        if not slash or not length.isascii() or not length.isdigit() or "%" in head:
            raise ValueError(value)
        return ip_network(f"{head if ':' in head else _LEADING_ZEROS.sub('', head)}/{int(length)}", strict=False)
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"{what} {value!r}: expected a CIDR such as 10.244.0.0/16") from None


class CIDRRangeNoCIDRsRemainingError(LookupError):
    """Every subnet is taken."""

    def __init__(self) -> None:
        super().__init__("CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range")


class CIDRSetSubNetTooBigError(ValueError):
    """The node mask is too long for the IPv6 range."""

    def __init__(self) -> None:
        super().__init__("New CIDR set failed; the node CIDR size is too big")


class CIDRSet:
    """Subnets with masks of `node_mask` bits in `cluster_cidr`.

    CIDRSetSubNetTooBigError for an IPv6 range that would hold more than 2**16 of them; ValueError for what is no CIDR.
    A node mask shorter than the cluster's leaves no subnet at all.
    """

    def __init__(self, cluster_cidr: str | Network, node_mask: int) -> None:
        self.cluster_cidr: Network = parse_cidr("cluster CIDR", cluster_cidr)
        bits = self.cluster_cidr.max_prefixlen
        if isinstance(node_mask, bool) or not isinstance(node_mask, int) or not 0 <= node_mask <= bits:
            raise ValueError(f"node mask size {node_mask!r}: expected a number from 0 to {bits}")
        difference = node_mask - self.cluster_cidr.prefixlen
        if self.cluster_cidr.version == 6 and difference > MAX_DIFFERENCE:
            raise CIDRSetSubNetTooBigError
        self.node_mask = node_mask
        self.max_cidrs = 1 << difference if difference >= 0 else 0
        self.allocated = 0
        self._shift = bits - node_mask
        self._first = int(self.cluster_cidr.network_address)
        self._next = 0
        self._begins: list[int] = []
        """The taken subnets are runs [begin, end): in order, none touches the next."""
        self._ends: list[int] = []

    def allocate_next(self) -> Network:
        """The next free subnet, from where the last search ended. Raises CIDRRangeNoCIDRsRemainingError."""
        if self.allocated >= self.max_cidrs:
            raise CIDRRangeNoCIDRsRemainingError
        index = self._find_free(self._next)
        self._next = (index + 1) % self.max_cidrs
        self._take(index, index + 1)
        return self._subnet(index)

    def occupy(self, cidr: str | Network) -> None:
        """Take every subnet that `cidr` touches, whoever has it. ValueError when it is outside the range."""
        self._take(*self._span(cidr))

    def release(self, cidr: str | Network) -> None:
        """Give back every subnet that `cidr` touches; free ones stay free. ValueError when it is outside."""
        self._free(*self._span(cidr))

    def has(self, cidr: str | Network) -> bool:
        """Whether a subnet that `cidr` touches is taken."""
        begin, end = self._span(cidr)
        at = bisect_right(self._ends, begin)
        return at < len(self._begins) and self._begins[at] < end

    def contains(self, cidr: str | Network) -> bool:
        """Whether `occupy` takes it: it touches the cluster's range."""
        try:
            self._span(cidr)
        except ValueError:
            return False
        return True

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        runs = list(zip(self._begins, self._ends, strict=True))
        assert sum(end - begin for begin, end in runs) == self.allocated, "the count of taken subnets is their number"
        edges = [edge for run in runs for edge in run]
        assert all(one < other for one, other in itertools.pairwise(edges)), "runs have gaps"
        assert not edges or (edges[0] >= 0 and edges[-1] <= self.max_cidrs), "no subnet beyond the range is taken"
        assert self._next < max(self.max_cidrs, 1), "the search begins within the range"

    def _find_free(self, start: int) -> int:
        """The first free one from `start` on, in a circle; there is one."""
        end = self._end_of_run(start)
        return end if end < self.max_cidrs else self._end_of_run(0)

    def _end_of_run(self, index: int) -> int:
        """The first free one from `index` on, or the end of the range."""
        at = bisect_right(self._begins, index) - 1
        return max(index, self._ends[at]) if at >= 0 else index

    def _take(self, begin: int, end: int) -> None:
        """Make one run of this one and all that it touches."""
        if end <= begin:
            return
        low, high = bisect_left(self._ends, begin), bisect_right(self._begins, end)
        if low < high:
            begin, end = min(begin, self._begins[low]), max(end, self._ends[high - 1])
        self.allocated += end - begin - self._count(low, high)
        self._begins[low:high], self._ends[low:high] = [begin], [end]

    def _free(self, begin: int, end: int) -> None:
        """Cut this out of the runs; what the first and the last one have outside stays."""
        low, high = bisect_right(self._ends, begin), bisect_left(self._begins, end)
        if end <= begin or low >= high:
            return
        first, last = self._begins[low], self._ends[high - 1]
        rest = [(a, b) for a, b in ((first, begin), (end, last)) if a < b]
        self.allocated += sum(b - a for a, b in rest) - self._count(low, high)
        self._begins[low:high], self._ends[low:high] = [a for a, _ in rest], [b for _, b in rest]

    def _count(self, low: int, high: int) -> int:
        return sum(self._ends[low:high]) - sum(self._begins[low:high])

    def _subnet(self, index: int) -> Network:
        kind = IPv4Network if self.cluster_cidr.version == 4 else IPv6Network
        return kind((self._first + (index << self._shift), self.node_mask))

    def _span(self, cidr: str | Network) -> tuple[int, int]:
        """(first, one past the last) subnet that `cidr` touches."""
        network = parse_cidr("CIDR", cidr)
        if network.version != self.cluster_cidr.version or not network.overlaps(self.cluster_cidr):
            raise ValueError(f"cidr {network} is out the range of cluster cidr {self.cluster_cidr}")
        if network.prefixlen <= self.cluster_cidr.prefixlen:
            return 0, self.max_cidrs
        if not self.max_cidrs:
            whole = network.supernet(new_prefix=self.node_mask)
            raise ValueError(f"CIDR: {whole} is out of the range of CIDR allocator")
        begin = (int(network.network_address) - self._first) >> self._shift
        end = ((int(network.broadcast_address) - self._first) >> self._shift) + 1
        return begin, end
