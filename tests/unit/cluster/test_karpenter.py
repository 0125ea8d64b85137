"""A cluster on a simulated cloud with Karpenter in it: NodeClaims become Nodes, and Nodes are taken away again."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from k8slab.autoscaling.cloud import CloudTimings, small_catalogue
from k8slab.autoscaling.cluster_autoscaler import NodeGroupConfig
from k8slab.autoscaling.karpenter import NodePool
from k8slab.cluster import Cluster
from k8slab.cluster.karpenter import KarpenterConfig
from k8slab.cluster.node_autoscaling import CloudConfig, ClusterAutoscalerConfig

MINUTE = 60_000
CAPACITY_TYPE = "karpenter.sh/capacity-type"
DISRUPTED = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}


def pool(
    name: str = "default", *, how: str = "on-demand", template: Any = (), metadata: Any = None, **disruption: Any
) -> Any:
    rules = [{"key": CAPACITY_TYPE, "operator": "In", "values": [how]}]
    free = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}], **disruption}
    made: dict[str, Any] = {"spec": {"requirements": rules, **dict(template)}}
    if metadata is not None:
        made["metadata"] = metadata
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": made, "disruption": free},
    }


def deployment(name: str, replicas: int, cpu: str = "900m", **pod: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "c", "image": "nginx:1.27", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def cluster(*pools: Any, nodes: int = 0, seed: int = 7, disrupts: bool = True, **cloud: Any) -> Cluster:
    sold = CloudConfig(small_catalogue(), **cloud)
    config = KarpenterConfig(pools or (pool(),), sold, disrupts=disrupts)
    return Cluster(nodes=nodes, seed=seed, karpenter=config)


def told(made: Cluster, kind: str) -> list[Any]:
    return [event.data for event in made.trace if event.kind == kind]


def done(made: Cluster, reason: str) -> list[str]:
    return [data["key"] for data in told(made, "karpenter.do") if data["reason"] == reason]


def events(made: Cluster, reason: str, kind: str = "") -> list[str]:
    found = [one for one in made.objects("events") if one["reason"] == reason]
    return [one["message"] for one in found if not kind or one["involvedObject"]["kind"] == kind]


def names(made: Cluster, resource: str = "nodes") -> list[str]:
    return sorted(one["metadata"]["name"] for one in made.objects(resource))


def bought(made: Cluster) -> list[Any]:
    assert made.karpenter is not None
    return list(made.karpenter.cloud.instances.values())


def live(made: Cluster) -> list[str]:
    assert made.karpenter is not None
    return [one.tags["karpenter.sh/nodeclaim"] for one in made.karpenter.cloud.live()]


def run_until(made: Cluster, condition: Any, for_ms: int = 15 * MINUTE, step_ms: int = 1_000) -> None:
    """Looks once a second of virtual time: conditions that read the trace are dear."""
    until_ms = made.now_ms + for_ms
    while not condition() and made.now_ms < until_ms:
        made.run(for_ms=step_ms)
    assert condition()


def taints(made: Cluster, node: str) -> list[str]:
    return [taint["key"] for taint in made.object(f"node/{node}")["spec"].get("taints") or ()]


# -- up -------------------------------------------------------------------------------------------------


def test_pods_that_find_no_place_become_one_claim_that_boots_registers_and_takes_them() -> None:
    team = {"key": "team", "value": "a", "effect": "NoSchedule"}
    made = cluster(pool(template={"taints": [team]}, metadata={"labels": {"team": "a"}}))
    made.apply(deployment("web", 4, tolerations=[{"key": "team", "operator": "Exists"}]))
    assert made.run(until=made.all_ready, for_ms=3 * MINUTE)
    assert list(made.nodes) == names(made) == names(made, "nodeclaims") == ["default-1"]
    node, claim = made.object("node/default-1"), made.object("nodeclaim/default-1")
    assert node["spec"]["taints"] == [team]
    assert node["metadata"]["finalizers"] == ["karpenter.sh/termination"]
    wanted = {"team": "a", "karpenter.sh/nodepool": "default", CAPACITY_TYPE: "on-demand"}
    wanted |= {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
    assert wanted.items() <= node["metadata"]["labels"].items()
    assert claim["status"]["providerID"] == node["spec"]["providerID"]
    states = {one["type"]: one["status"] for one in claim["status"]["conditions"]}
    assert {states[name] for name in ("Launched", "Registered", "Initialized")} == {"True"}
    assert claim["metadata"]["ownerReferences"][0]["name"] == "default"
    assert events(made, "Nominated", "Pod") == ["Pod should schedule on: nodeclaim/default-1"] * 4
    conditions = made.object("nodepool/default")["status"]["conditions"]
    assert [(one["type"], one["status"]) for one in conditions] == [("ValidationSucceeded", "True"), ("Ready", "True")]
    made.close()


def test_the_trace_walks_from_the_apply_by_the_claim_and_the_boot_to_the_node() -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    kinds = [event.kind for event in made.why("node/default-1").events]
    wanted = ["schedule.fail", "karpenter.claim", "cloud.launch", "cloud.boot", "karpenter.do"]
    found = [kind for kind in kinds if kind in wanted]
    assert list(dict.fromkeys(found)) == wanted[-4:] or list(dict.fromkeys(found)) == wanted
    text = str(made.why("node/default-1").main())
    assert text.splitlines()[0].endswith("you create Deployment default/web")
    assert "Karpenter decides on a new NodeClaim, default-1: for 2 Pods" in " ".join(text.split())
    made.close()


def test_pods_on_nodes_that_are_there_already_bring_no_machine() -> None:
    made = cluster(nodes=2)
    made.apply(deployment("web", 4))
    run_until(made, made.all_ready)
    made.run(for_ms=5 * MINUTE)
    assert names(made) == ["node-1", "node-2"]
    assert bought(made) == []
    made.close()


def test_a_pod_that_nothing_fits_hears_why_and_nothing_is_bought() -> None:
    made = cluster()
    made.apply(deployment("web", 1, nodeSelector={"karpenter.sh/instance-size": "xlarge"}))
    run_until(made, lambda: any("Failed to schedule pod" in text for text in events(made, "FailedScheduling")))
    made.run(for_ms=MINUTE)
    assert bought(made) == []
    (text,) = [one for one in events(made, "FailedScheduling") if one.startswith("Failed to schedule pod, ")]
    assert 'typo of "karpenter.k8s.aws/instance-size"' in text
    made.close()


def test_when_the_cheapest_offering_is_sold_out_the_next_is_bought() -> None:
    free = cluster()
    free.apply(deployment("web", 2))
    run_until(free, free.all_ready)
    first = bought(free)[0].pool
    free.close()
    made = cluster(capacity={first: 0})
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    (instance,) = bought(made)
    assert instance.pool != first
    made.close()


def test_a_claim_for_which_the_cloud_has_nothing_is_deleted_and_made_again_when_there_is_something() -> None:
    plain = {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["m"]}
    on_demand = {"key": CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]}
    made = cluster(pool(template={"requirements": [plain, on_demand]}), quotas={"standard/on-demand": 0})
    made.apply(deployment("web", 1))
    run_until(made, lambda: bool(events(made, "InsufficientCapacityError")))
    made.run(for_ms=MINUTE)
    assert bought(made) == []
    assert names(made, "nodeclaims") == []
    assert made.karpenter is not None
    made.karpenter.cloud._quotas.clear()
    run_until(made, made.all_ready)
    assert len(bought(made)) == 1
    made.close()


def test_a_machine_that_never_comes_up_is_given_back_after_fifteen_minutes() -> None:
    made = cluster(timings=CloudTimings(boot_failures_per_1000=1_000))
    made.apply(deployment("web", 1))
    run_until(made, lambda: bool(done(made, "registration_timeout")), 20 * MINUTE, MINUTE)
    run_until(made, lambda: not bought(made)[0].is_live)
    run_until(made, lambda: "default-1" not in names(made, "nodeclaims"))
    assert len(bought(made)) == 2
    made.close()


# -- down -----------------------------------------------------------------------------------------------


def test_an_empty_node_goes_and_its_instance_is_given_back() -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    made.scale("deploy/web", 0)
    run_until(made, lambda: names(made) == [])
    made.run(for_ms=MINUTE)
    assert (list(made.nodes), live(made), names(made, "nodeclaims")) == ([], [], [])
    assert events(made, "DisruptionTerminating", "Node") == ["Disrupting Node: Empty"]
    assert events(made, "DisruptionTerminating", "NodeClaim") == ["Disrupting NodeClaim: Empty"]
    made.close()


def shrunk(*pools: Any, **more: Any) -> Cluster:
    made = cluster(*pools, **more)
    made.apply([deployment("web", 6), deployment("train", 1, "700m")])
    run_until(made, made.all_ready)
    made.scale("deploy/web", 2)
    return made


def test_a_node_that_costs_too_much_is_replaced_and_the_replacement_is_ready_before_the_first_eviction() -> None:
    made = shrunk()
    run_until(made, lambda: bool(told(made, "karpenter.drain")))
    assert done(made, "Initialized") == ["default-1", "default-2"]
    assert made.object("node/default-1")["spec"]["taints"] == [DISRUPTED]
    run_until(made, lambda: names(made) == ["default-2"])
    run_until(made, made.all_ready)
    made.run(for_ms=MINUTE)
    assert live(made) == ["default-2"]
    assert events(made, "DisruptionLaunching") == ["Launching NodeClaim: Underutilized"]
    assert events(made, "DisruptionTerminating", "Node") == ["Disrupting Node: Underutilized"]
    assert events(made, "Evicted", "Pod") == ["Evicted pod"] * 3
    prices = [one.price_micros for one in bought(made)]
    assert prices[1] < prices[0]
    made.close()


def test_a_budget_that_allows_nothing_holds_the_node_in_consolidation_and_in_a_drain() -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    made.apply({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    })  # fmt: skip
    made.delete("nodeclaim/default-1")
    made.run(for_ms=5 * MINUTE)
    assert made.object("node/default-1")["metadata"]["deletionTimestamp"]
    assert "default-1" in live(made)
    assert events(made, "Evicted") == []
    assert "Failed to drain node, 2 pods are waiting to be evicted" in events(made, "FailedDraining", "Node")
    generation = made.object("pdb/web")["metadata"]["generation"]
    free = {"disruptionsAllowed": 2, "observedGeneration": generation, "currentHealthy": 2, "desiredHealthy": 0,
            "expectedPods": 2}  # fmt: skip
    made.patch("pdb/web", {"status": free}, subresource="status")
    run_until(made, lambda: "default-1" not in names(made))
    run_until(made, made.all_ready)
    assert "default-1" not in live(made)
    made.close()


@pytest.mark.parametrize("what", ["nodeclaim/default-1", "node/default-1"])
def test_who_deletes_a_claim_or_its_node_has_both_drained_and_gone(what: str) -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    made.delete(what)
    run_until(made, lambda: "default-1" not in names(made) and "default-1" not in names(made, "nodeclaims"))
    run_until(made, made.all_ready)
    assert names(made) == names(made, "nodeclaims") == live(made) == ["default-2"]
    assert len(bought(made)) == 2
    made.close()


def test_a_node_pool_that_changes_makes_its_nodes_drift() -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    made.patch("nodepool/default", {"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}})
    run_until(made, lambda: names(made) == ["default-2"])
    run_until(made, made.all_ready)
    assert events(made, "DisruptionTerminating", "Node") == ["Disrupting Node: Drifted"]
    assert made.object("node/default-2")["metadata"]["labels"]["team"] == "b"
    made.close()


def test_a_node_pool_that_cannot_be_used_says_so_and_makes_no_nodes() -> None:
    made = Cluster(nodes=0, karpenter=KarpenterConfig(cloud=CloudConfig(small_catalogue())))
    wrong = pool()
    wrong["spec"]["template"]["spec"]["requirements"][0]["operator"] = "Near"
    made.apply(wrong)
    made.apply(deployment("web", 1))
    made.run(for_ms=MINUTE)
    ready = made.object("nodepool/default")["status"]["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("False", "NodePoolValidationFailed")
    assert "spec.template.spec.requirements[0].operator" in ready["message"]
    assert bought(made) == []
    made.apply(pool())
    run_until(made, made.all_ready)
    made.close()


def test_a_node_pool_that_is_deleted_takes_its_claims_and_nodes_with_it() -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    made.delete("nodepool/default")
    run_until(made, lambda: names(made) == names(made, "nodeclaims") == live(made) == [])
    made.run(for_ms=MINUTE)
    assert len(bought(made)) == 1
    made.close()


def test_a_claim_that_a_user_writes_becomes_a_node_and_goes_when_it_is_deleted() -> None:
    made = cluster()
    rules = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]}]
    claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "mine"},
             "spec": {"requirements": rules}}  # fmt: skip
    made.apply(claim)
    run_until(made, lambda: names(made) == ["mine"])
    run_until(made, lambda: done(made, "Initialized") == ["mine"])
    assert made.object("nodeclaim/mine")["metadata"]["finalizers"] == ["karpenter.sh/termination"]
    made.delete("nodeclaim/mine")
    run_until(made, lambda: names(made) == names(made, "nodeclaims") == live(made) == [])
    made.close()


def test_a_claim_without_finalizer_that_vanishes_leaves_no_machine_and_no_node_behind() -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    made.crash("karpenter", restart_after_ms=None)
    made.patch("nodeclaim/default-1", {"metadata": {"finalizers": None}})
    made.restart("karpenter")
    made.run(for_ms=5_000)
    made.delete("nodeclaim/default-1")
    run_until(made, lambda: "default-1" not in [*names(made), *live(made), *names(made, "nodeclaims")])
    run_until(made, made.all_ready)
    made.close()


def test_a_start_up_taint_keeps_pods_away_until_somebody_takes_it_off() -> None:
    agent = {"key": "cni.example.com/agent-not-ready", "effect": "NoExecute"}
    made = cluster(pool(template={"startupTaints": [agent]}))
    made.apply(deployment("web", 1))
    run_until(made, lambda: bool(done(made, "Registered")))
    made.run(for_ms=3 * MINUTE)
    assert done(made, "Initialized") == []
    assert len(bought(made)) == 1
    conditions = {one["type"]: one for one in made.object("nodeclaim/default-1")["status"]["conditions"]}
    assert conditions["Initialized"]["reason"] == "StartupTaintsExist"
    made.patch("node/default-1", {"spec": {"taints": None}})
    run_until(made, made.all_ready)
    assert done(made, "Initialized") == ["default-1"]
    made.close()


def test_when_the_termination_grace_period_is_over_pods_are_deleted_in_spite_of_their_budget() -> None:
    made = cluster(pool(template={"terminationGracePeriod": "3m"}))
    made.apply(deployment("web", 2, terminationGracePeriodSeconds=30))
    run_until(made, made.all_ready)
    made.apply({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    })  # fmt: skip
    made.delete("nodeclaim/default-1")
    made.run(for_ms=2 * MINUTE)
    assert "default-1" in names(made)
    run_until(made, lambda: "default-1" not in [*names(made), *live(made)], 3 * MINUTE)
    assert all("This bypasses the PDB of the pod" in text for text in events(made, "Disrupted", "Pod"))
    assert len(events(made, "Disrupted", "Pod")) == 2
    made.close()


# -- faults ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", range(1, 8))
def test_a_karpenter_that_crashes_at_any_of_its_calls_comes_back_without_buying_twice(call: int) -> None:
    made = cluster(disrupts=False)
    made.run(for_ms=5_000)
    made.crash("karpenter", before_call=call, restart_after_ms=2_000)
    made.apply(deployment("web", 4))
    run_until(made, made.all_ready)
    made.run(for_ms=2 * MINUTE)
    assert len(bought(made)) == len(names(made)) == len(names(made, "nodeclaims")) == 1
    assert taints(made, names(made)[0]) == []
    made.close()


@pytest.mark.parametrize(("call", "after_ms"), [*((call, 0) for call in range(1, 10)), (0, 35_000), (0, 75_000)])
def test_a_karpenter_that_crashes_in_a_replacement_comes_to_the_same_end_in_its_next_life(
    call: int, after_ms: int
) -> None:
    """As upstream it forgets the command: it takes the taint off, and the new node may go as empty before the old one
    is looked at; but no claim has two machines."""
    made = shrunk()
    mind = made.control_plane.operators["karpenter"].program.mind
    assert made.run(until=lambda: mind.disruption.waiting is not None, for_ms=5 * MINUTE)
    made.run(for_ms=after_ms)
    made.crash("karpenter", before_call=call or None, restart_after_ms=1_000)
    made.run(for_ms=10 * MINUTE)
    assert made.all_ready()
    assert len(names(made)) == 1
    assert live(made) == names(made) == names(made, "nodeclaims") == list(made.nodes)
    assert taints(made, names(made)[0]) == []
    claims = [one.tags["karpenter.sh/nodeclaim"] for one in bought(made)]
    assert len(claims) == len(set(claims)) <= 3
    assert bought(made)[-1].price_micros < bought(made)[0].price_micros
    made.close()


def test_while_karpenter_is_down_nodes_stay_and_what_was_deleted_goes_when_it_is_back() -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    made.crash("karpenter", restart_after_ms=None)
    made.delete("nodeclaim/default-1")
    made.run(for_ms=5 * MINUTE)
    assert live(made) == names(made) == ["default-1"]
    made.restart("karpenter")
    run_until(made, lambda: names(made) == live(made) == ["default-2"])
    run_until(made, made.all_ready)
    made.close()


def test_a_spot_machine_that_is_taken_back_is_drained_at_once_and_replaced_from_another_pool() -> None:
    made = cluster(pool(how="spot"))
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    assert made.karpenter is not None
    (instance,) = bought(made)
    made.karpenter.cloud.interrupt(instance.id, made.now_ms)
    run_until(made, lambda: names(made) == ["default-2"])
    run_until(made, made.all_ready)
    assert set(events(made, "SpotInterrupted")) == {"Spot interruption warning was triggered"}
    assert events(made, "TerminatingOnInterruption", "Node") == ["Interruption triggered termination for the Node"]
    assert bought(made)[1].pool != instance.pool
    assert live(made) == list(made.nodes) == ["default-2"]
    made.close()


def test_a_machine_that_ends_in_the_cloud_takes_its_claim_with_it_and_the_pods_get_another() -> None:
    made = cluster()
    made.apply(deployment("web", 2))
    run_until(made, made.all_ready)
    assert made.karpenter is not None
    made.karpenter.cloud.terminate(bought(made)[0].id, made.now_ms)
    run_until(made, lambda: names(made) == names(made, "nodeclaims") == ["default-2"])
    run_until(made, made.all_ready)
    assert events(made, "InstanceTerminating", "Node") == ["Instance is terminating"]
    made.close()


def test_a_machine_without_power_keeps_its_claim_until_its_pods_are_evicted_and_it_is_empty() -> None:
    """With a healthy node in another zone: where nothing is healthy, nobody is evicted."""
    made = cluster(nodes=1)
    made.apply(deployment("web", 1, "5"))
    run_until(made, made.all_ready)
    made.fail_node("default-1")
    run_until(made, lambda: len(bought(made)) == 2, 20 * MINUTE)
    made.run(for_ms=5 * MINUTE)
    assert names(made) == ["default-2", "node-1"]
    assert live(made) == ["default-2"]
    assert made.all_ready()
    made.close()


def test_karpenter_goes_on_after_a_partition() -> None:
    made = cluster()
    made.run(for_ms=5_000)
    made.partition("karpenter")
    made.apply(deployment("web", 2))
    made.run(for_ms=2 * MINUTE)
    assert bought(made) == []
    made.heal()
    run_until(made, made.all_ready)
    assert len(bought(made)) == 1
    made.close()


# -- all --------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_trace() -> None:
    def run() -> str:
        made = shrunk(seed=11)
        made.run(for_ms=5 * MINUTE)
        made.close()
        return made.trace.to_jsonl()

    assert run() == run()


@pytest.mark.parametrize(("order", "latency"), [("shuffle", "lan"), ("priority", "slow-watch"), ("fifo", "none")])
def test_other_orders_and_latencies_end_alike(order: str, latency: str) -> None:
    config = KarpenterConfig([pool()], CloudConfig(small_catalogue()))
    made = Cluster(nodes=0, seed=3, order=order, latency=latency, karpenter=config)
    made.apply([deployment("web", 6), deployment("train", 1, "700m")])
    run_until(made, made.all_ready)
    made.scale("deploy/web", 2)
    made.run(for_ms=10 * MINUTE)
    assert made.all_ready()
    assert names(made) == live(made) == names(made, "nodeclaims") == list(made.nodes) == ["default-2"]
    made.close()


def test_node_pools_that_are_no_objects_do_as_well() -> None:
    made = Cluster(nodes=0, karpenter=KarpenterConfig([NodePool.parse(pool())], CloudConfig(small_catalogue())))
    made.apply(deployment("web", 1))
    run_until(made, made.all_ready)
    assert names(made, "nodepools") == []
    made.close()


def test_wrong_configurations_are_named() -> None:
    with pytest.raises(TypeError, match="karpenter: 3: expected a KarpenterConfig"):
        Cluster(nodes=1, karpenter=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"node_pools\[0\]: 'pool': expected a NodePool or its manifest"):
        KarpenterConfig(["pool"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"node_pools: 'pool': expected a list of NodePool manifests"):
        KarpenterConfig("pool")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"node_pools\[1\]: nodepool default: is there twice"):
        KarpenterConfig([pool(), pool()])
    with pytest.raises(ValueError, match=r"nodepool default: spec\.replicas: static NodePools are not simulated"):
        KarpenterConfig([{**pool(), "spec": {**pool()["spec"], "replicas": 1}}])
    with pytest.raises(TypeError, match="cloud: 7: expected a CloudConfig"):
        KarpenterConfig([pool()], 7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="disrupts: 'no': expected True or False"):
        KarpenterConfig([pool()], disrupts="no")  # type: ignore[arg-type]
    config = KarpenterConfig([pool()])
    with pytest.raises(ValueError, match=r"cni: .bridge.: expected None with karpenter"):
        Cluster(nodes=0, karpenter=config, cni="bridge")
    other = ClusterAutoscalerConfig([NodeGroupConfig("pool", "m5.large")])
    with pytest.raises(ValueError, match=r"karpenter: .*: expected None with cluster_autoscaler"):
        Cluster(nodes=0, karpenter=config, cluster_autoscaler=other)
    with pytest.raises(ValueError, match="karpenter: a run with objects of your own cannot be recorded"):
        cluster().recording()


def test_a_cluster_without_karpenter_does_not_import_it() -> None:
    script = "import k8slab.cluster, sys; print([m for m in sys.modules if m.startswith('k8slab.autoscaling')])"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
