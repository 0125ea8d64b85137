"""Which nodes a Pod may run on (`nodeSelector`, required node affinity) and which it would rather have (preferred).

>>> from k8slab.api.node_affinity import required_node_affinity
>>> pod = {"spec": {"nodeSelector": {"disk": "ssd"}}}
>>> required_node_affinity(pod).matches({"metadata": {"name": "n1", "labels": {"disk": "ssd"}}})
True

Upstream: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.fields import FieldRequirement, FieldSelector
from k8slab.api.go_json import go_json
from k8slab.api.labels import (
    AggregateError,
    Requirement,
    Selector,
    go_quote,
    new_requirement,
    selector_from_set,
)
from k8slab.api.objects import Object

__all__ = [
    "NodeSelector",
    "PreferredSchedulingTerms",
    "RequiredNodeAffinity",
    "matches_node_selector_terms",
    "required_node_affinity",
]

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}
_FIELD_OPERATORS = {"In": "=", "NotIn": "!="}


def _not_supported(path: str, operator: str, supported: Iterable[str]) -> str:
    shown = ", ".join(map(go_quote, supported))
    return f"{path}.operator: Unsupported value: {go_quote(operator)}: supported values: {shown}"


def _label_selector(expressions: Sequence[Object], path: str) -> tuple[Selector, list[str]]:
    requirements: list[Requirement] = []
    errors: list[str] = []
    for index, expression in enumerate(expressions):
        here = f"{path}[{index}]"
        operator = expression.get("operator") or ""
        if operator not in _OPERATORS:
            errors.append(_not_supported(here, operator, _OPERATORS))
            continue
        try:
            key, values = expression.get("key") or "", expression.get("values")
            requirements.append(new_requirement(key, _OPERATORS[operator], values, here))
        except AggregateError as error:
            errors += error.messages
    return Selector(requirements), errors


def _field_selector(expressions: Sequence[Object], path: str) -> tuple[FieldSelector, list[str]]:
    requirements: list[FieldRequirement] = []
    errors: list[str] = []
    for index, expression in enumerate(expressions):
        here = f"{path}[{index}]"
        operator = expression.get("operator") or ""
        values = expression.get("values")
        if operator not in _FIELD_OPERATORS:
            errors.append(_not_supported(here, operator, _FIELD_OPERATORS))
        elif values is None or len(values) != 1:
            shown = None if values is None else list(values)
            errors.append(f"{here}.values: Invalid value: {go_json(shown)}: must have one element")
        else:
            requirements.append(FieldRequirement(expression.get("key") or "", _FIELD_OPERATORS[operator], values[0]))
    return FieldSelector(requirements), errors


def _node_fields(node: Object) -> dict[str, str]:
    name = node["metadata"].get("name")
    return {"metadata.name": name} if name else {}


class _Term(NamedTuple):
    """A parsed nodeSelectorTerm; `errors` empty means usable. `weight` 0 for required terms."""

    labels: Selector | None
    fields: FieldSelector | None
    errors: tuple[str, ...]
    weight: int = 0

    def matches(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        if self.labels is not None and not self.labels.matches(labels):
            return False
        return self.fields is None or not fields or self.fields.matches(fields)


def _is_empty(term: Object) -> bool:
    return not term.get("matchExpressions") and not term.get("matchFields")


def _parse_term(term: Object, path: str, weight: int = 0) -> _Term:
    labels = fields = None
    errors: list[str] = []
    if term.get("matchExpressions"):
        labels, found = _label_selector(term["matchExpressions"], f"{path}.matchExpressions")
        errors += found
    if term.get("matchFields"):
        fields, found = _field_selector(term["matchFields"], f"{path}.matchFields")
        errors += found
    return _Term(labels, fields, tuple(errors), weight)


class NodeSelector:
    """Terms of which one must match. Empty terms match nothing; terms that do not parse only matter when none does."""

    __slots__ = ("terms",)

    def __init__(self, node_selector: Object, path: str = "") -> None:
        """`node_selector`: an object with nodeSelectorTerms; `path` stands in front of field names in error texts."""
        prefix = f"{path}.nodeSelectorTerms" if path else "nodeSelectorTerms"
        self.terms = [
            _parse_term(term, f"{prefix}[{index}]")
            for index, term in enumerate(node_selector.get("nodeSelectorTerms") or ())
            if not _is_empty(term)
        ]

    def check(self) -> None:
        """Raises ValueError with the errors of all terms: for callers that may not use a half-parsed selector."""
        errors = [error for term in self.terms for error in term.errors]
        if errors:
            raise AggregateError(errors)

    def matches(self, node: Object) -> bool:
        """Raises ValueError with the parse errors if no term matches and some could not be parsed."""
        labels, fields = node["metadata"].get("labels") or {}, _node_fields(node)
        errors: list[str] = []
        for term in self.terms:
            if term.errors:
                errors += term.errors
            elif term.matches(labels, fields):
                return True
        if errors:
            raise AggregateError(errors)
        return False


def matches_node_selector_terms(node: Object, node_selector: Object) -> bool:
    """MatchNodeSelectorTerms; ValueError as NodeSelector.matches."""
    return NodeSelector(node_selector).matches(node)


class RequiredNodeAffinity:
    """`spec.nodeSelector` and the required part of `spec.affinity.nodeAffinity`: both must hold."""

    __slots__ = ("labels", "node_selector")

    def __init__(self, node_selector: Mapping[str, str] | None, affinity: Mapping[str, Any] | None) -> None:
        self.labels = selector_from_set(node_selector) if node_selector else None
        node_affinity = (affinity or {}).get("nodeAffinity") or {}
        required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        self.node_selector = None if required is None else NodeSelector(required)

    @property
    def empty(self) -> bool:
        """Nothing is required."""
        return self.labels is None and self.node_selector is None

    def matches(self, node: Object) -> bool:
        """Raises ValueError as NodeSelector.matches."""
        if self.labels is not None and not self.labels.matches(node["metadata"].get("labels")):
            return False
        return self.node_selector is None or self.node_selector.matches(node)


def required_node_affinity(pod: Object) -> RequiredNodeAffinity:
    """GetRequiredNodeAffinity."""
    spec = pod.get("spec") or {}
    return RequiredNodeAffinity(spec.get("nodeSelector"), spec.get("affinity"))


class PreferredSchedulingTerms:
    """Terms with weights; empty ones and those of weight 0 are skipped unread. ValueError if another has errors."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[Object], path: str = "") -> None:
        """`terms`: preferredDuringSchedulingIgnoredDuringExecution."""
        self.terms = [
            _parse_term(term.get("preference") or {}, f"{path}[{index}]", term["weight"])
            for index, term in enumerate(terms)
            if term.get("weight") and not _is_empty(term.get("preference") or {})
        ]
        errors = [error for term in self.terms for error in term.errors]
        if errors:
            raise AggregateError(errors)

    def score(self, node: Object) -> int:
        """The sum of the weights of the terms that match the node."""
        if not self.terms:
            return 0
        labels, fields = node["metadata"].get("labels") or {}, _node_fields(node)
        return sum(term.weight for term in self.terms if term.matches(labels, fields))
