"""What a plan of the Cluster Autoscaler does when a part of it fails or is capped, and what its inputs may be."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from k8slab.autoscaling.cloud import Cloud, Pool, QuotaExceededError
from k8slab.autoscaling.cluster_autoscaler import (
    AutoscalingOptions,
    ClusterView,
    NodeGroupConfig,
    StaticAutoscaler,
    parse_priorities,
)
from k8slab.autoscaling.cluster_autoscaler.node_groups import CloudProviderError, NodeGroups
from k8slab.autoscaling.cluster_autoscaler.planner import _known_owner, _missing_replicas
from k8slab.autoscaling.cluster_autoscaler.view import RecordEvent
from k8slab.scheduler import Framework
from tests.autoscaling import CaWorld, groups_of, machine, waiting_pod

TWO = machine("two", 2, 8)
CAPPED = ("status", "MaxNodesTotalReached", "Max total nodes in cluster reached: 4")


def pods(count: int) -> list[Any]:
    return [waiting_pod(f"p{n}", "900m", owner="rs") for n in range(count)]


def similar(*ids: str, fails: str = "", **options: Any) -> CaWorld:
    """Groups of one kind of machine; the cloud does not let `fails` grow."""
    configs = (NodeGroupConfig(id, "two") for id in ids)
    w = CaWorld(groups_of(*configs), balance_similar_node_groups=True, expander=("priority",), **options)
    w.more["priority_config_map"] = {"data": {"priorities": "10: ['a']\n5: ['.*']"}}
    increase = w.groups.increase_size

    def refusing(group_id: str, delta: int, now_ms: int) -> None:
        if group_id == fails:
            raise CloudProviderError("the cloud is on holiday")
        increase(group_id, delta, now_ms)

    w.groups.increase_size = refusing  # type: ignore[method-assign]
    return w


class TestAPlanThatFails:
    """executor.go (executeScaleUpsSync) and orchestrator.go (buildFailedGroupsMap)."""

    def test_groups_before_the_failed_one_have_grown_and_those_after_it_have_not(self) -> None:
        w = similar("a", "b", "c", fails="b")
        w.add(pods(6))
        found = w.loop().scale_up
        assert found.result == "ScaleUpError"
        assert w.sizes() == {"a": 1, "b": 0, "c": 0}
        assert ("status", "FailedToScaleUpGroup", "Scale-up failed for group b: the cloud is on holiday") in w.events
        assert not [event for event in w.events if event[1] == "TriggeredScaleUp"]

    def test_pods_are_without_help_when_all_groups_that_would_take_them_failed_or_came_later(self) -> None:
        w = similar("a", "b", "c", fails="a")
        w.add(pods(6))
        found = w.loop().scale_up
        assert [pod.pod["metadata"]["name"] for pod, _ in found.remaining] == [f"p{n}" for n in range(6)]
        assert found.remaining[0][1] == dict.fromkeys("abc", ("scale-up execution failed",))

    def test_pods_that_a_group_took_before_the_failure_are_not_without_help(self) -> None:
        w = similar("a", "b", "c", fails="b")
        w.add(pods(6))
        found = w.loop().scale_up
        assert found.remaining == []
        assert found.pod_groups[0].errors == dict.fromkeys("bc", ("scale-up execution failed",))

    def test_the_failed_group_pauses_and_the_next_loop_asks_the_others(self) -> None:
        w = similar("a", "b", fails="a")
        w.add(pods(2))
        w.loop()
        assert w.sizes() == {"a": 0, "b": 0}
        w.loop()
        assert w.sizes() == {"a": 0, "b": 1}


class TestMaxNodesTotal:
    """static_autoscaler.go compares Ready Nodes with it, orchestrator.go the Nodes of the snapshot."""

    def test_the_gate_looks_at_ready_nodes_alone(self) -> None:
        w = CaWorld(groups_of(NodeGroupConfig("pool", "two", size=4)), max_nodes_total=4)
        names = w.join()
        w.nodes[names[0]]["status"]["conditions"][0]["status"] = "False"
        w.add(pods(20))
        assert w.loop().scale_up.result == "ScaleUpNoOptionsAvailable"  # three are Ready: it gets past the gate
        assert CAPPED not in w.events

    def test_the_cap_counts_nodes_that_are_not_ready_and_those_that_are_coming(self) -> None:
        w = CaWorld(groups_of(NodeGroupConfig("pool", "two", size=3)), max_nodes_total=5)
        names = w.join()
        w.nodes[names[0]]["status"]["conditions"][0]["status"] = "False"
        w.nodes[names[0]]["spec"]["taints"] = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
        w.add(pods(6))  # four fit on the two that are Ready
        w.loop()
        assert w.sizes() == {"pool": 4}
        w.add([waiting_pod(f"more{n}", "900m", owner="other") for n in range(9)])
        w.loop()
        assert w.sizes() == {"pool": 5}  # three are there, one is coming


class TestMinimumSizes:
    """ScaleUpToNodeGroupMinSize."""

    def test_the_cap_is_that_of_each_group_by_itself_and_is_told(self) -> None:
        groups = groups_of(NodeGroupConfig("low", "two", min_size=6, size=1), NodeGroupConfig("other", "two", size=3))
        w = CaWorld(groups, max_nodes_total=4, enforce_node_group_min_size=True)
        w.join()
        w.loop()
        assert w.sizes() == {"low": 4, "other": 3}  # upstream passes the group's size, not the cluster's
        assert CAPPED in w.events

    def test_a_group_that_fails_ends_the_plan(self) -> None:
        groups = groups_of(*(NodeGroupConfig(id, "two", min_size=2, size=0) for id in "abc"))
        w = CaWorld(groups, enforce_node_group_min_size=True)
        increase = groups.increase_size

        def refusing(group_id: str, delta: int, now_ms: int) -> None:
            if group_id == "b":
                raise CloudProviderError("no")
            increase(group_id, delta, now_ms)

        groups.increase_size = refusing  # type: ignore[method-assign]
        w.loop()
        assert w.sizes() == {"a": 2, "b": 0, "c": 0}

    def test_machines_that_cannot_be_bought_do_not_take_a_group_below_its_minimum(self) -> None:
        groups = groups_of(
            NodeGroupConfig("pool", "two", min_size=2, zones=("a",)), capacity={Pool("two", "a", "on-demand"): 1}
        )
        w = CaWorld(groups)
        for _ in range(5):
            w.loop()
        assert (w.sizes(), len(groups.groups["pool"].live())) == ({"pool": 2}, 1)
        groups.cloud.set_capacity(Pool("two", "a", "on-demand"), None)
        w.loop()
        assert (w.sizes(), len(groups.groups["pool"].live())) == ({"pool": 2}, 2)


def _missing(kind: str, spec: dict[str, Any], status: dict[str, Any]) -> int | None:
    owner = {"kind": kind, "name": "x", "uid": "u"}

    class Context:
        controllers = {(kind, "default", "x"): {"spec": spec, "status": status}}  # noqa: RUF012 - a stand-in

    return _missing_replicas(owner, "default", Context())  # type: ignore[arg-type]


class TestEvictedPods:
    """planner.go (getKnownOwnerRef), controller.go (getReplicas)."""

    @pytest.mark.parametrize(
        ("kind", "spec", "status", "missing"),
        [
            ("ReplicaSet", {"replicas": 3}, {"replicas": 2}, 1),
            ("ReplicaSet", {}, {}, 1),
            ("StatefulSet", {"replicas": 3}, {"replicas": 3, "currentReplicas": 1}, 2),
            ("Job", {"parallelism": 4}, {"active": 1}, 3),
            ("Job", {"parallelism": 4, "completions": 5}, {"active": 1, "succeeded": 3}, 1),
            ("Job", {"parallelism": 4, "completions": 5}, {"active": 0, "succeeded": 5}, 0),
            ("ReplicationController", {"replicas": 1}, {"replicas": 2}, 0),
        ],
        ids=[
            "a ReplicaSet is short of one",
            "replicas that nobody wrote are one",
            "of a StatefulSet Pods of the current revision count",
            "a Job wants its parallelism",
            "a Job wants no more than its completions need",
            "a Job that is done wants none",
            "one that has too many wants none",
        ],
    )
    def test_what_an_owner_still_has_to_make(
        self, kind: str, spec: dict[str, Any], status: dict[str, Any], missing: int
    ) -> None:
        assert _missing(kind, spec, status) == missing

    def test_the_first_owner_of_a_known_kind_counts_be_it_the_controller_or_not(self) -> None:
        owners = [{"kind": "Custom", "controller": True}, {"kind": "Job", "name": "j"}, {"kind": "ReplicaSet"}]
        assert _known_owner({"metadata": {"ownerReferences": owners}}) == owners[1]
        assert _known_owner({"metadata": {"ownerReferences": owners[:1]}}) is None


class TestPriorities:
    """priority.go, and how Go's YAML reads a map of numbers to lists of texts."""

    @pytest.mark.parametrize(
        ("text", "rules"),
        [
            ("10:", {10: []}),
            ("10:\n50: ['spot']", {10: [], 50: ["spot"]}),
            ("10: [null]", {10: [""]}),
            ("null", {}),
            ("  ", {}),
        ],
        ids=["a null list", "a null list beside another", "a null rule", "nothing but null", "nothing but blanks"],
    )
    def test_null_is_no_mistake(self, text: str, rules: dict[int, list[str]]) -> None:
        assert {number: [rule.pattern for rule in found] for number, found in parse_priorities(text).items()} == rules

    @pytest.mark.parametrize("text", ["yes: ['a']", "10: a", "10: [[a]]", "[10]"])
    def test_what_go_refuses_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="expected a map of numbers to lists of strings"):
            parse_priorities(text)

    def test_a_group_that_no_rule_of_a_null_list_names_is_told_and_all_stay(self) -> None:
        mind = StaticAutoscaler(
            groups_of(NodeGroupConfig("pool", "two")),
            Framework.from_profile(),
            AutoscalingOptions(expander=("priority",)),
            random.Random(7),
        )
        view = ClusterView([], pods(1), priority_config_map={"data": {"priorities": "10:"}})
        result = mind.run_once(view, 10_000_000)
        told = [e.reason for e in result.effects if isinstance(e, RecordEvent) and e.about == "priority"]
        assert told == ["PriorityConfigMapNotMatchedGroup", "PriorityConfigMapNoGroupMatched"]
        assert mind.groups.groups["pool"].target_size == 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: NodeGroupConfig("My_Pool", "two"), r"node group id: 'My_Pool': expected small letters"),
        (lambda: NodeGroupConfig("", "two"), r"node group id: '': expected small letters"),
        (lambda: NodeGroupConfig(7, "two"), r"node group id: 7: expected small letters"),  # type: ignore[arg-type]
        (lambda: NodeGroupConfig("a" * 57, "two"), r"at most 56: its nodes are named after it"),
        (lambda: NodeGroupConfig("a", "two", max_size="9"), r"a: max_size: '9', expected a whole"),  # type: ignore[arg-type]
        (lambda: NodeGroupConfig("a", "two", labels={"a b": "c"}), r"node group a: labels: 'a b': 'c': name part must"),
        (lambda: NodeGroupConfig("a", "two", labels={"a": "b c"}), r"labels: 'a': 'b c': a valid label must"),
        (
            lambda: NodeGroupConfig("a", "two", taints=({"key": "a b", "effect": "NoSchedule"},)),
            r"node group a: taints\[0\]: .*: name part must",
        ),
        (
            lambda: groups_of(NodeGroupConfig("a", "m5.large", capacity_type="spot"), types=(_on_demand_only(),)),
            r"node group a: m5.large is sold spot nowhere",
        ),
    ],
    ids=[
        "an id that is no name", "an empty id", "a number as an id", "an id that is too long", "a text as a size",
        "a label's key", "a label's value", "a taint's key", "a type that is not sold in this way",
    ],
)  # fmt: skip
def test_a_group_that_could_have_no_nodes_is_refused_in_a_sentence(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def _on_demand_only() -> Any:
    from dataclasses import replace

    one = machine("m5.large", 2, 8)
    return replace(one, offerings=tuple(o for o in one.offerings if o.capacity_type == "on-demand"))


def test_a_machine_that_vanishes_while_it_boots_is_bought_anew_and_its_node_never_comes() -> None:
    groups = groups_of(NodeGroupConfig("pool", "two", size=1))
    w = CaWorld(groups)
    (first,) = groups.groups["pool"].live()
    w.loop(5_000)
    groups.cloud.terminate(first.id, w.now_ms)
    w.loop(10_000)
    (second,) = groups.groups["pool"].live()
    assert second.id != first.id
    w.loops(60_000)
    assert (first.booted_ms, second.is_booted) == (None, True)
    assert w.sizes() == {"pool": 1}


def test_a_refusal_by_quota_of_a_cpu_and_a_half_counts_two() -> None:
    from dataclasses import replace

    small = replace(machine("half", 2, 8), milli_cpu=1_500)
    cloud = Cloud([small], random.Random(1), quotas={"standard/on-demand": 3})
    pool = Pool("half", "a", "on-demand")
    cloud.launch(pool, 0)
    assert cloud.cpus_in_use("standard/on-demand") == 2
    assert not cloud.is_available(pool)
    assert QuotaExceededError(pool, "standard/on-demand", 3).code == "VcpuLimitExceeded"
    assert isinstance(NodeGroups(cloud, [NodeGroupConfig("a", "half")]), NodeGroups)
