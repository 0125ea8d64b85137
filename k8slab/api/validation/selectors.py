"""Labels, label selectors, and whether a selector matches the labels of a template.

Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_qualified_name, is_valid_label_value
from k8slab.api.validation.field import each, forbidden, invalid, required

__all__ = ["NOT_AN_OPERATOR", "validate_label_name", "validate_label_selector", "validate_labels", "validate_operator"]

NOT_AN_OPERATOR = "not a valid selector operator"


def validate_label_name(path: str, name: str) -> list[Cause]:
    return each(path, name, is_qualified_name(name))


def validate_labels(path: str, labels: Mapping[str, str] | None) -> list[Cause]:
    errors: list[Cause] = []
    for name, value in (labels or {}).items():
        errors += validate_label_name(path, name)
        errors += each(path, value, is_valid_label_value(value))
    return errors


def validate_operator(path: str, operator: str, values: Sequence[str], *, numeric: bool = False) -> list[Cause]:
    """Does a requirement have as many values as its operator wants? `numeric` allows Gt and Lt (node affinity)."""
    if operator in ("In", "NotIn"):
        if not values:
            return [required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            return [forbidden(f"{path}.values", detail)]
    elif numeric and operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            return [required(f"{path}.values", detail)]
    else:
        return [invalid(f"{path}.operator", operator, NOT_AN_OPERATOR)]
    return []


def validate_label_selector(
    path: str, selector: Mapping[str, Any] | None, *, allow_invalid_values: bool = False
) -> list[Cause]:
    if selector is None:
        return []
    errors = validate_labels(f"{path}.matchLabels", selector.get("matchLabels"))
    for index, expression in enumerate(selector.get("matchExpressions", ())):
        errors += _validate_requirement(f"{path}.matchExpressions[{index}]", expression, allow_invalid_values)
    return errors


def _validate_requirement(path: str, expression: Mapping[str, Any], allow_invalid_values: bool) -> list[Cause]:
    values = expression.get("values", ())
    errors = validate_operator(path, expression.get("operator", ""), values)
    errors += validate_label_name(f"{path}.key", expression.get("key", ""))
    if not allow_invalid_values:
        for index, value in enumerate(values):
            errors += each(f"{path}.values[{index}]", value, is_valid_label_value(value))
    return errors
