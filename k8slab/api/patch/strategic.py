"""Strategic merge patch: lists merge by key, directives delete, replace and order.

>>> pod = {"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]}}
>>> patch = {"spec": {"containers": [{"name": "a", "image": "x:2"}]}}
>>> strategic_merge_patch(pod, patch, GVK("", "v1", "Pod"))["spec"]["containers"]
[{'name': 'a', 'image': 'x:2'}, {'name': 'b', 'image': 'y'}]

Upstream: apimachinery/pkg/util/strategicpatch/patch.go, meta.go, third_party/forked/golang/json/fields.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from k8slab.api.objects import thaw
from k8slab.api.patch.go_values import PatchError, bad_type, equal, go_text, go_type
from k8slab.api.patch.merge_lists import (
    DELETE_FROM_PRIMITIVE_LIST,
    DIRECTIVE,
    RETAIN_KEYS,
    SET_ELEMENT_ORDER,
    deduplicate,
    element_type,
    find_by_key,
    is_delete,
    key_value,
    normalize_element_order,
    partition,
)
from k8slab.api.schema import FieldType, field_of, type_of
from k8slab.api.scheme import GVK

__all__ = ["PatchMeta", "Schema", "merge_map", "strategic_merge_patch", "strategic_schema"]

_BAD_PRIMITIVE_LIST = "invalid patch format of primitive list"
_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
_BAD_ELEMENT_ORDER = "invalid patch format of setElementOrder list"


class PatchMeta(NamedTuple):
    """A field's strategy (`merge`, `replace` or empty), its merge key, and whether only named keys are retained."""

    strategy: str
    merge_key: str
    retain_keys: bool


class Schema(NamedTuple):
    """A struct by name, or (with an empty name) a Go kind that has no fields to look up."""

    struct: str
    kind: str = "struct"

    def lookup(self, key: str) -> tuple[FieldType, PatchMeta]:
        if self.kind != "struct":
            raise PatchError(f"merging an object in json but data type is not struct, instead is: {self.kind}")
        field = field_of(self.struct, key) if self.struct else None
        if field is None:
            name = self.struct.partition(".")[2]
            raise PatchError(f'unable to find api field in struct {name} for the json field "{key}"')
        return field, PatchMeta(field.strategy, field.merge_key, field.retain_keys)

    def for_struct(self, key: str) -> tuple[Schema, PatchMeta]:
        field, meta = self.lookup(key)
        return _schema(field), meta

    def for_slice(self, key: str) -> tuple[Schema, PatchMeta]:
        field, meta = self.lookup(key)
        if field.code != "[" or field.item is None:
            raise PatchError(f"expected slice or array type, but got: {self.kind}")
        return _schema(field.item), meta


def _schema(field: FieldType) -> Schema:
    if field.code == "#":
        return Schema(field.type)
    kinds = {"{": "map", "[": "slice", "s": "string", "b": "bool", "i": "int32", "l": "int64", "f": "float64"}
    return Schema("", kinds.get(field.code, "struct"))


def strategic_schema(gvk: GVK) -> Schema:
    """The schema of a kind; PatchError (415) for kinds without patch tags, such as custom resources."""
    name = type_of(gvk)
    if not name:
        raise PatchError("strategic merge patch format is not supported", 415)
    return Schema(name)


def strategic_merge_patch(document: Mapping[str, Any], patch: Mapping[str, Any], gvk: GVK) -> dict[str, Any]:
    """`document` with `patch` applied, as a new object. PatchError (a ValueError) when the patch cannot be applied."""
    if not isinstance(patch, Mapping) or not isinstance(document, Mapping):
        raise PatchError("invalid JSON document", 400)
    return merge_map(thaw(document), thaw(patch), strategic_schema(gvk))


