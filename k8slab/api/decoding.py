"""From what a user wrote to what is stored: wrong types refused, unknown fields noticed, empty fields dropped.

Upstream an object passes through a Go struct: fields the struct lacks are lost, an empty field tagged `omitempty`
is not written back, a nested struct always is (`resources: {}`), quantities and times come back in canonical form.
`decode` does the same from the table in `schema`, so that what is stored equals what upstream stores.

>>> decode({"metadata": {"name": "a"}, "data": {"k": 5}}, GVK("", "v1", "ConfigMap"))
Traceback (most recent call last):
  ...
k8slab.api.decoding.DecodeError: json: cannot unmarshal number into Go struct field ConfigMap.data of type string

Upstream: encoding/json through sigs.k8s.io/json, apimachinery/pkg/runtime/serializer/json/json.go
Simplified: zero times and required but missing lists are absent instead of null; kinds without a schema pass through.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.go_json import json_kind
from k8slab.api.plain import UnfitError, path_text, plain_copy
from k8slab.api.quantity import Quantity
from k8slab.api.schema import FieldType, fields_of, type_of
from k8slab.api.scheme import GVK, gvk_of

__all__ = ["DecodeError", "Decoded", "decode", "strict_error", "unknown_field", "unknown_fields"]

_OBJECT = (dict, Mapping)  # a dict is quick to tell, and nearly always what there is
_NOT_A_STRING = "json: cannot unmarshal {} into Go value of type string"
_INT_LIMITS = {"i": 31, "l": 63}
_CANONICAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").fullmatch
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").fullmatch


class DecodeError(ValueError):
    """A value does not fit its field. `path`: as `spec.containers[0].name`, `steps`: its parts; `value`: what was
    there; `expected`: what should be, in plain words."""

    def __init__(self, message: str, steps: tuple[str | int, ...] = (), value: Any = None, expected: str = "") -> None:
        super().__init__(message)
        self.message, self.steps, self.value, self.expected = message, steps, value, expected

    @property
    def path(self) -> str:
        return path_text(self.steps)


class Decoded(NamedTuple):
    """`object`: the object as stored, new from top to bottom; `unknown`: paths of fields that were dropped."""

    object: dict[str, Any]
    unknown: tuple[str, ...]


def unknown_field(path: str) -> str:
    """What the strict decoder says of a field that the struct lacks."""
    return f'unknown field "{path}"'


def strict_error(problems: Iterable[str]) -> str:
    """What the strict decoder says of all its problems together.

    >>> strict_error(map(unknown_field, ["spec.a", "spec.b"]))
    'strict decoding error: unknown field "spec.a", unknown field "spec.b"'
    """
    return f"strict decoding error: {', '.join(problems)}"


_EXPECTED = {
    "s": "a string",
    "b": "true or false",
    "i": "a 32-bit integer",
    "l": "a 64-bit integer",
    "f": "a number",
    "q": "a quantity, such as 500m, 1.5 or 64Mi",
    "I": "an integer or a string",
    "t": "a time in RFC 3339, such as 2026-01-01T00:00:07Z",
    "m": "a time in RFC 3339, such as 2026-01-01T00:00:07.000000Z",
    "d": "a duration, such as 1m30s",
    "B": "base64",
    "#": "an object",
    "{": "an object",
    "[": "a list",
    "x": "anything",
}


class _Mismatch(Exception):
    """On its way up from the bad value: `steps` collects the path, innermost first."""

    def __init__(self, value: Any, field: FieldType | None, expected: str = "", text: str = "") -> None:
        super().__init__(text)
        self.value, self.text = value, text
        self.go_type = field.go_type if field else ""
        self.expected = expected or (_EXPECTED[field.code] if field else "an object")
        self.steps: list[str | int] = []
        self.struct = ""


_NOTHING: Mapping[str, Any] = {}
_ANY_KIND = GVK("", "v1", "ConfigMap")  # its metadata is as that of any kind


def decode(obj: Mapping[str, Any], gvk: GVK | None = None, known: Mapping[str, Any] = _NOTHING) -> Decoded:
    """`obj` as its kind's struct holds it; DecodeError (a ValueError) when a value does not fit.

    `gvk`: the kind to decode into, the object's own by default. Of an object without a schema only the metadata is
    known; the rest is copied as it is. `known`: an object of that kind that was decoded before. Values that are in
    both, at the same place, are taken over without another look.
    """
    gvk = gvk or gvk_of(obj)
    name = type_of(gvk)
    if not name:
        return _without_schema(obj, known)
    dropped: list[str] = []
    try:
        result = _struct(obj, name, dropped, known)
    except _Mismatch as e:
        raise _error(e) from None
    return Decoded(result, tuple(unknown_fields(obj, name)) if dropped else ())


def _without_schema(obj: Mapping[str, Any], known: Mapping[str, Any]) -> Decoded:
    same = {k: v for k, v in known.items() if k != "metadata" and obj.get(k) is v}
    try:
        free: dict[str, Any] = plain_copy({k: v for k, v in obj.items() if k not in same} if same else obj) | same
    except UnfitError as e:
        raise DecodeError(e.reason, tuple(e.steps), e.value, e.expected) from None
    if "metadata" not in obj:
        return Decoded(free, ())
    like = decode({"metadata": obj["metadata"]}, _ANY_KIND, known)
    return Decoded({**free, "metadata": like.object["metadata"]}, like.unknown)


def _error(e: _Mismatch) -> DecodeError:
    text = e.text
    if not text:
        fields = ".".join(step for step in reversed(e.steps) if isinstance(step, str) and not step.startswith("\0"))
        kind = json_kind(e.value)
        if kind == "number" and e.go_type not in ("string", "bool") and e.expected.endswith(("integer", "number")):
            kind = f"number {e.value}"
        text = f"json: cannot unmarshal {kind} into Go struct field {e.struct}.{fields} of type {e.go_type}"
    steps = tuple(step if isinstance(step, int) else step.lstrip("\0") for step in reversed(e.steps))
    return DecodeError(text, steps, e.value, e.expected)


def _struct(value: Any, name: str, dropped: list[str], known: Mapping[str, Any] = _NOTHING) -> dict[str, Any]:
    if not isinstance(value, _OBJECT):
        raise _Mismatch(value, None)
    fields = fields_of(name)
    result: dict[str, Any] = {}
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            dropped.append(key)
        elif item is not None:
            if known and item is known.get(key):
                result[key] = item
                continue
            if type(item) is not str or field.code != "s":  # the usual case needs no call
                try:
                    item = _value(item, field, dropped, known.get(key) or _NOTHING)
                except _Mismatch as e:
                    e.struct = e.struct or name.partition(".")[2]
                    e.steps.append(key)
                    raise
            if item or not field.omit_empty or field.pointer or field.code in "#I":
                result[key] = item
    for key, zero in _always(name):
        if key not in result:
            result[key] = zero()
    return result


def _value(value: Any, field: FieldType, dropped: list[str], known: Mapping[str, Any] = _NOTHING) -> Any:
    code = field.code
    if code == "#":
        if not isinstance(value, _OBJECT):
            raise _Mismatch(value, field)
        return _struct(value, field.type, dropped, known)
    if code == "s":
        if not isinstance(value, str):
            raise _Mismatch(value, field)
        return value
    if code == "[":
        return _list(value, field, dropped)
    if code == "{":
        return _map(value, field, dropped)
    return _SCALARS[code](value, field)


def _zero(field: FieldType) -> Any:
    """What null is as an element: the zero value, for a structure with the fields that are always there."""
    return _struct({}, field.type, []) if field.code == "#" else _ZEROS[field.code]()


def _list(value: Any, field: FieldType, dropped: list[str]) -> list[Any]:
    if not isinstance(value, list) or field.item is None:
        raise _Mismatch(value, field)
    result = []
    for index, item in enumerate(value):
        try:
            result.append(_zero(field.item) if item is None else _value(item, field.item, dropped))
        except _Mismatch as e:
            e.steps.append(index)
            raise
    return result


def _map(value: Any, field: FieldType, dropped: list[str]) -> dict[str, Any]:
    if not isinstance(value, _OBJECT) or field.item is None:
        raise _Mismatch(value, field)
    result = {}
    for key, item in value.items():
        try:
            result[key] = _zero(field.item) if item is None else _value(item, field.item, dropped)
        except _Mismatch as e:
            e.steps.append("\0" + key)
            raise
    return result


def _boolean(value: Any, field: FieldType) -> bool:
    if not isinstance(value, bool):
        raise _Mismatch(value, field)
    return value


def _integer(value: Any, field: FieldType) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Mismatch(value, field)
    limit = 1 << _INT_LIMITS[field.code]
    if isinstance(value, float) or not -limit <= value < limit:
        raise _Mismatch(value, field)
    return value


def _float(value: Any, field: FieldType) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Mismatch(value, field)
    return _anything(value, field)  # type: ignore[no-any-return]


def _quantity(value: Any, field: FieldType) -> str:
    text = value if isinstance(value, str) else _json_text(value)
    try:
        return canonical_quantity(text)
    except ValueError as e:
        raise _Mismatch(value, field, text=str(e)) from None


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """A quantity as the API server writes it back: `0.5` is `500m`. ValueError as upstream words it."""
    return str(Quantity.parse(text.strip()))


def _json_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else "{}" if isinstance(value, _OBJECT) else "[]"


def _int_or_string(value: Any, field: FieldType) -> int | str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
        text = f"json: cannot unmarshal {json_kind(value)} into Go value of type int32"
        raise _Mismatch(value, field, text=text)
    return value


def _time(value: Any, field: FieldType) -> Any:
    if not isinstance(value, str):
        raise _Mismatch(value, field, text=_NOT_A_STRING.format(json_kind(value)))
    if _CANONICAL_TIME(value):
        return value
    if not _RFC3339(value):
        text = f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"'
        raise _Mismatch(value, field, text=text)
    return _in_utc(value, field.code == "m")


def _in_utc(text: str, is_micro: bool) -> str:
    from datetime import UTC, datetime

    when = datetime.fromisoformat(text).astimezone(UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if is_micro else "%Y-%m-%dT%H:%M:%SZ")


def _micro_time(value: Any, field: FieldType) -> Any:
    if isinstance(value, str) and len(value) == 27 and value.endswith("Z") and _RFC3339(value):
        return value
    if isinstance(value, str) and _CANONICAL_TIME(value):
        return value[:-1] + ".000000Z"
    return _time(value, field)


def _bytes(value: Any, field: FieldType) -> str:
    if not isinstance(value, str):
        raise _Mismatch(value, field)
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        at = next((i for i, c in enumerate(value) if not (c.isascii() and (c.isalnum() or c in "+/="))), len(value))
        raise _Mismatch(value, field, text=f"illegal base64 data at input byte {at}") from None
    return value


def _anything(value: Any, field: FieldType) -> Any:
    try:
        return plain_copy(value)
    except UnfitError as e:
        raise _unfit(e) from None


def _unfit(error: UnfitError) -> _Mismatch:
    mismatch = _Mismatch(error.value, None, error.expected, error.reason)
    mismatch.steps.extend(reversed(error.steps))
    return mismatch


def _duration(value: Any, field: FieldType) -> str:
    if not isinstance(value, str):
        raise _Mismatch(value, field, text=_NOT_A_STRING.format(json_kind(value)))
    try:
        parse_duration_ns(value)
    except ValueError as error:
        raise _Mismatch(value, field, text=str(error)) from None
    return value


_SCALARS: dict[str, Callable[[Any, FieldType], Any]] = {
    "b": _boolean,
    "i": _integer,
    "l": _integer,
    "f": _float,
    "q": _quantity,
    "I": _int_or_string,
    "t": _time,
    "m": _micro_time,
    "d": _duration,
    "B": _bytes,
    "x": _anything,
}

_ZEROS: dict[str, Callable[[], Any]] = {
    "s": str,
    "b": bool,
    "i": int,
    "l": int,
    "f": int,
    "q": lambda: "0",
    "I": int,
    "B": str,
    "{": dict,
    "[": list,
    "#": dict,
    "x": lambda: None,
    "t": lambda: None,
    "m": lambda: None,
    "d": lambda: "0s",
}


@cache
def _always(name: str) -> tuple[tuple[str, Callable[[], Any]], ...]:
    """Fields Go writes even when nobody set them: nested structs, and scalars without omitempty."""
    found: list[tuple[str, Callable[[], Any]]] = []
    for key, field in fields_of(name).items():
        if field.pointer:
            continue
        if field.code == "#":
            found.append((key, _empty_struct(field.type)))
        elif field.code in "qI" or (not field.omit_empty and field.code in "sbilf"):
            found.append((key, _ZEROS[field.code]))
    return tuple(found)


def _empty_struct(name: str) -> Callable[[], Any]:
    return lambda: _struct({}, name, [])


def unknown_fields(obj: Any, name: str, path: str = "") -> list[str]:
    """Paths of the fields in `obj` that the struct does not have, in the order they were written."""
    found: list[str] = []
    fields = fields_of(name)
    for key, value in obj.items() if isinstance(obj, Mapping) else ():
        field = fields.get(key)
        where = f"{path}.{key}" if path else key
        if field is None:
            found.append(where)
        else:
            found.extend(_unknown_in(value, field, where))
    return found


def _unknown_in(value: Any, field: FieldType, path: str) -> list[str]:
    if field.code == "#":
        return unknown_fields(value, field.type, path)
    found: list[str] = []
    if field.item is not None and field.item.code in "#[{":
        if isinstance(value, list):
            for index, item in enumerate(value):
                found.extend(_unknown_in(item, field.item, f"{path}[{index}]"))
        elif isinstance(value, _OBJECT):
            for key, item in value.items():
                found.extend(_unknown_in(item, field.item, f"{path}.{key}"))
    return found
