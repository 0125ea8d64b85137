"""Bitmaps, bands, snapshots, and what the repair loop finds."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.apiserver.allocators import (
    AllocationBitmap,
    AllocationError,
    Allocator,
    BitmapRepair,
    Finding,
    Holdings,
    PortAllocator,
    PortRange,
    Range,
    ServiceRanges,
    ip_iterator,
    is_usable,
)


def rng() -> random.Random:
    return random.Random(7)


def full(allocator: Any) -> list[Any]:
    """Everything it gives until it is full."""
    found = []
    while True:
        try:
            found.append(allocator.allocate_next())
        except AllocationError as error:
            assert str(error) == "range is full"
            return found


# -- bands ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Range, Allocator], ids=["bitmap", "address objects"])
@pytest.mark.parametrize(
    ("cidr", "upper", "all_of_them"),
    [
        pytest.param("10.0.0.0/24", 238, 254, id="16 are static in a /24"),
        pytest.param("10.0.0.0/28", 14, 14, id="none is static in a /28"),
        pytest.param("fd00::/120", 239, 255, id="an IPv6 range has its last address too"),
        pytest.param("10.0.0.0/31", 0, 0, id="a /31 has no address for Services"),
        pytest.param("10.0.0.0/32", 0, 0, id="nor has one address"),
    ],
)
def test_a_range_gives_its_upper_band_first_and_then_the_lower(
    kind: Any, cidr: str, upper: int, all_of_them: int
) -> None:
    addresses = kind(cidr, rng())
    given = full(addresses)
    assert len(set(given)) == all_of_them
    numbers = [int(address.replace(":", ".").split(".")[-1] or "0", 16 if ":" in cidr else 10) for address in given]
    static = all_of_them - upper
    assert all(number > static for number in numbers[:upper]) and all(number <= static for number in numbers[upper:])
    addresses.check_invariants()


def test_a_64_bit_range_needs_no_bitmap() -> None:
    addresses = Allocator("fd00::/64", rng())
    given = {addresses.allocate_next() for _ in range(1_000)}
    assert len(given) == 1_000 and addresses.used == 1_000
    addresses.allocate("fd00::ffff:ffff:ffff:ffff")
    addresses.release(next(iter(sorted(given))))
    assert addresses.used == 1_000
    addresses.check_invariants()


def test_an_ipv6_range_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="shortest allowed prefix length for service CIDR is 64, got 48"):
        Allocator("fd00::/48", rng())


def test_what_is_outside_is_named_in_the_words_of_each_kind() -> None:
    with pytest.raises(AllocationError, match="the provided network does not match the current range"):
        Allocator("10.0.0.0/24", rng()).allocate("10.0.0.255")
    with pytest.raises(AllocationError, match=r"the provided IP \(fd00::1\) is not in the valid range. The range of"):
        Range("10.0.0.0/24", rng()).allocate("fd00::1")


@pytest.mark.parametrize(
    ("first", "last", "offset", "expected"),
    [
        pytest.param("10.0.0.1", "10.0.0.3", 9, ["10.0.0.1", "10.0.0.2", "10.0.0.3"], id="an offset beyond the end"),
        pytest.param("255.255.255.254", "255.255.255.255", 9, [], id="an offset beyond the last of all addresses"),
        pytest.param(
            "255.255.255.253", "255.255.255.255", 1, ["255.255.255.254", "255.255.255.255"], id="the last of all"
        ),
        pytest.param("10.0.0.2", "10.0.0.1", 0, ["10.0.0.2"], id="an end before the beginning"),
    ],
)
def test_searches_at_the_edge(first: str, last: str, offset: int, expected: list[str]) -> None:
    assert list(ip_iterator(first, last, offset)) == expected


def test_an_address_is_told_in_its_shortest_form_and_ipv4_may_be_written_as_ipv6() -> None:
    with pytest.raises(AllocationError, match=r"the provided IP \(fd00::1:0:1\) is not in the valid range"):
        Range("fd00::/112", rng()).allocate("FD00:0:0:0:0:1:0000:0001")
    for kind in (Range, Allocator):
        addresses = kind("10.0.0.0/24", rng())
        addresses.allocate("::ffff:10.0.0.5")
        assert addresses.has("10.0.0.5") and is_usable("10.0.0.0/24", "::ffff:10.0.0.5")


# -- snapshots ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "items", [[], [0], [0, 7, 8, 99], list(range(0, 100, 1))], ids=["none", "first", "some", "all"]
)
def test_a_snapshot_is_the_number_whose_bits_are_the_items(items: list[int]) -> None:
    bits = AllocationBitmap(100, "hundred", rng())
    for item in items:
        assert bits.allocate(item)
    number = sum(1 << item for item in items)
    spec, data = bits.snapshot()
    assert (spec, int.from_bytes(data, "big")) == ("hundred", number)
    assert not data or data[0], "no byte too many"
    other = AllocationBitmap(100, "hundred", rng())
    other.restore(spec, data)
    assert list(other) == items
    other.check_invariants()


@pytest.mark.parametrize(
    ("spec", "data", "text"),
    [
        pytest.param("dozen", b"\1", "the provided range does not match the current range", id="another range"),
        pytest.param("hundred", b"\x20" + bytes(12), "the snapshot has item 101, the range ends at 99", id="too many"),
    ],
)
def test_a_snapshot_of_something_else_changes_nothing(spec: str, data: bytes, text: str) -> None:
    bits = AllocationBitmap(100, "hundred", rng())
    bits.allocate(5)
    with pytest.raises(AllocationError, match=text):
        bits.restore(spec, data)
    assert list(bits) == [5]


def test_a_range_is_restored_from_its_own_snapshot_only() -> None:
    addresses = Range("10.0.0.0/24", rng())
    addresses.allocate("10.0.0.9")
    other = Range("10.0.0.0/24", rng())
    other.restore(*addresses.snapshot())
    assert list(other) == ["10.0.0.9"]
    with pytest.raises(AllocationError, match="the provided network does not match the current range"):
        other.restore("10.0.1.0/24", b"")
    with pytest.raises(AllocationError, match="restoring snapshot encountered the snapshot has item 2047"):
        other.restore("10.0.0.0/24", b"\xff" * 256)


# -- flags ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cidrs", "ports", "text"),
    [
        pytest.param("10.0.0.0/8", "1-9", "is too large; for 32-bit addresses, the mask must be >= 12", id="a /8"),
        pytest.param("fd00::/48", "1-9", "is too large; for 128-bit addresses, the mask must be >= 64", id="IPv6 /48"),
        pytest.param("10.0.0.0/30", "1-9", "must be at least 8 IP addresses", id="four addresses"),
        pytest.param("10.0.0.1/24", "1-9", "'10.0.0.1/24': expected a CIDR such as 10.96.0.0/16", id="host bits"),
        pytest.param("10.0.0.0/24,10.1.0.0/24", "1-9", "expected one CIDR of each IP family", id="one family twice"),
        pytest.param("10.0.0.0/24,fd00::/112,fd01::/112", "1-9", "expected at most two CIDRs", id="three"),
        pytest.param("10.0.0.0/24", "9-1", "end port cannot be less than start port: 9-1", id="ports backwards"),
        pytest.param("10.0.0.0/24", "1-70000", "the port range cannot be greater than 65535: 1-70000", id="big port"),
        pytest.param("10.0.0.0/24", "0-100", "'0-100': expected ports from 1 on", id="port 0"),
        pytest.param("10.0.0.0/24", "many", "'many': expected two ports with a hyphen", id="no ports"),
        pytest.param("10.0.0.0/24", 30000, "service-node-port-range: 30000: expected a text", id="a number"),
        pytest.param(7, "1-9", "service-cluster-ip-range: 7: expected CIDRs as a text", id="no text"),
    ],
)
def test_ranges_that_kube_apiserver_does_not_start_with(cidrs: Any, ports: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ServiceRanges.parse(cidrs, ports)


def test_port_ranges_have_three_forms() -> None:
    assert [str(PortRange.parse(text)) for text in ("30000-30005", "30000+5", " 30000 ")] == [
        "30000-30005",
        "30000-30005",
        "30000-30000",
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1_0-20", id="an underscore"),
        pytest.param("٣٠٠٠٠-٣٢٧٦٧", id="digits of another script"),
        pytest.param("30000 - 32767", id="spaces within"),
        pytest.param("30000-32767-", id="two hyphens"),
        pytest.param("30000-+5", id="both signs"),
        pytest.param("+5", id="nothing before the plus"),
        pytest.param("-5", id="nothing before the hyphen"),
        pytest.param("30000-", id="nothing behind it"),
        pytest.param("0x10-20", id="hexadecimal"),
        pytest.param(30000, id="a number"),
    ],
)
def test_port_ranges_that_gos_parser_refuses(text: Any) -> None:
    with pytest.raises(ValueError, match=r"^port range .*: expected "):
        PortRange.parse(text)


def test_what_gos_parser_takes_though_it_looks_odd() -> None:
    assert PortRange.parse("30000++5") == PortRange(30000, 6) and PortRange.parse("0030-040") == PortRange(30, 11)
    with pytest.raises(ValueError, match=r"^end port cannot be less than start port: 10--5$"):
        PortRange.parse("10--5")


def test_without_a_range_of_node_ports_there_are_the_usual_ones() -> None:
    assert str(PortRange.parse(" ")) == ""
    assert str(ServiceRanges.parse(node_ports="").node_ports) == "30000-32767"


# -- repair ---------------------------------------------------------------------------------------------------


def ports(*taken: int) -> PortAllocator:
    allocator = PortAllocator("30000-30099", rng())
    for port in taken:
        allocator.allocate(port)
    return allocator


def test_a_port_without_a_service_is_freed_in_the_third_run_and_one_on_its_way_is_not() -> None:
    repair, stored = BitmapRepair(), ports(30001, 30002)
    stored, found = repair.run({}, stored, ports())
    assert list(stored) == [30001, 30002] and found == []
    stored, _ = repair.run({"a/late": [30002]}, stored, ports())
    assert list(stored) == [30001, 30002]
    stored, _ = repair.run({}, stored, ports())  # 30002's Service went: its count begins anew
    assert list(stored) == [30002]


def test_lost_doubled_and_foreign_ports_are_told_and_lost_ones_taken_again() -> None:
    services = {"a/one": [30001], "a/two": [30001, 80], "b/three": [30003]}
    rebuilt, found = BitmapRepair().run(services, ports(30003), ports())
    assert list(rebuilt) == [30001, 30003]
    assert [(one.key, one.reason, one.message) for one in found] == [
        ("a/one", "PortNotAllocated", "Port 30001 is not allocated; repairing"),
        ("a/two", "PortAlreadyAllocated", "Port 30001 was assigned to multiple services; please recreate service"),
        ("a/two", "PortOutOfRange", "Port 80 is not within the port range 30000-30099; please recreate service"),
    ]


def reasons(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.key, one.reason) for one in found]


def test_the_first_service_has_an_address_and_the_others_are_told_once() -> None:
    held = Holdings(ServiceRanges.parse("10.0.0.0/24"))
    assert held.put("a/one", ["10.0.0.9"], [30001]) == []
    found = held.put("a/two", ["10.0.0.9"], [30001])
    assert reasons(found) == [("a/two", "ClusterIPAlreadyAllocated"), ("a/two", "PortAlreadyAllocated")]
    assert found[0].message == "Cluster IP [IPv4]:10.0.0.9 was assigned to multiple services; please recreate service"
    assert held.put("a/two", ["10.0.0.9"], [30001]) == [], "nothing new"
    held.remove("a/one")
    assert held.holder("10.0.0.9") == "a/two"
    held.check_invariants()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        pytest.param("10.0.0.0", "ClusterIPOutOfRange", id="the first address"),
        pytest.param("10.0.1.1", "ClusterIPOutOfRange", id="another network"),
        pytest.param("10.0.0.400", "ClusterIPNotValid", id="no address"),
    ],
)
def test_addresses_that_no_service_can_have(address: str, reason: str) -> None:
    assert reasons(Holdings(ServiceRanges.parse("10.0.0.0/24")).put("a/b", [address, "None"], [])) == [("a/b", reason)]


def test_one_service_that_has_a_port_twice_is_told() -> None:
    assert reasons(Holdings(ServiceRanges()).put("a/b", [], [30001, 30001])) == [("a/b", "PortAlreadyAllocated")]
