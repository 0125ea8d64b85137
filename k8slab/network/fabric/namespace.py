"""A network namespace: its own links, addresses, routes, settings and NAT rules.

>>> host = Namespace("/proc/1/ns/net")
>>> card = host.add_link("eth0", "device", index=2, mac="02:00:00:00:00:01")
>>> host.set_up("eth0"); host.add_address("eth0", parse_cidr("10.0.0.2/16"))
>>> print(host.lookup(parse_ip("10.0.0.9")))
10.0.0.0/16 dev eth0
>>> host.lookup(parse_ip("192.0.2.1")) is None
True

Upstream: Linux net/core/net_namespace.c, net/ipv4/fib_frontend.c; ip-netns(8), ip-route(8)
Simplified: one routing table; an address's own route is there while its link is up; neighbours always answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from k8slab.network.cni.addresses import Address, Interface, Network, parse_cidr, parse_ip
from k8slab.network.fabric.iptables import NatTable
from k8slab.network.fabric.links import KINDS, Link, LinkError

__all__ = ["Namespace", "Route", "parse_cidr", "parse_ip"]


@dataclass(frozen=True, slots=True)
class Route:
    """`gateway` None: the destination is on the link itself."""

    destination: Network
    gateway: Address | None
    link: str
    priority: int = 0

    def __str__(self) -> str:
        to = "default" if self.destination.prefixlen == 0 else str(self.destination)
        via = f" via {self.gateway}" if self.gateway is not None else ""
        return f"{to}{via} dev {self.link}{f' metric {self.priority}' if self.priority else ''}"


class Namespace:
    """`path`: how it is named to plugins. A new one has a loopback that is down, as the kernel makes it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.links: dict[str, Link] = {}
        self._routes: dict[tuple[Network, int], Route] = {}
        self.sysctl: dict[str, str] = {"net/ipv4/ip_forward": "0", "net/ipv6/conf/all/forwarding": "0"}
        self.nat = {4: NatTable(), 6: NatTable()}
        self.add_link("lo", "loopback", index=1, mac="00:00:00:00:00:00", mtu=65536)

    @property
    def routes(self) -> list[Route]:
        """The routes that were added, oldest first."""
        return list(self._routes.values())

    def _keep_routes(self, stays: Callable[[Route], bool]) -> None:
        self._routes = {key: route for key, route in self._routes.items() if stays(route)}

    # -- links -------------------------------------------------------------------------------------

    def add_link(self, name: str, kind: str, *, index: int, mac: str, mtu: int = 1500) -> Link:
        """A new device, down. LinkError: there is one of that name."""
        if kind not in KINDS:
            raise ValueError(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
        if name in self.links:
            raise LinkError(17, "file exists")
        link = self.links[name] = Link(name, kind, index, mac, mtu)
        return link

    def link(self, name: str) -> Link:
        """LinkError: "Link not found"."""
        if name not in self.links:
            raise LinkError(19, "Link not found")
        return self.links[name]

    def by_index(self, index: int) -> Link:
        """LinkError: "Link not found"."""
        for link in self.links.values():
            if link.index == index:
                return link
        raise LinkError(19, "Link not found")

    def remove_link(self, name: str) -> Link:
        """Take a device away with its routes; ports of a bridge stay, and have none."""
        link = self.link(name)
        del self.links[name]
        self._keep_routes(lambda route: route.link != name)
        for other in self.links.values():
            if other.master == name:
                other.master = ""
            if other.detour == name:
                other.detour = ""
        return link

    def set_up(self, name: str, is_up: bool = True) -> None:
        """Up or down. Down: the routes over it are gone, as in the kernel; addresses stay."""
        self.link(name).is_up = is_up
        if name == "lo" and is_up and not self.links["lo"].addresses:
            self.links["lo"].addresses = [parse_cidr("127.0.0.1/8"), parse_cidr("::1/128")]
        if not is_up:
            self._keep_routes(lambda route: route.link != name)

    def ports(self, bridge: str) -> list[Link]:
        """The links that are ports of a bridge."""
        return [link for link in self.links.values() if link.master == bridge]

    # -- addresses and routes ----------------------------------------------------------------------

    def add_address(self, name: str, address: Interface) -> None:
        """LinkError "file exists": the link has it."""
        link = self.link(name)
        if address in link.addresses:
            raise LinkError(17, "file exists")
        link.addresses.append(address)

    def remove_address(self, name: str, address: Interface) -> None:
        link = self.link(name)
        if address not in link.addresses:
            raise LinkError(99, "cannot assign requested address")
        link.addresses.remove(address)

    def add_route(self, route: Route) -> None:
        """LinkError: the gateway is not on the link ("network is unreachable"), or there is such a route."""
        link = self.link(route.link)
        if not link.is_up:
            raise LinkError(100, "network is down")
        on_link = [one for one in self.connected() if one.link == route.link]
        if route.gateway is not None and not any(_contains(one.destination, route.gateway) for one in on_link):
            raise LinkError(101, "network is unreachable")
        key = route.destination, route.priority
        if key in self._routes:
            raise LinkError(17, "file exists")
        self._routes[key] = route

    def put_route(self, route: Route) -> None:
        """Add or replace a route whose gateway is known to be on its link, which is up."""
        self._routes[route.destination, route.priority] = route

    def has_route(self, destination: Network, priority: int = 0) -> bool:
        """Whether a route to exactly this destination was added."""
        return (destination, priority) in self._routes

    def remove_route(self, destination: Network) -> list[Route]:
        """Take out the routes to exactly this destination. What they were."""
        gone = [route for route in self.routes if route.destination == destination]
        self._keep_routes(lambda route: route.destination != destination)
        return gone

    def connected(self) -> Iterator[Route]:
        """The routes that come with addresses."""
        for link in self.links.values():
            if link.is_up:
                for address in link.addresses:
                    yield Route(address.network, None, link.name)

    def lookup(self, address: Address) -> Route | None:
        """The route to an address: the longest prefix, then the lowest priority, then the oldest."""
        best: Route | None = None
        for route in (*self.connected(), *self._routes.values()):
            if not _contains(route.destination, address) or not self.links[route.link].is_up:
                continue
            if best is None or _rank(route) < _rank(best):
                best = route
        return best

    def is_local(self, address: Address) -> bool:
        """Whether an address is one of this namespace's own."""
        if address.is_loopback and self.links["lo"].is_up:
            return True
        return any(link.holds(address) for link in self.links.values())

    def forwards(self, version: int) -> bool:
        """Whether packets of others pass through."""
        name = "net/ipv4/ip_forward" if version == 4 else "net/ipv6/conf/all/forwarding"
        return self.sysctl.get(name) == "1"

    def source_for(self, route: Route, version: int) -> Address | None:
        """The address that a packet sent over `route` carries as its source."""
        mine = [one for one in self.link(route.link).addresses if one.version == version]
        near = [one for one in mine if route.gateway is not None and route.gateway in one.network]
        return next((one.ip for one in (*near, *mine)), None)

    def check_invariants(self) -> None:
        """AssertionError: a route over no link, a port of no bridge, an index twice."""
        indices = [link.index for link in self.links.values()]
        assert len(indices) == len(dict.fromkeys(indices)), f"{self.path}: two links have one index"
        for route in self.routes:
            assert route.link in self.links, f"{self.path}: {route} goes over no link"
        for name, link in self.links.items():
            assert link.name == name
            if link.master:
                assert self.links[link.master].kind == "bridge", f"{name}: {link.master} is no bridge"
        for table in self.nat.values():
            table.check_invariants()

    def view(self) -> dict[str, Any]:
        """Links with their addresses, and routes."""
        links = {
            name: {"kind": link.kind, "up": link.is_up, "ip": ", ".join(map(str, link.addresses)), "mtu": link.mtu}
            for name, link in self.links.items()
        }
        return {"links": links, "routes": {str(route): True for route in self.routes}}


def _contains(network: Network, address: Address) -> bool:
    return network.version == address.version and address in network


def _rank(route: Route) -> tuple[int, int]:
    return -route.destination.prefixlen, route.priority
