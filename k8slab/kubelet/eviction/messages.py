"""The texts of an eviction: the message in status and Event, and the Event's annotations.

Upstream: pkg/kubelet/eviction/helpers.go (evictionMessage)
Simplified: the Pod's own line is written from 1.34 on (gate PodLevelResources) whatever the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from k8slab.api.objects import Object
from k8slab.api.pod_requests import is_pod_level_resources_set, resource_list
from k8slab.api.quantity import BINARY_SI, Quantity
from k8slab.kubelet.eviction.signals import Observations
from k8slab.kubelet.eviction.stats import ContainerStats, PodStats
from k8slab.kubelet.eviction.thresholds import Threshold, threshold_quantity

__all__ = ["eviction_message"]


def eviction_message(
    resource: str,
    pod: Object,
    stats: PodStats | None,
    thresholds: Iterable[Threshold],
    observations: Observations,
) -> tuple[str, dict[str, str]]:
    """(message, annotations) for evicting `pod` because `resource` is short."""
    message = f"The node was low on resource: {resource}. {_threshold(resource, thresholds, observations)}"
    annotations: dict[str, str] = {}
    if stats is None:
        return message, annotations
    if resource == "memory" and is_pod_level_resources_set(pod):
        request = resource_list((pod["spec"]["resources"]).get("requests")).get("memory")
        if request is not None and stats.memory is not None:
            name, usage = pod["metadata"]["name"], Quantity(stats.memory, 0, BINARY_SI)
            message += f"Pod {name} was using {usage}, request is {request}, has larger consumption of {resource}. "
            annotations |= {"offending_pod": name, "offending_pod_usage": str(usage)}
    offenders = _offenders(resource, pod, stats.containers)
    for name, usage, request in offenders:
        message += f"Container {name} was using {usage}, request is {request}, has larger consumption of {resource}. "
    annotations["offending_containers"] = ",".join(name for name, _, _ in offenders)
    annotations["offending_containers_usage"] = ",".join(str(usage) for _, usage, _ in offenders)
    annotations["starved_resource"] = resource
    return message, annotations


def _threshold(resource: str, thresholds: Iterable[Threshold], observations: Observations) -> str:
    for threshold in thresholds:
        seen = observations.get(threshold.signal)
        if threshold.resource == resource and seen is not None:
            quantity = threshold_quantity(threshold.value, seen.capacity)
            return f"Threshold quantity: {quantity}, available: {seen.available}. "
    return ""


def _offenders(resource: str, pod: Object, measured: Sequence[ContainerStats]) -> list[tuple[str, Quantity, Quantity]]:
    """(name, usage, request) of the containers that use more than they asked for, in the order of the measurements."""
    spec = pod.get("spec") or {}
    containers: dict[str, Object] = {}
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        containers.setdefault(container["name"], container)
    found = []
    for one in measured:
        usage = _usage(resource, one)
        if one.name not in containers or usage is None:
            continue
        requests = resource_list((containers[one.name].get("resources") or {}).get("requests"))
        request, amount = requests.get(resource, Quantity.EMPTY), Quantity(usage, 0, BINARY_SI)
        if amount.cmp(request) > 0:
            found.append((one.name, amount, request))
    return found


def _usage(resource: str, stats: ContainerStats) -> int | None:
    if resource == "memory":
        return stats.memory
    if resource != "ephemeral-storage" or stats.rootfs is None or stats.logs is None:
        return None
    layer, logs = stats.rootfs.used_bytes, stats.logs.used_bytes
    return None if layer is None or logs is None else layer + logs
