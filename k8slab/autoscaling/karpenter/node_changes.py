"""A change to a Node, made to the Node as it is by now.

>>> taint = {"key": "gpu", "effect": "NoSchedule"}
>>> before = {"metadata": {"name": "n"}, "spec": {"taints": [taint]}}
>>> after = {"metadata": {"name": "n", "labels": {"ready": "true"}}, "spec": {"taints": []}}
>>> now = {"metadata": {"name": "n", "labels": {"zone": "a"}}, "spec": {"taints": [taint]}}
>>> changed_node(now, before, after)
{'metadata': {'name': 'n', 'labels': {'zone': 'a', 'ready': 'true'}}, 'spec': {'taints': []}}

Upstream: none as such; Karpenter's controllers send patches
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.tolerations import taint_matches

__all__ = ["changed_node"]


def changed_node(now: Object, before: Object, after: Object) -> dict[str, Any]:
    """`now` with what differs from `before` to `after`: labels and annotations set, finalizers added, taints added
    and taken away."""
    metadata = dict(now["metadata"])
    for name in ("labels", "annotations"):
        old, new = _mapping(before, name), _mapping(after, name)
        changes = {key: value for key, value in new.items() if old.get(key) != value}
        if changes:
            metadata[name] = {**(metadata.get(name) or {}), **changes}
    finalizers = list(metadata.get("finalizers") or ())
    added = [one for one in after["metadata"].get("finalizers") or () if one not in finalizers]
    if added:
        metadata["finalizers"] = [*finalizers, *dict.fromkeys(added)]
    old_taints, new_taints = _taints(before), _taints(after)
    gone = [taint for taint in old_taints if not _is_in(taint, new_taints)]
    kept = [taint for taint in _taints(now) if not _is_in(taint, gone)]
    more = [taint for taint in new_taints if not _is_in(taint, old_taints) and not _is_in(taint, kept)]
    return {**now, "metadata": metadata, "spec": {**now["spec"], "taints": [*kept, *more]}}


def _mapping(node: Object, name: str) -> Mapping[str, str]:
    found: Mapping[str, str] = node["metadata"].get(name) or {}
    return found


def _taints(node: Object) -> list[Object]:
    return list(node["spec"].get("taints") or ())


def _is_in(taint: Object, taints: list[Object]) -> bool:
    return any(taint_matches(taint, other) for other in taints)
