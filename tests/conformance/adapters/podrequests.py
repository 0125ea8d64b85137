"""Golden topic `podrequests`: the resources a Pod counts with."""

from __future__ import annotations

from typing import Any

from k8slab.api.pod_requests import (
    PodResourcesOptions,
    ResourceList,
    aggregate_container_requests,
    is_pod_level_resources_set,
    pod_limits,
    pod_requests,
    resource_list,
)


def _options(given: dict[str, Any]) -> PodResourcesOptions:
    options: PodResourcesOptions = {
        "exclude_overhead": given.get("excludeOverhead", False),
        "skip_pod_level_resources": given.get("skipPodLevelResources", False),
        "skip_container_level_resources": given.get("skipContainerLevelResources", False),
        "use_status_resources": given.get("useStatusResources", False),
        "in_place_pod_level_resources_vertical_scaling": given.get(
            "inPlacePodLevelResourcesVerticalScalingEnabled", False
        ),
        "non_missing_container_requests": resource_list(given.get("nonMissingContainerRequests")),
    }
    return options


def _texts(resources: ResourceList) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}


def run(case_input: dict[str, Any]) -> Any:
    pod, options = case_input["pod"], _options(case_input.get("options") or {})
    requests = pod_requests(pod, **options)
    return {
        "requests": _texts(requests),
        "limits": _texts(pod_limits(pod, **options)),
        "aggregateContainerRequests": _texts(aggregate_container_requests(pod, **options)),
        "podLevelResourcesSet": is_pod_level_resources_set(pod),
        "requestsMilliCPU": requests["cpu"].milli_value() if "cpu" in requests else 0,
        "requestsMemory": requests["memory"].value() if "memory" in requests else 0,
    }
