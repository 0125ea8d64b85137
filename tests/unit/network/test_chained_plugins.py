"""portmap and bandwidth: rules and buckets, as upstream's tests expect them.

Sources: containernetworking/plugins plugins/meta/portmap/portmap_iptables_test.go, plugins/meta/bandwidth/main.go and
bandwidth_linux_test.go (limits: 25 ms of the rate beside the burst).
"""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.network import Interface, IPConfig, Machine, Result
from k8slab.network.cni.results import encode
from k8slab.network.plugins.bandwidth import token_bucket
from tests.cni_machines import bridge_conf, call, failure, machine

PORTS = [
    {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
    {"hostPort": 8081, "containerPort": 80, "protocol": "tcp"},
    {"hostPort": 8080, "containerPort": 81, "protocol": "udp"},
    {"hostPort": 8082, "containerPort": 82, "protocol": "udp"},
    {"hostPort": 8083, "containerPort": 83, "protocol": "tcp", "hostIP": "192.168.0.2"},
    {"hostPort": 8084, "containerPort": 84, "protocol": "tcp", "hostIP": "0.0.0.0"},
    {"hostPort": 8085, "containerPort": 85, "protocol": "tcp", "hostIP": "2001:db8:a::1"},
    {"hostPort": 8086, "containerPort": 86, "protocol": "tcp", "hostIP": "::"},
]
BEFORE = Result(
    (Interface("eth0", sandbox="/run/netns/x"),), (IPConfig("10.0.0.2/24", "", 0), IPConfig("2001:db8::2/64", "", 0))
)


def portmap(ports: Any = None, before: Result | None = BEFORE, **more: Any) -> dict[str, Any]:
    conf: dict[str, Any] = {"cniVersion": "1.1.0", "name": "test", "type": "portmap", **more}
    if ports is not None:
        conf["runtimeConfig"] = {"portMappings": ports}
    return conf if before is None else {**conf, "prevResult": encode(before, "1.1.0")}


def rules(where: Machine, chain: str, version: int = 4) -> list[str]:
    return [rule.removeprefix(f"-A {chain} ") for rule in where.host.nat[version].rules(chain)]


def own_chain(where: Machine, version: int = 4) -> str:
    (name,) = [one for one in where.host.nat[version].chains if one.startswith("CNI-DN-")]
    return name


def test_the_rules_of_a_container_are_those_of_upstreams_test() -> None:
    where = machine()
    assert call(where, "ADD", portmap(PORTS)) == BEFORE
    assert rules(where, own_chain(where)) == [
        "-p tcp --dport 8080 -s 10.0.0.2/24 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8080 -s 127.0.0.1 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8080 -j DNAT --to-destination 10.0.0.2:80",
        "-p tcp --dport 8081 -s 10.0.0.2/24 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8081 -s 127.0.0.1 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8081 -j DNAT --to-destination 10.0.0.2:80",
        "-p udp --dport 8080 -s 10.0.0.2/24 -j CNI-HOSTPORT-SETMARK",
        "-p udp --dport 8080 -s 127.0.0.1 -j CNI-HOSTPORT-SETMARK",
        "-p udp --dport 8080 -j DNAT --to-destination 10.0.0.2:81",
        "-p udp --dport 8082 -s 10.0.0.2/24 -j CNI-HOSTPORT-SETMARK",
        "-p udp --dport 8082 -s 127.0.0.1 -j CNI-HOSTPORT-SETMARK",
        "-p udp --dport 8082 -j DNAT --to-destination 10.0.0.2:82",
        "-p tcp --dport 8083 -d 192.168.0.2 -s 10.0.0.2/24 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8083 -d 192.168.0.2 -s 127.0.0.1 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8083 -d 192.168.0.2 -j DNAT --to-destination 10.0.0.2:83",
        "-p tcp --dport 8084 -s 10.0.0.2/24 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8084 -s 127.0.0.1 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8084 -j DNAT --to-destination 10.0.0.2:84",
    ]
    six = rules(where, own_chain(where, 6), 6)
    assert six[:2] == [
        "-p tcp --dport 8080 -s 2001:db8::2/64 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8080 -j DNAT --to-destination [2001:db8::2]:80",
    ]
    assert six[-4:] == [
        "-p tcp --dport 8085 -d 2001:db8:a::1 -s 2001:db8::2/64 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8085 -d 2001:db8:a::1 -j DNAT --to-destination [2001:db8::2]:85",
        "-p tcp --dport 8086 -s 2001:db8::2/64 -j CNI-HOSTPORT-SETMARK",
        "-p tcp --dport 8086 -j DNAT --to-destination [2001:db8::2]:86",
    ]


def test_the_ways_to_the_rules() -> None:
    where = machine()
    call(where, "ADD", portmap(PORTS, conditionsV4=["-a", "b"], markMasqBit=5))
    for chain in ("PREROUTING", "OUTPUT"):
        assert rules(where, chain) == ["-m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT"]
    ports = [rule.partition("-m multiport ")[2] for rule in rules(where, "CNI-HOSTPORT-DNAT")]
    assert ports == [
        f"-p tcp --destination-ports 8080,8081,8083,8084,8085,8086 -a b -j {own_chain(where)}",
        f"-p udp --destination-ports 8080,8082 -a b -j {own_chain(where)}",
    ]
    assert rules(where, "CNI-HOSTPORT-MASQ") == ["-m mark --mark 0x20/0x20 -j MASQUERADE"]
    assert rules(where, "CNI-HOSTPORT-SETMARK")[0].endswith("-j MARK --set-xmark 0x20/0x20")


def test_a_rule_takes_15_ports() -> None:
    where = machine()
    many = [{"hostPort": 8000 + n, "containerPort": 80, "protocol": "tcp"} for n in range(16)]
    call(where, "ADD", portmap(many))
    assert [rule.count(",") for rule in rules(where, "CNI-HOSTPORT-DNAT")] == [14, 0]


def test_without_snat_nothing_is_marked() -> None:
    where = machine()
    call(where, "ADD", portmap(PORTS[:1], snat=False))
    assert rules(where, own_chain(where)) == ["-p tcp --dport 8080 -j DNAT --to-destination 10.0.0.2:80"]
    assert "CNI-HOSTPORT-SETMARK" not in where.host.nat[4].chains


def test_masq_all_and_a_chain_of_somebody_elses() -> None:
    where = machine()
    where.host.nat[4].ensure_chain("PLZ-SET-MARK")
    where.host.nat[6].ensure_chain("PLZ-SET-MARK")
    call(where, "ADD", portmap(PORTS[:1], masqAll=True, externalSetMarkChain="PLZ-SET-MARK"))
    assert rules(where, own_chain(where))[0] == "-p tcp --dport 8080 -s 0.0.0.0/0 -j PLZ-SET-MARK"


def test_del_takes_away_what_is_the_containers_and_may_be_repeated() -> None:
    where = machine()
    call(where, "ADD", portmap(PORTS[:1]), "c1")
    call(where, "ADD", portmap(PORTS[1:2]), "c2")
    for _ in range(2):
        call(where, "DEL", portmap(PORTS[:1], None), "c1")
        where.host.nat[4].check_invariants()
        assert len(rules(where, "CNI-HOSTPORT-DNAT")) == 1
    call(where, "DEL", portmap(PORTS[1:2], None), "c2")
    assert rules(where, "CNI-HOSTPORT-DNAT") == []


def test_check_misses_a_rule_or_the_chain() -> None:
    where = machine()
    call(where, "ADD", portmap(PORTS[:1]))
    call(where, "CHECK", portmap(PORTS[:1]))
    chain = own_chain(where)
    where.host.nat[4].chains[chain].pop()
    text = failure(where, "CHECK", portmap(PORTS[:1]))
    assert text.startswith("could not check ipv4 dnat: rule [") and text.endswith(
        f"in chain {chain} not found in table nat"
    )
    call(where, "DEL", portmap(PORTS[:1]))
    assert failure(where, "CHECK", portmap(PORTS[:1])) == (
        f"could not check ipv4 dnat: chain {chain} not found in iptables table nat"
    )


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "not chained": (portmap(PORTS, None), "must be called as chained plugin"),
    "port 0 of the host": (
        portmap([{"hostPort": 0, "containerPort": 80}]),
        "failed to parse config: Invalid host port number: 0",
    ),
    "port -1 of the container": (
        portmap([{"hostPort": 80, "containerPort": -1}]),
        "failed to parse config: Invalid container port number: -1",
    ),
    "two ways to mark": (
        portmap(PORTS, markMasqBit=3, externalSetMarkChain="X"),
        "failed to parse config: Cannot specify externalSetMarkChain and markMasqBit",
    ),
    "bit 32": (portmap(PORTS, markMasqBit=32), "failed to parse config: MasqMarkBit must be between 0 and 31"),
    "an unknown backend": (portmap(PORTS, backend="ebpf"), 'failed to parse config: unrecognized backend "ebpf"'),
    "nftables": (portmap(PORTS, backend="nftables"), 'failed to parse config: unsupported field backend: "nftables"'),
}


