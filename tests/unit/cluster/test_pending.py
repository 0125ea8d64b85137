"""Why a Pod of a snapshot is pending: what is said of it, which changes are found. Expected values are arithmetic."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.cluster import ClusterSnapshot, Finding, Pending, PodState, SnapshotError
from k8slab.cluster.snapshots import ORDER
from k8slab.scheduler import KubeSchedulerConfiguration

Json = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def node(name: str = "n1", cpu: str = "4", *, labels: Json | None = None, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    }


def pod(name: str = "p", cpu: str = "1", *, labels: Json | None = None, memory: str = "", **spec: Any) -> Json:
    requests = {"cpu": cpu, **({"memory": memory} if memory else {})}
    containers = [{"name": "c", "image": "nginx", "resources": {"requests": requests}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {"app": name}},
        "spec": {"priority": 0, "containers": containers, **spec},
    }


def explain(*objects: Json, key: str = "default/p", most: int = 5) -> Finding:
    return Pending(ClusterSnapshot.of(objects), most=most).explain(key)


def ways(*objects: Json) -> list[str]:
    return [remedy.text for remedy in explain(*objects, most=20).remedies]


# -- what a Pod is to the scheduler ----------------------------------------------------------------

TAINTED = {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}


def test_a_pod_with_a_node_is_not_pending_for_the_scheduler() -> None:
    finding = explain(node(), pod(nodeName="n1"))
    assert (finding.state, finding.node, finding.message) == (PodState.BOUND, "n1", "")
    assert "it has node n1" in finding.reason


def test_a_gated_pod_is_told_by_its_gates_and_what_would_follow() -> None:
    finding = explain(node(), node("n2", "500m"), pod(schedulingGates=[{"name": "example.com/quota"}]))
    assert finding.state is PodState.GATED
    assert finding.reason == (
        "waiting for scheduling gates: [example.com/quota]; without them 1 of 2 nodes would take it"
    )


def test_a_pod_that_is_being_deleted_is_skipped() -> None:
    leaving = pod()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert explain(node(), leaving).state is PodState.DELETING


def test_a_pod_of_another_scheduler_is_left_to_it() -> None:
    finding = explain(node(), pod(schedulerName="volcano"))
    assert finding.state is PodState.OTHER_SCHEDULER
    assert finding.reason == "spec.schedulerName is volcano, not among default-scheduler: another scheduler decides"


def test_a_pod_of_another_profile_is_explained_with_the_configuration() -> None:
    config = KubeSchedulerConfiguration.from_dict({"profiles": [{"schedulerName": "volcano"}]})
    snapshot = ClusterSnapshot.of([node(cpu="500m"), pod(schedulerName="volcano")])
    assert Pending(snapshot, config).explain("default/p").state is PodState.UNSCHEDULABLE


def test_a_resource_that_the_scheduler_leaves_to_an_extender_is_not_missed() -> None:
    def state(**managed: Any) -> PodState:
        entry = {"name": "example.com/gpu", **managed}
        extender = {"urlPrefix": "http://gpu.local", "filterVerb": "filter", "managedResources": [entry]}
        config = KubeSchedulerConfiguration.from_dict({"extenders": [extender]})
        incoming = pod()
        incoming["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1"
        return Pending(ClusterSnapshot.of([node(), incoming]), config).explain("default/p").state

    assert state() is PodState.UNSCHEDULABLE
    assert state(ignoredByScheduler=True) is PodState.FITS


def test_a_profile_without_a_plugin_gives_no_verdict_of_it() -> None:
    plugins = {"multiPoint": {"disabled": [{"name": "TaintToleration"}]}}
    config = KubeSchedulerConfiguration.from_dict({"profiles": [{"plugins": plugins}]})
    snapshot = ClusterSnapshot.of([node(**TAINTED), pod()])
    assert Pending(snapshot).explain("default/p").state is PodState.UNSCHEDULABLE
    assert Pending(snapshot, config).explain("default/p").state is PodState.FITS


def test_a_pod_that_fits_says_where_and_has_scores() -> None:
    finding = explain(node("n1", "2"), node("n2", "8"), pod())
    assert (finding.state, finding.node, finding.remedies) == (PodState.FITS, "n2", [])
    assert finding.explanation is not None
    assert {row.node: row.total > 0 for row in finding.explanation.nodes} == {"n1": True, "n2": True}


def test_a_snapshot_without_nodes_gives_upstreams_text() -> None:
    assert explain(pod()).message == "no nodes available to schedule pods"


def test_an_unknown_pod_is_named_with_the_closest() -> None:
    with pytest.raises(
        SnapshotError, match=r"pod 'default/checkuot': not in the snapshot .*close to it: default/checkout"
    ):
        explain(node(), pod("checkout"), key="default/checkuot")


def test_pods_that_ask_for_the_same_are_told_of_once() -> None:
    pods = [pod(name, "9", labels={"app": "web"}) for name in ("a", "b", "c")]
    [finding] = Pending(ClusterSnapshot.of([node(), *pods])).all()
    assert (finding.pod, finding.same_as) == ("default/a", ["default/b", "default/c"])


def test_what_the_cluster_said_last_is_shown_beside_ours() -> None:
    waiting = pod(cpu="9")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/7 nodes ..."}
    waiting["status"] = {"conditions": [condition]}
    assert explain(node(), waiting).recorded == "0/7 nodes ..."


def test_room_that_a_nominated_pod_was_promised_is_kept_and_told() -> None:
    promised = {**pod("first", "3", priority=5), "status": {"nominatedNodeName": "n1"}}
    finding = explain(node(), promised, pod("p", "2"))
    assert finding.explanation is not None
    assert finding.explanation.node("n1").kept_for == ["default/first"]


# -- preemption ------------------------------------------------------------------------------------


def budget(allowed: int) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "low"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_the_dry_run_of_preemption_takes_the_node_whose_budget_holds() -> None:
    low = pod("low", "3", nodeName="n1")
    other = pod("other", "3", nodeName="n2")
    finding = explain(node(), node("n2"), low, other, budget(0), pod("p", "2", priority=10))
    assert finding.eviction is not None
    assert (finding.eviction.node, finding.eviction.victims, finding.eviction.pdb_violations) == (
        "n2",
        ("default/other",),
        0,
    )


def test_preemption_that_breaks_a_budget_counts_it() -> None:
    finding = explain(node(), pod("low", "3", nodeName="n1"), budget(0), pod("p", "2", priority=10))
    assert finding.eviction is not None and finding.eviction.pdb_violations == 1


def test_a_pod_that_must_not_preempt_evicts_nobody() -> None:
    finding = explain(node(), pod("low", "3", nodeName="n1"), pod("p", "2", priority=10, preemptionPolicy="Never"))
    assert finding.eviction is None
    assert "not eligible due to preemptionPolicy=Never." in finding.message


# -- changes, one kind at a time -------------------------------------------------------------------


def test_a_request_is_lowered_to_what_is_left_and_no_further() -> None:
    # 4 cores, 2.5 taken: 1.5 are left on n1, 1 on n2.
    objects = [node(), node("n2", "1"), pod("a", "2500m", nodeName="n1")]
    assert ways(*objects, pod("p", "2"))[0] == "lower the cpu request of container c from 2 to 1500m"
    assert explain(*objects, pod("p", "1500m")).state is PodState.FITS
    assert explain(*objects, pod("p", "1501m")).state is PodState.UNSCHEDULABLE


def test_a_memory_request_is_lowered_to_whole_mebibytes() -> None:
    # 8Gi less 5000Mi are 3192Mi.
    objects = [node(), pod("a", memory="5000Mi", nodeName="n1")]
    assert ways(*objects, pod(memory="4Gi"))[0] == "lower the memory request of container c from 4Gi to 3192Mi"


def test_the_largest_container_gives_way_for_all_of_them() -> None:
    big = pod(cpu="3")
    big["spec"]["containers"].append({"name": "side", "resources": {"requests": {"cpu": "2"}}})
    assert ways(node(), big)[0] == "lower the cpu request of container c from 3 to 2"


def test_an_extended_resource_is_lowered_with_its_limit() -> None:
    gpu = node()
    gpu["status"]["allocatable"]["example.com/gpu"] = "1"
    wants = pod()
    wants["spec"]["containers"][0]["resources"] = {k: {"example.com/gpu": "2"} for k in ("requests", "limits")}
    assert ways(gpu, wants)[0] == "lower the example.com/gpu request of container c from 2 to 1"


def test_a_full_node_calls_for_one_like_it() -> None:
    full = node()
    full["status"]["allocatable"]["pods"] = "1"
    finding = explain(full, pod("a", nodeName="n1"), pod())
    assert [(r.text, r.nodes) for r in finding.remedies] == [("add a node like n1", ("n1-copy1",))]


def test_a_cordoned_node_is_put_back_with_its_taint() -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert ways(node(unschedulable=True, taints=[taint]), pod())[:2] == [
        "uncordon node n1",
        "add a toleration of node.kubernetes.io/unschedulable:NoSchedule to the Pod",
    ]


def test_a_taint_is_tolerated_or_removed() -> None:
    assert ways(node(**TAINTED), pod()) == [
        "add a toleration of dedicated=gpu:NoSchedule to the Pod",
        "remove the taint dedicated=gpu:NoSchedule from node n1",
    ]


def test_a_selector_is_altered_or_dropped_or_the_node_labelled() -> None:
    assert ways(node(labels={"disk": "hdd"}), pod(nodeSelector={"disk": "ssd"})) == [
        "change disk in the Pod's nodeSelector from ssd to hdd",
        "drop disk=ssd from the Pod's nodeSelector",
        "label node n1 with disk=ssd",
    ]


def affinity(*expressions: Json) -> Json:
    terms = [{"matchExpressions": list(expressions)}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def test_of_required_node_affinity_the_one_requirement_in_the_way_goes() -> None:
    wants = affinity({"key": "disk", "operator": "In", "values": ["ssd"]}, {"key": HOST, "operator": "Exists"})
    assert ways(node(), pod(affinity=wants)) == [
        "drop the requirement disk In ['ssd'] from the Pod's node affinity",
        "drop the Pod's required node affinity",
    ]


def test_a_host_port_is_dropped() -> None:
    def on_port(name: str, **spec: Any) -> Json:
        made = pod(name, **spec)
        made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        return made

    assert ways(node(), on_port("a", nodeName="n1"), on_port("p")) == [
        "drop hostPort 8080/TCP from the Pod",
        "add a node like n1",
    ]


def test_max_skew_is_raised_by_exactly_what_is_needed() -> None:
    """Three in z1, none in z2, which is full: one more in z1 makes a skew of 4 - 0."""
    zones = [node("n1", labels={ZONE: "z1"}), node("n2", "500m", labels={ZONE: "z2"})]
    here = [pod(f"a{n}", "100m", labels={"app": "p"}, nodeName="n1") for n in range(3)]
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "p"}},
    }
    found = ways(*zones, *here, pod(topologySpreadConstraints=[constraint]))
    assert f"raise maxSkew of the spread constraint over {ZONE} from 1 to 4" in found
    assert f"make the spread constraint over {ZONE} a wish (whenUnsatisfiable: ScheduleAnyway)" in found


def pod_affinity(side: str, app: str) -> Json:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_a_term_of_pod_affinity_goes() -> None:
    assert ways(node(), pod(affinity=pod_affinity("podAffinity", "db"))) == [
        f"drop the required Pod affinity over {HOST} (term 0)"
    ]


def test_a_term_of_pod_anti_affinity_goes() -> None:
    there = pod("a", labels={"app": "p"}, nodeName="n1")
    assert ways(node(), there, pod(affinity=pod_affinity("podAntiAffinity", "p")))[0] == (
        f"drop the required Pod anti-affinity over {HOST} (term 0)"
    )


def test_a_pod_whose_anti_affinity_keeps_others_away_is_named() -> None:
    there = pod("a", affinity=pod_affinity("podAntiAffinity", "p"), nodeName="n1")
    assert ways(node(), there, pod())[0] == ("delete Pod default/a on node n1, whose anti-affinity keeps this one away")


# -- pairs, and none -------------------------------------------------------------------------------


def test_when_no_single_change_helps_pairs_are_found() -> None:
    objects = [node(cpu="1", **TAINTED), pod(cpu="2")]
    finding = explain(*objects)
    assert finding.remedies[0].text == (
        "add a toleration of dedicated=gpu:NoSchedule to the Pod and lower the cpu request of container c from 2 to 1"
    )
    assert {len(remedy.changes) for remedy in finding.remedies} == {2}


def test_three_obstacles_have_no_remedy_and_it_is_said_that_all_was_tried() -> None:
    wants = pod(cpu="2", memory="9Gi", nodeSelector={"disk": "ssd"})
    finding = explain(node(cpu="1", **TAINTED), wants)
    assert (finding.remedies, finding.searched_all) == ([], True)


def test_remedies_are_in_the_order_that_is_documented() -> None:
    kinds = [
        r.changes[0].kind for r in explain(node(labels={"a": "x"}), pod(nodeSelector={"a": "y"}), most=20).remedies
    ]
    assert kinds == sorted(kinds, key=list(ORDER).index)


def test_many_nodes_are_represented_by_the_one_with_most_room() -> None:
    """500 nodes, all of them too small; 3.5 cores are the most that is left anywhere."""
    nodes = [node(f"n{n:03}") for n in range(500)]
    pods = [pod(f"a{n:03}", "500m" if n == 317 else "1", nodeName=f"n{n:03}") for n in range(500)]
    finding = explain(*nodes, *pods, pod("p", "5"))
    assert (finding.remedies[0].text, finding.remedies[0].nodes) == (
        "lower the cpu request of container c from 5 to 3500m",
        ("n317",),
    )


# -- fresh Nodes, DaemonSets, unknown classes ------------------------------------------------------


def owned_by(made: Json, kind: str, name: str) -> Json:
    metadata = {**made["metadata"], "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": name}]}
    return {**made, "metadata": metadata}


def test_a_fresh_node_runs_what_every_node_runs() -> None:
    """4 cores less 1 of the DaemonSet: 3500m would not fit on one more Node, 3000m would."""
    agent = owned_by(pod("agent-x1", "1", nodeName="n1"), "DaemonSet", "agent")
    others = [pod("other", "1", nodeName="n1"), agent]
    assert "add a node like n1" not in ways(node(), *others, pod("p", "3500m"))
    assert "add a node like n1" in ways(node(), *others, pod("p", "3"))
    static = owned_by(pod("proxy-n1", "1", nodeName="n1"), "Node", "n1")
    assert "add a node like n1" not in ways(node(), *others, static, pod("p", "2500m"))


def test_an_unknown_class_is_an_error_of_one_pod_only() -> None:
    objects = [node(), pod("p", "9"), pod("q", priority=None, priorityClassName="tin")]
    found = {finding.pod: finding for finding in Pending(ClusterSnapshot.of(objects)).all()}
    assert found["default/p"].state is PodState.UNSCHEDULABLE
    assert found["default/q"].state is PodState.ERROR
    assert "no PriorityClass with name tin was found" in found["default/q"].reason


# -- requests that are no container's alone, and changes that cannot be carried out -----------------


def with_init(cpu: str, init: str, **spec: Any) -> Json:
    start = {"name": "i", "resources": {"requests": {"cpu": init}}}
    return pod("p", cpu, initContainers=[start], **spec)


def test_a_request_of_an_init_container_is_lowered() -> None:
    assert ways(node(cpu="2"), with_init("1", "3"))[0] == "lower the cpu request of init container i from 3 to 2"


def test_an_init_container_and_a_container_are_lowered_together() -> None:
    assert ways(node(cpu="2"), with_init("4", "3"))[0] == (
        "lower the cpu request of init container i from 3 to 2 and lower the cpu request of container c from 4 to 2"
    )


def test_the_request_of_the_pod_as_a_whole_is_lowered_but_not_below_its_containers() -> None:
    whole = {"resources": {"requests": {"cpu": "3"}}}
    found = explain(node(cpu="2"), pod("p", "1", **whole))
    assert found.remedies[0].text == "lower the cpu request of the Pod as a whole from 3 to 2"
    assert found.remedies[0].changes[0].field == "spec.resources.requests.cpu"
    assert ways(node(cpu="2"), pod("p", "2500m", **whole)) == []


def test_what_no_change_answers_is_named() -> None:
    found = explain(node(), pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]))
    assert (found.remedies, found.searched_all) == ([], False)
    assert found.silent == ("VolumeRestrictions",)
    overhead = explain(node(), pod(overhead={"cpu": "4"}))
    assert (overhead.remedies, overhead.silent) == ([], ("NodeResourcesFit",))


def test_no_request_is_lowered_to_nothing() -> None:
    assert ways(node(cpu="2"), pod("other", "2", nodeName="n1"), pod("p", "1")) == ["add a node like n1"]


def test_huge_pages_stay_whole_and_equal_to_their_limit() -> None:
    big = node()
    big["status"]["allocatable"]["hugepages-2Mi"] = "101Mi"
    wants = pod()
    wants["spec"]["containers"][0]["resources"] = {k: {"hugepages-2Mi": "200Mi"} for k in ("requests", "limits")}
    assert ways(big, wants)[0] == "lower the hugepages-2Mi request of container c from 200Mi to 100Mi"


def test_a_daemonset_pod_is_not_told_to_go_elsewhere() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]
    terms = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}
        }
    }
    agent = owned_by(pod("p", "5", affinity=terms), "DaemonSet", "agent")
    assert ways(node(), node("n2", "8"), agent) == ["lower the cpu request of container c from 5 to 4"]


def test_of_many_nodes_the_one_that_is_least_short_of_all_is_tried() -> None:
    """60 with much cpu and little memory, 60 the other way round, and one with nearly enough of both."""

    def sized(name: str, cpu: str, memory: str) -> Json:
        made = node(name, cpu)
        made["status"]["allocatable"]["memory"] = memory
        return made

    nodes = [sized(f"c{n:02}", "8", "1Gi") for n in range(60)] + [sized(f"m{n:02}", "1", "64Gi") for n in range(60)]
    found = explain(*nodes, sized("z", "7", "60Gi"), pod("p", "9", memory="70Gi"))
    assert ("z",) in [remedy.nodes for remedy in found.remedies]
    assert not found.searched_all
