"""How much of a Node is asked for: requests over allocatable, the larger of CPU and memory. Usage plays no part.

Upstream: cluster-autoscaler/simulator/utilization/info.go
Simplified: devices claimed through DRA do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.pod_state import is_daemon_set_pod, is_long_terminating, is_mirror_pod
from k8slab.scheduler import NodeInfo

__all__ = ["GPU_RESOURCES", "Utilization", "gpu_resource", "utilization"]

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe")
"""The resources whose presence makes a Node one with GPUs."""


@dataclass(frozen=True, slots=True)
class Utilization:
    """Parts of allocatable that Pods request, 0 to 1 (and more on Nodes that are overcommitted).

    `resource` is the one that counts: the larger of cpu and memory, or the GPU on Nodes with GPUs.
    """

    cpu: float = 0.0
    memory: float = 0.0
    gpu: float = 0.0
    resource: str = "cpu"

    @property
    def value(self) -> float:
        """What is compared with the threshold."""
        return self.gpu if self.resource not in ("cpu", "memory") else max(self.cpu, self.memory)

    def __str__(self) -> str:
        return f"{{{self.cpu:g} {self.memory:g} {self.gpu:g} 0 {self.resource} {self.value:g}}}"


def gpu_resource(node: NodeInfo) -> str:
    """The GPU resource of a Node, "" when it has none."""
    return next((name for name in GPU_RESOURCES if node.allocatable.scalar.get(name)), "")


def utilization(node: NodeInfo, options: AutoscalingOptions, now_ms: int) -> Utilization | None:
    """None: the Node says nothing of its CPU or memory, and so nothing may be concluded."""
    gpu = gpu_resource(node)
    if gpu:
        return Utilization(gpu=_part(node, gpu, options, now_ms) or 0.0, resource=gpu)
    cpu, memory = _part(node, "cpu", options, now_ms), _part(node, "memory", options, now_ms)
    if cpu is None or memory is None:
        return None
    return Utilization(cpu, memory, resource="cpu" if cpu > memory else "memory")


def _part(node: NodeInfo, resource: str, options: AutoscalingOptions, now_ms: int) -> float | None:
    allocatable = node.allocatable.get(resource)
    if allocatable <= 0:
        return None
    requested = on_every_node = 0
    for info in node.pods.values():
        amount = info.requested.get(resource)
        if not amount:
            continue
        if (options.ignore_daemonsets_utilization and is_daemon_set_pod(info.pod)) or (
            options.ignore_mirror_pods_utilization and is_mirror_pod(info.pod)
        ):
            on_every_node += amount
        elif not info.is_terminating or not is_long_terminating(info.pod, now_ms):
            requested += amount
    rest = allocatable - on_every_node
    return requested / rest if rest else None
