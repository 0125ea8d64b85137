"""Packets: every way one can go, and every reason why one ends.

Expected reasons: Linux (ip-route(8), bridge(8), tc-tbf(8)) and arithmetic in the tests.
"""

from __future__ import annotations

import random
from ipaddress import ip_network
from typing import Any

import pytest

from k8slab.network import Fabric, SandboxNetwork, Walk, exchange, network_for, send
from k8slab.network.fabric.iptables import NatError, NatTable, Tuple5
from k8slab.network.fabric.links import LinkError
from k8slab.network.fabric.machine import Machine, NetnsError
from k8slab.network.fabric.namespace import Namespace, Route, parse_cidr, parse_ip
from k8slab.network.sandbox_network import BRIDGE
from tests.cni_machines import pod


class World:
    """Two nodes; Pods a and b on the first (b has port 8080 of the host), c on the second."""

    def __init__(self, annotations: dict[str, str] | None = None, **bridge: Any) -> None:
        self.fabric = Fabric(random.Random(7))
        first, *others = BRIDGE["plugins"]
        cni = {**BRIDGE, "plugins": [{**first, **bridge}, *others]}
        self.runtimes = {}
        for number in (1, 2):
            cidr = f"10.244.{number}.0/24"
            self.fabric.add_machine(f"node-{number}", f"10.0.0.{number}", pod_cidr=cidr)
            self.runtimes[number] = SandboxNetwork(self.fabric, f"node-{number}", network_for(cni, cidr))
        self.runtimes[1].set_up(pod("a"))
        self.runtimes[1].set_up(pod("b", ports=[{"containerPort": 80, "hostPort": 8080}]))
        self.runtimes[2].set_up(pod("c", annotations=annotations))

    def host(self, number: int = 1) -> Namespace:
        return self.fabric.machines[f"node-{number}"].host

    def inside(self, name: str) -> Namespace:
        number = 2 if name == "c" else 1
        return self.fabric.machines[f"node-{number}"].namespaces[self.runtimes[number].netns_of(f"default/{name}")]

    def _from(self, name: str) -> dict[str, Any]:
        if name.startswith("node"):
            return {"machine": name}
        number = 2 if name == "c" else 1
        return {"machine": f"node-{number}", "netns": self.runtimes[number].netns_of(f"default/{name}")}

    def send(self, name: str, to: str, **how: Any) -> Walk:
        return send(self.fabric, destination=to, **self._from(name), **how)

    def exchange(self, name: str, to: str, **how: Any) -> tuple[Walk, Walk | None]:
        walks = exchange(self.fabric, destination=to, **self._from(name), **how)
        self.fabric.check_invariants()
        return walks


def kinds(walk: Walk) -> str:
    return " ".join(hop.what for hop in walk.hops)


BOTH_WAYS = {
    "a neighbour on the same bridge": ("a", "10.244.1.3", 80, "route veth bridge veth deliver"),
    "oneself": ("a", "10.244.1.2", 80, "deliver"),
    "a Pod on another node": (
        *("a", "10.244.2.2", 80),
        "route veth bridge route forward wire route forward bridge veth deliver",
    ),
    "the node it is on": ("a", "10.0.0.1", 22, "route veth bridge deliver"),
    "another node": ("a", "10.0.0.2", 22, "route veth bridge route forward wire deliver"),
    "a host port of its own node": (
        *("a", "10.0.0.1", 8080),
        "route veth bridge nat route forward nat bridge veth deliver",
    ),
    "its own host port": ("b", "10.0.0.1", 8080, "route veth bridge nat route forward nat bridge veth deliver"),
    "a host port of another node": (
        *("c", "10.0.0.1", 8080),
        "route veth bridge route forward wire nat route forward bridge veth deliver",
    ),
    "a Pod, from its node": ("node-1", "10.244.1.2", 80, "route bridge veth deliver"),
    "a Pod, from another node": ("node-2", "10.244.1.2", 80, "route wire route forward bridge veth deliver"),
    "a host port, from its node": ("node-1", "10.0.0.1", 8080, "nat route bridge veth deliver"),
    "a host port by localhost": ("node-1", "127.0.0.1", 8080, "nat route nat bridge veth deliver"),
    "the world, from a node": ("node-1", "192.0.2.7", 443, "route wire deliver"),
}


