"""One requirement on one label: which values a node may still have.

>>> from k8slab.autoscaling.karpenter import Requirement
>>> small = Requirement.of("karpenter.k8s.aws/instance-cpu", "Lt", ["9"])
>>> chosen = Requirement.of("karpenter.k8s.aws/instance-cpu", "In", ["4", "8", "16"])
>>> str(small.intersection(chosen))
'karpenter.k8s.aws/instance-cpu In [4 8]'

Upstream: kubernetes-sigs/karpenter pkg/scheduling/requirement.go, pkg/apis/v1/labels.go (NormalizedLabels)
Simplified: `any` takes the least value instead of a random one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from k8slab.api.labels import go_quote

__all__ = ["BOUND_OPERATORS", "NORMALIZED_LABELS", "OPERATORS", "Requirement", "parse_requirement"]

BOUND_OPERATORS = ("Gt", "Lt", "Gte", "Lte")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", *BOUND_OPERATORS)

NORMALIZED_LABELS: Mapping[str, str] = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
"""Old names of labels, which count as the new ones."""

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SHOWN_VALUES = 5


def _greater(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else max(a, b)


def _less(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else min(a, b)


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) else None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A set of values: those in `values`, or (`complement`) all but those; within the bounds, where there are any.

    `gte` and `lte` are inclusive; Gt and Lt are turned into them. `min_values`: how many different values the instance
    types that are left must offer.
    """

    key: str
    complement: bool
    values: frozenset[str] = frozenset()
    gte: int | None = None
    lte: int | None = None
    min_values: int | None = None

    @classmethod
    def of(cls, key: str, operator: str, values: Iterable[str] = (), min_values: int | None = None) -> Requirement:
        """From an operator as manifests have it. ValueError for an unknown one or a bound that is no integer."""
        key = NORMALIZED_LABELS.get(key, key)
        given = list(values)
        if operator == "In":
            return cls(key, False, frozenset(given), min_values=min_values)
        if operator == "NotIn":
            return cls(key, True, frozenset(given), min_values=min_values)
        if operator == "Exists":
            return cls(key, True, min_values=min_values)
        if operator == "DoesNotExist":
            return cls(key, False, min_values=min_values)
        if operator not in BOUND_OPERATORS:
            raise ValueError(f"requirement on {key}: operator {operator!r}, expected one of {', '.join(OPERATORS)}")
        number = _integer(given[0]) if len(given) == 1 else None
        if number is None:
            raise ValueError(f"requirement on {key}: values {given!r}, expected one integer for operator {operator}")
        if operator in ("Gt", "Gte"):
            return cls(key, True, gte=number + (operator == "Gt"), min_values=min_values)
        return cls(key, True, lte=number - (operator == "Lt"), min_values=min_values)

    def intersection(self, other: Requirement) -> Requirement:
        """The values that both allow, and the greater `min_values`."""
        gte, lte = _greater(self.gte, other.gte), _less(self.lte, other.lte)
        min_values = _greater(self.min_values, other.min_values)
        if gte is not None and lte is not None and gte > lte:
            return Requirement(self.key, False, min_values=min_values)
        complement = self.complement and other.complement
        if complement:
            values = self.values | other.values
        elif self.complement:
            values = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if gte is not None or lte is not None:
            values = frozenset(value for value in values if _within(value, gte, lte))
        if not complement:
            gte = lte = None
        return Requirement(self.key, complement, values, gte, lte, min_values)

    def has_intersection(self, other: Requirement) -> bool:
        """Whether a value is left that both allow."""
        gte, lte = _greater(self.gte, other.gte), _less(self.lte, other.lte)
        if gte is not None and lte is not None and gte > lte:
            return False
        if self.complement and other.complement:
            return True
        some, rest = (other, self) if self.complement else (self, other)
        if gte is None and lte is None:
            return not some.values <= rest.values if rest.complement else not some.values.isdisjoint(rest.values)
        return any((value in rest.values) != rest.complement and _within(value, gte, lte) for value in some.values)

    def has(self, value: str) -> bool:
        """Whether a node with this value of the label would do."""
        return (value in self.values) != self.complement and _within(value, self.gte, self.lte)

    def any(self) -> str:
        """A value that is allowed: the least one. "" where there is none."""
        if not self.complement:
            return min(self.values, default="")
        least = self.gte if self.gte is not None else 0
        while str(least) in self.values:
            least += 1
        return str(least) if self.lte is None or least <= self.lte else ""

    @property
    def operator(self) -> str:
        """In, NotIn, Exists or DoesNotExist; bounds count as Exists."""
        if self.complement:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    @property
    def excludes(self) -> bool:
        """NotIn or DoesNotExist: a node without the label satisfies it."""
        return bool(self.values) == self.complement

    @property
    def only(self) -> str | None:
        """The value, where just one is left."""
        return next(iter(self.values)) if not self.complement and len(self.values) == 1 else None

    def listed(self) -> list[str]:
        """`values`, sorted."""
        return sorted(self.values)

    def with_min_values(self, min_values: int | None) -> Requirement:
        """The same values, another `min_values`."""
        return replace(self, min_values=min_values)

    def to_manifest(self) -> list[dict[str, Any]]:
        """As `spec.requirements` of a NodeClaim has it: one entry, or two where there are two bounds."""
        more = {} if self.min_values is None else {"minValues": self.min_values}
        bounds = [("Gte", self.gte), ("Lte", self.lte)]
        rows = [
            {"key": self.key, "operator": operator, "values": [str(bound)], **more}
            for operator, bound in bounds
            if bound is not None
        ]
        if rows:
            return rows
        values = {"values": self.listed()} if self.values else {}
        return [{"key": self.key, "operator": self.operator, **values, **more}]

    def __str__(self) -> str:
        text = f"{self.key} {self.operator}"
        if self.values:
            shown = self.listed()
            if len(shown) > _SHOWN_VALUES:
                shown = [*shown[:_SHOWN_VALUES], f"and {len(shown) - _SHOWN_VALUES} others"]
            text += f" [{' '.join(shown)}]"
        text += f" >={self.gte}" if self.gte is not None else ""
        text += f" <={self.lte}" if self.lte is not None else ""
        return text + (f" minValues {self.min_values}" if self.min_values is not None else "")


