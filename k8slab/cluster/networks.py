"""The Pod network of a cluster: every node's runtime with its CNI plugins, on one fabric.

A node's range is the one of its NodeConfig, or, with `allocate-node-cidrs`, the one that the node IPAM controller wrote
into the Node: until then there is no list of plugins, and no Pod starts.

Upstream: the parts that a node's installation puts together (containerd, /etc/cni/net.d, /opt/cni/bin, the agent that
writes a node's list from spec.podCIDR, the routes between nodes, which a route controller or a network add-on keeps).
Simplified: a Node that is deleted and gets another range keeps the list that was written for the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from k8slab.api.scheme import NODES
from k8slab.cluster.mirror import Mirror
from k8slab.kubelet import NodeConfig
from k8slab.network import Fabric, NetworkConfigList, SandboxNetwork, network_for
from k8slab.sim import Loop

__all__ = ["pod_networks"]


def pod_networks(
    loop: Loop,
    nodes: Sequence[NodeConfig],
    cni: str | Mapping[str, Any] | None,
    options: Mapping[str, Any] | None = None,
    mirror: Callable[[], Mirror] | None = None,
) -> tuple[Fabric | None, dict[str, SandboxNetwork]]:
    """The fabric and, by node, what gives its Pods their network. Without `cni` there is neither.

    ValueError: a list that no runtime loads, or nodes whose addresses are no addresses of one wire.
    """
    if cni is None:
        return None, {}
    allocated = mirror if (options or {}).get("allocate-node-cidrs") else None
    lists = {node.name: network_for(cni, node.pod_cidr) for node in nodes}
    fabric = Fabric(loop.stream("fabric"))
    networks = {}
    for node in nodes:
        rng = loop.stream(f"fabric/{node.name}")
        fabric.add_machine(node.name, node.internal_ip, pod_cidr="" if allocated else node.pod_cidr, rng=rng)
        network: Any = lists[node.name]
        if allocated is not None:
            network = partial(_written, fabric, node.name, cni, allocated)
        networks[node.name] = SandboxNetwork(fabric, node.name, network, emit=loop.trace.emit, rng=rng)
    return fabric, networks


def _written(
    fabric: Fabric, name: str, cni: str | Mapping[str, Any], mirror: Callable[[], Mirror]
) -> NetworkConfigList | None:
    """The list that a node's agent writes as soon as the Node has a range."""
    node = mirror().get(NODES.group_resource, name)
    cidr = node["spec"].get("podCIDR") if node is not None else ""
    if not cidr:
        return None
    fabric.give_pod_cidr(name, cidr)
    return network_for(cni, cidr)