@pytest.mark.parametrize(("conf", "text"), WRONG.values(), ids=WRONG)
def test_what_portmap_refuses(conf: dict[str, Any], text: str) -> None:
    where = machine()
    assert failure(where, "ADD", conf) == text
    assert where.host.nat[4].rules("PREROUTING") == []


def test_without_ports_the_result_goes_through() -> None:
    where = machine()
    assert call(where, "ADD", portmap(None)) == BEFORE
    assert where.host.nat[4].rules("PREROUTING") == []


# -- bandwidth -------------------------------------------------------------------------------------


def bandwidth(before: Result | None, **limits: int) -> dict[str, Any]:
    conf: dict[str, Any] = {"cniVersion": "1.1.0", "name": "net", "type": "bandwidth"}
    if limits:
        conf["runtimeConfig"] = {"bandwidth": limits}
    return conf if before is None else {**conf, "prevResult": encode(before, "1.1.0")}


BOTH = {"ingressRate": 8_000, "ingressBurst": 80, "egressRate": 16_000, "egressBurst": 160}
BUCKETS = {
    "8 kbit/s, 80 bits": (8_000, 80, 1_000, 35),
    "8 bit/s, 8 bits": (8, 8, 1, 1),
    "10 Mbit/s": (10_000_000, 800_000, 1_250_000, 31_250 + 100_000),
}


