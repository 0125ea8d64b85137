"""Gives every Node its part of the cluster's Pod range: `spec.podCIDR` and `spec.podCIDRs`.

`RangeAllocator` is the mechanism: which subnets a Node gets, keeps and gives back. `NodeIPAMController` runs it.

    >>> ranges = RangeAllocator([ClusterRange("10.244.0.0/22", 24), ClusterRange("fd00::/56", 64)])
    >>> ranges.allocate()
    ('10.244.0.0/24', 'fd00::/64')
    >>> ranges.occupy("node-b", ["10.244.1.0/24", "fd00:0:0:1::/64"])
    >>> ranges.allocate()
    ('10.244.2.0/24', 'fd00:0:0:2::/64')

Upstream: pkg/controller/nodeipam/{node_ipam_controller.go,ipam/range_allocator.go}, cmd/kube-controller-manager/app/
    core.go (startNodeIpamController, setNodeCIDRMaskSizes)
Simplified: the RangeAllocator only, as without a cloud provider. Where the second family has no subnet left, the first
    one's goes back at once; upstream keeps it until the controller manager restarts. What a Node has outside the range
    is noted in the trace, and what it has inside is left to it until it goes; upstream's controller manager does not
    start with such a Node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.nodeipam.cidr_set import (
    MAX_DIFFERENCE,
    CIDRRangeNoCIDRsRemainingError,
    CIDRSet,
    CIDRSetSubNetTooBigError,
    Network,
    parse_cidr,
)

__all__ = ["ClusterRange", "NodeIPAMController", "RangeAllocator", "cluster_ranges"]

LANE = "kcm/node-ipam"
WORKERS = 30
PATCH_RETRIES = 3
DEFAULT_MASKS = {4: 24, 6: 64}


class ClusterRange(NamedTuple):
    """One family's range for Pods, and the mask of a Node's part of it."""

    cidr: str
    node_mask: int


class RangeAllocator:
    """Subnets of Nodes, one from each of `ranges`, beside `reserved` ranges (of Services) that are left alone.

    ValueError for a range that is none.
    """

    def __init__(self, ranges: Sequence[ClusterRange], reserved: Iterable[str] = ()) -> None:
        self.sets = [CIDRSet(one.cidr, one.node_mask) for one in ranges]
        for cidr in reserved:
            network = parse_cidr("service-cluster-ip-range", cidr)
            for subnets in self.sets:
                if _overlap(subnets.cluster_cidr, network):
                    subnets.occupy(network)

    def allocate(self) -> tuple[str, ...]:
        """A subnet of each range. LookupError, and nothing taken, when one has none left."""
        taken: list[str] = []
        for index, subnets in enumerate(self.sets):
            try:
                taken.append(str(subnets.allocate_next()))
            except CIDRRangeNoCIDRsRemainingError as error:
                self._give_back(taken)
                raise LookupError(f"failed to allocate cidr from cluster cidr at idx:{index}: {error}") from None
        return tuple(taken)

    def occupy(self, node: str, cidrs: Sequence[str]) -> None:
        """Take what a Node has already. ValueError, and nothing taken, for what is no CIDR, or outside the ranges."""
        for index, subnets, network in self._checked(node, cidrs):
            self._probe(
                subnets, network, f"failed to mark cidr[{network}] at idx [{index}] as occupied for node: {node}"
            )
        self.occupy_inside(cidrs)

    def release(self, node: str, cidrs: Sequence[str]) -> None:
        """Give back what a Node had. ValueError, and nothing given back, as of `occupy`."""
        for _, subnets, network in self._checked(node, cidrs):
            self._probe(subnets, network, f"error when releasing CIDR {network}")
        self.release_inside(cidrs)

    def occupy_inside(self, cidrs: Sequence[str]) -> None:
        """Take what lies in the ranges, and overlook the rest: whatever a Node has must not be given to another."""
        for subnets, network in self._inside(cidrs):
            subnets.occupy(network)

    def release_inside(self, cidrs: Sequence[str]) -> None:
        """Give back what `occupy_inside` took."""
        for subnets, network in self._inside(cidrs):
            subnets.release(network)

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        for subnets in self.sets:
            subnets.check_invariants()

    def _give_back(self, cidrs: Sequence[str]) -> None:
        for subnets, cidr in zip(self.sets, cidrs, strict=False):
            subnets.release(cidr)

    def _inside(self, cidrs: Sequence[str]) -> list[tuple[CIDRSet, Network]]:
        pairs = [(subnets, _network(cidr)) for subnets, cidr in zip(self.sets, cidrs, strict=False)]
        return [(subnets, network) for subnets, network in pairs if network is not None and subnets.contains(network)]

    def _probe(self, subnets: CIDRSet, network: Network, failed: str) -> None:
        try:
            subnets.has(network)
        except ValueError as error:
            raise ValueError(f"{failed}: {error}") from None

    def _checked(self, node: str, cidrs: Sequence[str]) -> list[tuple[int, CIDRSet, Network]]:
        found = []
        for index, cidr in enumerate(cidrs):
            network = _network(cidr)
            if network is None:
                raise ValueError(f"failed to parse node {node}, CIDR {cidr}")
            if index >= len(self.sets):
                raise ValueError(
                    f"node:{node} has an allocated cidr: {cidr} at index:{index} "
                    "that does not exist in cluster cidrs configuration"
                )
            found.append((index, self.sets[index], network))
        return found


def _network(cidr: str) -> Network | None:
    try:
        return parse_cidr("CIDR", cidr)
    except ValueError:
        return None


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)


def cluster_ranges(cidrs: str, masks: Sequence[int] | None = None) -> list[ClusterRange]:
    """The ranges of `--cluster-cidr`: one, or one of each family, with commas. `masks`: one for each, in its order.

    ValueError for all that a RangeAllocator could not work with.

    >>> cluster_ranges("10.244.0.0/16,fd00:10:244::/56")
    [ClusterRange(cidr='10.244.0.0/16', node_mask=24), ClusterRange(cidr='fd00:10:244::/56', node_mask=64)]
    """
    networks = _cluster_networks(cidrs)
    if isinstance(masks, str):
        raise ValueError(f"node-cidr-mask-size {masks!r}: expected a list of numbers, one for each CIDR")
    given = [DEFAULT_MASKS[network.version] for network in networks] if masks is None else list(masks)
    if len(given) != len(networks):
        raise ValueError(f"node-cidr-mask-size {given}: expected one for each of cluster-cidr {cidrs!r}")
    for network, mask in zip(networks, given, strict=True):
        try:
            CIDRSet(network, mask)
        except CIDRSetSubNetTooBigError as error:
            most = network.prefixlen + MAX_DIFFERENCE
            raise ValueError(f"node-cidr-mask-size {mask}: {error}: expected {most} at most for {network}") from None
        except ValueError as error:
            raise ValueError(f"node-cidr-mask-size: {error}") from None
        if mask < network.prefixlen:
            raise ValueError(
                f"Controller: Invalid --cluster-cidr, mask size of cluster CIDR({network.prefixlen}) must be less than "
                f"or equal to --node-cidr-mask-size({mask}) configured for CIDR family"
            )
    return [ClusterRange(str(network), mask) for network, mask in zip(networks, given, strict=True)]


def _cluster_networks(cidrs: str) -> list[Network]:
    if not isinstance(cidrs, str):
        raise ValueError(f"cluster-cidr {cidrs!r}: expected CIDRs as a text, with a comma between two")
    networks = [parse_cidr("cluster-cidr", cidr.strip()) for cidr in cidrs.split(",")]
    if len(networks) > 2:
        raise ValueError(f"length of clusterCIDRs is:{len(networks)} more than max allowed of 2")
    if len(networks) == 2 and networks[0].version == networks[1].version:
        raise ValueError(
            "len of ClusterCIDRs==2 and they are not configured as dual stack (at least one from each family"
        )
    return networks


class NodeIPAMController:
    """Keeps `spec.podCIDRs` of Nodes filled in. Without the option `allocate-node-cidrs` it does nothing, as upstream.

    Options: `allocate-node-cidrs` (1 or True), `cluster-cidr`, `service-cluster-ip-range` (kept out of it),
    `node-cidr-mask-size`, or `node-cidr-mask-size-ipv4` and `-ipv6`. ValueError, when it is built, for ranges
    that cannot be.
    """

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.client = ctx.client
        self.enabled = bool(ctx.options.get("allocate-node-cidrs"))
        if not self.enabled:
            return
        self.ranges = RangeAllocator(_ranges(ctx), _texts(ctx, "service-cluster-ip-range"))
        self.recorder = ctx.recorder("cidrAllocator")
        self.queue = WorkQueue(ctx.loop, "cidrallocator_node", lane=LANE)
        self._held: dict[str, tuple[str, ...]] = {}
        self.nodes = ctx.informers.informer(NODES)
        self.nodes.add_event_handler(
            on_add=self._node_added,
            on_update=lambda old, new: self.queue.add(new["metadata"]["name"]),
            on_delete=lambda node: self._release(node["metadata"]["name"]),
        )

    def start(self) -> None:
        """Start the workers."""
        if self.enabled:
            run_workers(self.ctx.component, self.queue, self.sync, WORKERS, LANE, informers=(self.nodes,))

    def _node_added(self, node: Object, is_initial: bool) -> None:
        if is_initial:  # before anybody is given anything, what is given already
            self._occupy(node)
        self.queue.add(node["metadata"]["name"])

    async def sync(self, name: str) -> None:
        """Give the Node its subnets, or note those it has. StatusError (the queue tries again) when none is left."""
        node = self.nodes.indexer.get(name)
        if node is None:
            return
        if "deletionTimestamp" in node["metadata"]:
            self._release(name)
        elif _cidrs(node):
            self._occupy(node)
        elif name not in self._held:
            try:
                cidrs = self.ranges.allocate()
            except LookupError as error:
                self._record(node, "CIDRNotAvailable")
                raise StatusError(str(error)) from None
            self._held[name] = cidrs
            await self._assign(node, cidrs)
        else:  # meant for it, and nobody knows whether it was written
            await self._assign(node, self._held[name])

    async def _assign(self, node: Object, cidrs: tuple[str, ...]) -> None:
        """Write the subnets. They stay taken where nobody knows whether the write came through."""
        name, uid = node["metadata"]["name"], node["metadata"].get("uid")
        patch = {"metadata": {"uid": uid}, "spec": {"podCIDR": cidrs[0], "podCIDRs": list(cidrs)}}
        failure: Exception | None = None
        for _ in range(PATCH_RETRIES):
            try:
                await self.client.patch(NODES, name, patch)
            except NotFoundError:
                self._release(name)
                return
            except (StatusError, TimeoutError) as error:
                failure = error
                continue
            self.ctx.loop.trace.emit("nodeipam.assign", LANE, resource="nodes", key=name, cidrs=",".join(cidrs))
            return
        assert failure is not None, "the loop ends by a return or a failure"
        self._record(node, "CIDRAssignmentFailed")
        if not isinstance(failure, TimeoutError):
            self._release(name)
        raise failure

    def _occupy(self, node: Object) -> None:
        """Note what the Node has. What was meant for it instead goes back."""
        name, cidrs = node["metadata"]["name"], _cidrs(node)
        held = self._held.get(name)
        if not cidrs or held == cidrs:
            return
        self._release(name)
        self._held[name] = cidrs
        try:
            self.ranges.occupy(name, cidrs)
        except ValueError as error:
            self.ctx.loop.trace.emit("nodeipam.refuse", LANE, resource="nodes", key=name, why=str(error))
            self.ranges.occupy_inside(cidrs)  # its Pods have these addresses all the same

    def _release(self, name: str) -> None:
        held = self._held.pop(name, ())
        if held:
            self.ranges.release_inside(held)
            self.ctx.loop.trace.emit("nodeipam.release", LANE, resource="nodes", key=name, cidrs=",".join(held))

    def _record(self, node: Object, status: str) -> None:
        name = node["metadata"]["name"]
        self.recorder.event(node, "Normal", status, f"Node {name} status is now: {status}")


def _cidrs(node: Object) -> tuple[str, ...]:
    return tuple((node.get("spec") or {}).get("podCIDRs") or ())


def _texts(ctx: ControllerContext, flag: str) -> list[str]:
    value = ctx.options.get(flag, "")
    if not isinstance(value, str):
        raise ValueError(f"option {flag}: {value!r}: expected CIDRs as a text, with a comma between two")
    return [part.strip() for part in value.split(",") if part.strip()]


def _ranges(ctx: ControllerContext) -> list[ClusterRange]:
    cidrs = ",".join(_texts(ctx, "cluster-cidr"))
    if not cidrs:
        raise ValueError("option cluster-cidr: expected a CIDR such as 10.244.0.0/16, with allocate-node-cidrs")
    return cluster_ranges(cidrs, _masks(ctx, [network.version for network in _cluster_networks(cidrs)]))


def _masks(ctx: ControllerContext, families: list[int]) -> list[int]:
    """setNodeCIDRMaskSizes: one for each family; 0 stands for not set."""
    both, *own = (ctx.option(f"node-cidr-mask-size{suffix}", 0) for suffix in ("", "-ipv4", "-ipv6"))
    given = dict(zip(DEFAULT_MASKS, own, strict=True))
    if both and len(families) == 2:
        raise ValueError("usage of --node-cidr-mask-size is not allowed with dual-stack clusters")
    if both and any(own):
        raise ValueError(
            "usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not allowed if "
            "--node-cidr-mask-size is set. For dual-stack clusters please unset it and use IPFamily specific flags"
        )
    for family, mask in given.items():
        if mask and family not in families:
            flag = f"--node-cidr-mask-size-ipv{family}"
            raise ValueError(f"usage of {flag} is not allowed for a single-stack IPv{families[0]} cluster")
    return [both or given[family] or DEFAULT_MASKS[family] for family in families]
