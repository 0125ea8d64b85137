"""Finds addresses that nobody uses, and blocks that nobody needs: what Calico's kube-controllers do every few minutes.

    >>> from k8slab.network.ipam.block import Block
    >>> block = Block.new("10.0.0.0/30", affinity="node-a", now_ms=0)
    >>> block, _ = block.auto_assign(1, "pod-1", host="node-a", attributes=pod_attributes("default", "web", "node-a"))
    >>> finder = LeakFinder()
    >>> finder.plan([block], pods={}, nodes=["node-a"], now_ms=0)
    []
    >>> finder.plan([block], pods={}, nodes=["node-a"], now_ms=15 * 60_000)
    [ReleaseAddress(address='10.0.0.0', handle='pod-1', sequence_number=0)]

A Pod that is not there may only not be there yet, so an address waits for fifteen minutes, unless its node is gone:
then nobody can be using it. What is released carries handle and sequence number: an address that was assigned again
meanwhile is left alone.

Upstream: kube-controllers/pkg/controllers/node/{ipam.go,ipam_allocation.go} of projectcalico/calico
Simplified: addresses without the attributes of a Pod or a tunnel are never released; Pods are looked at as they are in
    one list, not in a cache and then live.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from k8slab.network.ipam.block import Block, Owner, ReleaseOptions
from k8slab.network.ipam.client import IPAMClient
from k8slab.network.ipam.errors import BlockNotEmptyError, ConflictError

__all__ = [
    "LEAK_GRACE_MS",
    "LeakFinder",
    "PodAddresses",
    "Release",
    "ReleaseAddress",
    "ReleaseBlock",
    "ReleaseNode",
    "collect",
    "pod_attributes",
]

LEAK_GRACE_MS = 15 * 60_000
TUNNELS = ("ipipTunnelAddress", "vxlanTunnelAddress", "vxlanV6TunnelAddress", "wireguardTunnelAddress")


def pod_attributes(namespace: str, pod: str, node: str) -> dict[str, str]:
    """What the CNI plugin writes beside an address."""
    return {"namespace": namespace, "pod": pod, "node": node}


@dataclass(frozen=True, slots=True)
class PodAddresses:
    """A Pod as the API server has it: on which node, with which addresses. None yet: it may get any."""

    node: str
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleaseAddress:
    """Release an address, if it is still whose it was."""

    address: str
    handle: str
    sequence_number: int | None


@dataclass(frozen=True, slots=True)
class ReleaseBlock:
    """Give up an empty block of a host that has others with room."""

    host: str
    cidr: str


@dataclass(frozen=True, slots=True)
class ReleaseNode:
    """Give up all blocks of a node that is gone, after its addresses are released."""

    host: str


Release: TypeAlias = ReleaseAddress | ReleaseBlock | ReleaseNode


class LeakFinder:
    """Remembers since when an address has had no user, and a block no address."""

    def __init__(self, grace_ms: int = LEAK_GRACE_MS) -> None:
        self.grace_ms = grace_ms
        self._leaked_since: dict[tuple[str, str, int | None], int] = {}
        self._empty_since: dict[str, int] = {}

    def plan(
        self, blocks: Iterable[Block], pods: Mapping[tuple[str, str], PodAddresses], nodes: Collection[str], now_ms: int
    ) -> list[Release]:
        """What to release now, in this order. `pods`: by namespace and name; `nodes`: those that exist."""
        known = list(blocks)
        leaks: list[Release] = []
        seen: dict[tuple[str, str, int | None], int] = {}
        used: dict[str, int] = {block.affinity: 0 for block in known if block.affinity}
        for block in known:
            for ordinal, owner in enumerate(block.owners):
                if owner is None:
                    continue
                address = block.address(ordinal)
                node = owner.attributes.get("node", "")
                if self._is_used(owner, address, pods, nodes):
                    used[node] = used.get(node, 0) + 1
                    continue
                key = (address, owner.handle, block.sequences[ordinal])
                since = seen[key] = self._leaked_since.get(key, now_ms)
                if node not in nodes or now_ms - since >= self.grace_ms:
                    leaks.append(ReleaseAddress(*key))
        self._leaked_since = seen
        gone: list[Release] = [ReleaseNode(host) for host, count in used.items() if host not in nodes and not count]
        return leaks + gone + self._spare_blocks(known, nodes, now_ms)

    def _is_used(
        self, owner: Owner, address: str, pods: Mapping[tuple[str, str], PodAddresses], nodes: Collection[str]
    ) -> bool:
        attributes = owner.attributes
        if attributes.get("type") in TUNNELS:
            return attributes.get("node", "") in nodes
        if "pod" not in attributes or "namespace" not in attributes:
            return True  # nobody here knows whose it is
        pod = pods.get((attributes["namespace"], attributes["pod"]))
        if pod is None or pod.node != attributes.get("node", ""):
            return False
        return not pod.addresses or address in pod.addresses

    def _spare_blocks(self, blocks: list[Block], nodes: Collection[str], now_ms: int) -> list[Release]:
        """Empty blocks of hosts that have another one with room. The last block of a host stays."""
        by_host: dict[str, list[Block]] = {}
        for block in blocks:
            if block.affinity in nodes:
                by_host.setdefault(block.affinity, []).append(block)
        empty = {block.cidr: self._empty_since.get(block.cidr, now_ms) for block in blocks if block.is_empty}
        self._empty_since = empty
        spare: list[Release] = []
        for host, owned in by_host.items():
            kept = list(owned)
            for block in owned:
                others_have_room = any(other.unallocated for other in kept if other is not block)
                if block.is_empty and others_have_room and now_ms - empty[block.cidr] >= self.grace_ms:
                    kept.remove(block)
                    spare.append(ReleaseBlock(host, block.cidr))
        return spare


async def collect(client: IPAMClient, releases: Iterable[Release]) -> list[Release]:
    """Carry out a plan; what was done. What has changed since the plan was made is left to the next one."""
    done: list[Release] = []
    for release in releases:
        try:
            if isinstance(release, ReleaseAddress):
                await client.release_ips(ReleaseOptions(release.address, release.handle, release.sequence_number))
            elif isinstance(release, ReleaseBlock):
                await client.release_affinity(release.host, release.cidr, require_empty=True)
            else:
                await client.release_host_affinities(release.host)
        except (ConflictError, BlockNotEmptyError):
            continue
        done.append(release)
    return done
