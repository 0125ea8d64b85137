"""JSON merge patch: a null removes a key, objects merge, everything else replaces.

>>> merge_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}})
{'b': {'c': 4, 'd': 3}}
>>> create_two_way_merge_patch({"a": 1, "b": [1]}, {"b": [2]})
{'a': None, 'b': [2]}

Spec: RFC 7386
Upstream: gopkg.in/evanphx/json-patch.v4 merge.go, apimachinery/pkg/util/jsonmergepatch/patch.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import thaw

__all__ = ["PatchConflictError", "create_three_way_merge_patch", "create_two_way_merge_patch", "merge_patch"]

_OBJECT = (dict, Mapping)  # a dict is quick to tell, and nearly always what there is


class PatchConflictError(ValueError):
    """What the patch changes was also changed, differently, by somebody else."""


def merge_patch(document: Any, patch: Any) -> Any:
    """`document` with `patch` applied; neither is changed, unchanged parts are shared with `document`.

    A list as the patch replaces the document, and so does an object where the document is none. ValueError when the
    patch is null, a string, a number or a bool, or the document is null.
    """
    if document is None:
        raise ValueError("Invalid JSON Document")
    if not isinstance(patch, (Mapping, list)):
        raise ValueError("Invalid JSON Patch")
    if isinstance(document, Mapping) and isinstance(patch, Mapping):
        return _merge(document, patch)
    return _without_nulls(patch)


def _merge(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, _OBJECT) and isinstance(result.get(key), _OBJECT):
            result[key] = _merge(result[key], value)
        else:
            result[key] = _without_nulls(value)
    return result


def _without_nulls(value: Any) -> Any:
    """A value that is new as a whole: nulls in it have nothing to remove. Lists keep theirs."""
    if isinstance(value, list):
        return [_without_nulls(v) if isinstance(v, (dict, list)) else v for v in value]
    if isinstance(value, _OBJECT):
        return {k: _without_nulls(v) if isinstance(v, (dict, list)) else v for k, v in value.items() if v is not None}
    return value


def create_two_way_merge_patch(original: Mapping[str, Any], modified: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest merge patch that turns `original` into `modified` (which must hold no nulls)."""
    patch: dict[str, Any] = {}
    for key, old in original.items():
        if key not in modified:
            patch[key] = None
            continue
        new = modified[key]
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            if nested := create_two_way_merge_patch(old, new):
                patch[key] = nested
        elif not _same(old, new):
            patch[key] = thaw(new)
    patch.update({key: thaw(new) for key, new in modified.items() if key not in original})
    return patch


def create_three_way_merge_patch(
    original: Mapping[str, Any], modified: Mapping[str, Any], current: Mapping[str, Any]
) -> dict[str, Any]:
    """What `kubectl apply` sends for kinds without patch tags: what `modified` adds to or changes in `current`, and
    the removal of what `original` (last applied) had and `modified` has not."""
    additions = _keep(create_two_way_merge_patch(current, modified), nulls=False)
    deletions = _keep(create_two_way_merge_patch(original, modified), nulls=True)
    return _overlay(deletions, additions)


def _keep(patch: Mapping[str, Any], *, nulls: bool) -> dict[str, Any]:
    """The part of a patch that removes (`nulls`), or the part that does not."""
    kept: dict[str, Any] = {}
    for key, value in patch.items():
        if isinstance(value, Mapping):
            if nested := _keep(value, nulls=nulls):
                kept[key] = nested
            elif not nulls and not value:
                kept[key] = {}
        elif (value is None) == nulls:
            kept[key] = value
    return kept


def _overlay(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """One patch that does both; `second` wins."""
    result = dict(first)
    for key, value in second.items():
        under = result.get(key)
        result[key] = _overlay(under, value) if isinstance(value, Mapping) and isinstance(under, Mapping) else value
    return result


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: Python's True is not 1, and 1 is 1.0."""
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)
