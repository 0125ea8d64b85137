"""Patches: the three kinds a server accepts, and making them as kubectl does.

>>> merge_patch({"a": 1, "b": [1, 2]}, {"b": [3]})
{'a': 1, 'b': [3]}
>>> json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": 1}, {"op": "remove", "path": "/a"}])
{}
>>> node = {"metadata": {"finalizers": ["a"]}}
>>> strategic_merge_patch(node, {"metadata": {"finalizers": ["b"]}}, GVK("", "v1", "Node"))
{'metadata': {'finalizers': ['b', 'a']}}

All are pure: documents and patches are not changed. The caller decodes, defaults and validates the result.
"""

from k8slab.api.patch.go_values import PatchError
from k8slab.api.patch.json_patch import json_patch
from k8slab.api.patch.merge import (
    PatchConflictError,
    create_three_way_merge_patch,
    create_two_way_merge_patch,
    merge_patch,
)
from k8slab.api.patch.strategic import strategic_merge_patch
from k8slab.api.patch.strategic_diff import create_three_way_strategic_patch, create_two_way_strategic_patch
from k8slab.api.scheme import GVK

__all__ = [
    "GVK",
    "PatchConflictError",
    "PatchError",
    "create_three_way_merge_patch",
    "create_three_way_strategic_patch",
    "create_two_way_merge_patch",
    "create_two_way_strategic_patch",
    "json_patch",
    "merge_patch",
    "strategic_merge_patch",
]
