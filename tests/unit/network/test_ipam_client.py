"""Nodes that claim blocks, fill them, borrow, run out, race and die."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.network.ipam import (
    AffinityKey,
    AffinityState,
    AlreadyExistsError,
    BadHandleError,
    Block,
    BlockKey,
    BlockLimitError,
    BlockNotEmptyError,
    DoesNotExistError,
    IPAMConfig,
    IPAMError,
    IPPool,
    ReleaseOptions,
    blocks_from,
    check_pools,
)
from k8slab.sim import Shuffle
from tests.unit.network.ipam_world import World

STRICT = IPAMConfig(strict_affinity=True)

# -- pools ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pool", "text"),
    [
        pytest.param(("p", "10.0.0.1/24"), r"IPPool\(p\) CIDR '10.0.0.1/24': expected a network", id="host bits"),
        pytest.param(("p", "10.0.0.0/16", 19), "block size must be between 20 and 32", id="a block too big"),
        pytest.param(("p", "fd00::/64", 64), "block size must be between 116 and 128", id="an IPv6 block too big"),
        pytest.param(("p", "10.0.0.0/28"), "IP pool size is too small for use with Calico IPAM", id="pool of 16"),
    ],
)
def test_pools_that_calico_refuses(pool: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        IPPool(*pool)


def test_pools_that_overlap_or_share_a_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"IPPool\(b\) CIDR overlaps with IPPool\(a\) CIDR 10.0.0.0/16"):
        check_pools([IPPool("a", "10.0.0.0/16"), IPPool("b", "10.0.128.0/24")])
    with pytest.raises(ValueError, match=r"IPPool\(a\): expected a name that no other pool has"):
        World(IPPool("a", "10.0.0.0/16"), IPPool("a", "10.1.0.0/16")).client()
    check_pools([IPPool("a", "10.0.0.0/16"), IPPool("b", "fd00::/112")])


def test_a_host_looks_at_every_block_once_and_always_from_the_same_place() -> None:
    pool = IPPool("a", "10.0.0.0/20")
    first, again, other = ([*blocks_from(pool, host)] for host in ("node-a", "node-a", "node-b"))
    assert first == again and sorted(first) == sorted(other) and len(set(first)) == 64
    assert first[0] != other[0]


def test_strict_affinity_or_blocks_by_themselves() -> None:
    with pytest.raises(IPAMError, match="Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks' at the same time"):
        IPAMConfig(auto_allocate_blocks=False)


# -- assigning ------------------------------------------------------------------------------------------------


def test_a_node_fills_its_block_before_it_claims_another() -> None:
    world = World()
    given = world.assign(num=16) + world.assign()
    blocks = world.blocks()
    assert [len(block.in_use()) for block in blocks.values()] in ([16, 1], [1, 16])
    assert set(world.owners().values()) == {"node-a"} and len(set(given)) == 17
    world.check()


def test_one_request_may_take_several_blocks() -> None:
    world = World()
    assert len(set(world.assign(num=40, handle="pod-1"))) == 40
    assert sum(world.handles()["pod-1"].values()) == 40 and len(world.handles()["pod-1"]) == 3
    world.check()


def test_nodes_have_blocks_of_their_own_and_borrow_when_none_is_left() -> None:
    world = World()
    for node in ("node-a", "node-b", "node-c", "node-d"):
        world.assign(node, 3)
    assert sorted(world.owners().values()) == ["node-a", "node-b", "node-c", "node-d"]
    (borrowed,) = world.assign("node-e")
    lender = next(block for block in world.blocks().values() if borrowed in block.in_use())
    assert lender.affinity != "node-e" and set(world.owners().values()) == {"node-a", "node-b", "node-c", "node-d"}
    world.check()


def test_with_strict_affinity_nobody_borrows() -> None:
    world = World(config=STRICT)
    for node in ("node-a", "node-b", "node-c", "node-d"):
        world.assign(node)
    got = world.run(world.client("node-e").auto_assign("node-e", 2))
    assert got.addresses == []
    assert got.shortfall == (
        "Assigned 0 out of 2 requested IPv4 addresses; No more free affine blocks and strict affinity enabled"
    )
    world.check()


def test_a_pool_that_is_used_up_gives_what_it_has() -> None:
    world = World()
    got = world.run(world.client().auto_assign("node-a", 99))
    assert len(set(got.addresses)) == 64 and got.shortfall == "Assigned 64 out of 99 requested IPv4 addresses"
    assert world.assign("node-b") == []
    world.check()


def test_a_node_has_no_more_blocks_than_it_may() -> None:
    world = World(config=IPAMConfig(max_blocks_per_host=2))
    with pytest.raises(BlockLimitError, match="cannot allocate new block due to per host block limit"):
        world.assign(num=40)
    assert len(world.in_use()) == 32, "what was assigned before the limit stays"
    with pytest.raises(BlockLimitError):
        world.assign("node-b", num=20, max_blocks=1)


def test_reserved_addresses_are_assigned_only_by_name() -> None:
    world = World(reserved=["10.0.0.0/27", "10.0.0.32"])
    given = world.assign(num=99)
    assert len(given) == 31 and not {"10.0.0.0", "10.0.0.32"} & set(given)
    world.run(world.client().assign_ip("10.0.0.7", "node-a", handle="pod-7"))
    assert "10.0.0.7" in world.in_use()
    world.check()


@pytest.mark.parametrize(
    ("more", "text"),
    [
        pytest.param(
            {"pools": ["10.9.0.0/24"]}, "the given pool (10.9.0.0/24) does not exist, or is not enabled", id="no pool"
        ),
        pytest.param(
            {"pools": ["10.1.0.0/24"]}, "the given pool (10.1.0.0/24) does not exist, or is not enabled", id="off"
        ),
        pytest.param({"version": 6}, "cannot find a qualified ippool", id="no pool of the family"),
        pytest.param({"host": "node-z"}, "no configured Calico pools for node node-z", id="no pool selects the node"),
    ],
)
def test_requests_that_no_pool_can_meet(more: dict[str, Any], text: str) -> None:
    pools = [IPPool("a", "10.0.0.0/24", node_labels={"zone": "1"}), IPPool("b", "10.1.0.0/24", disabled=True)]
    world = World(*pools, nodes={"node-a": {"zone": "1"}})
    with pytest.raises(IPAMError) as caught:
        world.run(world.client().auto_assign(more.pop("host", "node-a"), **more))
    assert str(caught.value) == text


def test_a_pool_that_is_not_automatic_is_used_by_name() -> None:
    world = World(IPPool("a", "10.0.0.0/24"), IPPool("b", "10.1.0.0/24", automatic=False))
    assert world.assign()[0].startswith("10.0.0.")
    assert world.assign(pools=["10.1.0.0/24"])[0].startswith("10.1.0.")


def test_a_pool_that_selects_a_node_no_longer_gets_its_empty_blocks_back() -> None:
    pools = [
        IPPool("a", "10.0.0.0/24", node_labels={"zone": "1"}),
        IPPool("b", "10.1.0.0/24", node_labels={"zone": "2"}),
    ]
    world = World(*pools, nodes={"node-a": {"zone": "1"}})
    world.assign(handle="pod-1")
    world.options["nodes"] = {"node-a": {"zone": "2"}}
    assert world.assign()[0].startswith("10.1.0.")
    assert "node-a" in [owner for cidr, owner in world.owners().items() if cidr.startswith("10.0.")], "in use"
    world.run(world.client().release_by_handle("pod-1"))
    world.assign()
    assert [cidr for cidr in world.owners() if cidr.startswith("10.0.")] == []
    world.check()


def test_a_certain_address_is_assigned_once_from_whosever_block() -> None:
    world = World()
    world.run(world.client("node-a").assign_ip("10.0.0.20", "node-a", handle="pod-1"))
    assert world.owners() == {"10.0.0.16/28": "node-a"}
    with pytest.raises(AlreadyExistsError, match="Address already assigned in block"):
        world.run(world.client("node-b").assign_ip("10.0.0.20", "node-b"))
    world.run(world.client("node-b").assign_ip("10.0.0.21", "node-b", handle="pod-2"))
    with pytest.raises(IPAMError, match=r"The provided IP address 192\.0\.2\.1 is not in a configured pool"):
        world.run(world.client().assign_ip("192.0.2.1", "node-a"))
    with pytest.raises(IPAMError, match="Block host affinity does not match"):
        world.run(world.client("node-c", config=STRICT).assign_ip("10.0.0.22", "node-c"))
    world.check()


# -- releasing ------------------------------------------------------------------------------------------------


def test_a_handle_releases_all_of_its_addresses_and_then_is_unknown() -> None:
    world = World()
    given = world.assign(num=20, handle="pod-1")
    kept = world.assign(handle="pod-2")
    assert sorted(world.run(world.client().ips_by_handle("pod-1"))) == sorted(given)
    assert world.run(world.client().release_by_handle("pod-1")) == 20
    assert world.in_use() == kept
    for action in ("release_by_handle", "ips_by_handle"):
        with pytest.raises(DoesNotExistError):
            world.run(getattr(world.client(), action)("pod-1"))
    world.check()


def test_release_says_which_addresses_nobody_had() -> None:
    world = World()
    (address,) = world.assign(handle="pod-1")
    free = world.run(world.client().release_ips(address, ReleaseOptions("10.0.0.63"), "192.0.2.1"))
    assert free == ["192.0.2.1", "10.0.0.63"] or free == ["10.0.0.63", "192.0.2.1"]
    assert world.in_use() == [] and world.handles() == {}
    assert world.run(world.client().release_ips(address)) == [address], "a second time it is free"
    world.check()


def test_an_address_that_changed_hands_is_not_released_by_the_first_owner() -> None:
    world = World(IPPool("one", "10.0.0.7/32", block_size=32))
    world.assign(handle="pod-1")
    world.run(world.client().release_by_handle("pod-1"))
    world.assign(handle="pod-2")
    with pytest.raises(BadHandleError):
        world.run(world.client().release_ips(ReleaseOptions("10.0.0.7", "pod-1")))
    assert world.in_use() == ["10.0.0.7"]


def test_a_node_that_gives_up_its_blocks_leaves_those_in_use_to_nobody() -> None:
    world = World()
    world.assign(num=20, handle="pod-1")
    world.run(world.client().release_by_handle("pod-1"))
    (kept,) = world.assign(handle="pod-2")
    with pytest.raises(BlockNotEmptyError):
        world.run(world.client().release_host_affinities("node-a", require_empty=True))
    assert list(world.owners().values()) == ["node-a"], "the empty one went"
    world.run(world.client().release_host_affinities("node-a"))
    assert list(world.owners().values()) == [""] and world.in_use() == [kept]
    assert world.assign("node-b", 64)[:3], "a block that is nobody's can be borrowed from"
    world.run(world.client().release_by_handle("pod-2"))
    world.check()


def test_a_block_of_nobody_goes_with_its_last_address() -> None:
    world = World()
    (address,) = world.assign(handle="pod-1")
    world.run(world.client().release_host_affinities("node-a"))
    world.run(world.client("node-b").release_ips(address))
    assert world.blocks() == {}
    world.check()


# -- taking an empty block ------------------------------------------------------------------------------------


def test_an_empty_block_is_taken_from_its_host_after_a_minute() -> None:
    world = World(IPPool("small", "10.0.0.0/31", block_size=32), config=STRICT)
    for node in ("node-a", "node-b"):
        world.assign(node, handle=node)
    world.run(world.client("node-a").release_by_handle("node-a"))
    assert world.assign("node-c") == [], "claimed less than a minute ago"
    world.sleep(60_000)
    assert len(world.assign("node-c")) == 1
    assert sorted(world.owners().values()) == ["node-b", "node-c"]
    world.check()


# -- races and crashes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_nodes_at_once_never_get_one_address_twice(seed: int) -> None:
    world = World(seed=seed, order=Shuffle(random.Random(seed)))
    results: dict[str, list[str]] = {}

    async def work(node: str) -> None:
        client = world.client(node)
        for round in range(5):
            got = await client.auto_assign(node, 2, handle=f"{node}-{round}")
            results.setdefault(node, []).extend(got.addresses)
            if round % 2:
                await client.release_by_handle(f"{node}-{round - 1}")
                results[node] = results[node][-2:]

    for number in range(6):
        world.loop.spawn(f"node-{number}/ipam", work(f"node-{number}"))
    assert world.loop.run(until_idle=True)
    world.check()
    for node, mine in results.items():
        held = [a for r in range(5) for a in _held(world, f"{node}-{r}")]
        assert set(mine) <= set(held)
    assert len(world.in_use()) == len(set(world.in_use())) == sum(sum(c.values()) for c in world.handles().values())


def _held(world: World, handle: str) -> list[str]:
    return [address for block in world.blocks().values() for address in block.of_handle(handle)]


def test_two_hosts_that_want_the_last_block_share_it_by_borrowing() -> None:
    world = World(IPPool("one", "10.0.0.0/28", block_size=28))
    tasks = [world.loop.spawn(f"{n}/ipam", world.client(n).auto_assign(n, handle=n)) for n in ("node-a", "node-b")]
    assert world.loop.run(until_idle=True)
    assert len({task.result.addresses[0] for task in tasks}) == 2
    assert world.store.conflicts >= 1 and list(world.owners().values()) in (["node-a"], ["node-b"])
    world.check()


@pytest.mark.parametrize("action", range(1, 40))
def test_a_client_that_dies_anywhere_leaves_nothing_that_the_next_one_cannot_go_on_from(action: int) -> None:
    world = World()
    task = world.loop.spawn("node-a/ipam", world.client().auto_assign("node-a", 20, handle="pod-1"))
    for _ in range(action):
        if task.done:
            break
        world.loop.run(for_ms=1)
    if not task.done:
        world.loop.cancel(task)
    world.check(crashed=True)
    assert len(world.assign("node-a", 3, handle="pod-2")) == 3
    assert len(world.assign("node-b", 3, handle="pod-3")) == 3
    if "pod-1" in world.handles():
        world.run(world.client().release_by_handle("pod-1"))
    assert len(world.in_use()) == 6
    world.check()


def test_a_lost_answer_is_put_right_by_the_release_of_the_handle() -> None:
    world = World()
    world.assign(handle="warm-up")
    for lost in range(1, 12):
        world.connections["node-a"].lose_next = 0
        task = world.loop.spawn("node-a/ipam", _swallow(world.client().auto_assign("node-a", handle=f"pod-{lost}")))
        world.loop.run(for_ms=2 * lost - 1)
        world.connections["node-a"].lose_next = 1
        assert world.loop.run(until_idle=True) and task.done
        world.connections["node-a"].lose_next = 0
        if f"pod-{lost}" in world.handles():
            world.run(world.client().release_by_handle(f"pod-{lost}"))
        assert len(world.in_use()) == 1
        world.check()


async def _swallow(work: Any) -> None:
    try:
        await work
    except TimeoutError:
        return


def test_a_stale_claim_is_removed_and_another_block_found() -> None:
    world = World()
    cidr = next(blocks_from(world.pools[0], "node-a"))
    world.store.create(AffinityKey("node-a", cidr), AffinityState.CONFIRMED)
    world.store.create(AffinityKey("node-b", cidr), AffinityState.CONFIRMED)
    world.store.create(BlockKey(cidr), Block.new(cidr, affinity="node-b", now_ms=0))
    world.assign("node-a")
    assert AffinityKey("node-a", cidr) not in [entry.key for entry in world.store.list(AffinityKey)]
    assert sorted(world.owners().values()) == ["node-a", "node-b"]
    world.check()


def test_a_claim_that_was_being_given_up_is_taken_up_again() -> None:
    world = World()
    cidr = next(blocks_from(world.pools[0], "node-a"))
    world.store.create(AffinityKey("node-a", cidr), AffinityState.PENDING_DELETION)
    world.store.create(BlockKey(cidr), Block.new(cidr, affinity="node-a", now_ms=0))
    assert world.assign("node-a") == [cidr.removesuffix("/28")]
    world.check()


# -- what is told and shown -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", list(AffinityState))
@pytest.mark.parametrize("whole", [True, False], ids=["with all of the host", "by itself"])
def test_a_claim_that_a_crash_left_without_a_block_is_given_up(state: AffinityState, whole: bool) -> None:
    world = World()
    world.store.create(AffinityKey("node-b", "10.0.0.0/28"), state)
    client = world.client("controllers")
    if whole:
        world.run(client.release_host_affinities("node-b", require_empty=True))
    else:
        world.run(client.release_affinity("node-b", "10.0.0.0/28"))
    assert world.store.list(AffinityKey) == []
    world.check()


def test_a_block_that_a_crash_left_without_a_claim_is_given_up_and_nobody_elses_is() -> None:
    world = World()
    world.store.create(BlockKey("10.0.0.0/28"), Block.new("10.0.0.0/28", affinity="node-b", now_ms=0))
    client = world.client("controllers")
    world.run(client.release_affinity("node-c", "10.0.0.0/28"))
    assert list(world.blocks()) == ["10.0.0.0/28"]
    world.run(client.release_affinity("node-b", "10.0.0.0/28"))
    assert world.blocks() == {}
    world.check()


@pytest.mark.parametrize("actions", range(1, 24))
def test_a_host_that_claims_while_it_is_given_up_has_its_block_or_none(actions: int) -> None:
    world = World()
    key = AffinityKey("node-b", "10.0.0.0/28")
    world.store.create(key, AffinityState.PENDING)
    world.loop.spawn("node-b/ipam", world.client("node-b").auto_assign("node-b", handle="pod-1"))
    world.loop.run(max_actions=actions)
    world.run(world.client("controllers").release_host_affinities("node-b"))
    assert world.in_use() and len(set(world.in_use())) == 1
    world.check()


def test_claims_assignments_borrowing_and_conflicts_are_told() -> None:
    world = World(IPPool("small", "10.0.0.0/30", block_size=31))
    told = {"trace": world.loop.trace}
    for node in ("node-a", "node-b", "node-c"):
        world.run(world.client(node, **told).auto_assign(node, handle=node))
    world.run(world.client("node-a", **told).release_by_handle("node-c"))
    sentences = [event.message for event in world.loop.trace if event.kind.startswith("ipam.")]
    first, second = world.owners()
    mine = {owner: cidr for cidr, owner in world.owners().items()}
    assert sentences[0] == f"node-a claims the block {mine['node-a']} for its Pods"
    assert sentences[1] == f"node-a takes {mine['node-a'][:8]} from the block {mine['node-a']}, which is its own"
    assert sentences[4].startswith("node-c takes 10.0.0.") and sentences[4].endswith(("node-a's", "node-b's"))
    assert sentences[5] in (f"1 address of {first} came back", f"1 address of {second} came back")
    assert len(sentences) == 6 and max(map(len, sentences)) <= 120


def test_a_race_for_a_block_is_told_by_who_lost_it() -> None:
    world = World(IPPool("one", "10.0.0.0/28", block_size=28))
    for node in ("node-a", "node-b"):
        client = world.client(node, trace=world.loop.trace)
        world.loop.spawn(f"{node}/ipam", client.auto_assign(node, handle=node))
    assert world.loop.run(until_idle=True)
    told = {event.kind: event.message for event in world.loop.trace}
    assert told["ipam.lose"] == "node-b wanted the block 10.0.0.0/28, and node-a was first"
    world.run(world.client("node-a", trace=world.loop.trace).release_host_affinities("node-a"))
    last = [event.message for event in world.loop.trace if event.kind == "ipam.give-up"]
    assert last == ["node-a gives up the block 10.0.0.0/28: its addresses in use belong to nobody's block now"]


def test_a_conflict_on_a_block_is_told() -> None:
    world = World(IPPool("one", "10.0.0.0/28", block_size=28))
    world.assign("node-a")
    for number in range(2):
        client = world.client("node-a", trace=world.loop.trace)
        world.loop.spawn(f"node-a/ipam-{number}", client.auto_assign("node-a", handle=f"p{number}"))
    assert world.loop.run(until_idle=True)
    told = [event.message for event in world.loop.trace if event.kind == "ipam.conflict"]
    assert told == ["node-a based a write on an old 10.0.0.0/28: it reads the block again"]


def test_the_store_shows_blocks_claims_and_handles_by_stable_ids() -> None:
    world = World(IPPool("one", "10.0.0.0/28", block_size=28))
    for node in ("node-a", "node-b"):
        world.assign(node, handle=node, attributes={"node": node})
    assert world.store.view() == {
        "blocks": {
            "10.0.0.0/28": {"host": "node-a", "free": 14, "addresses": {"10.0.0.0": "node-a", "10.0.0.1": "node-b"}}
        },
        "claims": {"node-a/10.0.0.0/28": "confirmed"},
        "handles": {"node-a": {"10.0.0.0/28": 1}, "node-b": {"10.0.0.0/28": 1}},
    }
    assert str(world.store.table()).split("\n")[1].split() == ["10.0.0.0/28", "node-a", "2", "1", "14"]
