"""The GPU temperature plugin: the limit, the order, what is stale, what is wrong, and how Pods come back."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from k8slab.api.times import rfc3339
from k8slab.cluster import Cluster
from k8slab.kubelet import NodeConfig
from k8slab.scheduler import Framework, Scheduler, Snapshot
from k8slab.scheduler.framework import (
    NODE_ADD,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from k8slab.scheduler.plugins.gpu_temperature import MEASURED_AT, TEMPERATURE, GPUTemperature
from k8slab.sim import Loop
from tests.scheduling import node, pod

PLUGINS = {"GPUTemperature": GPUTemperature}
HOT = "node(s) had a GPU hotter than 85 degrees Celsius"
SILENT = "node(s) had no GPU temperature of the last 15 seconds"
GPU = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}


def gpu_pod(name: str = "train", **spec: Any) -> dict[str, Any]:
    made = pod(name, **spec)
    made["spec"]["containers"][0]["resources"] = GPU
    return made


def gpu_node(name: str, celsius: str | None = None, measured_ms: int | str | None = 0) -> dict[str, Any]:
    made = node(name, nvidia_com__gpu="4")
    annotations = {TEMPERATURE: celsius} if celsius is not None else {}
    if measured_ms is not None:
        annotations[MEASURED_AT] = rfc3339(measured_ms) if isinstance(measured_ms, int) else measured_ms
    made["metadata"]["annotations"] = annotations
    return made


def profile(**args: Any) -> dict[str, Any]:
    return {
        "plugins": {"multiPoint": {"enabled": [{"name": "GPUTemperature", "weight": 5}]}},
        "pluginConfig": [{"name": "GPUTemperature", "args": args}],
    }


def framework(now_ms: int = 0, **args: Any) -> Framework:
    loop = Loop()
    loop.run(for_ms=now_ms)
    return Framework.from_profile(profile(**args), registry=PLUGINS, loop=loop)


def reasons(now_ms: int, *nodes: dict[str, Any], **args: Any) -> dict[str, list[str]]:
    found = framework(now_ms, **args).explain(gpu_pod(), Snapshot.of(nodes))
    return {row.node: row.reasons for row in found.nodes}


def scores(now_ms: int, *nodes: dict[str, Any], **args: Any) -> dict[str, int]:
    found = framework(now_ms, **args).explain(gpu_pod(), Snapshot.of(nodes))
    return {row.node: row.weighted["GPUTemperature"] for row in found.nodes if row.feasible}


@pytest.mark.parametrize(
    ("celsius", "verdict"), [("84", []), ("85", []), ("86", [HOT]), ("-5", []), ("110", [HOT])], ids=str
)
def test_a_node_is_kept_at_the_limit_and_rejected_one_degree_above(celsius: str, verdict: list[str]) -> None:
    assert reasons(0, gpu_node("a", celsius)) == {"a": verdict}


@pytest.mark.parametrize(
    ("now_ms", "verdict"),
    [(15_000, []), (15_001, [SILENT]), (600_000, [SILENT])],
    ids=["as old as may be", "a millisecond older", "ten minutes"],
)
def test_a_report_counts_for_fifteen_seconds(now_ms: int, verdict: list[str]) -> None:
    assert reasons(now_ms, gpu_node("a", "40")) == {"a": verdict}


def test_a_clock_that_is_ahead_is_trusted_as_far_as_one_that_is_behind() -> None:
    found = reasons(0, gpu_node("a", "40", 15_000), gpu_node("b", "40", 16_000))
    assert found == {"a": [], "b": [SILENT]}


@pytest.mark.parametrize(
    ("celsius", "measured"),
    [
        (None, 0),
        ("40", None),
        ("warm", 0),
        ("40.5", 0),
        ("", 0),
        ("4000", 0),
        ("40", "yesterday"),
        ("40", "2026-01-01T00:00:00"),
    ],
    ids=["no temperature", "no time", "a word", "a fraction", "empty", "four digits", "no date", "no time zone"],
)
def test_what_cannot_be_read_is_no_report(celsius: str | None, measured: int | str | None) -> None:
    assert reasons(0, gpu_node("a", celsius, measured)) == {"a": [SILENT]}
    assert scores(0, gpu_node("a", celsius, measured), withoutMetric="Allow") == {"a": 0}


def test_with_allow_a_silent_node_is_the_last_choice_and_a_hot_one_no_choice() -> None:
    nodes = gpu_node("silent"), gpu_node("warm", "84"), gpu_node("hot", "90")
    assert reasons(0, *nodes, withoutMetric="Allow") == {"silent": [], "warm": [], "hot": [HOT]}
    # Headroom: 85 - 84 = 1 is the most, so it becomes 100; weight 5.
    assert scores(0, *nodes, withoutMetric="Allow") == {"silent": 0, "warm": 500}


def test_the_most_headroom_scores_100_and_the_others_in_proportion() -> None:
    # Headrooms 60, 30, 15, 0 of a limit of 85; 100 * h // 60; weight 5.
    nodes = [gpu_node(str(celsius), str(celsius)) for celsius in (25, 55, 70, 85)]
    assert scores(0, *nodes) == {"25": 500, "55": 250, "70": 125, "85": 0}


def test_limits_and_ages_come_from_the_arguments() -> None:
    args = {"maxTemperatureCelsius": 70, "maxMetricAgeSeconds": 60}
    assert reasons(60_000, gpu_node("a", "70"), gpu_node("b", "71"), **args) == {
        "a": [],
        "b": ["node(s) had a GPU hotter than 70 degrees Celsius"],
    }
    assert reasons(60_001, gpu_node("a", "70"), **args) == {
        "a": ["node(s) had no GPU temperature of the last 60 seconds"]
    }


def test_a_pod_without_gpus_goes_anywhere_and_is_not_scored() -> None:
    found = framework().explain(pod("web"), Snapshot.of([gpu_node("a", "99")]))
    assert found.nodes[0].feasible
    assert "GPUTemperature" in found.skipped_filters
    assert "GPUTemperature" in found.skipped_scores


def test_reasons_of_many_hot_nodes_are_counted_as_one() -> None:
    nodes = [gpu_node("a", "86"), gpu_node("b", "97"), gpu_node("c")]
    message = framework().schedule(gpu_pod(), Snapshot.of(nodes)).message
    assert message.startswith(f"0/3 nodes are available: 1 {SILENT}, 2 {HOT}. ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"maxTemperature": 85}, "args.maxTemperature: unknown, expected resourceName, maxTemperatureCelsius, .*"),
        ({"maxTemperatureCelsius": 0}, "args.maxTemperatureCelsius: 0, expected an integer of 1 or more"),
        ({"maxTemperatureCelsius": "85"}, "args.maxTemperatureCelsius: '85', expected an integer of 1 or more"),
        ({"maxMetricAgeSeconds": 0.5}, "args.maxMetricAgeSeconds: 0.5, expected an integer of 1 or more"),
        ({"maxMetricAgeSeconds": True}, "args.maxMetricAgeSeconds: True, expected an integer of 1 or more"),
        ({"withoutMetric": "Ignore"}, "args.withoutMetric: 'Ignore', expected Reject or Allow"),
        ({"withoutMetric": ["Reject"]}, r"args.withoutMetric: \['Reject'\], expected Reject or Allow"),
        ({"resourceName": "cpu"}, "args.resourceName: 'cpu', expected an extended resource such as nvidia.com/gpu"),
    ],
    ids=["unknown", "zero", "a text", "half a second", "a boolean", "no policy", "a list", "no extended resource"],
)
def test_wrong_arguments_name_field_value_and_what_was_expected(args: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        framework(**args)


def test_where_no_time_passes_no_metric_is_stale() -> None:
    bare = Framework.from_profile(profile(), registry=PLUGINS)
    assert bare.schedule(gpu_pod(), Snapshot.of([gpu_node("a", "40"), gpu_node("b", "90")])).node == "a"


# -- coming back -----------------------------------------------------------------------------------

COOL, HOT_NODE = gpu_node("a", "60"), gpu_node("a", "90")


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (HOT_NODE, COOL, QueueingHint.QUEUE),
        (gpu_node("a"), COOL, QueueingHint.QUEUE),
        (None, COOL, QueueingHint.QUEUE),
        (None, HOT_NODE, QueueingHint.QUEUE_SKIP),
        (HOT_NODE, gpu_node("a", "86"), QueueingHint.QUEUE_SKIP),
        (COOL, gpu_node("a", "50"), QueueingHint.QUEUE_SKIP),
        (COOL, HOT_NODE, QueueingHint.QUEUE_SKIP),
        (COOL, None, QueueingHint.QUEUE_SKIP),
    ],
    ids=["cooled", "reported", "new and cool", "new and hot", "less hot", "cooler", "heated", "gone"],
)
def test_the_hint_queues_when_a_node_begins_to_pass(old: Any, new: Any, hint: QueueingHint) -> None:
    (registered,) = framework().events_to_register()["GPUTemperature"]
    assert registered.hint is not None
    assert registered.hint(gpu_pod(), old, new) is hint


def test_a_report_after_a_silence_queues_although_the_node_was_cool_before() -> None:
    (registered,) = framework(60_000).events_to_register()["GPUTemperature"]
    assert registered.hint is not None
    assert registered.hint(gpu_pod(), gpu_node("a", "60", 0), gpu_node("a", "60", 60_000)) is QueueingHint.QUEUE


def test_it_registers_for_new_nodes_and_for_annotations() -> None:
    (registered,) = framework().events_to_register()["GPUTemperature"]
    assert registered.event.matches(NODE_ADD)
    assert registered.event.matches(ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_ANNOTATION))
    assert not registered.event.matches(ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL))


class NewNodesOnly(GPUTemperature):
    """Hears of new Nodes alone, as when temperatures come from a metrics service: no event tells of them."""

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [ClusterEventWithHint(NODE_ADD)]


class FilterAndScore(GPUTemperature):
    """Filter and Score alone, as it is often written: the framework takes it to be interested in everything."""

    events_to_register = None  # type: ignore[assignment]


def hot_cluster(plugin: type[GPUTemperature]) -> Cluster:
    """One node at 95 degrees and a Pod that wants a GPU."""
    cluster = Cluster(
        nodes=[NodeConfig("node-1", extended={"nvidia.com/gpu": "4"})],
        scheduler=partial(Scheduler, profiles=[profile()], registry={"GPUTemperature": plugin}),
    )
    report(cluster, 95)
    train = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}}
    cluster.apply({**train, "spec": {"containers": [{"name": "c", "image": "train", "resources": GPU}]}})
    cluster.run(for_ms=5_000)
    return cluster


def report(cluster: Cluster, celsius: int) -> None:
    annotations = {TEMPERATURE: str(celsius), MEASURED_AT: rfc3339(cluster.now_ms)}
    cluster.patch("node/node-1", {"metadata": {"annotations": annotations}})


def seconds_until_bound(cluster: Cluster, every_ms: int = 10_000) -> int:
    """How long after the first report of 60 degrees the Pod is bound; the agent goes on reporting."""
    start = cluster.now_ms
    for _ in range(60):
        report(cluster, 60)
        if cluster.run(until=lambda: bool(cluster.object("pod/train")["spec"].get("nodeName")), for_ms=every_ms):
            return (cluster.now_ms - start) // 1000
    raise AssertionError("the Pod was not bound within ten minutes")


def test_a_rejected_pod_says_why_and_comes_back_as_soon_as_a_node_cools() -> None:
    cluster = hot_cluster(GPUTemperature)
    (condition,) = [c for c in cluster.object("pod/train")["status"]["conditions"] if c["type"] == "PodScheduled"]
    assert condition["message"].startswith(f"0/1 nodes are available: 1 {HOT}. ")
    assert seconds_until_bound(cluster) <= 1
    cluster.close()


def test_without_an_event_the_pod_waits_for_the_flush_of_five_minutes() -> None:
    cluster = hot_cluster(NewNodesOnly)
    # 5 s ago it was parked; the pool is looked through every 30 s for who waits longer than 300 s.
    assert 295 <= seconds_until_bound(cluster) <= 330
    cluster.close()


def test_a_plugin_that_names_no_events_is_asked_again_after_every_event() -> None:
    cluster = hot_cluster(FilterAndScore)
    attempts = sum(event.kind == "schedule.attempt" for event in cluster.trace)
    for celsius in (94, 93, 92):
        report(cluster, celsius)
        cluster.run(for_ms=20_000)
    assert sum(event.kind == "schedule.attempt" for event in cluster.trace) == attempts + 3
    assert seconds_until_bound(cluster) <= 1
    cluster.close()


def test_the_hint_saves_the_attempts_that_could_not_succeed() -> None:
    cluster = hot_cluster(GPUTemperature)
    attempts = sum(event.kind == "schedule.attempt" for event in cluster.trace)
    for celsius in (94, 93, 92):
        report(cluster, celsius)
        cluster.run(for_ms=20_000)
    assert sum(event.kind == "schedule.attempt" for event in cluster.trace) == attempts
    cluster.close()


def test_fast_and_slow_reports_do_not_change_what_is_decided_about_silence() -> None:
    """An agent that reports every 20 s leaves its node without a fresh report for 5 s of each."""
    ages = {now: reasons(now, gpu_node("a", "60", now // 20_000 * 20_000))["a"] for now in range(0, 60_000, 1_000)}
    assert [now for now, verdict in ages.items() if verdict] == [
        now for now in range(0, 60_000, 1_000) if now % 20_000 > 15_000
    ]
