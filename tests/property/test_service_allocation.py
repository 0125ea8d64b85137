"""Clients of several API servers create, change and delete Services at once: nobody gets what another has."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import SERVICES
from k8slab.api.transport import Request
from k8slab.apiserver import APIServer
from k8slab.apiserver.allocators import ServiceRanges
from k8slab.apiserver.registry.allocation import Held, Taken, service_ports
from k8slab.apiserver.registry.context import Environment
from k8slab.apiserver.storage import SingleMember, Storage
from k8slab.apiserver.storage.kv import Op
from k8slab.etcd import Compare, RangeResponse, Store, TxnResponse
from k8slab.sim import Loop, Shuffle, sleep
from tests.counts import examples

RANGES = ServiceRanges.parse("10.0.0.0/28,fd00::/124", "30000-30019")
TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
MERGE = "application/merge-patch+json"


class SlowMember(SingleMember):
    """An etcd that takes its time: between what a server reads and what it writes others may act."""

    def __init__(self, loop: Loop, store: Store, rng: random.Random) -> None:
        super().__init__(loop, store)
        self.rng = rng

    async def range(self, key: bytes, range_end: bytes = b"", **options: Any) -> RangeResponse:
        await sleep(self.rng.choice((0, 1, 2)))
        return await super().range(key, range_end, **options)

    async def txn(self, compare: Sequence[Compare], success: Sequence[Op], failure: Sequence[Op] = ()) -> TxnResponse:
        await sleep(self.rng.choice((0, 1, 2)))
        return await super().txn(compare, success, failure)


class World:
    """Three servers over one etcd, and what their Services hold."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"services/{seed}")
        self.loop = Loop(seed, order=Shuffle(random.Random(seed)))
        etcd = SlowMember(self.loop, Store(), self.rng)
        self.servers = [
            APIServer(self.loop, etcd, name=f"apiserver/{n}", services=RANGES, bootstrap=n == 0) for n in range(3)
        ]
        self.loop.run(for_ms=50)
        self.messages: Counter[str] = Counter()

    def services(self) -> list[Any]:
        return self.servers[0].cached_all("services")

    def check(self) -> None:
        """What Services hold, as one server's cache has it at an instant, is held once."""
        addresses = Counter(a for one in self.services() for a in one["spec"].get("clusterIPs") or () if a != "None")
        ports = Counter(port for one in self.services() for port in service_ports(one["spec"]))
        assert max(addresses.values(), default=1) == 1, addresses
        assert max(ports.values(), default=1) == 1, ports
        assert all(30_000 <= port < 30_020 for port in ports)

    async def client(self, number: int) -> None:
        you = self.servers[number % 3].transport(f"you-{number}")
        for turn in range(12):
            await sleep(self.rng.choice((0, 0, 1, 3)))
            try:
                await you.call(self.deed(f"s{self.rng.randrange(14)}"))
            except StatusError as error:
                self.messages[error.message.rpartition(": ")[2]] += 1
            if turn % 3 == 0:
                self.check()

    def deed(self, name: str) -> Request:
        rng = self.rng
        verb = rng.choice(("create", "create", "create", "patch", "patch", "delete"))
        if verb == "delete":
            return Request("delete", SERVICES, "default", name)
        kind = rng.choice(TYPES)
        spec: dict[str, Any] = {"type": kind, "ipFamilyPolicy": rng.choice((None, "PreferDualStack", "SingleStack"))}
        spec["externalName"] = "a.b" if kind == "ExternalName" else None
        if kind == "LoadBalancer":
            spec["externalTrafficPolicy"] = rng.choice(("Local", "Cluster"))
        port: dict[str, Any] = {"port": 80}
        if kind in ("NodePort", "LoadBalancer") and rng.random() < 0.4:
            port["nodePort"] = 30_000 + rng.randrange(20)
        spec["ports"] = [port]
        if verb == "patch":
            return Request("patch", SERVICES, "default", name, body={"spec": spec}, patch_type=MERGE)
        if kind == "ClusterIP" and rng.random() < 0.4:
            spec["clusterIP"] = rng.choice((f"10.0.0.{rng.randrange(16)}", "None"))
        body = {"metadata": {"name": name}, "spec": {key: value for key, value in spec.items() if value is not None}}
        return Request("create", SERVICES, "default", body=body)


