"""The Pod network of a cluster: every node's runtime with its CNI plugins, on one fabric.

Upstream: the parts that a node's installation puts together (containerd, /etc/cni/net.d, /opt/cni/bin, the routes
between nodes, which a cloud's route controller or a network add-on keeps).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.kubelet import NodeConfig
from k8slab.network import Fabric, SandboxNetwork, network_for
from k8slab.sim import Loop

__all__ = ["pod_networks"]


def pod_networks(
    loop: Loop, nodes: Sequence[NodeConfig], cni: str | Mapping[str, Any] | None
) -> tuple[Fabric | None, dict[str, SandboxNetwork]]:
    """The fabric and, by node, what gives its Pods their network. Without `cni` there is neither.

    ValueError: a list that no runtime loads, or nodes whose addresses are no addresses of one wire.
    """
    if cni is None:
        return None, {}
    lists = {node.name: network_for(cni, node.pod_cidr) for node in nodes}
    fabric = Fabric(loop.stream("fabric"))
    networks = {}
    for node in nodes:
        rng = loop.stream(f"fabric/{node.name}")
        fabric.add_machine(node.name, node.internal_ip, pod_cidr=node.pod_cidr, rng=rng)
        networks[node.name] = SandboxNetwork(fabric, node.name, lists[node.name], emit=loop.trace.emit, rng=rng)
    return fabric, networks
