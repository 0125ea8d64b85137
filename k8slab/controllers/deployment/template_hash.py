"""The pod-template-hash: which ReplicaSet belongs to which Pod template.

Upstream: pkg/controller/controller_utils.go (ComputeHash), pkg/controller/deployment/util/deployment_util.go
(EqualIgnoreHash)
Simplified: upstream hashes Go's field-by-field dump of the template, which cannot be made from JSON and changes
whenever the API gets a field; ours is FNV-1a over canonical JSON. Collision counter and encoding are upstream's.
Names of ReplicaSets therefore differ from a real cluster's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from k8slab.api.names import fnv32a, safe_encode
from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity

__all__ = ["HASH_LABEL", "compute_hash", "equal_ignore_hash", "pod_template_hash"]

HASH_LABEL = "pod-template-hash"

_FNV_PRIME = 16777619
_QUANTITY_MAPS = ("requests", "limits", "overhead")


def compute_hash(sum32: int, collision_count: int | None) -> str:
    """The hash text of a template whose bytes gave the FNV-1a state `sum32`.

    A collision count goes on with 8 bytes, its 32 bits little-endian and zeros; so 0 and None differ.

    >>> compute_hash(4130463924, 1)
    'b54bc767c'
    """
    if collision_count is not None:
        for byte in (collision_count & 0xFFFFFFFF).to_bytes(8, "little"):
            sum32 = ((sum32 ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return safe_encode(str(sum32))


def pod_template_hash(template: Object, collision_count: int | None = None) -> str:
    text = json.dumps(template, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return compute_hash(fnv32a(text.encode()), collision_count)


def equal_ignore_hash(template: Object, other: Object) -> bool:
    """The templates are the same, whatever hash label they carry. Absent and empty are equal, and so are
    quantities of equal value (equality.Semantic)."""
    return _equal(_without_hash(template), _without_hash(other), "")


def _without_hash(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    labels = metadata.get("labels") or {}
    if HASH_LABEL not in labels:
        return template
    kept = {key: value for key, value in labels.items() if key != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": kept}}


def _equal(one: Any, other: Any, parent: str) -> bool:
    if one == other or (one in (None, {}, []) and other in (None, {}, [])):
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = one.keys() | other.keys()
        if parent in _QUANTITY_MAPS:
            return one.keys() == other.keys() and all(_same_quantity(one[key], other[key]) for key in one)
        return all(_equal(one.get(key), other.get(key), key) for key in keys)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_equal(a, b, parent) for a, b in zip(one, other, strict=True))
    if parent == "sizeLimit" and isinstance(one, str) and isinstance(other, str):
        return _same_quantity(one, other)
    return False


def _same_quantity(one: Any, other: Any) -> bool:
    return bool(one == other or Quantity.parse(str(one)) == Quantity.parse(str(other)))