@pytest.mark.parametrize("seed", range(examples(40, 400)))
def test_no_address_and_no_port_is_ever_given_twice(seed: int) -> None:
    world = World(seed)
    tasks = [world.loop.spawn(f"you-{number}", world.client(number)) for number in range(6)]
    world.loop.run(for_ms=5_000)
    assert all(task.done for task in tasks)
    world.check()
    for server in world.servers:
        server.repair.holdings.check_invariants()
        assert not [event for event in world.loop.trace if event.kind.startswith("service.repair")]
    assert world.messages, "something is refused in every run"
    world.loop.close()


@pytest.mark.parametrize("seed", range(examples(10, 100)))
def test_what_is_given_back_can_be_had_again_until_the_range_is_full(seed: int) -> None:
    """A server's books, kept from one allocation to the next, say what the Services say."""
    world = World(seed)
    world.loop.spawn("you-0", world.client(0))
    world.loop.spawn("you-1", world.client(1))
    world.loop.run(for_ms=5_000)
    held = {a for one in world.services() for a in one["spec"].get("clusterIPs") or () if a.startswith("10.")}
    you, given = world.servers[0].transport("last"), list[str]()

    async def fill() -> None:
        while True:
            body = {"metadata": {"generateName": "more-"}, "spec": {"ports": [{"port": 80}]}}
            try:
                made = await you.call(Request("create", SERVICES, "default", body=body))
            except StatusError as error:
                assert error.message == "Internal error occurred: failed to allocate a serviceIP: range is full"
                return
            given.append(made["spec"]["clusterIP"])

    task = world.loop.spawn("last", fill())
    world.loop.run(for_ms=5_000)
    assert task.done and {*held, *given} == {f"10.0.0.{n}" for n in range(1, 15)} and len(given) == 14 - len(held)
    world.loop.close()


@pytest.mark.parametrize("by_changes", [True, False], ids=["what changed is read", "all is read each time"])
@pytest.mark.parametrize("seed", range(examples(8, 80)))
def test_what_a_server_keeps_of_services_is_what_etcd_had_at_that_revision(
    seed: int, by_changes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, original = World(seed), Held.taken
    counts: Counter[str] = Counter()

    async def checked(held: Held, env: Environment, storage: Storage, resource: str) -> Taken:
        taken = await original(held, env, storage, resource)
        store = world.servers[0].storage.kv.store  # type: ignore[attr-defined]
        revision = taken.guard.operand - 1  # type: ignore[operator]
        kvs = store.range(taken.guard.key, taken.guard.range_end, revision=revision).kvs
        specs = [storage.codec.decode(kv)["spec"] for kv in kvs]
        addresses = {one for spec in specs for one in spec.get("clusterIPs") or () if one != "None"}
        found = {f"10.0.0.{n}" for n in range(16) if taken.addresses["IPv4"].has(f"10.0.0.{n}")}
        found |= {f"fd00::{n:x}" for n in range(16) if taken.addresses["IPv6"].has(f"fd00::{n:x}")}
        assert found == addresses
        assert {n for n in range(30_000, 30_020) if taken.ports.has(n)} == {n for s in specs for n in service_ports(s)}
        counts["checked"] += 1
        return taken

    async def nothing(held: Held, storage: Storage, prefix: str) -> bool:
        return False

    if not by_changes:
        monkeypatch.setattr(Held, "_read_changes", nothing)
    monkeypatch.setattr(Held, "taken", checked)
    tasks = [world.loop.spawn(f"you-{number}", world.client(number)) for number in range(6)]
    world.loop.run(for_ms=5_000)
    assert all(task.done for task in tasks)
    assert counts["checked"] > 20


def test_a_server_reads_all_services_once_and_again_only_when_one_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    original = Held._read_all

    async def counted(held: Held, storage: Storage, prefix: str) -> None:
        reads.append(prefix)
        await original(held, storage, prefix)

    monkeypatch.setattr(Held, "_read_all", counted)
    loop = Loop()
    server = APIServer(loop, Store(), services=RANGES)
    loop.run(for_ms=50)

    def call(request: Request) -> None:
        task = loop.spawn("you", server.transport("you").call(request))
        loop.run(for_ms=1_000)
        assert task.done

    def create(name: str) -> None:
        call(
            Request("create", SERVICES, "default", body={"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}})
        )

    before = len(reads)
    for number in range(5):
        create(f"s{number}")
    assert len(reads) - before <= 1
    before = len(reads)
    call(Request("delete", SERVICES, "default", "s3"))
    create("s5")
    create("s6")
    assert len(reads) - before == 1
