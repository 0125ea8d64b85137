"""How a Pod counts for a ResourceQuota, and in which of the scopes it is.

Upstream: pkg/quota/v1/evaluator/core/pods.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from k8slab.api.labels import Selector, go_quote, new_requirement
from k8slab.api.objects import Object
from k8slab.api.pod_requests import (
    ResourceList,
    is_pod_level_resources_set,
    pod_limits,
    pod_requests,
    resource_list,
)
from k8slab.api.qos import BEST_EFFORT, qos_class
from k8slab.api.quantity import Quantity
from k8slab.api.quota.resource_lists import add
from k8slab.api.times import parse_time
from k8slab.api.validation.resources import is_extended_resource, is_native_resource

__all__ = ["PodEvaluator", "is_terminating", "quota_counts_pod", "selector_matches"]

_ONE = Quantity(1)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_RESOURCES = frozenset(
    ("count/pods", "pods", *_COMPUTE, *(f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTE))
)
_MUST_BE_SET = tuple(
    f"{part}{name}" for part in ("", "requests.", "limits.") for name in ("cpu", "memory")
)  # of every container, when a quota limits it: kept for compatibility
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"


def quota_counts_pod(pod: Object, now_ms: int) -> bool:
    """Whether a Pod costs more than its entry: not when it has ended, nor when its deletion is long due."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod.get("metadata") or {}
    stamp, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    return not (stamp and grace is not None and now_ms > parse_time(stamp) + grace * 1000)


def is_terminating(pod: Object) -> bool:
    """In the sense of the scope: a Pod that is to end by itself."""
    deadline = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return bool(deadline is not None and deadline >= 0)


class PodEvaluator:
    """Pods: their number, what they request and what their limits are."""

    resource = "pods"

    def handles(self, operation: str, subresource: str, obj: Object | None, old: Object | None) -> bool:
        """Creations, resizes, and updates that change the scope."""
        if subresource:
            return subresource == "resize" and operation == "UPDATE"
        if operation == "UPDATE" and obj is not None and old is not None:
            return is_terminating(old) != is_terminating(obj)
        return operation == "CREATE"

    def matching_resources(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in _RESOURCES or name.startswith(_HUGE_PAGES) or _is_extended(name)]

    def constraints(self, required: Iterable[str], pod: Object) -> str:
        """What is missing: every container has to name what is limited. "" when nothing is."""
        if is_pod_level_resources_set(pod):
            return ""
        wanted = sorted(name for name in required if name in _MUST_BE_SET)
        spec = pod.get("spec") or {}
        missing: dict[str, set[str]] = {}
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            given = _compute_usage(resource_list(resources.get("requests")), resource_list(resources.get("limits")))
            for name in wanted:
                if name not in given:
                    missing.setdefault(name, set()).add(container.get("name", ""))
        parts = (f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
        return f"must specify {'; '.join(parts)}" if missing else ""

    def matches_scope(self, scope: Object, pod: Object) -> bool:
        """ValueError for an operator that there is not."""
        name = scope.get("scopeName")
        if name in ("Terminating", "NotTerminating"):
            return is_terminating(pod) is bool(name == "Terminating")
        if name in ("BestEffort", "NotBestEffort"):
            return (qos_class(pod) == BEST_EFFORT) is bool(name == "BestEffort")
        if name == "PriorityClass":
            priority_class = (pod.get("spec") or {}).get("priorityClassName") or ""
            if scope.get("operator") == "Exists":
                return bool(priority_class)
            return selector_matches(scope, {"PriorityClass": priority_class} if priority_class else {})
        return bool(name == "CrossNamespacePodAffinity" and _reaches_other_namespaces(pod))

    def usage(self, pod: Object, now_ms: int) -> ResourceList:
        result: ResourceList = {"count/pods": _ONE}
        if not quota_counts_pod(pod, now_ms):
            return result
        requests = pod_requests(pod, use_status_resources=True)
        limits = pod_limits(pod, use_status_resources=True)
        return add(result, _compute_usage(requests, limits))


def selector_matches(scope: Object, labels: Mapping[str, str]) -> bool:
    """A scope's operator and values as a label selector. ValueError for an operator that there is not, or that wants
    other values."""
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    operator = scope.get("operator", "")
    if operator not in operators:
        raise ValueError(
            f"failed to parse and convert selector: {go_quote(operator)} is not a valid scope selector operator"
        )
    try:
        requirement = new_requirement(scope["scopeName"], operators[operator], scope.get("values") or ())
    except ValueError as error:
        raise ValueError(f"failed to parse and convert selector: {error}") from None
    return Selector([requirement]).matches(labels)


def _compute_usage(requests: ResourceList, limits: ResourceList) -> ResourceList:
    result: ResourceList = {"pods": _ONE}
    for name in _COMPUTE:
        if name in requests:
            result[name] = result[f"requests.{name}"] = requests[name]
        if name in limits:
            result[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith("hugepages-"):
            result[name] = result[f"requests.{name}"] = amount
        elif is_extended_resource(name) or name.startswith(_DEVICE_CLASS):
            result[f"requests.{name}"] = amount
    return result


def _is_extended(name: str) -> bool:
    if not name.startswith("requests."):
        return False
    return not is_native_resource(name) or name.startswith(f"requests.{_DEVICE_CLASS}")


def _reaches_other_namespaces(pod: Object) -> bool:
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        for term in (*required, *(weighted.get("podAffinityTerm") or {} for weighted in preferred)):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
