"""How long addresses take when a range is nearly full, and how that grows. Nothing here fails for being slow.

python -m pytest tests/benchmarks/test_addresses.py --benchmark-only
"""

from __future__ import annotations

import random
from time import perf_counter
from typing import Any

import pytest

from k8slab.apiserver.allocators import Allocator, FullError, Range
from k8slab.controllers.nodeipam import CIDRSet
from k8slab.network.ipam import Connection, Datastore, IPAMClient, IPPool
from k8slab.sim import Loop


def seconds(work: Any, *args: Any) -> float:
    begin = perf_counter()
    work(*args)
    return perf_counter() - begin


def fill(kind: Any, cidr: str) -> int:
    addresses = kind(cidr, random.Random(1))
    while True:
        try:
            addresses.allocate_next()
        except FullError:
            return int(addresses.used)


@pytest.mark.parametrize("kind", [Range, Allocator], ids=["bitmap", "address objects"])
def test_a_whole_range_of_65534_addresses(benchmark: Any, kind: Any) -> None:
    """`growth`: four times the addresses take so many times as long (4.0: linear)."""
    assert benchmark.pedantic(fill, args=(kind, "10.96.0.0/16"), rounds=3) == 65_534
    benchmark.extra_info["growth"] = round(seconds(fill, kind, "10.96.0.0/14") / seconds(fill, kind, "10.96.0.0/16"), 1)


def draw(addresses: Any, count: int) -> None:
    for _ in range(count):
        addresses.allocate_next()


@pytest.mark.parametrize("kind", [Range, Allocator], ids=["bitmap", "address objects"])
def test_the_last_thousand_of_65534_addresses(benchmark: Any, kind: Any) -> None:
    """`slower_than_the_first`: how many times as long as the first thousand."""
    empty = kind("10.96.0.0/16", random.Random(1))
    full = kind("10.96.0.0/16", random.Random(1))
    draw(full, 64_534)
    benchmark.pedantic(draw, setup=lambda: ((full.copy(), 1_000), {}), rounds=5)
    benchmark.extra_info["slower_than_the_first"] = round(
        seconds(draw, full.copy(), 1_000) / seconds(draw, empty.copy(), 1_000), 1
    )


def subnets(mask: int) -> None:
    node_cidrs = CIDRSet("10.0.0.0/8", mask)
    for _ in range(node_cidrs.max_cidrs):
        node_cidrs.allocate_next()


def test_node_cidrs_of_65536_nodes(benchmark: Any) -> None:
    """`growth`: four times the nodes take so many times as long."""
    benchmark.pedantic(subnets, args=(24,), rounds=3)
    benchmark.extra_info["growth"] = round(seconds(subnets, 24) / seconds(subnets, 22), 1)


def pods_on(nodes: int) -> int:
    """30 Pods on each of so many nodes, all nodes at once."""
    loop, store = Loop(seed=1), Datastore()
    pool = IPPool("default", "10.0.0.0/10")

    async def node(name: str) -> None:
        client = IPAMClient(Connection(store), [pool], loop.clock)
        for number in range(30):
            got = await client.auto_assign(name, handle=f"{name}-{number}")
            assert got.addresses

    for number in range(nodes):
        loop.spawn(f"node-{number}/cni", node(f"node-{number}"))
    loop.run(until_idle=True)
    return store.revision


def test_block_ipam_on_100_nodes(benchmark: Any) -> None:
    """`growth`: four times the nodes take so many times as long. A client lists all blocks to find one."""
    benchmark.pedantic(pods_on, args=(100,), rounds=2)
    benchmark.extra_info["growth"] = round(seconds(pods_on, 200) / seconds(pods_on, 50), 1)
