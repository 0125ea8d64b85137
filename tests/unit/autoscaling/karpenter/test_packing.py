"""Which nodes for which Pods: website concepts/scheduling.md, nodepools.md; pkg/controllers/provisioning/scheduling."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.autoscaling.cloud import Pool, node_object, small_catalogue
from k8slab.autoscaling.karpenter import ClusterState, NewNode, pack
from k8slab.scheduler import Framework, Snapshot
from k8slab.scheduler.framework import placed_on
from tests.karpenter import (
    CAPACITY_TYPE,
    HOST,
    ZONE,
    app_pod,
    cluster,
    instance_type,
    ladder,
    node_pool,
    rule,
    run_node,
)
from tests.scheduling import pod


def names(new: NewNode) -> list[str]:
    return [one["metadata"]["name"] for one in new.pods]


def types(new: NewNode) -> list[str]:
    return [one.name for one in new.options()]


def selector(app: str = "web") -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}}


def spread(key: str, skew: int = 1, when: str = "DoNotSchedule", **more: Any) -> list[dict[str, Any]]:
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, **selector(), **more}]


def affinity(kind: str, key: str, app: str = "web") -> dict[str, Any]:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **selector(app)}]}}


# -- size and price ------------------------------------------------------------------------------------


def test_one_large_node_for_several_pods_is_left_open_to_all_types_that_fit() -> None:
    """nodeclaims.md: the claim lists every type that will do; the cheapest is bought."""
    packing = pack([app_pod("a", "1500m"), app_pod("b", "1500m")], cluster())
    assert [(names(one), types(one)) for one in packing.new] == [(["a", "b"], ["m5.xlarge", "m5.2xlarge"])]
    assert packing.price_micros == 80_000  # nothing said about capacity types: spot may be bought


def test_spot_is_cheaper_where_the_pool_allows_it() -> None:
    pool = node_pool("default", rule(CAPACITY_TYPE, "In", "spot", "on-demand"))
    assert pack([app_pod("a")], cluster(pool)).price_micros == 40_000
    assert (
        pack([app_pod("a")], cluster(node_pool("default", rule(CAPACITY_TYPE, "In", "on-demand")))).price_micros
        == 100_000
    )


def test_the_largest_pods_are_packed_first() -> None:
    """queue.go: by CPU, then by memory, descending."""
    pods = [app_pod("small"), app_pod("large", "2"), app_pod("fat", "1", "4Gi"), app_pod("thin", "1", "1Gi")]
    assert names(pack(pods, cluster()).new[0]) == ["large", "fat", "thin", "small"]


def test_what_daemon_sets_take_is_counted_on_every_new_node() -> None:
    """scheduling.md: DaemonSet overhead; here 1 of the 1.93 CPUs of an m5.large."""
    daemon = app_pod("agent", "1", app="agent")
    assert types(pack([app_pod("a", "1500m")], cluster()).new[0])[0] == "m5.large"
    packing = pack([app_pod("a", "1500m")], cluster(daemons=[daemon]))
    assert types(packing.new[0])[0] == "m5.xlarge"
    assert packing.new[0].requests["cpu"] == 2_500


def test_a_daemon_set_that_does_not_run_there_takes_nothing() -> None:
    arm = app_pod("agent", "1", app="agent", nodeSelector={"kubernetes.io/arch": "arm64"})
    assert types(pack([app_pod("a", "1500m")], cluster(daemons=[arm])).new[0])[0] == "m5.large"
    tainted = node_pool(template={"taints": [{"key": "t", "effect": "NoSchedule"}]})
    tolerant = app_pod("a", "1500m", tolerations=[{"operator": "Exists"}])
    daemon = app_pod("agent", "1", app="agent")
    assert types(pack([tolerant], cluster(tainted, daemons=[daemon])).new[0])[0] == "m5.large"


def test_overhead_depends_on_the_type() -> None:
    """buildDaemonOverheadGroups: a DaemonSet for GPU machines burdens only these."""
    gpu = instance_type("g5.large", 2, 0.05, gpus=1, gpu_product="NVIDIA-A10G")
    terms = [{"matchExpressions": [rule("karpenter.k8s.aws/instance-gpu-count", "Exists")]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    driver = app_pod("driver", "1500m", app="driver", affinity={"nodeAffinity": required})
    state = cluster(types=[gpu, instance_type("m5.large", 2, 0.1)], daemons=[driver])
    assert types(pack([app_pod("a", "1")], state).new[0]) == ["m5.large"]


def test_a_type_that_is_sold_out_is_no_choice() -> None:
    state = cluster()
    large = state.catalogue.types[0]
    state.catalogue = state.catalogue.without({Pool(large.name, o.zone, o.capacity_type) for o in large.offerings})
    assert types(pack([app_pod("a")], state).new[0]) == ["m5.xlarge", "m5.2xlarge"]


# -- NodePools -----------------------------------------------------------------------------------------


def test_weight_decides_between_pools_and_the_next_one_catches_what_does_not_fit() -> None:
    """scheduling.md, Weighted NodePools and Fallback."""
    small = node_pool("reserved", rule("node.kubernetes.io/instance-type", "In", "m5.large"), weight=50)
    packing = pack([app_pod("a", "1"), app_pod("b", "3")], cluster(small, node_pool("default")))
    # b comes first and fits only the second pool; then its node has room for a
    assert {one.pool.name: names(one) for one in packing.new} == {"default": ["b", "a"]}
    assert pack([app_pod("a", "1")], cluster(small, node_pool("default"))).new[0].pool.name == "reserved"


def test_limits_keep_what_might_be_launched_below_them() -> None:
    """nodepools.md, spec.limits; subtractMax: the largest type that may come is what counts."""
    pool = node_pool(limits={"cpu": "8"})
    two = [app_pod(n, "1500m", topologySpreadConstraints=spread(HOST)) for n in "ab"]
    packing = pack(two, cluster(pool))
    assert [types(one) for one in packing.new] == [["m5.large", "m5.xlarge", "m5.2xlarge"]]
    assert packing.errors == {"default/b": "all available instance types exceed limits for nodepool (NodePool=default)"}


def test_nodes_that_there_are_count_against_the_limits() -> None:
    state = cluster(node_pool(limits={"cpu": "6"}))
    assert types(pack([app_pod("a", "3")], state).new[0]) == ["m5.xlarge"]
    run_node(state, "n1", "m5.large")
    assert types(pack([app_pod("a", "3")], state).new[0]) == ["m5.xlarge"]
    run_node(state, "n2", "m5.large")
    assert "has enough resources" in pack([app_pod("a", "3")], state).errors["default/a"]


def test_a_limit_of_nodes() -> None:
    state = cluster(node_pool(limits={"nodes": "1"}))
    run_node(state, "n1", "m5.large")
    packing = pack([app_pod("a", "3")], state)
    assert packing.errors == {"default/a": "node limits have been exhausted for nodepool (NodePool=default)"}


def test_taints_of_the_pool_must_be_tolerated_start_up_taints_need_not() -> None:
    """scheduling.md, Taints and tolerations; nodepools.md, spec.template.spec.startupTaints."""
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    tainted = cluster(node_pool(template={"taints": [taint]}))
    assert pack([app_pod("a")], tainted).errors == {"default/a": "did not tolerate taint (taint=gpu=yes:NoSchedule)"}
    tolerant = app_pod("a", tolerations=[{"key": "gpu", "operator": "Exists"}])
    assert pack([tolerant], tainted).errors == {}
    assert pack([app_pod("a")], cluster(node_pool(template={"startupTaints": [taint]}))).errors == {}


def test_a_taint_that_only_prefers_is_tolerated_at_last() -> None:
    """preferences.go: toleratePreferNoScheduleTaints is the last relaxation."""
    pool = node_pool(template={"taints": [{"key": "soft", "effect": "PreferNoSchedule"}]})
    assert pack([app_pod("a")], cluster(pool)).errors == {}


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        pytest.param({"nodeSelector": {"team": "a"}},
                     'incompatible requirements, label "team" does not have known values',
                     id="a custom label without a pool for it"),
        pytest.param({"nodeSelector": {"kubernetes.io/arch": "arm64"}}, "no instance type met all requirements",
                     id="an architecture that is not sold"),
        pytest.param({"nodeSelector": {ZONE: "z"}},
                     "no instance type met the scheduling requirements or had a required "
                     "offering", id="a zone that there is not"),
    ],
)  # fmt: skip
def test_why_no_node_can_be_made(template: dict[str, Any], reason: str) -> None:
    assert reason in pack([app_pod("a", **template)], cluster()).errors["default/a"]


def test_a_pod_that_is_too_large_says_so() -> None:
    error = pack([app_pod("a", "9")], cluster()).errors["default/a"]
    assert error.startswith("no instance type has enough resources, requirements=")
    assert 'resources={"cpu":"9000m"' in error


def test_an_instance_attribute_can_be_asked_for_with_gt() -> None:
    """nodepools.md, Instance Types: karpenter.k8s.aws/instance-cpu and the operator Gt."""
    pool = node_pool("default", rule("karpenter.k8s.aws/instance-cpu", "Gt", "3"))
    assert types(pack([app_pod("a")], cluster(pool)).new[0]) == ["m5.xlarge", "m5.2xlarge"]


def test_a_label_with_exists_separates_teams() -> None:
    """scheduling.md, `Exists` Operator: each value asked for gets nodes of its own."""
    pool = node_pool("default", rule("company.com/team", "Exists"))
    pods = [app_pod(f"{team}{n}", nodeSelector={"company.com/team": team}) for team in "ab" for n in "12"]
    packing = pack(pods, cluster(pool))
    assert sorted(names(one) for one in packing.new) == [["a1", "a2"], ["b1", "b2"]]


# -- minValues: nodepools.md, Min Values ----------------------------------------------------------------


def test_min_values_keep_a_launch_flexible() -> None:
    family = rule("karpenter.k8s.aws/instance-family", "Exists", minValues=2)
    sizes = [instance_type("m5.large", 2, 0.1), instance_type("c5.large", 2, 0.1), instance_type("m5.8xlarge", 32, 1)]
    state = cluster(node_pool("default", family), types=sizes)
    packing = pack([app_pod("a", "1"), app_pod("b", "8")], state)
    assert packing.errors.keys() == {"default/b"}
    assert packing.errors["default/b"].startswith(
        "minValues requirement is not met for label(s) karpenter.k8s.aws/instance-family"
    )


def test_a_pod_is_not_added_to_a_node_that_would_lose_its_min_values() -> None:
    family = rule("karpenter.k8s.aws/instance-family", "Exists", minValues=2)
    sizes = [instance_type("m5.large", 2, 0.1), instance_type("c5.large", 2, 0.1), instance_type("m5.2xlarge", 8, 1)]
    packing = pack([app_pod(n, "1") for n in "ab"], cluster(node_pool("default", family), types=sizes))
    assert [names(one) for one in packing.new] == [["a"], ["b"]]


# -- topology: scheduling.md, Topology Spread, Pod affinity/anti-affinity ---------------------------------


def zones_of(state: ClusterState, pods: list[Any]) -> list[str]:
    packing = pack(pods, state)
    assert packing.errors == {}
    return sorted(str(one.requirements.get(ZONE).only) for one in packing.new for _ in one.pods)


def test_spread_over_zones_makes_a_node_in_each() -> None:
    pods = [app_pod(f"p{n}", topologySpreadConstraints=spread(ZONE)) for n in range(6)]
    assert zones_of(cluster(), pods) == ["a", "a", "b", "b", "c", "c"]


def test_pods_that_run_count_for_the_spread() -> None:
    state = cluster()
    run_node(state, "n1", "m5.large", app_pod("r1", "900m"), app_pod("r2", "900m"), zone="a")
    pods = [app_pod(f"p{n}", topologySpreadConstraints=spread(ZONE)) for n in range(4)]
    assert zones_of(state, pods) == ["b", "b", "c", "c"]


def test_spread_over_hosts_makes_as_many_nodes() -> None:
    pods = [app_pod(f"p{n}", topologySpreadConstraints=spread(HOST, 2)) for n in range(6)]
    assert sorted(len(one.pods) for one in pack(pods, cluster()).new) == [2, 2, 2]


def test_spread_that_only_prefers_gives_way() -> None:
    one_zone = cluster(node_pool("default", rule(ZONE, "In", "a")))
    hard = [app_pod(f"p{n}", topologySpreadConstraints=spread(ZONE, minDomains=2)) for n in range(3)]
    soft = [app_pod(f"p{n}", topologySpreadConstraints=spread(ZONE, when="ScheduleAnyway")) for n in range(3)]
    assert len(pack(hard, one_zone).errors) == 2  # minDomains: as long as a zone is missing, the least count is 0
    assert pack(soft, one_zone).errors == {}


def test_capacity_types_can_be_spread_over() -> None:
    """scheduling.md: karpenter.sh/capacity-type is a topology key, too."""
    pods = [app_pod(f"p{n}", topologySpreadConstraints=spread(CAPACITY_TYPE)) for n in range(4)]
    packing = pack(pods, cluster())
    assert sorted(str(one.requirements.get(CAPACITY_TYPE).only) for one in packing.new for _ in one.pods) == [
        "on-demand",
        "on-demand",
        "spot",
        "spot",
    ]


def test_anti_affinity_on_hosts_makes_a_node_for_each() -> None:
    pods = [app_pod(f"p{n}", affinity=affinity("podAntiAffinity", HOST)) for n in range(4)]
    assert [len(one.pods) for one in pack(pods, cluster()).new] == [1, 1, 1, 1]


def test_anti_affinity_on_zones_closes_every_zone_a_node_may_be_in() -> None:
    """scheduling.md: until it is known where a node comes up, all its zones count: one Pod a round."""
    pods = [app_pod(f"p{n}", affinity=affinity("podAntiAffinity", ZONE)) for n in range(3)]
    packing = pack(pods, cluster())
    assert (len(packing.new), len(packing.errors)) == (1, 2)
    assert all("unsatisfiable topology constraint for pod anti-affinity" in text for text in packing.errors.values())


def test_anti_affinity_works_the_other_way_round_too() -> None:
    """topology.go: a Pod that runs and does not want this one near closes its domain, too."""
    state = cluster()
    loner = app_pod("loner", affinity=affinity("podAntiAffinity", ZONE), app="db")
    run_node(state, "n1", "m5.2xlarge", loner, zone="a")
    assert pack([app_pod("other", app="other")], state).existing == {"n1": ["default/other"]}
    packing = pack([app_pod("web")], state)
    assert packing.existing == {} and sorted(packing.new[0].requirements.get(ZONE).values) == ["b", "c"]
    assert "pod anti-affinity" in pack([app_pod("web", nodeSelector={ZONE: "a"})], state).errors["default/web"]


def test_affinity_brings_pods_together_in_any_order() -> None:
    """scheduler.go, Solve: Pods are tried again as long as others succeed."""
    near = {"podAffinity": affinity("podAffinity", HOST, "db")["podAffinity"]}
    packing = pack([app_pod("web", "1", affinity=near), app_pod("db", "100m", app="db")], cluster())
    assert [sorted(names(one)) for one in packing.new] == [["db", "web"]]


def test_affinity_to_itself_begins_somewhere() -> None:
    pods = [app_pod(f"p{n}", affinity=affinity("podAffinity", ZONE)) for n in range(3)]
    assert zones_of(cluster(), pods) == ["a", "a", "a"]


def test_affinity_to_nobody_is_an_error() -> None:
    assert (
        "pod affinity"
        in pack([app_pod("web", affinity=affinity("podAffinity", HOST, "db"))], cluster()).errors["default/web"]
    )


def test_a_topology_key_that_no_pool_knows_is_an_error() -> None:
    """scheduling.md: custom topology keys need a label in the NodePool's requirements."""
    rack = [app_pod("a", topologySpreadConstraints=spread("rack"))]
    assert pack(rack, cluster()).errors != {}
    assert pack(rack, cluster(node_pool("default", rule("rack", "In", "r1", "r2")))).errors == {}


