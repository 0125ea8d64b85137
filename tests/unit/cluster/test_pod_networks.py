"""Pods whose network CNI plugins make: addresses, failures, power cuts, recordings.

Expected texts: the kubelet's FailedCreatePodSandBox over containerd's error over libcni's over host-local's.
"""

from __future__ import annotations

from typing import Any

import pytest

from k8slab import Cluster
from k8slab.kubelet import NodeConfig
from k8slab.network import BRIDGE, exchange
from k8slab.sim import TraceEvent
from tests.cni_machines import manifest as pod
from tests.cni_machines import small_node

FULL = (
    r"^Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "
    r'"[0-9a-f]{64}": plugin type="bridge" failed \(add\): failed to allocate for range 0: no IP addresses available '
    r"in range set: 10\.244\.1\.1-10\.244\.1\.6$"
)


def ip_of(cluster: Cluster, name: str) -> str:
    return str(cluster.object(f"pod/{name}")["status"].get("podIP", ""))


def owners(cluster: Cluster, node: str = "node-1") -> dict[str, str]:
    cluster.networks[node].check_invariants()
    return cluster.networks[node].owners()


def events(cluster: Cluster, *kinds: str) -> list[TraceEvent]:
    return [event for event in cluster.trace if event.kind in kinds]


def test_pods_have_the_addresses_that_host_local_gave_and_reach_each_other() -> None:
    cluster = Cluster(nodes=2, cni="bridge")
    cluster.apply([pod("a"), pod("b"), pod("c", "node-2")])
    assert cluster.run()
    assert [ip_of(cluster, name) for name in "abc"] == ["10.244.1.2", "10.244.1.3", "10.244.2.2"]
    assert owners(cluster) == {"10.244.1.2": "default/a", "10.244.1.3": "default/b"}
    assert cluster.fabric is not None
    netns = cluster.networks["node-1"].netns_of("default/a")
    for target in ("10.244.1.3", "10.244.2.2"):
        there, back = exchange(cluster.fabric, "node-1", target, netns=netns)
        assert there.delivered and back is not None and back.delivered


def test_a_pod_that_is_gone_gives_its_address_back_and_another_gets_the_next() -> None:
    cluster = Cluster(nodes=1, cni="bridge")
    cluster.apply(pod("a"))
    cluster.run()
    cluster.delete("pod/a")
    cluster.run(for_ms=40_000)
    assert owners(cluster) == {}
    assert list(cluster.networks["node-1"].machine.namespaces) == ["/proc/1/ns/net"]
    cluster.apply(pod("b"))
    cluster.run()
    assert ip_of(cluster, "b") == "10.244.1.3"


def test_a_completed_pod_has_no_address_any_more() -> None:
    cluster = Cluster(nodes=1, cni="bridge")
    done = pod("job")
    done["metadata"]["annotations"] = {"k8slab.dev/run-ms": "1000"}
    done["spec"]["restartPolicy"] = "Never"
    cluster.apply(done)
    cluster.run(for_ms=30_000)
    assert cluster.object("pod/job")["status"]["phase"] == "Succeeded"
    assert owners(cluster) == {}


def test_the_runtime_runs_the_plugins_before_it_starts_the_sandbox() -> None:
    cluster = Cluster(nodes=1, cni="bridge")
    cluster.apply(pod("a"))
    cluster.run()
    seen = events(cluster, "netns.add", "cni.exec", "sandbox.start", "container.start")
    assert {event.actor for event in seen[:-1]} == {"runtime/node-1"}
    kinds = [event.kind for event in seen]
    assert kinds == ["netns.add", *["cni.exec"] * 5, "sandbox.start", "container.start"]
    callers = [event.data["caller"] for event in seen if event.kind == "cni.exec"]
    assert callers == ["the runtime", "the runtime", "bridge", "the runtime", "the runtime"]


def test_a_pod_on_the_hosts_network_gets_no_namespace() -> None:
    cluster = Cluster(nodes=1, cni="bridge")
    host = pod("a")
    host["spec"]["hostNetwork"] = True
    cluster.apply(host)
    cluster.run()
    assert ip_of(cluster, "a") == "10.0.0.2"
    assert events(cluster, "netns.add", "cni.exec") == [] and owners(cluster) == {}


