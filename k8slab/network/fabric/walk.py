"""A packet's way through namespaces, bridges, NAT and the wire: each step, and why it ended.

>>> import random
>>> from k8slab.network.fabric.machine import Fabric
>>> fabric = Fabric(random.Random(7))
>>> _ = fabric.add_machine("node-1", "10.0.0.2"), fabric.add_machine("node-2", "10.0.0.3")
>>> walk = send(fabric, "node-1", "10.0.0.3", port=22)
>>> walk.delivered, [hop.what for hop in walk.hops]
(True, ['route', 'wire', 'deliver'])

Upstream: Linux net/ipv4/ip_input.c, ip_forward.c, ip_output.c, net/bridge/br_forward.c, netfilter's hooks
Simplified: ARP always finds who is on the link and up; no firewall but the nat table; no reverse path filter; a packet
that is too large and may be cut is counted, not cut. Nobody has to listen: what reaches its namespace is delivered.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from k8slab.network.cni.addresses import Address, parse_ip
from k8slab.network.fabric.iptables import Tuple5
from k8slab.network.fabric.links import Link
from k8slab.network.fabric.machine import HOST_NETNS, Fabric, Machine
from k8slab.network.fabric.namespace import Namespace, Route

__all__ = ["Hop", "Packet", "Walk", "exchange", "send"]

_MOST_HOPS = 64
_OUTSIDE = "outside"
_NOBODY = Tuple5("", parse_ip("0.0.0.0"), 0, parse_ip("0.0.0.0"), 0)


@dataclass(frozen=True, slots=True)
class Packet:
    """`size` in bytes with its headers. `may_fragment` False: what is too large for a link is not cut (TCP's way)."""

    flow: Tuple5
    size: int
    may_fragment: bool = False

    def __str__(self) -> str:
        flow = self.flow
        return f"{_end(flow.source, flow.source_port)} > {_end(flow.destination, flow.port)}"


def _end(address: Address, port: int) -> str:
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


@dataclass(frozen=True, slots=True)
class Hop:
    """One step: `where` (machine and namespace) on which `link`, `what` (route, nat, bridge, veth, wire, forward,
    shape, cut, deliver, drop), the `packet` after it, a sentence."""

    machine: str
    netns: str
    link: str
    what: str
    text: str
    packet: str


@dataclass(frozen=True, slots=True)
class Walk:
    """`end`: machine and namespace where it was delivered or dropped; `reason`: why it was dropped, "" if not;
    `packet`: as it was then; `asked`: what was sent in the first place."""

    hops: tuple[Hop, ...]
    delivered: bool
    reason: str
    end: tuple[str, str]
    packet: Packet
    asked: Tuple5

    def lines(self) -> list[str]:
        """The hops as text."""
        return [f"{hop.machine:<8} {hop.link:<12} {hop.what:<8} {hop.text}" for hop in self.hops]


class _Dropped(Exception):
    """The end of a walk."""


@dataclass(slots=True)
class _Walker:
    """One packet on its way. `known`: by machine, how an answer is translated back (conntrack)."""

    fabric: Fabric
    packet: Packet
    known: dict[str, dict[Tuple5, Tuple5]] = field(default_factory=dict)
    hops: list[Hop] = field(default_factory=list)
    here: tuple[str, str] = ("", "")
    asked: Tuple5 = _NOBODY
    is_answer: bool = False

    # -- the steps of one namespace ----------------------------------------------------------------

    def output(self, machine: Machine, where: Namespace) -> None:
        """A program in `where` sends it."""
        self.here = machine.name, where.path
        self._translate_back(machine, where)
        before = self._choose_source(where)
        self._nat("OUTPUT", machine, where)
        if where.is_local(self.packet.flow.destination):
            self._deliver("lo", "it is an address of this namespace")
            return
        route = self._route(where)
        self._leave(machine, where, route, before)

    def _choose_source(self, where: Namespace) -> Tuple5:
        """The sender's address, where the program left it open: of the link that the packet will go out on."""
        flow = self.packet.flow
        if flow.source.is_unspecified:
            route = where.lookup(flow.destination)
            source: Address | None = flow.destination
            if not where.is_local(flow.destination) and route is not None:
                source = where.source_for(route, flow.destination.version)
            flow = flow._replace(source=source or flow.source)
            self._set(flow)
            self.asked = flow
        return flow

    def receive(self, machine: Machine, where: Namespace, link: Link, next_hop: Address) -> None:
        """It comes in over `link`, for whoever has the address `next_hop`."""
        self.here = machine.name, where.path
        if not link.is_up:
            self._drop(link.name, f"{link.name} is down")
        self._shape_detour(where, link)
        if not link.master:
            self._input(machine, where, link)
            return
        bridge = where.link(link.master)
        if not bridge.is_up:
            self._drop(bridge.name, f"{bridge.name} is down")
        if bridge.holds(next_hop) or where.is_local(next_hop):
            self._hop(bridge.name, "bridge", f"{bridge.name} itself has {next_hop}: up into the host's stack")
            self._input(machine, where, bridge)
            return
        self._to_port(machine, where, bridge, link, next_hop)

    def _input(self, machine: Machine, where: Namespace, link: Link) -> None:
        before = self.packet.flow
        self._translate_back(machine, where)
        self._nat("PREROUTING", machine, where)
        flow = self.packet.flow
        if where.is_local(flow.destination):
            self._note(machine, before)
            self._deliver(link.name, f"{flow.destination} is an address of this namespace")
            return
        if not where.forwards(flow.destination.version):
            what = "net/ipv4/ip_forward" if flow.destination.version == 4 else "net/ipv6/conf/all/forwarding"
            self._drop(link.name, f"not mine, and {what} is 0: not forwarded")
        route = self._route(where)
        self._hop(route.link, "forward", f"forwarded from {link.name} to {route.link}")
        self._leave(machine, where, route, before)

    def _leave(self, machine: Machine, where: Namespace, route: Route, before: Tuple5) -> None:
        """Out over the route's link, past POSTROUTING."""
        flow = self.packet.flow
        verdict = where.nat[flow.destination.version].traverse("POSTROUTING", flow, where.is_local)
        if verdict.target == "MASQUERADE" and not self._is_known(machine):
            source = where.source_for(route, flow.destination.version)
            if source is not None and source != flow.source:
                self._set(flow._replace(source=source, mark=0))
                self._hop(route.link, "nat", f"masqueraded: {flow.source} becomes {source}")
        self._note(machine, before)
        self._transmit(machine, where, where.link(route.link), route.gateway or self.packet.flow.destination)

    # -- links -------------------------------------------------------------------------------------

    def _transmit(self, machine: Machine, where: Namespace, link: Link, next_hop: Address) -> None:
        if len(self.hops) > _MOST_HOPS:
            self._drop(link.name, "time to live exceeded: it walks in a circle")
        if not link.is_up:
            self._drop(link.name, f"{link.name} is down")
        self._fit(link, f"larger than the MTU of {link.name}, {link.mtu}: fragmentation needed, but not allowed")
        self._shape(link)
        if link.kind == "veth":
            self._through_pair(machine, link, next_hop)
        elif link.kind == "bridge":
            self._to_port(machine, where, link, None, next_hop)
        elif link.kind == "device":
            self._wire(machine, link, next_hop)
        else:
            self._deliver(link.name, "back by the loopback")

    def _through_pair(self, machine: Machine, link: Link, next_hop: Address) -> None:
        other = machine.peer_of(link)
        if other is None:
            self._drop(link.name, f"{link.name} has no other end")
        self._hop(link.name, "veth", f"out of {link.name}, out of its other end {other[1].name}")
        self.receive(machine, other[0], other[1], next_hop)

    def _to_port(
        self, machine: Machine, where: Namespace, bridge: Link, came_by: Link | None, next_hop: Address
    ) -> None:
        """Out of the port behind which somebody has `next_hop`."""
        for port in where.ports(bridge.name):
            other = machine.peer_of(port)
            if other is None or not other[1].holds(next_hop):
                continue
            if came_by is port and not port.hairpin:
                self._drop(port.name, f"a bridge does not send back where it came from: {port.name} is no hairpin")
            if came_by is not None and came_by.isolated and port.isolated:
                self._drop(port.name, f"{came_by.name} and {port.name} are isolated from each other")
            if self.packet.size > port.mtu and not self.packet.may_fragment:
                self._drop(port.name, f"larger than the MTU of {port.name}, {port.mtu}: a bridge drops it silently")
            self._hop(bridge.name, "bridge", f"{next_hop} is behind port {port.name}")
            self._transmit(machine, where, port, next_hop)
            return
        self._drop(bridge.name, f"host unreachable: nobody on {bridge.name} answers for {next_hop}")

    def _wire(self, machine: Machine, link: Link, next_hop: Address) -> None:
        if self.packet.size > self.fabric.mtu and not self.packet.may_fragment:
            self._drop(link.name, f"larger than the wire's MTU, {self.fabric.mtu}: lost, and nobody says so")
        if next_hop == self.fabric.gateway:
            self._hop(link.name, "wire", f"to the gateway {next_hop}")
            self.here = _OUTSIDE, ""
            if self.fabric.is_pod_address(self.packet.flow.destination):
                self._lost_outside()
            self._deliver("", f"out of the cluster, as {self.packet.flow.source}")
            return
        other = self.fabric.owner(next_hop)
        if other is None or "eth0" not in other.host.links or not other.host.links["eth0"].is_up:
            self._drop(link.name, f"host unreachable: nobody on the wire answers for {next_hop}")
        self._hop(link.name, "wire", f"over the wire to {other.name} ({next_hop})")
        self.receive(other, other.host, other.host.links["eth0"], next_hop)

    def from_outside(self) -> None:
        """An answer comes back to the gateway."""
        destination = self.packet.flow.destination
        self.here = _OUTSIDE, ""
        owner = self.fabric.owner(destination)
        if owner is None:
            self._lost_outside()
        self._hop("", "wire", f"from the gateway to {owner.name}")
        self.receive(owner, owner.host, owner.host.links["eth0"], destination)

    def _lost_outside(self) -> NoReturn:
        self._drop("", f"beyond {self.fabric.gateway} nobody knows a way to {self.packet.flow.destination}")

    def _fit(self, link: Link, why_not: str) -> None:
        if self.packet.size > link.mtu:
            if not self.packet.may_fragment:
                self._drop(link.name, why_not)
            pieces = -(-(self.packet.size - 20) // ((link.mtu - 20) // 8 * 8))
            self._hop(link.name, "cut", f"{self.packet.size} bytes become {pieces} fragments of at most {link.mtu}")

    def _shape(self, link: Link) -> None:
        bucket = link.shaper
        if bucket is None:
            return
        if self.packet.size > bucket.burst:
            self._drop(link.name, f"larger than the bucket of {link.name}, {bucket.burst} bytes")
        self._hop(link.name, "shape", f"at most {bucket.rate * 8:,} bit/s through {link.name}")

    def _shape_detour(self, where: Namespace, link: Link) -> None:
        if link.detour:
            self._shape(where.link(link.detour))

    # -- addresses ---------------------------------------------------------------------------------

    def _route(self, where: Namespace) -> Route:
        destination = self.packet.flow.destination
        route = where.lookup(destination)
        if route is None:
            self._drop("", f"network is unreachable: no route to {destination}")
        self._hop(route.link, "route", str(route))
        localnet = where.sysctl.get(f"net/ipv4/conf/{route.link}/route_localnet", "0")
        source = self.packet.flow.source
        if source.version == 4 and source.is_loopback and localnet != "1":
            self._drop(route.link, f"martian: {source} must not leave the host while route_localnet is 0")
        return route

    def _nat(self, chain: str, machine: Machine, where: Namespace) -> None:
        flow = self.packet.flow
        if self._is_known(machine):
            return
        self.known.setdefault(machine.name, {})
        verdict = where.nat[flow.destination.version].traverse(chain, flow, where.is_local)
        self._set(verdict.packet)
        if verdict.target == "DNAT":
            was, now = _end(flow.destination, flow.port), _end(verdict.packet.destination, verdict.packet.port)
            self._hop("", "nat", f"{was} becomes {now} ({verdict.matched[-1]})")

    def _is_known(self, machine: Machine) -> bool:
        """An answer, and the machine has seen what it answers: rules are asked for a connection's first packet."""
        return self.is_answer and machine.name in self.known

    def _note(self, machine: Machine, before: Tuple5) -> None:
        """Remember how an answer is to be translated back, if the packet is another now."""
        if before[:5] != self.packet.flow[:5]:
            self.known.setdefault(machine.name, {})[_answer(self.packet.flow)] = _answer(before)

    def _translate_back(self, machine: Machine, where: Namespace) -> None:
        flow = self.packet.flow._replace(mark=0)
        before = self.known.get(machine.name, {}).get(flow)
        if before is not None and where.path == HOST_NETNS:
            self._set(before)
            self._hop("", "nat", f"an answer: translated back to {self.packet}")

    def _set(self, flow: Tuple5) -> None:
        self.packet = replace(self.packet, flow=flow)

    # -- ends --------------------------------------------------------------------------------------

    def _hop(self, link: str, what: str, text: str) -> None:
        self.hops.append(Hop(*self.here, link, what, text, str(self.packet)))

    def _deliver(self, link: str, text: str) -> None:
        self._hop(link, "deliver", f"delivered: {text}")

    def _drop(self, link: str, why: str) -> NoReturn:
        self._hop(link, "drop", why)
        raise _Dropped(why)

    def end(self, reason: str) -> Walk:
        return Walk(tuple(self.hops), not reason, reason, self.here, self.packet, self.asked)


def _answer(flow: Tuple5) -> Tuple5:
    return Tuple5(flow.protocol, flow.destination, flow.port, flow.source, flow.source_port)


def send(
    fabric: Fabric,
    machine: str,
    destination: str,
    *,
    netns: str = HOST_NETNS,
    port: int = 80,
    protocol: str = "tcp",
    size: int = 1500,
    may_fragment: bool = False,
    source_port: int = 40_000,
) -> Walk:
    """Send one packet from a namespace of a machine, and follow it. ValueError: no such machine or namespace."""
    return _Walks(fabric).first(machine, netns, destination, port, protocol, size, may_fragment, source_port)


def exchange(
    fabric: Fabric,
    machine: str,
    destination: str,
    *,
    netns: str = HOST_NETNS,
    port: int = 80,
    protocol: str = "tcp",
    size: int = 1500,
    may_fragment: bool = False,
    source_port: int = 40_000,
) -> tuple[Walk, Walk | None]:
    """A packet and, if it arrives, the answer to it: a way there is no way back."""
    walks = _Walks(fabric)
    there = walks.first(machine, netns, destination, port, protocol, size, may_fragment, source_port)
    return there, walks.answer(there) if there.delivered else None


@dataclass(slots=True)
class _Walks:
    """What machines remember between a packet and its answer."""

    fabric: Fabric
    known: dict[str, dict[Tuple5, Tuple5]] = field(default_factory=dict)

    def first(self, machine: str, netns: str, destination: str, *how: Any) -> Walk:
        if machine not in self.fabric.machines:
            raise ValueError(f"machine {machine!r}: expected one of {', '.join(self.fabric.machines)}")
        here = self.fabric.machines[machine]
        if netns not in here.namespaces:
            raise ValueError(f"netns {netns!r}: {machine} has no such namespace")
        port, protocol, size, may_fragment, source_port = how
        target = parse_ip(destination)
        flow = Tuple5(protocol, parse_ip("0.0.0.0" if target.version == 4 else "::"), source_port, target, port)
        walker = _Walker(self.fabric, Packet(flow, size, may_fragment), self.known, asked=flow)
        return self._run(walker, here, here.namespaces[netns])

    def answer(self, there: Walk) -> Walk:
        """The way back. An answer from another address than was asked is one that nobody waits for."""
        back = self._back(there)
        wanted = _end(there.asked.destination, there.asked.port)
        got = _end(back.packet.flow.source, back.packet.flow.source_port)
        if back.delivered and got != wanted:
            reason = f"the answer comes from {got}, and it is {wanted} that was asked: nobody waits for it"
            lost = Hop(*back.end, "", "drop", reason, str(back.packet))
            return replace(back, hops=(*back.hops, lost), delivered=False, reason=reason)
        return back

    def _back(self, there: Walk) -> Walk:
        walker = _Walker(
            self.fabric, replace(there.packet, flow=_answer(there.packet.flow)), self.known, is_answer=True
        )
        name, netns = there.end
        if name == _OUTSIDE:
            return self._run(walker, None, None)
        here = self.fabric.machines[name]
        return self._run(walker, here, here.namespaces[netns])

    @staticmethod
    def _run(walker: _Walker, machine: Machine | None, where: Namespace | None) -> Walk:
        try:
            if machine is None or where is None:
                walker.from_outside()
            else:
                walker.output(machine, where)
        except _Dropped as dropped:
            return walker.end(str(dropped))
        return walker.end("")
