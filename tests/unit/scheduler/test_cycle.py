"""Choosing a Node: sampling, rotation, ties, the memo, explanations."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from k8slab.scheduler import Code, Framework, Snapshot, Status, num_feasible_nodes_to_find
from k8slab.scheduler.snapshot import interleave_zones
from tests.scheduling import Scripted, node, pod, profile

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("percentage", "nodes", "expected"),
    [
        pytest.param(0, 99, 99, id="fewer than 100 nodes are all looked at"),
        pytest.param(1, 99, 99, id="fewer than 100 nodes are all looked at, whatever the percentage"),
        pytest.param(0, 1000, 420, id="adaptive: 50 % - 1000/125 %"),
        pytest.param(0, 6000, 300, id="adaptive, not less than 5 %"),
        pytest.param(40, 1000, 400, id="a fixed percentage"),
        pytest.param(5, 1000, 100, id="never fewer than 100"),
        pytest.param(100, 5000, 5000, id="all of them, if told so"),
    ],
)
def test_how_many_feasible_nodes_are_enough(percentage: int, nodes: int, expected: int) -> None:
    assert num_feasible_nodes_to_find(percentage, nodes) == expected


def test_the_next_sample_begins_where_the_last_one_ended() -> None:
    framework = Framework.from_profile({"percentageOfNodesToScore": 50})
    snapshot = Snapshot.of([node(f"n{i:03}") for i in range(250)])
    seen = [framework.schedule(pod(), snapshot).feasible for _ in range(3)]
    assert [(names[0], names[-1], len(names)) for names in seen] == [
        ("n000", "n124", 125),
        ("n125", "n249", 125),
        ("n000", "n124", 125),
    ]


def test_rejected_nodes_count_towards_the_rotation() -> None:
    blocked = {f"n{i:03}": Status(Code.UNSCHEDULABLE, "no") for i in range(10)}
    framework = Framework.from_profile(
        profile("Scripted", args={"Scripted": {"filter": blocked}}, percentageOfNodesToScore=50),
        registry={"Scripted": Scripted},
    )
    snapshot = Snapshot.of([node(f"n{i:03}") for i in range(200)])
    first = framework.schedule(pod(), snapshot)
    assert (first.feasible[0], len(first.feasible), first.evaluated) == ("n010", 100, 110)
    assert framework.schedule(pod(), snapshot).feasible[0] == "n110"


def test_the_only_feasible_node_is_taken_without_scoring() -> None:
    result = Framework.from_profile().schedule(pod(cpu="3"), Snapshot.of([node("a"), node("b", "1")]))
    assert (result.node, result.score, result.weighted) == ("a", 0, [])


def test_ties_are_broken_by_the_seeded_stream_and_evenly() -> None:
    snapshot = Snapshot.of([node("a"), node("b"), node("small", "1")])

    def picks(seed: int) -> list[str]:
        framework = Framework.from_profile(rng=random.Random(seed))
        return [framework.schedule(pod(), snapshot).node for _ in range(200)]

    assert picks(1) == picks(1)
    counts = Counter(picks(1))
    assert set(counts) == {"a", "b"}
    assert min(counts.values()) > 70


def test_a_result_tells_the_scores_of_every_feasible_node() -> None:
    # Least allocated of a: CPU (4000-100)*100/4000 = 97, memory (8192-100)*100/8192 = 98 -> 97; taints 3 * 100.
    result = Framework.from_profile().schedule(pod(), Snapshot.of([node("a"), node("b", "1")]))
    assert result.scores["a"] == {
        "TaintToleration": 300,
        "NodeResourcesFit": 97,
        "DynamicResources": 0,
        "NodeResourcesBalancedAllocation": 74,
        "ImageLocality": 0,
    }
    assert result.totals["a"] == result.score == 471
    assert result.totals["b"] < 471


def test_the_memo_keeps_verdicts_until_a_node_changes() -> None:
    asked: list[str] = []

    class Local(Scripted):
        name = "Local"
        node_local = True

        def filter(self, state, pod, node):  # type: ignore[no-untyped-def]
            asked.append(node.name)
            return super().filter(state, pod, node)

        def sign_pod(self, pod):  # type: ignore[no-untyped-def]
            return {"app": pod["metadata"].get("labels")}

    framework = Framework.from_profile(profile("Local"), registry={"Local": Local})
    snapshot = Snapshot.of([node("a"), node("b")])
    framework.schedule(pod(), snapshot)
    assert asked == ["a", "b"], "one of a kind is not remembered"
    for name in ("second", "third"):
        framework.schedule(pod(name), snapshot)
    assert asked[2:] == ["a", "b"]
    snapshot.assume(pod("x"), "a")
    framework.schedule(pod(), snapshot)
    assert asked[4:] == ["a"]
    other = {**pod(), "metadata": {"name": "o", "labels": {"app": "o"}}}
    framework.schedule(other, snapshot)
    assert asked[5:] == ["a", "b"]
    framework.schedule(pod(), Snapshot.of([node("a"), node("b")]))
    assert asked[7:] == ["a", "b"], "another snapshot has other generations"


def test_an_explanation_asks_every_plugin_about_every_node() -> None:
    nodes = [node("a"), node("b", "1", unschedulable=True), node("c", "1")]
    explanation = Framework.from_profile().explain(pod(cpu="2"), Snapshot.of(nodes))
    assert explanation.node("b").reasons == ["node(s) were unschedulable", "Insufficient cpu"]
    assert explanation.node("c").reasons == ["Insufficient cpu"]
    assert explanation.best == ["a"]
    assert explanation.skipped_filters == [
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodePorts",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    ]
    shown = explanation.view()["nodes"]["a"]
    assert shown["feasible"] and shown["total"] == explanation.node("a").total == sum(shown["weighted"].values())
    with pytest.raises(KeyError, match="nowhere"):
        explanation.node("nowhere")


def test_explaining_and_scheduling_agree() -> None:
    snapshot = Snapshot.of([node("a"), node("b", "2"), node("c", "8")])
    result = Framework.from_profile().schedule(pod(cpu="1500m"), snapshot, explain=True)
    assert result.explanation is not None
    assert result.explanation.best == [result.node]
    assert {row.node: row.total for row in result.explanation.nodes} == dict(result.totals)


def test_after_an_explanation_plugins_see_the_snapshot_they_saw_before() -> None:
    class Broken(Scripted):
        def filter(self, *_: object) -> Status:
            raise ValueError("broken")

    before, another = Snapshot.of([node("a")]), Snapshot.of([node("b")])
    framework = Framework.from_profile()
    framework.schedule(pod(), before)
    framework.explain(pod(), another)
    assert framework.snapshot() is before
    broken = Framework.from_profile(profile("Scripted"), registry={"Scripted": Broken})
    broken.use_snapshot(before)
    with pytest.raises(ValueError, match="broken"):
        broken.explain(pod(), another)
    assert broken.snapshot() is before


def test_zones_take_turns_in_the_order_of_evaluation() -> None:
    assert interleave_zones({"x": ["x1", "x2"], "y": ["y1"], "z": ["z1", "z2", "z3"]}) == [
        "x1",
        "y1",
        "z1",
        "x2",
        "z2",
        "z3",
    ]
    nodes = [node(name, labels={ZONE: zone}) for name, zone in (("a", "1"), ("b", "1"), ("c", "2"))]
    assert [info.name for info in Snapshot.of(nodes).nodes] == ["a", "c", "b"]


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="a is there twice"):
        Snapshot.of([node("a"), node("a")])
