"""How the time of handing out addresses grows with their number, within one run: four times the work, `growth` times
as long (4.0: linear). The limits are loose: they tell linear from quadratic on a busy machine.

python -m pytest tests/benchmarks/test_growth_of_addresses.py --benchmark-only
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from k8slab.cluster import Cluster
from k8slab.etcd import Compare, PutRequest, Store
from k8slab.network.ipam import Connection, Datastore, IPAMClient, IPPool
from k8slab.sim import Loop

QUADRATIC_AFTER = 6.5
"""Four times the work takes 4 times as long if growth is linear, 16 times if it is quadratic; 8 if half of it is."""


def growth(work: Callable[[int], Any], size: int) -> float:
    """How many times as long four times `size` takes: the best of two or three of each, in CPU time."""

    def seconds(of: int) -> float:
        gc.collect()
        begin = time.process_time()
        work(of)
        return time.process_time() - begin

    return min(seconds(4 * size) for _ in range(2)) / min(seconds(size) for _ in range(3))


def services(count: int, kind: str = "ClusterIP") -> Cluster:
    """So many Services of one manifest."""
    cluster = Cluster()
    cluster.apply(
        "---\n".join(
            f"apiVersion: v1\nkind: Service\nmetadata: {{name: s{n}}}\nspec: {{type: {kind}, ports: [{{port: 80}}]}}\n"
            for n in range(count)
        )
    )
    return cluster


@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort"])
@pytest.mark.benchmark(timer=time.process_time)
def test_services(benchmark: Any, kind: str) -> None:
    """300 Services, and 1,200."""
    cluster = benchmark.pedantic(services, args=(300, kind), rounds=1, warmup_rounds=1)
    assert len({one["spec"]["clusterIP"] for one in cluster.mirror.list("services")}) == 301
    if benchmark.stats is not None:
        found = growth(lambda count: services(count, kind), 300)
        benchmark.extra_info["growth"] = round(found, 1)
        assert found < QUADRATIC_AFTER


def pods_on(nodes: int, delay_ms: int) -> Datastore:
    """30 Pods on each of so many nodes, all nodes at once."""
    loop, store = Loop(seed=1), Datastore()
    pool = IPPool("default", "10.0.0.0/10")

    async def node(name: str) -> None:
        client = IPAMClient(Connection(store, delay_ms), [pool], loop.clock)
        for number in range(30):
            assert (await client.auto_assign(name, handle=f"{name}-{number}")).addresses

    for number in range(nodes):
        loop.spawn(f"node-{number}/cni", node(f"node-{number}"))
    assert loop.run(until_idle=True)
    return store


@pytest.mark.parametrize("delay_ms", [0, 1], ids=["all in one instant", "each request takes its time"])
@pytest.mark.benchmark(timer=time.process_time)
def test_block_ipam(benchmark: Any, delay_ms: int) -> None:
    """100 nodes, and 400."""
    store = benchmark.pedantic(pods_on, args=(100, delay_ms), rounds=1, warmup_rounds=1)
    assert sum(row[2] for row in store.table().rows) == 3_000
    if benchmark.stats is not None:
        found = growth(lambda nodes: pods_on(nodes, delay_ms), 100)
        benchmark.extra_info["growth"] = round(found, 1)
        assert found < QUADRATIC_AFTER


def guarded(count: int) -> Store:
    """Keys that are each written only if none of the others changed since all were read."""
    store, known = Store(), 0
    for number in range(count):
        page = store.range(b"s/", b"s0", min_mod_revision=known + 1)
        known = page.revision
        guard = Compare(b"s/", "MOD", "LESS", known + 1, b"s0")
        assert store.txn([guard], [PutRequest(b"s/%08d" % number, b"v")]).succeeded
    return store


@pytest.mark.benchmark(timer=time.process_time)
def test_reads_and_conditions_by_revision(benchmark: Any) -> None:
    """1,000 keys, and 4,000."""
    store = benchmark.pedantic(guarded, args=(1_000,), rounds=1, warmup_rounds=1)
    assert store.range(b"s/", b"s0").count == 1_000
    if benchmark.stats is not None:
        found = growth(guarded, 1_000)
        benchmark.extra_info["growth"] = round(found, 1)
        assert found < QUADRATIC_AFTER
