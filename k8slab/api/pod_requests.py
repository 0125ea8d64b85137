"""What a Pod asks for: containers summed, init containers as a minimum, sidecars in both, then pod level and overhead.

>>> from k8slab.api.pod_requests import pod_requests
>>> web = {"resources": {"requests": {"cpu": "250m"}}}
>>> setup = {"resources": {"requests": {"cpu": "1"}}}
>>> str(pod_requests({"spec": {"containers": [web, web], "initContainers": [setup]}})["cpu"])
'1'

Upstream: component-helpers/resource/helpers.go (v1.36)
Simplified: no claims of node-allocatable resources by DRA (alpha in 1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypedDict, Unpack

from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity, quantity

__all__ = [
    "PodResourcesOptions",
    "ResourceList",
    "add_resources",
    "aggregate_container_limits",
    "aggregate_container_requests",
    "is_pod_level_requests_set",
    "is_pod_level_resources_set",
    "is_pod_resize_infeasible",
    "is_restartable_init_container",
    "is_supported_pod_level_resource",
    "max_resources",
    "pod_limits",
    "pod_requests",
    "resource_list",
]

ResourceList: TypeAlias = dict[str, Quantity]
Effective: TypeAlias = Callable[[Object, Object | None], ResourceList]


class PodResourcesOptions(TypedDict, total=False):
    """`use_status_resources`: count what a resize in progress holds, too (gate InPlacePodVerticalScaling).
    `in_place_pod_level_resources_vertical_scaling`: the same for pod-level resources (that gate).
    `non_missing_container_requests`: requests of containers that make none (the scheduler's 100m, 200Mi).
    """

    exclude_overhead: bool
    skip_pod_level_resources: bool
    skip_container_level_resources: bool
    use_status_resources: bool
    in_place_pod_level_resources_vertical_scaling: bool
    non_missing_container_requests: Mapping[str, Quantity]


def resource_list(raw: Mapping[str, Any] | None) -> ResourceList:
    """Quantities of a manifest's requests, limits, capacity, ..."""
    return {name: quantity(text) for name, text in raw.items()} if raw else {}


def add_resources(total: ResourceList, more: Mapping[str, Quantity]) -> None:
    """Add `more` to `total`, in place."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def max_resources(first: Mapping[str, Quantity], *others: Mapping[str, Quantity]) -> ResourceList:
    """The greater amount of each resource; of equal amounts the earlier one."""
    result = dict(first)
    for other in others:
        for name, amount in other.items():
            if name not in result or amount > result[name]:
                result[name] = amount
    return result


def is_restartable_init_container(container: Object) -> bool:
    """A sidecar."""
    return container.get("restartPolicy") == "Always"


def is_supported_pod_level_resource(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _pod_level(pod: Object, part: str) -> Mapping[str, Any]:
    resources = (pod.get("spec") or {}).get("resources") or {}
    return resources.get(part) or {}


def is_pod_level_requests_set(pod: Object) -> bool:
    """`spec.resources.requests` names a resource that may stand there."""
    return any(map(is_supported_pod_level_resource, _pod_level(pod, "requests")))


def is_pod_level_resources_set(pod: Object) -> bool:
    """`spec.resources` has such a request or limit."""
    return is_pod_level_requests_set(pod) or any(map(is_supported_pod_level_resource, _pod_level(pod, "limits")))


def is_pod_resize_infeasible(pod: Object) -> bool:
    """The node can never grant the resize that is asked for."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False


def _container_statuses(pod: Object, options: PodResourcesOptions) -> dict[str, Object]:
    if not options.get("use_status_resources"):
        return {}
    status = pod.get("status") or {}
    entries = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return {entry.get("name", ""): entry for entry in entries}


def _aggregate(pod: Object, statuses: Mapping[str, Object], effective: Effective) -> ResourceList:
    """KEP-753: the running containers' sum, or what the hungriest init container needs beside earlier sidecars."""
    spec = pod.get("spec") or {}
    total: ResourceList = {}
    for container in spec.get("containers") or ():
        add_resources(total, effective(container, statuses.get(container.get("name", ""))))
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in spec.get("initContainers") or ():
        if is_restartable_init_container(container):
            needed = effective(container, statuses.get(container.get("name", "")))
            add_resources(total, needed)
            add_resources(sidecars, needed)
            needed = sidecars
        else:
            needed = dict(effective(container, None))
            add_resources(needed, sidecars)
        peak = max_resources(peak, needed)
    return max_resources(total, peak)


def aggregate_container_requests(pod: Object, **options: Unpack[PodResourcesOptions]) -> ResourceList:
    """Requests of the containers alone, without pod level and overhead."""
    infeasible = is_pod_resize_infeasible(pod)
    non_missing = options.get("non_missing_container_requests") or {}

    def effective(container: Object, status: Object | None) -> ResourceList:
        resources = container.get("resources") or {}
        requests = resource_list(resources.get("requests"))
        if status is not None and status.get("resources") is not None:
            actuated = resource_list(status["resources"].get("requests"))
            allocated = resource_list(status.get("allocatedResources"))
            requests = max_resources({} if infeasible else requests, actuated, allocated)
        for name, amount in non_missing.items():
            requests.setdefault(name, amount)
        return requests

    return _aggregate(pod, _container_statuses(pod, options), effective)


def aggregate_container_limits(pod: Object, **options: Unpack[PodResourcesOptions]) -> ResourceList:
    """Limits of the containers alone, without pod level and overhead."""
    infeasible = is_pod_resize_infeasible(pod)

    def effective(container: Object, status: Object | None) -> ResourceList:
        limits = resource_list((container.get("resources") or {}).get("limits"))
        if status is not None and status.get("resources") is not None:
            actuated = resource_list(status["resources"].get("limits"))
            return max_resources({} if infeasible else limits, actuated)
        return limits

    return _aggregate(pod, _container_statuses(pod, options), effective)


def _pod_level_status(pod: Object, options: PodResourcesOptions) -> Mapping[str, Any] | None:
    """`status.resources`, where a resize at pod level counts."""
    if options.get("in_place_pod_level_resources_vertical_scaling") and options.get("use_status_resources"):
        resources: Mapping[str, Any] | None = (pod.get("status") or {}).get("resources")
        return resources
    return None


def _override(total: ResourceList, wanted: ResourceList, effective: ResourceList | None) -> None:
    """Pod-level amounts take the place of the containers' sums."""
    for name, amount in wanted.items():
        if is_supported_pod_level_resource(name):
            total[name] = amount if effective is None else effective.get(name, Quantity.EMPTY)


def pod_requests(pod: Object, **options: Unpack[PodResourcesOptions]) -> ResourceList:
    """What the scheduler and the kubelet count for the Pod, by resource name."""
    total: ResourceList = {}
    if not options.get("skip_container_level_resources"):
        total = aggregate_container_requests(pod, **options)
    if not options.get("skip_pod_level_resources") and is_pod_level_requests_set(pod):
        wanted = resource_list(_pod_level(pod, "requests"))
        status = _pod_level_status(pod, options)
        effective = None
        if status is not None:
            actuated = resource_list(status.get("requests"))
            allocated = resource_list((pod.get("status") or {}).get("allocatedResources"))
            effective = max_resources({} if is_pod_resize_infeasible(pod) else wanted, actuated, allocated)
        _override(total, wanted, effective)
    if not options.get("exclude_overhead"):
        add_resources(total, resource_list((pod.get("spec") or {}).get("overhead")))
    return total


def pod_limits(pod: Object, **options: Unpack[PodResourcesOptions]) -> ResourceList:
    """Upper bounds by resource name; overhead is added to limits that there are and that aren't zero."""
    total = aggregate_container_limits(pod, **options)
    if not options.get("skip_pod_level_resources") and is_pod_level_resources_set(pod):
        wanted = resource_list(_pod_level(pod, "limits"))
        status = _pod_level_status(pod, options)
        effective = None
        if status is not None:
            if not is_pod_resize_infeasible(pod):
                effective = max_resources(wanted, resource_list(status.get("limits")))
            elif status.get("limits") is not None:
                effective = resource_list(status["limits"])
        _override(total, wanted, effective)
    if not options.get("exclude_overhead"):
        for name, amount in resource_list((pod.get("spec") or {}).get("overhead")).items():
            if name in total and not total[name].is_zero:
                total[name] = total[name] + amount
    return total
