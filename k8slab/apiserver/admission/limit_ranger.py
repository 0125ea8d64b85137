"""A LimitRange gives Pods requests and limits they did not name, and refuses those outside its bounds.

Upstream: plugin/pkg/admission/limitranger/admission.go
Simplified: only the watch cache is asked, not etcd when the cache holds no LimitRange; several violations are listed in
    the order of the manifest, upstream's is random.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from k8slab.api.labels import AggregateError
from k8slab.api.objects import Frozen, Object
from k8slab.api.pod_requests import ResourceList, pod_limits, pod_requests, resource_list
from k8slab.api.quantity import Quantity
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden

__all__ = ["LimitRanger", "mutate_pod", "validate_claim", "validate_pod"]

ANNOTATION = "kubernetes.io/limit-ranger"
_MAX_MILLI_VALUE = ((1 << 63) - 1) // 1000
_POD_LEVEL = ("cpu", "memory")  # huge pages may stand there too, but upstream's plugin does not look at them
_ZERO = Quantity(0)


class LimitRanger:
    name = "LimitRanger"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Requests and limits that the Pod does not name."""
        pod = attributes.object
        if attributes.resource.group_resource != "pods" or pod is None:
            return None
        for limit_range in _limit_ranges(attributes, lister):
            pod = mutate_pod(limit_range, pod)
        return pod

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """Bounds of containers, Pods and claims."""
        obj = attributes.object
        if obj is None:
            return
        check = validate_pod if attributes.resource.group_resource == "pods" else validate_claim
        for limit_range in _limit_ranges(attributes, lister):
            problems = check(limit_range, obj)
            if problems:
                raise forbidden(attributes, str(AggregateError(problems)))


def _limit_ranges(attributes: Attributes, lister: Lister) -> list[Frozen]:
    """Those of the namespace, for writes that they are about."""
    resource, operation = attributes.resource.group_resource, attributes.operation
    if resource not in ("pods", "persistentvolumeclaims") or operation == "DELETE":
        return []
    is_resize = resource == "pods" and operation == "UPDATE" and attributes.subresource == "resize"
    if not is_resize and (attributes.subresource or (resource == "pods" and operation == "UPDATE")):
        return []  # but for a resize, the containers of a Pod do not change
    if attributes.old is not None and "deletionTimestamp" in attributes.old["metadata"]:
        return []
    return [one for one in lister.cached_all("limitranges") if one["metadata"]["namespace"] == attributes.namespace]


# -- filling in --------------------------------------------------------------------------------------