def merge_map(
    original: dict[str, Any], patch: dict[str, Any], schema: Schema, *, is_final: bool = True
) -> dict[str, Any]:
    """Merge `patch` into `original`; both are consumed. Not `is_final`: `original` is itself a patch, and nulls and
    parallel lists are kept in the result."""
    if DIRECTIVE in patch:
        return _apply_directive(patch)
    _apply_retain_keys(original, patch, is_final)
    _apply_element_orders(original, patch, schema, is_final)
    for key, value in patch.items():
        is_delete_list = False
        if key.startswith(DELETE_FROM_PRIMITIVE_LIST):
            if not is_final:
                original[key] = value
                continue
            key, is_delete_list = _list_name(key, DELETE_FROM_PRIMITIVE_LIST, _BAD_PRIMITIVE_LIST), True
        if value is None:
            original.pop(key, None)
            if is_final:
                continue
        if key not in original or go_type(original[key]) != go_type(value):
            if not is_delete_list:
                _take_over(original, key, value, is_final)
        elif isinstance(value, dict):
            subschema, meta = schema.for_struct(key)
            replaced = meta.strategy == "replace"
            original[key] = value if replaced else merge_map(original[key], value, subschema, is_final=is_final)
        elif isinstance(value, list):
            subschema, meta = schema.for_slice(key)
            original[key] = _merge_list(original[key], value, subschema, meta, is_delete_list, is_final)
        else:
            original[key] = value
    return original


