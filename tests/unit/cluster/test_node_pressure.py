"""Nodes that run out of memory and disk in a whole cluster: who goes, what is written, what the kernel does first."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.cluster import Cluster
from k8slab.kubelet import NodeConfig
from k8slab.kubelet.cgroups import CgroupVersionError

HARD = {"evictionHard": {"memory.available": "100Mi"}}


def node(name: str = "node-1", **config: Any) -> NodeConfig:
    return NodeConfig(name, **{"memory": "1Gi", "kubelet_config": HARD, **config})


def pod(name: str, request: str = "", limit: str = "", priority: int | None = None, **use: str) -> dict[str, Any]:
    resources = {"requests": {"memory": request}} if request else {}
    if limit:
        resources["limits"] = {"memory": limit}
    annotations = {f"k8slab.dev/{key.replace('_', '-')}": text for key, text in use.items() if key != "volumes"}
    containers = [{"name": "c", "image": f"{name}:1", "resources": resources}]
    spec: dict[str, Any] = {"containers": containers}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations}, "spec": spec}


def events(cluster: Cluster, *kinds: str) -> list[tuple[int, str, dict[str, Any]]]:
    return [(e.now_ms, e.kind, dict(e.data)) for e in cluster.trace if e.kind.startswith(kinds)]


def condition(cluster: Cluster, kind: str) -> str:
    conditions = cluster.object("node/node-1")["status"]["conditions"]
    return str(next(c["status"] for c in conditions if c["type"] == kind))


def taints(cluster: Cluster) -> list[str]:
    return [taint["key"] for taint in cluster.object("node/node-1")["spec"].get("taints") or []]


def test_a_leak_is_evicted_and_says_why_and_condition_and_taint_follow_and_go() -> None:
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([pod("db", "400Mi", memory="300Mi"), pod("leak", memory="100Mi+10Mi/s"), pod("small", memory="50Mi")])
    cluster.run(for_ms=100_000)
    status = cluster.object("pod/leak")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"].startswith("The node was low on resource: memory. Threshold quantity: 100Mi, available: ")
    assert status["message"].endswith("request is 0, has larger consumption of memory. ")
    target = status["conditions"][0]
    assert (target["type"], target["reason"]) == ("DisruptionTarget", "TerminationByKubelet")
    assert target["message"] == status["message"]
    [(at, _, evicted)] = events(cluster, "eviction.evict")
    assert evicted["why"].startswith("leak goes before small: both use more memory than they request; both have")
    # 1024 - 300 - 50 - 100 of them are left after the next look: (100 + 10 t) > 574 from t = 47.4 s on
    assert at == 50_000
    assert condition(cluster, "MemoryPressure") == "True" and taints(cluster) == ["node.kubernetes.io/memory-pressure"]
    reasons = cluster.events().column("REASON")
    assert [r for r in reasons if r in ("EvictionThresholdMet", "Evicted", "NodeHasInsufficientMemory")] == [
        *("EvictionThresholdMet", "Evicted", "NodeHasInsufficientMemory")
    ]
    assert cluster.object("pod/db")["status"]["phase"] == "Running"
    cluster.run(for_ms=300_000)
    assert condition(cluster, "MemoryPressure") == "False" and taints(cluster) == []
    assert "NodeHasSufficientMemory" in cluster.events().column("REASON")
    cluster.close()


def test_a_recording_of_a_node_under_pressure_replays_to_the_same_bytes() -> None:
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([pod("leak", memory="100Mi+10Mi/s"), pod("small", memory="50Mi")])
    cluster.run(for_ms=120_000)
    again = Cluster.replay(cluster.share())
    assert again.trace.to_jsonl() == cluster.trace.to_jsonl()
    cluster.close()
    again.close()


def test_under_memory_pressure_a_best_effort_pod_that_is_bound_to_the_node_is_turned_away() -> None:
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([pod("leak", memory="950Mi<=960Mi")])
    cluster.run(for_ms=20_000)
    late = pod("late")
    late["spec"]["nodeName"] = "node-1"
    cluster.apply([late])
    cluster.run(for_ms=1_000)
    status = cluster.object("pod/late")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"] == "Pod was rejected: The node had condition: [MemoryPressure]. "
    cluster.close()


def test_a_deployment_replaces_an_evicted_pod_elsewhere() -> None:
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {"k8slab.dev/memory": "100Mi+20Mi/s<=950Mi"}},
                "spec": {"containers": [{"name": "c", "image": "web:1"}]},
            },
        },
    }
    cluster = Cluster(nodes=[node("node-1"), node("node-2", memory="4Gi")], seed=3)
    cluster.apply([pod("fill", "900Mi", memory="10Mi"), web])
    cluster.run(for_ms=200_000)
    pods = {p["metadata"]["name"]: p for p in cluster.objects("pods") if p["metadata"]["name"].startswith("web")}
    phases = sorted((p["status"]["phase"], p["spec"]["nodeName"]) for p in pods.values())
    assert phases[-1] == ("Running", "node-2")
    cluster.close()


def test_a_container_that_passes_its_limit_is_killed_and_started_again_and_its_pod_is_not_failed() -> None:
    cluster = Cluster(nodes=[node(kubelet_config=None)], seed=7)
    cluster.apply([pod("greedy", "50Mi", "100Mi", memory="50Mi+10Mi/s")])
    cluster.run(for_ms=8_000)
    [status] = cluster.object("pod/greedy")["status"]["containerStatuses"]
    assert status["restartCount"] == 1 and "running" in status["state"]
    last = status["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == ("OOMKilled", 137)
    assert cluster.object("pod/greedy")["status"]["phase"] == "Running"
    [(started, _, _), *_] = events(cluster, "container.start")
    [(killed, _, _)] = events(cluster, "container.oom")
    assert killed - started == 5_001, "50Mi more at 10Mi a second, and a byte"
    cluster.close()


def test_a_leak_faster_than_the_kubelet_looks_meets_the_kernel() -> None:
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([pod("db", "400Mi", memory="300Mi"), pod("burst", memory="10Mi+200Mi/s")])
    cluster.run(for_ms=9_000)
    kills = events(cluster, "kernel.oom")
    assert kills[0][2]["key"] == "default/burst"
    # the Pods' cgroup (/kubepods) is as large as the machine: it fills first
    assert kills[0][2]["cgroup"] == "/kubepods"
    assert events(cluster, "eviction.evict") == []
    assert cluster.object("pod/burst")["status"]["phase"] == "Running"
    [status] = cluster.object("pod/burst")["status"]["containerStatuses"]
    assert status["restartCount"] >= 1 and status["lastState"]["terminated"]["reason"] == "OOMKilled"
    cluster.close()


def test_when_the_machines_own_programs_fill_it_the_kernel_tells_of_a_system_oom() -> None:
    cluster = Cluster(nodes=[node(system_memory="600Mi")], seed=7)
    cluster.apply([pod("burst", memory="10Mi+200Mi/s")])
    cluster.run(for_ms=9_000)
    assert events(cluster, "kernel.oom")[0][2]["cgroup"] == "/"
    messages = [
        m for r, m in zip(*map(cluster.events().column, ("REASON", "MESSAGE")), strict=True) if r == "SystemOOM"
    ]
    assert messages and messages[0].startswith("System OOM encountered, victim process: c, pid: 10")
    cluster.close()


def test_the_limit_of_a_whole_pod_is_its_cgroup() -> None:
    both = pod("both", memory="30Mi+1Mi/s")
    both["spec"]["resources"] = {"limits": {"memory": "100Mi"}}
    both["spec"]["containers"].append({"name": "d", "image": "d:1"})
    both["metadata"]["annotations"]["k8slab.dev/d.memory"] = "40Mi"
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([both])
    cluster.run(for_ms=40_000)
    [(_, _, kill)] = events(cluster, "kernel.oom")[:1]
    assert kill["cgroup"].startswith("/kubepods/burstable/pod")
    assert kill["container"] == "c", "both are adjusted alike, and 60Mi are more than 40Mi"
    cluster.close()


def test_a_full_disk_is_cleared_of_ended_pods_and_their_images_before_anybody_is_evicted() -> None:
    config = {"evictionHard": {"nodefs.available": "10%"}}
    cluster = Cluster(nodes=[node(ephemeral_storage="10Gi", kubelet_config=config, image_size="100Mi")], seed=7)
    job = pod("job", disk="5Gi", run_ms="1000")
    job["spec"]["restartPolicy"] = "Never"
    cluster.apply([job, pod("web", disk="1Gi+100Mi/s<=5Gi")])
    cluster.run(for_ms=120_000)
    deeds = [(data["deed"], data["gone"]) for _, _, data in events(cluster, "eviction.reclaim")]
    assert deeds == [("DeleteAllUnusedContainers", 1), ("DeleteUnusedImages", 1)]
    assert events(cluster, "eviction.evict") == []
    assert condition(cluster, "DiskPressure") == "True", "for five minutes from the last look that saw it"
    cluster.close()


def test_when_clearing_is_not_enough_the_pod_with_the_most_above_its_request_goes() -> None:
    config = {"evictionHard": {"nodefs.available": "10%"}}
    cluster = Cluster(nodes=[node(ephemeral_storage="10Gi", kubelet_config=config, image_size="100Mi")], seed=7)
    cluster.apply([pod("web", disk="1Gi+100Mi/s"), pod("log", logs="2Gi")])
    cluster.run(for_ms=120_000)
    [(_, _, evicted)] = events(cluster, "eviction.evict")
    assert evicted["key"] == "default/web" and evicted["signal"] == "nodefs.available"
    assert "ephemeral-storage" in cluster.object("pod/web")["status"]["message"]
    cluster.close()


def test_an_emptydir_above_its_limit_costs_the_pod() -> None:
    full = pod("full")
    full["spec"]["volumes"] = [{"name": "cache", "emptyDir": {"sizeLimit": "100Mi"}}]
    full["metadata"]["annotations"]["k8slab.dev/volume.cache"] = "10Mi+10Mi/s"
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([full])
    cluster.run(for_ms=30_000)
    status = cluster.object("pod/full")["status"]
    assert status["message"] == 'Usage of EmptyDir volume "cache" exceeds the limit "100Mi". '
    assert all(c["type"] != "DisruptionTarget" for c in status["conditions"])
    cluster.close()


def test_a_soft_eviction_gives_the_pod_time_to_end() -> None:
    config = {
        "evictionHard": {},
        "evictionSoft": {"memory.available": "500Mi"},
        "evictionSoftGracePeriod": {"memory.available": "30s"},
        "evictionMaxPodGracePeriod": 20,
    }
    cluster = Cluster(nodes=[node(kubelet_config=config)], seed=7)
    cluster.apply([pod("slow", memory="600Mi", stop_ms="15000")])
    cluster.run(for_ms=70_000)
    [(_, _, stop)] = events(cluster, "pod.stop")
    assert stop["grace_ms"] == 20_000
    [status] = cluster.object("pod/slow")["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 0, "it ended by itself within 20 s"
    cluster.close()


def test_a_kubelet_that_crashes_while_it_evicts_goes_on_afterwards() -> None:
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([pod("leak", memory="100Mi+10Mi/s"), pod("small", memory="50Mi")])
    cluster.run(until=lambda: bool(events(cluster, "eviction.evict")), for_ms=200_000)
    cluster.crash("kubelet/node-1", restart_after_ms=5_000)
    cluster.run(for_ms=60_000)
    assert cluster.object("pod/leak")["status"]["reason"] == "Evicted"
    assert cluster.object("pod/small")["status"]["phase"] == "Running"
    cluster.close()


def test_more_memory_by_an_annotation_of_a_running_pod_counts_at_once() -> None:
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([pod("web", "50Mi", "100Mi", memory="50Mi")])
    cluster.run(for_ms=5_000)
    cluster.patch("pod/web", {"metadata": {"annotations": {"k8slab.dev/memory": "200Mi"}}})
    cluster.run(for_ms=1_000)
    [status] = cluster.object("pod/web")["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["reason"] == "OOMKilled"
    cluster.close()


def test_what_is_promised_to_pods_leaves_the_hard_thresholds_free() -> None:
    config = {"evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"}}
    cluster = Cluster(nodes=[node(kubelet_config=config, reserved_memory="24Mi", ephemeral_storage="10Gi")], seed=7)
    allocatable = cluster.object("node/node-1")["status"]["allocatable"]
    assert allocatable["memory"] == "900Mi"
    assert int(allocatable["ephemeral-storage"]) == 10 * 2**30 - int(10 * 2**30 * 0.10000000149011612)
    cluster.close()


def test_without_a_kubelet_config_nothing_is_ever_short() -> None:
    cluster = Cluster(nodes=[node(kubelet_config=None)], seed=7)
    cluster.apply([pod("leak", memory="100Mi+100Mi/s")])
    cluster.run(for_ms=60_000)
    assert cluster.object("pod/leak")["status"]["phase"] == "Running"
    assert events(cluster, "eviction", "kernel") == []
    cluster.close()


def test_a_node_with_cgroup_v1_does_not_come_up() -> None:
    with pytest.raises(CgroupVersionError, match="cgroup v1 support is unsupported"):
        Cluster(nodes=[NodeConfig("old", cgroup_version=1)])
    cluster = Cluster(nodes=[NodeConfig("old", cgroup_version=1, kubelet_config={"failCgroupV1": False})])
    cluster.close()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        pytest.param({"kubelet_config": {"evictionHard": {"memory": "1"}}}, "unsupported eviction signal", id="signal"),
        pytest.param(
            {"kubelet_config": {}, "memory": "lots"}, "memory: 'lots': expected a text such as '16Gi'", id="memory"
        ),
        pytest.param({"kubelet_config": {}, "image_fs": "-1"}, "image_fs: '-1'", id="image_fs"),
        pytest.param(
            {"kubelet_config": {}, "memory": "1Gi", "system_memory": "2Gi"},
            "system_memory: '2Gi': expected less than the memory, 1Gi",
            id="system_memory",
        ),
        pytest.param({"kubelet_config": {}, "max_pid": 0}, "max_pid: 0: expected a number above 0", id="max_pid"),
    ],
)
def test_a_wrong_node_is_refused_in_a_sentence(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as error:
        NodeConfig("n", **config)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "much", "-1Mi", "1Mi-1Mi/s", "9223372036854775808", "1e99", "1Mi+1Mi", "\u0661Mi"]
)
def test_an_annotation_that_cannot_be_read_is_no_use(text: str) -> None:
    cluster = Cluster(nodes=[node()], seed=7)
    cluster.apply([pod("web", memory=text)])
    cluster.run(for_ms=20_000)
    assert cluster.object("pod/web")["status"]["phase"] == "Running"
    assert events(cluster, "eviction", "kernel") == []
    cluster.close()