def mutate_pod(limit_range: Object, pod: Object) -> Object:
    """The Pod with what the limits of type Container give; the same object when that is nothing."""
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for item in _items(limit_range, "Container"):
        limits.update(item.get("default") or {})
        requests.update(item.get("defaultRequest") or {})
    told: list[str] = []
    spec = dict(pod.get("spec") or {})
    for field, what in (("containers", "container"), ("initContainers", "init container")):
        if spec.get(field):
            spec[field] = [_merge(container, requests, limits, what, told) for container in spec[field]]
    if not told:
        return pod
    metadata = pod.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: f"LimitRanger plugin set: {'; '.join(told)}"}
    return {**pod, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def _merge(
    container: Object, requests: Mapping[str, str], limits: Mapping[str, str], what: str, told: list[str]
) -> Object:
    resources: dict[str, Any] = dict(container.get("resources") or {})
    for field, defaults in (("requests", requests), ("limits", limits)):
        given = resources.get(field) or {}
        added = {name: text for name, text in defaults.items() if name not in given}
        if added:
            resources[field] = {**given, **added}
            told.append(f"{', '.join(sorted(added))} {field[:-1]} for {what} {container.get('name', '')}")
    return {**container, "resources": resources} if resources else container


# -- checking ----------------------------------------------------------------------------------------


def validate_pod(limit_range: Object, pod: Object) -> list[str]:
    """What is outside the bounds for containers and for the Pod as a whole."""
    spec = pod.get("spec") or {}
    problems: list[str] = []
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                resources = container.get("resources") or {}
                amounts = resource_list(resources.get("requests")), resource_list(resources.get("limits"))
                problems += _violations(item, *amounts)
        elif item.get("type") == "Pod":
            problems += _violations(item, *_of_whole(pod))
    return problems


def _of_whole(pod: Object) -> tuple[ResourceList, ResourceList]:
    """(requests, limits) of a Pod: its containers' sums, and its own cpu and memory in their place."""
    requests = pod_requests(pod, exclude_overhead=True, skip_pod_level_resources=True)
    limits = pod_limits(pod, exclude_overhead=True, skip_pod_level_resources=True)
    own = (pod.get("spec") or {}).get("resources") or {}
    for total, given in ((requests, own.get("requests")), (limits, own.get("limits"))):
        total.update((name, amount) for name, amount in resource_list(given).items() if name in _POD_LEVEL)
    return requests, limits


def validate_claim(limit_range: Object, claim: Object) -> list[str]:
    """What is outside the bounds for a PersistentVolumeClaim: only requests count."""
    requests = resource_list(((claim.get("spec") or {}).get("resources") or {}).get("requests"))
    problems: list[str] = []
    for item in _items(limit_range, "PersistentVolumeClaim"):
        for name, bound in resource_list(item.get("min")).items():
            problems += _below(item["type"], name, bound, requests, {})
        for name, bound in resource_list(item.get("max")).items():
            where = f"maximum {name} usage per {item['type']} is {bound}"
            if name not in requests:
                problems.append(f"{where}.  No request is specified")
            elif _is_more(requests[name], bound):
                problems.append(f"{where}, but request is {requests[name]}")
    return problems


def _items(limit_range: Object, kind: str) -> Iterator[Object]:
    return (item for item in (limit_range.get("spec") or {}).get("limits") or () if item.get("type") == kind)


def _violations(item: Object, requests: ResourceList, limits: ResourceList) -> list[str]:
    kind = item["type"]
    problems: list[str] = []
    for name, bound in resource_list(item.get("min")).items():
        problems += _below(kind, name, bound, requests, limits)
    for name, bound in resource_list(item.get("max")).items():
        problems += _above(kind, name, bound, requests, limits)
    for name, bound in resource_list(item.get("maxLimitRequestRatio")).items():
        problems += _ratio(kind, name, bound, requests, limits)
    return problems


def _below(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> list[str]:
    where = f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        return [f"{where}.  No request is specified"]
    request, limit, least = _comparable(requests[name], limits.get(name, _ZERO), bound)
    if request < least:
        return [f"{where}, but request is {requests[name]}"]
    if name in limits and limit < least:
        return [f"{where}, but limit is {limits[name]}"]
    return []


def _above(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> list[str]:
    where = f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        return [f"{where}.  No limit is specified"]
    request, limit, most = _comparable(requests.get(name, _ZERO), limits[name], bound)
    if limit > most:
        return [f"{where}, but limit is {limits[name]}"]
    if name in requests and request > most:
        return [f"{where}, but request is {requests[name]}"]
    return []


def _ratio(kind: str, name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> list[str]:
    where = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit, _ = _comparable(requests.get(name, _ZERO), limits.get(name, _ZERO), bound)
    if request == 0:
        return [f"{where}, but no request is specified or request is 0"]
    if limit == 0:
        return [f"{where}, but no limit is specified or limit is 0"]
    ratio = limit / request
    in_thousandths = bound.value() <= _MAX_MILLI_VALUE
    is_more = ratio * 1000 > bound.milli_value() if in_thousandths else ratio > bound.value()
    return [f"{where}, but provided ratio is {ratio:.6f}"] if is_more else []


def _is_more(amount: Quantity, bound: Quantity) -> bool:
    request, _, most = _comparable(amount, _ZERO, bound)
    return request > most


def _comparable(*amounts: Quantity) -> tuple[int, ...]:
    """As thousandths where all of them fit, else as whole numbers."""
    whole = tuple(amount.value() for amount in amounts)
    return tuple(amount.milli_value() for amount in amounts) if max(whole) <= _MAX_MILLI_VALUE else whole
