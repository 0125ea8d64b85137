"""What webhooks and policies have in common: rules, match conditions, selectors, expressions.

Upstream: pkg/apis/admissionregistration/validation/validation.go, apimachinery/pkg/util/validation/validation.go
(IsFullyQualifiedName)
Simplified: the estimated cost of an expression is not limited.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.cel import CELUnavailableError, CompileError, compile_expression
from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_subdomain, is_qualified_name
from k8slab.api.validation.field import each, internal_error, invalid, not_supported, required, too_many

__all__ = [
    "FAILURE_POLICIES",
    "MATCH_POLICIES",
    "REINVOCATION_POLICIES",
    "Expressions",
    "supported",
    "validate_fully_qualified_name",
    "validate_match_conditions",
    "validate_rule",
]

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS = 64
Object = Mapping[str, Any]


def supported(path: str, value: str | None, values: Sequence[str]) -> list[Cause]:
    """A value that may be left out."""
    return [not_supported(path, value, values)] if value is not None and value not in values else []


def validate_fully_qualified_name(path: str, name: str) -> list[Cause]:
    if not name:
        return [required(path)]
    if errors := is_dns1123_subdomain(name):
        return [invalid(path, name, ",".join(errors))]
    if name.count(".") < 2:
        return [invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


# -- rules -------------------------------------------------------------------------------------------


def validate_rule(path: str, rule: Object) -> list[Cause]:
    """A rule with its operations."""
    operations = rule.get("operations") or []
    errors = _not_empty_or_all(f"{path}.operations", operations, "operations")
    errors += [
        not_supported(f"{path}.operations[{index}]", one, _OPERATIONS)
        for index, one in enumerate(operations)
        if one not in _OPERATIONS
    ]
    errors += _not_empty_or_all(f"{path}.apiGroups", rule.get("apiGroups") or [], "API groups")
    versions = rule.get("apiVersions") or []
    errors += _not_empty_or_all(f"{path}.apiVersions", versions, "API versions")
    errors += [required(f"{path}.apiVersions[{index}]") for index, one in enumerate(versions) if not one]
    errors += _validate_resources(f"{path}.resources", rule.get("resources") or [])
    return errors + supported(f"{path}.scope", rule.get("scope"), _SCOPES)


def _not_empty_or_all(path: str, names: list[str], what: str) -> list[Cause]:
    if not names:
        return [required(path)]
    if len(names) > 1 and "*" in names:
        return [invalid(path, names, f"if '*' is present, must not specify other {what}")]
    return []


def _validate_resources(path: str, resources: list[str]) -> list[Cause]:
    """Names, `x/*`, `*/x`: none twice over."""
    errors = [] if resources else [required(path)]
    all_parts_of: list[str] = []  # x/*
    part_of_all: list[str] = []  # */x
    is_last_plain = False
    for index, name in enumerate(resources):
        where = f"{path}[{index}]"
        if not name:
            errors.append(required(where))
            continue
        main, slash, part = name.partition("/")
        if not slash:
            is_last_plain = name != "*"  # upstream looks at the last one alone
            continue
        if main in all_parts_of:
            errors.append(invalid(where, name, f"if '{main}/*' is present, must not specify {name}"))
        if part in part_of_all:
            errors.append(invalid(where, name, f"if '*/{part}' is present, must not specify {name}"))
        all_parts_of += [main] if part == "*" else []
        part_of_all += [part] if main == "*" else []
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and is_last_plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, detail))
    return errors


# -- expressions -------------------------------------------------------------------------------------


class Expressions(NamedTuple):
    """Which variables expressions may name. `known`: expressions stored before, which are not judged again."""

    variables: tuple[str, ...] = ("namespaceObject", "object", "oldObject", "request")
    known: Collection[str] = ()

    def validate(self, path: str, expression: str, returns: tuple[str, ...] = ("bool",)) -> list[Cause]:
        """Whether it compiles, and to one of these types."""
        if expression in self.known:
            return []
        try:
            compile_expression(expression, self.variables, returns)
        except CompileError as error:
            return [invalid(path, expression, str(error))]
        except CELUnavailableError as error:
            return [internal_error(path, str(error))]
        return []


def validate_match_conditions(path: str, conditions: Sequence[Object], expressions: Expressions) -> list[Cause]:
    errors = []
    if len(conditions) > _MOST_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MOST_CONDITIONS))
    seen: list[str] = []
    for index, condition in enumerate(conditions):
        where, name = f"{path}[{index}]", condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        if expression:
            errors += expressions.validate(f"{where}.expression", expression)
        else:
            errors.append(required(f"{where}.expression"))
        errors += each(f"{where}.name", name, is_qualified_name(name)) if name else [required(f"{where}.name")]
        if name and name in seen:
            errors.append(Cause("FieldValueDuplicate", f'Duplicate value: "{name}"', f"{where}.name"))
        seen.append(name)
    return errors
