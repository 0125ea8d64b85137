"""The IPAM client of a node: addresses from its own blocks, from new ones, and in the end from other hosts' blocks.

    >>> from k8slab.network.ipam import IPPool, Connection, Datastore
    >>> from k8slab.sim import Loop
    >>> loop = Loop(seed=7)
    >>> client = IPAMClient(Connection(Datastore()), [IPPool("default", "10.0.0.0/24")], loop.clock)
    >>> task = loop.spawn("node-a/ipam", client.auto_assign("node-a", 2, handle="pod-1"))
    >>> _ = loop.run(until_idle=True)
    >>> task.result.addresses, task.result.shortfall
    (['10.0.0.128', '10.0.0.129'], '')

Every write names the revision it is based on. Who meets a conflict reads again and decides again, a hundred times at
most; nothing is locked, and a client that dies leaves nothing that another one cannot go on from.

Upstream: libcalico-go/lib/ipam/ipam.go of projectcalico/calico
Simplified: one family a request; no namespace selectors, no uses of pools (workload, tunnel, load balancer).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from k8slab.network.ipam.affinities import BlockReaderWriter, Tell
from k8slab.network.ipam.block import Block, ReleaseOptions
from k8slab.network.ipam.datastore import Backend, BlockKey, Entry, HandleKey
from k8slab.network.ipam.errors import (
    BlockClaimConflictError,
    BlockLimitError,
    BlockNotEmptyError,
    ConflictError,
    DatastoreError,
    DoesNotExistError,
    IPAMError,
    NoFreeBlocksError,
    StaleAffinityError,
)
from k8slab.network.ipam.handles import DATASTORE_RETRIES, decrement, increment
from k8slab.network.ipam.pools import IPAMConfig, IPPool, Reservations, blocks_from, check_pools
from k8slab.sim import Clock, Trace

__all__ = ["Assignments", "IPAMClient"]

TOO_MANY = "Max retries hit - excessive concurrent IPAM requests"


@dataclass(slots=True)
class Assignments:
    """What a request got: fewer addresses than it asked for are no error, `messages` say why."""

    requested: int
    version: int
    addresses: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def add_message(self, text: str) -> None:
        if text not in self.messages:
            self.messages.append(text)

    @property
    def shortfall(self) -> str:
        """What a CNI plugin reports when addresses are missing; empty when none is."""
        if len(self.addresses) >= self.requested:
            return ""
        counts = f"Assigned {len(self.addresses)} out of {self.requested} requested IPv{self.version} addresses"
        return "; ".join([counts, *self.messages])


class IPAMClient:
    """Assigns and releases addresses of `pools`, which must not overlap (ValueError).

    `nodes`: labels of the nodes that pools select by. `reserved`: CIDRs that are kept back from `auto_assign`. `trace`:
    where claims, assignments and conflicts are told, in the lane `ipam/NODE`.
    """

    def __init__(
        self,
        backend: Backend,
        pools: Sequence[IPPool],
        clock: Clock,
        *,
        config: IPAMConfig | None = None,
        reserved: Iterable[str] = (),
        nodes: Mapping[str, Mapping[str, str]] | None = None,
        trace: Trace | None = None,
    ) -> None:
        check_pools(pools)
        self.backend = backend
        self.pools = list(pools)
        self.config = config or IPAMConfig()
        self.reserved = Reservations(reserved)
        self.nodes = dict(nodes or {})
        self.tell: Tell = trace.emit if trace is not None else _tell_nobody
        self.blocks = BlockReaderWriter(backend, lambda: clock.now_ms, self.tell)

    # -- assigning ---------------------------------------------------------------------------------

    async def auto_assign(
        self,
        host: str,
        num: int = 1,
        *,
        handle: str = "",
        attributes: Mapping[str, str] | None = None,
        version: int = 4,
        pools: Sequence[str] = (),
        max_blocks: int = 0,
    ) -> Assignments:
        """Up to `num` addresses for `host`. `pools`: only from these, by CIDR.

        Raises IPAMError when no pool can be asked, or the host may have no more blocks (BlockLimitError; what was
        assigned before stays).
        """
        usable = self._usable_pools(host, version, pools)
        affine = await self._affine_blocks(host, version, usable)
        got = Assignments(num, version)
        search = _BlockSearch(self, host, usable, affine, self.config.limit(max_blocks))
        while len(got.addresses) < num:
            try:
                entry = await search.next_block(got)
            except NoFreeBlocksError:
                if self.config.strict_affinity:
                    got.add_message("No more free affine blocks and strict affinity enabled")
                break
            missing = num - len(got.addresses)
            strict = self.config.strict_affinity
            got.addresses += await self._assign_from(entry, missing, handle, attributes, host, strict, got)
        if len(got.addresses) < num and not self.config.strict_affinity:
            await self._borrow(got, usable, host, handle, attributes)
        return got

    def _usable_pools(self, host: str, version: int, asked: Sequence[str]) -> list[IPPool]:
        enabled = {pool.cidr: pool for pool in self.pools if not pool.disabled and pool.version == version}
        if not enabled:
            raise IPAMError("cannot find a qualified ippool")
        for cidr in asked:
            if cidr not in enabled:
                raise IPAMError(f"the given pool ({cidr}) does not exist, or is not enabled")
        if asked:
            return [enabled[cidr] for cidr in asked]
        labels = self.nodes.get(host, {})
        usable = [pool for pool in enabled.values() if pool.automatic and pool.selects(labels)]
        if not usable:
            raise IPAMError(f"no configured Calico pools for node {host}")
        return usable

    async def _affine_blocks(self, host: str, version: int, usable: Sequence[IPPool]) -> list[str]:
        """The host's blocks in these pools. Empty ones in pools that select it no longer are given up."""
        found = []
        labels = self.nodes.get(host, {})
        for cidr in await self.blocks.affine_blocks(host, version):
            if any(pool.contains(cidr) for pool in usable):
                found.append(cidr)
            elif any(pool.contains(cidr) and not pool.selects(labels) for pool in self.pools if not pool.disabled):
                await self._give_up_if_empty(host, cidr)
        return found

    async def _give_up_if_empty(self, host: str, cidr: str) -> None:
        try:
            await self._retry(lambda: self.blocks.release_affinity(host, cidr, require_empty=True))
        except (BlockClaimConflictError, BlockNotEmptyError, DoesNotExistError):
            return

    async def _assign_from(
        self,
        entry: Entry,
        num: int,
        handle: str,
        attributes: Mapping[str, str] | None,
        host: str,
        strict: bool,
        got: Assignments,
    ) -> list[str]:
        """Addresses of one block, as many as it has; again from the block as it is now after a conflict."""
        for _ in range(DATASTORE_RETRIES):
            block: Block = entry.value
            reserved = {"reserved": self.reserved} if self.reserved else {}
            try:
                changed, addresses = block.auto_assign(
                    num, handle, host=host, attributes=attributes, affinity_check=strict, **reserved
                )
            except IPAMError:
                got.add_message("Failed to assign IPs in newly allocated block")
                return []
            if not addresses:
                return []
            try:
                await self._write(entry, changed, handle, len(addresses))
            except ConflictError:
                self.tell("ipam.conflict", f"ipam/{host}", node=host, block=block.cidr)
                try:
                    entry = await self.backend.get(entry.key)
                except DoesNotExistError:
                    return []
            else:
                self._tell_assigned(host, block, addresses)
                return addresses
        raise IPAMError(TOO_MANY)

    def _tell_assigned(self, host: str, block: Block, addresses: list[str]) -> None:
        owner = "its own" if block.affinity == host else f"{block.affinity}'s" if block.affinity else "nobody's"
        listed = ", ".join(addresses) if len(addresses) < 4 else f"{len(addresses)} addresses"
        self.tell("ipam.assign", f"ipam/{host}", node=host, block=block.cidr, addresses=listed, owner=owner)

    async def _write(self, entry: Entry, block: Block, handle: str, num: int) -> None:
        """The handle first, then the block; the handle back when the block was not taken."""
        if handle:
            await increment(self.backend, handle, block.cidr, num)
        try:
            await self.blocks.update_block(entry, block)
        except DatastoreError:
            if handle:
                await decrement(self.backend, handle, block.cidr, num)
            raise

    async def _borrow(
        self, got: Assignments, pools: Sequence[IPPool], host: str, handle: str, attributes: Mapping[str, str] | None
    ) -> None:
        """Addresses of blocks that belong to others: a route of its own for each of them."""
        for pool in pools:
            for cidr in blocks_from(pool, host):
                missing = got.requested - len(got.addresses)
                if not missing:
                    return
                try:
                    entry = await self.backend.get(BlockKey(cidr))
                except DoesNotExistError:
                    continue
                if entry.value.unallocated:
                    got.addresses += await self._assign_from(entry, missing, handle, attributes, host, False, got)

    async def assign_ip(
        self, address: str, host: str, *, handle: str = "", attributes: Mapping[str, str] | None = None
    ) -> None:
        """This very address. AlreadyExistsError when somebody has it; IPAMError outside the pools, or in another
        host's block with strict affinity."""
        pool = next((pool for pool in self.pools if not pool.disabled and pool.contains(address)), None)
        if pool is None:
            raise IPAMError(f"The provided IP address {address} is not in a configured pool")
        cidr = pool.block_of(address)
        for _ in range(DATASTORE_RETRIES):
            try:
                entry = await self.backend.get(BlockKey(cidr))
            except DoesNotExistError:
                try:
                    entry = await self.blocks.block_of(await self.blocks.pending_affinity(host, cidr))
                except (BlockClaimConflictError, StaleAffinityError, ConflictError, DoesNotExistError):
                    continue
            block: Block = entry.value
            strict = self.config.strict_affinity
            changed = block.assign(address, handle, host=host, attributes=attributes, affinity_check=strict)
            try:
                await self._write(entry, changed, handle, 1)
            except (ConflictError, DoesNotExistError):
                continue
            self._tell_assigned(host, block, [address])
            return
        raise IPAMError(TOO_MANY)

    # -- releasing ---------------------------------------------------------------------------------

    async def release_ips(self, *options: ReleaseOptions | str) -> list[str]:
        """Give addresses back; those that nobody had. BadHandleError, BadSequenceNumberError for those that another
        has by now: then none of their block is released."""
        by_block: dict[str, list[ReleaseOptions]] = {}
        unallocated: list[str] = []
        blocks: dict[str, Block] = {entry.key.cidr: entry.value for entry in await self.blocks.blocks()}
        for one in options:
            option = one if isinstance(one, ReleaseOptions) else ReleaseOptions(one)
            cidr = self._block_with(option.address, blocks)
            if not cidr:
                unallocated.append(option.address)
            else:
                by_block.setdefault(cidr, []).append(option)
        for cidr, wanted in by_block.items():
            unallocated += await self._release_from(cidr, wanted)
        return unallocated

    def _block_with(self, address: str, blocks: Mapping[str, Block]) -> str:
        """The block that holds an address: by its pool, or (when the pool is gone) by looking through them all."""
        for pool in self.pools:
            if pool.contains(address) and (cidr := pool.block_of(address)) in blocks:
                return cidr
        return next((cidr for cidr, block in blocks.items() if _in(block, address)), "")

    async def _release_from(self, cidr: str, options: list[ReleaseOptions]) -> list[str]:
        for _ in range(DATASTORE_RETRIES):
            try:
                entry = await self.backend.get(BlockKey(cidr))
            except DoesNotExistError:
                return [option.address for option in options]
            block: Block = entry.value
            changed, free, lost = block.release(options)
            if len(free) == len(options):
                return free
            try:
                await self._replace(entry, changed)
            except (ConflictError, DoesNotExistError):
                continue
            for handle, num in lost.items():
                await decrement(self.backend, handle, cidr, num)
            return free
        raise IPAMError(TOO_MANY)

    async def _replace(self, entry: Entry, block: Block) -> None:
        """Write a block with fewer addresses in use; one that is empty and nobody's goes."""
        if block.is_empty and not block.affinity:
            await self.backend.delete(entry)
        else:
            await self.blocks.update_block(entry, block)
        count = len(block.unallocated) - len(entry.value.unallocated)
        self.tell("ipam.release", "ipam", node=block.affinity, block=block.cidr, count=count)

    async def release_by_handle(self, handle: str) -> int:
        """Give back all addresses of a handle; how many. DoesNotExistError for a handle that nobody knows."""
        entry = await self.backend.get(HandleKey(handle))
        total = 0
        for cidr, counted in entry.value.items():
            total += await self._release_handle_from(cidr, handle, counted)
        return total

    async def _release_handle_from(self, cidr: str, handle: str, counted: int) -> int:
        """What the handle has of a block. `counted`: what it was said to have, more after a crash."""
        for _ in range(DATASTORE_RETRIES):
            try:
                entry = await self.backend.get(BlockKey(cidr))
            except DoesNotExistError:
                await decrement(self.backend, handle, cidr, counted)
                return 0
            block: Block = entry.value
            changed, num = block.release_by_handle(handle)
            try:
                if num:
                    await self._replace(entry, changed)
            except (ConflictError, DoesNotExistError):
                continue
            await decrement(self.backend, handle, cidr, max(num, counted))
            return num
        raise IPAMError(TOO_MANY)

    async def ips_by_handle(self, handle: str) -> list[str]:
        """The addresses of a handle. DoesNotExistError for a handle that nobody knows."""
        entry = await self.backend.get(HandleKey(handle))
        found: list[str] = []
        for cidr in entry.value:
            try:
                block: Block = (await self.backend.get(BlockKey(cidr))).value
            except DoesNotExistError:
                continue
            found += block.of_handle(handle)
        return found

    async def release_host_affinities(self, host: str, *, require_empty: bool = False) -> None:
        """Give up every block of a host: those in use are nobody's then. BlockNotEmptyError with `require_empty`."""
        failed: BlockNotEmptyError | None = None
        for cidr in await self.blocks.affine_blocks(host):
            try:
                await self.release_affinity(host, cidr, require_empty=require_empty)
            except BlockNotEmptyError as error:
                failed = error
        if failed is not None:
            raise failed

    async def release_affinity(self, host: str, cidr: str, *, require_empty: bool = False) -> None:
        """Give up one block. BlockNotEmptyError; a block that is gone or another's is given up already."""
        try:
            await self._retry(lambda: self.blocks.release_affinity(host, cidr, require_empty=require_empty))
        except (BlockClaimConflictError, DoesNotExistError):
            return

    async def _retry(self, attempt: Callable[[], Awaitable[None]]) -> None:
        for _ in range(DATASTORE_RETRIES):
            try:
                await attempt()
            except ConflictError:
                continue
            return
        raise IPAMError(TOO_MANY)


