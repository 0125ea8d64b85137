"""A block of addresses: who has which, and who may take more.

    >>> block = Block.new("10.0.0.0/30", affinity="node-a", now_ms=0)
    >>> block, given = block.auto_assign(2, "pod-1", host="node-a")
    >>> given, block.num_free()
    (['10.0.0.0', '10.0.0.1'], 2)
    >>> block, _, _ = block.release([ReleaseOptions("10.0.0.0")])
    >>> block.unallocated                     # an address that came back is given last
    (2, 3, 0)

A block is never changed: each operation returns the block that should be written instead, and the datastore takes it
only if nobody wrote another one since. There is no network and no broadcast address: a block is routed, not a subnet.

Upstream: libcalico-go/lib/ipam/ipam_block.go, libcalico-go/lib/backend/model/block.go of projectcalico/calico
Simplified: each address names its owner itself, where upstream's points into a list of owners; nothing is reserved for
    Windows; no affinity of load balancers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from k8slab.network.ipam.errors import AlreadyExistsError, BadHandleError, BadSequenceNumberError, IPAMError

__all__ = ["Block", "Owner", "ReleaseOptions", "Reserved"]

Reserved = Callable[[str], bool]
"""Whether an address is kept back."""


def _nothing(address: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose an address is: a handle (all addresses of one Pod's sandbox), and what is known of it."""

    handle: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


class ReleaseOptions(NamedTuple):
    """An address, and who the caller thinks has it: another handle or sequence number is a conflict."""

    address: str
    handle: str = ""
    sequence_number: int | None = None