def test_required_terms_are_tried_one_after_the_other() -> None:
    """scheduling.md, Node affinity: terms are ORed, the first that works is taken."""
    terms = [{"matchExpressions": [rule("kubernetes.io/arch", "In", arch)]} for arch in ("arm64", "amd64")]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    packing = pack([app_pod("a", affinity={"nodeAffinity": required})], cluster())
    assert packing.errors == {}
    assert packing.new[0].requirements.get("kubernetes.io/arch").only == "amd64"


def test_preferences_are_kept_if_they_can_be() -> None:
    def wish(arch: str) -> Any:
        preferred = [{"weight": 1, "preference": {"matchExpressions": [rule("kubernetes.io/arch", "In", arch)]}}]
        return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}

    both = [instance_type("m5.large", 2, 0.1), instance_type("m6g.large", 2, 0.05, arch="arm64")]
    state = cluster(types=both)
    assert types(pack([app_pod("a", affinity=wish("amd64"))], state).new[0]) == ["m5.large"]
    assert types(pack([app_pod("a", affinity=wish("riscv"))], state).new[0]) == ["m6g.large", "m5.large"]


def test_host_ports_need_nodes_of_their_own() -> None:
    packing = pack([pod("a", host_port=80), pod("b", host_port=80), pod("c", host_port=81)], cluster())
    assert sorted(len(one.pods) for one in packing.new) == [1, 2]