def test_an_exhausted_range_is_told_and_tried_again_until_an_address_is_free() -> None:
    cluster = Cluster(nodes=[small_node()], cni="bridge")
    cluster.apply([pod(name) for name in "abcde"])
    assert cluster.run()
    cluster.apply(pod("late"))
    cluster.run(for_ms=25_000)
    said = cluster.events().to_pandas()
    mine = said[(said["REASON"] == "FailedCreatePodSandBox")]
    assert len(mine) >= 1 and mine["MESSAGE"].str.match(FULL).all()
    assert [e for e in events(cluster, "sandbox.start") if e.data["key"] == "default/late"] == []
    assert len(owners(cluster)) == 5
    cluster.delete("pod/c")
    assert cluster.run(for_ms=120_000, until=lambda: cluster.ready("pod/late"))
    assert ip_of(cluster, "late") == "10.244.1.4"


def test_a_lost_node_keeps_its_leases_until_it_is_back_and_then_frees_them() -> None:
    cluster = Cluster(nodes=2, cni="bridge")
    cluster.apply([pod("a"), pod("b"), pod("c", "node-2")])
    cluster.run()
    cluster.fail_node("node-1")
    cluster.delete("pod/a", grace_period_seconds=0)
    cluster.run(for_ms=60_000)
    assert sorted(cluster.networks["node-1"].owners()) == ["10.244.1.2", "10.244.1.3"]
    assert list(cluster.networks["node-1"].machine.namespaces) == ["/proc/1/ns/net"]
    cluster.restore_node("node-1")
    assert cluster.run(for_ms=120_000, until=lambda: cluster.ready("pod/b"))
    cluster.run(for_ms=10_000)
    assert owners(cluster) == {ip_of(cluster, "b"): "default/b"}


def test_a_crash_of_the_kubelet_changes_nothing_on_the_network() -> None:
    cluster = Cluster(nodes=1, cni="bridge")
    cluster.apply([pod("a"), pod("b")])
    cluster.run()
    before = owners(cluster)
    cluster.crash("kubelet/node-1")
    cluster.run(for_ms=20_000)
    assert owners(cluster) == before
    assert len(events(cluster, "netns.add")) == 2


def test_leaks_of_a_runtime_that_lost_its_notes_fill_the_range_until_gc() -> None:
    cluster = Cluster(nodes=[small_node()], cni="bridge")
    cluster.apply([pod(name) for name in "abcde"])
    cluster.run()
    network = cluster.networks["node-1"]
    network.forget()
    for name in "abcde":
        cluster.delete(f"pod/{name}")
    cluster.run(for_ms=60_000)
    assert list(network.owners().values()) == [""] * 5
    cluster.apply(pod("late"))
    assert not cluster.run(for_ms=30_000, until=cluster.all_ready)
    network.gc()
    assert cluster.run(for_ms=30_000, until=cluster.all_ready)
    assert owners(cluster) == {ip_of(cluster, "late"): "default/late"}


def test_two_nodes_with_one_range_give_two_pods_one_address() -> None:
    bridge, *others = BRIDGE["plugins"]
    ipam = {"type": "host-local", "subnet": "10.244.0.0/16"}
    cluster = Cluster(nodes=2, cni={**BRIDGE, "plugins": [{**bridge, "ipam": ipam}, *others]})
    cluster.apply([pod("a"), pod("b", "node-2")])
    cluster.run()
    assert ip_of(cluster, "a") == ip_of(cluster, "b") == "10.244.0.2"


def test_two_families_are_both_in_the_status() -> None:
    bridge, *others = BRIDGE["plugins"]
    ipam = {"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/24"}], [{"subnet": "2001:db8::/64"}]]}
    cluster = Cluster(nodes=1, cni={**BRIDGE, "plugins": [{**bridge, "ipam": ipam}, *others]})
    cluster.apply(pod("a"))
    cluster.run()
    assert cluster.object("pod/a")["status"]["podIPs"] == [{"ip": "10.9.0.2"}, {"ip": "2001:db8::2"}]