@dataclass(frozen=True)
class Block:
    """`owners` and `sequences` have an entry for each address; `unallocated` are the free ones in the order of use.

    `affinity`: the host that the block is routed to, empty when that gave it up. `sequence_number` grows with every
    write, and an address keeps the one it was assigned under.
    """

    cidr: str
    affinity: str
    owners: tuple[Owner | None, ...]
    unallocated: tuple[int, ...]
    sequences: tuple[int | None, ...]
    sequence_number: int
    claimed_at_ms: int

    @classmethod
    def new(cls, cidr: str, *, affinity: str, now_ms: int) -> Block:
        """An empty block. Its sequence number begins with the time: one that was deleted before had smaller ones."""
        size = ip_network(cidr).num_addresses
        nobody: tuple[None, ...] = (None,) * size
        return cls(cidr, affinity, nobody, tuple(range(size)), nobody, now_ms * 1_000_000, now_ms)

    @cached_property
    def network(self) -> IPv4Network | IPv6Network:
        return ip_network(self.cidr)

    @property
    def size(self) -> int:
        return len(self.owners)

    @property
    def is_empty(self) -> bool:
        return len(self.unallocated) == self.size

    def address(self, ordinal: int) -> str:
        return str(self.network[ordinal])

    def ordinal(self, address: str) -> int:
        """Which one it is. ValueError for an address of another block."""
        parsed = ip_address(address)
        if parsed not in self.network:
            raise ValueError(f"IP {address} not in block {self.cidr}")
        return int(parsed) - int(self.network.network_address)

    def owner(self, address: str) -> Owner | None:
        return self.owners[self.ordinal(address)]

    def sequence(self, address: str) -> int | None:
        return self.sequences[self.ordinal(address)]

    def in_use(self) -> list[str]:
        """The assigned addresses, in order."""
        return [self.address(ordinal) for ordinal, owner in enumerate(self.owners) if owner is not None]

    def of_handle(self, handle: str) -> list[str]:
        """The addresses that belong to a handle."""
        return [self.address(o) for o, owner in enumerate(self.owners) if owner is not None and owner.handle == handle]

    def num_free(self, reserved: Reserved = _nothing) -> int:
        """How many addresses may be assigned."""
        if reserved is _nothing:
            return len(self.unallocated)
        return sum(1 for ordinal in self.unallocated if not reserved(self.address(ordinal)))

    # -- assign ------------------------------------------------------------------------------------

    def auto_assign(
        self,
        num: int,
        handle: str = "",
        *,
        host: str = "",
        attributes: Mapping[str, str] | None = None,
        affinity_check: bool = False,
        reserved: Reserved = _nothing,
    ) -> tuple[Block, list[str]]:
        """(block to write, up to `num` addresses). IPAMError for another host's block with `affinity_check`."""
        self._check_affinity(host, affinity_check, f"Block affinity ({self.affinity}) does not match provided ({host})")
        owner = Owner(handle, dict(attributes or {}))
        taken: list[int] = []
        rest: list[int] = []
        for ordinal in self.unallocated:
            is_wanted = len(taken) < num and not reserved(self.address(ordinal))
            (taken if is_wanted else rest).append(ordinal)
        return self._give(taken, owner, rest), [self.address(ordinal) for ordinal in taken]

    def assign(
        self,
        address: str,
        handle: str = "",
        *,
        host: str = "",
        attributes: Mapping[str, str] | None = None,
        affinity_check: bool = False,
    ) -> Block:
        """The block with this address assigned. AlreadyExistsError, IPAMError, ValueError (not in this block)."""
        self._check_affinity(host, affinity_check, "Block host affinity does not match")
        ordinal = self.ordinal(address)
        if self.owners[ordinal] is not None:
            raise AlreadyExistsError(address, "Address already assigned in block")
        owner = Owner(handle, dict(attributes or {}))
        return self._give([ordinal], owner, [one for one in self.unallocated if one != ordinal])

    def _check_affinity(self, host: str, affinity_check: bool, mismatch: str) -> None:
        if not affinity_check:
            return
        if not self.affinity:
            raise IPAMError(f"Attempt to assign from block {self.cidr} with no affinity")
        if self.affinity != host:
            raise IPAMError(mismatch)

    def _give(self, ordinals: list[int], owner: Owner, rest: list[int]) -> Block:
        owners, sequences = list(self.owners), list(self.sequences)
        for ordinal in ordinals:
            owners[ordinal], sequences[ordinal] = owner, self.sequence_number
        return replace(self, owners=tuple(owners), sequences=tuple(sequences), unallocated=tuple(rest))

    # -- release -----------------------------------------------------------------------------------

    def release(self, options: Iterable[ReleaseOptions]) -> tuple[Block, list[str], dict[str, int]]:
        """(block to write, addresses that nobody had, how many each handle lost).

        BadHandleError and BadSequenceNumberError, and nothing released, when one has changed hands.
        """
        free: list[str] = []
        ordinals: list[int] = []
        lost: dict[str, int] = {}
        for option in {one.address: one for one in options}.values():
            ordinal = self.ordinal(option.address)
            if option.sequence_number is not None and option.sequence_number != self.sequences[ordinal]:
                raise BadSequenceNumberError(option.address, option.sequence_number, self.sequences[ordinal])
            owner = self.owners[ordinal]
            if owner is None:
                free.append(option.address)
                continue
            if option.handle and option.handle != owner.handle:
                raise BadHandleError(option.address, option.handle, owner.handle)
            ordinals.append(ordinal)
            if owner.handle:
                lost[owner.handle] = lost.get(owner.handle, 0) + 1
        return self._take(ordinals), free, lost

    def release_by_handle(self, handle: str) -> tuple[Block, int]:
        """(block to write, how many addresses were the handle's)."""
        ordinals = [o for o, owner in enumerate(self.owners) if owner is not None and owner.handle == handle]
        return self._take(ordinals), len(ordinals)

    def _take(self, ordinals: list[int]) -> Block:
        owners, sequences = list(self.owners), list(self.sequences)
        for ordinal in ordinals:
            owners[ordinal] = sequences[ordinal] = None
        unallocated = (*self.unallocated, *ordinals)
        return replace(self, owners=tuple(owners), sequences=tuple(sequences), unallocated=unallocated)

    def given_up(self) -> Block:
        """The block without a host: routed nowhere as a whole, its addresses stay where they are."""
        return replace(self, affinity="", claimed_at_ms=0)

    def written(self) -> Block:
        """The block as it is stored: with the next sequence number."""
        return replace(self, sequence_number=self.sequence_number + 1)

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        free = [ordinal for ordinal, owner in enumerate(self.owners) if owner is None]
        assert sorted(self.unallocated) == free, f"{self.cidr}: each address is assigned or waits, and waits once"
        assert len(self.owners) == self.network.num_addresses, f"{self.cidr}: there is an entry for each address"
        assert all((s is None) == (o is None) for s, o in zip(self.sequences, self.owners, strict=True)), (
            f"{self.cidr}: an assigned address has a sequence number"
        )
