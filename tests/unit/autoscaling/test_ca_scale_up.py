"""Scale-up of the Cluster Autoscaler, clause by clause of upstream's FAQ (the quoted sentences)."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from k8slab.autoscaling.cloud import Pool
from k8slab.autoscaling.cluster_autoscaler import (
    AutoscalingOptions,
    BinpackingNodeEstimator,
    ClusterSnapshot,
    EstimationContext,
    NodeGroupConfig,
    build_pod_groups,
    parse_priorities,
)
from k8slab.scheduler import Framework, NodeInfo, PodInfo
from tests.autoscaling import MINUTE, CaWorld, groups_of, machine, waiting_pod

TWO = machine("two", 2, 8)
FOUR = machine("four", 4, 16, price=210_000)
FAT = machine("fat", 2, 32, price=150_000)
GPU = machine("gpu", 8, 64, price=900_000, gpus=1)


def world(*configs: NodeGroupConfig, types: Any = (TWO, FOUR, FAT, GPU), **options: Any) -> CaWorld:
    return CaWorld(groups_of(*configs, types=types), **options)


def pods(count: int, cpu: str = "900m", memory: str = "", **more: Any) -> list[Any]:
    return [waiting_pod(f"p{n}", cpu, memory, owner="rs", **more) for n in range(count)]


class TestHowDoesScaleUpWork:
    def test_ten_pods_of_which_two_fit_on_a_node_make_five_nodes_in_one_step(self) -> None:
        """E114. "CA creates template nodes for each of the node groups and checks if any of the unschedulable pods
        would fit on a new node"; the estimator says how many are needed."""
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(10))
        result = w.loop()
        assert w.sizes() == {"pool": 5}
        assert [str(info) for info in result.scale_up.infos] == ["{pool 0->5 (max: 10)}"]

    def test_events_tell_group_and_sizes_in_upstreams_words(self) -> None:
        """What events are emitted by CA? ScaledUpGroup on the ConfigMap, TriggeredScaleUp on the Pods."""
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(2))
        w.loop()
        assert w.events == [
            ("status", "ScaledUpGroup", "Scale-up: setting group pool size to 1 instead of 0 (max: 10)"),
            ("status", "ScaledUpGroup", "Scale-up: group pool size set to 1 instead of 0 (max: 10)"),
            ("p0", "TriggeredScaleUp", "pod triggered scale-up: [{pool 0->1 (max: 10)}]"),
            ("p1", "TriggeredScaleUp", "pod triggered scale-up: [{pool 0->1 (max: 10)}]"),
        ]

    def test_pods_that_fit_on_nodes_that_are_upcoming_do_not_trigger_a_second_scale_up(self) -> None:
        """ "It may take some time before the created nodes appear in Kubernetes": until then they count."""
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(10))
        w.loop()
        for _ in range(3):
            assert w.loop().scale_up.result == "ScaleUpNotNeeded"
        assert w.sizes() == {"pool": 5}

    def test_more_pods_than_the_upcoming_nodes_hold_trigger_only_what_is_missing(self) -> None:
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(10))
        w.loop()
        w.add([waiting_pod(f"late{n}", "900m", owner="late") for n in range(3)])
        w.loop()
        assert w.sizes() == {"pool": 7}

    def test_pods_that_fit_on_nodes_that_are_there_do_not_trigger_a_scale_up(self) -> None:
        """The scheduler just has not come to them yet."""
        w = world(NodeGroupConfig("pool", "two", size=2))
        w.join()
        w.add(pods(4))
        assert w.loop().scale_up.result == "ScaleUpNotNeeded"

    def test_pods_the_scheduler_has_not_judged_yet_are_not_looked_at(self) -> None:
        """ "Unschedulable pods are recognized by their PodCondition"."""
        w = world(NodeGroupConfig("pool", "two"))
        fresh = [{**pod, "status": {"phase": "Pending"}} for pod in pods(3)]
        w.add(fresh)
        assert w.loop().scale_up.result == "ScaleUpNotNeeded"

    def test_pods_that_came_within_two_seconds_wait_for_others_like_them(self) -> None:
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(2, created_ms=w.now_ms + 9_000))
        assert w.loop().scale_up.result == "ScaleUpInCooldown"
        assert w.last is not None and w.last.scale_down == "ScaleDownInCooldown"
        assert w.loop().scale_up.result == "ScaleUpSuccessful"

    def test_gpu_pods_wait_thirty_seconds(self) -> None:
        w = world(NodeGroupConfig("gpu", "gpu"))
        limits = {"resources": {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}
        w.add(pods(1, containers=[{"name": "c", **limits}], created_ms=w.now_ms))
        results = [str(w.loop().scale_up.result) for _ in range(3)]
        assert results == ["ScaleUpInCooldown", "ScaleUpInCooldown", "ScaleUpSuccessful"]

    def test_a_pod_too_large_for_every_group_triggers_nothing_and_is_told_why(self) -> None:
        """I have a couple of pending pods, but there was no scale-up? "the pod has too large (e.g. 100 CPUs)"."""
        w = world(NodeGroupConfig("pool", "two"), NodeGroupConfig("more", "four"))
        w.add(pods(1, "100"))
        assert w.loop().scale_up.result == "ScaleUpNoOptionsAvailable"
        assert w.events == [("p0", "NotTriggerScaleUp", "pod didn't trigger scale-up: 2 Insufficient cpu")]

    def test_a_group_at_its_maximum_is_skipped_and_named_as_the_reason(self) -> None:
        """ "all suitable node groups are already at their maximum size"."""
        w = world(NodeGroupConfig("pool", "two", max_size=1, size=1))
        w.join()
        w.add(pods(5))
        w.loop()
        texts = {text for _, reason, text in w.events if reason == "NotTriggerScaleUp"}
        assert texts == {"pod didn't trigger scale-up: 1 max node group size reached"}

    def test_an_estimate_is_capped_by_the_groups_maximum(self) -> None:
        w = world(NodeGroupConfig("pool", "two", max_size=3))
        w.add(pods(10))
        w.loop()
        assert w.sizes() == {"pool": 3}

    def test_max_nodes_total_caps_over_all_groups_and_says_so(self) -> None:
        w = world(NodeGroupConfig("pool", "two", size=2), max_nodes_total=4)
        w.join()
        w.add(pods(20))
        w.loop()
        assert w.sizes() == {"pool": 4}
        w.join()
        w.loop()
        assert ("status", "MaxNodesTotalReached", "Max total nodes in cluster reached: 4") in w.events
        assert (
            "p19",
            "NotTriggerScaleUp",
            "pod didn't trigger scale-up: max total nodes in cluster reached",
        ) in w.events

    def test_max_nodes_per_scaleup_caps_one_step(self) -> None:
        w = world(NodeGroupConfig("pool", "two", max_size=50), max_nodes_per_scaleup=4)
        w.add(pods(40))
        w.loop()
        assert w.sizes() == {"pool": 4}

    def test_new_pod_scale_up_delay_and_a_longer_one_by_annotation(self) -> None:
        """ "causes the CA to ignore unschedulable pods until they are a certain age"; the annotation can only add."""
        w = world(NodeGroupConfig("pool", "two"), new_pod_scale_up_delay_ms=60_000)
        slow = {"cluster-autoscaler.kubernetes.io/pod-scale-up-delay": "600s"}
        short = {"cluster-autoscaler.kubernetes.io/pod-scale-up-delay": "1s"}
        wrong = {"cluster-autoscaler.kubernetes.io/pod-scale-up-delay": "soon"}
        w.add([
            waiting_pod("slow", "2", created_ms=w.now_ms, annotations=slow),
            waiting_pod("short", "2", created_ms=w.now_ms, annotations=short),
            waiting_pod("wrong", "2", created_ms=w.now_ms, annotations=wrong),
        ])  # fmt: skip
        w.loops(MINUTE)
        assert w.sizes() == {"pool": 0}
        w.loop()
        assert w.sizes() == {"pool": 2}
        w.loops(9 * MINUTE)
        assert w.sizes() == {"pool": 3}

    def test_pods_of_daemon_sets_trigger_no_scale_up(self) -> None:
        w = world(NodeGroupConfig("pool", "two"))
        pod = waiting_pod("ds", "1")
        pod["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]
        w.add([pod])
        assert w.loop().scale_up.result == "ScaleUpNotNeeded"

    def test_enforce_node_group_min_size_brings_a_group_up_without_pods(self) -> None:
        """My cluster is below minimum [...] "CA will scale them up to the minimum number of nodes"."""
        w = world(NodeGroupConfig("pool", "two", min_size=3, size=1), enforce_node_group_min_size=True)
        w.loop()
        assert w.sizes() == {"pool": 3}
        w = world(NodeGroupConfig("pool", "two", min_size=3, size=1))
        w.loop()
        assert w.sizes() == {"pool": 1}


class TestPriorityAndPreemption:
    @pytest.mark.parametrize(
        ("priority", "size"),
        [(None, 1), (0, 1), (-10, 1), (-11, 0)],
        ids=["without a priority", "priority 0", "at the cutoff", "below the cutoff"],
    )
    def test_pods_below_the_cutoff_do_not_trigger_scale_ups(self, priority: int | None, size: int) -> None:
        """How does CA work with Pod Priority and Preemption? "Default priority cutoff is -10"."""
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(1, **({} if priority is None else {"priority": priority})))
        w.loop()
        assert w.sizes() == {"pool": size}

    def test_a_pod_that_waits_for_a_preemption_triggers_nothing(self) -> None:
        """ "doesn't trigger scale-up if an unschedulable pod is already waiting for a [...] preemption"."""
        w = world(NodeGroupConfig("pool", "two", size=1))
        (name,) = w.join()
        w.place(waiting_pod("low", "1500m", priority=-50), name)
        high = waiting_pod("high", "1500m", priority=100)
        high["status"]["nominatedNodeName"] = name
        w.add([high])
        assert w.loop().scale_up.result == "ScaleUpNotNeeded"

    def test_expendable_pods_take_no_room(self) -> None:
        w = world(NodeGroupConfig("pool", "two", size=1))
        (name,) = w.join()
        w.place(waiting_pod("low", "1500m", priority=-50), name)
        w.add(pods(1, "1500m"))
        assert w.loop().scale_up.result == "ScaleUpNotNeeded"


class TestTemplates:
    def test_a_group_is_scaled_from_zero_by_its_labels_and_taints(self) -> None:
        """How can I scale a node group to 0? The group's data say what its Nodes would be."""
        taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
        w = world(
            NodeGroupConfig("plain", "two"),
            NodeGroupConfig("team", "two", labels={"team": "a"}, taints=(taint,)),
        )
        w.add(pods(2, nodeSelector={"team": "a"}, tolerations=[{"key": "team", "operator": "Exists"}]))
        w.loop()
        assert w.sizes() == {"plain": 0, "team": 1}

    def test_required_node_affinity_counts_and_preferred_does_not(self) -> None:
        """ "CA respects nodeSelector and requiredDuringScheduling... CA does not consider "soft" constraints"."""
        term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
        soft = {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}
        }
        configs = NodeGroupConfig("cheap", "two"), NodeGroupConfig("ssd", "four", labels={"disk": "ssd"})
        w = world(*configs)
        w.add(pods(1, affinity=required))
        w.loop()
        assert w.sizes() == {"cheap": 0, "ssd": 1}
        w = world(*configs)
        w.add(pods(1, affinity=soft))
        w.loop()
        assert w.sizes() == {"cheap": 1, "ssd": 0}

    def test_pods_of_daemon_sets_take_their_room_on_new_nodes(self) -> None:
        """ "they will [...] have all pods run from the node manifest and daemon sets"."""
        template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "300m"}}}]}}
        elsewhere = {"spec": {**template["spec"], "nodeSelector": {"disk": "ssd"}}}
        w = world(NodeGroupConfig("pool", "two"))
        w.more["daemon_sets"] = [
            {"metadata": {"name": "agent", "namespace": "kube-system"}, "spec": {"template": template}},
            {"metadata": {"name": "ssd-only", "namespace": "kube-system"}, "spec": {"template": elsewhere}},
        ]
        w.add(pods(4, "900m"))  # 1,700m are left: one Pod a Node
        w.loop()
        assert w.sizes() == {"pool": 4}

    def test_a_daemon_set_that_does_not_tolerate_the_groups_taint_does_not_count(self) -> None:
        template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "300m"}}}]}}
        taint = {"key": "gpu", "effect": "NoSchedule"}
        w = world(NodeGroupConfig("pool", "two", taints=(taint,)))
        w.more["daemon_sets"] = [{"metadata": {"name": "agent"}, "spec": {"template": template}}]
        w.add(pods(4, "900m", tolerations=[{"operator": "Exists"}]))
        w.loop()
        assert w.sizes() == {"pool": 2}

    def test_a_real_node_is_a_better_template_than_the_data(self) -> None:
        """CA uses a Ready Node of the group where there is one: here it has less than the type promises."""
        w = world(NodeGroupConfig("pool", "two", size=1, max_size=20))
        (name,) = w.join()
        w.nodes[name]["status"]["allocatable"]["cpu"] = "1"
        w.place(waiting_pod("full", "900m", owner="x"), name)
        w.add(pods(4, "900m"))
        w.loop()
        assert w.sizes() == {"pool": 5}

    @pytest.mark.parametrize(
        "key",
        ["startup-taint.cluster-autoscaler.kubernetes.io/x", "status-taint.cluster-autoscaler.kubernetes.io/x",
         "ignore-taint.cluster-autoscaler.kubernetes.io/x", "node.kubernetes.io/unreachable"],
    )  # fmt: skip
    def test_taints_that_pass_are_not_expected_on_new_nodes(self, key: str) -> None:
        """How does CA treat nodes with status/startup/ignore taints?"""
        w = world(NodeGroupConfig("pool", "two", size=2))
        for name in w.join():
            w.nodes[name]["spec"]["taints"] = [{"key": key, "effect": "NoSchedule"}]
        w.add(pods(2))
        w.loop()
        assert w.sizes() == {"pool": 3}

    def test_nodes_that_are_not_ready_are_awaited_during_their_startup_time(self) -> None:
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(4))
        w.loop()
        w.join(age_ms=0, ready=False)
        assert w.loop().scale_up.result == "ScaleUpNotNeeded"
        assert w.sizes() == {"pool": 2}

    def test_nodes_whose_gpus_have_not_appeared_yet_are_awaited(self) -> None:
        """ "allocatable GPU may be equal to 0 up to 15 minutes after node registers as ready"."""
        w = world(NodeGroupConfig("gpu", "gpu"))
        wants = {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}
        w.add(pods(1, containers=[{"name": "c", "resources": wants}]))
        w.loop()
        (name,) = w.join(age_ms=0)
        w.nodes[name]["status"]["allocatable"].pop("nvidia.com/gpu")
        w.loops(MINUTE)
        assert w.sizes() == {"gpu": 1}


