"""GPUs: few, dear, slow to come, and never quite where they are needed.

    >>> from k8slab.autoscaling.gpu import GpuNode, Placer, Policy, Task, Workload
    >>> nodes = [GpuNode(f"n{n}", 64_000, 262_144, [1_000] * 8) for n in range(2)]
    >>> spread = Placer(nodes, Policy.SPREAD)
    >>> [spread.place(Task(f"small-{n}", 1_000, 1_024, gpus=1)) for n in range(2)]
    ['n0', 'n1']
    >>> sum(sum(node.left) for node in nodes) // 1_000, spread.place(Task("big", 1_000, 1_024, gpus=8))
    (14, None)

`Placer` puts tasks on nodes by a policy, `Workload` measures how much of what is free is of no use. `MigGpu` cuts a GPU
into slots, `best_gpus` finds GPUs that are well connected, `Allocator` answers claims (DRA). `ColdStart` adds up what
lies between a Pod that waits and its first answer, `serve` shows what that costs in a burst; `buy` and `buy_gang` deal
with a cloud that has none.

Duties of the caller: release what ended; nothing here knows of time.

Upstream: NVIDIA/k8s-device-plugin, k8s.io/dynamic-resource-allocation; Weng et al., USENIX ATC 2023
Simplified: see the modules.
"""

from k8slab.autoscaling.gpu.capacity import Attempt, GangLaunch, Purchase, buy, buy_gang, gpu_pools
from k8slab.autoscaling.gpu.cold_start import ColdStart, Stage
from k8slab.autoscaling.gpu.dra import Allocation, AllocationError, Allocator, Device
from k8slab.autoscaling.gpu.fragmentation import Workload, fragments_for
from k8slab.autoscaling.gpu.inference import Burst, QueueScaler, Served, serve
from k8slab.autoscaling.gpu.links import LINKS, bandwidth, best_gpus, pairwise, slowest
from k8slab.autoscaling.gpu.mig import MIG_PROFILES, MigGpu, MigProfile, mig_resource_names
from k8slab.autoscaling.gpu.nodes import WHOLE, GpuNode, Task, TaskClass
from k8slab.autoscaling.gpu.packing import Placer, Policy
from k8slab.autoscaling.gpu.selectors import DeviceSelector, SelectorError
from k8slab.autoscaling.gpu.sharing import GPU, TimeSlicing, gpu_labels
from k8slab.autoscaling.gpu.story import PlacingStory
from k8slab.autoscaling.gpu.trace import generated_nodes, generated_tasks

__all__ = [
    "GPU",
    "LINKS",
    "MIG_PROFILES",
    "WHOLE",
    "Allocation",
    "AllocationError",
    "Allocator",
    "Attempt",
    "Burst",
    "ColdStart",
    "Device",
    "DeviceSelector",
    "GangLaunch",
    "GpuNode",
    "MigGpu",
    "MigProfile",
    "Placer",
    "PlacingStory",
    "Policy",
    "Purchase",
    "QueueScaler",
    "SelectorError",
    "Served",
    "Stage",
    "Task",
    "TaskClass",
    "TimeSlicing",
    "Workload",
    "bandwidth",
    "best_gpus",
    "buy",
    "buy_gang",
    "fragments_for",
    "generated_nodes",
    "generated_tasks",
    "gpu_labels",
    "gpu_pools",
    "mig_resource_names",
    "pairwise",
    "serve",
    "slowest",
]
