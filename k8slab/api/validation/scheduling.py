"""What a Pod says about where it may run: affinity, tolerations, spread constraints, gates; and taints of Nodes.

Upstream: pkg/apis/core/validation/validation.go (validateAffinity, ValidateTolerations, ...)
Simplified: before 1.34, which began to merge the keys, a spread constraint whose selector and matchLabelKeys share a
key was refused by a rule of its own; here a cluster of such a release accepts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_subdomain, is_qualified_name, is_valid_label_value
from k8slab.api.tolerations import TAINT_EFFECTS
from k8slab.api.validation.field import duplicate, each, forbidden, invalid, not_supported, required
from k8slab.api.validation.metadata import dns_label
from k8slab.api.validation.selectors import (
    NOT_AN_OPERATOR,
    validate_label_name,
    validate_label_selector,
    validate_operator,
)

__all__ = [
    "validate_affinity",
    "validate_node_selector_term",
    "validate_scheduling_gates",
    "validate_taint_effect",
    "validate_tolerations",
    "validate_topology_spread",
]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
Term = Mapping[str, Any]


def validate_affinity(path: str, affinity: Term) -> list[Cause]:
    errors: list[Cause] = []
    if "nodeAffinity" in affinity:
        errors += _validate_node_affinity(f"{path}.nodeAffinity", affinity["nodeAffinity"])
    for kind in ("podAffinity", "podAntiAffinity"):
        if kind in affinity:
            errors += _validate_pod_affinity(f"{path}.{kind}", affinity[kind])
    return errors


def _validate_node_affinity(path: str, affinity: Term) -> list[Cause]:
    errors: list[Cause] = []
    if _REQUIRED in affinity:
        where = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        terms = affinity[_REQUIRED].get("nodeSelectorTerms") or ()
        if not terms:
            errors.append(required(where, "must have at least one node selector term"))
        for index, term in enumerate(terms):
            errors += validate_node_selector_term(f"{where}[{index}]", term)
    for index, preferred in enumerate(affinity.get(_PREFERRED, ())):
        where = f"{path}.{_PREFERRED}[{index}]"
        errors += _validate_weight(where, preferred)
        errors += validate_node_selector_term(
            f"{where}.preference", preferred.get("preference", {}), check_values=False
        )
    return errors


def _validate_weight(path: str, term: Term) -> list[Cause]:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def validate_node_selector_term(path: str, term: Term, *, check_values: bool = True) -> list[Cause]:
    errors: list[Cause] = []
    for index, requirement in enumerate(term.get("matchExpressions", ())):
        errors += _validate_node_requirement(f"{path}.matchExpressions[{index}]", requirement, check_values)
    for index, requirement in enumerate(term.get("matchFields", ())):
        errors += _validate_field_requirement(f"{path}.matchFields[{index}]", requirement)
    return errors


def _validate_node_requirement(path: str, requirement: Term, check_values: bool) -> list[Cause]:
    values = requirement.get("values", ())
    errors = validate_operator(path, requirement.get("operator", ""), values, numeric=True)
    errors += validate_label_name(f"{path}.key", requirement.get("key", ""))
    if check_values:
        for index, value in enumerate(values):
            errors += each(f"{path}.values[{index}]", value, is_valid_label_value(value))
    return errors


def _validate_field_requirement(path: str, requirement: Term) -> list[Cause]:
    errors: list[Cause] = []
    operator, values, key = requirement.get("operator", ""), requirement.get("values", ()), requirement.get("key", "")
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, NOT_AN_OPERATOR))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", detail))
    if key != "metadata.name":
        errors.append(invalid(f"{path}.key", key, "not a valid field selector key"))
    else:
        for index, value in enumerate(values):
            errors += each(f"{path}.values[{index}]", value, is_dns1123_subdomain(value))
    return errors


def _validate_pod_affinity(path: str, affinity: Term) -> list[Cause]:
    errors: list[Cause] = []
    for index, term in enumerate(affinity.get(_REQUIRED, ())):
        errors += _validate_pod_affinity_term(f"{path}.{_REQUIRED}[{index}]", term)
    for index, weighted in enumerate(affinity.get(_PREFERRED, ())):
        where = f"{path}.{_PREFERRED}[{index}]"
        errors += _validate_weight(where, weighted)
        errors += _validate_pod_affinity_term(f"{where}.podAffinityTerm", weighted.get("podAffinityTerm", {}))
    return errors


def _validate_pod_affinity_term(path: str, term: Term) -> list[Cause]:
    selector = term.get("labelSelector")
    errors = validate_label_selector(f"{path}.labelSelector", selector)
    errors += validate_label_selector(f"{path}.namespaceSelector", term.get("namespaceSelector"))
    for namespace in term.get("namespaces", ()):
        errors += each(f"{path}.namespace", namespace, dns_label(namespace))
    match, mismatch = term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ())
    errors += _validate_match_label_keys(path, match, mismatch, selector)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + validate_label_name(f"{path}.topologyKey", key)


def _validate_match_label_keys(
    path: str, match: Sequence[str], mismatch: Sequence[str], selector: Term | None
) -> list[Cause]:
    """Valid names, none of `match` twice in the selector, none in both lists.

    The strategy has written the keys of a new Pod into the selector's matchExpressions before, so a key that the user
    had there, too, is there twice now. Upstream's path for that leaves "matchLabelKeys" out: `term[0]`.
    """
    errors = _validate_label_keys(f"{path}.matchLabelKeys", match, selector)
    errors += _validate_label_keys(f"{path}.mismatchLabelKeys", mismatch, selector)
    if selector is not None:
        last_index = {key: index for index, key in enumerate(match)}
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions", ()):
            key = expression.get("key", "")
            if key in last_index and key in seen:
                detail = "exists in both matchLabelKeys and labelSelector"
                errors.append(invalid(f"{path}[{last_index[key]}]", key, detail))
            seen.add(key)
    for index, key in enumerate(match):
        if key in mismatch:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(f"{path}.matchLabelKeys[{index}]", key, detail))
    return errors


def _validate_label_keys(path: str, keys: Sequence[str], selector: Term | None) -> list[Cause]:
    if not keys:
        return []
    if selector is None:
        return [forbidden(path, "must not be specified when labelSelector is not set")]
    return [error for index, key in enumerate(keys) for error in validate_label_name(f"{path}[{index}]", key)]


def validate_tolerations(path: str, tolerations: Sequence[Term]) -> list[Cause]:
    errors: list[Cause] = []
    for index, toleration in enumerate(tolerations):
        errors += _validate_toleration(f"{path}[{index}]", toleration)
    return errors


def _validate_toleration(path: str, toleration: Term) -> list[Cause]:
    errors: list[Cause] = []
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        errors += validate_label_name(f"{path}.key", key)
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{path}.operator", operator, detail))
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{path}.effect", effect, detail))
    if operator in ("", "Equal"):
        if messages := is_valid_label_value(value):
            errors.append(invalid(f"{path}.operator", value, ";".join(messages)))
    elif operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"))
    else:
        comparing = ("Lt", "Gt") if operator in ("Lt", "Gt") else ()
        errors.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists", *comparing)))
    if effect:
        errors += validate_taint_effect(f"{path}.effect", effect)
    return errors


def validate_taint_effect(path: str, effect: str) -> list[Cause]:
    if not effect:
        return [required(path)]
    return [] if effect in TAINT_EFFECTS else [not_supported(path, effect, TAINT_EFFECTS)]


def validate_topology_spread(path: str, constraints: Sequence[Term]) -> list[Cause]:
    errors: list[Cause] = []
    for index, constraint in enumerate(constraints):
        errors += _validate_spread(f"{path}[{index}]", constraint, constraints[index + 1 :])
    return errors


def _validate_spread(path: str, constraint: Term, others: Sequence[Term]) -> list[Cause]:
    errors: list[Cause] = []
    skew, key = constraint.get("maxSkew", 0), constraint.get("topologyKey", "")
    action, domains = constraint.get("whenUnsatisfiable", ""), constraint.get("minDomains")
    if skew <= 0:
        errors.append(invalid(f"{path}.maxSkew", skew, "must be greater than zero"))
    errors += (
        validate_label_name(f"{path}.topologyKey", key)
        if key
        else [required(f"{path}.topologyKey", "can not be empty")]
    )
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        errors.append(not_supported(f"{path}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway")))
    if any((o.get("topologyKey", ""), o.get("whenUnsatisfiable", "")) == (key, action) for o in others):
        errors.append(duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
    if domains is not None and domains <= 0:
        errors.append(invalid(f"{path}.minDomains", domains, "must be greater than zero"))
    if domains is not None and action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(f"{path}.minDomains", domains, detail))
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if constraint.get(name, "Honor") not in ("Honor", "Ignore"):
            errors.append(not_supported(f"{path}.{name}", constraint[name], ("Honor", "Ignore")))
    selector = constraint.get("labelSelector")
    errors += _validate_match_label_keys(path, constraint.get("matchLabelKeys", ()), (), selector)
    return errors + validate_label_selector(f"{path}.labelSelector", selector)


def validate_scheduling_gates(path: str, gates: Sequence[Term]) -> list[Cause]:
    errors: list[Cause] = []
    seen: list[str] = []
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += each(f"{path}[{index}]", name, is_qualified_name(name))
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.append(name)
    return errors
