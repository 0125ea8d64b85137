"""The ranges a cluster's Services draw from: `--service-cluster-ip-range` and `--service-node-port-range`.

    >>> ranges = ServiceRanges.parse("10.96.0.0/16,fd00:10:96::/112")
    >>> ranges.families, str(ranges.node_ports), ranges.kubernetes_address, ranges.dns_address
    (('IPv4', 'IPv6'), '30000-32767', '10.96.0.1', '10.96.0.10')

Upstream: cmd/kube-apiserver/app/options/{options.go,validation.go}, pkg/controlplane/instance.go (ServiceIPRange),
    cmd/kubeadm/app/constants (GetDNSIP)
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any, NamedTuple, Protocol

from k8slab.api.features import FeatureGates
from k8slab.apiserver.allocators.ip_allocator import Allocator, Range
from k8slab.apiserver.allocators.port_allocator import PortAllocator, PortRange

__all__ = ["AddressAllocator", "ServiceRanges"]

DEFAULT_CIDR = "10.96.0.0/16"
DEFAULT_NODE_PORTS = PortRange(30_000, 2_768)
MOST_BITS = 20
MOST_BITS_IPV6 = 64
_GATE = "MultiCIDRServiceAllocator"


class AddressAllocator(Protocol):
    """`Range` or `Allocator`."""

    def copy(self) -> AddressAllocator: ...
    def note(self, address: str) -> bool: ...
    def release(self, address: str) -> None: ...
    def has(self, address: str) -> bool: ...
    def allocate(self, address: str) -> None: ...
    def allocate_next(self) -> str: ...


class ServiceRanges(NamedTuple):
    """One range, or one of each family; the first is the default family's."""

    cidrs: tuple[str, ...] = (DEFAULT_CIDR,)
    node_ports: PortRange = DEFAULT_NODE_PORTS

    @classmethod
    def parse(cls, cidrs: str = DEFAULT_CIDR, node_ports: str = str(DEFAULT_NODE_PORTS)) -> ServiceRanges:
        """From the flags' texts; without node ports the usual ones. ValueError for what kube-apiserver does not start
        with."""
        flag = "service-cluster-ip-range"
        if not isinstance(cidrs, str):
            raise ValueError(f"{flag}: {cidrs!r}: expected CIDRs as a text, with a comma between two")
        if not isinstance(node_ports, str):
            raise ValueError(f"service-node-port-range: {node_ports!r}: expected a text such as 30000-32767")
        parts = [part.strip() for part in cidrs.split(",")]
        networks = []
        for part in parts:
            try:
                networks.append(ip_network(part))
            except ValueError as error:
                raise ValueError(f"{flag}: {part!r}: expected a CIDR such as {DEFAULT_CIDR}: {error}") from None
        if len(networks) > 2:
            raise ValueError(f"{flag}: {cidrs!r}: expected at most two CIDRs")
        if len(networks) == 2 and networks[0].version == networks[1].version:
            raise ValueError(f"{flag}: {cidrs!r}: expected one CIDR of each IP family")
        for network in networks:
            most = MOST_BITS_IPV6 if network.version == 6 else MOST_BITS
            if network.max_prefixlen - network.prefixlen > most:
                bits = network.max_prefixlen
                raise ValueError(
                    f"specified --{flag} is too large; for {bits}-bit addresses, the mask must be >= {bits - most}"
                )
            if network.num_addresses < 8:
                raise ValueError(f"the service cluster IP range must be at least 8 IP addresses: {network}")
        ports = PortRange.parse(node_ports)
        return cls(tuple(str(network) for network in networks), ports if ports.size else DEFAULT_NODE_PORTS)

    @classmethod
    def of_flags(cls, flags: Mapping[str, Any]) -> ServiceRanges:
        """`parse` of `service-cluster-ip-range` and `service-node-port-range` among other settings."""
        return cls.parse(
            flags.get("service-cluster-ip-range", DEFAULT_CIDR),
            flags.get("service-node-port-range", str(DEFAULT_NODE_PORTS)),
        )

    @property
    def families(self) -> tuple[str, ...]:
        return tuple("IPv6" if ":" in cidr else "IPv4" for cidr in self.cidrs)

    @property
    def kubernetes_address(self) -> str:
        """The first address, which the API server gives its own Service."""
        return str(ip_network(self.cidrs[0])[1])

    @property
    def dns_address(self) -> str:
        """The tenth, which kubeadm gives the cluster's DNS: nobody keeps it free but the static band."""
        return str(ip_network(self.cidrs[0])[10])

    def address_allocators(self, features: FeatureGates, rng: random.Random) -> dict[str, AddressAllocator]:
        """A fresh allocator for each family: of the kind that the release has."""
        kind = Allocator if features.enabled(_GATE) else Range
        return {family: kind(cidr, rng) for family, cidr in zip(self.families, self.cidrs, strict=True)}

    def port_allocator(self, rng: random.Random) -> PortAllocator:
        """A fresh allocator of node ports."""
        return PortAllocator(self.node_ports, rng)
