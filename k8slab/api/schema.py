"""The field types of the built-in kinds: what decoding, patches and error texts must know of Go's structs.

`schema_data.json` has one object per Go struct; a field's text reads `flags type options`:

- flags: `?` omitempty, `z` omitzero, `*` pointer (an explicit zero is kept; so is an empty list that upstream tells
  from none);
- type: s string, b bool, i int32, l int64, f float64, q Quantity, t Time, m MicroTime, d Duration, I IntOrString,
  B base64 bytes, x anything, `#core.PodSpec` a struct, `[]` a list of, `{}` a map of;
- options: `map=key,key` and `set` (list types; atomic otherwise), `atomic`, `merge=key`, `retainKeys`, `replace` (patch
  strategies), `=value` (the default in the published schema), `~v1.RestartPolicy` (Go's name where it differs).

>>> field_of("core.PodSpec", "containers").merge_key
'name'
>>> [name for name, field in fields_of("core.ServicePort").items() if not field.omit_empty]
['port']

Upstream: api/*/v1/types.go (struct tags and markers), apimachinery/pkg/apis/meta/v1/types.go; fields as in 1.36
Simplified: CustomResourceDefinition has no schema here; it is kept as written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from k8slab.api.scheme import GVK

__all__ = ["FieldType", "field_of", "fields_of", "has_schema", "is_atomic_type", "type_of"]

_GO_NAMES = {
    "s": "string",
    "b": "bool",
    "i": "int32",
    "l": "int64",
    "f": "float64",
    "q": "resource.Quantity",
    "t": "v1.Time",
    "m": "v1.MicroTime",
    "d": "v1.Duration",
    "I": "intstr.IntOrString",
    "B": "[]uint8",
    "x": "runtime.RawExtension",
}


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field, a list's items or a map's values.

    `code`: a letter of the module's table, `#` struct, `[` list, `{` map. `type`: the struct's name. `item`: the type
    of items or values. `go_type`: as encoding/json names it in an error. `strategy`, `merge_key`, `retain_keys`: how
    a strategic merge patch treats the field.
    """

    code: str
    go_type: str
    type: str = ""
    item: FieldType | None = None
    omit_empty: bool = False
    pointer: bool = False
    list_type: str = "atomic"
    list_keys: tuple[str, ...] = ()
    atomic: bool = False
    strategy: str = ""
    merge_key: str = ""
    retain_keys: bool = False
    default: Any = None


@cache
def _data() -> dict[str, Any]:
    text = files("k8slab.api").joinpath("schema_data.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def type_of(gvk: GVK) -> str:
    """The struct of a kind, as `core.Pod`; empty when the kind has no schema."""
    return str(_data()["kinds"].get(f"{gvk.api_version} {gvk.kind}", ""))


def has_schema(gvk: GVK) -> bool:
    """Whether the fields of a kind are known."""
    return bool(type_of(gvk))


def is_atomic_type(name: str) -> bool:
    """Whether a struct has one owner as a whole under server-side apply."""
    return name in _data()["atomic"]


@cache
def fields_of(name: str) -> Mapping[str, FieldType]:
    """The fields of a struct by their JSON names, in Go's order. KeyError for an unknown struct."""
    return {field: _parse(text) for field, text in _data()["types"][name].items()}


def field_of(name: str, field: str) -> FieldType | None:
    """One field of a struct, None where it has no such field."""
    return fields_of(name).get(field)


def _parse_type(code: str) -> tuple[str, str, str, FieldType | None]:
    """code, Go name, struct name, item type."""
    if code[0] in "[{":
        inner, go, struct, item = _parse_type(code[2:])
        element = FieldType(code=inner, go_type=go, type=struct, item=item)
        return code[0], ("[]" if code[0] == "[" else "map[string]") + go, "", element
    if code[0] == "#":
        package, _, struct = code[1:].partition(".")
        return "#", f"{'v2' if package == 'autoscalingv2' else 'v1'}.{struct}", code[1:], None
    return code, _GO_NAMES[code], "", None


def _parse(text: str) -> FieldType:
    head, *options = text.split(" ")
    code = head.lstrip("?z*")
    flags = head[: len(head) - len(code)]
    kind, go, struct, item = _parse_type(code)
    named = {key: value for key, _, value in (option.partition("=") for option in options)}
    go = next((option[1:] for option in options if option.startswith("~")), go)
    return FieldType(
        code=kind,
        go_type=go,
        type=struct,
        item=item,
        omit_empty="?" in flags,
        pointer="*" in flags,
        list_type="map" if "map" in named else "set" if "set" in named else "atomic",
        list_keys=tuple(named["map"].split(",")) if "map" in named else (),
        atomic="atomic" in named,
        strategy="merge" if "merge" in named else "replace" if "replace" in named else "",
        merge_key=named.get("merge", ""),
        retain_keys="retainKeys" in named,
        default=json.loads(named[""]) if "" in named else None,
    )