class TestSpreadAndAffinity:
    def test_anti_affinity_over_hosts_makes_a_node_for_each_pod(self) -> None:
        term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(4, "100m", labels={"app": "db"}, affinity=affinity))
        w.loop()
        assert w.sizes() == {"pool": 4}

    def test_spreading_over_hosts_with_a_full_host_makes_a_node_for_each_pod(self) -> None:
        spread = {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        w = world(NodeGroupConfig("pool", "two", size=1))
        w.place(waiting_pod("full", "2", owner="x"), w.join()[0])
        w.add(pods(6, "100m", labels={"app": "web"}, topologySpreadConstraints=[spread]))
        w.loop()
        assert w.sizes() == {"pool": 7}  # nobody fits on the full host, so nobody may have two elsewhere

    def test_host_ports_allow_one_pod_a_node(self) -> None:
        port = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
        w = world(NodeGroupConfig("pool", "two"))
        w.add(pods(3, containers=port))
        w.loop()
        assert w.sizes() == {"pool": 3}


class TestExpanders:
    """What are Expanders? One backlog, four answers (E115)."""

    def grown(self, expander: str, count: int = 4, cpu: str = "500m", memory: str = "1Gi", **more: Any) -> str:
        configs = [NodeGroupConfig(name, name) for name in ("two", "four", "fat")]
        picky = [NodeGroupConfig("picky", "four", labels={"for": "one"})] if expander == "most-pods" else []
        w = world(*configs, *picky, expander=tuple(expander.split(",")))
        w.more.update(more)
        w.add(pods(count, cpu, memory))
        w.add([waiting_pod("one", "2", nodeSelector={"for": "one"})] if picky else [])
        w.loop()
        return next(name for name, size in w.sizes().items() if size)

    def test_most_pods_takes_the_group_that_helps_most_pods(self) -> None:
        assert self.grown("most-pods") == "picky"

    def test_least_waste_takes_the_group_with_least_idle_cpu_and_memory(self) -> None:
        # 2 CPUs and 4 GiB wanted: two (2/8) idles 0 + 1/2; four 1/2 + 3/4; fat 0 + 7/8.
        assert self.grown("least-waste") == "two"
        # 2 CPUs and 30 GiB: fat (2/32) idles 0 + 1/16, two needs 4 Nodes (7.5 GiB each): 3/4 + 1/16.
        assert self.grown("least-waste", memory="7680Mi") == "fat"

    def test_least_nodes_takes_the_group_that_needs_fewest(self) -> None:
        assert self.grown("least-nodes,least-waste", count=6) == "four"

    def test_price_takes_the_group_that_costs_least_for_what_it_gives(self) -> None:
        # One Node each. A small cluster prefers 1 CPU: two is off by 2 (0.10 $), four by 4 (0.21 $), fat by 2 (0.15 $).
        assert self.grown("price") == "two"

    def test_price_avoids_gpus_for_pods_that_need_none(self) -> None:
        w = world(NodeGroupConfig("cheap-gpu", "gpu"), NodeGroupConfig("dear", "four"), expander=("price",))
        w.add(pods(1))
        w.loop()
        assert w.sizes() == {"cheap-gpu": 0, "dear": 1}

    def test_priority_takes_the_highest_that_matches(self) -> None:
        config = {"metadata": {"name": "x"}, "data": {"priorities": "10: ['.*']\n50: ['^fat$']"}}
        assert self.grown("priority", priority_config_map=config) == "fat"

    def test_a_group_that_no_rule_names_is_not_used_and_a_warning_says_so(self) -> None:
        config = {"metadata": {"name": "x"}, "data": {"priorities": "10: ['^four$']"}}
        w = world(NodeGroupConfig("two", "two"), NodeGroupConfig("four", "four"), expander=("priority",))
        w.more["priority_config_map"] = config
        w.add(pods(1))
        w.loop()
        assert w.sizes() == {"two": 0, "four": 1}
        assert w.events[0] == (
            "priority",
            "PriorityConfigMapNotMatchedGroup",
            "Priority expander: node group two not found in priority expander configuration. The group won't be used.",
        )

    def test_without_a_match_or_a_config_map_the_next_expander_decides(self) -> None:
        nobody = {"metadata": {"name": "x"}, "data": {"priorities": "10: ['^nobody$']"}}
        assert self.grown("priority,least-waste", priority_config_map=nobody) == "two"
        assert self.grown("priority,least-waste") == "two"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "priority configuration in cluster-autoscaler-priority-expander configmap is empty"),
            ("{", "Can't parse YAML with priorities in the configmap"),
            ("ten: ['a']", "expected a map of numbers to lists of strings"),
            ("10: ['(']", "Can't compile regexp rule for priority 10 and rule \\("),
        ],
    )
    def test_a_config_map_that_cannot_be_read_is_refused_in_a_sentence(self, text: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            parse_priorities(text)

    def test_random_takes_every_group_in_time_and_the_same_seed_the_same_ones(self) -> None:
        from k8slab.autoscaling.cluster_autoscaler import ExpanderStrategy, Option

        found = groups_of(NodeGroupConfig("a", "two"), NodeGroupConfig("b", "two"))
        options = [Option(group, 1, []) for group in found]

        def draw(seed: int) -> list[str]:
            strategy = ExpanderStrategy(("random",), random.Random(seed))
            chosen = [strategy.best_option(options, {}).option for _ in range(20)]
            return [one.group.id for one in chosen if one is not None]

        assert set(draw(1)) == {"a", "b"}
        assert draw(1) == draw(1)

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            (("best",), "Expander best not supported"),
            (("price", "price"), "Expander price was specified multiple times"),
            (("random", "price"), "Expander price came after an expander random"),
        ],
    )
    def test_lists_of_expanders_that_make_no_sense_are_refused(self, names: tuple[str, ...], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            AutoscalingOptions(expander=names)


class TestBalanceSimilarNodeGroups:
    """I'm running cluster with nodes in multiple zones for HA purposes."""

    def test_new_nodes_go_to_the_smaller_of_similar_groups(self) -> None:
        configs = (
            NodeGroupConfig("a", "two", zones=("a",), size=1),
            NodeGroupConfig("b", "two", zones=("b",)),
        )
        w = world(*configs, balance_similar_node_groups=True)
        w.join()
        w.add(pods(12))
        w.loop()
        assert w.sizes() == {"a": 3, "b": 3}  # two Pods fit where a Node is; five Nodes are new

    def test_a_custom_label_opts_a_group_out(self) -> None:
        configs = (
            NodeGroupConfig("a", "two", zones=("a",), max_size=50),
            NodeGroupConfig("b", "two", zones=("b",), labels={"mine": "yes"}, max_size=50),
        )
        w = world(*configs, balance_similar_node_groups=True)
        w.add(pods(8))
        w.loop()
        assert sorted(w.sizes().values()) == [0, 4]

    def test_groups_that_cannot_take_the_same_pods_are_not_balanced(self) -> None:
        configs = NodeGroupConfig("a", "two", zones=("a",)), NodeGroupConfig("b", "two", zones=("b",))
        w = world(*configs, balance_similar_node_groups=True)
        w.add(pods(8, nodeSelector={"topology.kubernetes.io/zone": "b"}))
        w.loop()
        assert w.sizes() == {"a": 0, "b": 4}


class TestFailedScaleUps:
    """What happens in scale-up when I have no more quota in the cloud provider?"""

    def test_what_cannot_be_bought_is_told_taken_back_and_the_group_pauses_five_minutes(self) -> None:
        w = CaWorld(groups_of(NodeGroupConfig("pool", "two"), types=(TWO,), quotas={"standard/on-demand": 0}))
        w.add(pods(2))
        w.loop()
        assert w.sizes() == {"pool": 1}  # asked for; the cloud has refused already
        w.loop()
        assert w.sizes() == {"pool": 0}
        (event,) = [text for _, reason, text in w.events if reason == "ScaleUpFailed"]
        assert event.startswith(
            "Failed adding 1 nodes to group pool due to OutOfResource.placeholder-cannot-be-fulfilled; source errors: "
            "VcpuLimitExceeded: You have requested more vCPU capacity"
        )
        at_ms = w.now_ms
        while w.sizes() == {"pool": 0}:
            w.loop()
        assert w.now_ms - at_ms == 5 * MINUTE + 10_000  # the first loop after the pause

    def test_the_pause_doubles_up_to_half_an_hour(self) -> None:
        """ "Depending on how long scale-ups have been failing, it may wait up to 30 minutes before next attempt"."""
        w = CaWorld(groups_of(NodeGroupConfig("pool", "two"), types=(TWO,), quotas={"standard/on-demand": 0}))
        w.add(pods(2))
        tries = []
        for _ in range(900):
            before = sum(reason == "ScaledUpGroup" for _, reason, _ in w.events)
            w.loop()
            if sum(reason == "ScaledUpGroup" for _, reason, _ in w.events) > before:
                tries.append(w.now_ms)
        pauses = [(later - earlier) // MINUTE for earlier, later in pairwise(tries)]
        assert pauses[:5] == [5, 10, 20, 30, 30]

    def test_meanwhile_another_group_is_tried(self) -> None:
        pool = Pool("two", "a", "on-demand")
        w = CaWorld(
            groups_of(
                NodeGroupConfig("small", "two", zones=("a",)), NodeGroupConfig("big", "four"),
                types=(TWO, FOUR), capacity={pool: 0},
            )
        )  # fmt: skip
        w.add(pods(2))
        w.loop()
        assert w.sizes() == {"small": 1, "big": 0}
        w.loop()
        assert w.sizes() == {"small": 0, "big": 1}
        assert w.last is not None and w.last.scale_up.skipped == {"small": "in backoff after failed scale-up"}

    def test_a_machine_that_never_registers_is_given_back_after_max_node_provision_time(self) -> None:
        """ "After this time [...] it stops considering them in simulations [...] It will also attempt to remove any
        nodes left unregistered after this time"."""
        w = world(NodeGroupConfig("pool", "two"), NodeGroupConfig("more", "four"))
        w.add(pods(2))
        w.loop()
        assert w.sizes() == {"pool": 1, "more": 0}
        w.loops(15 * MINUTE)
        assert w.sizes()["pool"] == 1
        w.loops(MINUTE)
        assert w.sizes() == {"pool": 0, "more": 1}
        reasons = [reason for _, reason, _ in w.events]
        assert "ScaleUpTimedOut" in reasons and "DeleteUnregistered" in reasons
        (text,) = [text for _, reason, text in w.events if reason == "ScaleUpTimedOut"]
        assert text == "Nodes added to group pool failed to register within 15m10s"

    def test_spot_machines_that_were_taken_back_are_replaced_by_the_group(self) -> None:
        w = world(NodeGroupConfig("spot", "two", capacity_type="spot", size=2))
        w.join()
        instance = w.groups.groups["spot"].live()[0]
        w.groups.cloud.interrupt(instance.id, w.now_ms)
        w.loops(3 * MINUTE)
        assert len(w.groups.groups["spot"].live()) == 2
        assert instance not in w.groups.groups["spot"].live()


def test_a_node_that_spreading_found_is_counted_but_takes_no_pods_of_later_groups() -> None:
    """binpacking_estimator.go: newNodesWithPods counts it, newNodeNames (where later groups look) does not have it."""
    there = {"metadata": {"name": "there", "labels": {"kubernetes.io/hostname": "there"}},
             "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}  # fmt: skip
    groups = groups_of(NodeGroupConfig("pool", "two"), types=(TWO,))
    group = groups.groups["pool"]
    rule = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "spread"}}}  # fmt: skip
    spread = [
        waiting_pod(f"s{n}", "900m", "1Gi", owner="s", labels={"app": "spread"}, topologySpreadConstraints=[rule])
        for n in range(2)
    ]
    plain = waiting_pod("plain", "1101m", owner="plain")  # 1,100m are left beside the first
    snapshot = ClusterSnapshot(Framework.from_profile(), [NodeInfo.of(there)])
    pod_groups = build_pod_groups([PodInfo(pod) for pod in (*spread, plain)])
    estimator = BinpackingNodeEstimator(snapshot)
    found = estimator.estimate(pod_groups, NodeInfo.of(group.template()), group, EstimationContext())
    placed = [[pod.pod["metadata"]["name"] for pod in pods] for pods in found.nodes.values()]
    assert (found.node_count, placed) == (3, [["s0"], ["s1"], ["plain"]])


class TestUnreadyNodes:
    """How does CA deal with unready nodes?"""

    @pytest.mark.parametrize(
        ("unready", "total", "acts"),
        [(3, 4, True), (4, 9, True), (4, 8, False), (5, 10, False)],
        ids=["3 are always tolerated", "4 of 9 are 44 %", "4 of 8 are 50 %", "5 of 10 are 50 %"],
    )
    def test_beyond_45_percent_and_three_nodes_all_operations_stop(self, unready: int, total: int, acts: bool) -> None:
        w = world(NodeGroupConfig("pool", "two", size=total, max_size=50))
        for name in w.join()[:unready]:
            w.nodes[name]["status"]["conditions"][0]["status"] = "Unknown"
            w.nodes[name]["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        w.add(pods(1, "1900m", nodeSelector={"kubernetes.io/os": "linux"}))
        w.add([waiting_pod(f"fill{n}", "1900m", owner="fill") for n in range(total)])
        w.loop()
        assert (("status", "ClusterUnhealthy", "Cluster is unhealthy") not in w.events) is acts
        assert (w.sizes()["pool"] > total) is acts
