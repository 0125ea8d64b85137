"""CIDR sets, bitmaps and Service allocators against naive twins: sets of addresses, searched one by one."""

from __future__ import annotations

import random
from ipaddress import ip_address, ip_network
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from k8slab.apiserver.allocators import (
    AllocationError,
    Allocator,
    Holdings,
    PortAllocator,
    Range,
    ServiceRanges,
    ip_iterator,
)
from k8slab.controllers.nodeipam import CIDRSet
from k8slab.network.ipam import AlreadyExistsError, DoesNotExistError, IPAMError, IPPool
from tests.unit.network.ipam_world import World

CLUSTER = ip_network("10.0.0.0/27")
PARTS = [str(part) for bits in range(25, 33) for part in ip_network("10.0.0.0/25").subnets(new_prefix=bits)]
STEPS = st.lists(st.one_of(st.just("next"), st.tuples(st.sampled_from(["occupy", "release"]), st.sampled_from(PARTS))))


class NaiveCIDRs:
    """A list of subnets, each free or not, and a place in it."""

    def __init__(self, mask: int) -> None:
        self.subnets: list[Any] = list(CLUSTER.subnets(new_prefix=mask))
        self.taken: set[Any] = set()
        self.place = 0

    def step(self, step: Any) -> Any:
        if step == "next":
            for distance in range(len(self.subnets)):
                at = (self.place + distance) % len(self.subnets)
                if self.subnets[at] not in self.taken:
                    self.taken.add(self.subnets[at])
                    self.place = (at + 1) % len(self.subnets)
                    return str(self.subnets[at])
            return "full"
        name, cidr = step
        touched = {one for one in self.subnets if one.overlaps(ip_network(cidr))}
        if not touched:
            return "outside"
        self.taken = self.taken | touched if name == "occupy" else self.taken - touched
        return None


@given(st.integers(27, 32), STEPS)
def test_a_cidr_set_does_what_a_list_of_subnets_does(mask: int, steps: list[Any]) -> None:
    subnets, naive = CIDRSet(CLUSTER, mask), NaiveCIDRs(mask)
    for step in steps:
        try:
            if step == "next":
                result: Any = str(subnets.allocate_next())
            else:
                getattr(subnets, step[0])(step[1])
                result = None
        except LookupError:
            result = "full"
        except ValueError:
            result = "outside"
        assert result == naive.step(step)
        subnets.check_invariants()
        assert subnets.allocated == len(naive.taken)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60))
def test_a_search_visits_every_address_once_and_in_a_circle(first: int, length: int, offset: int) -> None:
    begin = int(ip_address("10.0.0.0")) + first
    ring = [str(ip_address(begin + at)) for at in range(length + 1)]
    start = offset if offset <= length else 0
    assert list(ip_iterator(ring[0], ring[-1], offset)) == ring[start:] + ring[:start]


ADDRESSES = [str(address) for address in ip_network("10.0.0.0/26")] + ["10.0.1.1", "fd00::1"]
WORDS = st.lists(
    st.one_of(
        st.just(("next", "")), st.tuples(st.sampled_from(["allocate", "release", "has"]), st.sampled_from(ADDRESSES))
    ),
    max_size=120,
)


def in_naive_words(taken: set[str], band: int, drawn: str, word: str, address: str) -> Any:
    """What upstream's rule says; `drawn` is checked against the band, since chance chose it."""
    usable = [str(one) for one in list(ip_network("10.0.0.0/26"))[1:-1]]
    if word == "next":
        upper = [one for one in usable[band:] if one not in taken]
        free = upper or [one for one in usable[:band] if one not in taken]
        if not free:
            return "full"
        assert drawn in free, f"{drawn} is not the band's turn"
        taken.add(drawn)
        return drawn
    if word == "has":
        return address in taken
    if word == "release":
        taken.discard(address)
        return None
    if address not in usable:
        return "outside"
    if address in taken:
        return "taken"
    taken.add(address)
    return None


@given(st.sampled_from([Range, Allocator]), st.integers(), WORDS)
def test_both_kinds_of_address_allocators_keep_to_the_rule(kind: Any, seed: int, words: list[tuple[str, str]]) -> None:
    addresses, taken = kind("10.0.0.0/26", random.Random(seed)), set[str]()
    for word, address in words:
        try:
            result = addresses.allocate_next() if word == "next" else getattr(addresses, word)(address)
        except AllocationError as error:
            text = str(error)
            result = "full" if "full" in text else "taken" if "already" in text else "outside"
        assert result == in_naive_words(taken, 16, str(result), word, address)
        assert addresses.free == 62 - len(taken) and addresses.used == len(taken)
        addresses.check_invariants()


