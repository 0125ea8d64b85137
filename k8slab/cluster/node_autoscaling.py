"""A cluster on a simulated cloud: machines join it when they have booted, and leave it when they are given back.

>>> from k8slab.autoscaling.cluster_autoscaler import NodeGroupConfig
>>> from k8slab.cluster import Cluster
>>> from k8slab.cluster.node_autoscaling import ClusterAutoscalerConfig
>>> config = ClusterAutoscalerConfig([NodeGroupConfig("pool", "m5.large", max_size=5)])
>>> cluster = Cluster(nodes=0, cluster_autoscaler=config)
>>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"},
...        "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}}
>>> _ = cluster.apply(pod)
>>> cluster.run(until=lambda: cluster.ready("pod/one"), for_ms=120_000), len(cluster.nodes)
(True, 1)
>>> cluster.close()

Upstream: cloud-provider (the node controllers of a cloud-controller-manager)
Simplified: a Node is deleted as soon as its machine is gone, where upstream looks every five seconds. Nodes that join
have no CNI plugins: `cni` excludes `cluster_autoscaler` and `karpenter`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.scheme import NODES
from k8slab.autoscaling.cloud import (
    Cloud,
    CloudTimings,
    Instance,
    InstanceBooted,
    InstanceShuttingDown,
    InstanceTerminated,
    InstanceType,
    Pool,
    catalogue,
)
from k8slab.autoscaling.cloud.machines import resource_texts
from k8slab.autoscaling.cluster_autoscaler import AutoscalingOptions, ClusterAutoscaler, NodeGroupConfig, NodeGroups
from k8slab.client import Client
from k8slab.cluster.control_plane import ControlPlane
from k8slab.cluster.node import Machine, default_node
from k8slab.kubelet import NodeConfig
from k8slab.sim import Component, Loop, Wait, Waiters, pause, sleep

__all__ = [
    "CLUSTER_AUTOSCALER",
    "CloudConfig",
    "CloudNodes",
    "ClusterAutoscalerConfig",
    "NodeAutoscaling",
    "autoscaled",
    "node_config",
]

CLUSTER_AUTOSCALER = "cluster-autoscaler"
"""The name of its process."""

_RETRY_MS = 1_000
_FIRST_NUMBER = 1_000
"""Addresses of the cloud's machines begin here, beyond those of `Cluster(nodes=...)`."""


@dataclass(frozen=True, slots=True)
class CloudConfig:
    """What the cloud sells and how fast. `instance_types` None: a catalogue of some 700 types.

    `capacity`: how many machines a pool holds. `quotas`: CPUs by quota, `{"standard/on-demand": 64}`.
    """

    instance_types: Sequence[InstanceType] | None = None
    timings: CloudTimings = field(default_factory=CloudTimings)
    capacity: Mapping[Pool, int] = field(default_factory=dict)
    quotas: Mapping[str, int] = field(default_factory=dict)

    def build(self, loop: Loop) -> Cloud:
        """The cloud; its dice are the loop's stream `cloud`."""
        types = catalogue() if self.instance_types is None else self.instance_types
        limits: dict[str, Any] = {"capacity": self.capacity, "quotas": self.quotas}
        return Cloud(types, loop.stream("cloud"), timings=self.timings, **limits)


@dataclass(frozen=True, slots=True)
class ClusterAutoscalerConfig:
    """What `Cluster(cluster_autoscaler=...)` takes: the groups, the flags, and the cloud they buy from."""

    groups: Sequence[NodeGroupConfig]
    options: AutoscalingOptions = field(default_factory=AutoscalingOptions)
    cloud: CloudConfig = field(default_factory=CloudConfig)

    def __post_init__(self) -> None:
        for group in self.groups:
            if not isinstance(group, NodeGroupConfig):
                raise TypeError(f"groups: {group!r}: expected NodeGroupConfig")


def node_config(
    number: int,
    name: str,
    instance: Instance,
    *,
    region: str,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, Any]] = (),
) -> NodeConfig:
    """The node that a machine becomes. `number`: for its addresses."""
    kind = instance.instance_type
    capacity, room = kind.capacity(), kind.allocatable()
    texts = resource_texts(capacity)
    reserved = resource_texts({name: capacity[name] - room[name] for name in ("cpu", "memory")})
    return replace(
        default_node(number),
        name=name,
        cpu=texts.pop("cpu"),
        memory=texts.pop("memory"),
        pods=texts.pop("pods"),
        ephemeral_storage=str(room["ephemeral-storage"] if texts.pop("ephemeral-storage") else 0),
        extended=texts,
        labels={**kind.labels(instance.zone, region), **(labels or {})},
        taints=tuple(taints),
        reserved_cpu=reserved["cpu"],
        reserved_memory=reserved["memory"],
        provider_id=instance.provider_id,
    )


