"""Why an address or a port cannot be had, in upstream's words.

Upstream: pkg/registry/core/service/ipallocator/interfaces.go, pkg/registry/core/service/portallocator/allocator.go
"""

from __future__ import annotations

__all__ = [
    "AllocationError",
    "FullError",
    "IPAllocatedError",
    "IPNotInRangeError",
    "MismatchedNetworkError",
    "PortAllocatedError",
    "PortNotInRangeError",
    "RestoreError",
]


class AllocationError(Exception):
    """Nothing was given; the allocator is as it was before."""


class FullError(AllocationError):
    """Both bands are used up."""

    def __init__(self) -> None:
        super().__init__("range is full")


class IPAllocatedError(AllocationError):
    """Somebody has the address."""

    def __init__(self) -> None:
        super().__init__("provided IP is already allocated")


class IPNotInRangeError(AllocationError):
    """Outside the range, or its first address, or (IPv4) its last."""

    def __init__(self, address: str, cidr: str) -> None:
        super().__init__(f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {cidr}")


class MismatchedNetworkError(AllocationError):
    """No range of this family has the address, or a snapshot is of another range."""

    def __init__(self) -> None:
        super().__init__("the provided network does not match the current range")


class PortAllocatedError(AllocationError):
    """Somebody has the port."""

    def __init__(self) -> None:
        super().__init__("provided port is already allocated")


class PortNotInRangeError(AllocationError):
    """Outside the range of node ports."""

    def __init__(self, ports: str) -> None:
        super().__init__(f"provided port is not in the valid range. The range of valid ports is {ports}")


class RestoreError(AllocationError):
    """A snapshot of another range, or of more than the range holds."""