def _tell_nobody(*event: object, **data: object) -> None:
    """Where there is no trace."""


def _in(block: Block, address: str) -> bool:
    try:
        block.ordinal(address)
    except ValueError:
        return False
    return True


class _BlockSearch:
    """The blocks that one request may draw from: first those the host has, then new ones up to its limit."""

    def __init__(self, client: IPAMClient, host: str, pools: Sequence[IPPool], affine: list[str], limit: int) -> None:
        self.client = client
        self.blocks = client.blocks
        self.host = host
        self.pools = pools
        self.limit = limit
        self.owned = len(affine)
        self._affine = affine

    async def next_block(self, got: Assignments) -> Entry:
        """A block with a free address. Raises NoFreeBlocksError, BlockLimitError, IPAMError."""
        while self._affine:
            entry = await self._own_block(self._affine.pop(0))
            if entry is not None:
                return entry
        if self.owned >= self.limit:
            got.add_message(
                f"Need to allocate an IPAM block but could not - limit of {self.limit} blocks reached for this node"
            )
            raise BlockLimitError
        if not self.client.config.auto_allocate_blocks:
            raise IPAMError("failed to find or claim a block")
        entry = await self._new_block()
        self.owned += 1
        return entry

    async def _own_block(self, cidr: str) -> Entry | None:
        """One that the host claims, if it is the host's and has room."""
        if self.client.reserved and self.client.reserved.covers(cidr):
            return None
        for _ in range(DATASTORE_RETRIES):
            try:
                entry = await self.blocks.block_of(await self.blocks.affinity(self.host, cidr))
            except ConflictError:
                continue
            except (DoesNotExistError, BlockClaimConflictError, StaleAffinityError):
                return None
            return entry if self._free(entry) else None
        return None

    async def _new_block(self) -> Entry:
        for _ in range(DATASTORE_RETRIES):
            cidr = await self.blocks.find_usable_block(self.host, self.pools, self.client.reserved)
            for _ in range(DATASTORE_RETRIES):
                try:
                    entry = await self.blocks.block_of(await self.blocks.pending_affinity(self.host, cidr))
                except ConflictError:
                    continue
                except (DoesNotExistError, BlockClaimConflictError, StaleAffinityError):
                    break
                if self._free(entry):
                    return entry
                break
        raise IPAMError(TOO_MANY)

    def _free(self, entry: Entry) -> int:
        block: Block = entry.value
        return block.num_free(self.client.reserved) if self.client.reserved else block.num_free()
