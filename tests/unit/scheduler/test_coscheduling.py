"""The Coscheduling plugin. Texts and rules are those of scheduler-plugins' pkg/coscheduling."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import InternalError
from k8slab.api.scheme import NODES, PODS
from k8slab.scheduler import CycleState, Framework
from k8slab.scheduler.plugins.coscheduling import PODGROUPS, PROFILE, REGISTRY
from tests.gangs import GangWorld, group, member
from tests.scheduling import node, pod

NO_HELP = (
    "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling., "
)


def two_gangs(args: dict[str, Any] | None = None) -> GangWorld:
    """Two gangs of four, born in the same second, whose members come alternately; there is room for four Pods."""
    world = GangWorld(args)
    for name in ("a", "b"):
        world.server.put(NODES, node(name, "2"))
    for name in ("red", "blue"):
        world.server.put(PODGROUPS, group(name, 4))
    for number in range(4):
        for name in ("red", "blue"):
            world.server.put(PODS, member(f"{number}-{name}", name))
    return world


def gang(size: int, min_member: int, args: dict[str, Any] | None = None, cpu: str = "4", **spec: Any) -> GangWorld:
    """A Node, a group and `size` members of one CPU each."""
    world = GangWorld(args)
    world.server.put(NODES, node("a", cpu))
    world.server.put(PODGROUPS, group("g", min_member, **spec))
    for number in range(size):
        world.server.put(PODS, member(f"m{number}", "g"))
    return world


# -- all or none -----------------------------------------------------------------------------------


def test_members_wait_until_the_last_one_has_a_place() -> None:
    world = gang(3, 3, cpu="2")
    world.run(500)
    assert world.bound() == {}
    world.server.put(NODES, node("b", "1"))
    world.run(2_000)
    assert sorted(world.bound()) == ["m0", "m1", "m2"]
    assert world.held() == {}


def test_one_pod_more_than_the_group_needs_is_bound_alone() -> None:
    world = gang(2, 2)
    world.run(100)
    world.server.put(PODS, member("m9", "g"))
    world.run(100)
    assert sorted(world.bound()) == ["m0", "m1", "m9"]


def test_pods_without_a_group_are_not_held_up() -> None:
    world = GangWorld()
    world.server.put(NODES, node("a"))
    world.server.put(PODS, pod("p"))
    world.run(100)
    assert world.bound() == {"p": "a"}


def test_a_pod_of_no_group_that_fits_nowhere_is_told_so_too() -> None:
    """PostFilter says it of every Pod."""
    world = GangWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, pod("p", "2"))
    world.run(100)
    assert world.said("p") == [f"0/1 nodes are available: 1 Insufficient cpu. {NO_HELP}can not find pod group"]


def test_a_group_that_does_not_exist_is_not_waited_for() -> None:
    world = GangWorld()
    world.server.put(NODES, node("a"))
    world.server.put(PODS, member("m0", "g"))
    world.run(100)
    assert world.said("m0") == ["0/1 nodes are available: 1 PodGroup not found."]
    world.server.put(PODGROUPS, group("g", 1))
    world.run(2_000)
    assert world.bound() == {"m0": "a"}


# -- quick denial ----------------------------------------------------------------------------------


def test_a_group_with_too_few_pods_is_denied_before_filter() -> None:
    """The message is one that a real cluster gave, with the claims of 1.34 added."""
    world = gang(2, 3)
    world.run(100)
    assert world.said("m1") == [
        "0/1 nodes are available: pre-filter pod m1 cannot find enough sibling pods, current pods number: 2, "
        f"minMember of group: 3. {NO_HELP}"
        "PodGroup default/g gets rejected due to Pod m1 is unschedulable even after PostFilter"
    ]
    world.server.put(PODS, member("m2", "g"))
    world.run(2_000)
    assert sorted(world.bound()) == ["m0", "m1", "m2"]


def test_gated_pods_do_not_count_as_siblings() -> None:
    world = gang(1, 2)
    world.server.put(PODS, member("m1", "g", schedulingGates=[{"name": "later"}]))
    world.run(100)
    assert "pre-filter pod m0 cannot proceed due to gated pods in the same PodGroup" in world.said("m0")[-1]
    assert world.held() == {}


@pytest.mark.parametrize(
    ("resources", "gap"),
    [
        pytest.param({"cpu": "4"}, "", id="the Node has four CPUs"),
        pytest.param({"cpu": "5", "memory": "1Gi"}, "resource gap: {cpu: 1}", id="one CPU is missing"),
        pytest.param({"example.com/gpu": "8"}, "resource gap: {example.com/gpu: 8}", id="nobody has such a thing"),
    ],
)
def test_min_resources_are_looked_for_in_the_whole_cluster(resources: dict[str, str], gap: str) -> None:
    world = gang(2, 2, minResources=resources)
    world.run(100)
    assert bool(world.bound()) is not bool(gap)
    assert not gap or gap in world.said("m0")[0]


def test_a_rejected_group_is_denied_for_a_while() -> None:
    """Two of three fit: the third is unschedulable, and PostFilter denies the group for 20 s."""
    world = gang(3, 3, {"podGroupBackoffSeconds": 20}, cpu="2")
    world.run(100)
    assert world.held() == {}
    world.server.put(NODES, node("b", "1"))
    world.run(15_000)
    assert world.bound() == {}
    assert any("podGroup default/g failed recently" in message for message in world.said("m2"))
    world.run(320_000)  # nobody tells the Pods that the time is over: the pool is looked through
    assert sorted(world.bound()) == ["m0", "m1", "m2"]


# -- a member fails --------------------------------------------------------------------------------


def test_post_filter_sends_the_waiting_members_back() -> None:
    world = gang(3, 3, cpu="2")
    world.run(100)
    assert set(world.held()) <= {"m2"}
    assert world.said("m0")[0] == "0/1 nodes are available: 1 optimistic rejection in PostFilter."
    rejected = "PodGroup default/g gets rejected due to Pod m2 is unschedulable even after PostFilter"
    assert world.said("m2")[0].endswith(rejected)


def test_post_filter_spares_a_group_that_lacks_few() -> None:
    """One of ten is 10 %: by default that is few. One of nine is more."""
    spared = gang(10, 10, cpu="9")
    spared.run(100)
    assert len(spared.held()) == 9
    strict = gang(9, 9, cpu="8")
    strict.run(100)
    assert len(strict.held()) < 2  # the one that failed comes back from its back-off, since nobody else is there


def test_a_timeout_of_one_takes_the_others_with_it() -> None:
    """The second member comes 3 s after the first, and goes with it: its own 10 s are not over."""
    world = gang(1, 4, {"podGroupRejectPercentage": 100}, scheduleTimeoutSeconds=10)
    for name in ("x", "y", "z"):
        world.server.put(PODS, member(name, "g", cpu="8"))
    world.run(3_000)
    world.server.put(PODS, member("m1", "g"))
    world.run(6_500)
    assert world.held() == {"m0": "a", "m1": "a"}
    world.run(1_000)
    assert world.held() == {}
    assert "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Coscheduling." in (
        world.said("m0")
    )
    assert "0/1 nodes are available: 1 rejection in Unreserve." in world.said("m1")


def test_a_binding_that_fails_is_tried_again_and_the_gang_becomes_whole() -> None:
    world = gang(2, 2)
    world.server.fail_next("create", PODS, InternalError("etcdserver: request timed out"))
    world.run(100)
    assert len(world.bound()) == 1
    world.run(5_000)
    assert sorted(world.bound()) == ["m0", "m1"]


def test_a_member_that_is_deleted_while_it_waits_takes_the_others_with_it() -> None:
    world = gang(2, 3, {"podGroupRejectPercentage": 100})
    world.server.put(PODS, member("m2", "g", cpu="8"))
    world.run(100)
    assert sorted(world.held()) == ["m0", "m1"]
    world.server.remove(PODS, "default/m0")
    world.run(10)
    assert world.held() == {}
    assert "0/1 nodes are available: 1 rejection in Unreserve." in world.said("m1")


def test_a_member_that_was_rejected_and_has_not_heard_of_it_does_not_count() -> None:
    """m0 is rejected, and in the same moment m1 asks for its place: one that leaves and one that comes are not two."""
    world = gang(1, 2, {"podGroupRejectPercentage": 100})
    world.server.put(PODS, member("m1", "g", cpu="8"))
    world.run(100)
    framework = world.framework
    (waiting,) = framework.waiting_pods()
    assert waiting.reject("Coscheduling", "by hand")
    assert not waiting.reject("Coscheduling", "twice")
    assert waiting.is_rejected and world.held() == {"m0": "a"}
    framework.use_snapshot(world.scheduler.cache.snapshot())
    coscheduling: Any = framework.plugins["Coscheduling"]
    status, _ = coscheduling.permit(CycleState(), member("m2", "g"), "a")
    assert status.is_wait


# -- the deadlock ----------------------------------------------------------------------------------


def test_post_filter_breaks_the_deadlock_of_two_gangs_at_once() -> None:
    world = two_gangs()
    world.run(100)
    assert sorted(world.bound()) == ["0-red", "1-red", "2-red", "3-red"]


def test_without_it_each_gang_holds_half_until_the_timeout() -> None:
    world = two_gangs({"podGroupRejectPercentage": 100, "permitWaitingTimeSeconds": 10})
    world.run(9_900)
    assert world.bound() == {}
    assert sorted(world.held()) == ["0-blue", "0-red", "1-blue", "1-red"]
    world.run(100_000)  # ten timeouts: each is a new throw, and none is sure to help
    groups = {name.partition("-")[2] for name in world.bound()}
    assert len(groups) == 1 and len(world.bound()) == 4
    assert world.held() == {}


def test_groups_of_different_ages_do_not_mix_in_the_queue() -> None:
    """The younger one's Pods came first, and wait behind the older group's."""
    world = GangWorld({"podGroupRejectPercentage": 100})
    world.server.put(PODGROUPS, group("old", 4))
    world.server.put(PODGROUPS, group("young", 4, born="2026-01-01T00:00:01Z"))
    for number in range(4):
        world.server.put(PODS, member(f"{number}-young", "young"))
        world.server.put(PODS, member(f"{number}-old", "old"))
    world.run(100)
    for name in ("a", "b"):
        world.server.put(NODES, node(name, "2"))
    world.run(12_000)
    assert sorted(world.bound()) == ["0-old", "1-old", "2-old", "3-old"]


# -- what is wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"permitWaitingTimeSeconds": -1}, "permitWaitingTimeSeconds: Invalid value: -1: must be greater than 0"),
        ({"podGroupBackoffSeconds": -5}, "podGroupBackoffSeconds: Invalid value: -5: must be greater than 0"),
        ({"podGroupRejectPercentage": 101}, "podGroupRejectPercentage: Invalid value: 101: must be between 0 and 100"),
        ({"permitWaitingTimeSeconds": "60"}, "permitWaitingTimeSeconds: '60', expected an integer"),
    ],
)
def test_wrong_arguments_are_named(args: dict[str, Any], text: str) -> None:
    profile = {**PROFILE, "pluginConfig": [{"name": "Coscheduling", "args": args}]}
    with pytest.raises(ValueError, match=": " + text.replace("'", "['\"]").replace("(", r"\(")):
        Framework.from_profile(profile, registry=REGISTRY)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"min_member": "3"}, "PodGroup default/g: spec.minMember: '3', expected an integer of 0 or more"),
        (
            {"min_member": 1, "scheduleTimeoutSeconds": -1},
            "PodGroup default/g: spec.scheduleTimeoutSeconds: -1, expected an integer of 0 or more",
        ),
        (
            {"min_member": 1, "minResources": {"cpu": "four"}},
            "PodGroup default/g: spec.minResources.cpu: quantities must match",
        ),
    ],
)
def test_a_group_that_makes_no_sense_says_why_in_the_pods_event(spec: dict[str, Any], text: str) -> None:
    world = GangWorld()
    world.server.put(NODES, node("a"))
    world.server.put(PODGROUPS, group("g", **spec))
    world.server.put(PODS, member("m0", "g"))
    world.run(100)
    assert text in world.said("m0")[0]
    assert world.bound() == {}
