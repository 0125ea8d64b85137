"""bridge and loopback: what ADD makes, DEL takes away and CHECK finds missing.

Expected behaviour and texts: containernetworking/plugins plugins/main/bridge/bridge.go and bridge_test.go, loopback.go,
pkg/ip/link_linux.go, pkg/ipam/ipam_linux.go; spec 1.1.0, sections 2 and 4.
"""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.network import IPConfig, LeaseStore, Machine, Result
from k8slab.network.cni.addresses import parse_cidr, parse_ip
from k8slab.network.cni.results import encode
from tests.cni_machines import bridge_conf, call, failure, machine

LEASES = "/var/lib/cni/networks/net"


def added(where: Machine, container: str = "c1", **more: Any) -> Result:
    result = call(where, "ADD", bridge_conf(**more), container)
    assert result is not None
    where.check_invariants()
    return result


def leases(where: Machine) -> dict[str, str]:
    return {str(one.address): one.container_id for one in LeaseStore(where.files, LEASES).leases()}


def test_add_makes_a_pair_a_bridge_addresses_routes_and_turns_forwarding_on() -> None:
    where = machine()
    assert where.host.sysctl["net/ipv4/ip_forward"] == "0"
    result = added(where)
    bridge, outer, inner = result.interfaces
    assert (bridge.name, bridge.sandbox, outer.sandbox, inner.sandbox) == ("cni0", "", "", "/run/netns/c1")
    assert outer.name.startswith("veth") and len(outer.name) == len("veth") + 8
    assert result.ips == (IPConfig("10.244.1.2/24", "10.244.1.1", 2),)
    inside = where.namespaces["/run/netns/c1"]
    assert [str(route) for route in inside.routes] == ["default via 10.244.1.1 dev eth0"]
    assert inside.link("eth0").is_up and where.host.link("cni0").addresses == [parse_cidr("10.244.1.1/24")]
    assert where.host.link(outer.name).master == "cni0"
    assert where.host.sysctl["net/ipv4/ip_forward"] == "1"


def test_host_local_is_run_by_the_bridge_with_the_same_input() -> None:
    where = machine()
    added(where)
    first, second = where.programs.runs
    assert (first.program, first.caller, second.program, second.caller) == ("host-local", "bridge", "bridge", "")
    assert first.stdin == second.stdin


def test_a_second_container_shares_the_bridge() -> None:
    where = machine()
    assert [added(where, name).ips[0].address for name in ("c1", "c2")] == ["10.244.1.2/24", "10.244.1.3/24"]
    assert len(where.host.ports("cni0")) == 2
    assert len({link.mac for link in where.host.links.values()}) == len(where.host.links)


def test_an_interface_that_is_there_already_is_an_error_and_leaves_no_lease() -> None:
    where = machine()
    added(where)
    text = failure(where, "ADD", bridge_conf())
    assert text.startswith('container veth name ("eth0") peer provided ("veth') and text.endswith("already exists")
    assert leases(where) == {"10.244.1.2": "c1"}


def test_del_takes_the_pair_and_the_lease_away_and_may_be_repeated() -> None:
    where = machine()
    added(where)
    for _ in range(2):
        call(where, "DEL", bridge_conf())
        assert leases(where) == {} and where.host.ports("cni0") == []
    assert list(where.namespaces["/run/netns/c1"].links) == ["lo"]
    assert where.host.link("cni0").addresses == [parse_cidr("10.244.1.1/24")]  # the bridge stays


@pytest.mark.parametrize("netns", ["", "/run/netns/gone"], ids=["not told", "gone"])
def test_del_frees_the_lease_without_a_namespace(netns: str) -> None:
    where = machine()
    added(where)
    where.remove_namespace("/run/netns/c1")
    call(where, "DEL", bridge_conf(), netns=netns)
    assert leases(where) == {}
    assert where.host.ports("cni0") == []  # a veth goes with its other end


FAILURES_AFTER_THE_LEASE: dict[str, tuple[dict[str, Any], str]] = {
    "a route over a gateway that is elsewhere": (
        {
            "ipam": {
                "type": "host-local",
                "subnet": "10.244.1.0/24",
                "routes": [{"dst": "10.9.0.0/16", "gw": "8.8.8.8"}],
            }
        },
        "failed to add route '10.9.0.0/16 via 8.8.8.8 dev eth0 metric 0 (Scope: universe, Table: 0)': "
        "network is unreachable",
    ),
    "a bridge with another address": (
        {"ipam": {"type": "host-local", "subnet": "10.99.0.0/24"}},
        'failed to set bridge addr: "cni0" already has an IP address different from 10.99.0.1/24',
    ),
    "the same route twice": (
        {"ipam": {"type": "host-local", "subnet": "10.244.1.0/24", "routes": [{"dst": "10.9.0.0/16"}] * 2}},
        "failed to add route '10.9.0.0/16 via 10.244.1.1 dev eth0 metric 0 (Scope: universe, Table: 0)': file exists",
    ),
}


