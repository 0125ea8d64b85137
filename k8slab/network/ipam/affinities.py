"""How a host gets a block, and how it loses one.

A claim is three writes: the affinity as pending, the block, the affinity as confirmed. A host that dies in between
leaves a pending affinity, and goes on from there when it comes back; another host that finds the block written sees
whose it is in the block itself. Giving up is the reverse: the affinity is marked first, and goes last. A claim without
a block, and a block of a host without a claim, are what a crash in between may leave: giving up removes both.

Upstream: libcalico-go/lib/ipam/ipam_block_reader_writer.go of projectcalico/calico, which leaves those two where they
    are
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from k8slab.network.ipam.block import Block
from k8slab.network.ipam.datastore import AffinityKey, Backend, BlockKey, Entry
from k8slab.network.ipam.errors import (
    AlreadyExistsError,
    BlockClaimConflictError,
    BlockNotEmptyError,
    ConflictError,
    DatastoreError,
    DoesNotExistError,
    IPAMError,
    NoFreeBlocksError,
    StaleAffinityError,
)
from k8slab.network.ipam.pools import IPPool, Reservations, blocks_from

__all__ = ["EMPTY_BLOCK_MIN_RECLAIM_MS", "AffinityState", "BlockReaderWriter", "Tell"]

Tell = Callable[..., object]
"""`Trace.emit`: a kind, an actor, and the kind's data."""

EMPTY_BLOCK_MIN_RECLAIM_MS = 60_000
"""How long a host keeps an empty block before another one that found none may take it."""


