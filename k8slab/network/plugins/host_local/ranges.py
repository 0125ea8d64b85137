"""Ranges of addresses: one, and sets of them of which each gives one address.

>>> parse_range({"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.100"})
Range(subnet=IPv4Network('10.1.0.0/24'), start=IPv4Address('10.1.0.100'), end=IPv4Address('10.1.0.254'), \
gateway=IPv4Address('10.1.0.1'))

Upstream: containernetworking/plugins plugins/ipam/host-local/backend/allocator/range.go, range_set.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k8slab.network.cni import fields
from k8slab.network.cni.addresses import Address, Interface, Network, next_ip, parse_cidr, parse_ip
from k8slab.network.cni.errors import CNIError

__all__ = ["Range", "RangeSet", "RawRange", "canonical_set", "parse_range", "parse_raw"]


@dataclass(frozen=True, slots=True)
class Range:
    """Addresses from `start` to `end`, both included, of `subnet`. `gateway` is never given away, in it or not."""

    subnet: Network
    start: Address
    end: Address
    gateway: Address

    def __contains__(self, address: Address) -> bool:
        is_same = address.version == self.subnet.version
        return is_same and address in self.subnet and int(self.start) <= int(address) <= int(self.end)

    def overlaps(self, other: Range) -> bool:
        if self.subnet.version != other.subnet.version:
            return False
        return other.start in self or other.end in self or self.start in other or self.end in other

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


class RangeSet(tuple[Range, ...]):
    """Ranges of one family of which an attachment gets one address."""

    __slots__ = ()

    def range_for(self, address: Address) -> Range | None:
        """The range that an address is in."""
        return next((one for one in self if address in one), None)

    def overlaps(self, other: RangeSet) -> bool:
        return any(mine.overlaps(theirs) for mine in self for theirs in other)

    @property
    def version(self) -> int:
        return self[0].start.version

    def __str__(self) -> str:
        return ",".join(map(str, self))


def canonical_set(raws: Sequence[RawRange]) -> RangeSet:
    """Each with its defaults, checked against the others. CNIError."""
    if not raws:
        raise CNIError("empty range set")
    ranges: list[Range] = []
    for raw in raws:
        ranges.append(raw.canonical())
        if ranges[-1].start.version != ranges[0].start.version:
            raise CNIError("mixed address families")
    for place, one in enumerate(ranges):
        for other in ranges[place + 1 :]:
            if one.overlaps(other):
                raise CNIError(f"subnets {one} and {other} overlap")
    return RangeSet(ranges)


@dataclass(frozen=True, slots=True)
class RawRange:
    """A range as it is written: what is missing is None."""

    subnet: Interface | None
    start: Address | None
    end: Address | None
    gateway: Address | None

    def canonical(self) -> Range:
        """With its defaults: the gateway .1, from .1 to the last address (of IPv4, the last but one). CNIError."""
        if self.subnet is None:
            raise CNIError("IP <nil> not v4 nor v6")
        subnet = self._network(self.subnet)
        gateway = next_ip(subnet.network_address) if self.gateway is None else self.gateway
        last = subnet[-2] if subnet.version == 4 else subnet[-1]
        probe = Range(subnet, self.start or subnet[0], self.end or subnet[-1], gateway)
        if self.start is not None and self.start not in probe:
            raise CNIError(f"RangeStart {self.start} not in network {subnet}")
        start = next_ip(subnet.network_address) if self.start is None else self.start
        if self.end is not None and self.end not in Range(subnet, start, self.end, gateway):
            raise CNIError(f"RangeEnd {self.end} not in network {subnet}")
        return Range(subnet, start, last if self.end is None else self.end, gateway)

    @staticmethod
    def _network(given: Interface) -> Network:
        """The subnet, large enough and without host bits."""
        mapped = getattr(given.ip, "ipv4_mapped", None)
        ones, bits = given.network.prefixlen, given.max_prefixlen
        shown = f"{mapped or given.ip}/{ones - 96 if mapped else ones}"
        if ones > bits - 2:
            raise CNIError(f"Network {shown} too small to allocate from")
        if mapped is not None:
            raise CNIError("IPNet IP and Mask version mismatch")
        network = given.network
        if given.ip != network.network_address:
            what = f"For a subnet mask of length {ones} the network address is {network.network_address}"
            raise CNIError(f"Network has host bits set. {what}")
        return network


def parse_raw(given: Any) -> RawRange:
    """The fields of a range. CNIError: one is no address."""
    fields_of = fields.mapping({"ranges": given}, "ranges", "IPAMConfig.ipam", "allocator.Range") or {}
    where = "IPAMConfig.ipam"
    return RawRange(
        parse_cidr(fields.text(fields_of, "subnet", where)) if "subnet" in fields_of else None,
        _address(fields_of, "rangeStart", where),
        _address(fields_of, "rangeEnd", where),
        _address(fields_of, "gateway", where),
    )


def _address(given: Mapping[str, Any], key: str, where: str) -> Address | None:
    words = fields.text(given, key, where, wanted="net.IP")
    return parse_ip(words) if words else None


def parse_range(given: Mapping[str, Any]) -> Range:
    """One range of a configuration, with its defaults."""
    return parse_raw(given).canonical()
