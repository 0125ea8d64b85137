"""portmap: ports of the host that lead to a container, by DNAT rules.

A chained plugin: it needs the result of the one before, to know the container's address, and passes it on.

Upstream: containernetworking/plugins plugins/meta/portmap/main.go, portmap_iptables.go, chain.go
Simplified: iptables alone (`backend: nftables` is refused with code 2); extra conditions are kept and not followed; no
connection tracking entries of UDP are deleted, since none outlives a walk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.api.go_json import go_json
from k8slab.network.cni import fields
from k8slab.network.cni.addresses import Interface as Net
from k8slab.network.cni.addresses import parse_cidr, parse_ip
from k8slab.network.cni.errors import CNIError, Code
from k8slab.network.cni.results import Result, previous_result
from k8slab.network.cni.skeleton import Invocation, Plugin
from k8slab.network.fabric.iptables import NatTable
from k8slab.network.fabric.machine import HOST_NETNS, Machine
from k8slab.network.plugins.chains import chain_name

__all__ = ["Portmap"]

DNAT_CHAIN = "CNI-HOSTPORT-DNAT"
SETMARK_CHAIN = "CNI-HOSTPORT-SETMARK"
MASQ_CHAIN = "CNI-HOSTPORT-MASQ"
_DEFAULT_MARK_BIT = 13
_PORTS_IN_A_RULE = 15
_ENTRIES = ("PREROUTING", "OUTPUT")
_LOCAL = ("-m", "addrtype", "--dst-type", "LOCAL", "-j", DNAT_CHAIN)
Rule = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Mapping:
    host_port: int
    container_port: int
    protocol: str
    host_ip: str


@dataclass(frozen=True, slots=True)
class _Conf:
    """`addresses`: the container's, the first of each family."""

    mappings: tuple[_Mapping, ...]
    snat: bool
    masq_all: bool
    mark_bit: int
    set_mark_chain: str
    conditions: Mapping[int, tuple[str, ...]]
    addresses: Mapping[int, Net]
    previous: Result | None


class Portmap(Plugin):
    """`machine`: whose ports they are."""

    name = "portmap"
    own_netns = HOST_NETNS

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def add(self, call: Invocation) -> Result:
        conf = _parsed(call, "failed to parse config: ")
        if conf.previous is None:
            raise CNIError("must be called as chained plugin")
        if not conf.mappings:
            return conf.previous
        host = self.machine.host
        for version, address in sorted(conf.addresses.items()):
            nat = host.nat[version]
            if conf.snat and not conf.set_mark_chain:
                _mark_chains(nat, conf.mark_bit)
            nat.ensure_chain(DNAT_CHAIN)
            for chain in _ENTRIES:
                nat.insert_unique(chain, _LOCAL)
            chain = _chain(call)
            nat.ensure_chain(chain)
            for rule in _rules(conf, address):
                nat.insert_unique(chain, rule)
            for rule in _entries(conf, call, version):
                nat.insert_unique(DNAT_CHAIN, rule)
            if version == 4 and conf.snat and (route := host.lookup(address.ip)) is not None:
                host.sysctl[f"net/ipv4/conf/{route.link}/route_localnet"] = "1"
        return conf.previous

    def delete(self, call: Invocation) -> None:
        if not _parsed(call, "failed to parse config: ").mappings:
            return
        for nat in self.machine.host.nat.values():
            nat.delete_jumps(DNAT_CHAIN, _chain(call))
            nat.delete_chain(_chain(call))

    def check(self, call: Invocation) -> None:
        conf = _parsed(call)
        if conf.previous is None:
            raise CNIError("Required prevResult missing")
        for version, address in sorted(conf.addresses.items()) if conf.mappings else ():
            _check_chain(self.machine.host.nat[version], _chain(call), conf, call, address)


def _chain(call: Invocation) -> str:
    return chain_name(call.network, call.container_id, "DN-")


def _check_chain(nat: NatTable, chain: str, conf: _Conf, call: Invocation, address: Net) -> None:
    what = f"could not check ipv{address.version} dnat: "
    if chain not in nat.chains:
        raise CNIError(f"{what}chain {chain} not found in iptables table nat")
    rules, entries = _rules(conf, address), _entries(conf, call, address.version)
    for where, wanted in ((chain, rules), (DNAT_CHAIN, entries)):
        if not all(nat.has(where, rule) for rule in wanted):
            shown = " ".join(f"[{' '.join(rule)}]" for rule in wanted)
            raise CNIError(f"{what}rule [{shown}] in chain {where} not found in table nat")


def _parsed(call: Invocation, before: str = "") -> _Conf:
    try:
        return _load(call)
    except CNIError as error:
        raise CNIError(f"{before}{error.msg}", error.code) from None