@pytest.mark.parametrize(("name", "to", "port", "way"), BOTH_WAYS.values(), ids=BOTH_WAYS)
def test_there_and_back(name: str, to: str, port: int, way: str) -> None:
    there, back = World().exchange(name, to, port=port)
    assert (kinds(there), there.reason) == (way, "")
    assert back is not None and (back.delivered, back.reason) == (True, "")


def test_a_pod_is_seen_by_another_with_its_own_address() -> None:
    there, _ = World().exchange("a", "10.244.2.2")
    assert str(there.packet) == "10.244.1.2:40000 > 10.244.2.2:80"


def test_with_masquerading_pods_on_other_nodes_see_the_nodes_address() -> None:
    there, back = World(ipMasq=True).exchange("a", "10.244.2.2")
    assert str(there.packet) == "10.0.0.1:40000 > 10.244.2.2:80"
    assert back is not None and back.delivered
    neighbour, _ = World(ipMasq=True).exchange("a", "10.244.1.3")
    assert str(neighbour.packet) == "10.244.1.2:40000 > 10.244.1.3:80"


def test_the_world_does_not_find_back_to_a_pods_address_unless_it_is_masqueraded() -> None:
    there, back = World().exchange("a", "192.0.2.7")
    assert there.delivered and there.end == ("outside", "")
    assert back is not None and back.reason == "beyond 10.0.255.254 nobody knows a way to 10.244.1.2"
    there, back = World(ipMasq=True).exchange("a", "192.0.2.7")
    assert str(there.packet).startswith("10.0.0.1:40000") and back is not None and back.delivered


def test_without_snat_an_answer_from_the_same_bridge_comes_from_the_wrong_address() -> None:
    world = World()
    chain = next(name for name in world.host().nat[4].chains if name.startswith("CNI-DN-"))
    rules = world.host().nat[4].chains[chain]
    rules[:] = [rule for rule in rules if "DNAT" in rule]
    there, back = world.exchange("a", "10.0.0.1", port=8080)
    assert there.delivered and back is not None
    asked = "10.0.0.1:8080"
    assert back.reason == f"the answer comes from 10.244.1.3:80, and it is {asked} that was asked: nobody waits for it"


def test_localhost_leaves_the_host_only_with_route_localnet() -> None:
    world = World()
    assert world.host().sysctl["net/ipv4/conf/cni0/route_localnet"] == "1"
    world.host().sysctl["net/ipv4/conf/cni0/route_localnet"] = "0"
    walk = world.send("node-1", "127.0.0.1", port=8080)
    assert walk.reason == "martian: 127.0.0.1 must not leave the host while route_localnet is 0"


# -- reasons to be dropped -------------------------------------------------------------------------


def test_no_route_at_all() -> None:
    world = World()
    world.inside("a").remove_route(ip_network("0.0.0.0/0"))
    assert world.send("a", "10.244.2.2").reason == "network is unreachable: no route to 10.244.2.2"


def test_a_lost_route_between_nodes_ends_at_the_gateway_and_only_one_way() -> None:
    world = World()
    world.fabric.drop_route("node-2", "10.244.1.0/24")
    there, back = world.exchange("a", "10.244.2.2")
    assert there.delivered and back is not None
    assert (back.delivered, back.end) == (False, ("outside", ""))
    with pytest.raises(ValueError, match="node-2 has no such route"):
        world.fabric.drop_route("node-2", "10.244.1.0/24")


def test_forwarding_that_is_off() -> None:
    world = World()
    world.host().sysctl["net/ipv4/ip_forward"] = "0"
    walk = world.send("a", "10.244.2.2")
    assert walk.reason == "not mine, and net/ipv4/ip_forward is 0: not forwarded"
    assert world.send("a", "10.244.1.3").delivered  # the bridge needs none


