"""Whether two patches of the same object change the same field to different values.

Upstream: apimachinery/pkg/util/strategicpatch/patch.go (MergingMapsHaveConflicts)
"""

from __future__ import annotations

from typing import Any

from k8slab.api.patch.go_values import PatchError, equal, go_text
from k8slab.api.patch.merge_lists import DIRECTIVE, RETAIN_KEYS, deduplicate, element_type, sort_scalars
from k8slab.api.patch.strategic import PatchMeta, Schema

__all__ = ["maps_conflict"]

_NO_META = PatchMeta("", "", False)


def maps_conflict(left: dict[str, Any], right: dict[str, Any], schema: Schema) -> bool:
    """Whether the strategic merge patches overlap with different values."""
    return _conflict(left, right, schema, _NO_META)


def _conflict(left: Any, right: Any, schema: Schema, meta: PatchMeta) -> bool:
    if isinstance(left, dict):
        if not isinstance(right, dict):
            return True
        if (DIRECTIVE in left or DIRECTIVE in right) and left.get(DIRECTIVE) != right.get(DIRECTIVE):
            return True
        return meta.strategy != "replace" and _fields_conflict(left, right, schema)
    if isinstance(left, list):
        return not isinstance(right, list) or _lists_conflict(left, right, schema, meta)
    return not equal(left, right)


def _fields_conflict(left: dict[str, Any], right: dict[str, Any], schema: Schema) -> bool:
    for key, value in left.items():
        if key in (DIRECTIVE, RETAIN_KEYS) or key not in right:
            continue
        subschema, meta = schema, _NO_META
        if isinstance(value, list):
            subschema, meta = schema.for_slice(key)
        elif isinstance(value, dict):
            subschema, meta = schema.for_struct(key)
        if _conflict(value, right[key], subschema, meta):
            return True
    return False


def _lists_conflict(left: list[Any], right: list[Any], schema: Schema, meta: PatchMeta) -> bool:
    kind = element_type(left, right)
    if meta.strategy == "merge":
        if kind != "map":
            return False
        others = _by_key(right, meta.merge_key)
        return any(
            name in others and _conflict(item, others[name], schema, _NO_META)
            for name, item in _by_key(left, meta.merge_key).items()
        )
    if len(left) != len(right):
        return True
    if kind != "map":
        left, right = sort_scalars(deduplicate(left)), sort_scalars(deduplicate(right))
    return any(_conflict(a, b, schema, _NO_META) for a, b in zip(left, right, strict=False))


def _by_key(items: list[Any], merge_key: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, dict):
            raise PatchError(f"invalid element type in merging list:{go_text(items)}")
        if merge_key not in item:
            raise PatchError(f"cannot find merge key `{merge_key}` in merging list element:{go_text(item)}")
        found[go_text(item[merge_key])] = item
    return found
