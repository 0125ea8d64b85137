"""IP pools: where addresses come from, cut into blocks; what is kept back; settings.

    >>> pools = [IPPool("default", "10.0.0.0/24", block_size=26)]
    >>> check_pools(pools)
    >>> len(set(blocks_from(pools[0], "node-a"))), len(set(blocks_from(pools[0], "node-b")))
    (4, 4)

Upstream: api/pkg/apis/projectcalico/v3/{ippool,ipreservation,ipamconfig}.go,
    libcalico-go/lib/clientv3/ippool.go, libcalico-go/lib/ipam/ipam_block_reader_writer.go of projectcalico/calico
Simplified: a pool selects nodes by a mapping of labels instead of a selector text, and no namespaces; encapsulation,
    NAT and BGP of a pool are the fabric's matter. The place where a host begins to look is drawn from the same hash of
    its name, by another generator.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from k8slab.network.ipam.errors import IPAMError

__all__ = ["IPAMConfig", "IPPool", "Reservations", "blocks_from", "check_pools", "fnv32"]

Network = IPv4Network | IPv6Network
DEFAULT_BLOCK_SIZE = {4: 26, 6: 122}
BLOCK_SIZES = {4: (20, 32), 6: (116, 128)}
MAX_BLOCKS = 20
"""How many blocks a host may have when nobody says otherwise: a safeguard against running away."""


@dataclass(frozen=True, slots=True)
class IPPool:
    """A range of addresses in blocks of `block_size` bits (0: 26, or 122 for IPv6).

    `node_labels`: only nodes with these labels draw from it. ValueError for what Calico refuses.
    """

    name: str
    cidr: str
    block_size: int = 0
    disabled: bool = False
    node_labels: Mapping[str, str] = field(default_factory=dict)
    automatic: bool = True
    """False: only for those who ask for this pool by name."""

    def __post_init__(self) -> None:
        try:
            network = ip_network(self.cidr)
        except ValueError as error:
            raise ValueError(f"IPPool({self.name}) CIDR {self.cidr!r}: expected a network: {error}") from None
        if not self.block_size:
            object.__setattr__(self, "block_size", DEFAULT_BLOCK_SIZE[network.version])
        low, high = BLOCK_SIZES[network.version]
        if not low <= self.block_size <= high:
            raise ValueError(
                f"IPPool({self.name}) block size {self.block_size}: block size must be between {low} and {high}"
            )
        if network.prefixlen > self.block_size:
            raise ValueError(
                f"IPPool({self.name}) CIDR {self.cidr}: IP pool size is too small for use with Calico IPAM. It must be "
                "equal to or greater than the block size."
            )

    @property
    def network(self) -> Network:
        return ip_network(self.cidr)

    @property
    def version(self) -> int:
        return self.network.version

    def selects(self, labels: Mapping[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.node_labels.items())

    def block_of(self, address: str) -> str:
        """The block that holds an address of the pool."""
        return str(ip_network(f"{address}/{self.block_size}", strict=False))

    def contains(self, cidr: str) -> bool:
        network = ip_network(cidr, strict=False)
        return _within(network, self.network)


def _within(one: Network, other: Network) -> bool:
    """Whether every address of one is in the other."""
    return one.version == other.version and one.network_address in other and one.broadcast_address in other


def check_pools(pools: Sequence[IPPool]) -> None:
    """ValueError when two have one name, or addresses in common: a block would have two sizes."""
    for index, pool in enumerate(pools):
        for other in pools[:index]:
            if pool.name == other.name:
                raise ValueError(f"IPPool({pool.name}): expected a name that no other pool has")
            if pool.version == other.version and pool.network.overlaps(other.network):
                raise ValueError(f"IPPool({pool.name}) CIDR overlaps with IPPool({other.name}) CIDR {other.cidr}")


def fnv32(text: str) -> int:
    """The 32-bit FNV-1 hash.

    >>> hex(fnv32("")), hex(fnv32("a"))
    ('0x811c9dc5', '0x50c5d7e')
    """
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value * 0x01000193) % (1 << 32) ^ byte
    return value


def blocks_from(pool: IPPool, host: str) -> Iterator[str]:
    """Every block of the pool once, in a circle from a place that is always the same for one host.

    So hosts seldom want the same block, and two requests of one host do.
    """
    network, bits = pool.network, pool.network.max_prefixlen
    count = 1 << (pool.block_size - network.prefixlen)
    start = random.Random(f"{fnv32(host)}").randrange(count)
    kind, first = type(network), int(network.network_address)
    for at in (range(start, count), range(start)):
        for index in at:
            yield str(kind((first + (index << (bits - pool.block_size)), pool.block_size)))


class Reservations:
    """Addresses that are never assigned by themselves: an IPReservation's CIDRs. Callable with an address."""

    def __init__(self, cidrs: Iterable[str] = ()) -> None:
        self._networks: list[Network] = []
        for cidr in cidrs:
            try:
                self._networks.append(ip_network(cidr, strict=False))
            except ValueError as error:
                raise ValueError(f"reserved CIDR {cidr!r}: expected an address or a network: {error}") from None

    def __bool__(self) -> bool:
        return bool(self._networks)

    def __call__(self, address: str) -> bool:
        parsed = ip_address(address)
        return any(parsed in network for network in self._networks)

    def covers(self, cidr: str) -> bool:
        """Whether a whole block is kept back."""
        block = ip_network(cidr)
        return any(_within(block, one) for one in self._networks)


@dataclass(frozen=True, slots=True)
class IPAMConfig:
    """`strict_affinity`: nobody takes an address of another host's block. `max_blocks_per_host` 0: 20."""

    strict_affinity: bool = False
    auto_allocate_blocks: bool = True
    max_blocks_per_host: int = 0

    def __post_init__(self) -> None:
        if not self.strict_affinity and not self.auto_allocate_blocks:
            raise IPAMError("Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks' at the same time")
        if self.max_blocks_per_host < 0:
            raise IPAMError(f"maxBlocksPerHost {self.max_blocks_per_host}: expected 0 or more")

    def limit(self, asked: int) -> int:
        """The smaller of the global limit and that of one request; 0 stands for none."""
        given = [limit for limit in (self.max_blocks_per_host, asked) if limit]
        return min(given, default=MAX_BLOCKS)
