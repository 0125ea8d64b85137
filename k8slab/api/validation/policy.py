"""Disruption budgets, priority classes, roles and their bindings, leases.

Upstream: pkg/apis/{policy,scheduling,rbac,coordination}/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_subdomain, is_path_segment_name
from k8slab.api.priority_classes import (
    HIGHEST_USER_DEFINABLE_PRIORITY,
    PREEMPT_LOWER_PRIORITY,
    PREEMPTION_POLICIES,
    SYSTEM_PRIORITY_CLASSES,
)
from k8slab.api.validation.field import (
    IMMUTABLE,
    GoStruct,
    each,
    forbidden,
    invalid,
    not_negative,
    not_supported,
    required,
)
from k8slab.api.validation.metadata import dns_subdomain, path_segment, validate_metadata, validate_metadata_update
from k8slab.api.validation.numbers import validate_not_more_than_100_percent, validate_positive_int_or_percent
from k8slab.api.validation.selectors import validate_label_selector

__all__ = [
    "validate_cluster_role_binding_create",
    "validate_cluster_role_binding_update",
    "validate_cluster_role_create",
    "validate_disruption_budget_create",
    "validate_lease_create",
    "validate_priority_class_create",
    "validate_priority_class_update",
    "validate_role_binding_create",
    "validate_role_binding_update",
    "validate_role_create",
]

_RBAC = "rbac.authorization.k8s.io"
Object = Mapping[str, Any]


def validate_disruption_budget_create(budget: Object) -> list[Cause]:
    errors = validate_metadata(budget["metadata"], True, dns_subdomain)
    spec = budget["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = GoStruct({key: spec.get(key) for key in ("minAvailable", "selector", "maxUnavailable")})
        errors.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for key in ("minAvailable", "maxUnavailable"):
        if key in spec:
            errors += validate_positive_int_or_percent(f"spec.{key}", spec[key])
            errors += validate_not_more_than_100_percent(f"spec.{key}", spec[key])
    errors += validate_label_selector("spec.selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy", "AlwaysAllow")
    if policy not in ("AlwaysAllow", "IfHealthyBudget"):
        supported = ("AlwaysAllow", "IfHealthyBudget")
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, supported))
    return errors


def validate_priority_class_create(priority_class: Object) -> list[Cause]:
    name, value = priority_class["metadata"].get("name", ""), priority_class.get("value", 0)
    errors = validate_metadata(priority_class["metadata"], False, dns_subdomain)
    if name.startswith("system-"):
        if name not in SYSTEM_PRIORITY_CLASSES or value != SYSTEM_PRIORITY_CLASSES[name]:
            why = f"{name} is not a known system priority class"
            if name in SYSTEM_PRIORITY_CLASSES:
                why = f"value of {name} PriorityClass must be {SYSTEM_PRIORITY_CLASSES[name]}"
            detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            errors.append(forbidden("metadata.name", detail))
    elif value > HIGHEST_USER_DEFINABLE_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_DEFINABLE_PRIORITY}"
        errors.append(forbidden("value", detail))
    policy = priority_class.get("preemptionPolicy", PREEMPT_LOWER_PRIORITY)
    if policy not in PREEMPTION_POLICIES:
        errors.append(not_supported("preemptionPolicy", policy, PREEMPTION_POLICIES))
    return errors


def validate_priority_class_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    if new.get("value", 0) != old.get("value", 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    policy = new.get("preemptionPolicy")
    if policy != old.get("preemptionPolicy"):
        errors.append(invalid("preemptionPolicy", policy, IMMUTABLE))
    return errors


def validate_role_create(role: Object) -> list[Cause]:
    errors = validate_metadata(role["metadata"], True, path_segment)
    return errors + _validate_rules(role, is_namespaced=True)


def validate_cluster_role_create(role: Object) -> list[Cause]:
    errors = validate_metadata(role["metadata"], False, path_segment)
    errors += _validate_rules(role, is_namespaced=False)
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
    if "aggregationRule" in role and not selectors:
        errors.append(
            required(
                "aggregationRule.clusterRoleSelectors",
                "at least one clusterRoleSelector required if aggregationRule is non-nil",
            )
        )
    for index, selector in enumerate(selectors or ()):
        errors += validate_label_selector(f"aggregationRule.clusterRoleSelectors[{index}]", selector)
    return errors


def _validate_rules(role: Object, *, is_namespaced: bool) -> list[Cause]:
    errors: list[Cause] = []
    for index, rule in enumerate(role.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
        urls = list(rule.get("nonResourceURLs", ()))
        if urls:
            where = f"{path}.nonResourceURLs"
            if is_namespaced:
                errors.append(invalid(where, urls, "namespaced rules cannot apply to non-resource URLs"))
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(where, urls, detail))
            continue
        if not rule.get("apiGroups"):
            errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def validate_role_binding_create(binding: Object) -> list[Cause]:
    return _validate_binding(binding, True, ("Role", "ClusterRole"))


def validate_cluster_role_binding_create(binding: Object) -> list[Cause]:
    return _validate_binding(binding, False, ("ClusterRole",))


def _validate_binding(binding: Object, namespaced: bool, kinds: tuple[str, ...]) -> list[Cause]:
    errors = validate_metadata(binding["metadata"], namespaced, path_segment)
    reference = binding["roleRef"]
    group, kind, name = (reference.get(key, "") for key in ("apiGroup", "kind", "name"))
    if group != _RBAC:
        errors.append(not_supported("roleRef.apiGroup", group, (_RBAC,)))
    if kind not in kinds:
        errors.append(not_supported("roleRef.kind", kind, kinds))
    errors += each("roleRef.name", name, is_path_segment_name(name)) if name else [required("roleRef.name")]
    for index, subject in enumerate(binding.get("subjects", ())):
        errors += _validate_subject(f"subjects[{index}]", subject, namespaced)
    return errors


def _validate_subject(path: str, subject: Object, namespaced: bool) -> list[Cause]:
    errors: list[Cause] = []
    kind, name, group = (subject.get(key, "") for key in ("kind", "name", "apiGroup"))
    if not name:
        errors.append(required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            errors += each(f"{path}.name", name, is_dns1123_subdomain(name))
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _RBAC:
            errors.append(not_supported(f"{path}.apiGroup", group, (_RBAC,)))
    else:
        errors.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors


def _validate_binding_update(new: Object, old: Object, errors: list[Cause]) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"]) + errors
    if new["roleRef"] != old["roleRef"]:
        errors.append(invalid("roleRef", GoStruct(new["roleRef"]), "cannot change roleRef"))
    return errors


def validate_role_binding_update(new: Object, old: Object) -> list[Cause]:
    return _validate_binding_update(new, old, validate_role_binding_create(new))


def validate_cluster_role_binding_update(new: Object, old: Object) -> list[Cause]:
    return _validate_binding_update(new, old, validate_cluster_role_binding_create(new))


def validate_lease_create(lease: Object) -> list[Cause]:
    errors = validate_metadata(lease["metadata"], True, dns_subdomain)
    spec = lease.get("spec", {})
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    return errors + not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