# -- nodes that there are --------------------------------------------------------------------------------


def test_free_room_is_used_before_nodes_are_made() -> None:
    state = cluster()
    run_node(state, "n1", "m5.large")
    assert pack([app_pod("a"), app_pod("b")], state).existing == {"n1": ["default/a", "default/b"]}


def test_nodes_on_their_way_take_pods_their_start_up_taints_notwithstanding() -> None:
    """scheduling.md: Karpenter keeps in-flight nodes in mind; statenode.go, Taints."""
    startup = {"key": "cilium", "effect": "NoExecute"}
    state = cluster(node_pool(template={"startupTaints": [startup]}))
    node = run_node(state, "n1", "m5.large", startup_taints=(startup,))
    assert node.node is not None
    labels = {k: v for k, v in node.node["metadata"]["labels"].items() if k != "karpenter.sh/initialized"}
    taints = [startup, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    node.set_node({**node.node, "metadata": {**node.node["metadata"], "labels": labels}, "spec": {"taints": taints}})
    assert pack([app_pod("a")], state).existing == {"n1": ["default/a"]}
    labels["karpenter.sh/initialized"] = "true"
    assert pack([app_pod("a")], state).existing == {}


def test_ready_nodes_come_before_those_on_their_way() -> None:
    state = cluster()
    first = run_node(state, "a-late", "m5.large")
    run_node(state, "z-ready", "m5.large")
    assert first.node is not None
    del first.node["metadata"]["labels"]["karpenter.sh/initialized"]
    assert list(pack([app_pod("a")], state).existing) == ["z-ready"]


def test_room_for_a_daemon_set_that_has_not_started_is_kept_free() -> None:
    daemon = app_pod("agent", "1", app="agent")
    daemon["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent"}]
    state = cluster(daemons=[daemon])
    run_node(state, "n1", "m5.large")
    assert pack([app_pod("a", "1500m")], state).existing == {}
    run_node(state, "n2", "m5.large", {**daemon, "metadata": {**daemon["metadata"], "name": "agent-2"}})
    assert pack([app_pod("a", "900m")], state).existing != {}