def test_ranges_that_the_controller_gives_are_the_ones_that_plugins_use() -> None:
    ranges = {"allocate-node-cidrs": 1, "cluster-cidr": "10.8.0.0/16"}
    cluster = Cluster(nodes=2, cni="bridge", options=ranges)
    cluster.apply([pod("a"), pod("b", "node-2")])
    cluster.run()
    given = {node["metadata"]["name"]: node["spec"]["podCIDR"] for node in cluster.objects("nodes")}
    assert sorted(given.values()) == ["10.8.0.0/24", "10.8.1.0/24"]
    for name, node in (("a", "node-1"), ("b", "node-2")):
        assert ip_of(cluster, name) == given[node].replace(".0/24", ".2")
    assert cluster.fabric is not None
    netns = cluster.networks["node-1"].netns_of("default/a")
    there, back = exchange(cluster.fabric, "node-1", ip_of(cluster, "b"), netns=netns)
    assert there.delivered and back is not None and back.delivered


def test_without_a_range_no_pod_starts() -> None:
    options = {"allocate-node-cidrs": 1, "cluster-cidr": "10.8.0.0/24"}
    cluster = Cluster(nodes=2, cni="bridge", options=options)
    cluster.apply([pod("a"), pod("b", "node-2")], wait=False)
    cluster.run(for_ms=30_000)
    messages = [str(row[-1]) for row in cluster.events() if "FailedCreatePodSandBox" in row]
    assert messages and all(one.endswith(": cni plugin not initialized") for one in messages)
    assert sorted(map(bool, (ip_of(cluster, "a"), ip_of(cluster, "b")))) == [False, True]


def test_a_host_port_is_open_and_closes_with_its_pod() -> None:
    cluster = Cluster(nodes=2, cni="bridge")
    cluster.apply(pod("a", ports=[{"containerPort": 80, "hostPort": 8080}]))
    cluster.run()
    assert cluster.fabric is not None
    there, back = exchange(cluster.fabric, "node-2", "10.0.0.2", port=8080)
    assert str(there.packet).endswith("> 10.244.1.2:80") and back is not None and back.delivered
    cluster.delete("pod/a")
    cluster.run(for_ms=40_000)
    assert str(exchange(cluster.fabric, "node-2", "10.0.0.2", port=8080)[0].packet).endswith("> 10.0.0.2:8080")


@pytest.mark.parametrize("cni", ["bridge", BRIDGE], ids=["a word", "a list"])
def test_a_run_is_recorded_and_comes_out_the_same(cni: Any) -> None:
    cluster = Cluster(nodes=2, cni=cni)
    cluster.apply([pod("a"), pod("b")])
    cluster.run()
    cluster.fail_node("node-1")
    cluster.run(for_ms=5_000)
    cluster.restore_node("node-1")
    cluster.run(for_ms=20_000)
    again = Cluster.replay(cluster.share())
    assert again.trace.to_jsonl() == cluster.trace.to_jsonl()
    assert again.networks["node-1"].owners() == cluster.networks["node-1"].owners()


def test_without_cni_there_is_no_fabric_and_nothing_is_traced() -> None:
    cluster = Cluster(nodes=1)
    cluster.apply(pod("a"))
    cluster.run()
    assert cluster.fabric is None and cluster.networks == {}
    assert events(cluster, "netns.add", "cni.exec", "sandbox.start") == []


WRONG = {
    "another word": ({"cni": "calico"}, "cni: 'calico': expected 'bridge', or a network configuration list"),
    "no list": ({"cni": {"name": "net"}}, "cni: no plugin configs found"),
    "nodes of one address": (
        {"cni": "bridge", "nodes": [NodeConfig("a"), NodeConfig("b")]},
        "address '10.0.0.1': expected a free one in 10.0.0.0/16",
    ),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG.values(), ids=WRONG)
def test_a_network_that_cannot_be_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as failed:
        Cluster(**arguments)
    assert str(failed.value) == words
