"""The scheduler's metrics: upstream's names, and numbers that follow from what happened."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from k8slab.api.features import FeatureGates
from k8slab.api.scheme import NODES, PODGROUPS, PODS
from k8slab.scheduler import Code, Framework, SchedulerMetrics, Snapshot, Status
from k8slab.scheduler.metrics import Histogram
from tests.gangs import GangWorld
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import Scripted, node, pod, profile
from tests.unit.scheduler.test_gang_scheduling import in_group, pod_group

# pkg/scheduler/metrics/metrics.go: metricsList and what gates add, without batching and the API dispatcher.
NAMES = [
    "cache_size",
    "event_handling_duration_seconds",
    "framework_extension_point_duration_seconds",
    "goroutines",
    "inflight_events",
    "pending_pods",
    "permit_wait_duration_seconds",
    "plugin_evaluation_total",
    "plugin_execution_duration_seconds",
    "pod_scheduled_after_flush_total",
    "pod_scheduling_attempts",
    "pod_scheduling_sli_duration_seconds",
    "preemption_attempts_total",
    "preemption_goroutines_duration_seconds",
    "preemption_goroutines_execution_total",
    "preemption_victims",
    "queue_incoming_pods_total",
    "queueing_hint_execution_duration_seconds",
    "schedule_attempts_total",
    "scheduling_algorithm_duration_seconds",
    "scheduling_attempt_duration_seconds",
    "unschedulable_pods",
]


def series(world: SchedulerWorld, name: str) -> dict[tuple[str, ...], float]:
    """Values by label values (labels by name), as Prometheus' own parser reads them from the text."""
    found = {}
    for family in text_string_to_metric_families(world.scheduler.metrics.text()):
        for sample in family.samples:
            if sample.name == f"scheduler_{name}":
                found[tuple(sample.labels[label] for label in sorted(sample.labels))] = sample.value
    return found


def test_an_explanation_is_not_counted() -> None:
    """It changes nothing: what plugins answered for a reader is no work of the scheduler's."""
    framework = Framework.from_profile()
    before = framework.metrics.text()
    assert framework.explain(pod(cpu="1"), Snapshot.of([node("a")])).best == ["a"]
    assert framework.metrics.text() == before
    framework.schedule(pod(cpu="1"), Snapshot.of([node("a")]))
    assert framework.metrics.text() != before


def test_the_names_are_upstreams() -> None:
    families = SchedulerMetrics(FeatureGates("1.36")).families
    assert [family.name for family in families] == [f"scheduler_{name}" for name in NAMES]
    older = {family.name for family in SchedulerMetrics(FeatureGates("1.32")).families}
    assert "scheduler_preemption_goroutines_execution_total" not in older


@pytest.mark.parametrize(
    ("name", "first", "last", "count"),
    [
        # ExponentialBuckets(start, factor, count): the last one is start * factor^(count - 1).
        ("scheduling_attempt_duration_seconds", 0.001, 0.001 * 2**14, 15),
        ("pod_scheduling_sli_duration_seconds", 0.01, 0.01 * 2**19, 20),
        ("pod_scheduling_attempts", 1, 16, 5),
        ("preemption_victims", 1, 64, 7),
        ("framework_extension_point_duration_seconds", 0.0001, 0.0001 * 2**11, 12),
    ],
)
def test_buckets_are_upstreams(name: str, first: float, last: float, count: int) -> None:
    families = SchedulerMetrics(FeatureGates()).families
    family = next(family for family in families if family.name == f"scheduler_{name}")
    assert isinstance(family, Histogram)
    assert (family.bounds[0], len(family.bounds)) == (first, count)
    assert family.bounds[-1] == pytest.approx(last)


