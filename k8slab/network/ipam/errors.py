"""What goes wrong between an IPAM client and its datastore, and what cannot be had.

Upstream: libcalico-go/lib/errors/errors.go, libcalico-go/lib/ipam/{ipam_errors.go,ipam.go} of projectcalico/calico
"""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "BadHandleError",
    "BadSequenceNumberError",
    "BlockClaimConflictError",
    "BlockLimitError",
    "BlockNotEmptyError",
    "ConflictError",
    "DatastoreError",
    "DoesNotExistError",
    "IPAMError",
    "NoFreeBlocksError",
    "StaleAffinityError",
]


class DatastoreError(Exception):
    """The datastore's answer to one request."""


class DoesNotExistError(DatastoreError):
    """Nothing is stored under the key."""

    def __init__(self, key: object) -> None:
        super().__init__(f"resource does not exist: {key}")


class AlreadyExistsError(DatastoreError):
    """Something is stored under the key, or the address is assigned."""

    def __init__(self, key: object, why: str = "") -> None:
        super().__init__(f"resource already exists: {key}" + (f": {why}" if why else ""))


class ConflictError(DatastoreError):
    """What is stored is not what the request was based on: read again, decide again."""

    def __init__(self, key: object, why: str = "") -> None:
        super().__init__(f"update conflict: {key}" + (f": {why}" if why else ""))


class BadSequenceNumberError(ConflictError):
    """The address was released and assigned again since."""

    def __init__(self, address: str, requested: int, expected: int | None) -> None:
        super().__init__(address, f"bad sequence number requested: {requested}, expected {expected}")


class BadHandleError(ConflictError):
    """The address belongs to somebody else by now."""

    def __init__(self, address: str, requested: str, expected: str) -> None:
        super().__init__(address, f"bad handle requested: {requested}, expected: {expected}")


class IPAMError(Exception):
    """A request that cannot be met."""


class NoFreeBlocksError(IPAMError):
    """Every block of the pools is somebody's."""

    def __init__(self) -> None:
        super().__init__("No Free Blocks")


class BlockLimitError(IPAMError):
    """The host has as many blocks as it may have."""

    def __init__(self) -> None:
        super().__init__("cannot allocate new block due to per host block limit")


class BlockClaimConflictError(IPAMError):
    """Another host has the block."""

    def __init__(self, cidr: str, owner: str) -> None:
        super().__init__(f"{cidr} already claimed by {owner or 'nobody'}")


class BlockNotEmptyError(IPAMError):
    """Addresses of the block are in use."""

    def __init__(self, cidr: str) -> None:
        super().__init__(f"block '{cidr}' is not empty")


class StaleAffinityError(IPAMError):
    """The host's claim was left behind: the block is another's."""

    def __init__(self, host: str, cidr: str) -> None:
        super().__init__(f"Affinity is stale: {host} {cidr}")
