"""A loop, a datastore, and clients of several nodes on it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from k8slab.network.ipam import (
    AffinityKey,
    AffinityState,
    Block,
    BlockKey,
    Connection,
    Datastore,
    DatastoreError,
    HandleKey,
    IPAMClient,
    IPAMError,
    IPPool,
)
from k8slab.sim import Loop
from k8slab.sim.order import Order


class World:
    """`client(node)`: its client. `run(coroutine)` returns what it returns, or raises what it raises."""

    def __init__(
        self, *pools: IPPool, seed: int = 7, order: Order | None = None, delay_ms: int = 1, **options: Any
    ) -> None:
        self.loop = Loop(seed, order=order)
        self.store = Datastore()
        self.pools = list(pools) or [IPPool("default", "10.0.0.0/26", block_size=28)]
        self.options = options
        self.connections: dict[str, Connection] = {}
        self.delay_ms = delay_ms

    def client(self, node: str = "node-a", **options: Any) -> IPAMClient:
        connection = self.connections.setdefault(node, Connection(self.store, self.delay_ms))
        return IPAMClient(connection, self.pools, self.loop.clock, **{**self.options, **options})

    def run(self, work: Coroutine[Any, Any, Any], name: str = "one/task") -> Any:
        outcome: list[Any] = []

        async def guarded() -> None:
            try:
                outcome.append(await work)
            except (DatastoreError, IPAMError, TimeoutError, ValueError) as error:
                outcome.append(error)

        self.loop.spawn(name, guarded())
        assert self.loop.run(until_idle=True)
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    def assign(self, node: str = "node-a", num: int = 1, **more: Any) -> list[str]:
        found: list[str] = self.run(self.client(node).auto_assign(node, num, **more)).addresses
        return found

    def sleep(self, ms: int) -> None:
        self.loop.run(for_ms=ms)

    def blocks(self) -> dict[str, Block]:
        return {entry.key.cidr: entry.value for entry in self.store.list(BlockKey)}

    def owners(self) -> dict[str, str]:
        return {cidr: block.affinity for cidr, block in self.blocks().items()}

    def in_use(self) -> list[str]:
        return [address for block in self.blocks().values() for address in block.in_use()]

    def handles(self) -> dict[str, dict[str, int]]:
        return {entry.key.handle: dict(entry.value) for entry in self.store.list(HandleKey)}

    def check(self, *, crashed: bool = False) -> None:
        """What holds when nobody is at work; after a crash, handles may count too many and claims may be unfinished."""
        self.store.check_invariants()
        blocks = self.blocks()
        counted: dict[str, dict[str, int]] = {}
        for cidr, block in blocks.items():
            block.check_invariants()
            for owner in block.owners:
                if owner is not None and owner.handle:
                    of_handle = counted.setdefault(owner.handle, {})
                    of_handle[cidr] = of_handle.get(cidr, 0) + 1
        claims = {entry.key: entry.value for entry in self.store.list(AffinityKey)}
        for cidr, block in blocks.items():
            assert not block.affinity or AffinityKey(block.affinity, cidr) in claims, (
                f"{cidr} has an owner without claim"
            )
        if crashed:
            handles = self.handles()
            for handle, of_handle in counted.items():
                assert all(handles[handle][cidr] >= count for cidr, count in of_handle.items()), (
                    f"{handle} counts too few"
                )
            return
        assert self.handles() == counted, "handles count what blocks hold"
        for key, state in claims.items():
            assert state == AffinityState.CONFIRMED and blocks[key.cidr].affinity == key.host, f"{key} is unfinished"