def test_nodes_that_go_take_nobody() -> None:
    state = cluster()
    run_node(state, "n1", "m5.large").is_marked_for_deletion = True
    assert pack([app_pod("a")], state).existing == {}


# -- against the scheduler -------------------------------------------------------------------------------


def random_pods(rng: random.Random, count: int) -> list[Any]:
    """Pods of a few applications, each with its own rules, as real ones have them: all Pods of one ask for the same."""
    apps: dict[str, dict[str, Any]] = {}
    for app in "uvwxyz"[: rng.randint(1, 6)]:
        more: dict[str, Any] = {}
        kind = rng.randrange(6)
        if kind < 2:
            key, skew = rng.choice([ZONE, HOST]), rng.choice([1, 2])
            more["topologySpreadConstraints"] = [{**spread(key, skew)[0], **selector(app)}]
        elif kind == 2:
            more["affinity"] = affinity("podAntiAffinity", rng.choice([HOST, ZONE]), rng.choice([app, "u"]))
        elif kind == 3:
            more["affinity"] = affinity("podAffinity", rng.choice([HOST, ZONE]), rng.choice([app, "u"]))
        if rng.random() < 0.3:
            more["nodeSelector"] = {"kubernetes.io/arch": rng.choice(["amd64", "arm64"])}
        apps[app] = more
    made = []
    for number in range(count):
        app = rng.choice(list(apps))
        cpu, memory = f"{rng.choice([100, 700, 1500])}m", f"{rng.choice([1, 3])}Gi"
        made.append(app_pod(f"p{number}", cpu, memory, app=app, **apps[app]))
    return made


