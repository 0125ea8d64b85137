"""Many creates at several API servers at once, in any order: no quota is ever exceeded, and `used` is never too low."""

from __future__ import annotations

import random

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.scheme import CONFIGMAPS, RESOURCEQUOTAS
from k8slab.apiserver import APIServer
from k8slab.apiserver.admission import ResourceQuota
from k8slab.client import Client, SharedInformerFactory
from k8slab.controllers import ControllerContext
from k8slab.controllers.resource_quota import ResourceQuotaController
from k8slab.etcd import Store
from k8slab.sim import Component, Loop
from k8slab.sim.order import Shuffle
from tests.counts import examples

SEEDS = examples(60)
CHUNK = 12


class World:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.loop = Loop(seed, order=Shuffle(random.Random(seed)))
        self.store = Store()
        latency = self.rng.choice(("none", "lan"))
        self.servers = [
            APIServer(self.loop, self.store, name=f"apiserver/{n}", latency=latency)
            for n in range(self.rng.randint(1, 3))
        ]
        self.loop.run(for_ms=100)
        self.hard = self.rng.randint(0, 8)
        self.codes: list[int] = []

    async def quota(self) -> None:
        client = Client(self.servers[0].transport("admin"))
        hard = {"configmaps": str(self.hard)}
        body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
        made = await client.create(RESOURCEQUOTAS, body, "default")
        await client.update_status(RESOURCEQUOTAS, {**made, "status": {"hard": hard, "used": {"configmaps": "0"}}})

    async def create(self, number: int) -> None:
        server = self.rng.choice(self.servers)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}}
        try:
            await Client(server.transport(f"you/{number}")).create(CONFIGMAPS, body, "default")
            self.codes.append(201)
        except StatusError as error:
            self.codes.append(error.code)

    def stored(self) -> int:
        return self.store.range(b"/registry/configmaps/", b"/registry/configmaps0", count_only=True).count

    def used(self) -> int:
        cached = self.servers[0].codec.decode(self.store.range(b"/registry/resourcequotas/default/q").kvs[0])
        return int(cached["status"]["used"]["configmaps"])

    def check(self) -> bool:
        assert self.stored() <= self.used() <= self.hard, (
            f"{self.stored()} stored, {self.used()} used, {self.hard} hard"
        )
        for server in self.servers:
            for plugin in server.chain.validating:
                if isinstance(plugin, ResourceQuota):
                    plugin.check_invariants()
        return False


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_quota_is_exceeded_whoever_comes_first(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEEDS)):
        world = World(seed)
        world.loop.spawn("admin", world.quota())
        world.loop.run(for_ms=100)
        count = world.rng.randint(1, 14)
        for number in range(count):
            world.loop.spawn(f"you/{number}", world.create(number), delay_ms=world.rng.randint(0, 4))
        world.loop.run(until=world.check, for_ms=500)
        assert len(world.codes) == count, f"seed {seed}: somebody got no answer"
        assert world.codes.count(201) == world.stored()
        if world.codes.count(409) == 0:
            assert world.stored() == min(count, world.hard), f"seed {seed}: room was left, and somebody was refused"
        world.loop.close()


@pytest.mark.parametrize("first", range(0, SEEDS // 2, CHUNK))
def test_in_the_end_the_controller_counts_what_is_there(first: int) -> None:
    """Creates and deletes in any order; when it is quiet, `used` is what the store holds."""
    for seed in range(first, min(first + CHUNK, SEEDS // 2)):
        world = World(seed)
        component = Component(world.loop, "kcm")
        client = Client(world.servers[0].transport("kcm"))
        informers = SharedInformerFactory(world.loop, component, client)
        controller = ResourceQuotaController(
            ControllerContext(world.loop, component, client, informers, FeatureGates())
        )
        informers.start()
        controller.start()
        world.loop.spawn("admin", world.quota())
        world.loop.run(for_ms=100)

        async def delete(number: int, world: World = world) -> None:
            try:
                await Client(world.servers[-1].transport(f"me/{number}")).delete(CONFIGMAPS, f"c{number}", "default")
            except StatusError as error:
                world.codes.append(error.code)

        for number in range(10):
            world.loop.spawn(f"you/{number}", world.create(number), delay_ms=world.rng.randint(0, 20))
            if world.rng.random() < 0.5:
                world.loop.spawn(f"me/{number}", delete(number), delay_ms=world.rng.randint(5, 40))
        world.loop.run(for_ms=400_000)
        assert world.used() == world.stored(), f"seed {seed}"
        world.loop.close()
