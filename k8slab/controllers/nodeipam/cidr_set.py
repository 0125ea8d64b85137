"""Which node-sized subnets of the cluster's range are taken.

    >>> subnets = CIDRSet("10.244.0.0/16", 24)
    >>> str(subnets.allocate_next()), str(subnets.allocate_next()), subnets.max_cidrs
    ('10.244.0.0/24', '10.244.1.0/24', 256)
    >>> subnets.release("10.244.0.0/24")
    >>> str(subnets.allocate_next())
    '10.244.2.0/24'

A subnet that came back is handed out when the search has gone round once: an address in some cache should not mean
another node at once.

Upstream: pkg/controller/nodeipam/ipam/cidrset/cidr_set.go
Simplified: no metrics.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network

__all__ = ["CIDRRangeNoCIDRsRemainingError", "CIDRSet", "CIDRSetSubNetTooBigError"]

MAX_DIFFERENCE = 16
"""How much longer than the cluster's an IPv6 node mask may be: upstream keeps one bit for each subnet."""

Network = IPv4Network | IPv6Network


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
        self.cluster_cidr: Network = ip_network(cluster_cidr, strict=False)
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
        self._used = bytearray()
        """One byte a subnet, as far as any was taken: beyond its end all are free."""

    def allocate_next(self) -> Network:
        """The next free subnet, from where the last search ended. Raises CIDRRangeNoCIDRsRemainingError."""
        if self.allocated >= self.max_cidrs:
            raise CIDRRangeNoCIDRsRemainingError
        index = self._find_free(self._next)
        self._next = (index + 1) % self.max_cidrs
        self._mark(index, index + 1, 1)
        return self._subnet(index)

    def occupy(self, cidr: str | Network) -> None:
        """Take every subnet that `cidr` touches, whoever has it. ValueError when it is outside the range."""
        begin, end = self._span(cidr)
        self._mark(begin, end, 1)

    def release(self, cidr: str | Network) -> None:
        """Give back every subnet that `cidr` touches; free ones stay free. ValueError when it is outside."""
        begin, end = self._span(cidr)
        self._mark(begin, min(end, len(self._used)), 0)

    def has(self, cidr: str | Network) -> bool:
        """Whether a subnet that `cidr` touches is taken."""
        begin, end = self._span(cidr)
        return bool(self._used.count(1, begin, end))

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert self._used.count(1) == self.allocated, "the count of taken subnets is their number"
        assert len(self._used) <= self.max_cidrs, "no subnet beyond the range is taken"
        assert self._next < max(self.max_cidrs, 1), "the search begins within the range"

    def _find_free(self, start: int) -> int:
        if start < len(self._used):
            at = self._used.find(0, start)
            if at >= 0:
                return at
            start = len(self._used)
        return start if start < self.max_cidrs else self._used.find(0)

    def _mark(self, begin: int, end: int, value: int) -> None:
        if end <= begin:
            return
        if end > len(self._used):
            self._used.extend(bytes(end - len(self._used)))
        before = self._used.count(1, begin, end)
        self._used[begin:end] = bytes((value,)) * (end - begin)
        self.allocated += (end - begin) * value - before

    def _subnet(self, index: int) -> Network:
        kind = IPv4Network if self.cluster_cidr.version == 4 else IPv6Network
        return kind((self._first + (index << self._shift), self.node_mask))

    def _span(self, cidr: str | Network) -> tuple[int, int]:
        """(first, one past the last) subnet that `cidr` touches."""
        network: Network = ip_network(cidr, strict=False)
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
