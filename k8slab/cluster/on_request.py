"""Parts that only some clusters have: imported when one is asked for, so that `import k8slab.cluster` stays quick.

Upstream: none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from k8slab.kubelet import NodeConfig
from k8slab.sim import Loop

if TYPE_CHECKING:
    from k8slab.cluster.karpenter import KarpenterConfig, KarpenterNodes
    from k8slab.cluster.mirror import Mirror
    from k8slab.cluster.node_autoscaling import ClusterAutoscalerConfig, NodeAutoscaling
    from k8slab.network import Fabric, SandboxNetwork

__all__ = ["karpenter_for", "node_autoscaling_for", "pod_networks_for"]


def pod_networks_for(
    loop: Loop,
    nodes: Sequence[NodeConfig],
    cni: str | Mapping[str, Any] | None,
    options: Mapping[str, Any] | None,
    mirror: Callable[[], Mirror],
) -> tuple[Fabric | None, dict[str, SandboxNetwork]]:
    """The fabric and each node's network, as `networks.pod_networks`; neither without `cni`."""
    if cni is None:
        return None, {}
    from k8slab.cluster.networks import pod_networks

    return pod_networks(loop, nodes, cni, options, mirror)


def node_autoscaling_for(
    loop: Loop, config: ClusterAutoscalerConfig | None, own: dict[str, Any], cni: Any
) -> NodeAutoscaling | None:
    """The autoscaling of nodes, as `node_autoscaling.autoscaled`; None without a configuration."""
    if config is None:
        return None
    from k8slab.cluster.node_autoscaling import autoscaled

    return autoscaled(loop, config, own, cni)


def karpenter_for(
    loop: Loop, config: KarpenterConfig | None, own: dict[str, Any], cni: Any, other: Any
) -> KarpenterNodes | None:
    """Karpenter, as `karpenter.with_karpenter`; None without a configuration. `other`: the Cluster Autoscaler's."""
    if config is None:
        return None
    from k8slab.cluster.karpenter import with_karpenter

    if other is not None:
        raise ValueError(f"karpenter: {config!r}: expected None with cluster_autoscaler, one of the two buys nodes")
    return with_karpenter(loop, config, own, cni)
