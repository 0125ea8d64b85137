"""What is wrong with the addresses and ports that Services hold, and what of it can be put right.

`Holdings` follows the Services one at a time, as the loop of a server does. `BitmapRepair` is the same for an
allocator with a state of its own, which can lose an allocation or keep one that nobody has:

    >>> import random
    >>> from k8slab.apiserver.allocators.port_allocator import PortAllocator
    >>> stored = PortAllocator("30000-30099", random.Random(1))
    >>> stored.allocate(30007)                                    # a server died before it wrote the Service
    >>> repair = BitmapRepair()
    >>> for run in range(3):
    ...     rebuilt, _ = repair.run({}, stored, PortAllocator("30000-30099", random.Random(1)))
    ...     print(list(rebuilt))
    [30007]
    [30007]
    []

Upstream: pkg/registry/core/service/portallocator/controller/repair.go,
    pkg/registry/core/service/ipallocator/controller/repairip.go
Simplified: each Service is looked at when it changes, upstream's ports every three minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple

from k8slab.apiserver.allocators.errors import PortAllocatedError, PortNotInRangeError
from k8slab.apiserver.allocators.ip_allocator import is_usable
from k8slab.apiserver.allocators.port_allocator import PortAllocator
from k8slab.apiserver.allocators.service_ranges import ServiceRanges

__all__ = ["REPAIRS_BEFORE_LEAK_CLEANUP", "BitmapRepair", "Finding", "Holdings"]

REPAIRS_BEFORE_LEAK_CLEANUP = 3
"""How often a port must be found without a Service before it is free again: one may be on its way."""

Spec = Mapping[str, Any]


class Finding(NamedTuple):
    """A Warning about the Service `key` (`namespace/name`)."""

    key: str
    reason: str
    message: str
    source: str


class Holdings:
    """Who holds which address and port. The first one has it; the others are told."""

    def __init__(self, ranges: ServiceRanges) -> None:
        self.ranges = ranges
        self._of: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {}
        self._holders: dict[str | int, dict[str, None]] = {}

    def put(self, key: str, addresses: Iterable[str], ports: Iterable[int]) -> list[Finding]:
        """The Service `key` now holds these. What is wrong with those that it did not hold before."""
        had_addresses, had_ports = self._of.get(key, ((), ()))
        now = tuple(address for address in addresses if address != "None"), tuple(ports)
        self._of[key] = now
        kept: tuple[str | int, ...] = (*now[0], *now[1])
        had: tuple[str | int, ...] = (*had_addresses, *had_ports)
        for one in dict.fromkeys(had):
            if one not in kept:
                self._let_go(one, key)
        found = [self._address(key, one) for one in now[0] if one not in had_addresses]
        found += [self._port(key, one, now[1].count(one)) for one in now[1] if one not in had_ports]
        return list(dict.fromkeys(finding for finding in found if finding is not None))

    def remove(self, key: str) -> None:
        """The Service is gone."""
        addresses, ports = self._of.pop(key, ((), ()))
        held: tuple[str | int, ...] = (*addresses, *ports)
        for one in dict.fromkeys(held):
            self._let_go(one, key)

    def holder(self, what: str | int) -> str:
        """The Service that has an address or a port; empty when nobody has."""
        return next(iter(self._holders.get(what, ())), "")

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        held = {(one, key) for key, (addresses, ports) in self._of.items() for one in (*addresses, *ports)}
        assert held == {(one, key) for one, keys in self._holders.items() for key in keys}, "both maps say the same"

    def _let_go(self, what: str | int, key: str) -> None:
        holders = self._holders[what]
        holders.pop(key, None)
        if not holders:
            del self._holders[what]

    def _address(self, key: str, address: str) -> Finding | None:
        source = "ipallocator-repair-controller"
        holders = self._holders.setdefault(address, {})
        holders[key] = None
        try:
            family = f"IPv{ip_address(address).version}"
        except ValueError:
            text = f"Cluster IP {address} is not a valid IP; please recreate Service"
            return Finding(key, "ClusterIPNotValid", text, source)
        if not any(is_usable(cidr, address) for cidr in self.ranges.cidrs):
            text = (
                f"Cluster IP [{family}]: {address} is not within any configured Service CIDR; please recreate service"
            )
            return Finding(key, "ClusterIPOutOfRange", text, source)
        if next(iter(holders)) != key:
            text = f"Cluster IP [{family}]:{address} was assigned to multiple services; please recreate service"
            return Finding(key, "ClusterIPAlreadyAllocated", text, source)
        return None

    def _port(self, key: str, port: int, times: int) -> Finding | None:
        source = "portallocator-repair-controller"
        holders = self._holders.setdefault(port, {})
        holders[key] = None
        base, size = self.ranges.node_ports
        if not base <= port < base + size:
            text = f"Port {port} is not within the port range {self.ranges.node_ports}; please recreate service"
            return Finding(key, "PortOutOfRange", text, source)
        if times > 1 or next(iter(holders)) != key:
            text = f"Port {port} was assigned to multiple services; please recreate service"
            return Finding(key, "PortAlreadyAllocated", text, source)
        return None


class BitmapRepair:
    """Rebuilds a bitmap of node ports from the Services. It remembers between runs which ports seem to have leaked."""

    def __init__(self) -> None:
        self.leaks: dict[int, int] = {}

    def run(
        self, services: Mapping[str, Iterable[int]], stored: PortAllocator, rebuilt: PortAllocator
    ) -> tuple[PortAllocator, list[Finding]]:
        """(what should be stored, what is wrong). `services`: the ports of each; `rebuilt`: an empty allocator.

        `stored` is used up.
        """
        source = "portallocator-repair-controller"
        found: list[Finding] = []
        for key, ports in services.items():
            for port in ports:
                try:
                    rebuilt.allocate(port)
                except PortAllocatedError:
                    text = f"Port {port} was assigned to multiple services; please recreate service"
                    found.append(Finding(key, "PortAlreadyAllocated", text, source))
                except PortNotInRangeError:
                    text = f"Port {port} is not within the port range {rebuilt.range}; please recreate service"
                    found.append(Finding(key, "PortOutOfRange", text, source))
                else:
                    if not stored.has(port):
                        text = f"Port {port} is not allocated; repairing"
                        found.append(Finding(key, "PortNotAllocated", text, source))
                    stored.release(port)
                    self.leaks.pop(port, None)
        self._keep_leaks(list(stored), rebuilt)
        return rebuilt, found

    def _keep_leaks(self, unclaimed: list[int], rebuilt: PortAllocator) -> None:
        """A port without a Service stays taken for some runs: its Service may be on the way."""
        for port in unclaimed:
            left = self.leaks.get(port, REPAIRS_BEFORE_LEAK_CLEANUP - 1)
            if left > 0:
                self.leaks[port] = left - 1
                if not rebuilt.has(port):
                    rebuilt.allocate(port)
