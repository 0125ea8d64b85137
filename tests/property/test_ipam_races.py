"""Nodes, a garbage collector and crashes on one datastore, in shuffled order: no address twice, nothing stays broken.

After each run everybody dies, the next ones go on from what they left, and in the end all can be given back.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.network.ipam import (
    BadHandleError,
    BadSequenceNumberError,
    BlockKey,
    BlockNotEmptyError,
    DatastoreError,
    IPAMConfig,
    IPAMError,
    IPPool,
    LeakFinder,
    PodAddresses,
    ReleaseOptions,
    collect,
    pod_attributes,
)
from k8slab.sim import Shuffle, sleep
from tests.counts import examples
from tests.unit.network.ipam_world import World

NODES = ("node-a", "node-b", "node-c", "node-d")
EXPECTED = (DatastoreError, IPAMError, BlockNotEmptyError, BadHandleError, BadSequenceNumberError, TimeoutError)


class Race:
    """A world, and who was told that they have which address."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"ipam/{seed}")
        strict = self.rng.random() < 0.3
        self.world = World(
            IPPool("default", "10.0.0.0/28", block_size=self.rng.choice((29, 30, 31))),
            seed=seed,
            order=Shuffle(random.Random(seed)),
            delay_ms=self.rng.choice((0, 1, 7)),
            config=IPAMConfig(strict_affinity=strict),
        )
        self.held: dict[str, str] = {}
        self.asking: set[str] = set()
        """Handles of Pods that may be told any moment: their addresses are no leaks."""
        self.serial = 0

    async def node(self, name: str) -> None:
        client = self.world.client(name)
        mine: list[tuple[str, str]] = []
        for _ in range(6):
            await sleep(self.rng.choice((0, 1, 5, 61_000)))
            deed = self.rng.choice(("add", "add", "add", "release", "handle", "give-up", "certain"))
            try:
                if deed in ("add", "certain"):
                    mine += await self.add(client, name, certain=deed == "certain")
                elif deed == "give-up":
                    await client.release_host_affinities(name, require_empty=self.rng.random() < 0.5)
                elif mine:
                    address, handle = mine.pop(self.rng.randrange(len(mine)))
                    self.held.pop(address)  # nobody uses it from the moment that its release begins
                    if deed == "handle":
                        await client.release_by_handle(handle)
                    else:
                        await client.release_ips(ReleaseOptions(address, handle))
            except EXPECTED:
                continue

    async def add(self, client: Any, name: str, *, certain: bool) -> list[tuple[str, str]]:
        self.serial += 1
        handle = f"pod-{self.serial}"
        attributes = pod_attributes("default", handle, name)
        self.asking.add(handle)
        try:
            if certain:
                addresses = [f"10.0.0.{self.rng.randrange(16)}"]
                await client.assign_ip(addresses[0], name, handle=handle, attributes=attributes)
            else:
                addresses = (await client.auto_assign(name, handle=handle, attributes=attributes)).addresses
        finally:
            self.asking.discard(handle)
        for address in addresses:
            assert address not in self.held, f"{address} is {self.held[address]}'s, and {handle} got it"
            self.held[address] = handle
        return [(address, handle) for address in addresses]

    async def collector(self) -> None:
        """Releases what no Pod has, at once."""
        finder, client = LeakFinder(grace_ms=0), self.world.client("controllers")
        for _ in range(4):
            await sleep(self.rng.choice((1, 10, 61_000)))
            pods = {("default", h): PodAddresses(n) for h, n in self.pods().items()}
            blocks = [entry.value for entry in self.world.store.list(BlockKey)]
            nodes = [node for node in NODES if self.rng.random() < 0.8]
            try:
                await collect(client, finder.plan(blocks, pods, nodes, self.world.loop.clock.now_ms))
            except EXPECTED:
                continue

    def pods(self) -> dict[str, str]:
        """Everybody who is there: those who were told, and those who are being told. The crashed are not."""
        blocks = (entry.value for entry in self.world.store.list(BlockKey))
        owners = (owner for block in blocks for owner in block.owners if owner is not None)
        there = self.asking.union(self.held.values())
        return {owner.handle: owner.attributes["node"] for owner in owners if owner.handle in there}


@pytest.mark.parametrize("seed", range(examples(60, 1_000)))
def test_whatever_races_and_whoever_dies_no_address_is_given_twice(seed: int) -> None:
    race = Race(seed)
    world, rng = race.world, race.rng
    crashes = seed % 2 == 0
    for _ in range(3):
        tasks = [world.loop.spawn(f"{node}/ipam", race.node(node)) for node in NODES]
        tasks.append(world.loop.spawn("node-a/second", race.node("node-a")))
        tasks.append(world.loop.spawn("controllers/gc", race.collector()))
        if crashes:
            for _ in range(3):
                world.loop.run(for_ms=rng.choice((1, 3, 10, 61_000)))
                victim = tasks[rng.randrange(len(tasks))]
                if not victim.done:
                    world.loop.cancel(victim)
        assert world.loop.run(until_idle=True)
        world.check(crashed=True)
        in_use = {a: o.handle for b in world.blocks().values() for a in b.in_use() if (o := b.owner(a)) is not None}
        assert all(in_use.get(address) == handle for address, handle in race.held.items()), "what is held is written"
    recover(race)


def recover(race: Race) -> None:
    """Each node comes back, and everything can be given back."""
    world = race.world
    for handle in list(world.handles()):
        world.run(world.client("controllers").release_by_handle(handle))
    assert world.in_use() == [] and world.handles() == {}
    for node in NODES:
        world.run(world.client(node).release_host_affinities(node))
    world.check()
    world.sleep(61_000)
    assert len(world.assign("node-z", 16, max_blocks=16)) == 16, "every address can be given again"
    world.check()
