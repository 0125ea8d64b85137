"""The runtime's part: order, clean-up, leaks, power cuts. Expected: containerd internal/cri/server/sandbox_run.go."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.network import CNIError, Fabric, SandboxNetwork, network_for
from k8slab.network.sandbox_network import BRIDGE
from tests.cni_machines import pod


class Told:
    """What was emitted."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []

    def __call__(self, kind: str, lane: str, **data: Any) -> None:
        self.events.append((kind, lane, data))

    def words(self) -> list[str]:
        told = {"cni.exec": "{command} {plugin} by {caller}", "cni.fail": "{plugin} fails"}
        return [told.get(kind, kind).format(**data) for kind, _, data in self.events]


def runtime(cidr: str = "10.244.1.0/24", cni: Any = "bridge") -> tuple[SandboxNetwork, Told]:
    fabric, told = Fabric(random.Random(7)), Told()
    fabric.add_machine("node-1", "10.0.0.1", pod_cidr="10.244.1.0/24")
    return SandboxNetwork(fabric, "node-1", network_for(cni, cidr), emit=told), told


def test_the_namespace_comes_first_then_the_plugins_and_last_the_sandbox() -> None:
    made, told = runtime()
    assert made.set_up(pod("a")) == ("10.244.1.2",)
    assert told.words() == [
        "netns.add",
        "ADD loopback by the runtime",
        "ADD bridge by the runtime",
        "ADD host-local by bridge",
        "ADD portmap by the runtime",
        "ADD bandwidth by the runtime",
        "sandbox.start",
    ]
    assert {lane for _, lane, _ in told.events} == {"runtime/node-1"}
    made.check_invariants()
    made.check("a")


def test_when_add_fails_no_sandbox_is_started_and_nothing_is_left() -> None:
    made, told = runtime("10.244.1.0/30")
    made.set_up(pod("a"))
    told.events.clear()
    assert made.set_up(pod("b")) == ()
    assert told.words() == [
        "netns.add",
        "ADD loopback by the runtime",
        "ADD bridge by the runtime",
        "ADD host-local by bridge",
        "host-local fails",
        "bridge fails",
        "DEL bandwidth by the runtime",
        "DEL portmap by the runtime",
        "DEL bridge by the runtime",
        "DEL host-local by bridge",
        "DEL loopback by the runtime",
        "netns.remove",
    ]
    text = made.last_error
    assert text.startswith('rpc error: code = Unknown desc = failed to setup network for sandbox "')
    assert text.endswith(
        '": plugin type="bridge" failed (add): failed to allocate for range 0: no IP addresses available in range set: '
        "10.244.1.1-10.244.1.2"
    )
    assert made.owners() == {"10.244.1.2": "default/a"}
    made.check_invariants()


def test_tearing_down_undoes_everything_and_may_be_repeated() -> None:
    made, _ = runtime()
    made.set_up(pod("a", ports=[{"containerPort": 80, "hostPort": 8080}]))
    for _ in range(2):
        made.tear_down("a")
        assert (made.owners(), list(made.machine.namespaces)) == ({}, ["/proc/1/ns/net"])
        assert made.machine.host.nat[4].rules("CNI-HOSTPORT-DNAT") == []
    made.tear_down("nobody")


def test_a_second_sandbox_of_a_pod_takes_the_first_ones_place() -> None:
    made, _ = runtime()
    assert [made.set_up(pod("a")) for _ in range(2)] == [("10.244.1.2",), ("10.244.1.3",)]
    assert made.owners() == {"10.244.1.3": "default/a"}


def test_a_power_cut_leaves_leases_and_the_next_sandbox_frees_its_own() -> None:
    made, _ = runtime()
    for name in "ab":
        made.set_up(pod(name))
    made.lose_power()
    assert list(made.machine.namespaces) == ["/proc/1/ns/net"] and list(made.machine.host.links) == ["lo", "eth0"]
    assert sorted(made.owners()) == ["10.244.1.2", "10.244.1.3"]
    assert made.set_up(pod("a")) == ("10.244.1.4",)
    made.tear_down("b")
    assert made.owners() == {"10.244.1.4": "default/a"}
    made.check_invariants()


def test_a_runtime_that_lost_its_notes_leaks_until_gc() -> None:
    made, _ = runtime("10.244.1.0/29")
    for name in "abcde":
        made.set_up(pod(name))
    made.forget()
    assert set(made.owners().values()) == {""}
    assert made.set_up(pod("f")) == ()
    made.gc()
    assert made.owners() == {}
    assert made.set_up(pod("f")) != ()
    made.gc()
    assert list(made.owners().values()) == ["default/f"]