@pytest.mark.parametrize(("rate", "burst", "bytes_a_second", "limit"), BUCKETS.values(), ids=BUCKETS)
def test_a_bucket_holds_the_burst_and_25_ms_may_wait(rate: int, burst: int, bytes_a_second: int, limit: int) -> None:
    bucket = token_bucket(rate, burst)
    assert (bucket.rate, bucket.limit) == (bytes_a_second, limit)


def attached() -> tuple[Machine, Result]:
    where = machine()
    result = call(where, "ADD", bridge_conf())
    assert result is not None
    return where, result


def test_what_goes_in_is_slowed_on_the_hosts_end_and_what_comes_out_on_a_detour() -> None:
    where, before = attached()
    after = call(where, "ADD", bandwidth(before, **BOTH))
    assert after is not None
    ifb = after.interfaces[-1]
    assert len(ifb.name) == 15 and ifb.name.startswith("bwp") and ifb.sandbox == ""
    host_end = where.host.link(before.interfaces[1].name)
    assert host_end.shaper == token_bucket(8_000, 80) and host_end.detour == ifb.name
    assert where.host.link(ifb.name).shaper == token_bucket(16_000, 160)
    call(where, "CHECK", bandwidth(after, **BOTH))


def test_del_takes_the_detour_away_and_may_be_repeated() -> None:
    where, before = attached()
    after = call(where, "ADD", bandwidth(before, **BOTH))
    for _ in range(2):
        call(where, "DEL", bandwidth(after, **BOTH))
        assert not [name for name in where.host.links if name.startswith("bwp")]
    assert where.host.link(before.interfaces[1].name).detour == ""


def test_check_notices_a_bucket_of_another_size() -> None:
    where, before = attached()
    after = call(where, "ADD", bandwidth(before, **BOTH))
    assert failure(where, "CHECK", bandwidth(after, **{**BOTH, "ingressRate": 8_008})) == "Rate doesn't match"
    assert failure(where, "CHECK", bandwidth(after, **{**BOTH, "egressBurst": 168})) == "Limit doesn't match"


def test_without_limits_the_result_goes_through() -> None:
    where, before = attached()
    assert call(where, "ADD", bandwidth(before)) == before
    assert call(where, "ADD", bandwidth(before, ingressRate=0, ingressBurst=0)) == before


LIMITS: dict[str, tuple[dict[str, int], str]] = {
    "a rate without burst": ({"ingressRate": 8}, "if rate is set, burst must also be set"),
    "a burst without rate": ({"egressBurst": 8}, "if burst is set, rate must also be set"),
    "4 GB": ({"ingressRate": 8, "ingressBurst": 8 << 32}, "burst cannot be more than 4GB"),
    "below zero": (
        {"ingressRate": -1},
        "json: cannot unmarshal number -1 into Go struct field BandwidthEntry.ingressRate of type uint64",
    ),
}


@pytest.mark.parametrize(("limits", "text"), LIMITS.values(), ids=LIMITS)
def test_limits_that_are_none(limits: dict[str, int], text: str) -> None:
    where, before = attached()
    assert failure(where, "ADD", bandwidth(before, **limits)) == text


def test_it_needs_a_result_with_the_hosts_end() -> None:
    where, before = attached()
    assert failure(where, "ADD", bandwidth(None, **BOTH)) == "must be called as chained plugin"
    nothing = Result(ips=before.ips)
    assert failure(where, "ADD", bandwidth(nothing, **BOTH)) == "no interfaces provided"
    other = Result((Interface("veth0"),), before.ips)
    assert failure(where, "ADD", bandwidth(other, **BOTH)) == "no veth peer of container interface found in host ns"


def test_versions_before_0_3_0_are_refused() -> None:
    where = machine()
    conf = {"cniVersion": "0.2.0", "name": "net", "type": "bandwidth"}
    assert failure(where, "ADD", conf).startswith("incompatible CNI versions; config is")
