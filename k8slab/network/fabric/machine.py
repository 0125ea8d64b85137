"""A machine with its namespaces, files and programs; and machines on one wire.

>>> fabric = Fabric(random.Random(7))
>>> one = fabric.add_machine("node-1", "10.0.0.2", pod_cidr="10.244.1.0/24")
>>> two = fabric.add_machine("node-2", "10.0.0.3", pod_cidr="10.244.2.0/24")
>>> print(one.host.lookup(parse_ip("10.244.2.7")))
10.244.2.0/24 via 10.0.0.3 dev eth0

Upstream: ip-netns(8), ip-link(8); the routes between machines: cloud-provider routes, flannel's host-gw
Simplified: one wire joins all machines; beyond the gateway is a world that answers everyone but Pods' addresses.
"""

from __future__ import annotations

import random
from ipaddress import ip_network
from typing import Any

from k8slab.network.cni.addresses import Address, Network, parse_cidr, parse_ip
from k8slab.network.cni.files import MemoryFiles
from k8slab.network.cni.invoke import Executables
from k8slab.network.fabric.links import Link, LinkError
from k8slab.network.fabric.namespace import Namespace, Route

__all__ = ["HOST_NETNS", "Fabric", "Machine", "NetnsError"]

HOST_NETNS = "/proc/1/ns/net"
BIN_DIR = "/opt/cni/bin"
UPLINK = "eth0"


class NetnsError(Exception):
    """There is no namespace at this path, in the words of upstream's ns package."""

    def __init__(self, path: str) -> None:
        super().__init__(f'failed to Statfs "{path}": no such file or directory')


class Machine:
    """`host`: the namespace that the runtime, the plugins and the card are in."""

    def __init__(self, name: str, rng: random.Random, *, files: MemoryFiles | None = None) -> None:
        self.name = name
        self.rng = rng
        self.files = files or MemoryFiles()
        self.programs = Executables()
        self._next_index = 1
        self.namespaces: dict[str, Namespace] = {}
        self.host = self._boot()

    def _boot(self) -> Namespace:
        host = Namespace(HOST_NETNS)
        host.set_up("lo")
        self._next_index = 1
        self.namespaces = {HOST_NETNS: host}
        return host

    def index(self) -> int:
        """The next device's index."""
        self._next_index += 1
        return self._next_index

    def mac(self) -> str:
        """A random address of hardware, marked as given by software."""
        return ":".join(f"{byte:02x}" for byte in (self.rng.randrange(256) & 0xFC | 2, *self.rng.randbytes(5)))

    # -- namespaces --------------------------------------------------------------------------------

    def new_namespace(self, path: str) -> Namespace:
        """Make one. FileExistsError."""
        if path in self.namespaces:
            raise FileExistsError(17, "file exists", path)
        made = self.namespaces[path] = Namespace(path)
        return made

    def namespace(self, path: str) -> Namespace:
        """NetnsError when it is gone."""
        if path not in self.namespaces:
            raise NetnsError(path)
        return self.namespaces[path]

    def remove_namespace(self, path: str) -> None:
        """Take one away with all devices in it; of a veth pair the other end goes too. Idempotent."""
        if path == HOST_NETNS:
            raise ValueError("path: the host's namespace stays")
        gone = self.namespaces.get(path)
        if gone is not None:
            for name in list(gone.links):
                if name != "lo":
                    self.remove_link(gone, name)
            del self.namespaces[path]

    # -- devices -----------------------------------------------------------------------------------

    def add_veth(self, inside: Namespace, name: str, outside: Namespace, peer: str, mtu: int, mac: str = "") -> Link:
        """A pair of veths, one end in each namespace. The end inside. LinkError "file exists"."""
        if name in inside.links or peer in outside.links:
            raise LinkError(17, "file exists")
        first = inside.add_link(name, "veth", index=self.index(), mac=mac or self.mac(), mtu=mtu or 1500)
        second = outside.add_link(peer, "veth", index=self.index(), mac=self.mac(), mtu=mtu or 1500)
        first.peer, second.peer = (outside.path, second.index), (inside.path, first.index)
        return first

    def peer_of(self, link: Link) -> tuple[Namespace, Link] | None:
        """Where the other end of a veth is."""
        if link.peer is None or link.peer[0] not in self.namespaces:
            return None
        where = self.namespaces[link.peer[0]]
        return where, where.by_index(link.peer[1])

    def remove_link(self, where: Namespace, name: str) -> None:
        """Delete a device; a veth takes its peer along."""
        link = where.link(name)
        other = self.peer_of(link) if link.kind == "veth" else None
        where.remove_link(name)
        if other is not None:
            other[0].remove_link(other[1].name)

    def lose_power(self) -> None:
        """What the kernel knew is gone: namespaces, devices, routes, rules. Files stay, as far as they were synced."""
        if self.files.disk is not None:
            self.files.disk.crash()
            self.files.reload()
        self.host = self._boot()

    def check_invariants(self) -> None:
        """AssertionError: a veth without its other end, or a namespace that is inconsistent in itself."""
        for where in self.namespaces.values():
            where.check_invariants()
            for link in where.links.values():
                if link.kind == "veth":
                    other = self.peer_of(link)
                    assert other is not None, f"{self.name}: {link.name} has lost its other end"
                    assert other[1].peer == (where.path, link.index), f"{self.name}: {link.name} is no pair"

    def view(self) -> dict[str, Any]:
        return {path: where.view() for path, where in self.namespaces.items()}