@given(st.integers(), st.lists(st.integers(0, 39)), st.lists(st.integers(0, 39)))
def test_a_port_allocator_and_its_snapshot_are_the_same(seed: int, take: list[int], give: list[int]) -> None:
    ports, taken = PortAllocator("30000-30039", random.Random(seed)), set[int]()
    for port in take:
        assert ports.note(30_000 + port) is (port not in taken)
        taken.add(port)
    for port in give:
        ports.release(30_000 + port)
        taken.discard(port)
    other = PortAllocator("30000-30039", random.Random(seed))
    other.restore(*ports.snapshot())
    assert list(other) == list(ports) == sorted(30_000 + port for port in taken)
    drawn = [other.allocate_next() for _ in range(other.free)]
    static = [port for port in drawn if port < 30_016]
    assert drawn[len(drawn) - len(static) :] == static, "static ports come last"
    other.check_invariants()


CHANGES = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from(["10.96.0.7", "10.96.0.8"]), unique=True), st.booleans())
)


@given(CHANGES)
def test_of_services_with_one_address_the_first_has_it(changes: list[tuple[str, list[str], bool]]) -> None:
    held = Holdings(ServiceRanges())
    order: dict[str, list[str]] = {"10.96.0.7": [], "10.96.0.8": []}
    for key, addresses, is_gone in changes:
        wanted = [] if is_gone else addresses
        told = []
        for address, queue in order.items():
            if address not in wanted and key in queue:
                queue.remove(key)
        for address in wanted:
            if key not in order[address]:
                order[address].append(key)
                told += [address] if order[address][0] != key else []
        if is_gone:
            held.remove(key)
        else:
            found = held.put(key, addresses, [])
            assert [address for address in wanted for one in found if address in one.message] == told
        held.check_invariants()
        assert [held.holder(address) for address in order] == [(queue or [""])[0] for queue in order.values()]


# -- block IPAM -----------------------------------------------------------------------------------------------

NODES = ["node-a", "node-b", "node-c"]
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("assign"), st.sampled_from(NODES), st.integers(0, 7), st.integers(1, 6)),
        st.tuples(st.just("take"), st.sampled_from(NODES), st.integers(0, 7), st.integers(0, 35)),
        st.tuples(st.just("release"), st.sampled_from(NODES), st.integers(0, 7), st.just(0)),
        st.tuples(st.just("leave"), st.sampled_from(NODES), st.just(0), st.just(0)),
    ),
    max_size=25,
)
USABLE = [str(address) for address in ip_network("10.0.0.0/27")]


def deed(world: World, owners: dict[str, str], word: str, node: str, pod: int, number: int) -> None:
    """Do it, and check what it gave against a dict of addresses and their owners."""
    client, handle = world.client(node), f"pod-{pod}"
    free = [address for address in USABLE if address not in owners]
    if word == "assign":
        given = world.run(client.auto_assign(node, number, handle=handle)).addresses
        assert len(given) == min(number, len(free)) and set(given) <= set(free), "free ones, as many as there are"
        owners.update(dict.fromkeys(given, handle))
    elif word == "take":
        address = str(ip_network("10.0.0.0/26")[number])
        try:
            world.run(client.assign_ip(address, node, handle=handle))
            assert address in free
            owners[address] = handle
        except (AlreadyExistsError, IPAMError):
            assert address not in free, "somebody has it, or it is outside the pool"
    elif word == "release":
        mine = [address for address, owner in owners.items() if owner == handle]
        try:
            assert world.run(client.release_by_handle(handle)) == len(mine)
        except DoesNotExistError:
            assert not mine
        for address in mine:
            del owners[address]
    else:
        world.run(client.release_host_affinities(node))
        assert node not in world.owners().values()


@given(DEEDS)
def test_block_ipam_gives_what_a_dict_of_addresses_has_left(deeds: list[tuple[str, str, int, int]]) -> None:
    world = World(IPPool("default", "10.0.0.0/27", block_size=29), delay_ms=0)
    owners: dict[str, str] = {}
    for one in deeds:
        deed(world, owners, *one)
        world.check()
        assert sorted(world.in_use()) == sorted(owners)
        for handle in set(owners.values()):
            assert sum(world.handles()[handle].values()) == list(owners.values()).count(handle)
