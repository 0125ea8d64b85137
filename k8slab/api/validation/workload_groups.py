"""PodGroups and Workloads of `scheduling.k8s.io/v1alpha2`: what the scheduler is told of Pods that belong together.

>>> group = {"metadata": {"name": "g", "namespace": "default"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 0}}}}
>>> [f"{cause.field}: {cause.message}" for cause in validate_pod_group_create(group)]
['spec.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1']

Upstream: staging/src/k8s.io/api/scheduling/v1alpha2/types.go (its `+k8s:` rules), apimachinery/pkg/api/validate
Simplified: of a group its policy and the reference to its template; topology, claims, disruption mode and priority are
    alpha of their own, behind other gates, and are stored unread. That the Workload of a reference exists is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_label, is_dns1123_subdomain
from k8slab.api.validation.field import IMMUTABLE, duplicate, each, invalid, required, too_many, type_invalid
from k8slab.api.validation.metadata import dns_subdomain, validate_metadata, validate_metadata_update

__all__ = [
    "MAX_POD_GROUP_TEMPLATES",
    "validate_pod_group_create",
    "validate_pod_group_update",
    "validate_scheduling_group",
    "validate_workload_create",
    "validate_workload_update",
]

MAX_POD_GROUP_TEMPLATES = 8
Object = Mapping[str, Any]


def validate_pod_group_create(group: Object) -> list[Cause]:
    errors = validate_metadata(group["metadata"], True, dns_subdomain)
    spec = group.get("spec")
    if not isinstance(spec, Mapping):
        return [*errors, required("spec")]
    errors += _validate_template_ref("spec.podGroupTemplateRef", spec.get("podGroupTemplateRef"))
    return errors + _validate_policy("spec.schedulingPolicy", spec.get("schedulingPolicy"))


def validate_pod_group_update(new: Object, old: Object) -> list[Cause]:
    """A group's policy and template do not change: another group is another object."""
    return _validate_frozen(new, old, ("podGroupTemplateRef", "schedulingPolicy"))


def validate_workload_create(workload: Object) -> list[Cause]:
    errors = validate_metadata(workload["metadata"], True, dns_subdomain)
    spec = workload.get("spec")
    templates = spec.get("podGroupTemplates") if isinstance(spec, Mapping) else None
    path = "spec.podGroupTemplates"
    if not templates:
        return [*errors, required(path)]
    if not isinstance(templates, list):
        return [*errors, type_invalid(path, templates, "expected a list")]
    if len(templates) > MAX_POD_GROUP_TEMPLATES:
        errors.append(too_many(path, len(templates), MAX_POD_GROUP_TEMPLATES))
    names: set[str] = set()
    for index, template in enumerate(templates):
        where = f"{path}[{index}]"
        if not isinstance(template, Mapping):
            errors.append(type_invalid(where, template, "expected an object"))
            continue
        name = template.get("name")
        if not isinstance(name, str) or not name:
            errors.append(required(f"{where}.name"))
        elif name in names:
            errors.append(duplicate(where, name))
        else:
            errors += each(f"{where}.name", name, is_dns1123_label(name))
            names.add(name)
        errors += _validate_policy(f"{where}.schedulingPolicy", template.get("schedulingPolicy"))
    return errors


def validate_workload_update(new: Object, old: Object) -> list[Cause]:
    return _validate_frozen(new, old, ("controllerRef", "podGroupTemplates"))


def validate_scheduling_group(path: str, group: Any) -> list[Cause]:
    """`spec.schedulingGroup` of a Pod."""
    name = group.get("podGroupName")
    if not name:
        return [invalid(path, "", "must specify one of: `podGroupName`")]
    return each(f"{path}.podGroupName", name, is_dns1123_subdomain(name))


def _validate_frozen(new: Object, old: Object, fields: tuple[str, ...]) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    now, before = new.get("spec") or {}, old.get("spec") or {}
    for field in fields:
        if now.get(field) != before.get(field):
            errors.append(invalid(f"spec.{field}", now.get(field), IMMUTABLE))
    return errors


def _validate_policy(path: str, policy: Any) -> list[Cause]:
    """Exactly one of `basic` and `gang`."""
    if policy is not None and not isinstance(policy, Mapping):
        return [type_invalid(path, policy, "expected an object")]
    chosen = [name for name in ("basic", "gang") if (policy or {}).get(name) is not None]
    if not chosen:
        return [invalid(path, "", "must specify one of: `basic`, `gang`")]
    if len(chosen) > 1:
        return [invalid(path, f"{{{', '.join(chosen)}}}", "must specify exactly one of: `basic`, `gang`")]
    rules = (policy or {})[chosen[0]]
    if not isinstance(rules, Mapping):
        return [type_invalid(f"{path}.{chosen[0]}", rules, "expected an object")]
    return _validate_min_count(f"{path}.gang.minCount", rules.get("minCount")) if chosen == ["gang"] else []


def _validate_min_count(path: str, count: Any) -> list[Cause]:
    if count is None:
        return [required(path)]
    if not isinstance(count, int) or isinstance(count, bool):
        return [type_invalid(path, count, "expected an integer")]
    return [] if count >= 1 else [invalid(path, count, "must be greater than or equal to 1")]


def _validate_template_ref(path: str, ref: Any) -> list[Cause]:
    if ref is None:
        return []
    workload = ref.get("workload") if isinstance(ref, Mapping) else None
    if not isinstance(workload, Mapping):
        return [invalid(path, "", "must specify one of: `workload`")]
    rules = (("workloadName", is_dns1123_subdomain), ("podGroupTemplateName", is_dns1123_label))
    errors: list[Cause] = []
    for field, rule in rules:
        name = workload.get(field)
        where = f"{path}.workload.{field}"
        errors += each(where, name, rule(name)) if isinstance(name, str) and name else [required(where)]
    return errors