def test_a_histogram_adds_up_its_buckets() -> None:
    histogram = Histogram("waits", "Waits.", (0.5, 2, 2), ("who",))
    for ms in (100, 500, 501, 3_000):
        histogram.observe(ms, "me")
    found = [(extra, dict(labels).get("le"), value) for extra, labels, value in histogram.samples()]
    assert found == [
        ("_bucket", "0.5", 2),
        ("_bucket", "1", 3),
        ("_bucket", "+Inf", 4),
        ("_sum", None, 4.101),
        ("_count", None, 4),
    ]


def test_pods_that_come_through_and_pods_that_do_not() -> None:
    world = SchedulerWorld()
    world.put(node("a", "1"), pod("fits", "600m"), pod("too-big", "700m"))
    world.run(50)
    assert series(world, "schedule_attempts_total") == {
        ("default-scheduler", "scheduled"): 1,
        ("default-scheduler", "unschedulable"): 1,
    }
    assert series(world, "pending_pods") == {("active",): 0, ("backoff",): 0, ("gated",): 0, ("unschedulable",): 1}
    assert series(world, "unschedulable_pods") == {("NodeResourcesFit", "default-scheduler"): 1}
    assert series(world, "cache_size") == {("assumed_pods",): 0, ("nodes",): 1, ("pods",): 1}
    incoming = series(world, "queue_incoming_pods_total")  # labels: event, queue
    assert incoming == {("UnscheduledPodAdd", "active"): 2, ("ScheduleAttemptFailure", "unschedulable"): 1}
    metrics = world.scheduler.metrics
    assert metrics.value("scheduler_pod_scheduling_attempts_count") == 1
    assert metrics.value("scheduler_scheduling_algorithm_duration_seconds_count") == 2
    assert metrics.value("scheduler_preemption_attempts_total") == 1


def test_a_cycle_without_nodes_is_measured_too() -> None:
    framework = Framework.from_profile()
    framework.schedule(pod(), Snapshot())
    assert framework.metrics.value("scheduler_scheduling_algorithm_duration_seconds_count") == 1


def test_a_gang_is_counted_as_a_group_and_its_members_as_pods() -> None:
    """Every member's part of the cycle is measured too. PostFilter is asked for one without a place; nobody goes."""
    made = GangWorld(gates={"GenericWorkload": True, "GangScheduling": True})
    made.server.put(NODES, node("a", "2"))
    made.server.put(PODS, pod("low", "1", "1Mi", node_name="a", priority=0))
    made.server.put(PODGROUPS, pod_group("g", 2))
    for name in ("m0", "m1"):
        made.server.put(PODS, in_group(name, "g", priority=10))
    made.run(50)
    value = made.scheduler.metrics.value
    assert value("scheduler_podgroup_schedule_attempts_total", result="unschedulable") == 1
    assert value("scheduler_podgroup_scheduling_algorithm_duration_seconds_count") == 1
    assert value("scheduler_podgroup_scheduling_attempt_duration_seconds_count", profile="default-scheduler") == 1
    assert value("scheduler_scheduling_algorithm_duration_seconds_count") == 2
    assert value("scheduler_preemption_attempts_total") == 1
    assert value("scheduler_preemption_victims_count") == 0
    made.server.put(NODES, node("b", "1"))
    made.run(3_000)
    assert sorted(made.bound()) == ["low", "m0", "m1"]
    assert value("scheduler_podgroup_schedule_attempts_total", result="scheduled") == 1


def test_pod_groups_have_series_with_their_gate() -> None:
    def names(**gates: bool) -> set[str]:
        return {family.name for family in SchedulerMetrics(FeatureGates("1.36", overrides=gates)).families}

    assert names(GenericWorkload=True) - names() == {
        "scheduler_podgroup_schedule_attempts_total",
        "scheduler_podgroup_scheduling_algorithm_duration_seconds",
        "scheduler_podgroup_scheduling_attempt_duration_seconds",
    }