def _load(call: Invocation) -> _Conf:
    """CNIError: wrong types, ports that are none, options that exclude each other."""
    config = call.config
    runtime = fields.mapping(config, "runtimeConfig", "PortMapConf", "struct") or {}
    given = fields.sequence(runtime, "portMappings", "PortMapConf.runtimeConfig", "[]main.PortMapEntry")
    mappings = tuple(_mapping(one) for one in given)
    previous = previous_result(config)
    mark_chain = fields.text(config, "externalSetMarkChain", "PortMapConf")
    has_bit = config.get("markMasqBit") is not None
    if has_bit and mark_chain:
        raise CNIError("Cannot specify externalSetMarkChain and markMasqBit")
    bit = fields.number(config, "markMasqBit", "PortMapConf") if has_bit else _DEFAULT_MARK_BIT
    if not 0 <= bit <= 31:
        raise CNIError("MasqMarkBit must be between 0 and 31")
    _check_backend(fields.text(config, "backend", "PortMapConf"))
    for one in mappings:
        if one.container_port <= 0:
            raise CNIError(f"Invalid container port number: {one.container_port}")
        if one.host_port <= 0:
            raise CNIError(f"Invalid host port number: {one.host_port}")
    conditions = {v: fields.texts(config, f"conditionsV{v}", "PortMapConf") for v in (4, 6)}
    return _Conf(
        mappings,
        snat=config.get("snat") is None or fields.boolean(config, "snat", "PortMapConf"),
        masq_all=fields.boolean(config, "masqAll", "PortMapConf"),
        mark_bit=bit,
        set_mark_chain=mark_chain,
        conditions=conditions,
        addresses=_container_addresses(previous, call.if_name),
        previous=previous,
    )


def _check_backend(backend: str) -> None:
    if backend == "nftables":
        raise CNIError(f"unsupported field backend: {go_json(backend)}", Code.UNSUPPORTED_FIELD)
    if backend not in ("", "iptables"):
        raise CNIError(f"unrecognized backend {go_json(backend)}")


def _mapping(given: Any) -> _Mapping:
    one = fields.mapping({"one": given}, "one", "PortMapConf", "main.PortMapEntry") or {}
    ports = [fields.number(one, key, "PortMapEntry") for key in ("hostPort", "containerPort")]
    words = [fields.text(one, key, "PortMapEntry") for key in ("protocol", "hostIP")]
    return _Mapping(ports[0], ports[1], words[0], words[1])


def _container_addresses(result: Result | None, if_name: str) -> dict[int, Net]:
    found: dict[int, Net] = {}
    for one in result.ips if result is not None else ():
        address, place = parse_cidr(one.address), one.interface
        interfaces = result.interfaces if result is not None else ()
        if place is not None and 0 <= place < len(interfaces):
            its = interfaces[place]
            if its.name != if_name or not its.sandbox:
                continue
        found.setdefault(address.version, address)
    return found


def _mark_chains(nat: NatTable, bit: int) -> None:
    """One chain that marks a packet, and one that masquerades what is marked, before all others."""
    mark = f"{1 << bit:#x}/{1 << bit:#x}"
    nat.ensure_chain(SETMARK_CHAIN)
    words = ("-m", "comment", "--comment", "CNI portfwd masquerade mark", "-j", "MARK", "--set-xmark", mark)
    nat.insert_unique(SETMARK_CHAIN, words)
    nat.ensure_chain(MASQ_CHAIN)
    nat.insert_unique(MASQ_CHAIN, ("-m", "mark", "--mark", mark, "-j", "MASQUERADE"))
    entry = ("-m", "comment", "--comment", "CNI portfwd requiring masquerade", "-j", MASQ_CHAIN)
    nat.insert_unique("POSTROUTING", entry, prepend=True)


def _entries(conf: _Conf, call: Invocation, version: int) -> list[Rule]:
    """What leads to an attachment's chain: its ports, up to 15 in a rule."""
    comment = f'dnat name: "{call.network}" id: "{call.container_id}"'
    comment = comment if len(comment) <= 255 else f"{comment[:253]}..."
    by_protocol: dict[str, list[int]] = {}
    for one in conf.mappings:
        by_protocol.setdefault(one.protocol, []).append(one.host_port)
    rules = []
    for protocol in sorted(by_protocol):
        ports = by_protocol[protocol]
        for start in range(0, len(ports), _PORTS_IN_A_RULE):
            spec = ",".join(map(str, ports[start : start + _PORTS_IN_A_RULE]))
            words = ("-m", "comment", "--comment", comment, "-m", "multiport", "-p", protocol)
            more = conf.conditions[version]
            rules.append((*words, "--destination-ports", spec, *more, "-j", _chain(call)))
    return rules


def _rules(conf: _Conf, address: Net) -> list[Rule]:
    """Of an attachment: mark what comes from its own network or from localhost, then send to the container."""
    rules: list[Rule] = []
    version = address.version
    mark_chain = conf.set_mark_chain or SETMARK_CHAIN
    for one in conf.mappings:
        base: Rule = ("-p", one.protocol, "--dport", str(one.host_port))
        if one.host_ip:
            host_ip = parse_ip(one.host_ip)
            if host_ip.version != version:
                continue
            base = base if host_ip.is_unspecified else (*base, "-d", one.host_ip)
        if conf.snat:
            own = f"{address.ip}/{address.network.prefixlen}"
            everything = "0.0.0.0/0" if version == 4 else "::/0"
            rules.append((*base, "-s", everything if conf.masq_all else own, "-j", mark_chain))
            if version == 4 and not conf.masq_all:
                rules.append((*base, "-s", "127.0.0.1", "-j", mark_chain))
        target = f"{address.ip}:{one.container_port}" if version == 4 else f"[{address.ip}]:{one.container_port}"
        rules.append((*base, "-j", "DNAT", "--to-destination", target))
    return rules
