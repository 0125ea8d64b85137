"""Quality of service: the class of a Pod, and how gladly the kernel kills its containers when memory runs out.

>>> from k8slab.api.qos import compute_qos_class
>>> compute_qos_class({"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]}})
'Burstable'

Upstream: pkg/apis/core/v1/helper/qos/qos.go, pkg/kubelet/qos/policy.go, pkg/kubelet/types/pod_update.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.pod_requests import (
    ResourceList,
    add_resources,
    aggregate_container_requests,
    is_pod_level_requests_set,
    is_restartable_init_container,
    resource_list,
)
from k8slab.api.priority_classes import SYSTEM_CRITICAL_PRIORITY, SYSTEM_NODE_CRITICAL
from k8slab.api.quantity import ZERO, wrap_int64

__all__ = [
    "BEST_EFFORT",
    "BURSTABLE",
    "GUARANTEED",
    "compute_qos_class",
    "is_critical_pod",
    "is_node_critical_pod",
    "is_static_pod",
    "oom_score_adj",
    "qos_class",
]

GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"

GUARANTEED_OOM_SCORE_ADJ = -997
BEST_EFFORT_OOM_SCORE_ADJ = 1000

_COMPUTE = ("cpu", "memory")


def _positive_compute(raw: Mapping[str, Any] | None) -> ResourceList:
    return {name: amount for name, amount in resource_list(raw).items() if name in _COMPUTE and amount.sign > 0}


def _resource_blocks(pod: Object, pod_level_resources: bool) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """The `resources` to sum up, each with whether it must have limits for the Pod to be Guaranteed."""
    spec = pod.get("spec") or {}
    at_pod_level = spec.get("resources")
    if pod_level_resources and at_pod_level is not None:
        yield at_pod_level, bool(at_pod_level.get("limits"))
        return
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        yield container.get("resources") or {}, True


def compute_qos_class(pod: Object, *, pod_level_resources: bool = True) -> str:
    """From the spec: Guaranteed, Burstable or BestEffort. Compares the sums of requests and limits, not containers.

    `pod_level_resources`: the gate PodLevelResources; then `spec.resources` alone counts where it is given.
    """
    requests: ResourceList = {}
    limits: ResourceList = {}
    all_limited = True
    for resources, needs_limits in _resource_blocks(pod, pod_level_resources):
        add_resources(requests, _positive_compute(resources.get("requests")))
        found = _positive_compute(resources.get("limits"))
        add_resources(limits, found)
        if needs_limits and len(found) < len(_COMPUTE):
            all_limited = False
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if all_limited and requests == limits else BURSTABLE


def qos_class(pod: Object) -> str:
    """`status.qosClass`, or the computed class where the API server has not written it."""
    recorded: str = (pod.get("status") or {}).get("qosClass") or ""
    return recorded or compute_qos_class(pod)


def is_static_pod(pod: Object) -> bool:
    """From a file or URL of the kubelet, not from the API server."""
    source = (pod["metadata"].get("annotations") or {}).get("kubernetes.io/config.source")
    return source is not None and source != "api"


def is_critical_pod(pod: Object) -> bool:
    """Static, a mirror of a static Pod, or of a system priority."""
    priority = (pod.get("spec") or {}).get("priority")
    is_mirror = "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})
    return is_static_pod(pod) or is_mirror or (priority is not None and priority >= SYSTEM_CRITICAL_PRIORITY)


def is_node_critical_pod(pod: Object) -> bool:
    """Critical, and of the class system-node-critical."""
    return is_critical_pod(pod) and (pod.get("spec") or {}).get("priorityClassName") == SYSTEM_NODE_CRITICAL


def _memory_request(container: Object) -> int:
    return resource_list((container.get("resources") or {}).get("requests")).get("memory", ZERO).value()


def _is_sidecar(pod: Object, container: Object) -> bool:
    name = container.get("name")
    init_containers = pod["spec"].get("initContainers") or ()
    return is_restartable_init_container(container) and any(c.get("name") == name for c in init_containers)


def _divide(a: int, b: int) -> int:
    """Towards zero, as Go does."""
    return a // b if a >= 0 else -(-a // b)


def _spare_per_container(pod: Object) -> int:
    """The part of the pod-level memory request that no container asked for, in equal shares; may be negative."""
    spec = pod["spec"]
    at_pod_level = resource_list(spec["resources"]["requests"]).get("memory", ZERO)
    if at_pod_level.is_zero:
        return 0
    asked = aggregate_container_requests(pod).get("memory", ZERO).value()
    containers = len(spec.get("containers") or ()) + len(spec.get("initContainers") or ())
    return _divide(wrap_int64(at_pod_level.value() - asked), containers)


def oom_score_adj(pod: Object, container: Object, memory_capacity: int, *, pod_level_resources: bool = True) -> int:
    """What the kubelet writes to /proc/PID/oom_score_adj. `memory_capacity`: bytes of the node, positive.

    The formula gives a container that asks for 10 % of the memory 900. There is no upper bound: a pod-level request
    smaller than the containers' sum leads above 1000.
    """
    if memory_capacity <= 0:
        raise ValueError(f"memory_capacity {memory_capacity}: expected the node's memory in bytes, above 0")
    qos = qos_class(pod)
    if is_node_critical_pod(pod) or qos == GUARANTEED:
        return GUARANTEED_OOM_SCORE_ADJ
    if qos == BEST_EFFORT:
        return BEST_EFFORT_OOM_SCORE_ADJ
    spare = _spare_per_container(pod) if pod_level_resources and is_pod_level_requests_set(pod) else 0

    def score(memory: int) -> int:
        return 1000 - _divide(wrap_int64(1000 * wrap_int64(memory + spare)), memory_capacity)

    adjust = score(_memory_request(container))
    if _is_sidecar(pod, container) and pod["spec"].get("containers"):
        # A sidecar must not be killed before the containers it serves.
        adjust = min(adjust, score(min(map(_memory_request, pod["spec"]["containers"]))))
    adjust = max(adjust, 1000 + GUARANTEED_OOM_SCORE_ADJ)
    return BEST_EFFORT_OOM_SCORE_ADJ - 1 if adjust == BEST_EFFORT_OOM_SCORE_ADJ else adjust
