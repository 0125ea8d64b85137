"""Making strategic merge patches: from two versions of an object, and from three as `kubectl apply` does.

>>> before = {"spec": {"containers": [{"name": "a", "image": "x:1"}]}}
>>> after = {"spec": {"containers": [{"name": "a", "image": "x:2"}]}}
>>> create_two_way_strategic_patch(before, after, GVK("", "v1", "Pod"))["spec"]["containers"]
[{'image': 'x:2', 'name': 'a'}]

Upstream: apimachinery/pkg/util/strategicpatch/patch.go (CreateTwoWayMergePatch, CreateThreeWayMergePatch)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from k8slab.api.objects import thaw
from k8slab.api.patch.conflicts import maps_conflict
from k8slab.api.patch.go_values import PatchError, equal, go_text, go_type
from k8slab.api.patch.merge import PatchConflictError
from k8slab.api.patch.merge_lists import (
    DELETE_FROM_PRIMITIVE_LIST,
    DIRECTIVE,
    RETAIN_KEYS,
    SET_ELEMENT_ORDER,
    deduplicate,
    element_type,
    key_value,
    normalize_order,
    sort_by_key,
    sort_scalars,
)
from k8slab.api.patch.strategic import Schema, merge_map, strategic_schema
from k8slab.api.scheme import GVK

__all__ = ["create_three_way_strategic_patch", "create_two_way_strategic_patch"]


@dataclass(frozen=True, slots=True)
class _Options:
    ignore_changes: bool = False
    ignore_deletions: bool = False
    set_element_order: bool = False
    retain_keys: bool = False


def create_two_way_strategic_patch(
    original: Mapping[str, Any], modified: Mapping[str, Any], gvk: GVK
) -> dict[str, Any]:
    """A patch that turns `original` into `modified`. PatchError when a list element lacks its merge key."""
    return _diff_maps(thaw(original), thaw(modified), strategic_schema(gvk), _Options(set_element_order=True))


def create_three_way_strategic_patch(
    original: Mapping[str, Any],
    modified: Mapping[str, Any],
    current: Mapping[str, Any],
    gvk: GVK,
    *,
    overwrite: bool = True,
) -> dict[str, Any]:
    """What `kubectl apply` sends: what `modified` adds to or changes in `current`, without what others added, and the
    removal of what `original` (last applied) had and `modified` has not.

    Not `overwrite`: PatchConflictError when `current` was changed, since `original`, in a field the patch changes.
    """
    schema = strategic_schema(gvk)
    additions = _diff_maps(
        thaw(current), thaw(modified), schema, _Options(ignore_deletions=True, set_element_order=True)
    )
    deletions = _diff_maps(
        thaw(original), thaw(modified), schema, _Options(ignore_changes=True, set_element_order=True)
    )
    patch = merge_map(deletions, additions, schema, is_final=False)
    if not overwrite:
        changed = _diff_maps(thaw(original), thaw(current), schema, _Options())
        if maps_conflict(patch, changed, schema):
            raise PatchConflictError(
                f"patch:\n{patch}\nconflicts with changes made from original to current:\n{changed}\n"
            )
    return patch


def _diff_maps(original: dict[str, Any], modified: dict[str, Any], schema: Schema, options: _Options) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    retained: list[Any] = []
    nested = replace(options, retain_keys=False)
    for key, value in modified.items():
        if options.retain_keys and value is not None:
            retained.append(key)
        if key not in original:
            if not options.ignore_changes:
                patch[key] = value
        elif key == DIRECTIVE:
            _diff_directives(original[key], value, patch)
        elif go_type(original[key]) != go_type(value):
            if not options.ignore_changes:
                patch[key] = value
        elif isinstance(value, dict):
            _diff_map_field(key, original[key], value, patch, schema, nested)
        elif isinstance(value, list):
            _diff_list_field(key, original[key], value, patch, schema, nested)
        else:
            _replace_if_changed(key, original[key], value, patch, options)
    gone = [key for key in original if key not in modified]
    if not options.ignore_deletions:
        patch.update(dict.fromkeys(gone))
    if retained and (patch or any(original[key] is not None for key in gone)):
        patch[RETAIN_KEYS] = sort_scalars(retained)
    return patch


def _diff_directives(original: Any, modified: Any, patch: dict[str, Any]) -> None:
    if not isinstance(original, str) or not isinstance(modified, str):
        raise PatchError(f"invalid value for special key: {DIRECTIVE}")
    if original != modified:
        patch[DIRECTIVE] = modified


def _replace_if_changed(key: str, original: Any, modified: Any, patch: dict[str, Any], options: _Options) -> None:
    if not options.ignore_changes and not equal(original, modified):
        patch[key] = modified


def _diff_map_field(
    key: str,
    original: dict[str, Any],
    modified: dict[str, Any],
    patch: dict[str, Any],
    schema: Schema,
    options: _Options,
) -> None:
    try:
        subschema, meta = schema.for_struct(key)
    except PatchError:
        if equal(original, modified):
            return
        raise
    if meta.strategy == "replace":
        if not options.ignore_changes:
            patch[key] = modified
        return
    if value := _diff_maps(original, modified, subschema, replace(options, retain_keys=meta.retain_keys)):
        patch[key] = value


def _diff_list_field(
    key: str, original: list[Any], modified: list[Any], patch: dict[str, Any], schema: Schema, options: _Options
) -> None:
    try:
        subschema, meta = schema.for_slice(key)
    except PatchError:
        if equal(original, modified):
            return
        raise
    if meta.strategy != "merge":
        _replace_if_changed(key, original, modified, patch, options)
        return
    element_options = replace(options, retain_keys=meta.retain_keys)
    changes, deletions, order = _diff_lists(original, modified, subschema, meta.merge_key, element_options)
    if changes:
        patch[key] = changes
    if deletions:
        patch[f"{DELETE_FROM_PRIMITIVE_LIST}/{key}"] = deletions
    if order:
        patch[f"{SET_ELEMENT_ORDER}/{key}"] = order


def _diff_lists(
    original: list[Any], modified: list[Any], schema: Schema, merge_key: str, options: _Options
) -> tuple[list[Any], list[Any], list[Any]]:
    """Elements to add or change, scalars to delete, and the order to set."""
    if not original:
        return ([] if options.ignore_changes else modified), [], []
    if element_type(original, modified) == "map":
        return _diff_lists_of_maps(original, modified, schema, merge_key, options)
    additions, deletions = _diff_scalars(original, modified, options)
    additions = normalize_order(additions, modified, merge_key, "scalar")
    # upstream has sorted `original` in place by now, and compares with that
    has_changed = not options.ignore_changes and not equal(sort_scalars(list(original)), modified)
    needs_order = options.set_element_order and (has_changed or (not options.ignore_deletions and bool(deletions)))
    return additions, deletions, modified if needs_order else []


def _diff_lists_of_maps(
    original: list[Any], modified: list[Any], schema: Schema, merge_key: str, options: _Options
) -> tuple[list[Any], list[Any], list[Any]]:
    changes, deletions = _diff_elements(original, modified, schema, merge_key, options)
    changes = normalize_order(changes, modified, merge_key, "map")
    is_order_same = len(original) == len(modified) and all(
        equal(key_value(a, merge_key), key_value(b, merge_key)) for a, b in zip(original, modified, strict=True)
    )
    changes += deletions
    has_changed = not options.ignore_changes and (bool(changes) or not is_order_same)
    needs_order = options.set_element_order and (has_changed or (not options.ignore_deletions and bool(changes)))
    order = [{merge_key: item.get(merge_key)} for item in modified] if needs_order else []
    return changes, [], order


def _diff_scalars(original: list[Any], modified: list[Any], options: _Options) -> tuple[list[Any], list[Any]]:
    """Walk both sorted lists: what only one of them has is an addition or a deletion."""
    old, new = sort_scalars(list(original)), sort_scalars(list(modified))
    additions: list[Any] = []
    deletions: list[Any] = []
    while old or new:
        if old and new and go_text(old[0]) == go_text(new[0]):
            del old[0], new[0]
        elif not old or (new and go_text(old[0]) > go_text(new[0])):
            additions.append(new.pop(0))
        else:
            deletions.append(old.pop(0))
    return ([] if options.ignore_changes else additions), ([] if options.ignore_deletions else deduplicate(deletions))


def _diff_elements(
    original: list[Any], modified: list[Any], schema: Schema, merge_key: str, options: _Options
) -> tuple[list[Any], list[Any]]:
    """Walk both lists sorted by merge key: changes of common elements, new ones, and delete directives."""
    old, new = list(sort_by_key(original, merge_key)), list(sort_by_key(modified, merge_key))
    changes: list[Any] = []
    deletions: list[Any] = []
    while old or new:
        left = go_text(key_value(old[0], merge_key)) if old else ""
        right = go_text(key_value(new[0], merge_key)) if new else ""
        if old and new and left == right:
            value = key_value(new[0], merge_key)
            if change := _diff_maps(old.pop(0), new.pop(0), schema, options):
                changes.append({**change, merge_key: value})
        elif not old or (new and left > right):
            item = new.pop(0)
            if not options.ignore_changes:
                changes.append(item)
        else:
            item = old.pop(0)
            if not options.ignore_deletions:
                deletions.append({merge_key: item[merge_key], DIRECTIVE: "delete"})
    return changes, deletions
