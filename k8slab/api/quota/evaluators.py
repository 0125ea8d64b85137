"""Who counts what: Services, claims, plain numbers of objects; and the sum over a namespace.

Upstream: pkg/quota/v1/evaluator/core/{services,persistent_volume_claims,registry}.go,
    apiserver/pkg/quota/v1/generic/evaluator.go, pkg/quota/v1/install/registry.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from k8slab.api.objects import Object
from k8slab.api.pod_requests import ResourceList, resource_list
from k8slab.api.quantity import Quantity
from k8slab.api.quota.pods import PodEvaluator, selector_matches
from k8slab.api.quota.resource_lists import add, mask

__all__ = [
    "IGNORED",
    "Evaluator",
    "calculate_usage",
    "evaluator_of",
    "evaluators_for",
    "matches",
    "scope_selectors",
]

IGNORED = frozenset(
    (
        "bindings",
        "componentstatuses",
        "events",
        "events.events.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectreviews.authentication.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
        "tokenreviews.authentication.k8s.io",
    )
)
"""Resources that no quota counts."""

_ZERO, _ONE = Quantity(0), Quantity(1)
_BY_CLASS = ".storageclass.storage.k8s.io/"
_ALIASES = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")


class Evaluator(Protocol):
    """How the objects of one resource count. `resource`: as in "deployments.apps"."""

    @property
    def resource(self) -> str: ...

    def handles(self, operation: str, subresource: str, obj: Object | None, old: Object | None) -> bool:
        """Whether a write can change what is used."""

    def matching_resources(self, names: Iterable[str]) -> list[str]:
        """Of the names in a quota those that this evaluator counts."""

    def constraints(self, required: Iterable[str], obj: Object) -> str:
        """What the object lacks where a quota limits `required`; "" when it is fit."""

    def matches_scope(self, scope: Object, obj: Object) -> bool:
        """Whether an object is in a scope (`scopeName`, `operator`, `values`)."""

    def usage(self, obj: Object, now_ms: int) -> ResourceList:
        """What the object costs."""


class _ObjectCountEvaluator:
    """So many objects: `count/deployments.apps`, and the old names of a few."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self._names = (f"count/{resource}", resource) if resource in _ALIASES else (f"count/{resource}",)

    def handles(self, operation: str, subresource: str, obj: Object | None, old: Object | None) -> bool:
        return operation == "CREATE" and not subresource

    def matching_resources(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self._names]

    def constraints(self, required: Iterable[str], obj: Object) -> str:
        return ""

    def matches_scope(self, scope: Object, obj: Object) -> bool:
        return False

    def usage(self, obj: Object, now_ms: int) -> ResourceList:
        return dict.fromkeys(self._names, _ONE)


class _ServiceEvaluator:
    """Services, their node ports (as many as they will get) and load balancers."""

    resource = "services"
    _names = ("count/services", "services", "services.nodeports", "services.loadbalancers")

    def handles(self, operation: str, subresource: str, obj: Object | None, old: Object | None) -> bool:
        return operation in ("CREATE", "UPDATE")

    def matching_resources(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self._names]

    def constraints(self, required: Iterable[str], obj: Object) -> str:
        return ""

    def matches_scope(self, scope: Object, obj: Object) -> bool:
        return False

    def usage(self, obj: Object, now_ms: int) -> ResourceList:
        spec = obj.get("spec") or {}
        ports = spec.get("ports") or ()
        kind = spec.get("type")
        node_ports = 0
        if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            node_ports = sum(1 for port in ports if port.get("nodePort"))
        elif kind in ("NodePort", "LoadBalancer"):
            node_ports = len(ports)
        return {
            "count/services": _ONE,
            "services": _ONE,
            "services.loadbalancers": _ONE if kind == "LoadBalancer" else _ZERO,
            "services.nodeports": Quantity(node_ports),
        }