def test_what_takes_virtual_time_is_measured_in_it() -> None:
    """A request takes 1 ms each way in this world: the binding is 2 ms, and so is an attempt that ends with it."""
    world = SchedulerWorld()
    world.put(node("a"))
    world.run(20)
    world.put(pod("p"))
    world.run(50)
    metrics = world.scheduler.metrics
    assert metrics.value("scheduler_framework_extension_point_duration_seconds_sum", extension_point="Bind") == 0.002
    assert metrics.value("scheduler_framework_extension_point_duration_seconds_sum", extension_point="Filter") == 0
    assert metrics.value("scheduler_scheduling_attempt_duration_seconds_sum", result="scheduled") == 0.002
    assert metrics.value("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="1") == 0.002


def test_a_gated_pod_is_counted_apart() -> None:
    world = SchedulerWorld()
    world.put(node("a"), pod("held", schedulingGates=[{"name": "wait"}]))
    world.run(50)
    assert series(world, "pending_pods")["gated",] == 1
    assert series(world, "unschedulable_pods") == {("SchedulingGates", "default-scheduler"): 1}


def test_evaluations_are_counted_as_far_as_they_go() -> None:
    """The first filter that says no ends a Node's round: NodeResourcesFit sees two of three, PodTopologySpread one."""
    nodes = [node("a"), node("b", "1"), node("c", unschedulable=True)]
    for memo in (True, False):
        framework = Framework.from_profile(memo=memo)
        for attempt in (1, 2, 3):
            framework.schedule(pod(cpu="2"), Snapshot.of(nodes))
            counts = {
                plugin: framework.metrics.value(
                    "scheduler_plugin_evaluation_total", plugin=plugin, extension_point="Filter"
                )
                for plugin in ("NodeUnschedulable", "NodeName", "NodeResourcesFit")
            }
            assert counts == {
                "NodeUnschedulable": 3 * attempt,
                "NodeName": 2 * attempt,
                "NodeResourcesFit": 2 * attempt,
            }


def test_scores_are_counted_for_the_feasible_nodes() -> None:
    framework = Framework.from_profile(profile("Scripted"), registry={"Scripted": Scripted})
    framework.schedule(pod(), Snapshot.of([node("a"), node("b"), node("c")]))
    value = framework.metrics.value
    assert value("scheduler_plugin_evaluation_total", plugin="Scripted", extension_point="Score") == 3
    assert value("scheduler_framework_extension_point_duration_seconds_count", extension_point="Score") == 1


def test_hints_and_events_in_flight() -> None:
    world = SchedulerWorld()
    world.put(node("a", "1"), pod("p", "2"))
    world.run(50)
    world.server.put(NODES, node("b", "1"))  # no more room than before: the hint says so
    world.run(50)
    metrics = world.scheduler.metrics
    count = "scheduler_queueing_hint_execution_duration_seconds_count"
    assert metrics.value(count, plugin="NodeResourcesFit", event="NodeAdd", hint="QueueSkip") == 1
    assert metrics.value("scheduler_event_handling_duration_seconds_count", event="NodeAdd") == 2
    assert series(world, "inflight_events") == {}
    assert metrics.value("scheduler_goroutines", operation="binding") == 0


class Slow:
    """Takes its time before binding."""

    name = "Slow"

    def __init__(self, args: Any, handle: Any) -> None:
        self.args = args

    def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Status:
        from k8slab.scheduler import SUCCESS

        return SUCCESS

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Status:
        from k8slab.scheduler import SUCCESS
        from k8slab.sim.loop import sleep

        await sleep(500)
        return SUCCESS

    def permit(self, state: Any, pod: Any, node_name: str) -> tuple[Status, int]:
        return Status(Code.WAIT), 300


def test_bindings_and_waits_that_last() -> None:
    world = SchedulerWorld(profiles=[profile("Slow")], registry={"Slow": Slow})
    world.put(node("a"), pod("p"))
    world.run(100)
    assert series(world, "goroutines") == {("binding",): 1}
    assert series(world, "inflight_events")["PodPopped",] == 1
    world.run(250)  # Permit's 300 ms are over, so the Pod was rejected
    value = world.scheduler.metrics.value
    assert value("scheduler_permit_wait_duration_seconds_count", result="Unschedulable") == 1
    assert 0 < value("scheduler_permit_wait_duration_seconds_sum", result="Unschedulable") <= 0.3


def test_a_preemption_is_counted_with_its_victims_and_its_task() -> None:
    world = SchedulerWorld()
    world.put(node("a", "2"))
    for name in ("x", "y"):
        low = pod(name, "1", node_name="a", priority=0)
        world.server.put(PODS, {**low, "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}})
    world.run(20)
    world.put(pod("vip", "2", priority=10))
    world.run(100)
    metrics = world.scheduler.metrics
    assert metrics.value("scheduler_preemption_attempts_total") == 1
    assert metrics.value("scheduler_preemption_victims_sum") == 2
    assert metrics.value("scheduler_preemption_goroutines_execution_total", result="success") == 1
    assert world.node_of("vip") == "a"


def test_a_pod_that_only_the_timeout_brought_back_is_told_apart() -> None:
    world = SchedulerWorld(profiles=[profile("Scripted", args={"Scripted": {"filter": {"a": DEAF}}})], registry=_DEAF)
    world.put(node("a"), pod("p"))
    world.run(1_000)
    world.plugin("Scripted").args["filter"].clear()
    world.run(6 * 60_000)
    assert world.node_of("p") == "a"
    assert world.scheduler.metrics.value("scheduler_pod_scheduled_after_flush_total") == 1
    assert series(world, "queue_incoming_pods_total")["UnschedulableTimeout", "active"] == 1


DEAF = Status(Code.UNSCHEDULABLE, "no")


class Deaf(Scripted):
    """Registers for nothing, so only the timeout brings a Pod back."""

    def events_to_register(self) -> list[Any]:
        return []


_DEAF = {"Scripted": Deaf}


def test_the_text_is_what_prometheus_reads() -> None:
    world = SchedulerWorld()
    world.put(node("a"), pod("p"))
    world.run(50)
    families = {family.name: family for family in text_string_to_metric_families(world.scheduler.metrics.text())}
    attempts = families["scheduler_schedule_attempts"]
    assert attempts.type == "counter"
    assert attempts.documentation.startswith("[STABLE] Number of attempts to schedule pods, by the result.")
    assert families["scheduler_pending_pods"].type == "gauge"
    assert families["scheduler_scheduling_attempt_duration_seconds"].type == "histogram"


def test_labels_are_escaped() -> None:
    metrics = SchedulerMetrics(FeatureGates())
    metrics.schedule_attempts.inc('a"b\\c\nd', "p")
    (family,) = [f for f in text_string_to_metric_families(metrics.text()) if f.name == "scheduler_schedule_attempts"]
    assert family.samples[0].labels["result"] == 'a"b\\c\nd'


def test_asking_for_what_is_not_there() -> None:
    metrics = SchedulerMetrics(FeatureGates())
    with pytest.raises(KeyError, match="no metric 'scheduler_nope', expected one of scheduler_cache_size, "):
        metrics.value("scheduler_nope")
    with pytest.raises(KeyError, match="scheduler_cache_size: no label 'kind', expected one of type"):
        metrics.value("scheduler_cache_size", kind="nodes")
    with pytest.raises(KeyError, match="no metric 'scheduler_preemption_victims'"):
        metrics.value("scheduler_preemption_victims")  # a histogram: ask for _count, _sum or _bucket
    assert metrics.value("scheduler_preemption_victims_count") == 0


def test_one_seed_one_page() -> None:
    def page() -> str:
        world = SchedulerWorld(seed=3)
        world.put(node("a", "1"), node("b", "2"), pod("p", "1"), pod("q", "2"), pod("r", "3"))
        world.run(40_000)
        return world.scheduler.metrics.text()

    assert page() == page()