def test_a_del_that_fails_is_tried_again() -> None:
    made, told = runtime()
    made.set_up(pod("a"))
    real = made.machine.programs.programs["/opt/cni/bin/host-local"]
    del made.machine.programs.programs["/opt/cni/bin/host-local"]
    made.tear_down("a")
    assert 'plugin type="bridge" failed (delete): failed to find plugin "host-local"' in made.last_error
    assert made.owners() == {"10.244.1.2": "default/a"}
    made.machine.programs.programs["/opt/cni/bin/host-local"] = real
    made.tear_down("a")
    assert made.owners() == {}
    assert "cni.fail" in [kind for kind, _, _ in told.events]


def test_two_families_give_two_addresses_ipv4_first() -> None:
    bridge, *others = BRIDGE["plugins"]
    ranges = [[{"subnet": "2001:db8:1::/64"}], [{"subnet": "10.244.1.0/24"}]]
    cni = {**BRIDGE, "plugins": [{**bridge, "ipam": {"type": "host-local", "ranges": ranges}}, *others]}
    made, _ = runtime(cni=cni)
    assert made.set_up(pod("a")) == ("10.244.1.2", "2001:db8:1::2")


ANNOTATIONS = {
    "too small": ("999", "resource is unreasonably small (< 1kbit)"),
    "too large": ("1001T", "resource is unreasonably large (> 1Pbit)"),
    "nothing": ("much", "quantities must match the regular expression"),
}


@pytest.mark.parametrize(("text", "words"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_a_bandwidth_that_is_none(text: str, words: str) -> None:
    made, told = runtime()
    assert made.set_up(pod("a", annotations={"kubernetes.io/egress-bandwidth": text})) == ()
    assert "get cni namespace options: reading pod bandwidth annotations: " in made.last_error
    assert words in made.last_error and told.events == []


def test_a_list_that_gives_no_address_is_no_network() -> None:
    bridge, *_ = BRIDGE["plugins"]
    made, _ = runtime(cni={**BRIDGE, "plugins": [{key: value for key, value in bridge.items() if key != "ipam"}]})
    assert made.set_up(pod("a")) == ()
    assert "failed to find network info for sandbox" in made.last_error
    assert list(made.machine.namespaces) == ["/proc/1/ns/net"]


WRONG: dict[str, tuple[Any, str]] = {
    "another word": ("calico", "cni: 'calico': expected 'bridge', or a network configuration list"),
    "no list": (7, "cni: 7: expected 'bridge'"),
    "a list that no runtime loads": ({"plugins": []}, "cni: error parsing configuration list: no name"),
    "a plugin that is not there": (
        {"name": "net", "cniVersion": "1.1.0", "plugins": [{"type": "flannel"}]},
        'failed to find plugin "flannel" in path',
    ),
    "a version that a plugin does not support": (
        {"name": "net", "cniVersion": "0.2.0", "plugins": [{"type": "bandwidth"}]},
        'plugin bandwidth does not support config version "0.2.0"',
    ),
}


@pytest.mark.parametrize(("cni", "words"), WRONG.values(), ids=WRONG)
def test_a_network_that_cannot_be(cni: Any, words: str) -> None:
    with pytest.raises(ValueError) as failed:
        runtime(cni=cni)
    assert words in str(failed.value)


def test_a_range_of_ones_own_stays_and_what_was_given_is_not_changed() -> None:
    before = str(BRIDGE)
    assert network_for("bridge", "10.9.0.0/24").plugins[0].config["ipam"]["ranges"] == [[{"subnet": "10.9.0.0/24"}]]
    bridge, *others = BRIDGE["plugins"]
    cni = {**BRIDGE, "plugins": [{**bridge, "ipam": {"type": "host-local", "subnet": "10.244.0.0/16"}}, *others]}
    assert "ranges" not in network_for(cni, "10.9.0.0/24").plugins[0].config["ipam"]
    assert str(BRIDGE) == before


def test_check_of_a_sandbox_that_was_tampered_with() -> None:
    made, _ = runtime()
    made.set_up(pod("a"))
    made.machine.remove_link(made.machine.namespaces[made.netns_of("default/a")], "eth0")
    with pytest.raises(CNIError, match="Interface name eth0 not found"):
        made.check("a")
    with pytest.raises(KeyError, match="has no sandbox on node-1"):
        made.netns_of("default/b")