@pytest.mark.parametrize(("more", "text"), FAILURES_AFTER_THE_LEASE.values(), ids=FAILURES_AFTER_THE_LEASE)
def test_what_fails_after_the_lease_gives_it_back(more: dict[str, Any], text: str) -> None:
    where = machine()
    added(where, "c0")
    before = leases(where)
    assert failure(where, "ADD", bridge_conf(**more)) == text
    assert leases(where) == before
    assert [run.command for run in where.programs.runs][-3:] == ["ADD", "DEL", "ADD"]  # the last is bridge itself


def test_force_address_replaces_the_bridges_address() -> None:
    where = machine()
    added(where)
    other = {"ipam": {"type": "host-local", "subnet": "10.99.0.0/24"}, "name": "other", "forceAddress": True}
    added(where, "c2", **other)
    assert where.host.link("cni0").addresses == [parse_cidr("10.99.0.1/24")]


def test_two_families_have_two_gateways_and_two_default_routes() -> None:
    where = machine()
    ranges = [[{"subnet": "10.244.1.0/24"}], [{"subnet": "2001:db8:1::/64"}]]
    result = added(where, isDefaultGateway=True, ipam={"type": "host-local", "ranges": ranges})
    assert [(route.dst, route.gw) for route in result.routes] == [
        ("0.0.0.0/0", "10.244.1.1"),
        ("::/0", "2001:db8:1::1"),
    ]
    assert where.host.sysctl["net/ipv6/conf/all/forwarding"] == "1"
    assert where.host.link("cni0").addresses == [parse_cidr("10.244.1.1/24"), parse_cidr("2001:db8:1::1/64")]


def test_without_ipam_it_is_layer_2_alone() -> None:
    where = machine()
    result = added(where, ipam={})
    assert result.ips == () and where.namespaces["/run/netns/c1"].link("eth0").is_up


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "hairpin and promiscuous": (
        {"hairpinMode": True, "promiscMode": True},
        "cannot set hairpin mode and promiscuous mode at the same time",
    ),
    "addresses for no interface": (
        {"disableContainerInterface": True},
        "cannot use IPAM when DisableContainerInterface flag is set",
    ),
    "VLANs, which are not simulated": ({"vlan": 100}, "unsupported field vlan: 100"),
    "nftables, which is not simulated": ({"ipMasqBackend": "nftables"}, 'unsupported field ipMasqBackend: "nftables"'),
    "an unknown IPAM plugin": ({"ipam": {"type": "dhcp"}}, 'failed to find plugin "dhcp" in path [/opt/cni/bin]'),
    "a number for a bridge": (
        {"bridge": 7},
        "json: cannot unmarshal number into Go struct field NetConf.bridge of type string",
    ),
    "a bridge that is a card": (
        {"bridge": "eth0"},
        'failed to create bridge "eth0": "eth0" already exists but is not a bridge',
    ),
    "an MTU that no kernel takes": (
        {"mtu": 67},
        'failed to create bridge "cni0": could not add "cni0": invalid argument',
    ),
    "a MAC address that is none": (
        {"runtimeConfig": {"mac": "xx"}},
        "failed to make veth pair: address xx: invalid MAC address",
    ),
}


