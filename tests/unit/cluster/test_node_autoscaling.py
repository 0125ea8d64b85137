"""A cluster on a simulated cloud with the Cluster Autoscaler in it: Nodes come and go at run time."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.autoscaling.cloud import CloudTimings
from k8slab.autoscaling.cluster_autoscaler import AutoscalingOptions, NodeGroupConfig
from k8slab.cluster import Cluster
from k8slab.cluster.node_autoscaling import CloudConfig, ClusterAutoscalerConfig

MINUTE = 60_000
QUICK = AutoscalingOptions(
    scale_down_unneeded_time_ms=MINUTE, scale_down_delay_after_add_ms=0, scale_down_delay_after_failure_ms=MINUTE
)


def deployment(name: str, replicas: int, cpu: str = "900m", **pod: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "c", "image": "nginx:1.27", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def cluster(*groups: NodeGroupConfig, nodes: int = 0, seed: int = 7, options: Any = QUICK, **cloud: Any) -> Cluster:
    groups = groups or (NodeGroupConfig("pool", "m5.large", max_size=6),)
    config = ClusterAutoscalerConfig(groups, options, CloudConfig(**cloud))
    return Cluster(nodes=nodes, seed=seed, cluster_autoscaler=config)


def told(made: Cluster, kind: str) -> list[Any]:
    return [event.data for event in made.trace if event.kind == kind]


def events(made: Cluster, reason: str) -> list[str]:
    return [event["message"] for event in made.objects("events") if event["reason"] == reason]


def run_until(made: Cluster, condition: Any, for_ms: int = 15 * MINUTE) -> None:
    assert made.run(until=condition, for_ms=for_ms)


def test_pods_that_find_no_place_bring_nodes_that_boot_register_and_take_them() -> None:
    made = cluster()
    made.apply(deployment("web", 4))
    assert made.run(until=made.all_ready, for_ms=3 * MINUTE)
    assert sorted(made.nodes) == ["pool-1", "pool-2"]
    (node,) = [node for node in made.objects("nodes") if node["metadata"]["name"] == "pool-1"]
    assert node["spec"]["providerID"].startswith("k8slab:///region-1a/i-")
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "m5.large"
    assert node["status"]["allocatable"]["cpu"] == "1930m"
    assert told(made, "ca.scale-up") == [{"group": "pool", "before": 0, "after": 2, "pods": 4}]
    assert "pod triggered scale-up: [{pool 0->2 (max: 6)}]" in events(made, "TriggeredScaleUp")
    made.close()


def test_nodes_that_are_no_longer_needed_are_drained_and_leave_the_cluster() -> None:
    made = cluster()
    made.apply(deployment("web", 6))
    run_until(made, made.all_ready)
    made.scale("deploy/web", 2)
    run_until(made, lambda: len(made.objects("nodes")) == 1)
    made.run(for_ms=MINUTE)
    assert len(made.nodes) == 1
    assert made.all_ready()
    assert made.node_autoscaling is not None
    assert made.node_autoscaling.groups.groups["pool"].target_size == 1
    assert len(list(made.node_autoscaling.cloud.live())) == 1
    assert "nodes removed by cluster autoscaler" in events(made, "ScaleDown")
    made.close()


def test_an_eviction_that_a_budget_refuses_saves_the_node_and_takes_the_taint_off() -> None:
    """Does CA work with PodDisruptionBudget? "If one of the evictions fails, the node is saved"."""
    made = cluster()
    made.apply([deployment("big", 2, "1500m"), deployment("web", 2, "300m")])
    run_until(made, made.all_ready)
    made.apply({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    })  # fmt: skip
    generation = made.object("pdb/web")["metadata"]["generation"]
    free = {"disruptionsAllowed": 1, "observedGeneration": generation, "currentHealthy": 2, "desiredHealthy": 1,
            "expectedPods": 2}  # fmt: skip
    made.patch("pdb/web", {"status": free}, subresource="status")
    made.delete("deploy/big")
    run_until(made, lambda: bool(told(made, "ca.delete")))
    assert told(made, "ca.delete")[0]["pods"] == 1
    made.patch("pdb/web", {"status": {**free, "disruptionsAllowed": 0}}, subresource="status")
    run_until(made, lambda: bool(told(made, "ca.delete-failed")))
    made.run(for_ms=5_000)
    (text, *_) = events(made, "ScaleDownFailed")
    assert text.startswith("failed to drain and delete node: ")
    assert "not enough pod disruption budget to move default/web-" in text
    nodes = made.objects("nodes")
    assert [taint for node in nodes for taint in node["spec"].get("taints") or ()
            if taint["key"] == "ToBeDeletedByClusterAutoscaler"] == []  # fmt: skip
    assert not any(node["spec"].get("unschedulable") for node in nodes)
    made.close()


def test_an_autoscaler_that_crashes_in_a_drain_cleans_up_in_its_next_life_and_goes_on() -> None:
    made = cluster()
    made.apply(deployment("web", 4))
    run_until(made, made.all_ready)
    made.scale("deploy/web", 2)
    run_until(made, lambda: bool(told(made, "ca.delete")))
    made.run(for_ms=2_000)  # tainted, not yet drained
    tainted = [n["metadata"]["name"] for n in made.objects("nodes") if n["spec"].get("unschedulable")]
    assert tainted
    made.crash("cluster-autoscaler", restart_after_ms=1_000)
    made.run(for_ms=3_000)
    assert not any(node["spec"].get("unschedulable") for node in made.objects("nodes"))
    run_until(made, lambda: len(made.objects("nodes")) == 1)
    assert made.run(until=made.all_ready, for_ms=2 * MINUTE)
    made.close()


def test_a_spot_machine_is_taken_back_after_two_minutes_and_its_pods_find_another() -> None:
    made = cluster(NodeGroupConfig("spot", "m5.large", capacity_type="spot", max_size=4))
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    assert made.node_autoscaling is not None
    cloud = made.node_autoscaling.cloud
    (instance,) = cloud.live()
    cloud.interrupt(instance.id, made.now_ms)
    made.run(for_ms=1_000)
    assert told(made, "cloud.notice")[0]["seconds"] in (119, 120)
    run_until(made, lambda: [n["metadata"]["name"] for n in made.objects("nodes")] == ["spot-2"])
    run_until(made, lambda: [p["spec"].get("nodeName") for p in made.objects("pods")] == ["spot-2"] * 2)
    assert list(made.nodes) == ["spot-2"]
    made.close()


def test_when_the_cloud_has_nothing_left_the_other_group_helps_and_the_first_pauses() -> None:
    quotas = {"standard/on-demand": 0}
    made = cluster(
        NodeGroupConfig("good", "m5.large"), NodeGroupConfig("spot", "m5.xlarge", capacity_type="spot"), quotas=quotas
    )
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    assert list(made.nodes) == ["spot-1"]
    assert any(text.startswith("Failed adding 1 nodes to group good") for text in events(made, "ScaleUpFailed"))
    status = made.object("cm/cluster-autoscaler-status", namespace="kube-system")["data"]["status"]
    assert "errorCode: placeholder-cannot-be-fulfilled" in status
    made.close()


def test_machines_that_never_come_up_are_given_back() -> None:
    timings = CloudTimings(boot_failures_per_1000=1_000)
    options = QUICK.with_overrides({"max_node_provision_time_ms": 2 * MINUTE})
    made = cluster(options=options, timings=timings)
    made.apply(deployment("web", 1))
    run_until(made, lambda: bool(events(made, "DeleteUnregistered")))
    assert events(made, "ScaleUpTimedOut")
    made.close()


def test_a_node_group_below_zero_nodes_of_the_cluster_keeps_the_other_nodes_alone() -> None:
    """Nodes of no group are never removed."""
    made = cluster(nodes=2)
    made.run(for_ms=10 * MINUTE)
    assert sorted(made.nodes) == ["node-1", "node-2"]
    assert told(made, "ca.delete") == []
    made.close()


def test_the_same_seed_gives_the_same_trace() -> None:
    def run() -> str:
        made = cluster(seed=11)
        made.apply(deployment("web", 4))
        made.run(for_ms=3 * MINUTE)
        made.scale("deploy/web", 1)
        made.run(for_ms=3 * MINUTE)
        made.close()
        return made.trace.to_jsonl()

    assert run() == run()


def test_wrong_configurations_are_named() -> None:
    with pytest.raises(TypeError, match="cluster_autoscaler: 3: expected a ClusterAutoscalerConfig"):
        Cluster(nodes=1, cluster_autoscaler=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="groups: 'pool': expected NodeGroupConfig"):
        ClusterAutoscalerConfig(["pool"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"node group pool: instance type 'm9.huge': not in the catalogue"):
        cluster(NodeGroupConfig("pool", "m9.huge"))
    with pytest.raises(ValueError, match=r"node group pool: sizes 3:2, expected 0 <= min <= max"):
        NodeGroupConfig("pool", "m5.large", min_size=3, max_size=2)
    with pytest.raises(ValueError, match="node group pool: is there twice"):
        cluster(NodeGroupConfig("pool", "m5.large"), NodeGroupConfig("pool", "m5.large"))
    config = ClusterAutoscalerConfig([NodeGroupConfig("pool", "m5.large")])
    with pytest.raises(ValueError, match=r"cni: .bridge.: expected None with cluster_autoscaler"):
        Cluster(nodes=0, cluster_autoscaler=config, cni="bridge")
    with pytest.raises(ValueError, match="a run with objects of your own cannot be recorded"):
        cluster().recording()