class _ClaimEvaluator:
    """PersistentVolumeClaims and the storage they ask for, in all and by storage class."""

    resource = "persistentvolumeclaims"
    _names = ("persistentvolumeclaims", "requests.storage")

    def handles(self, operation: str, subresource: str, obj: Object | None, old: Object | None) -> bool:
        if not subresource:
            return operation in ("CREATE", "UPDATE")
        if subresource != "status" or obj is None or old is None:
            return False
        return _allocated(obj) != _allocated(old) or _attribute_classes(obj) != _attribute_classes(old)

    def matching_resources(self, names: Iterable[str]) -> list[str]:
        by_class = tuple(_BY_CLASS + name for name in self._names)
        return [n for n in names if n == f"count/{self.resource}" or n in self._names or n.endswith(by_class)]

    def constraints(self, required: Iterable[str], obj: Object) -> str:
        return ""

    def matches_scope(self, scope: Object, obj: Object) -> bool:
        name = "VolumeAttributesClass"
        if scope.get("scopeName") != name:
            return False
        classes = sorted(_attribute_classes(obj))
        if scope.get("operator") == "Exists":
            return bool(classes)
        return any(selector_matches(scope, {name: one}) for one in classes) if classes else selector_matches(scope, {})

    def usage(self, obj: Object, now_ms: int) -> ResourceList:
        result: ResourceList = {"persistentvolumeclaims": _ONE, "count/persistentvolumeclaims": _ONE}
        prefix = _class_of(obj) + _BY_CLASS if _class_of(obj) else ""
        if prefix:
            result[f"{prefix}persistentvolumeclaims"] = _ONE
        storage = resource_list(((obj.get("spec") or {}).get("resources") or {}).get("requests")).get("storage")
        if storage is not None:
            allocated = resource_list(_allocated(obj)).get("storage")
            storage = (allocated if allocated is not None and allocated > storage else storage).round_up(0)[0]
            result["requests.storage"] = storage
            if prefix:
                result[f"{prefix}requests.storage"] = storage
        return result


def _class_of(claim: Object) -> str:
    annotation = ((claim.get("metadata") or {}).get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    if annotation is not None:
        return str(annotation)
    return (claim.get("spec") or {}).get("storageClassName") or ""


def _allocated(claim: Object) -> Object:
    return (claim.get("status") or {}).get("allocatedResources") or {}


def _attribute_classes(claim: Object) -> set[str]:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    names = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return {name for name in names if name}


_SPECIAL: dict[str, Evaluator] = {one.resource: one for one in (PodEvaluator(), _ServiceEvaluator(), _ClaimEvaluator())}
_counts: dict[str, Evaluator] = {}


def evaluator_of(group_resource: str) -> Evaluator:
    """Who counts the objects of a resource; anything that is stored can be counted by number."""
    found = _SPECIAL.get(group_resource) or _counts.get(group_resource)
    if found is None:
        found = _counts[group_resource] = _ObjectCountEvaluator(group_resource)
    return found


def evaluators_for(names: Iterable[str]) -> Iterator[Evaluator]:
    """Those who count something of what a quota limits."""
    names = list(names)
    for evaluator in _SPECIAL.values():
        if evaluator.matching_resources(names):
            yield evaluator
    seen = set(_SPECIAL)
    for name in names:
        resource = name.removeprefix("count/") if name.startswith("count/") else name if name in _ALIASES else ""
        if resource and resource not in seen:
            seen.add(resource)
            yield evaluator_of(resource)


def scope_selectors(quota: Object) -> list[Object]:
    """A quota's scopes, old and new form, as requirements."""
    spec = quota.get("spec") or {}
    found: list[Object] = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    return found + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def matches(evaluator: Evaluator, quota: Object, obj: Object) -> bool:
    """Whether a quota limits something that the object costs, and the object is in all of its scopes."""
    hard = (quota.get("status") or {}).get("hard") or {}
    if not evaluator.matching_resources(hard):
        return False
    return all(evaluator.matches_scope(scope, obj) for scope in scope_selectors(quota))


def calculate_usage(
    quota: Object, objects_of: Callable[[str], Iterable[Object] | None], now_ms: int
) -> tuple[ResourceList, list[str]]:
    """(what of `spec.hard` is used now, resources that could not be counted).

    `objects_of`: the objects of a resource in the quota's namespace; None when nobody can list them.
    """
    hard = list((quota.get("spec") or {}).get("hard") or {})
    used: ResourceList = {}
    failed: list[str] = []
    for evaluator in evaluators_for(hard):
        counted = evaluator.matching_resources(hard)
        objects = objects_of(evaluator.resource)
        if objects is None:
            failed.append(evaluator.resource)
            continue
        total: ResourceList = dict.fromkeys(counted, _ZERO)
        for obj in objects:
            if all(evaluator.matches_scope(scope, obj) for scope in scope_selectors(quota)):
                total = add(total, evaluator.usage(obj, now_ms))
        used = add(used, mask(total, counted))
    return used, failed