def _apply_directive(patch: dict[str, Any]) -> dict[str, Any]:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        del patch[DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise PatchError(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def _take_over(original: dict[str, Any], key: str, value: Any, is_final: bool) -> None:
    """A value that meets nothing it could merge with is used as it is, without nulls and directives."""
    if is_final:
        _discard_nulls(value)
    value, keep = _without_directives(value)
    if keep:
        original[key] = value
    else:
        original.pop(key, None)


def _discard_nulls(value: Any) -> None:
    if isinstance(value, dict):
        for key in [key for key, item in value.items() if item is None]:
            del value[key]
        for item in value.values():
            _discard_nulls(item)
    elif isinstance(value, list):
        for item in value:
            _discard_nulls(item)


def _without_directives(value: Any) -> tuple[Any, bool]:
    """The value without its directives, and whether anything is left to keep."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return None, False
        cleaned = {key: _without_directives(item) for key, item in value.items()}
        return {key: item for key, (item, keep) in cleaned.items() if keep}, True
    if isinstance(value, list):
        return [item for item, keep in map(_without_directives, value) if keep], True
    return value, True


def _apply_retain_keys(original: dict[str, Any], patch: dict[str, Any], is_final: bool) -> None:
    if RETAIN_KEYS not in patch:
        return
    keys = patch.pop(RETAIN_KEYS)
    if not is_final:
        before = original.setdefault(RETAIN_KEYS, keys)
        if not equal(before, keys):
            raise PatchError(
                f"{go_text(before)} and {go_text(keys)} are not deep equal: "
                "this may happen when calculating the 3-way diff patch"
            )
        return
    if not isinstance(keys, list):
        raise PatchError(_BAD_RETAIN_KEYS, 400)
    for key, value in patch.items():
        is_directive = key.startswith((DELETE_FROM_PRIMITIVE_LIST, SET_ELEMENT_ORDER))
        if value is not None and not is_directive and key not in keys:
            raise PatchError(_BAD_RETAIN_KEYS, 400)
    for key in [key for key in original if key not in keys]:
        del original[key]


def _list_name(key: str, prefix: str, message: str) -> str:
    found, slash, name = key.partition("/")
    if not slash or found != prefix:
        raise PatchError(message, 400)
    return name


def _apply_element_orders(original: dict[str, Any], patch: dict[str, Any], schema: Schema, is_final: bool) -> None:
    """Merge each list that has a `$setElementOrder`, and put it into that order."""
    for directive in [key for key in patch if key.startswith(SET_ELEMENT_ORDER)]:
        order = patch.pop(directive)
        if not is_final and not equal(original.setdefault(directive, order), order):
            raise PatchError(_BAD_ELEMENT_ORDER, 400)
        if not isinstance(order, list):
            raise bad_type([], order)
        key = _list_name(directive, SET_ELEMENT_ORDER, _BAD_ELEMENT_ORDER)
        for source in (original, patch):
            if key in source and not isinstance(source[key], list):
                raise bad_type([], source[key])
        subschema, meta = schema.for_slice(key)
        before, change = list(original.get(key, ())), list(patch.get(key, ()))
        _check_order(change, order, meta.merge_key)
        if key not in original and key not in patch:
            continue
        kind = element_type(before, change)
        merged = _merged_for_order(original, patch, key, subschema, meta, is_final)
        named, rest = partition(merged, order, meta.merge_key)
        original[key] = normalize_element_order(named, rest, order, before, meta.merge_key, kind)
        patch.pop(key, None)


def _merged_for_order(
    original: dict[str, Any], patch: dict[str, Any], key: str, schema: Schema, meta: PatchMeta, is_final: bool
) -> list[Any]:
    if key not in patch:
        return list(original[key])
    if key not in original:
        return list(_without_directives(patch[key])[0])
    return _merge_list(original[key], patch[key], schema, meta, False, is_final)


def _check_order(change: list[Any], order: list[Any], merge_key: str) -> None:
    """Elements of the patch must occur in the order list, in the same order; deletions are ignored."""
    if not change or not order:
        return
    waiting = [item for item in change if not is_delete(item)] if merge_key else list(change)
    found = position = 0
    while found < len(waiting) and position < len(order):
        item = waiting[found]
        if isinstance(item, dict) and DIRECTIVE in item:
            found += 1
            continue
        if _same_element(item, order[position], merge_key):
            found += 1
        position += 1
    if found < len(waiting) and position >= len(order):
        raise PatchError(
            f"The order in patch list:\n{go_text(change)}\n doesn't match {SET_ELEMENT_ORDER} list:\n{go_text(order)}\n"
        )


def _same_element(a: Any, b: Any, merge_key: str) -> bool:
    return equal(key_value(a, merge_key), key_value(b, merge_key)) if merge_key else equal(a, b)


def _merge_list(
    original: list[Any], patch: list[Any], schema: Schema, meta: PatchMeta, is_delete_list: bool, is_final: bool
) -> list[Any]:
    if meta.strategy != "merge" and not is_delete_list:
        return patch
    if not original and not patch:
        return original
    kind = element_type(original, patch)
    if kind == "scalar":
        if is_final and is_delete_list:
            return [item for item in original if not any(equal(item, gone) for gone in patch)]
        merged = deduplicate(original + patch)
    else:
        if not meta.merge_key:
            raise PatchError(f"cannot merge lists without merge key for {schema.kind}")
        original, patch = _apply_list_directives(original, patch, meta.merge_key)
        merged = _merge_elements(original, patch, meta.merge_key, schema, is_final)
    named, rest = partition(merged, patch, meta.merge_key)
    return normalize_element_order(named, rest, patch, original, meta.merge_key, kind)


def _apply_list_directives(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Carry out `$patch: delete` and `replace` elements; what is left of both lists."""
    ordinary: list[Any] = []
    replace = False
    for item in patch:
        if DIRECTIVE not in item:
            ordinary.append(item)
            continue
        directive = item[DIRECTIVE]
        if directive == "delete":
            value = key_value(item, merge_key)
            while (index := find_by_key(original, merge_key, value)) >= 0:
                original = original[:index] + original[index + 1 :]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise PatchError("merging lists cannot yet be specified in the patch")
        else:
            raise PatchError(f"unknown patch type: {go_text(directive)} in map: {go_text(item)}")
    return (ordinary, []) if replace else (original, ordinary)


def _merge_elements(original: list[Any], patch: list[Any], merge_key: str, schema: Schema, is_final: bool) -> list[Any]:
    merged = list(original)
    for item in patch:
        index = find_by_key(merged, merge_key, key_value(item, merge_key))
        if index < 0:
            merged.append(item)
        else:
            merged[index] = merge_map(merged[index], item, schema, is_final=is_final)
    return merged