@pytest.mark.parametrize("seed", range(60))
def test_the_scheduler_agrees_with_every_placement(seed: int) -> None:
    """Each Pod, in the order of packing, passes all filters of the default profile on the node it was planned for."""
    rng = random.Random(seed)
    state = cluster(types=small_catalogue())
    pods = random_pods(rng, rng.randint(5, 40))
    packing = pack(pods, state)
    nodes, plan = [], {}
    for number, new in enumerate(packing.new):
        kind, offering = new.cheapest()
        nodes.append(node_object(f"n{number}", kind, offering.zone, labels={CAPACITY_TYPE: offering.capacity_type}))
        plan.update({one["metadata"]["name"]: f"n{number}" for one in new.pods})
    assert len(plan) + len(packing.errors) == len(pods)
    framework, snapshot = Framework.from_profile(), Snapshot.of(nodes)
    left = [one for one in sorted(pods, key=lambda p: -len(p["metadata"]["name"])) if one["metadata"]["name"] in plan]
    while left:
        placed = []
        for one in left:
            target = plan[one["metadata"]["name"]]
            if framework.explain(one, snapshot).node(target).feasible:
                snapshot.assume(placed_on(one, target), target)
                placed.append(one)
        assert placed, f"no order leads to this: {[one['metadata']['name'] for one in left]}"
        left = [one for one in left if one not in placed]


def test_a_packing_is_the_same_every_time() -> None:
    rng = random.Random(3)
    pods = random_pods(rng, 60)

    def once() -> Any:
        packing = pack(pods, cluster(types=small_catalogue()))
        return [(names(one), types(one), str(one.requirements)) for one in packing.new], packing.errors

    assert once() == once()


def test_nothing_to_pack_and_nothing_to_pack_on() -> None:
    assert pack([], cluster()).new == []
    none = node_pool("default", rule("kubernetes.io/arch", "In", "riscv"))
    assert pack([app_pod("a")], cluster(none)).errors == {
        "default/a": "nodepool requirements filtered out all available instance types"
    }


def test_prices_rise_along_the_ladder() -> None:
    assert types(pack([app_pod("a")], cluster(types=ladder(5))).new[0]) == [f"t1.s0{n}" for n in range(1, 6)]
