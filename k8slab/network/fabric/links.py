"""Network devices: what `ip link` and `tc` know of them.

Upstream: Linux net/core/dev.c, drivers/net/veth.c, net/bridge, net/sched/sch_tbf.c; vishvananda/netlink's names
Simplified: no VLANs, no spanning tree; a device has no queue beside the token bucket that is put on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from k8slab.network.cni.addresses import Interface

__all__ = ["KINDS", "Link", "LinkError", "TokenBucket"]

KINDS = ("loopback", "device", "bridge", "veth", "ifb")
"""`device`: a machine's own card. `ifb`: a detour on which what comes *in* can be slowed down."""


class LinkError(OSError):
    """The kernel's no: "file exists", "Link not found", "network is unreachable"."""


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """A tbf: `rate` bytes a second, `burst` the size of the bucket, `limit` the bytes that may wait, `buffer` as the
    kernel is told it (ticks)."""

    rate: int
    burst: int
    limit: int
    buffer: int


@dataclass(slots=True)
class Link:
    """`index` is unique on its machine. `peer`: a veth's other end (namespace, index). `master`: the bridge it is a
    port of. `shaper`: on what goes out of it; `detour`: the ifb through which goes what comes in."""

    name: str
    kind: str
    index: int
    mac: str
    mtu: int = 1500
    is_up: bool = False
    addresses: list[Interface] = field(default_factory=list)
    master: str = ""
    peer: tuple[str, int] | None = None
    hairpin: bool = False
    promiscuous: bool = False
    isolated: bool = False
    shaper: TokenBucket | None = None
    detour: str = ""

    def holds(self, address: object) -> bool:
        """Whether this is one of its addresses."""
        return any(one.ip == address for one in self.addresses)
