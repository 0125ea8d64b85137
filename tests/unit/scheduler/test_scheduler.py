"""The scheduler as a process, over a fake API server."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ConflictError, NotFoundError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import EVENTS, NODES, PODS
from k8slab.scheduler import SUCCESS, Code, CycleState, Status
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import node, pod, profile


def test_a_pod_is_bound_and_the_event_says_so() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a"))
    world.server.put(PODS, pod("p"))
    world.run(20)
    assert world.node_of("p") == "a"
    assert world.events("p") == [("Scheduled", "Successfully assigned default/p to a")]
    assert not world.scheduler.cache.is_assumed("default/p")
    assert world.kinds("schedule.decide", "schedule.fail") == ["schedule.decide"]


def test_the_decision_is_caused_by_the_pods_arrival_and_causes_the_binding() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a"))
    world.run(20)
    world.server.put(PODS, pod("p"))
    world.run(20)
    trace = world.loop.trace
    (decided,) = [event for event in trace if event.kind == "schedule.decide"]
    walk = [event.kind for event in trace.causes(decided.seq)]
    assert walk[:4] == ["schedule.decide", "schedule.attempt", "schedule.queue", "cache.update"]
    assert decided.message == "the scheduler picks a for Pod default/p (1 of 1 nodes fit, score 0)"
    recorded = next(event for event in trace if event.kind == "event.record")
    assert decided.seq in [event.seq for event in trace.causes(recorded.seq)]


def test_the_event_is_of_the_newer_kind_without_count() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a"))
    world.server.put(PODS, pod("p"))
    world.run(20)
    (event,) = world.server.of(EVENTS)
    assert event.get("count") is None
    assert (event["reportingComponent"], event["action"], event["source"]) == ("default-scheduler", "Binding", {})


def test_a_pod_that_fits_nowhere_says_why_in_its_condition_and_in_an_event() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, pod("p", "2"))
    world.run(20)
    text = (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    (condition,) = world.pod("p")["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "reason": "Unschedulable",
        "message": text,
        "observedGeneration": 1,
    }
    assert world.events("p") == [("FailedScheduling", text)]
    # Its own status is no news that could help: there is one attempt, and then it waits.
    world.run(20_000)
    assert world.kinds("schedule.attempt") == ["schedule.attempt"]


def test_the_message_of_1_33_has_no_word_of_claims() -> None:
    world = SchedulerWorld(features=FeatureGates("1.33"))
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, pod("p", "2"))
    world.run(20)
    (condition,) = world.pod("p")["status"]["conditions"]
    assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1")
    assert "observedGeneration" not in condition


def test_a_new_node_that_fits_brings_the_pod_back() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("small", "1"))
    world.server.put(PODS, pod("p", "2"))
    world.run(20)
    world.server.put(NODES, node("small-too", "1"))
    world.run(20)
    assert world.kinds("schedule.attempt") == ["schedule.attempt"]
    world.server.put(NODES, node("large", "2"))
    world.run(20)
    assert world.node_of("p") == "large"


def test_a_pod_that_leaves_makes_room() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, pod("first", "1"))
    world.run(20)
    world.server.put(PODS, pod("second", "1"))
    world.run(20)
    assert world.node_of("second") is None
    world.server.remove(PODS, "default/first")
    world.run(20)
    assert world.node_of("second") == "a"


def test_a_finished_pod_makes_room() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, pod("first", "1"))
    world.run(20)
    world.server.put(PODS, pod("second", "1"))
    world.run(20)
    done = {**world.pod("first"), "status": {"phase": "Succeeded"}}
    world.server.put(PODS, done)
    world.run(20)
    assert world.node_of("second") == "a"


def test_pods_of_a_crowd_never_overfill_a_node() -> None:
    world = SchedulerWorld()
    for name in ("a", "b", "c"):
        world.server.put(NODES, node(name, "2"))
    for index in range(10):
        world.server.put(PODS, pod(f"p{index}", "600m"))
    world.run(100)
    placed = [world.node_of(f"p{index}") for index in range(10)]
    assert sorted(filter(None, placed)) == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert placed.count(None) == 1


def test_a_cluster_without_nodes_is_an_error_that_backs_off() -> None:
    world = SchedulerWorld()
    world.server.put(PODS, pod("p"))
    world.run(20)
    assert world.events("p") == [("FailedScheduling", "no nodes available to schedule pods")]
    world.server.put(NODES, node("a"))
    world.run(1_000)
    assert world.node_of("p") is None
    world.run(1_000)
    assert world.node_of("p") == "a"


def test_pods_of_other_schedulers_and_gated_pods_are_left_alone() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a"))
    world.server.put(PODS, pod("other", schedulerName="mine"))
    world.server.put(PODS, pod("gated", schedulingGates=[{"name": "wait"}]))
    world.run(50)
    assert (world.node_of("other"), world.node_of("gated")) == (None, None)
    assert world.kinds("schedule.attempt") == []
    free = dict(world.pod("gated"))
    free["spec"] = {k: v for k, v in free["spec"].items() if k != "schedulingGates"}
    world.server.put(PODS, free)
    world.run(50)
    assert world.node_of("gated") == "a"


def test_several_profiles_serve_pods_by_name() -> None:
    most = {"scoringStrategy": {"type": "MostAllocated"}}
    packing = profile("NodeResourcesFit", args={"NodeResourcesFit": most}, schedulerName="packing")
    world = SchedulerWorld(profiles=[{}, packing])
    world.server.put(NODES, node("a"))
    world.server.put(NODES, node("b"))
    world.server.put(PODS, pod("there", "2", node_name="a"))
    world.run(20)
    world.server.put(PODS, pod("packed", schedulerName="packing"))
    world.server.put(PODS, pod("spread"))
    world.run(20)
    assert (world.node_of("packed"), world.node_of("spread")) == ("a", "b")
    with pytest.raises(ValueError, match='duplicate profile with scheduler name "default-scheduler"'):
        SchedulerWorld(profiles=[{}, {}])


# -- what can go wrong between deciding and binding ------------------------------------------------------


def test_a_refused_binding_frees_the_node_and_is_tried_again() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.fail_next("create", PODS, ConflictError.of("pods/binding", "p", "pod p is already assigned to node"))
    world.server.put(PODS, pod("p", "1"))
    world.run(20)
    assert world.scheduler.cache.node_of("default/p") is None
    (condition,) = world.pod("p")["status"]["conditions"]
    assert condition["reason"] == "SchedulerError"
    assert condition["message"].startswith('running Bind plugin "DefaultBinder": Operation cannot be fulfilled on')
    world.run(2_000)
    assert world.node_of("p") == "a"


def test_a_binding_whose_answer_is_lost_is_settled_by_the_watch() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.lose_reply("create", PODS)
    world.server.put(PODS, pod("p", "1"))
    world.run(5_000)
    assert world.node_of("p") == "a"
    assert world.scheduler.cache.node_of("default/p") == "a"
    assert [verb for verb, path, _ in world.server.verbs("create") if path == "pods/binding"] == ["create"]


def test_a_pod_deleted_before_its_binding_arrives_frees_its_node() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.run(20)
    world.server.put(PODS, pod("p", "1"))
    while not world.scheduler.cache.is_assumed("default/p"):
        world.loop.step()
    world.server.remove(PODS, "default/p")
    world.server.put(PODS, pod("q", "1"))
    world.run(2_500)
    assert world.node_of("q") == "a"
    assert world.scheduler.queue.where("default/p") is None


def test_a_pod_bound_by_somebody_else_leaves_the_queue() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(PODS, pod("p", "2"))
    world.run(20)
    taken = dict(world.pod("p"))
    taken["spec"] = {**taken["spec"], "nodeName": "a"}
    world.server.put(PODS, taken)
    world.run(20)
    assert world.scheduler.queue.where("default/p") is None
    assert world.scheduler.cache.node_of("default/p") == "a"


def test_a_condition_that_cannot_be_written_does_not_stop_the_scheduler() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.fail_next("patch", PODS, NotFoundError.of("pods", "p"))
    world.server.put(PODS, pod("p", "2"))
    world.server.put(PODS, pod("q"))
    world.run(20)
    assert world.kinds("schedule.error") == ["schedule.error"]
    assert world.node_of("q") == "a"


def test_a_killed_scheduler_leaves_nothing_running() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a"))
    world.run(20)
    world.component.kill()
    world.server.put(PODS, pod("p"))
    world.loop.run(for_ms=1_000)
    assert world.node_of("p") is None
    assert [task.name for task in world.loop.tasks.values() if task.name.startswith("scheduler")] == []


# -- Permit, Reserve, events ---------------------------------------------------------------------------


class Gang:
    """Lets nobody go before two Pods wait."""

    name = "Gang"

    def __init__(self, args: Any, handle: Any) -> None:
        self.handle = handle
        self.released: list[str] = []

    def permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, int]:
        waiting = self.handle.waiting_pods()
        if not waiting:
            return Status(Code.WAIT), 3_000
        for held in waiting:
            held.allow(self.name)
        return SUCCESS, 0

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        self.released.append(pod["metadata"]["name"])


def gang_world() -> SchedulerWorld:
    with_gang = {"plugins": {"multiPoint": {"enabled": [{"name": "Gang"}]}}}
    return SchedulerWorld(profiles=[with_gang], registry={"Gang": Gang})


def test_pods_wait_for_each_other_in_permit() -> None:
    world = gang_world()
    world.server.put(NODES, node("a"))
    world.server.put(PODS, pod("p"))
    world.run(500)
    assert (world.node_of("p"), world.kinds("schedule.wait")) == (None, ["schedule.wait"])
    assert world.scheduler.cache.is_assumed("default/p")
    world.server.put(PODS, pod("q"))
    world.run(50)
    assert (world.node_of("p"), world.node_of("q")) == ("a", "a")


def test_a_wait_that_times_out_is_undone() -> None:
    world = gang_world()
    world.server.put(NODES, node("a"))
    world.server.put(PODS, pod("p"))
    world.run(3_100)
    gang: Any = world.scheduler.frameworks["default-scheduler"].plugins["Gang"]
    assert gang.released == ["p"]
    assert world.events("p") == [
        (
            "FailedScheduling",
            "0/1 nodes are available: 1 rejected due to timeout after waiting 3s at plugin Gang.",
        )
    ]


def test_a_waiting_pod_that_is_deleted_stops_waiting() -> None:
    world = gang_world()
    world.server.put(NODES, node("a"))
    world.server.put(PODS, pod("p"))
    world.run(100)
    world.server.remove(PODS, "default/p")
    world.run(100)
    assert world.scheduler.frameworks["default-scheduler"].waiting_pods() == []
    assert world.scheduler.cache.node_of("default/p") is None


def test_the_same_failure_again_becomes_a_series() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "2"))
    for name, cpu in (("x", "1500m"), ("s0", "10m"), ("s1", "10m"), ("s2", "10m"), ("s3", "10m")):
        world.server.put(PODS, pod(name, cpu, node_name="a"))
    world.server.put(PODS, pod("p", "1500m"))
    world.run(5_000)
    for index in range(4):  # each makes a little room, which is worth another try
        world.server.remove(PODS, f"default/s{index}")
        world.run(20_000)
    # The first event is about the Pod before its condition was written, so the second attempt makes another one.
    counts = [(event.get("series") or {}).get("count") for event in world.server.of(EVENTS)]
    assert counts == [None, 2]
    assert len(world.kinds("schedule.attempt")) == 5
    world.server.remove(PODS, "default/p")
    world.run(15 * 60_000)
    counts = [(event.get("series") or {}).get("count") for event in world.server.of(EVENTS)]
    assert counts == [None, 4]


def test_the_story_marks_a_message_that_it_shortens() -> None:
    world = SchedulerWorld()
    labels = {"app": "web"}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world.server.put(NODES, node("a", labels={"kubernetes.io/hostname": "a"}))
    for name in ("p", "q"):
        made = pod(name, affinity=apart)
        world.server.put(PODS, {**made, "metadata": {**made["metadata"], "labels": labels}})
    world.run(20)
    (event,) = [event for event in world.loop.trace if event.kind == "schedule.fail"]
    whole = "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules"
    told = event.data["message"]
    assert told == whole[:63] + "…" and len(told) == 64
    assert world.events("q")[0][1].startswith(whole), "the Event has it all"


def test_explain_shows_the_cluster_as_it_is_and_leaves_it_so() -> None:
    world = SchedulerWorld()
    world.server.put(NODES, node("a", "1"))
    world.server.put(NODES, node("b", "4"))
    world.server.put(PODS, pod("p", "1"))
    world.run(20)
    placed = world.pod("p")
    explanation = world.scheduler.explain(placed)
    assert explanation.node("a").feasible and explanation.node("b").feasible
    assert explanation.best == ["b"]
    world.scheduler.check_invariants()
    assert world.scheduler.cache.node_of("default/p") == placed["spec"]["nodeName"]


def test_one_seed_one_trace() -> None:
    def trace(seed: int) -> str:
        world = SchedulerWorld(seed)
        for name in ("a", "b", "c"):
            world.server.put(NODES, node(name))
        for index in range(6):
            world.server.put(PODS, pod(f"p{index}"))
        world.run(100)
        return world.loop.trace.to_jsonl()

    assert trace(3) == trace(3)
    assert len({trace(seed) for seed in range(5)}) > 1


def test_an_image_that_a_node_has_pulled_since_draws_the_next_pod() -> None:
    world = SchedulerWorld()
    for name in ("a", "b", "c"):
        world.server.put(NODES, node(name))
    world.run(20)
    pulled = node("b", images={"app:latest": 3_000_000_000})
    world.server.put(NODES, pulled)
    world.run(20)
    world.server.put(PODS, pod("p"))
    world.run(20)
    assert world.node_of("p") == "b"
