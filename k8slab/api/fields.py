"""Field selectors: equality on a few fields of an object (`spec.nodeName=node-1`).

Upstream: apimachinery/pkg/fields/selector.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

__all__ = ["EVERYTHING_FIELD", "FieldRequirement", "FieldSelector", "escape_value", "parse_field_selector"]

_OPERATORS = ("!=", "==", "=")


def escape_value(value: str) -> str:
    """Backslashes in front of what has a meaning in a field selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


class FieldRequirement(NamedTuple):
    """`operator` is `=` or `!=`. An absent field counts as the empty text."""

    field: str
    operator: str
    value: str

    def matches(self, fields: Mapping[str, str]) -> bool:
        return (fields.get(self.field, "") == self.value) == (self.operator == "=")

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escape_value(self.value)}"


class FieldSelector:
    """A conjunction of requirements; immutable."""

    __slots__ = ("requirements",)

    requirements: tuple[FieldRequirement, ...]

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements = tuple(requirements)

    @property
    def empty(self) -> bool:
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """`fields`: the selectable fields of an object, by dotted name."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def requires_exact_match(self, field: str) -> str | None:
        """The value that the first equality on `field` asks for."""
        for requirement in self.requirements:
            if requirement.field == field and requirement.operator == "=":
                return requirement.value
        return None

    def transform(self, change: Callable[[str, str], tuple[str, str]]) -> FieldSelector:
        """Each (field, value) replaced by what `change` returns; ("", "") drops the requirement."""
        changed = [(change(r.field, r.value), r.operator) for r in self.requirements]
        return FieldSelector(FieldRequirement(f, operator, v) for (f, v), operator in changed if f or v)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"parse_field_selector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.requirements == other.requirements if isinstance(other, FieldSelector) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.requirements)


EVERYTHING_FIELD = FieldSelector()


def _split_terms(text: str) -> list[str]:
    """At commas without a backslash in front."""
    terms, start, escaped = [], 0, False
    for index, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == ",":
            terms.append(text[start:index])
            start = index + 1
    return [*terms, text[start:]]


def _split_term(term: str) -> tuple[str, str, str] | None:
    """Left side, operator, right side at the leftmost operator."""
    for index in range(len(term)):
        for operator in _OPERATORS:
            if term.startswith(operator, index):
                return term[:index], operator, term[index + len(operator) :]
    return None


def _unescape_value(text: str) -> str:
    characters = []
    escaped = False
    for character in text:
        if escaped:
            if character not in "\\,=":
                raise ValueError(f"invalid field selector: invalid escape sequence: \\{character}")
            characters.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in ",=":
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            characters.append(character)
    if escaped:
        raise ValueError("invalid field selector: invalid escape sequence: \\")
    return "".join(characters)


@lru_cache(maxsize=1024)
def parse_field_selector(text: str) -> FieldSelector:
    """The selector of a query parameter or of `kubectl --field-selector`; terms are sorted as text.

    Spaces belong to fields and values. Raises ValueError with upstream's text.
    """
    requirements = []
    for term in sorted(_split_terms(text)):
        if not term:
            continue
        parts = _split_term(term)
        if parts is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
        field, operator, value = parts
        requirement = FieldRequirement(field, "!=" if operator == "!=" else "=", _unescape_value(value))
        if requirement.field or requirement.value:
            requirements.append(requirement)
    return FieldSelector(requirements)
