"""Reading a configuration's fields with the words of Go's decoder when one has the wrong type.

>>> text({"type": "bridge"}, "type", "NetConf"), number({}, "mtu", "NetConf")
('bridge', 0)

Upstream: Go's encoding/json (UnmarshalTypeError)
Simplified: keys are matched exactly; Go's decoder also takes `Subnet` for `subnet`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from k8slab.api.go_json import JSONError, go_json, json_kind, parse
from k8slab.network.cni.errors import CNIError

__all__ = ["WrongTypeError", "boolean", "go_print", "load", "mapping", "number", "sequence", "text", "texts"]

_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class WrongTypeError(CNIError):
    """A value of another type than the field's: Go's decoder remembers the first one and goes on."""


def _wrong(value: Any, where: str, key: str, wanted: str) -> WrongTypeError:
    return WrongTypeError(
        f"json: cannot unmarshal {json_kind(value)} into Go struct field {where}.{key} of type {wanted}"
    )


def text(obj: Mapping[str, Any], key: str, where: str, *, wanted: str = "string") -> str:
    """A text; "" when it is missing or null. `wanted`: its Go type, such as `net.IP`."""
    value = obj.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(value, where, key, wanted)
    return value


def boolean(obj: Mapping[str, Any], key: str, where: str) -> bool:
    """A boolean; False when it is missing or null."""
    value = obj.get(key)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise _wrong(value, where, key, "bool")
    return value


def number(obj: Mapping[str, Any], key: str, where: str, *, wanted: str = "int") -> int:
    """A whole number; 0 when it is missing or null. `wanted`: its Go type, `uint64` takes none below 0."""
    value = obj.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(value, where, key, wanted)
    low, high = (0, 1 << 64) if wanted == "uint64" else (-(1 << 63), 1 << 63)
    if not isinstance(value, int) or not low <= value < high:
        shown = go_json(value)
        raise WrongTypeError(
            f"json: cannot unmarshal number {shown} into Go struct field {where}.{key} of type {wanted}"
        )
    return value


def mapping(obj: Mapping[str, Any], key: str, where: str, wanted: str) -> dict[str, Any] | None:
    """An object; None when it is missing or null."""
    value = obj.get(key)
    if value is not None and not isinstance(value, dict):
        raise _wrong(value, where, key, wanted)
    return value


def sequence(obj: Mapping[str, Any], key: str, where: str, wanted: str) -> list[Any]:
    """A list; empty when it is missing or null."""
    value = obj.get(key)
    if value is not None and not isinstance(value, list):
        raise _wrong(value, where, key, wanted)
    return value or []


def texts(obj: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of texts."""
    items = sequence(obj, key, where, "[]string")
    for item in items:
        if not isinstance(item, str):
            raise _wrong(item, where, key, "string")
    return tuple(items)


def load(data: bytes, what: str = "") -> dict[str, Any]:
    """A configuration. `what`: its Go type, for the sentence about something that is no object."""
    try:
        value, _ = parse(data)
    except JSONError as error:
        raise CNIError(str(error)) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CNIError(f"json: cannot unmarshal {json_kind(value)} into Go value of type {what}")
    return value


def go_print(value: Any) -> bytes:
    """JSON with four spaces, as upstream's plugins print results and errors."""
    return json.dumps(value, indent=4, ensure_ascii=False).translate(_ESCAPED).encode()