def test_an_address_that_nobody_has() -> None:
    world = World()
    assert world.send("a", "10.244.1.99").reason == "host unreachable: nobody on cni0 answers for 10.244.1.99"
    wire = world.send("a", "10.0.7.7").reason
    assert wire == "host unreachable: nobody on the wire answers for 10.0.7.7"


LINKS_DOWN = {
    "the container's end": ("inside", "eth0", "network is unreachable: no route to 10.244.2.2"),
    "the host's end": ("host", "veth", "is down"),
    "the bridge": ("host", "cni0", "cni0 is down"),
    "the card": ("host", "eth0", "network is unreachable: no route to 10.244.2.2"),
}


@pytest.mark.parametrize(("where", "name", "reason"), LINKS_DOWN.values(), ids=LINKS_DOWN)
def test_a_link_that_is_down(where: str, name: str, reason: str) -> None:
    world = World()
    if where == "inside":
        world.inside("a").set_up(name, False)
    else:
        host = world.host()
        peer = world.inside("a").link("eth0").peer
        assert peer is not None
        host.set_up(host.by_index(peer[1]).name if name == "veth" else name, False)
    assert world.send("a", "10.244.2.2").reason.endswith(reason)


def test_a_bridge_does_not_send_back_where_it_came_from_unless_the_port_is_a_hairpin() -> None:
    for hairpin in (False, True):
        world = World(hairpinMode=hairpin)
        inside = world.inside("a")
        inside.links["eth0"].addresses = [parse_cidr("10.244.1.2/24"), parse_cidr("10.244.1.50/24")]
        host = world.host()
        peer = inside.links["eth0"].peer
        assert peer is not None
        port = host.by_index(peer[1])
        walk = send(world.fabric, "node-1", "10.244.1.50", netns=world.runtimes[1].netns_of("default/b"))
        assert walk.delivered
        assert port.hairpin is hairpin


def test_isolated_ports_do_not_speak_with_each_other_but_with_the_host() -> None:
    world = World(portIsolation=True)
    assert "are isolated from each other" in world.send("a", "10.244.1.3").reason
    assert world.send("a", "10.0.0.1").delivered


def test_a_packet_that_is_too_large_for_its_own_link() -> None:
    walk = World(mtu=1400).send("a", "10.244.2.2", size=1500)
    assert walk.reason == "larger than the MTU of eth0, 1400: fragmentation needed, but not allowed"
    assert World(mtu=1400).send("a", "10.244.2.2", size=1400).delivered


