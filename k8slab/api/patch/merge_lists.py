"""Lists in strategic merge patches: element types, lookup by merge key, and the order of the merged list.

Upstream: apimachinery/pkg/util/strategicpatch/patch.go (sliceElementType, normalizeElementOrder, mergeSortedSlice, ...)
"""

from __future__ import annotations

from typing import Any

from k8slab.api.patch.go_values import PatchError, bad_type, equal, go_text, go_type, insertion_sort

__all__ = [
    "DELETE_FROM_PRIMITIVE_LIST",
    "DIRECTIVE",
    "RETAIN_KEYS",
    "SET_ELEMENT_ORDER",
    "deduplicate",
    "element_type",
    "find_by_key",
    "is_delete",
    "key_value",
    "normalize_element_order",
    "normalize_order",
    "partition",
    "sort_by_key",
    "sort_scalars",
]

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM_PRIMITIVE_LIST = "$deleteFromPrimitiveList"
SET_ELEMENT_ORDER = "$setElementOrder"


def element_type(*lists: list[Any]) -> str:
    """`map` or `scalar`: what all elements are. PatchError for mixed types, lists of lists and no elements."""
    first = ""
    for item in (item for one in lists for item in one):
        kind = go_type(item)
        if not first:
            first = kind
            if isinstance(item, list):
                raise PatchError("lists of lists are not supported", 422)
        elif kind != first:
            raise PatchError(f"list element types are not identical: {go_text(list(lists))}")
    if not first:
        raise PatchError("no elements in any of the given slices")
    return "map" if first.startswith("map") else "scalar"


def key_value(item: Any, merge_key: str) -> Any:
    """The merge key's value of a list element; PatchError when it has none."""
    if not isinstance(item, dict):
        raise bad_type({}, item)
    if merge_key not in item:
        raise PatchError(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def find_by_key(items: list[Any], merge_key: str, value: Any) -> int:
    """Index of the first element whose merge key has `value`, -1 when there is none."""
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise PatchError(f"value for key {index} is not a map")
        if merge_key in item and equal(item[merge_key], value):
            return index
    return -1


def is_delete(item: Any) -> bool:
    if not isinstance(item, dict):
        raise bad_type({}, item)
    return item.get(DIRECTIVE) == "delete"


def _index(items: list[Any], item: Any, merge_key: str, kind: str) -> int:
    wanted = item.get(merge_key) if kind == "map" else item
    for index, other in enumerate(items):
        if equal(other.get(merge_key) if kind == "map" else other, wanted):
            return index
    return -1


def partition(merged: list[Any], by: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Elements that occur in `by`, and the rest."""
    named: list[Any] = []
    rest: list[Any] = []
    for item in merged:
        if merge_key:
            found = find_by_key(by, merge_key, key_value(item, merge_key)) >= 0
        else:
            found = any(equal(item, other) for other in by)
        (named if found else rest).append(item)
    return named, rest


def normalize_order(items: list[Any], order: list[Any], merge_key: str, kind: str) -> list[Any]:
    """`items` in the order of `order`; elements to delete go to the end."""
    deletions: list[Any] = []
    if kind == "map":
        for item in (*items, *order):
            key_value(item, merge_key)
        deletions = [item for item in items if is_delete(item)]
        items = [item for item in items if not is_delete(item)]

    def less(a: Any, b: Any) -> bool:
        i, j = _index(order, a, merge_key, kind), _index(order, b, merge_key, kind)
        return i < j if i >= 0 and j >= 0 else True

    return insertion_sort(list(items), less) + deletions


def normalize_element_order(
    patch: list[Any], server_only: list[Any], patch_order: list[Any], server_order: list[Any], merge_key: str, kind: str
) -> list[Any]:
    """Both lists in their orders, woven together: each server-only element before the first patch element that
    followed it on the server."""
    right = normalize_order(patch, patch_order, merge_key, kind)
    left = normalize_order(server_only, server_order, merge_key, kind)
    result: list[Any] = []
    while left and right:
        i = _index(server_order, left[0], merge_key, kind)
        j = _index(server_order, right[0], merge_key, kind)
        result.append((left if 0 <= i < j else right).pop(0))
    return result + left + right


def sort_scalars(items: list[Any]) -> list[Any]:
    """By their texts, in place as upstream does."""
    items.sort(key=go_text)
    return items


def deduplicate(items: list[Any]) -> list[Any]:
    """Upstream's way: the place of a later duplicate is taken by the last element."""
    items = list(items)
    last = len(items) - 1
    i = 0
    while i < last:
        j = i + 1
        while j <= last:
            if equal(items[i], items[j]):
                items[j] = items[last]
                del items[last]
                last -= 1
            else:
                j += 1
        i += 1
    return items


def sort_by_key(items: list[Any], merge_key: str) -> list[Any]:
    """A new list, by the texts of the merge keys (equal ones swap places, as in upstream's sort)."""
    if not items:
        return items
    if element_type(items) != "map":
        return sort_scalars(deduplicate(items))

    def less(a: Any, b: Any) -> bool:
        return go_text(a.get(merge_key)) <= go_text(b.get(merge_key))

    return insertion_sort(list(items), less)
