"""Leaks, nodes that are gone, blocks that nobody needs."""

from __future__ import annotations

from typing import Any

from k8slab.network.ipam import (
    BlockKey,
    IPPool,
    LeakFinder,
    PodAddresses,
    ReleaseAddress,
    ReleaseBlock,
    ReleaseNode,
    collect,
    pod_attributes,
)
from tests.unit.network.ipam_world import World

MINUTE = 60_000


class Cluster:
    """A world with Pods: `finder` looks at it as kube-controllers would."""

    def __init__(self, *pools: IPPool, nodes: tuple[str, ...] = ("node-a", "node-b")) -> None:
        self.world = World(*pools)
        self.finder = LeakFinder()
        self.nodes = list(nodes)
        self.pods: dict[tuple[str, str], PodAddresses] = {}

    def pod(self, name: str, node: str = "node-a", *, known: bool = True) -> str:
        attributes = pod_attributes("default", name, node)
        (address,) = self.world.assign(node, handle=name, attributes=attributes)
        if known:
            self.pods[("default", name)] = PodAddresses(node, (address,))
        return address

    def plan(self) -> list[Any]:
        blocks = [entry.value for entry in self.world.store.list(BlockKey)]
        return self.finder.plan(blocks, self.pods, self.nodes, self.world.loop.clock.now_ms)

    def collect(self) -> list[Any]:
        done: list[Any] = self.world.run(collect(self.world.client("controllers"), self.plan()))
        self.world.check()
        return done


def test_an_address_without_a_pod_is_released_after_fifteen_minutes() -> None:
    cluster = Cluster()
    used, lost = cluster.pod("used"), cluster.pod("lost", known=False)
    assert cluster.collect() == []
    cluster.world.sleep(14 * MINUTE)
    assert cluster.collect() == []
    cluster.world.sleep(MINUTE)
    assert [release.address for release in cluster.collect()] == [lost]
    assert cluster.world.in_use() == [used] and list(cluster.world.handles()) == ["used"]


def test_a_pod_that_appears_in_time_keeps_its_address() -> None:
    cluster = Cluster()
    address = cluster.pod("late", known=False)
    assert cluster.plan() == []
    cluster.world.sleep(10 * MINUTE)
    cluster.pods[("default", "late")] = PodAddresses("node-a", ())
    assert cluster.plan() == []
    del cluster.pods[("default", "late")]
    cluster.world.sleep(10 * MINUTE)
    assert cluster.plan() == [], "its fifteen minutes begin anew"
    assert cluster.world.in_use() == [address]


def test_a_pod_that_has_another_address_or_node_does_not_use_this_one() -> None:
    cluster = Cluster()
    moved, changed = cluster.pod("moved"), cluster.pod("changed")
    cluster.pods[("default", "moved")] = PodAddresses("node-b", (moved,))
    cluster.pods[("default", "changed")] = PodAddresses("node-a", ("10.0.0.63",))
    cluster.plan()
    cluster.world.sleep(15 * MINUTE)
    assert [release.address for release in cluster.collect()] == [moved, changed]


def test_a_node_that_is_gone_loses_its_addresses_at_once_and_then_its_blocks() -> None:
    cluster = Cluster()
    lost, kept = cluster.pod("lost"), cluster.pod("kept", "node-b")
    del cluster.pods[("default", "lost")]
    cluster.nodes.remove("node-a")
    assert [type(release) for release in cluster.collect()] == [ReleaseAddress, ReleaseNode]
    assert cluster.world.in_use() == [kept] and list(cluster.world.owners().values()) == ["node-b"]
    assert cluster.collect() == []
    assert lost not in cluster.world.in_use()


def test_a_node_that_is_gone_keeps_its_blocks_while_a_pod_is_said_to_run_there() -> None:
    cluster = Cluster()
    cluster.pod("ghost")
    cluster.nodes.remove("node-a")
    assert cluster.collect() == []


def test_tunnel_addresses_live_as_long_as_their_node_and_strangers_for_ever() -> None:
    cluster = Cluster()
    tunnel = {"type": "vxlanTunnelAddress", "node": "node-a"}
    cluster.world.assign(handle="vxlan-tunnel-addr-node-a", attributes=tunnel)
    (stranger,) = cluster.world.assign("node-b", handle="by-hand")
    assert cluster.collect() == []
    cluster.nodes.remove("node-a")
    assert [release.handle for release in cluster.collect() if isinstance(release, ReleaseAddress)] == [
        "vxlan-tunnel-addr-node-a"
    ]
    assert cluster.world.in_use() == [stranger]


def test_an_address_that_was_assigned_again_after_the_plan_is_left_alone() -> None:
    cluster = Cluster(IPPool("one", "10.0.0.7/32", block_size=32))
    cluster.pod("lost", known=False)
    cluster.plan()
    cluster.world.sleep(15 * MINUTE)
    plan = cluster.plan()
    cluster.world.run(cluster.world.client().release_by_handle("lost"))
    cluster.pod("lost")  # the same Pod's name and handle, a later sequence number
    assert len(plan) == 1 and cluster.world.run(collect(cluster.world.client(), plan)) == []
    assert cluster.world.in_use() == ["10.0.0.7"]


def test_an_empty_block_goes_when_another_of_the_node_has_room_and_the_last_one_stays() -> None:
    cluster = Cluster(IPPool("small", "10.0.0.0/29", block_size=30))
    world = cluster.world
    for number in range(5):
        cluster.pod(f"p{number}")
    assert len(world.blocks()) == 2
    first = next(cidr for cidr, block in world.blocks().items() if len(block.in_use()) == 1)
    name = next(name for (_, name), pod in cluster.pods.items() if pod.addresses[0] in world.blocks()[first].in_use())
    world.run(world.client().release_by_handle(name))
    cluster.plan()
    world.sleep(15 * MINUTE)
    assert cluster.collect() == [], "the other block is full: the empty one is needed next"
    full = next(cidr for cidr in world.blocks() if cidr != first)
    world.run(world.client().release_ips(world.blocks()[full].in_use()[0]))
    assert ReleaseBlock("node-a", first) in cluster.collect()
    for name in list(world.handles()):
        world.run(world.client().release_by_handle(name))
    cluster.plan()
    world.sleep(15 * MINUTE)
    assert cluster.collect() == [] and len(world.blocks()) == 1
