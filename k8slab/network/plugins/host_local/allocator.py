"""Which address next: after the last one that was given, round and round, past the gateway.

An address that was given back is not given again at once: the round goes on from the last one reserved, which leaves
others time to forget who had it.

Upstream: containernetworking/plugins plugins/ipam/host-local/backend/allocator/allocator.go
"""

from __future__ import annotations

from collections.abc import Iterator

from k8slab.network.cni.addresses import Address, next_ip
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.results import IPConfig
from k8slab.network.plugins.host_local.ranges import Range, RangeSet
from k8slab.network.plugins.host_local.store import LeaseStore

__all__ = ["IPAllocator", "candidates"]


def candidates(ranges: RangeSet, last: Address | None) -> Iterator[tuple[Address, Range]]:
    """Every address of a set once, without gateways, from the one after `last` on (without one: from the start)."""
    place, current = 0, None
    if last is not None and (found := ranges.range_for(last)) is not None:
        place, current = ranges.index(found), last
    first: Address | None = None
    while True:
        here = ranges[place]
        if current is None:
            current = here.start
        elif current == here.end:
            place = (place + 1) % len(ranges)
            here = ranges[place]
            current = here.start
        else:
            current = next_ip(current)
        if first is None:
            first = current
        elif current == first:
            return
        if current != here.gateway:
            yield current, here


class IPAllocator:
    """Gives addresses of one range set. `number`: its place among the configuration's range sets."""

    def __init__(self, ranges: RangeSet, store: LeaseStore, number: int) -> None:
        self.ranges = ranges
        self.store = store
        self.range_id = str(number)

    def get(self, container_id: str, if_name: str, requested: Address | None = None) -> IPConfig:
        """One address, this one if it is `requested`. CNIError: none left, taken, or the attachment has one."""
        with self.store.locked():
            if requested is not None:
                return self._get_this(container_id, if_name, requested)
            for address in self.store.of(container_id, if_name):
                if self.ranges.range_for(address) is not None:
                    raise CNIError(
                        f"{address} has been allocated to {container_id}, duplicate allocation is not allowed"
                    )
            for address, where in candidates(self.ranges, self.store.last_reserved(self.range_id)):
                if self.store.reserve(container_id, if_name, address, self.range_id):
                    return _answer(address, where)
            raise CNIError(f"no IP addresses available in range set: {self.ranges}")

    def _get_this(self, container_id: str, if_name: str, address: Address) -> IPConfig:
        where = self.ranges.range_for(address)
        if where is None:
            raise CNIError(f"{address} not in range set {self.ranges}")
        if address == where.gateway:
            raise CNIError(f"requested ip {address} is subnet's gateway")
        if not self.store.reserve(container_id, if_name, address, self.range_id):
            raise CNIError(f"requested IP address {address} is not available in range set {self.ranges}")
        return _answer(address, where)

    def release(self, container_id: str, if_name: str) -> None:
        """Free what an attachment has, of any range set."""
        with self.store.locked():
            self.store.release(container_id, if_name)

    def is_exhausted(self) -> bool:
        """Whether the next ADD would find nothing."""
        taken = dict.fromkeys(lease.address for lease in self.store.leases())
        return all(address in taken for address, _ in candidates(self.ranges, None))


def _answer(address: Address, where: Range) -> IPConfig:
    return IPConfig(f"{address}/{where.subnet.prefixlen}", str(where.gateway))