def _within(value: str, gte: int | None, lte: int | None) -> bool:
    if gte is None and lte is None:
        return True
    number = _integer(value)
    return number is not None and (gte is None or number >= gte) and (lte is None or number <= lte)


def _is_bound(values: Sequence[str]) -> bool:
    number = _integer(values[0]) if len(values) == 1 else None
    return number is not None and number >= 0


def parse_requirement(raw: Mapping[str, Any], path: str, operators: Collection[str] = OPERATORS) -> Requirement:
    """An entry of `requirements` or of matchExpressions. ValueError names the path, with the schema's messages."""
    if not isinstance(raw, Mapping):
        raise TypeError(f"{path}: {raw!r}: expected a mapping with key, operator and values")
    key, operator = raw.get("key") or "", raw.get("operator") or ""
    if not isinstance(key, str) or not isinstance(operator, str):
        raise TypeError(f"{path}: {raw!r}: expected strings for key and operator")
    if not key:
        raise ValueError(f"{path}.key: Required value")
    if operator not in operators:
        shown = ", ".join(map(go_quote, operators))
        raise ValueError(f"{path}.operator: Unsupported value: {go_quote(operator)}: supported values: {shown}")
    values = raw.get("values") or ()
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{path}.values: {values!r}: expected a list of strings")
    if operator == "In" and not values:
        raise ValueError(f"{path}: Invalid value: requirements with operator 'In' must have a value defined")
    if operator in BOUND_OPERATORS and not _is_bound(values):
        raise ValueError(
            f"{path}: Invalid value: requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive "
            "integer value"
        )
    min_values = raw.get("minValues")
    if min_values is not None and not (type(min_values) is int and 1 <= min_values <= 50):
        raise ValueError(f"{path}.minValues: Invalid value: {min_values!r}: expected a number from 1 to 50")
    if operator == "In" and min_values is not None and len(values) < min_values:
        raise ValueError(
            f"{path}: Invalid value: requirements with 'minValues' must have at least that many values specified in "
            "the 'values' field"
        )
    return Requirement.of(key, operator, values, min_values)
