"""The in-tree plugins: one module each. A plugin is a class that takes (args, handle) and has a `name`.

>>> from k8slab.scheduler.plugins import REGISTRY
>>> sorted(REGISTRY)[:3]
['DefaultBinder', 'DefaultPreemption', 'DynamicResources']

Upstream: pkg/scheduler/framework/plugins/registry.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from k8slab.scheduler.framework import Handle, Plugin
from k8slab.scheduler.plugins.balanced_allocation import BalancedAllocation
from k8slab.scheduler.plugins.default_binder import DefaultBinder
from k8slab.scheduler.plugins.default_preemption import DefaultPreemption
from k8slab.scheduler.plugins.dynamic_resources import DynamicResources
from k8slab.scheduler.plugins.fit import Fit
from k8slab.scheduler.plugins.image_locality import ImageLocality
from k8slab.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from k8slab.scheduler.plugins.node_affinity import NodeAffinity
from k8slab.scheduler.plugins.node_name import NodeName
from k8slab.scheduler.plugins.node_ports import NodePorts
from k8slab.scheduler.plugins.node_unschedulable import NodeUnschedulable
from k8slab.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from k8slab.scheduler.plugins.pod_topology_spread import PodTopologySpread
from k8slab.scheduler.plugins.priority_sort import PrioritySort
from k8slab.scheduler.plugins.scheduling_gates import SchedulingGates
from k8slab.scheduler.plugins.taint_toleration import TaintToleration
from k8slab.scheduler.plugins.volume_binding import VolumeBinding
from k8slab.scheduler.plugins.volume_restrictions import VolumeRestrictions
from k8slab.scheduler.plugins.volume_zone import VolumeZone

__all__ = [
    "REGISTRY",
    "BalancedAllocation",
    "DefaultBinder",
    "DefaultPreemption",
    "DynamicResources",
    "Fit",
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "NodeUnschedulable",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "PrioritySort",
    "SchedulingGates",
    "TaintToleration",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
]

REGISTRY: dict[str, Callable[[Mapping[str, Any], Handle], Plugin]] = {
    "DefaultBinder": DefaultBinder,
    "DefaultPreemption": DefaultPreemption,
    "DynamicResources": DynamicResources,
    "ImageLocality": ImageLocality,
    "InterPodAffinity": InterPodAffinity,
    "NodeAffinity": NodeAffinity,
    "NodeName": NodeName,
    "NodePorts": NodePorts,
    "NodeResourcesBalancedAllocation": BalancedAllocation,
    "NodeResourcesFit": Fit,
    "NodeUnschedulable": NodeUnschedulable,
    "NodeVolumeLimits": NodeVolumeLimits,
    "PodTopologySpread": PodTopologySpread,
    "PrioritySort": PrioritySort,
    "SchedulingGates": SchedulingGates,
    "TaintToleration": TaintToleration,
    "VolumeBinding": VolumeBinding,
    "VolumeRestrictions": VolumeRestrictions,
    "VolumeZone": VolumeZone,
}
"""Every plugin by its upstream name: a function of its arguments and the `Handle` that makes it."""
