"""Every Node gets its own part of the Pod range, and gives it back."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from k8slab.api.errors import InternalError
from k8slab.api.objects import thaw
from k8slab.api.scheme import NODES
from k8slab.controllers.nodeipam import CIDRSet, ClusterRange, RangeAllocator, cluster_ranges
from tests.unit.controllers.house import House, named

NAME = "node-ipam-controller"
FOUR = {"allocate-node-cidrs": 1, "cluster-cidr": "10.0.0.0/22"}


def house(**options: Any) -> House:
    return House(NAME, options={**FOUR, **{name.replace("_", "-"): value for name, value in options.items()}})


def node(name: str, *cidrs: str) -> dict[str, Any]:
    return named(name, "", spec={"podCIDR": cidrs[0], "podCIDRs": list(cidrs)} if cidrs else {})


def cidrs(of: House) -> dict[str, list[str]]:
    return {one["metadata"]["name"]: list(one["spec"].get("podCIDRs") or ()) for one in of.server.of(NODES)}


# -- CIDRSet beyond the golden sequences ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cidr", "mask", "text"),
    [
        pytest.param("fd00::/40", 64, "New CIDR set failed; the node CIDR size is too big", id="24 bits of IPv6"),
        pytest.param("10.0.0.0/8", 33, "node mask size 33: expected a number from 0 to 32", id="no IPv4 mask"),
        pytest.param("10.0.0.0/8", True, "node mask size True: expected a number from 0 to 32", id="no number"),
    ],
)
def test_ranges_that_cannot_be_are_refused(cidr: str, mask: int, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        CIDRSet(cidr, mask)


def test_sixteen_bits_of_ipv6_are_the_most() -> None:
    assert CIDRSet("fd00::/48", 64).max_cidrs == 1 << 16


def test_a_node_mask_shorter_than_the_clusters_leaves_nothing() -> None:
    subnets = CIDRSet("10.0.0.0/24", 16)
    assert subnets.max_cidrs == 0
    with pytest.raises(LookupError, match="no remaining CIDRs"):
        subnets.allocate_next()
    for change in (subnets.occupy, subnets.release):
        with pytest.raises(ValueError, match=r"^CIDR: 10\.0\.0\.0/16 is out of the range of CIDR allocator$"):
            change("10.0.0.128/25")


def test_a_range_around_the_clusters_takes_all_of_it_and_one_of_the_other_family_is_outside() -> None:
    subnets = CIDRSet("10.0.0.0/24", 26)
    subnets.occupy("10.0.0.0/8")
    assert subnets.allocated == 4 and subnets.has("10.0.0.7/32")
    with pytest.raises(ValueError, match=r"cidr fd00::/64 is out the range of cluster cidr 10\.0\.0\.0/24"):
        subnets.release("fd00::/64")


def test_the_last_of_sixteen_million_subnets_is_found() -> None:
    subnets = CIDRSet("10.0.0.0/8", 32)
    subnets.occupy("10.0.0.0/9")
    subnets.occupy("10.128.0.0/10")
    assert str(subnets.allocate_next()) == "10.192.0.0/32"
    subnets.check_invariants()


def test_sixteen_million_taken_subnets_cost_no_more_than_one() -> None:
    subnets = CIDRSet("10.0.0.0/8", 32)
    subnets.occupy("10.255.255.255/32")
    subnets.occupy("10.0.0.0/9")
    everything = CIDRSet("0.0.0.0/0", 32)
    tracemalloc.start()
    try:
        everything.occupy("0.0.0.0/0")
        assert subnets.allocated == (1 << 23) + 1 and everything.allocated == 1 << 32
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    with pytest.raises(LookupError, match="no remaining CIDRs"):
        everything.allocate_next()
    everything.release("10.1.2.3/32")
    assert str(everything.allocate_next()) == "10.1.2.3/32"
    everything.check_invariants()


@pytest.mark.parametrize(
    "given", [7, None, "10.0.0.0", "10.0.0.0/255.0.0.0", "10.0.0.0/٨", "10.0.0.0/ 8", "fe80::%1/64"]
)
def test_only_an_address_with_the_length_of_its_prefix_is_a_cidr(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^cluster CIDR .*: expected a CIDR such as 10\.244\.0\.0/16$"):
        CIDRSet(given, 32)
    with pytest.raises(ValueError, match=r"^CIDR .*: expected a CIDR such as 10\.244\.0\.0/16$"):
        CIDRSet("10.0.0.0/8", 24).occupy(given)


def test_leading_zeros_are_overlooked_as_by_upstreams_sloppy_parser() -> None:
    assert str(CIDRSet("010.000.0.00/08", 24).cluster_cidr) == "10.0.0.0/8"


# -- ranges ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param("10.0.0.0/33", "expected a CIDR such as 10.244.0.0/16", id="no CIDR"),
        pytest.param("10.0.0.0/16,10.1.0.0/16", "not configured as dual stack", id="two of one family"),
        pytest.param("10.0.0.0/16,fd00::/56,fd01::/56", "is:3 more than max allowed of 2", id="three"),
        pytest.param("10.0.0.0/25", r"mask size of cluster CIDR\(25\) must be less than or equal to", id="too small"),
    ],
)
def test_cluster_cidrs_that_upstream_does_not_start_with(given: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        cluster_ranges(given)


@pytest.mark.parametrize(
    ("given", "masks", "text"),
    [
        pytest.param(7, None, "cluster-cidr 7: expected CIDRs as a text", id="ranges that are no text"),
        pytest.param("10.0.0.0/16", ["24"], "node-cidr-mask-size: node mask size '24': expected a number", id="text"),
        pytest.param("10.0.0.0/16", "24", "node-cidr-mask-size '24': expected a list of numbers", id="no list"),
        pytest.param("10.0.0.0/16", [True], "mask size True: expected a number from 0 to 32", id="a truth value"),
        pytest.param("10.0.0.0/16", [33], "mask size 33: expected a number from 0 to 32", id="too many bits"),
        pytest.param("10.0.0.0/16", [], r"node-cidr-mask-size \[\]: expected one for each of", id="an empty list"),
        pytest.param(
            "fd00::/40", None, "size 64: New CIDR set failed; .* expected 56 at most for fd00::/40", id="IPv6"
        ),
    ],
)
def test_ranges_and_masks_are_checked_when_they_are_given(given: Any, masks: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        cluster_ranges(given, masks)


def test_a_mask_is_needed_for_each_cluster_cidr() -> None:
    with pytest.raises(ValueError, match=r"node-cidr-mask-size \[24, 64\]: expected one for each of"):
        cluster_ranges("10.0.0.0/16", [24, 64])


def test_when_the_second_family_is_used_up_the_first_ones_subnet_goes_back() -> None:
    ranges = RangeAllocator([ClusterRange("10.0.0.0/22", 24), ClusterRange("fd00::/64", 64)])
    assert ranges.allocate() == ("10.0.0.0/24", "fd00::/64")
    with pytest.raises(LookupError, match="failed to allocate cidr from cluster cidr at idx:1: CIDR allocation failed"):
        ranges.allocate()
    assert ranges.sets[0].allocated == 1


def test_the_services_part_of_the_range_is_left_alone() -> None:
    ranges = RangeAllocator([ClusterRange("10.0.0.0/22", 24)], reserved=["10.0.1.0/25", "fd00::/108", "10.9.0.0/16"])
    assert [ranges.allocate()[0] for _ in range(3)] == ["10.0.0.0/24", "10.0.2.0/24", "10.0.3.0/24"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param(
            ["10.0.0.0/24", "10.0.1.0/24"], "node:a has an allocated cidr: 10.0.1.0/24 at index:1", id="second"
        ),
        pytest.param(["nonsense"], "failed to parse node a, CIDR nonsense", id="nonsense"),
        pytest.param(
            ["11.0.0.0/24"], "at idx .0. as occupied for node: a: cidr 11.0.0.0/24 is out the range", id="out"
        ),
    ],
)
def test_what_a_node_has_outside_the_ranges_is_refused_in_upstreams_words(given: list[str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        RangeAllocator([ClusterRange("10.0.0.0/22", 24)]).occupy("a", given)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(["10.0.1.0/24", "fd99::/64"], id="the second is outside"),
        pytest.param(["10.0.1.0/24", "nonsense"], id="the second is no CIDR"),
        pytest.param(["10.0.1.0/24", "fd00::/64", "fd00:0:0:1::/64"], id="a third one"),
    ],
)
def test_a_refusal_leaves_nothing_half_done(given: list[str]) -> None:
    ranges = RangeAllocator([ClusterRange("10.0.0.0/22", 24), ClusterRange("fd00::/60", 64)])
    with pytest.raises(ValueError, match=r"node:? ?a"):
        ranges.occupy("a", given)
    assert [subnets.allocated for subnets in ranges.sets] == [0, 0]
    ranges.occupy("b", ["10.0.1.0/24", "fd00::/64"])
    with pytest.raises(ValueError, match=r"node:? ?a|error when releasing CIDR fd99::/64"):
        ranges.release("a", given)
    assert [subnets.allocated for subnets in ranges.sets] == [1, 1]
    ranges.check_invariants()


# -- the controller -------------------------------------------------------------------------------------------


def test_nodes_get_subnets_in_order_and_a_deleted_nodes_comes_back_when_the_search_has_gone_round() -> None:
    one = house()
    for name in ("a", "b", "c"):
        one.server.put(NODES, node(name))
        one.run(100)
    assert cidrs(one) == {"a": ["10.0.0.0/24"], "b": ["10.0.1.0/24"], "c": ["10.0.2.0/24"]}
    one.server.remove(NODES, "a")
    for name in ("d", "e"):
        one.run(100)
        one.server.put(NODES, node(name))
    one.run(100)
    assert cidrs(one)["d"] == ["10.0.3.0/24"] and cidrs(one)["e"] == ["10.0.0.0/24"]
    assert one.told()[0] == "the node IPAM controller gives Node a the Pod range 10.0.0.0/24"
    one.close()


def test_a_node_for_which_nothing_is_left_is_told_and_gets_what_comes_back() -> None:
    one = house(cluster_cidr="10.0.0.0/24")
    one.server.put(NODES, node("a"))
    one.run(100)
    one.server.put(NODES, node("b"))
    one.run(1_000)
    assert cidrs(one) == {"a": ["10.0.0.0/24"], "b": []}
    assert set(one.events()) == {"CIDRNotAvailable: Node b status is now: CIDRNotAvailable"}
    one.server.remove(NODES, "a")
    one.run(60_000)
    assert cidrs(one) == {"b": ["10.0.0.0/24"]}
    one.close()


def test_after_a_restart_nobody_gets_what_another_node_has() -> None:
    one = house()
    for name, have in (("a", ()), ("b", ("10.0.0.0/24",)), ("c", ("10.0.3.0/24",))):
        one.server.put(NODES, node(name, *have))
    one.run(100)
    one.crash()
    one.server.put(NODES, node("d"))
    one.start()
    one.run(100)
    assert cidrs(one) == {"a": ["10.0.1.0/24"], "b": ["10.0.0.0/24"], "c": ["10.0.3.0/24"], "d": ["10.0.2.0/24"]}
    one.close()


def test_a_lost_reply_costs_no_subnet() -> None:
    one = house()
    one.server.lose_reply("patch", NODES)
    one.server.put(NODES, node("a"))
    one.server.put(NODES, node("b"))
    one.run(60_000)
    assert sorted(cidr for given in cidrs(one).values() for cidr in given) == ["10.0.0.0/24", "10.0.1.0/24"]
    assert one.controllers[NAME].ranges.sets[0].allocated == 2
    one.close()


def test_what_cannot_be_written_goes_back_and_is_tried_again() -> None:
    one = house()
    for _ in range(3):
        one.server.fail_next("patch", NODES, InternalError("etcd is away"))
    one.server.put(NODES, node("a"))
    one.run(1_000)
    assert cidrs(one) == {"a": ["10.0.1.0/24"]}, "the search goes on behind what was tried"
    assert one.told("nodeipam.release") == ["the node IPAM controller takes 10.0.0.0/24 back from Node a"]
    assert one.controllers[NAME].ranges.sets[0].allocated == 1
    assert one.events() == ["CIDRAssignmentFailed: Node a status is now: CIDRAssignmentFailed"]
    one.close()


def test_a_node_that_somebody_else_gave_a_subnet_keeps_that_one() -> None:
    one = house()
    one.server.put(NODES, node("a"))
    one.run(100)
    changed = thaw(one.server.of(NODES)[0])
    changed["spec"] = node("a", "10.0.3.0/24")["spec"]
    one.server.put(NODES, changed)
    one.run(100)
    assert one.controllers[NAME].ranges.sets[0].allocated == 1
    assert one.controllers[NAME].ranges.sets[0].has("10.0.3.0/24")
    one.close()


def test_a_node_with_a_subnet_of_another_cluster_is_left_alone() -> None:
    one = house()
    one.server.put(NODES, node("a", "192.168.0.0/24"))
    one.run(100)
    assert cidrs(one) == {"a": ["192.168.0.0/24"]} and one.writes() == []
    assert "is out the range of cluster cidr 10.0.0.0/22" in one.told("nodeipam.refuse")[0]
    one.close()


def test_what_a_node_has_inside_the_ranges_stays_its_own_and_comes_back_when_it_goes() -> None:
    one = house(cluster_cidr="10.0.0.0/23,fd00::/63")
    one.server.put(NODES, node("a", "10.0.0.0/24", "fd99::/64"))
    one.server.put(NODES, node("b"))
    one.run(100)
    assert cidrs(one)["b"] == ["10.0.1.0/24", "fd00::/64"], "10.0.0.0/24 is in use on a"
    assert len(one.told("nodeipam.refuse")) == 1, "told once, not at each round"
    one.server.remove(NODES, "a")
    one.server.put(NODES, node("c"))
    one.run(60_000)
    assert cidrs(one)["c"] == ["10.0.0.0/24", "fd00:0:0:1::/64"]
    one.controllers[NAME].ranges.check_invariants()
    one.close()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            {"cluster-cidr": "10.0.0.0/25", "node-cidr-mask-size-ipv4": 26}, "10.0.0.0/26", id="of the family"
        ),
        pytest.param({"cluster-cidr": "10.0.0.0/25", "node-cidr-mask-size": 27}, "10.0.0.0/27", id="of whichever"),
        pytest.param({"cluster-cidr": "fd00::/112", "node-cidr-mask-size": 120}, "fd00::/120", id="longer than usual"),
    ],
)
def test_a_range_smaller_than_the_usual_mask_needs_only_a_mask_of_its_own(
    options: dict[str, Any], expected: str
) -> None:
    one = House(NAME, options={**FOUR, **options})
    one.server.put(NODES, node("a"))
    one.run(100)
    assert cidrs(one) == {"a": [expected]}
    one.close()


def test_two_families_with_masks_of_their_own() -> None:
    one = house(
        cluster_cidr="10.0.0.0/22,fd00::/56", node_cidr_mask_size_ipv4=25, service_cluster_ip_range="10.0.0.0/25"
    )
    one.server.put(NODES, node("a"))
    one.run(100)
    assert cidrs(one) == {"a": ["10.0.0.128/25", "fd00::/64"]}
    one.close()


def test_without_the_option_nobody_gets_anything() -> None:
    one = House(NAME)
    one.server.put(NODES, node("a"))
    one.run(1_000)
    assert cidrs(one) == {"a": []} and one.server.verbs() == []
    one.close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        pytest.param({"cluster-cidr": ""}, "option cluster-cidr: expected a CIDR", id="no range"),
        pytest.param(
            {"service-cluster-ip-range": "10.8"}, "service-cluster-ip-range '10.8': expected a CIDR", id="Services"
        ),
        pytest.param({"cluster-cidr": 7}, "option cluster-cidr: 7: expected CIDRs as a text", id="no text"),
        pytest.param(
            {"node-cidr-mask-size-ipv4": "24"}, "node-cidr-mask-size-ipv4: '24': expected an integer", id="mask"
        ),
        pytest.param(
            {"cluster-cidr": "10.0.0.0/16,fd00::/56", "node-cidr-mask-size": 24},
            "usage of --node-cidr-mask-size is not allowed with dual-stack clusters",
            id="one mask for two families",
        ),
        pytest.param(
            {"node-cidr-mask-size": 24, "node-cidr-mask-size-ipv4": 24},
            "is not allowed if --node-cidr-mask-size is set. For dual-stack clusters please unset it",
            id="both kinds of flag",
        ),
        pytest.param(
            {"node-cidr-mask-size-ipv6": 64},
            "usage of --node-cidr-mask-size-ipv6 is not allowed for a single-stack IPv4 cluster",
            id="a mask of the other family",
        ),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        House(NAME, options={**FOUR, **options})


def test_what_nodes_have_when_the_controller_starts_is_noted_before_anybody_is_given_anything() -> None:
    one = house()
    one.crash()
    for name, have in (("first", ()), ("second", ("10.0.0.0/24",)), ("third", ("10.0.1.0/24",))):
        one.server.put(NODES, node(name, *have))
    one.start()
    one.run(100)
    assert cidrs(one)["first"] == ["10.0.2.0/24"]
    one.close()
