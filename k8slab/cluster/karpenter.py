"""A cluster on a simulated cloud with Karpenter in it: machines made to measure come for Pods that wait, and go again.

>>> from k8slab.autoscaling.cloud import small_catalogue
>>> from k8slab.cluster import Cluster
>>> from k8slab.cluster.karpenter import KarpenterConfig
>>> from k8slab.cluster.node_autoscaling import CloudConfig
>>> pool = {"metadata": {"name": "default"}, "spec": {"template": {"spec": {"requirements": []}}}}
>>> cluster = Cluster(nodes=0, karpenter=KarpenterConfig([pool], cloud=CloudConfig(small_catalogue())))
>>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": {"containers": [
...     {"name": "c", "image": "nginx:1.27", "resources": {"requests": {"cpu": "1500m"}}}]}}
>>> _ = cluster.apply(pod)
>>> cluster.run(until=lambda: cluster.ready("pod/one"), for_ms=120_000), list(cluster.nodes)
(True, ['default-1'])
>>> cluster.object("nodeclaim/default-1")["status"]["nodeName"]
'default-1'
>>> cluster.close()

Upstream: kubernetes-sigs/karpenter, aws/karpenter-provider-aws (their wiring), cloud-provider
Simplified: a machine has the name of its NodeClaim. Start-up taints are taken away by whoever put them in the NodePool,
here by `patch`. See `node_autoscaling` for the cloud.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from k8slab.api.errors import AlreadyExistsError, StatusError
from k8slab.api.objects import Object, thaw
from k8slab.autoscaling.cloud import Instance
from k8slab.autoscaling.karpenter import Catalogue, NodePool
from k8slab.autoscaling.karpenter.node_claim import UNREGISTERED_TAINT
from k8slab.autoscaling.karpenter.objects import NODE_POOL, NODEPOOLS
from k8slab.autoscaling.karpenter.operator import NODECLAIM_TAG, KarpenterOperator
from k8slab.client import Client
from k8slab.cluster.control_plane import ControlPlane
from k8slab.cluster.node import Machine
from k8slab.cluster.node_autoscaling import CloudConfig, CloudNodes, node_config
from k8slab.kubelet import NodeConfig
from k8slab.sim import Component, Loop, Waiters, sleep

__all__ = ["KARPENTER", "KarpenterConfig", "KarpenterNodes", "with_karpenter"]

KARPENTER = "karpenter"
"""The name of its process."""

_RETRY_MS = 1_000


@dataclass(frozen=True, slots=True)
class KarpenterConfig:
    """What `Cluster(karpenter=...)` takes. `node_pools`: manifests, which are stored as objects when the cluster
    starts, or `NodePool`s, which nobody can change. `cloud`: what is sold, and how fast it comes.

    `spot_to_spot`: the gate SpotToSpotConsolidation. `disrupts` False: nobody looks for savings or drift.
    """

    node_pools: Sequence[Object | NodePool] = ()
    cloud: CloudConfig = field(default_factory=CloudConfig)
    spot_to_spot: bool = False
    disrupts: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.node_pools, Sequence) or isinstance(self.node_pools, str | bytes):
            raise TypeError(f"node_pools: {self.node_pools!r}: expected a list of NodePool manifests")
        names: set[str] = set()
        for index, pool in enumerate(self.node_pools):
            if not isinstance(pool, Mapping | NodePool):
                raise TypeError(f"node_pools[{index}]: {pool!r}: expected a NodePool or its manifest")
            name = (pool if isinstance(pool, NodePool) else NodePool.parse(pool)).name
            if name in names:
                raise ValueError(f"node_pools[{index}]: nodepool {name}: is there twice")
            names.add(name)
        if not isinstance(self.cloud, CloudConfig):
            raise TypeError(f"cloud: {self.cloud!r}: expected a CloudConfig")
        for flag in ("spot_to_spot", "disrupts"):
            if not isinstance(getattr(self, flag), bool):
                raise TypeError(f"{flag}: {getattr(self, flag)!r}: expected True or False")


class KarpenterNodes:
    """The cloud and the Karpenter of one cluster. `operator`: what builds its process."""

    def __init__(self, loop: Loop, config: KarpenterConfig) -> None:
        if not isinstance(config, KarpenterConfig):
            raise TypeError(f"karpenter: {config!r}: expected a KarpenterConfig")
        self._loop = loop
        self.config = config
        self.cloud = config.cloud.build(loop)
        self._news = Waiters(loop)
        self.operator = partial(
            KarpenterOperator,
            cloud=self.cloud,
            catalogue=Catalogue(list(self.cloud.instance_types.values())),
            news=self._news,
            pools={pool.name: pool for pool in config.node_pools if isinstance(pool, NodePool)},
            spot_to_spot=config.spot_to_spot,
            disrupts=config.disrupts,
        )

    def _config_of(self, number: int, instance: Instance) -> NodeConfig:
        name = instance.tags[NODECLAIM_TAG]
        return node_config(number, name, instance, region=self.cloud.region, taints=(UNREGISTERED_TAINT,))

    def start(self, machines: dict[str, Machine], build: Callable[[NodeConfig], Machine], plane: ControlPlane) -> None:
        """Store the NodePools; from now on the cloud's machines are the cluster's."""
        client = plane.client("cloud", "system:serviceaccount:kube-system:node-controller")
        nodes = CloudNodes(
            self._loop,
            self.cloud,
            config_of=self._config_of,
            machines=machines,
            build=build,
            client=client,
            news=self._news,
        )
        nodes.start()
        Component(self._loop, "cloud").spawn("node-pools", self._store_pools(plane.client("cloud", "kubernetes-admin")))

    async def _store_pools(self, client: Client) -> None:
        for pool in self.config.node_pools:
            if isinstance(pool, NodePool):
                continue
            kind = {"apiVersion": NODE_POOL.api_version, "kind": NODE_POOL.kind}
            while True:
                try:
                    await client.create(NODEPOOLS, {**thaw(pool), **kind})
                    break
                except AlreadyExistsError:  # an answer was lost
                    break
                except (StatusError, TimeoutError):
                    await sleep(_RETRY_MS)


def with_karpenter(loop: Loop, config: KarpenterConfig, own: dict[str, Any], cni: Any) -> KarpenterNodes:
    """The Karpenter that a cluster was asked for; its process is added to the `operators` in `own`.

    TypeError for another kind of configuration, ValueError when Pods are to get their network from plugins.
    """
    if cni is not None:
        raise ValueError(f"cni: {cni!r}: expected None with karpenter, whose nodes join without plugins")
    made = KarpenterNodes(loop, config)
    own["operators"] = {**(own.get("operators") or {}), KARPENTER: made.operator}
    return made