def test_what_may_be_cut_is_cut() -> None:
    walk = World(mtu=1400).send("a", "10.244.2.2", size=3000, may_fragment=True)
    assert walk.delivered
    pieces = -(-(3000 - 20) // ((1400 - 20) // 8 * 8))
    assert next(hop.text for hop in walk.hops if hop.what == "cut") == (
        f"3000 bytes become {pieces} fragments of at most 1400"
    )


def test_a_smaller_wire_loses_large_packets_and_nobody_says_so() -> None:
    world = World()
    world.fabric.mtu = 1450
    assert (
        world.send("a", "10.244.2.2", size=1500).reason == "larger than the wire's MTU, 1450: lost, and nobody says so"
    )
    assert world.send("a", "10.244.2.2", size=1450).delivered
    assert world.send("a", "10.244.1.3", size=1500).delivered


def test_a_port_with_a_smaller_mtu_drops_silently_what_is_bridged_and_says_so_for_what_is_routed() -> None:
    world = World()
    peer = world.inside("b").link("eth0").peer
    assert peer is not None
    port = world.host().by_index(peer[1]).name
    world.fabric.set_mtu("node-1", 1300, port)
    assert world.send("a", "10.244.1.3").reason == f"larger than the MTU of {port}, 1300: a bridge drops it silently"
    world.fabric.set_mtu("node-1", 1300, "cni0")
    routed = world.send("c", "10.244.1.3").reason
    assert routed == "larger than the MTU of cni0, 1300: fragmentation needed, but not allowed"
    with pytest.raises(ValueError, match="mtu 67: expected 68 to 65536"):
        world.fabric.set_mtu("node-1", 67)


def test_limits_are_told_on_the_way_in_and_on_the_way_out() -> None:
    limits = {"kubernetes.io/ingress-bandwidth": "1M", "kubernetes.io/egress-bandwidth": "10M"}
    world = World(annotations=limits)
    there, back = world.exchange("a", "10.244.2.2")
    assert [hop.text.partition(" through")[0] for hop in there.hops if hop.what == "shape"] == [
        "at most 1,000,000 bit/s"
    ]
    assert back is not None
    assert [hop.text.partition(" through")[0] for hop in back.hops if hop.what == "shape"] == [
        "at most 10,000,000 bit/s"
    ]


def test_a_packet_larger_than_the_bucket_never_passes() -> None:
    world = World(annotations={"kubernetes.io/ingress-bandwidth": "1M"})
    peer = world.inside("c").link("eth0").peer
    assert peer is not None
    host_end = world.host(2).by_index(peer[1])
    assert host_end.shaper is not None
    host_end.shaper = type(host_end.shaper)(125_000, 1_000, 4_125, 125_000)
    walk = world.send("a", "10.244.2.2", size=1500)
    assert walk.reason == f"larger than the bucket of {host_end.name}, 1000 bytes"


def test_a_circle_of_routes_ends() -> None:
    world = World()
    world.fabric.drop_route("node-2", "10.244.1.0/24")
    world.fabric.drop_route("node-1", "10.244.2.0/24")
    world.host(1).add_route(Route(ip_network("10.77.0.0/16"), parse_ip("10.0.0.2"), "eth0"))
    world.host(2).add_route(Route(ip_network("10.77.0.0/16"), parse_ip("10.0.0.1"), "eth0"))
    assert world.send("a", "10.77.0.1").reason == "time to live exceeded: it walks in a circle"


def test_who_asks_for_a_walk_from_nowhere_is_told() -> None:
    world = World()
    with pytest.raises(ValueError, match="expected one of node-1, node-2"):
        send(world.fabric, "node-3", "10.0.0.1")
    with pytest.raises(ValueError, match="node-1 has no such namespace"):
        send(world.fabric, "node-1", "10.0.0.1", netns="/run/netns/no")


# -- the parts -------------------------------------------------------------------------------------


def test_the_longest_prefix_wins_then_the_lowest_metric() -> None:
    where = Namespace("/x")
    where.add_link("eth0", "device", index=2, mac="02:00:00:00:00:01")
    where.add_address("eth0", parse_cidr("10.0.0.2/24"))
    where.set_up("eth0")
    for text, via, metric in (
        ("0.0.0.0/0", "10.0.0.1", 0),
        ("10.9.0.0/16", "10.0.0.7", 20),
        ("10.9.0.0/16", "10.0.0.8", 10),
    ):
        where.add_route(Route(ip_network(text), parse_ip(via), "eth0", metric))
    found = where.lookup(parse_ip("10.9.1.1"))
    assert str(found) == "10.9.0.0/16 via 10.0.0.8 dev eth0 metric 10"
    assert str(where.lookup(parse_ip("10.0.0.9"))) == "10.0.0.0/24 dev eth0"
    assert str(where.lookup(parse_ip("8.8.8.8"))) == "default via 10.0.0.1 dev eth0"
    assert where.lookup(parse_ip("2001:db8::1")) is None


def test_routes_go_when_their_link_goes_down_and_cannot_be_added_then() -> None:
    where = Namespace("/x")
    where.add_link("eth0", "device", index=2, mac="02:00:00:00:00:01")
    where.add_address("eth0", parse_cidr("10.0.0.2/24"))
    default = Route(ip_network("0.0.0.0/0"), parse_ip("10.0.0.1"), "eth0")
    with pytest.raises(LinkError, match="network is down"):
        where.add_route(default)
    where.set_up("eth0")
    where.add_route(default)
    with pytest.raises(LinkError, match="file exists"):
        where.add_route(default)
    where.set_up("eth0", False)
    assert where.routes == [] and where.lookup(parse_ip("10.0.0.9")) is None


def test_a_namespace_takes_its_links_along_and_a_veth_its_other_end() -> None:
    machine = Machine("node-1", random.Random(1))
    one, two = machine.new_namespace("/1"), machine.new_namespace("/2")
    machine.add_veth(one, "eth0", two, "peer", 1500)
    machine.check_invariants()
    with pytest.raises(LinkError, match="file exists"):
        machine.add_veth(one, "eth0", two, "other", 1500)
    machine.remove_namespace("/1")
    assert list(two.links) == ["lo"]
    machine.remove_namespace("/1")
    with pytest.raises(NetnsError, match='failed to Statfs "/1": no such file or directory'):
        machine.namespace("/1")
    with pytest.raises(ValueError, match="the host's namespace stays"):
        machine.remove_namespace("/proc/1/ns/net")


def test_a_wire_refuses_two_machines_of_one_name_or_address() -> None:
    fabric = Fabric(random.Random(1))
    fabric.add_machine("node-1", "10.0.0.1")
    with pytest.raises(ValueError, match="there is a machine of that name"):
        fabric.add_machine("node-1", "10.0.0.2")
    for address in ("10.0.0.1", "192.168.0.1"):
        with pytest.raises(ValueError, match="expected a free one in"):
            fabric.add_machine("node-2", address)


def test_a_chain_in_use_cannot_be_deleted_and_a_long_name_is_none() -> None:
    nat = NatTable()
    nat.ensure_chain("MINE")
    nat.insert_unique("PREROUTING", ("-j", "MINE"))
    nat.insert_unique("PREROUTING", ("-j", "MINE"))
    assert nat.rules("PREROUTING") == ["-A PREROUTING -j MINE"]
    with pytest.raises(NatError, match="Too many links"):
        nat.delete_chain("MINE")
    assert nat.delete("PREROUTING", ("-j", "MINE")) and nat.delete_chain("MINE") and not nat.delete_chain("MINE")
    with pytest.raises(NatError, match="No chain/target/match by that name"):
        nat.insert_unique("MINE", ("-j", "ACCEPT"))
    with pytest.raises(NatError, match="too long"):
        nat.ensure_chain("C" * 29)
    with pytest.raises(NatError, match="built-in"):
        nat.delete_chain("INPUT")


def test_chains_that_call_each_other_are_noticed() -> None:
    nat = NatTable()
    nat.ensure_chain("A")
    nat.insert_unique("A", ("-j", "A"))
    nat.insert_unique("OUTPUT", ("-j", "A"))
    flow = Tuple5("tcp", parse_ip("10.0.0.1"), 1, parse_ip("10.0.0.2"), 2)
    with pytest.raises(NatError, match="jumps in a circle"):
        nat.traverse("OUTPUT", flow, lambda address: False)


def test_return_goes_on_after_the_jump() -> None:
    nat = NatTable()
    nat.ensure_chain("A")
    nat.insert_unique("A", ("-p", "udp", "-j", "RETURN"))
    nat.insert_unique("A", ("-j", "ACCEPT"))
    nat.insert_unique("OUTPUT", ("-j", "A"))
    nat.insert_unique("OUTPUT", ("-j", "MASQUERADE"))
    targets = {}
    for protocol in ("udp", "tcp"):
        flow = Tuple5(protocol, parse_ip("10.0.0.1"), 1, parse_ip("10.0.0.2"), 2)
        targets[protocol] = nat.traverse("OUTPUT", flow, lambda address: False).target
    assert targets == {"udp": "MASQUERADE", "tcp": "ACCEPT"}
