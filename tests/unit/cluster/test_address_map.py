"""What the picture of addresses is told."""

from __future__ import annotations

import pytest

from k8slab import Cluster
from k8slab.cluster import AddressMap
from k8slab.kubelet import NodeConfig
from k8slab.network import BRIDGE
from k8slab.widgets import Stepper
from tests.cni_machines import manifest as pod
from tests.cni_machines import small_node


def cells(shown: AddressMap, node: str = "node-1") -> dict[str, tuple[str, str]]:
    found = shown.view()["addresses"][node]["cells"]
    return {address.rpartition(".")[2]: (cell["s"], cell["who"]) for address, cell in found.items()}


def test_a_small_range_is_shown_whole_with_its_gateway_and_the_last_one_given() -> None:
    cluster = Cluster(nodes=[small_node()], cni="bridge")
    cluster.apply([pod("a"), pod("b")])
    cluster.run()
    shown = AddressMap(cluster)
    assert cells(shown) == {
        "1": ("gateway", ""),
        "2": ("held", "a"),
        "3": ("held", "b"),
        "4": ("free", ""),
        "5": ("free", ""),
        "6": ("free", ""),
    }
    node = shown.view()["addresses"]["node-1"]
    assert (node["range"], node["size"], node["last"], node["on"]) == ("10.244.1.0/29", 5, "10.244.1.3", True)
    cluster.close()


def test_of_a_large_range_only_what_is_taken_and_the_next() -> None:
    cluster = Cluster(nodes=1, cni="bridge")
    cluster.apply([pod("a"), pod("b")])
    cluster.run()
    cluster.delete("pod/a")
    cluster.run(for_ms=40_000)
    assert cells(AddressMap(cluster)) == {"3": ("held", "b"), "4": ("free", "")}
    cluster.close()


def test_leaks_and_lost_power() -> None:
    cluster = Cluster(nodes=[small_node()], cni="bridge")
    cluster.apply([pod("a"), pod("b")])
    cluster.run()
    cluster.networks["node-1"].forget()
    shown = AddressMap(cluster)
    assert cells(shown)["2"] == ("leak", "")
    cluster.fail_node("node-1")
    assert cells(shown)["2"] == ("down", "") and shown.view()["addresses"]["node-1"]["on"] is False
    cluster.close()


def test_an_address_on_two_nodes() -> None:
    nodes = [NodeConfig(f"node-{n}", internal_ip=f"10.0.0.{n}", pod_cidr="10.244.0.0/24") for n in (1, 2)]
    cluster = Cluster(nodes=nodes, cni="bridge")
    cluster.apply([pod("a"), pod("b", "node-2")])
    cluster.run()
    shown = AddressMap(cluster)
    assert cells(shown)["2"] == ("twice", "a") and cells(shown, "node-2")["2"] == ("twice", "b")
    cluster.close()


def test_it_can_be_stepped_through() -> None:
    cluster = Cluster(nodes=1, cni="bridge")
    cluster.apply(pod("a"), wait=False)
    stepper = Stepper(AddressMap(cluster), for_ms=2_000)
    assert stepper.frames["views"] == ["addresses", "lanes"]
    cluster.close()


def test_a_list_without_host_local_has_no_map_and_a_cluster_without_cni_is_refused() -> None:
    bridge, *others = BRIDGE["plugins"]
    bare = {key: value for key, value in bridge.items() if key != "ipam"}
    cluster = Cluster(nodes=1, cni={**BRIDGE, "plugins": [bare, *others]})
    assert AddressMap(cluster).view() == {"addresses": {}}
    cluster.close()
    plain = Cluster(nodes=1)
    with pytest.raises(ValueError, match="it has no CNI plugins"):
        AddressMap(plain)
    plain.close()


def test_each_step_shows_the_addresses_as_they_were_then() -> None:
    cluster = Cluster(nodes=[small_node()], cni="bridge")
    cluster.apply(pod("a"), wait=False)
    stepper = Stepper(AddressMap(cluster), for_ms=2_000, only=["runtime/node-1"])
    seen = {}
    for moment in stepper._recorder.moments:
        cell = moment.state["addresses"]["node-1"]["cells"]["10.244.1.2"]
        if moment.event.kind in ("cni.exec", "netns.add", "sandbox.start"):
            seen[moment.event.data.get("plugin", moment.event.kind)] = cell["s"]
    assert seen == {
        "netns.add": "free",
        "loopback": "free",
        "bridge": "free",
        "host-local": "held",
        "portmap": "held",
        "bandwidth": "held",
        "sandbox.start": "held",
    }