class AffinityState(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    PENDING_DELETION = "pendingDeletion"


class BlockReaderWriter:
    """Claims and releases blocks in a datastore. `now_ms` says the time, `tell` is a trace's `emit`."""

    def __init__(self, backend: Backend, now_ms: Callable[[], int], tell: Tell) -> None:
        self.backend = backend
        self.now_ms = now_ms
        self.tell = tell

    async def affine_blocks(self, host: str, version: int | None = None) -> list[str]:
        """The blocks that the host claims, also those it has not confirmed."""
        entries = await self.backend.list(AffinityKey, host)
        return [entry.key.cidr for entry in entries if version in (None, 6 if ":" in entry.key.cidr else 4)]

    async def blocks(self) -> list[Entry]:
        return await self.backend.list(BlockKey)

    async def update_block(self, entry: Entry, block: Block) -> Entry:
        """Write a block over the one that was read. Raises ConflictError, DoesNotExistError."""
        return await self.backend.update(entry._replace(value=block.written()))

    # -- finding -----------------------------------------------------------------------------------

    async def find_usable_block(self, host: str, pools: Sequence[IPPool], reserved: Reservations) -> str:
        """A block that nobody has, or the host's own with room; else one that another host does not use.

        Nothing is held: somebody may claim it meanwhile. Raises NoFreeBlocksError.
        """
        existing: dict[str, Block] = {entry.key.cidr: entry.value for entry in await self.blocks()}
        empty: list[Block] = []
        for pool in pools:
            for cidr in blocks_from(pool, host):
                if reserved and reserved.covers(cidr):
                    continue
                block = existing.get(cidr)
                if block is None:
                    return cidr
                free = block.num_free(reserved) if reserved else block.num_free()
                if free and block.affinity == host:
                    return cidr
                if free and block.is_empty:
                    empty.append(block)
        return await self._reclaim(empty)

    async def _reclaim(self, empty: list[Block]) -> str:
        """Take one from a host that has had it for a minute and does not use it."""
        for block in empty:
            if self.now_ms() - block.claimed_at_ms < EMPTY_BLOCK_MIN_RECLAIM_MS:
                continue
            try:
                await self.release_affinity(
                    block.affinity, block.cidr, require_empty=True, sequence_number=block.sequence_number
                )
            except (DatastoreError, IPAMError):
                continue
            return block.cidr
        raise NoFreeBlocksError

    # -- claiming ----------------------------------------------------------------------------------

    async def pending_affinity(self, host: str, cidr: str) -> Entry:
        """The host's claim, new or found. Raises ConflictError."""
        key = AffinityKey(host, cidr)
        try:
            return await self.backend.create(key, AffinityState.PENDING)
        except AlreadyExistsError:
            entry = await self.backend.get(key)
        if entry.value == AffinityState.CONFIRMED:
            return entry
        return await self.backend.update(entry._replace(value=AffinityState.PENDING))

    async def affinity(self, host: str, cidr: str) -> Entry:
        """The host's claim to a block. Raises DoesNotExistError."""
        return await self.backend.get(AffinityKey(host, cidr))

    async def block_of(self, affinity: Entry) -> Entry:
        """The block behind a claim, made when it is not there, the claim confirmed.

        Raises BlockClaimConflictError and StaleAffinityError (the claim is gone then), ConflictError.
        """
        host, cidr = affinity.key
        try:
            entry = await self.backend.get(BlockKey(cidr))
        except DoesNotExistError:
            affinity = await self.backend.update(affinity._replace(value=AffinityState.PENDING))
            return await self.claim(affinity)
        block: Block = entry.value
        if block.affinity != host:
            await self.backend.delete(affinity)
            raise StaleAffinityError(host, cidr)
        if affinity.value != AffinityState.CONFIRMED:
            affinity = await self.backend.update(affinity._replace(value=AffinityState.PENDING))
            entry = await self.update_block(entry, block)  # whoever is about to give the block up meets a conflict
            await self._confirm(affinity)
        return entry

    async def claim(self, affinity: Entry) -> Entry:
        """Write the block of a pending claim. BlockClaimConflictError, and the claim gone, when another was first."""
        host, cidr = affinity.key
        try:
            entry = await self.backend.create(BlockKey(cidr), Block.new(cidr, affinity=host, now_ms=self.now_ms()))
        except AlreadyExistsError:
            entry = await self.backend.get(BlockKey(cidr))
            if entry.value.affinity != host:
                await self._forget(affinity)
                owner = entry.value.affinity or "nobody"
                self.tell("ipam.lose", f"ipam/{host}", node=host, block=cidr, owner=owner)
                raise BlockClaimConflictError(cidr, entry.value.affinity) from None
        else:
            self.tell("ipam.claim", f"ipam/{host}", node=host, block=cidr)
        await self._confirm(affinity)
        return entry

    async def _confirm(self, affinity: Entry) -> None:
        try:
            await self.backend.update(affinity._replace(value=AffinityState.CONFIRMED))
        except ConflictError:
            if (await self.backend.get(affinity.key)).value != AffinityState.CONFIRMED:
                raise

    # -- giving up ---------------------------------------------------------------------------------

    async def release_affinity(
        self, host: str, cidr: str, *, require_empty: bool = False, sequence_number: int | None = None
    ) -> None:
        """The host has the block no longer: an empty one goes, one in use is nobody's from now on.

        Raises DoesNotExistError (no claim, or no block: the claim is gone then), BlockClaimConflictError (another
        host's), BlockNotEmptyError, ConflictError (written meanwhile).
        """
        if not host:
            raise IPAMError("Hostname must be specified to release block affinity")
        affinity = await self._claim_of(host, cidr)
        try:
            entry = await self.backend.get(BlockKey(cidr))
        except DoesNotExistError:
            if affinity is not None:
                await self._forget(affinity)
            raise
        block: Block = entry.value
        if affinity is None and block.affinity != host:
            raise DoesNotExistError(AffinityKey(host, cidr))
        if sequence_number is not None and sequence_number != block.sequence_number:
            raise ConflictError(entry.key, "IPAM block updated since we last read it")
        if affinity is not None and block.affinity and block.affinity != host:
            await self._forget(affinity)
            raise BlockClaimConflictError(cidr, block.affinity)
        if require_empty and not block.is_empty:
            raise BlockNotEmptyError(cidr)
        if affinity is not None:
            affinity = await self.backend.update(affinity._replace(value=AffinityState.PENDING_DELETION))
        if block.is_empty:
            await self._forget(entry)
        else:
            await self.update_block(entry, block.given_up())
        rest = "it is empty and goes" if block.is_empty else "its addresses in use belong to nobody's block now"
        self.tell("ipam.give-up", f"ipam/{host}", node=host, block=cidr, rest=rest)
        if affinity is not None:
            await self._forget(affinity)

    async def _claim_of(self, host: str, cidr: str) -> Entry | None:
        try:
            return await self.affinity(host, cidr)
        except DoesNotExistError:
            return None

    async def _forget(self, entry: Entry) -> None:
        """Delete; somebody else may have done so."""
        try:
            await self.backend.delete(entry)
        except DoesNotExistError:
            return
