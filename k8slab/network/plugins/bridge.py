"""bridge: a veth pair for each container, its other end in a bridge on the host, which is the gateway.

It asks its IPAM plugin for an address (and gives it back when something fails after that), puts it on the interface,
adds the routes, gives the bridge the gateway's address and turns forwarding on, and masquerades if it is told to.

Upstream: containernetworking/plugins plugins/main/bridge/bridge.go, pkg/ip/link_linux.go, pkg/ipam/ipam_linux.go,
pkg/ip/ipmasq_iptables_linux.go
Simplified: no VLANs, no check of spoofed MAC addresses, no nftables: a configuration that asks for one is refused with
code 2. A bridge's port is up at once. GC goes on to the IPAM plugin, as the specification demands (upstream: not yet).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from k8slab.api.go_json import go_json
from k8slab.network.cni import fields
from k8slab.network.cni.addresses import Interface as Net
from k8slab.network.cni.addresses import next_ip, parse_cidr, parse_ip
from k8slab.network.cni.arguments import load_args
from k8slab.network.cni.errors import CNIError, Code
from k8slab.network.cni.invoke import delegate
from k8slab.network.cni.results import DNS, Interface, IPConfig, Result, Route, previous_result, read_dns
from k8slab.network.cni.skeleton import Invocation, Plugin
from k8slab.network.fabric.links import Link, LinkError
from k8slab.network.fabric.machine import HOST_NETNS, Machine, NetnsError
from k8slab.network.fabric.namespace import Namespace
from k8slab.network.fabric.namespace import Route as KernelRoute
from k8slab.network.plugins.chains import masquerade, unmasquerade

__all__ = ["Bridge"]

_CONTAINER = 2  # the container's interface in a result: after the bridge and the host's end
_MAC = re.compile(r"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")
_ATTEMPTS = 10
_EVERYTHING = {4: "0.0.0.0/0", 6: "::/0"}
_REFUSED = ("vlan", "vlanTrunk", "macspoofchk")


@dataclass(frozen=True, slots=True)
class _NetConf:
    bridge: str
    is_gateway: bool
    is_default_gateway: bool
    force_address: bool
    ip_masq: bool
    mtu: int
    hairpin: bool
    promiscuous: bool
    isolated: bool
    no_container_interface: bool
    ipam: str
    mac: str
    dns: DNS


def _load(config: Mapping[str, Any], args: str) -> _NetConf:
    """CNIError: a field of the wrong type, or one that is not supported here (code 2)."""
    for key in _REFUSED:
        if config.get(key):
            raise CNIError(f"unsupported field {key}: {go_json(config[key])}", Code.UNSUPPORTED_FIELD)
    if fields.text(config, "ipMasqBackend", "NetConf") not in ("", "iptables"):
        what = f"unsupported field ipMasqBackend: {go_json(config['ipMasqBackend'])}"
        raise CNIError(what, Code.UNSUPPORTED_FIELD)
    ipam = fields.mapping(config, "ipam", "NetConf", "types.IPAM") or {}
    outer = fields.mapping(config, "args", "NetConf", "struct") or {}
    macs = (
        fields.mapping(config, "runtimeConfig", "NetConf", "struct") or {},
        fields.mapping(outer, "cni", "NetConf.args", "main.BridgeArgs") or {},
    )
    mac = next((found for one in macs if (found := fields.text(one, "mac", "NetConf"))), "")
    names = ("isGateway", "isDefaultGateway", "forceAddress", "ipMasq", "hairpinMode", "promiscMode")
    switches = {name: fields.boolean(config, name, "NetConf") for name in names}
    return _NetConf(
        bridge=fields.text(config, "bridge", "NetConf") or "cni0",
        is_gateway=switches["isGateway"] or switches["isDefaultGateway"],
        is_default_gateway=switches["isDefaultGateway"],
        force_address=switches["forceAddress"],
        ip_masq=switches["ipMasq"],
        mtu=fields.number(config, "mtu", "NetConf"),
        hairpin=switches["hairpinMode"],
        promiscuous=switches["promiscMode"],
        isolated=fields.boolean(config, "portIsolation", "NetConf"),
        no_container_interface=fields.boolean(config, "disableContainerInterface", "NetConf"),
        ipam=fields.text(ipam, "type", "NetConf.ipam"),
        mac=mac or load_args(args, ("MAC",)).get("MAC", ""),
        dns=read_dns(config),
    )


class Bridge(Plugin):
    """`machine`: on whose host it runs."""

    name = "bridge"
    own_netns = HOST_NETNS

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    # -- ADD ---------------------------------------------------------------------------------------

    def add(self, call: Invocation) -> Result:
        conf = _load(call.config, call.args)
        if conf.ipam and conf.no_container_interface:
            raise CNIError("cannot use IPAM when DisableContainerInterface flag is set")
        if conf.hairpin and conf.promiscuous:
            raise CNIError("cannot set hairpin mode and promiscuous mode at the same time")
        bridge = self._ensure_bridge(conf)
        inside = self._open(call.netns)
        host_end = self._veth(conf, call, inside, bridge)
        link = inside.link(call.if_name)
        made = (
            Interface(bridge.name, bridge.mac),
            Interface(host_end.name, host_end.mac),
            Interface(link.name, link.mac, call.netns),
        )
        result = Result(interfaces=made)
        if conf.ipam:
            result = self._layer3(conf, call, result, inside, bridge)
        elif not conf.no_container_interface:
            inside.set_up(call.if_name)
        return replace(result, dns=conf.dns) if conf.dns.to_json() else result

    def _open(self, netns: str) -> Namespace:
        try:
            return self.machine.namespace(netns)
        except NetnsError as error:
            raise CNIError(f'failed to open netns "{netns}": {error}') from None

    def _ensure_bridge(self, conf: _NetConf) -> Link:
        host = self.machine.host
        if conf.bridge not in host.links:
            if not _is_mtu(conf.mtu):
                what = f'could not add "{conf.bridge}": invalid argument'
                raise CNIError(f'failed to create bridge "{conf.bridge}": {what}')
            mtu = conf.mtu if conf.mtu > 0 else 1500
            host.add_link(conf.bridge, "bridge", index=self.machine.index(), mac=self.machine.mac(), mtu=mtu)
        link = host.link(conf.bridge)
        if link.kind != "bridge":
            what = f'"{conf.bridge}" already exists but is not a bridge'
            raise CNIError(f'failed to create bridge "{conf.bridge}": {what}')
        link.promiscuous = link.promiscuous or conf.promiscuous
        host.set_up(conf.bridge)
        return link

    def _veth(self, conf: _NetConf, call: Invocation, inside: Namespace, bridge: Link) -> Link:
        """The pair; its host's end, as a port of the bridge."""
        if conf.mac and not _MAC.fullmatch(conf.mac):
            raise CNIError(f"failed to make veth pair: address {conf.mac}: invalid MAC address")
        if not _is_mtu(conf.mtu):
            raise CNIError("failed to make veth pair: invalid argument")
        host = self.machine.host
        for _ in range(_ATTEMPTS):
            peer = f"veth{self.machine.rng.randbytes(4).hex()}"
            try:
                self.machine.add_veth(inside, call.if_name, host, peer, max(conf.mtu, 0), conf.mac.lower())
            except LinkError:
                if peer in host.links:
                    continue
                what = f'container veth name ("{call.if_name}") peer provided ("{peer}") already exists'
                raise CNIError(what) from None
            end = host.link(peer)
            end.master, end.hairpin, end.isolated = bridge.name, conf.hairpin, conf.isolated
            host.set_up(peer)
            return end
        raise CNIError("failed to find a unique veth name")

    def _layer3(self, conf: _NetConf, call: Invocation, result: Result, inside: Namespace, bridge: Link) -> Result:
        """Everything about addresses. What the IPAM plugin gave is given back when something fails."""
        given = delegate(self.machine.programs, call, conf.ipam, self.name, "ADD")
        assert given is not None
        try:
            result = replace(result, ips=given.ips, routes=given.routes, dns=given.dns)
            if not result.ips:
                raise CNIError("IPAM plugin returned missing IP config")
            result = _with_gateways(result, conf)
            configure_interface(inside, call.if_name, result)
            if conf.is_gateway:
                self._be_gateway(conf, bridge, result)
            if conf.ip_masq:
                for one in result.ips:
                    masquerade(self.machine.host, parse_cidr(one.address), call.network, call.container_id)
        except CNIError:
            delegate(self.machine.programs, call, conf.ipam, self.name, "DEL")
            raise
        return result

    def _be_gateway(self, conf: _NetConf, bridge: Link, result: Result) -> None:
        """Give the bridge the gateway's address and let the host forward."""
        for one in sorted(result.ips, key=lambda ip: parse_cidr(ip.address).version):
            address = parse_cidr(one.address)
            wanted = parse_cidr(f"{one.gateway}/{address.network.prefixlen}")
            _ensure_address(self.machine.host, bridge, wanted, conf.force_address)
            name = "net/ipv4/ip_forward" if address.version == 4 else "net/ipv6/conf/all/forwarding"
            self.machine.host.sysctl[name] = "1"

    # -- the others --------------------------------------------------------------------------------

    def delete(self, call: Invocation) -> None:
        conf = _load(call.config, call.args)
        addresses: list[Net] = []
        if call.netns and call.netns in self.machine.namespaces:
            inside = self.machine.namespaces[call.netns]
            if call.if_name in inside.links:
                addresses = list(inside.link(call.if_name).addresses)
                self.machine.remove_link(inside, call.if_name)
        if conf.ipam:
            delegate(self.machine.programs, call, conf.ipam, self.name)
        if conf.ipam and conf.ip_masq:
            for address in addresses:
                unmasquerade(self.machine.host, address, call.network, call.container_id)

    def check(self, call: Invocation) -> None:
        conf = _load(call.config, call.args)
        inside = self._open(call.netns)
        if conf.ipam:
            delegate(self.machine.programs, call, conf.ipam, self.name)
        result = previous_result(call.config)
        if result is None:
            raise CNIError("Required prevResult missing")
        known = {(one.name, bool(one.sandbox)): one for one in result.interfaces}
        bridge = self._check_bridge(known.get((conf.bridge, False)), conf)
        mine = known.get((call.if_name, True))
        sandbox = mine.sandbox if mine is not None else ""
        if mine is None or sandbox != call.netns:
            raise CNIError(f"Sandbox in prevResult {sandbox} doesn't match configured netns: {call.netns}")
        link = _found(inside, mine.name)
        if mine.mac and mine.mac != link.mac:
            raise CNIError(f"Interface {mine.name} Mac {mine.mac} doesn't match container Mac: {link.mac}")
        other = self.machine.peer_of(link)
        if other is None or other[0] is not self.machine.host or other[1].master != bridge.name:
            raise CNIError(f"CNI veth created for bridge {conf.bridge} was not found")
        check_interface(inside, call.if_name, result)

    def _check_bridge(self, expected: Interface | None, conf: _NetConf) -> Link:
        if expected is None:
            raise CNIError("Interface name missing ")
        link = _found(self.machine.host, expected.name)
        if link.kind != "bridge":
            raise CNIError(f"Interface {link.name} does not have link type of bridge")
        if expected.mac and expected.mac != link.mac:
            raise CNIError(f"Bridge interface {link.name} Mac doesn't match: {expected.mac}")
        if link.promiscuous != conf.promiscuous:
            now, wanted = (str(one).lower() for one in (link.promiscuous, conf.promiscuous))
            what = f"configured Promisc Mode {wanted} doesn't match current state: {now} "
            raise CNIError(f"Bridge interface {link.name} {what}")
        return link

    def status(self, call: Invocation) -> None:
        self._forward(call)

    def gc(self, call: Invocation) -> None:
        self._forward(call)

    def _forward(self, call: Invocation) -> None:
        ipam = fields.mapping(call.config, "ipam", "NetConf", "types.IPAM") or {}
        kind = fields.text(ipam, "type", "NetConf.ipam")
        if kind:
            delegate(self.machine.programs, call, kind, self.name)


