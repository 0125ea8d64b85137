"""Resource names and quantities: of containers, of Pods as a whole, of quotas.

Upstream: pkg/apis/core/validation/validation.go (validateResourceRequirements, validatePodResources),
    pkg/apis/core/helper/helpers.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_qualified_name
from k8slab.api.pod_requests import aggregate_container_requests, is_supported_pod_level_resource
from k8slab.api.quantity import Quantity
from k8slab.api.quantity import quantity as parse_quantity
from k8slab.api.validation.field import (
    NOT_NEGATIVE,
    duplicate,
    each,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)

__all__ = [
    "is_extended_resource",
    "is_hugepage_resource",
    "is_native_resource",
    "validate_container_resource_name",
    "validate_container_resources",
    "validate_pod_resources",
    "validate_quantity_value",
    "validate_resource_name",
]

_STANDARD = ("cpu", "memory", "ephemeral-storage")
_STANDARD_RESOURCES = (
    *_STANDARD,
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _STANDARD),
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "storage", "requests.storage", "services.nodeports", "services.loadbalancers"),
)
_INTEGER_RESOURCES = (
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
)


def is_native_resource(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_hugepage_resource(name: str) -> bool:
    return name.startswith("hugepages-")


def is_extended_resource(name: str) -> bool:
    if is_native_resource(name) or name.startswith("requests."):
        return False
    return not is_qualified_name(f"requests.{name}")


def _allows_overcommit(name: str) -> bool:
    return is_native_resource(name) and not is_hugepage_resource(name)


def validate_resource_name(path: str, name: str) -> list[Cause]:
    if errors := each(path, name, is_qualified_name(name)):
        return errors
    if "/" not in name and name not in _STANDARD_RESOURCES and not is_hugepage_resource(name):
        return [invalid(path, name, "must be a standard resource type or fully qualified")]
    return []


def validate_container_resource_name(path: str, name: str) -> list[Cause]:
    errors = validate_resource_name(path, name)
    if "/" not in name:
        if name not in _STANDARD and not is_hugepage_resource(name):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native_resource(name) and not is_extended_resource(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def _validate_pod_resource_name(path: str, name: str) -> list[Cause]:
    errors = validate_resource_name(path, name)
    if not errors and not is_supported_pod_level_resource(name):
        errors.append(not_supported(path, name, ("cpu", "hugepages-", "memory")))
    return errors


def validate_quantity_value(path: str, name: str, text: str) -> list[Cause]:
    """A quantity of a resource: not negative, and whole where only whole ones make sense."""
    errors: list[Cause] = []
    amount = parse_quantity(text)
    if amount.sign < 0:
        errors.append(invalid(path, str(amount), NOT_NEGATIVE))
    if (name in _INTEGER_RESOURCES or is_extended_resource(name)) and amount.milli_value() % 1000:
        errors.append(invalid(path, str(amount), "must be an integer"))
    return errors


def _validate_hugepages(path: str, name: str, text: str) -> list[Cause]:
    size = name.removeprefix("hugepages-")
    try:
        page = Quantity.parse(size).value()
    except ValueError:
        return [invalid(path, text, f"hugepage size {size} must be a quantity")]
    amount = parse_quantity(text).value()
    if page <= 0 or amount % page:
        return [invalid(path, text, f"{text} is not positive integer multiple of {size}")]
    return []


NameRule = Callable[[str, str], list[Cause]]


def _validate_requirements(path: str, resources: Mapping[str, Any], name_rule: NameRule) -> list[Cause]:
    errors: list[Cause] = []
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name, text in limits.items():
        errors += _validate_amount(f"{path}.limits[{name}]", name, text, name_rule)
    for name, text in requests.items():
        errors += _validate_amount(f"{path}.requests[{name}]", name, text, name_rule)
        errors += _validate_request_against_limit(path, name, text, limits)
    names = (*limits, *requests)
    if any(map(is_hugepage_resource, names)) and "cpu" not in names and "memory" not in names:
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors


def _validate_amount(path: str, name: str, text: str, name_rule: NameRule) -> list[Cause]:
    errors = name_rule(path, name) + validate_quantity_value(path, name, text)
    if is_hugepage_resource(name):
        errors += _validate_hugepages(path, name, text)
    return errors


def _validate_request_against_limit(path: str, name: str, text: str, limits: Mapping[str, Any]) -> list[Cause]:
    if name not in limits:
        if _allows_overcommit(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    request, limit = parse_quantity(text), parse_quantity(limits[name])
    order = request.cmp(limit)
    if order != 0 and not _allows_overcommit(name):
        return [invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")]
    if order > 0:
        return [invalid(f"{path}.requests", str(request), f"must be less than or equal to {name} limit of {limit}")]
    return []


def validate_container_resources(path: str, resources: Mapping[str, Any], claim_names: Sequence[str]) -> list[Cause]:
    errors = _validate_requirements(path, resources, validate_container_resource_name) if resources else []
    seen: list[str] = []
    for index, claim in enumerate(resources.get("claims", ())):
        name, request = claim.get("name", ""), claim.get("request", "")
        where = f"{path}.claims[{index}]"
        key = f"{name}/{request}" if request else name
        if not name:
            errors.append(required(where))
        elif key in seen:
            errors.append(duplicate(where, key))
        elif name not in claim_names:
            errors.append(not_found(f"{where}.name", name))
        seen.append(key)
    return errors


def validate_pod_resources(path: str, spec: Mapping[str, Any]) -> list[Cause]:
    """`spec.resources`: valid, no less than what containers request together, no less than a container's limit."""
    resources = spec.get("resources")
    if resources is None:
        return []
    errors: list[Cause] = []
    if resources.get("claims"):
        errors.append(forbidden(f"{path}.claims", "claims cannot be set for Resources at pod-level"))
    errors += _validate_requirements(path, resources, _validate_pod_resource_name)
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name, total in aggregate_container_requests({"spec": spec}).items():
        if is_supported_pod_level_resource(name) and total.cmp(parse_quantity(requests.get(name, "0"))) > 0:
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(f"{path}.requests[{name}]", str(requests.get(name, "0")), detail))
    for index, container in enumerate(spec.get("containers", ())):
        for name, text in container.get("resources", {}).get("limits", {}).items():
            if name in limits and parse_quantity(text).cmp(parse_quantity(limits[name])) > 0:
                where = f"{path}.containers[{index}][{name}].limits"
                errors.append(invalid(where, text, f"must be less than or equal to pod limits of {limits[name]}"))
    return errors
