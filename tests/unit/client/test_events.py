"""The event recorder and its correlator, beyond the golden sequences."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ForbiddenError, InternalError
from k8slab.api.objects import Object
from k8slab.api.scheme import EVENTS
from k8slab.api.transport import STRATEGIC_MERGE_PATCH
from k8slab.client import Client, EventCorrelator, EventRecorder
from k8slab.client.events import reference_of
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop
from tests.fakes import FakeTransport

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "shop", "uid": "u1", "resourceVersion": "7"},
}
SOMETHING = {
    "metadata": {"name": "web-0.1", "namespace": "shop"},
    "involvedObject": reference_of(POD),
    "reason": "BackOff",
    "message": "m",
    "source": {"component": "kubelet", "host": "n1"},
    "type": "Warning",
    "count": 1,
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": "2026-01-01T00:00:00Z",
}


class World:
    def __init__(self) -> None:
        self.loop = Loop(seed=1)
        self.server = FakeTransport(self.loop)
        self.kcm = Component(self.loop, "kcm")
        self.recorder = EventRecorder(self.loop, Client(self.server), self.kcm, "replicaset-controller", lane="kcm/rs")

    def events(self) -> list[Object]:
        return self.server.of(EVENTS)

    def dropped(self) -> list[object]:
        return [event.data["why"] for event in self.loop.trace if event.kind == "event.drop"]


def test_an_event_is_written_with_the_fields_of_upstream() -> None:
    world = World()
    world.loop.clock.now_ms = 5_000
    world.recorder.event(POD, "Normal", "SuccessfulCreate", "Created pod: web-0", field_path="spec.containers{app}")
    world.loop.run(for_ms=10)
    (event,) = world.events()
    name, _, stamp = event["metadata"]["name"].rpartition(".")
    assert name == "web-0"
    # 2026-01-01 is 1767225600 s after 1970; the event happened 5 s later.
    assert int(stamp, 16) // 1_000_000 == 1_767_225_605_000
    expected = {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "kind": "Pod",
            "namespace": "shop",
            "name": "web-0",
            "uid": "u1",
            "apiVersion": "v1",
            "resourceVersion": "7",
            "fieldPath": "spec.containers{app}",
        },
        "reason": "SuccessfulCreate",
        "message": "Created pod: web-0",
        "source": {"component": "replicaset-controller"},
        "firstTimestamp": "2026-01-01T00:00:05Z",
        "lastTimestamp": "2026-01-01T00:00:05Z",
        "count": 1,
        "type": "Normal",
        "reportingComponent": "replicaset-controller",
        "reportingInstance": "",
    }
    assert {key: value for key, value in event.items() if key != "metadata"} == expected
    assert event["metadata"]["namespace"] == "shop"


def test_recording_never_waits_and_keeps_the_cause_of_the_recorder() -> None:
    world = World()
    trace = world.loop.trace
    before = trace.emit("cache.resync", "x", resource="pods", count=1)
    world.recorder.event(POD, "Normal", "R", "m")
    assert trace.current == before
    assert world.events() == []
    (recorded,) = [event for event in trace if event.kind == "event.record"]
    assert (recorded.cause, recorded.actor, recorded.data["resource"]) == (before, "kcm/rs", "pods")
    trace.current = None
    world.loop.run(for_ms=10)
    (event,) = world.events()
    assert trace.of_revision[int(event["metadata"]["resourceVersion"])] == recorded.seq


def test_events_about_objects_without_a_namespace_go_to_default_and_carry_annotations() -> None:
    world = World()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    world.recorder.event(node, "Warning", "NodeNotReady", "m", annotations={"a": "b"})
    world.loop.run(for_ms=10)
    (event,) = world.events()
    assert event["metadata"]["namespace"] == "default"
    assert event["metadata"]["annotations"] == {"a": "b"}
    assert event["involvedObject"] == {"kind": "Node", "name": "n1", "apiVersion": "v1"}


def test_a_repeated_event_patches_the_count_of_the_first() -> None:
    world = World()
    for _ in range(3):
        world.recorder.event(POD, "Warning", "BackOff", "m")
        world.loop.run(for_ms=2_000)
    (event,) = world.events()
    assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
        3,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:04Z",
    )
    patch = world.server.requests[-1]
    assert (patch.verb, patch.patch_type) == ("patch", STRATEGIC_MERGE_PATCH)
    assert patch.body == {"count": 3, "lastTimestamp": "2026-01-01T00:00:04Z", "message": "m"}


def test_a_repeated_event_whose_first_has_expired_is_created_again_with_its_count() -> None:
    world = World()
    world.recorder.event(POD, "Warning", "BackOff", "m")
    world.loop.run(for_ms=10)
    (first,) = world.events()
    world.server.remove(EVENTS, f"shop/{first['metadata']['name']}")
    world.recorder.event(POD, "Warning", "BackOff", "m")
    world.loop.run(for_ms=10)
    (again,) = world.events()
    assert (again["count"], again["metadata"]["name"]) == (2, first["metadata"]["name"])


def test_an_event_that_the_server_refuses_is_dropped_and_the_next_one_goes_through() -> None:
    world = World()
    world.server.fail_next("create", EVENTS, ForbiddenError("namespace shop is being terminated"))
    world.recorder.event(POD, "Normal", "A", "m")
    world.recorder.event(POD, "Normal", "B", "m")
    world.loop.run(for_ms=10)
    assert [event["reason"] for event in world.events()] == ["B"]
    assert world.dropped() == ["namespace shop is being terminated"]


def test_an_event_without_an_answer_is_tried_again_within_ten_seconds() -> None:
    world = World()
    world.server.fail_next("create", EVENTS, TimeoutError("no answer"))
    world.recorder.event(POD, "Normal", "A", "m")
    world.loop.run(for_ms=10_000)
    assert len(world.events()) == 1
    assert world.dropped() == []


def test_an_event_is_given_up_after_twelve_tries() -> None:
    world = World()
    world.server.fail_next("create", EVENTS, ConnectionRefusedError("down"), times=12)
    world.recorder.event(POD, "Normal", "A", "m")
    world.loop.run(for_ms=200_000)
    assert len(world.server.requests) == 12
    assert world.events() == []
    assert world.dropped() == ["retry limit exceeded: down"]


def test_an_internal_error_of_the_server_is_an_answer_and_is_not_tried_again() -> None:
    world = World()
    world.server.fail_next("create", EVENTS, InternalError("boom"))
    world.recorder.event(POD, "Normal", "A", "m")
    world.loop.run(for_ms=100_000)
    assert len(world.server.requests) == 1


def test_the_queue_of_events_is_bounded() -> None:
    world = World()
    for number in range(1_002):
        world.recorder.event(POD, "Normal", f"R{number}", "m")
    assert len(world.recorder.queue) == 1_000
    assert world.dropped() == ["too many queued events"] * 2


def test_the_spam_filter_drops_the_twenty_sixth_event_of_a_source_about_an_object() -> None:
    world = World()
    for number in range(26):
        world.recorder.event(POD, "Normal", f"R{number}", "m")
    world.loop.run(for_ms=100)
    assert len(world.events()) == 25
    assert world.dropped() == ["spam filter"]


def test_a_name_that_makes_no_valid_event_name_is_replaced_by_a_uuid() -> None:
    world = World()
    odd = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:node"}}
    world.recorder.event(odd, "Normal", "A", "m")
    world.loop.run(for_ms=10)
    (event,) = world.events()
    assert len(event["metadata"]["name"]) == 36
    assert event["involvedObject"]["name"] == "system:node"


def test_other_types_of_events_are_refused() -> None:
    with pytest.raises(ValueError, match="event type 'Info': expected Normal or Warning"):
        World().recorder.event(POD, "Info", "R", "m")


def test_an_object_without_a_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected an object with kind and metadata\.name"):
        World().recorder.event({"metadata": {"name": "x"}}, "Normal", "R", "m")


def test_a_reference_is_taken_as_it_is() -> None:
    reference = {"kind": "Node", "name": "n1", "uid": "n1"}
    assert reference_of(reference) == reference


def test_events_of_a_killed_component_are_lost() -> None:
    world = World()
    world.recorder.event(POD, "Normal", "A", "m")
    world.kcm.kill()
    world.recorder.event(POD, "Normal", "B", "m")
    world.loop.run(for_ms=100)
    assert world.events() == []


def test_the_tenth_different_message_within_ten_minutes_is_combined() -> None:
    correlator = EventCorrelator()
    found = []
    for number in range(11):
        result = correlator.correlate({**SOMETHING, "message": f"m{number}"}, number * 1000)
        assert result.event is not None
        correlator.update_state(result.event)
        found.append((result.event["message"], result.event["count"], result.patch is not None))
        correlator.check_invariants()
    assert found[8:] == [
        ("m8", 1, False),
        ("(combined from similar events): m9", 1, False),
        ("(combined from similar events): m10", 2, True),
    ]


def test_a_combined_event_has_no_reporter_and_a_new_name() -> None:
    correlator = EventCorrelator(max_events=1)
    result = correlator.correlate({**SOMETHING, "reportingComponent": "kubelet"}, 0)
    assert result.event is not None
    assert "reportingComponent" not in result.event
    assert result.event["metadata"]["name"].startswith("web-0.")
    assert result.event["firstTimestamp"] == "2026-01-01T00:00:00Z"


def test_more_than_ten_quiet_minutes_start_the_aggregation_anew() -> None:
    correlator = EventCorrelator(max_events=2)
    assert combined(correlator, "a", 0) is False
    assert combined(correlator, "b", 600_000) is True
    correlator = EventCorrelator(max_events=2)
    assert combined(correlator, "a", 0) is False
    assert combined(correlator, "b", 600_001) is False


def combined(correlator: EventCorrelator, message: str, now_ms: int) -> bool:
    event = correlator.correlate({**SOMETHING, "message": message}, now_ms).event
    assert event is not None
    return str(event["message"]).startswith("(combined")


def test_a_skipped_event_still_counts() -> None:
    correlator = EventCorrelator(burst=1)
    assert not correlator.correlate(SOMETHING, 0).skip
    assert correlator.correlate(SOMETHING, 1).skip
    result = correlator.correlate(SOMETHING, 300_000)
    assert result.event is not None
    assert result.event["count"] == 3


def test_a_small_cache_forgets_the_event_that_was_longest_unseen() -> None:
    correlator = EventCorrelator(cache_size=2)
    for reason in ("A", "B", "A", "C", "A", "B"):
        result = correlator.correlate({**SOMETHING, "reason": reason}, 0)
    assert result.patch is None
    assert len(correlator.view()["counts"]) == 2


def test_events_of_nodes_and_pods_do_not_share_a_budget() -> None:
    correlator = EventCorrelator(burst=1)
    other = {**SOMETHING, "involvedObject": {"kind": "Node", "name": "n1"}}
    assert [correlator.correlate(event, 0).skip for event in (SOMETHING, other, SOMETHING)] == [False, False, True]


def test_without_a_lane_of_its_own_a_recorder_acts_for_the_part_of_the_component_that_records() -> None:
    world = World()
    recorder = EventRecorder(world.loop, Client(world.server), world.kcm, "replicaset-controller")
    trace = world.loop.trace
    recorder.event(POD, "Normal", "A", "m")
    trace.emit("queue.add", "kcm/replicaset", queue="replicaset", key="x")
    recorder.event(POD, "Normal", "B", "m")
    trace.current = None
    trace.emit("queue.add", "scheduler", queue="scheduler", key="x")
    recorder.event(POD, "Normal", "C", "m")
    assert [event.actor for event in trace if event.kind == "event.record"] == ["kcm", "kcm/replicaset", "kcm"]
