"""The scheduler evicts: over a fake API server, with virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ForbiddenError, NotFoundError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES, PODDISRUPTIONBUDGETS, PODS
from k8slab.scheduler import CycleState, Status
from k8slab.scheduler.framework import Code
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import node, pod


def running(name: str, where: str, cpu: str = "1", priority: int = 0, **labels: str) -> Object:
    made = pod(name, cpu, node_name=where, priority=priority)
    made["metadata"]["labels"] = labels
    return {**made, "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}


def test_a_victim_is_told_why_and_deleted_and_the_pod_takes_its_place() -> None:
    world = SchedulerWorld(graceful=True)
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, running("low", "a"))
    world.run(20)
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.run(20)
    victim = world.pod("low")
    assert victim["metadata"]["deletionTimestamp"]
    assert victim["status"]["conditions"] == [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": "default-scheduler: preempting to accommodate a higher priority pod",
            "observedGeneration": 1,
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    waiting = world.pod("vip")
    assert waiting["status"]["nominatedNodeName"] == "a"
    (condition,) = waiting["status"]["conditions"]
    assert condition["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    (event,) = world.events_with("Preempted")
    assert event["message"] == "Preempted by pod uid-default-vip on node a"
    assert (event["type"], event["action"], event["involvedObject"]["name"]) == ("Normal", "Preempting", "low")
    assert event["related"]["name"] == "vip"
    assert world.scheduler.view()["nominated"] == {"default/vip": "a"}
    world.server.remove(PODS, "default/low")
    world.run(3_000)
    assert world.pods() == {"vip": "a"}
    assert world.scheduler.view()["nominated"] == {}


def test_the_delete_names_the_uid_so_that_a_new_pod_of_the_name_is_safe() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, running("low", "a"))
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.run(20)
    (request,) = [request for request in world.server.requests if request.verb == "delete"]
    assert request.body is not None and request.body["preconditions"] == {"uid": "uid-default-low"}  # type: ignore[call-overload]


def test_all_victims_go_and_the_pod_is_bound_once() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "3"))
    for name in ("x", "y", "z"):
        world.server.put(PODS, running(name, "a"))
    world.run(20)
    world.server.put(PODS, pod("vip", "3", priority=10))
    world.run(5_000)
    assert world.pods() == {"vip": "a"}
    assert sorted(world.wishes("delete")) == ["x", "y", "z"]
    assert len(world.events_with("Preempted")) == 3


@pytest.mark.parametrize(
    ("victims", "text"),
    [
        pytest.param([f"v{n}" for n in range(3)], "default/v0, default/v1, default/v2", id="few are all named"),
        pytest.param(
            [f"v{n}" for n in range(12)],
            "default/v0, default/v1, default/v2, default/v3 and 8 more",
            id="of many as many as fit into 60 characters",
        ),
        pytest.param(["v" * 60], f"default/{'v' * 60}", id="one is named in full"),
        pytest.param(["v" * 60, "w"], f"default/{'v' * 60} and 1 more", id="the first is always named in full"),
    ],
)
def test_the_story_names_the_victims(victims: list[str], text: str) -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", str(len(victims))))
    for name in victims:
        world.server.put(PODS, running(name, "a"))
    world.run(20)
    world.server.put(PODS, pod("vip", str(len(victims)), priority=10))
    world.run(20)
    (event,) = [event for event in world.loop.trace if event.kind == "schedule.preempt"]
    assert event.data["victims"] == text


def test_the_pod_is_held_back_until_the_last_victim_is_told() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "2"))
    world.server.put(PODS, running("x", "a"))
    world.server.put(PODS, running("y", "a"))
    world.run(20)
    world.server.put(PODS, pod("vip", "2", priority=10))
    seen = []
    for _ in range(30):
        world.run(1)
        vip = "uid-default-vip"
        seen.append((len(world.server.of(PODS)), world.scheduler.executor.is_preempting(vip)))
    held = [left for left, preempting in seen if preempting]
    assert held and held == sorted(held, reverse=True) and min(held) >= 2, seen
    assert seen[-1] == (1, False)


def test_a_graceful_end_is_waited_for_without_evicting_more() -> None:
    world = SchedulerWorld(graceful=True)
    for name in ("a", "b"):
        world.server.put(NODES, node(name, "1"))
        world.server.put(PODS, running(f"on-{name}", name))
    world.run(20)
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.run(20)
    world.server.put(NODES, node("tiny", "1m"))  # an event that may help, so that the Pod is tried again
    world.server.put(NODES, node("tiny", "1"))
    world.run(15_000)
    assert len(world.events_with("Preempted")) == 1


def test_a_budget_protects_its_pods() -> None:
    world = SchedulerWorld()
    for name in ("a", "b"):
        world.server.put(NODES, node(name, "1"))
    world.server.put(PODS, running("db", "a", app="db"))
    world.server.put(PODS, running("web", "b", priority=5))
    world.server.put(
        PODDISRUPTIONBUDGETS,
        {
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": 0},
        },
    )
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.run(3_000)
    assert world.pods() == {"db": "a", "vip": "b"}


def test_an_explanation_keeps_room_for_a_nominated_pod_as_the_scheduler_does() -> None:
    world = SchedulerWorld(graceful=True)
    world.server.put(NODES, node("a", "4"))
    world.server.put(PODS, running("low", "a", "3"))
    world.run(20)
    world.server.put(PODS, pod("vip", "3", priority=10))
    world.run(20)
    world.server.put(PODS, pod("small", "500m"))  # beside "low" there is room, beside "low" and "vip" there is not
    world.run(20)
    (condition,) = world.pod("small")["status"]["conditions"]
    assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    row = world.scheduler.explain(world.pod("small")).node("a")
    assert (row.feasible, row.reasons, row.kept_for) == (False, ["Insufficient cpu"], ["default/vip"])
    assert world.scheduler.explain(pod("small", "500m")).view()["nodes"]["a"]["kept_for"] == ["default/vip"]


def test_an_explanation_names_no_nominated_pod_where_it_changes_nothing() -> None:
    world = SchedulerWorld(graceful=True)
    world.server.put(NODES, node("a", "4"))
    world.server.put(PODS, running("low", "a", "3"))
    world.run(20)
    world.server.put(PODS, pod("vip", "3", priority=10))
    world.run(20)
    more_important = pod("top", "500m", priority=11)
    too_large = pod("large", "9")
    assert world.scheduler.explain(more_important).node("a").feasible
    row = world.scheduler.explain(too_large).node("a")
    assert (row.reasons, row.kept_for) == (["Insufficient cpu"], [])


def test_a_less_important_nominated_pod_has_to_look_elsewhere() -> None:
    world = SchedulerWorld(graceful=True)
    world.server.put(NODES, node("a", "2"))
    world.server.put(PODS, running("low", "a"))
    world.server.put(PODS, running("better", "a", priority=1))
    world.run(20)
    world.server.put(PODS, pod("mid", "1", priority=5))
    world.run(20)
    assert world.pod("mid")["status"]["nominatedNodeName"] == "a"
    world.server.put(PODS, pod("vip", "2", priority=10))
    world.run(20)
    assert world.pod("vip")["status"]["nominatedNodeName"] == "a"
    assert "nominatedNodeName" not in world.pod("mid")["status"]
    assert world.scheduler.view()["nominated"] == {"default/vip": "a"}
    assert world.wishes("delete") == ["low", "better"], "the one that was leaving already is not deleted twice"


def test_room_that_a_deleted_nominated_pod_gives_up_is_used() -> None:
    world = SchedulerWorld(graceful=True)
    world.server.put(NODES, node("a", "2"))
    world.server.put(PODS, running("low", "a", "1"))
    world.run(20)
    world.server.put(PODS, pod("vip", "2", priority=10))
    world.run(20)
    world.server.put(PODS, pod("small", "1", priority=0))
    world.run(2_000)
    assert world.pods()["small"] == ""
    world.server.remove(PODS, "default/vip")
    world.run(5_000)
    assert world.pods()["small"] == "a"


def test_a_refused_eviction_is_tried_again() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, running("low", "a"))
    world.run(20)
    world.server.fail_next("delete", PODS, ForbiddenError.of("pods", "low", "not now"))
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.run(3_000)
    assert world.pods() == {"vip": "a"}
    (event,) = [event for event in world.loop.trace if event.kind == "schedule.evict-error"]
    assert event.data["key"] == "default/low"
    assert world.wishes("delete") == ["low", "low"]


def test_a_victim_that_is_gone_is_no_error() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, running("low", "a"))
    world.run(20)
    world.server.fail_next("delete", PODS, NotFoundError.of("pods", "low"))
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.run(20)
    assert world.events_with("Preempted") == []
    assert [event for event in world.loop.trace if event.kind == "schedule.evict-error"] == []
    assert not world.scheduler.executor.is_preempting("uid-default-vip")


class Hold:
    """Makes every Pod wait in Permit."""

    name = "Hold"

    def __init__(self, args: Any, handle: Any) -> None:
        pass

    def permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, int]:
        return Status(Code.WAIT), 60_000


def test_a_victim_that_still_waits_in_permit_is_sent_back_and_not_deleted() -> None:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Hold"}]}}}
    world = SchedulerWorld(profiles=[profile], registry={"Hold": Hold})
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, pod("low", "1"))
    world.run(20)
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.run(20)
    assert world.wishes("delete") == []
    assert [event["involvedObject"]["name"] for event in world.events_with("Preempted")] == ["low"]
    world.run(3_000)
    assert world.scheduler.cache.is_assumed("default/vip")


def test_before_1_33_victims_go_before_the_next_pod_is_looked_at() -> None:
    world = SchedulerWorld(features=FeatureGates("1.32"))
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, running("low", "a"))
    world.run(20)
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.server.put(PODS, pod("next", "1m", priority=0))
    world.run(3_000)
    assert world.pods() == {"vip": "a", "next": ""}
    told = [event for event in world.loop.trace if event.kind in ("schedule.preempt", "schedule.attempt")]
    assert [event.data["key"] for event in told][:3] == ["default/vip", "default/vip", "default/next"]


def test_before_1_33_a_refused_eviction_is_part_of_the_message() -> None:
    world = SchedulerWorld(features=FeatureGates("1.32"))
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, running("low", "a"))
    world.run(20)
    world.server.fail_next("delete", PODS, ForbiddenError.of("pods", "low", "not now"))
    world.server.put(PODS, pod("vip", "1", priority=10))
    world.run(20)
    (condition,) = world.pod("vip")["status"]["conditions"]
    assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu. preemption: ")
    assert condition["message"].endswith("not now")
    assert "nominatedNodeName" not in world.pod("vip")["status"]


@pytest.mark.parametrize("policy", ["Never", "PreemptLowerPriority"])
def test_the_policy_of_the_pod_is_heeded(policy: str) -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, running("low", "a"))
    world.server.put(PODS, pod("vip", "1", priority=10, preemptionPolicy=policy))
    world.run(3_000)
    assert ("low" in world.pods()) == (policy == "Never")