class CloudNodes:
    """Keeps the machines of a cluster as the cloud's instances are. One component, `cloud`.

    `config_of(number, instance)`: the node that an instance becomes. `machines`: by name, as the cluster keeps them;
    `build` makes one. `client` deletes the Nodes of machines that are gone. `news` is woken when something happened.
    """

    def __init__(
        self,
        loop: Loop,
        cloud: Cloud,
        *,
        config_of: Callable[[int, Instance], NodeConfig],
        machines: dict[str, Machine],
        build: Callable[[NodeConfig], Machine],
        client: Client,
        news: Waiters | None = None,
    ) -> None:
        self._loop, self.cloud, self._news = loop, cloud, news
        self._config_of, self._machines, self._build, self._client = config_of, machines, build, client
        self._component = Component(loop, "cloud")
        self._changed = Waiters(loop)
        self._names: dict[str, str] = {}
        self._noticed: dict[str, None] = {}
        self._told = 0
        self._causes: dict[str, int | None] = {}
        cloud.on_change = self._heard

    def start(self) -> None:
        """Start the task that lets the cloud's time pass."""
        self._component.spawn("step", self._run())

    def _heard(self) -> None:
        """Somebody called the cloud's API: what comes of it is caused by what the caller is at."""
        cause = self._loop.trace.current
        for id, instance in self.cloud.instances.items():
            self._causes.setdefault(id if instance.is_live else f"{id}/end", cause)
        self._changed.wake()

    async def _run(self) -> None:
        while True:
            self._loop.trace.current = None
            self._tell_launches()
            for event in self.cloud.step(self._loop.clock.now_ms):
                self._loop.trace.current = None
                await self._happened(event)
            self._catch_up()
            if self._news is not None:
                self._news.wake()
            due_ms = self.cloud.next_due_ms()
            if due_ms is None:
                await pause(self._changed)
            else:
                await pause(Wait((self._changed,), max(due_ms - self._loop.clock.now_ms, 0)))

    def _tell_launches(self) -> None:
        for instance in list(self.cloud.instances.values())[self._told :]:
            kind, how = instance.instance_type.name, instance.capacity_type
            self._loop.trace.current = self._causes.get(instance.id)
            self._emit("cloud.launch", instance=instance.id, type=kind, zone=instance.zone, how=how)
            self._causes[instance.id] = self._loop.trace.current
        self._told = len(self.cloud.instances)

    async def _happened(self, event: object) -> None:
        if isinstance(event, InstanceBooted):
            self._boot(self.cloud.instances[event.instance])
        elif isinstance(event, InstanceShuttingDown):
            self._switch_off(event.instance, event.reason)
        elif isinstance(event, InstanceTerminated):
            await self._forget(event.instance)

    def _catch_up(self) -> None:
        """What callers of the cloud's API were answered, and `step` does not tell again."""
        for id, name in self._names.items():
            instance = self.cloud.instances[id]
            if not instance.is_live:
                self._switch_off(id, "user")
            elif instance.interruption_ms is not None and id not in self._noticed:
                self._noticed[id] = None
                seconds = (instance.interruption_ms - self._loop.clock.now_ms) // 1_000
                self._emit("cloud.notice", instance=id, node=name, seconds=seconds)

    def _emit(self, kind: str, **data: Any) -> None:
        self._loop.trace.emit(kind, "cloud", **data)

    def _boot(self, instance: Instance) -> None:
        self._loop.trace.current = self._causes.get(instance.id)
        config = self._config_of(_FIRST_NUMBER + len(self._names), instance)
        machine = self._machines[config.name] = self._build(config)
        self._names[instance.id] = config.name
        self._emit("cloud.boot", instance=instance.id, type=instance.instance_type.name, node=config.name)
        machine.kubelet.start()

    def _switch_off(self, instance_id: str, why: str) -> None:
        name = self._names.get(instance_id)
        machine = self._machines.get(name) if name is not None else None
        if machine is not None and machine.is_on:
            machine.power_off()
            self._loop.trace.current = self._causes.get(f"{instance_id}/end")
            self._emit("cloud.gone", instance=instance_id, node=name, why=why)

    async def _forget(self, instance_id: str) -> None:
        """The machine is gone for good, and so is its Node; a server that does not answer is asked again."""
        name = self._names.get(instance_id)
        if name is None:
            return
        self._machines.pop(name, None)
        while True:
            try:
                await self._client.delete(NODES, name)
                return
            except NotFoundError:
                return
            except (StatusError, TimeoutError):
                await sleep(_RETRY_MS)


class NodeAutoscaling:
    """The cloud and the Cluster Autoscaler of one cluster. `operator`: what builds its process."""

    def __init__(self, loop: Loop, config: ClusterAutoscalerConfig) -> None:
        if not isinstance(config, ClusterAutoscalerConfig):
            raise TypeError(f"cluster_autoscaler: {config!r}: expected a ClusterAutoscalerConfig")
        self._loop = loop
        self.config = config
        self.cloud = config.cloud.build(loop)
        self.groups = NodeGroups(self.cloud, config.groups)
        self.operator = partial(ClusterAutoscaler, groups=self.groups, options=config.options)

    def _config_of(self, number: int, instance: Instance) -> NodeConfig:
        group = self.groups.groups[instance.tags["node-group"]]
        name, region = self.groups.node_name(instance), self.cloud.region
        config = group.config
        return node_config(number, name, instance, region=region, labels=config.labels, taints=config.taints)

    def start(self, machines: dict[str, Machine], build: Callable[[NodeConfig], Machine], plane: ControlPlane) -> None:
        """Buy what the groups have in the beginning; from now on the cloud's machines are the cluster's."""
        client = plane.client("cloud", "system:serviceaccount:kube-system:node-controller")
        nodes = CloudNodes(
            self._loop, self.cloud, config_of=self._config_of, machines=machines, build=build, client=client
        )
        self.groups.refresh(self._loop.clock.now_ms)
        nodes.start()


def autoscaled(
    loop: Loop, config: ClusterAutoscalerConfig | None, own: dict[str, Any], cni: Any = None
) -> NodeAutoscaling | None:
    """The autoscaling that a cluster was asked for; its process is added to the `operators` in `own`.

    TypeError for another kind of configuration, ValueError when Pods are to get their network from plugins.
    """
    if config is None:
        return None
    if cni is not None:
        raise ValueError(f"cni: {cni!r}: expected None with cluster_autoscaler, whose nodes join without plugins")
    made = NodeAutoscaling(loop, config)
    own["operators"] = {**(own.get("operators") or {}), CLUSTER_AUTOSCALER: made.operator}
    return made
