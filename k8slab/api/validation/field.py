"""Errors about a field, in upstream's words.

A path is a text as users read it (`spec.containers[0].name`); each function returns one Cause for `details.causes`.

>>> invalid("spec.replicas", -1, NOT_NEGATIVE).message
'Invalid value: -1: must be greater than or equal to 0'
>>> not_supported("spec.type", "Foo", ("A", "B")).message
'Unsupported value: "Foo": supported values: "A", "B"'

Upstream: apimachinery/pkg/util/validation/field/errors.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.go_json import go_json
from k8slab.api.labels import go_quote
from k8slab.api.schema import FieldType, fields_of

__all__ = [
    "IMMUTABLE",
    "NOT_NEGATIVE",
    "GoStruct",
    "duplicate",
    "each",
    "forbidden",
    "in_go_order",
    "internal_error",
    "invalid",
    "not_found",
    "not_negative",
    "not_supported",
    "omitted",
    "one_of",
    "required",
    "too_long",
    "too_many",
    "type_invalid",
]

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"


class GoStruct(dict[str, Any]):
    """A value that upstream prints as its internal Go struct: `{"Key":"a",...}`. Only the fields that are set."""


def _capitalised(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key[:1].upper() + key[1:]: _capitalised(item) for key, item in value.items()}
    return [_capitalised(item) for item in value] if isinstance(value, list) else value


def in_go_order(value: Any, struct: str) -> Any:
    """The value with its keys in the order of Go's struct (maps: sorted), as encoding/json writes it."""
    if not isinstance(value, Mapping):
        return value
    return {key: _ordered(value[key], field) for key, field in fields_of(struct).items() if value.get(key) is not None}


def _ordered(value: Any, field: FieldType) -> Any:
    if field.code == "#":
        return in_go_order(value, field.type)
    if field.code == "{" and isinstance(value, Mapping):
        return {key: value[key] for key in sorted(value)}
    if field.code == "[" and field.item is not None and field.item.code == "#":
        return [in_go_order(item, field.item.type) for item in value]
    return value


def _show(value: Any) -> str:
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, GoStruct):
        return go_json(_capitalised(value))
    return go_json(value)


def _detailed(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text


def invalid(path: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", _detailed(f"Invalid value: {_show(value)}", detail), path)


def omitted(path: str, detail: str) -> Cause:
    """An invalid value that is not shown."""
    return Cause("FieldValueInvalid", _detailed("Invalid value", detail), path)


def type_invalid(path: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueTypeInvalid", _detailed(f"Invalid value: {_show(value)}", detail), path)


def required(path: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", _detailed("Required value", detail), path)


def forbidden(path: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", _detailed("Forbidden", detail), path)


def duplicate(path: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {_show(value)}", path)


def not_found(path: str, value: Any) -> Cause:
    return Cause("FieldValueNotFound", f"Not found: {_show(value)}", path)


def not_supported(path: str, value: Any, supported: Sequence[str]) -> Cause:
    """`supported`: in the order upstream lists them."""
    detail = "supported values: " + ", ".join(map(go_quote, supported)) if supported else ""
    return Cause("FieldValueNotSupported", _detailed(f"Unsupported value: {_show(value)}", detail), path)


def too_long(path: str, limit: int) -> Cause:
    unit = "byte" if limit == 1 else "bytes"
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} {unit}", path)


def too_many(path: str, actual: int, limit: int) -> Cause:
    unit = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", f"Too many: {actual}: must have at most {limit} {unit}", path)


def internal_error(path: str, detail: str) -> Cause:
    return Cause("InternalError", f"Internal error: {detail}", path)


def each(path: str, value: Any, messages: Iterable[str]) -> list[Cause]:
    """One `invalid` for each message of a syntax rule."""
    return [invalid(path, value, message) for message in messages]


def one_of(path: str, value: str, supported: Sequence[str]) -> list[Cause]:
    """A value that must be set, to one of these."""
    if value in supported:
        return []
    return [not_supported(path, value, supported) if value else required(path)]


def not_negative(path: str, value: int | None) -> list[Cause]:
    return [invalid(path, value, NOT_NEGATIVE)] if value is not None and value < 0 else []