class Fabric:
    """Machines whose cards are on one wire. `subnet`: of the cards; `gateway`: the way out; `mtu`: of the wire."""

    def __init__(
        self, rng: random.Random, *, subnet: str = "10.0.0.0/16", gateway: str = "10.0.255.254", mtu: int = 1500
    ) -> None:
        self.rng = rng
        self.subnet = ip_network(subnet)
        self.gateway = parse_ip(gateway)
        self.mtu = mtu
        self.machines: dict[str, Machine] = {}
        self.addresses: dict[str, Address] = {}
        self.pod_cidrs: dict[str, Network] = {}
        self._pod_routes: dict[str, Route] = {}
        self._by_address: dict[Address, str] = {}

    def add_machine(
        self, name: str, address: str, *, pod_cidr: str = "", files: MemoryFiles | None = None, rng: Any = None
    ) -> Machine:
        """A machine with its card; with a `pod_cidr`, every other gets a route to it. ValueError: a name or address
        that is taken, or an address that is not in the wire's subnet."""
        if name in self.machines:
            raise ValueError(f"name {name!r}: there is a machine of that name")
        ip = parse_ip(address)
        if ip not in self.subnet or ip in self._by_address:
            raise ValueError(f"address {address!r}: expected a free one in {self.subnet}")
        machine = self.machines[name] = Machine(name, rng or self.rng, files=files)
        self.addresses[name], self._by_address[ip] = ip, name
        self.plug_in(name)
        if pod_cidr:
            self.give_pod_cidr(name, pod_cidr)
        return machine

    def give_pod_cidr(self, name: str, pod_cidr: str) -> None:
        """A machine has a range for its Pods from now on: every other gets a route to it."""
        self.pod_cidrs[name] = ip_network(pod_cidr)
        self._pod_routes[name] = Route(self.pod_cidrs[name], self.addresses[name], UPLINK)
        for other in self.machines:
            if other != name:
                self._route(other, name)

    def plug_in(self, name: str) -> None:
        """Give a machine (that has booted) its card, the default route, and routes to the others' Pods."""
        machine, ip = self.machines[name], self.addresses[name]
        card = machine.host.add_link(UPLINK, "device", index=machine.index(), mac=machine.mac(), mtu=self.mtu)
        card.addresses = [parse_cidr(f"{ip}/{self.subnet.prefixlen}")]
        machine.host.set_up(UPLINK)
        machine.host.add_route(Route(ip_network("0.0.0.0/0"), self.gateway, UPLINK))
        for other in self.pod_cidrs:
            if other != name:
                self._route(name, other)

    def _route(self, name: str, other: str) -> None:
        host = self.machines[name].host
        if UPLINK in host.links and host.links[UPLINK].is_up:
            host.put_route(self._pod_routes[other])

    def owner(self, address: Address) -> Machine | None:
        """Whose card has an address."""
        name = self._by_address.get(address)
        return None if name is None else self.machines[name]

    def is_pod_address(self, address: Address) -> bool:
        """Whether it is of some node's range: a world outside has no way back to it."""
        return any(one.version == address.version and address in one for one in self.pod_cidrs.values())

    def drop_route(self, name: str, destination: str) -> None:
        """A fault: a machine loses its route to a destination. ValueError when it has none."""
        if not self.machines[name].host.remove_route(ip_network(destination)):
            raise ValueError(f"destination {destination!r}: {name} has no such route")

    def set_mtu(self, name: str, mtu: int, link: str = UPLINK, netns: str = HOST_NETNS) -> None:
        """A fault, or a remedy: another MTU on one link. ValueError: none that the kernel takes."""
        if not 68 <= mtu <= 65536:
            raise ValueError(f"mtu {mtu!r}: expected 68 to 65536")
        self.machines[name].namespace(netns).link(link).mtu = mtu

    def check_invariants(self) -> None:
        for machine in self.machines.values():
            machine.check_invariants()

    def view(self) -> dict[str, Any]:
        return {name: machine.view() for name, machine in self.machines.items()}
