"""The addresses of a node's Pods.

Upstream: none in k/k; the host-local plugin of containernetworking/plugins (plugins/ipam/host-local)
Simplified: one range, one address family; an address that came back is used when no fresh one is left.
"""

from __future__ import annotations

import ipaddress
from collections import deque

__all__ = ["AddressPool"]


class AddressPool:
    """Hands out the host addresses of a network in CIDR notation, all but the first (the bridge's).

    >>> pool = AddressPool("10.244.1.0/30")
    >>> pool.take(), pool.take(), pool.range
    ('10.244.1.2', None, '10.244.1.1-10.244.1.2')
    """

    def __init__(self, cidr: str) -> None:
        self.cidr = cidr
        self._network = network = ipaddress.ip_network(cidr)
        self._fresh = iter(network.hosts())
        first, last = next(self._fresh, network[0]), network[-1]
        self.range = f"{first}-{last - 1 if network.num_addresses > 2 and network.version == 4 else last}"
        self._released: deque[str] = deque()

    def take(self) -> str | None:
        """An address that nobody has; None when all are taken."""
        fresh = next(self._fresh, None)
        if fresh is not None:
            return str(fresh)
        return self._released.popleft() if self._released else None

    def give_back(self, address: str) -> None:
        """`address` is free again, if it is one of this network's."""
        if ipaddress.ip_address(address) in self._network:
            self._released.append(address)
