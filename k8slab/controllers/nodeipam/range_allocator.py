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
    is noted in the trace; upstream's controller manager does not start with such a Node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_network
from typing import NamedTuple

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.nodeipam.cidr_set import CIDRRangeNoCIDRsRemainingError, CIDRSet, Network

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
            network = _reserved(cidr)
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
        """Take what a Node has already. ValueError for what is no CIDR, or outside the ranges."""
        for index, subnets, network in self._checked(node, cidrs):
            try:
                subnets.occupy(network)
            except ValueError as error:
                where = f"cidr[{network}] at idx [{index}] as occupied for node: {node}"
                raise ValueError(f"failed to mark {where}: {error}") from None

    def release(self, node: str, cidrs: Sequence[str]) -> None:
        """Give back what a Node had. ValueError as of `occupy`."""
        for _, subnets, network in self._checked(node, cidrs):
            try:
                subnets.release(network)
            except ValueError as error:
                raise ValueError(f"error when releasing CIDR {network}: {error}") from None

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        for subnets in self.sets:
            subnets.check_invariants()

    def _give_back(self, cidrs: Sequence[str]) -> None:
        for subnets, cidr in zip(self.sets, cidrs, strict=False):
            subnets.release(cidr)

    def _checked(self, node: str, cidrs: Sequence[str]) -> list[tuple[int, CIDRSet, Network]]:
        found = []
        for index, cidr in enumerate(cidrs):
            try:
                network: Network = ip_network(cidr, strict=False)
            except ValueError:
                raise ValueError(f"failed to parse node {node}, CIDR {cidr}") from None
            if index >= len(self.sets):
                raise ValueError(
                    f"node:{node} has an allocated cidr: {cidr} at index:{index} "
                    "that does not exist in cluster cidrs configuration"
                )
            found.append((index, self.sets[index], network))
        return found


def _reserved(cidr: str) -> Network:
    try:
        return ip_network(cidr, strict=False)
    except ValueError:
        raise ValueError(f"service-cluster-ip-range {cidr!r}: expected a CIDR such as 10.96.0.0/16") from None


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)


def cluster_ranges(cidrs: str, masks: Sequence[int] | None = None) -> list[ClusterRange]:
    """The ranges of `--cluster-cidr`: one, or one of each family, with commas. ValueError otherwise.

    >>> cluster_ranges("10.244.0.0/16,fd00:10:244::/56")
    [ClusterRange(cidr='10.244.0.0/16', node_mask=24), ClusterRange(cidr='fd00:10:244::/56', node_mask=64)]
    """
    networks: list[Network] = []
    for cidr in cidrs.split(","):
        try:
            networks.append(ip_network(cidr.strip(), strict=False))
        except ValueError:
            raise ValueError(
                f"cluster-cidr {cidrs!r}: {cidr.strip()!r}: expected a CIDR such as 10.244.0.0/16"
            ) from None
    if len(networks) > 2:
        raise ValueError(f"length of clusterCIDRs is:{len(networks)} more than max allowed of 2")
    if len(networks) == 2 and networks[0].version == networks[1].version:
        raise ValueError(
            "len of ClusterCIDRs==2 and they are not configured as dual stack (at least one from each family"
        )
    given = list(masks or [DEFAULT_MASKS[network.version] for network in networks])
    if len(given) != len(networks):
        raise ValueError(f"node-cidr-mask-size {given}: expected one for each of cluster-cidr {cidrs!r}")
    for network, mask in zip(networks, given, strict=True):
        if mask < network.prefixlen:
            raise ValueError(
                f"Controller: Invalid --cluster-cidr, mask size of cluster CIDR({network.prefixlen}) must be less than "
                f"or equal to --node-cidr-mask-size({mask}) configured for CIDR family"
            )
    return [ClusterRange(str(network), mask) for network, mask in zip(networks, given, strict=True)]


class NodeIPAMController:
    """Keeps `spec.podCIDRs` of Nodes filled in. Without the option `allocate-node-cidrs` it does nothing, as upstream.

    Options: `allocate-node-cidrs` (1 or True), `cluster-cidr`, `service-cluster-ip-range` (kept out of it),
    `node-cidr-mask-size-ipv4` and `-ipv6`. ValueError, when it is built, for ranges that cannot be.
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
        try:
            self.ranges.occupy(name, cidrs)
        except ValueError as error:
            self.ctx.loop.trace.emit("nodeipam.refuse", LANE, resource="nodes", key=name, why=str(error))
            return
        self._held[name] = cidrs

    def _release(self, name: str) -> None:
        held = self._held.pop(name, ())
        if held:
            self.ranges.release(name, held)
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
    ranges = cluster_ranges(cidrs)
    masks = [ctx.option(f"node-cidr-mask-size-ipv{ip_network(one.cidr).version}", one.node_mask) for one in ranges]
    return cluster_ranges(cidrs, masks)
