"""Gangs to step through, and their timeline as read from the trace."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.cluster import GangChange, GangCluster, GangTimeline
from k8slab.sim import Clock, Trace
from k8slab.widgets import Stepper

FOUR = {"node-1": 2, "node-2": 2}
PATIENT = {"podGroupRejectPercentage": 100, "permitWaitingTimeSeconds": 10}


def told(*events: tuple[str, dict[str, Any]]) -> list[GangChange]:
    trace, timeline = Trace(Clock()), GangTimeline()
    for kind, data in events:
        trace.emit(kind, "scheduler", resource="pods", **data)
    for event in trace:
        timeline.see(event)
    return timeline.rows


def test_a_timeline_is_read_from_the_trace() -> None:
    place = {"key": "default/a", "node": "n"}
    rows = told(
        ("schedule.queue", {"key": "default/a", "queue": "Active", "event": "x"}),
        ("schedule.queue", {"key": "default/a", "queue": "Backoff", "event": "x"}),
        ("schedule.decide", {**place, "feasible": 1, "evaluated": 1, "score": 0}),
        ("schedule.wait", {**place, "plugins": "Gang"}),
        ("schedule.allow", {**place, "waited_ms": 3}),
        ("event.record", {"key": "default/a", "type": "Normal", "reason": "Scheduled", "note": "."}),
        ("schedule.reject", {**place, "key": "default/b", "error": "no"}),
        ("schedule.bind-error", {**place, "key": "default/c", "error": "no"}),
    )
    assert [(row.who, row.state, row.node) for row in rows] == [
        ("a", "pending", ""),
        ("a", "reserved", "n"),
        ("a", "waiting", "n"),
        ("a", "allowed", "n"),
        ("a", "bound", "n"),
        ("b", "rejected", "n"),
        ("c", "failed", "n"),
    ]


def test_two_gangs_whose_pods_mix_hold_half_each() -> None:
    cluster = GangCluster(FOUR, args=PATIENT)
    cluster.submit({"red": 4, "blue": 4}, names="{number}-{gang}")
    cluster.run(for_ms=9_000)
    assert (cluster.bound(), cluster.held()) == ({"red": 0, "blue": 0}, {"red": 2, "blue": 2})
    cluster.close()


def test_the_same_gangs_in_tree_take_turns() -> None:
    cluster = GangCluster(FOUR, in_tree=True)
    cluster.submit({"red": 4, "blue": 4}, names="{number}-{gang}")
    cluster.run(for_ms=1_000)
    assert sorted(cluster.bound().values()) == [0, 4]
    assert cluster.held() == {"red": 0, "blue": 0}
    cluster.add_node("node-3", 4)
    cluster.run(for_ms=15_000)
    assert cluster.bound() == {"red": 4, "blue": 4}
    cluster.close()


def test_a_stepper_shows_members_changes_and_nodes() -> None:
    cluster = GangCluster(FOUR)
    cluster.submit({"red": 2}, need={"red": 1})
    cluster.add("alone")
    frames = Stepper(cluster, for_ms=500).frames
    assert frames["views"] == ["gangs", "lanes"]
    shown = cluster.view()["gangs"]
    assert shown["gangs"] == {"red": {"need": 1, "members": {"red-0": True, "red-1": True}}}
    assert shown["nodes"] == FOUR
    assert [len(change) for change in shown["changes"].values()] == [4] * len(cluster.timeline.rows)
    cluster.delete("red-0")
    cluster.run(for_ms=100)
    assert cluster.bound() == {"red": 2}  # what was bound stays so in the story
    cluster.close()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: GangCluster({}), "nodes: none"),
        (lambda: GangCluster({"a": 0}), "nodes: a: 0, expected how many Pods"),
        (lambda: GangCluster(FOUR).submit({"red": 0}), "gangs: red: 0, expected a new gang of 1 to 24 Pods"),
    ],
)
def test_what_is_no_cluster_or_gang_is_refused(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()
