"""Cluster IPs and node ports: who has which, and which comes next.

    >>> import random
    >>> from k8slab.apiserver.allocators import Allocator, PortAllocator
    >>> addresses = Allocator("10.96.0.0/28", random.Random(1))      # too small for a static band
    >>> addresses.allocate("10.96.0.10")
    >>> len({addresses.allocate_next() for _ in range(addresses.free)}), addresses.free
    (13, 0)
    >>> PortAllocator("30000-32767", random.Random(1)).offset
    86

An allocator is plain state: it knows what is taken because it is told. What keeps two API servers from giving out the
same is the write that follows (`registry.allocation`). `repair` says what is wrong with Services that are there.

Upstream: pkg/registry/core/service/{allocator,ipallocator,portallocator}
"""

from k8slab.apiserver.allocators.bitmap import AllocationBitmap
from k8slab.apiserver.allocators.errors import (
    AllocationError,
    FullError,
    IPAllocatedError,
    IPNotInRangeError,
    MismatchedNetworkError,
    PortAllocatedError,
    PortNotInRangeError,
    RestoreError,
)
from k8slab.apiserver.allocators.ip_allocator import (
    Allocator,
    Range,
    broadcast_address,
    calculate_range_offset,
    hosts_per_network,
    ip_iterator,
    is_usable,
    range_size,
)
from k8slab.apiserver.allocators.port_allocator import PortAllocator, PortRange, calculate_port_offset
from k8slab.apiserver.allocators.repair import BitmapRepair, Finding, Holdings
from k8slab.apiserver.allocators.service_ranges import AddressAllocator, ServiceRanges

__all__ = [
    "AddressAllocator",
    "AllocationBitmap",
    "AllocationError",
    "Allocator",
    "BitmapRepair",
    "Finding",
    "FullError",
    "Holdings",
    "IPAllocatedError",
    "IPNotInRangeError",
    "MismatchedNetworkError",
    "PortAllocatedError",
    "PortAllocator",
    "PortNotInRangeError",
    "PortRange",
    "Range",
    "RestoreError",
    "ServiceRanges",
    "broadcast_address",
    "calculate_port_offset",
    "calculate_range_offset",
    "hosts_per_network",
    "ip_iterator",
    "is_usable",
    "range_size",
]
