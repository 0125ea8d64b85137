"""Nodes that come and go, controller managers that die, lost replies, late watches: no two Nodes share a subnet."""

from __future__ import annotations

import random
from ipaddress import ip_network
from itertools import combinations

import pytest

from k8slab.api.errors import InternalError
from k8slab.api.scheme import NODES
from k8slab.sim import Shuffle
from tests.counts import examples
from tests.unit.controllers.house import House, named

NAME = "node-ipam-controller"
OPTIONS = {"allocate-node-cidrs": 1, "cluster-cidr": "10.0.0.0/21,fd00::/61", "node-cidr-mask-size-ipv6": 64}
CAPACITY = 8


def check(house: House) -> None:
    """At no moment two Nodes with one address in common."""
    given = [(node["metadata"]["name"], cidr) for node in house.server.of(NODES) for cidr in _cidrs(node)]
    for (one, first), (other, second) in combinations(given, 2):
        mine, theirs = ip_network(first), ip_network(second)
        assert one == other or mine.version != theirs.version or not mine.overlaps(theirs), (one, other, first, second)


def _cidrs(node: object) -> tuple[str, ...]:
    return tuple(node["spec"].get("podCIDRs") or ())  # type: ignore[index]


@pytest.mark.parametrize("seed", range(examples(40, 400)))
def test_nodes_never_share_a_subnet_and_in_the_end_each_has_one_of_each_family(seed: int) -> None:
    rng = random.Random(f"node-cidrs/{seed}")
    house = House(
        NAME, seed=seed, latency_ms=rng.choice((0, 1, 20)), order=Shuffle(random.Random(seed)), options=OPTIONS
    )
    there: list[str] = []
    for number in range(rng.randint(8, 30)):
        deed = rng.choice(("join", "join", "leave", "crash", "lose", "fail", "drop", "wait"))
        if deed == "join" and len(there) < CAPACITY:
            there.append(f"n{number}")
            house.server.put(NODES, named(there[-1], "", spec={}))
        elif deed == "leave" and there:
            house.server.remove(NODES, there.pop(rng.randrange(len(there))))
        elif deed == "crash":
            house.crash()
            house.start()
        elif deed == "lose":
            house.server.lose_reply("patch", NODES)
        elif deed == "fail":
            house.server.fail_next("patch", NODES, InternalError("etcd is away"))
        elif deed == "drop":
            house.server.drop_watches(NODES)
        house.run(rng.choice((0, 1, 5, 50, 2_000)))
        check(house)
    house.run(600_000)
    check(house)
    for node in house.server.of(NODES):
        assert [ip_network(cidr).version for cidr in _cidrs(node)] == [4, 6], node["metadata"]["name"]
    ranges = house.controllers[NAME].ranges
    ranges.check_invariants()
    assert [subnets.allocated for subnets in ranges.sets] == [len(there)] * 2
    house.close()