def _is_mtu(mtu: int) -> bool:
    """What the kernel takes, or (0 and below) is not told."""
    return mtu <= 0 or 68 <= mtu <= 65535


def _found(where: Namespace, name: str) -> Link:
    if name not in where.links:
        raise CNIError(f"Interface name {name} not found")
    return where.links[name]


def _with_gateways(result: Result, conf: _NetConf) -> Result:
    """Addresses that belong to the container's interface and have a gateway; a default route if that is wanted."""
    ips: list[IPConfig] = []
    routes = list(result.routes)
    settled: dict[int, bool] = {}
    for one in result.ips:
        address = parse_cidr(one.address)
        gateway = one.gateway
        if not gateway and conf.is_gateway:
            gateway = str(next_ip(address.network.network_address))
        ips.append(IPConfig(one.address, gateway, _CONTAINER))
        everything = _EVERYTHING[address.version]
        if conf.is_default_gateway and not settled.get(address.version):
            if not any(route.gw and route.dst == everything for route in routes):
                routes.append(Route(everything, gateway))
            settled[address.version] = True
    return replace(result, ips=tuple(ips), routes=tuple(routes))


def configure_interface(where: Namespace, name: str, result: Result) -> None:
    """Put a result's addresses and routes on an interface, and set it up. CNIError."""
    gateways: dict[int, str] = {}
    for one in result.ips:
        place = one.interface
        if place is None:
            continue
        if not 0 <= place < len(result.interfaces) or result.interfaces[place].name != name:
            raise CNIError(f'failed to add IP addr {one.address} to "{name}": invalid interface index')
        try:
            where.add_address(name, parse_cidr(one.address))
        except LinkError as error:
            raise CNIError(f'failed to add IP addr {one.address} to "{name}": {error.strerror}') from None
        if one.gateway:
            gateways.setdefault(parse_ip(one.gateway).version, one.gateway)
    where.set_up(name)
    for route in result.routes:
        target = parse_cidr(route.dst).network
        gw = route.gw or gateways.get(target.version, "")
        try:
            where.add_route(KernelRoute(target, parse_ip(gw) if gw else None, name, route.priority))
        except LinkError as error:
            via = f"{route.dst} via {gw or '<nil>'} dev {name} metric {route.priority} (Scope: universe, Table: 0)"
            raise CNIError(f"failed to add route '{via}': {error.strerror}") from None


def check_interface(where: Namespace, name: str, result: Result) -> None:
    """Whether an interface still has what a result says. CNIError."""
    link = where.link(name)
    for one in result.ips:
        if parse_cidr(one.address) not in link.addresses:
            raise CNIError(f"Failed to match addr {one.address} on interface {name}")
    for route in result.routes:
        target = parse_cidr(route.dst).network
        if not where.has_route(target, route.priority):
            raise CNIError(f"Expected Route {{Dst:{route.dst} GW:{route.gw or '<nil>'}}} not found in routing table")


def _ensure_address(host: Namespace, bridge: Link, wanted: Net, force: bool) -> None:
    """The gateway's address on the bridge; another one of IPv4 (or of the same IPv6 network) is in the way."""
    if wanted in bridge.addresses:
        return
    for other in list(bridge.addresses):
        if other.version != wanted.version:
            continue
        if wanted.version == 4 or wanted.ip in other.network or other.ip in wanted.network:
            if not force:
                what = f'"{bridge.name}" already has an IP address different from {wanted}'
                raise CNIError(f"failed to set bridge addr: {what}")
            host.remove_address(bridge.name, other)
    host.add_address(bridge.name, wanted)