@pytest.mark.parametrize(("more", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(more: dict[str, Any], text: str) -> None:
    where = machine()
    assert failure(where, "ADD", bridge_conf(**more)) == text
    assert leases(where) == {}


def test_a_namespace_that_is_not_there() -> None:
    text = failure(machine(), "ADD", bridge_conf(), netns="/run/netns/no")
    statfs = 'failed to Statfs "/run/netns/no": no such file or directory'
    assert text == f'failed to open netns "/run/netns/no": {statfs}'


def test_a_mac_address_of_ones_own() -> None:
    where = machine()
    mac = "02:aa:bb:cc:dd:ee"
    assert added(where, runtimeConfig={"mac": mac}).interfaces[2].mac == mac
    other = call(where, "ADD", bridge_conf(), "c2", ARGS=f"MAC={mac[:-2]}ef;IgnoreUnknown=1;K8S_POD_NAME=web")
    assert other is not None and other.interfaces[2].mac == "02:aa:bb:cc:dd:ef"


def test_the_mtu_is_that_of_the_configuration_on_bridge_and_pair() -> None:
    where = machine()
    _, outer, _ = added(where, mtu=1450).interfaces
    mtus = [where.host.link("cni0").mtu, where.host.link(outer.name).mtu]
    assert mtus == [1450, 1450] and where.namespaces["/run/netns/c1"].link("eth0").mtu == 1450


def test_an_mtu_below_0_is_the_kernels_own_and_one_that_is_none_fails_on_an_old_bridge_too() -> None:
    where = machine()
    added(where, mtu=-1)
    assert where.host.link("cni0").mtu == 1500
    assert failure(where, "ADD", bridge_conf(mtu=70_000), "c2") == "failed to make veth pair: invalid argument"
    assert leases(where) == {"10.244.1.2": "c1"}


def test_masquerading_has_a_chain_of_its_own_that_del_takes_away() -> None:
    where = machine()
    added(where, ipMasq=True)
    nat = where.host.nat[4]
    (chain,) = [name for name in nat.chains if name.startswith("CNI-")]
    assert len(chain) == 28
    assert [rule.partition(" -m")[0] for rule in nat.rules("POSTROUTING")] == [
        f"-A POSTROUTING -s 10.244.1.2 -j {chain}"
    ]
    assert [rule.partition(" -m")[0] for rule in nat.rules(chain)] == [
        f"-A {chain} -d 10.244.1.2/24 -j ACCEPT",
        f"-A {chain} ! -d 224.0.0.0/4 -j MASQUERADE",
    ]
    call(where, "DEL", bridge_conf(ipMasq=True))
    assert nat.rules("POSTROUTING") == [] and chain not in nat.chains


# -- CHECK, STATUS, GC -----------------------------------------------------------------------------


def checked(where: Machine, result: Result | None, **more: Any) -> str:
    """ "" when all is well, else the text."""
    config = bridge_conf(**more)
    if result is not None:
        config["prevResult"] = encode(result, "1.1.0")
    try:
        call(where, "CHECK", config)
    except Exception as error:
        return str(error)
    return ""


def test_check_finds_nothing_wrong_after_add() -> None:
    where = machine()
    assert checked(where, added(where)) == ""


def test_check_needs_the_result_of_add() -> None:
    where = machine()
    added(where)
    assert checked(where, None) == "Required prevResult missing"


def test_check_notices_what_is_missing() -> None:
    where = machine()
    result = added(where)
    inside = where.namespaces["/run/netns/c1"]
    inside.remove_route(parse_cidr("0.0.0.0/0").network)
    assert "not found in routing table" in checked(where, result)
    inside.remove_address("eth0", parse_cidr("10.244.1.2/24"))
    assert checked(where, result) == "Failed to match addr 10.244.1.2/24 on interface eth0"
    where.host.link(result.interfaces[1].name).master = ""
    assert checked(where, result) == "CNI veth created for bridge cni0 was not found"
    where.host.link("cni0").promiscuous = True
    text = "Bridge interface cni0 configured Promisc Mode false doesn't match current state: true "
    assert checked(where, result) == text
    where.host.link("cni0").mac = "02:00:00:00:00:00"
    assert checked(where, result).startswith("Bridge interface cni0 Mac doesn't match: ")
    where.files.remove(f"{LEASES}/10.244.1.2")
    assert checked(where, result) == "host-local: Failed to find address added by container c1"


def test_status_and_gc_go_on_to_the_ipam_plugin() -> None:
    where = machine()
    small = {"ipam": {"type": "host-local", "subnet": "10.9.0.0/30"}}
    added(where, **small)
    text = "no IP addresses available in range set: 10.9.0.1-10.9.0.2"
    assert failure(where, "STATUS", bridge_conf(**small), netns="") == text
    call(where, "GC", bridge_conf(**small, **{"cni.dev/valid-attachments": []}))
    assert leases(where) == {}
    call(where, "STATUS", bridge_conf(**small))


# -- loopback --------------------------------------------------------------------------------------


LO = {"cniVersion": "1.1.0", "name": "lo", "type": "loopback"}


def test_a_new_namespace_has_a_loopback_that_is_down_until_add() -> None:
    where = machine()
    inside = where.new_namespace("/run/netns/c1")
    assert not inside.link("lo").is_up and not inside.is_local(parse_ip("127.0.0.1"))
    assert failure(where, "CHECK", LO) == "loopback interface is down"
    result = call(where, "ADD", LO, IFNAME="lo")
    assert result is not None and [one.address for one in result.ips] == ["127.0.0.1/8", "::1/128"]
    assert inside.is_local(parse_ip("127.0.0.1"))
    call(where, "CHECK", LO)
    call(where, "DEL", LO)
    assert not inside.link("lo").is_up


def test_loopback_passes_on_the_result_it_is_given_and_del_without_namespace_succeeds() -> None:
    where = machine()
    before = Result(ips=(IPConfig("10.1.0.2/24"),))
    assert call(where, "ADD", {**LO, "prevResult": encode(before, "1.1.0")}) == before
    call(where, "DEL", LO, netns="")
    call(where, "DEL", LO, netns="/run/netns/gone")
