"""Applying an `Object{}` to an object: structs and maps are merged, lists by their keys, as server-side apply merges.

>>> pod = GVK("", "v1", "Pod")
>>> live = {"spec": {"containers": [{"name": "a", "image": "x"}]}}
>>> apply_configuration(live, {"spec": {"containers": [{"name": "a", "tty": True}, {"name": "b"}]}}, pod)["spec"]
{'containers': [{'name': 'a', 'image': 'x', 'tty': True}, {'name': 'b'}]}
>>> apply_configuration(live, {"spec": {"containers": [{"name": "a", "args": ["-v"]}]}}, pod)
Traceback (most recent call last):
  ...
k8slab.apiserver.admission.policy.merging.MergeError: invalid ApplyConfiguration: \
may not mutate atomic arrays, maps or structs: .spec.containers[0].args

Upstream: apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go, structured-merge-diff/typed (merge)
Simplified: nobody owns fields; of a kind without schema all maps are merged and all lists are atomic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import thaw
from k8slab.api.schema import FieldType, field_of, is_atomic_type, type_of
from k8slab.api.scheme import GVK

__all__ = ["MergeError", "apply_configuration"]


class MergeError(ValueError):
    """An apply configuration that does not fit the kind, or would replace more than it names."""


def apply_configuration(live: Mapping[str, Any], patch: Mapping[str, Any], kind: GVK) -> dict[str, Any]:
    """A new object: `live` with what `patch` sets. Raises MergeError with upstream's text."""
    struct = type_of(kind)
    root = FieldType(code="#", go_type="", type=struct) if struct else None
    _check_declared(patch, root, "")
    atomics = _atomics(patch, root, "")
    if atomics:
        text = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
        raise MergeError(f"invalid ApplyConfiguration: {text}")
    merged: dict[str, Any] = _merge(live, patch, root)
    return merged


def _child(field: FieldType | None, name: str) -> FieldType | None:
    """The type of a member: of a struct its field, of a map its values; None when nothing is known."""
    if field is None:
        return None
    return field_of(field.type, name) if field.code == "#" else field.item


def _check_declared(value: Any, field: FieldType | None, path: str) -> None:
    if field is None:
        return
    if field.code == "#" and isinstance(value, Mapping):
        for name, item in value.items():
            child = field_of(field.type, name)
            if child is None:
                text = f"{path}.{name}: field not declared in schema"
                raise MergeError(f"failed to convert patch object to typed object: {text}")
            _check_declared(item, child, f"{path}.{name}")
    elif field.code == "[" and isinstance(value, list):
        for index, item in enumerate(value):
            _check_declared(item, field.item, f"{path}[{index}]")


def _is_atomic(value: Any, field: FieldType | None) -> bool:
    if isinstance(value, list):
        return field is None or (field.code == "[" and field.list_type == "atomic")
    if not isinstance(value, Mapping) or field is None:
        return False
    return field.atomic or (field.code == "#" and is_atomic_type(field.type))


def _atomics(value: Any, field: FieldType | None, path: str) -> list[str]:
    """Where the patch sets something that is only ever replaced as a whole."""
    found = [path] if path and _is_atomic(value, field) else []
    if isinstance(value, Mapping):
        for name, item in value.items():
            found += _atomics(item, _child(field, name), f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _atomics(item, field.item if field is not None else None, f"{path}[{index}]")
    return found


def _merge(live: Any, patch: Any, field: FieldType | None) -> Any:
    if isinstance(patch, Mapping) and isinstance(live, Mapping):
        merged = dict(thaw(live))
        for name, item in patch.items():
            merged[name] = _merge(live.get(name), item, _child(field, name))
        return merged
    if isinstance(patch, list) and isinstance(live, list) and field is not None:
        if field.list_type == "set":
            return [*thaw(live), *(item for item in patch if item not in live)]
        if field.list_type == "map":
            return _merge_by_keys(live, patch, field)
    return thaw(patch)


def _merge_by_keys(live: list[Any], patch: list[Any], field: FieldType) -> list[Any]:
    """Items with equal keys are merged where they stand; new ones come last."""
    merged = [thaw(item) for item in live]
    places = {_key(item, field): index for index, item in enumerate(live)}
    for item in patch:
        at = places.get(_key(item, field))
        if at is None:
            places[_key(item, field)] = len(merged)
            merged.append(thaw(item))
        else:
            merged[at] = _merge(merged[at], item, field.item)
    return merged


def _key(item: Any, field: FieldType) -> tuple[Any, ...]:
    if not isinstance(item, Mapping):
        return (item,)
    return tuple(item.get(name, _default(field, name)) for name in field.list_keys)


def _default(field: FieldType, name: str) -> Any:
    child = field_of(field.item.type, name) if field.item is not None and field.item.code == "#" else None
    return None if child is None else child.default
