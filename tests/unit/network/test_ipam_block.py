"""One block: order of use, owners, conflicts, sequence numbers."""

from __future__ import annotations

import pytest

from k8slab.network.ipam import (
    AlreadyExistsError,
    BadHandleError,
    BadSequenceNumberError,
    Block,
    IPAMError,
    ReleaseOptions,
    Reservations,
)


def block(cidr: str = "10.0.0.0/29", affinity: str = "node-a") -> Block:
    return Block.new(cidr, affinity=affinity, now_ms=5)


def test_every_address_is_assigned_also_the_first_and_the_last() -> None:
    full, given = block().auto_assign(99)
    assert given == [f"10.0.0.{n}" for n in range(8)]
    assert full.auto_assign(1) == (full, []) and full.num_free() == 0 and not full.is_empty
    full.check_invariants()


def test_addresses_are_used_again_in_the_order_in_which_they_came_back() -> None:
    one, _ = block().auto_assign(8)
    for address in ("10.0.0.6", "10.0.0.2", "10.0.0.4"):
        one, _, _ = one.release([ReleaseOptions(address)])
    assert one.auto_assign(2)[1] == ["10.0.0.6", "10.0.0.2"]


def test_reserved_addresses_are_passed_over_and_keep_their_place() -> None:
    reserved = Reservations(["10.0.0.0/31", "10.0.0.3"])
    one, given = block().auto_assign(2, reserved=reserved)
    assert given == ["10.0.0.2", "10.0.0.4"] and one.num_free(reserved) == 3 and one.num_free() == 6
    assert one.auto_assign(1)[1] == ["10.0.0.0"]
    assert reserved.covers("10.0.0.0/31") and not reserved.covers("10.0.0.0/30") and not reserved.covers("fd00::/120")


def test_a_block_of_one_address_and_one_of_ipv6() -> None:
    one, given = block("10.0.0.7/32").auto_assign(3)
    assert given == ["10.0.0.7"] and not one.unallocated
    assert block("fd00::/122").auto_assign(2)[1] == ["fd00::", "fd00::1"]


def test_with_affinity_checked_only_the_host_assigns() -> None:
    with pytest.raises(IPAMError, match=r"Block affinity \(node-a\) does not match provided \(node-b\)"):
        block().auto_assign(1, host="node-b", affinity_check=True)
    with pytest.raises(IPAMError, match="Block host affinity does not match"):
        block().assign("10.0.0.1", host="node-b", affinity_check=True)
    with pytest.raises(IPAMError, match=r"Attempt to assign from block 10\.0\.0\.0/29 with no affinity"):
        block().given_up().auto_assign(1, host="node-a", affinity_check=True)
    assert block().given_up().auto_assign(1, host="node-b")[1] == ["10.0.0.0"]


def test_an_address_is_assigned_once_and_only_in_its_block() -> None:
    one = block().assign("10.0.0.3", "pod-1")
    with pytest.raises(AlreadyExistsError, match=r"10\.0\.0\.3: Address already assigned in block"):
        one.assign("10.0.0.3", "pod-2")
    with pytest.raises(ValueError, match=r"IP 10\.0\.0\.9 not in block 10\.0\.0\.0/29"):
        one.assign("10.0.0.9")
    owner = one.owner("10.0.0.3")
    assert owner is not None and owner.handle == "pod-1" and one.of_handle("pod-1") == ["10.0.0.3"]


def test_what_changed_hands_is_not_released_and_nothing_else_with_it() -> None:
    one, _ = block().auto_assign(2, "pod-1")
    written = one.written()
    other, _, _ = written.release([ReleaseOptions("10.0.0.0")])
    later = other.assign("10.0.0.0", "pod-2")
    with pytest.raises(BadHandleError, match="bad handle requested: pod-1, expected: pod-2"):
        later.release([ReleaseOptions("10.0.0.1"), ReleaseOptions("10.0.0.0", "pod-1")])
    with pytest.raises(BadSequenceNumberError, match="bad sequence number requested: 5000000, expected 5000001"):
        later.release([ReleaseOptions("10.0.0.0", sequence_number=one.sequence("10.0.0.0"))])
    assert later.in_use() == ["10.0.0.0", "10.0.0.1"]


def test_release_tells_who_lost_what_and_what_nobody_had() -> None:
    one, _ = block().auto_assign(2, "pod-1")
    one = one.assign("10.0.0.5", "pod-2").assign("10.0.0.6")
    options = [ReleaseOptions(f"10.0.0.{n}") for n in (0, 1, 1, 5, 6, 7)]
    one, free, lost = one.release(options)
    assert one.is_empty and free == ["10.0.0.7"] and lost == {"pod-1": 2, "pod-2": 1}
    one.check_invariants()


def test_a_block_that_is_made_anew_does_not_repeat_sequence_numbers() -> None:
    first = block().written().written()
    assert Block.new(first.cidr, affinity="node-a", now_ms=6).sequence_number > first.sequence_number
