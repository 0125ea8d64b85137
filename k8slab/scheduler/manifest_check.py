"""What a cluster's API server would have refused of a Pod or a Node, for manifests that come past none.

`spec.affinity` and `spec.topologySpreadConstraints` are left to their plugins, which give a verdict. The running
scheduler does not ask: its Pods and Nodes were checked when they were written.

>>> from k8slab.scheduler.manifest_check import check_pod
>>> check_pod({"metadata": {"name": "web"}, "spec": {"preemptionPolicy": "never"}})
Traceback (most recent call last):
  ...
ValueError: Pod default/web: spec.preemptionPolicy: 'never': expected one of PreemptLowerPriority, Never

Upstream: none (the scheduler's objects are Go structs); the values are those of pkg/apis/core/validation/validation.go
Simplified: types, the fields that are one of a few words, and negative requests; unknown fields are not noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from k8slab.api.decoding import DecodeError, decode
from k8slab.api.priority_classes import PREEMPTION_POLICIES
from k8slab.api.scheme import GVK
from k8slab.api.tolerations import TAINT_EFFECTS
from k8slab.sim.kinds import cut

__all__ = ["check_node", "check_pod", "refused_value"]

_WORDS = {"preemptionPolicy": PREEMPTION_POLICIES, "effect": TAINT_EFFECTS}

_LEFT_TO_PLUGINS = ("affinity", "topologySpreadConstraints")
"""Their plugins check these, and give a verdict instead of an exception."""


def check_pod(pod: Any) -> None:
    """TypeError for what is no manifest, ValueError that names Pod, field, value and what was expected."""
    _check("Pod", pod, ("metadata", "spec"))


def check_node(node: Any) -> None:
    """TypeError for what is no manifest, ValueError that names Node, field, value and what was expected."""
    _check("Node", node, ("metadata", "spec", "status"))


def _check(kind: str, obj: Any, parts: tuple[str, ...]) -> None:
    who, decoded = _decoded(kind, obj, parts)
    if text := refused_value(decoded):
        raise ValueError(f"{who}: {text}")


def refused_value(obj: Mapping[str, Any]) -> str:
    """Of a Pod or Node whose types are right: field, value and what was expected of the first bad value; "": none."""
    spec = obj.get("spec") or {}
    texts = [_bad_word("spec", spec)]
    for field in ("tolerations", "taints"):
        texts += [_bad_word(f"spec.{field}[{index}]", part) for index, part in enumerate(spec.get(field) or ())]
    texts += [
        f"{path}: {amount!r}: expected a quantity greater than or equal to 0"
        for path, amount in _requests(spec)
        if amount.startswith("-")
    ]
    return next(filter(None, texts), "")


def _decoded(kind: str, obj: Any, parts: tuple[str, ...]) -> tuple[str, Mapping[str, Any]]:
    """(how messages call it, what the struct holds)."""
    name = kind.lower()
    if not isinstance(obj, Mapping):
        raise TypeError(f"{name}: {cut(repr(obj), 60)}: expected a manifest, a dict with metadata and spec")
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping) or not metadata.get("name"):
        raise ValueError(f"{name}.metadata: {cut(repr(metadata), 60)}: expected an object with a name")
    named = f"{metadata.get('namespace') or 'default'}/{metadata['name']}" if kind == "Pod" else metadata["name"]
    read = {part: obj[part] for part in parts if part in obj}
    if isinstance(spec := read.get("spec"), Mapping):
        read["spec"] = {field: value for field, value in spec.items() if field not in _LEFT_TO_PLUGINS}
    if isinstance(status := read.get("status"), Mapping):  # the rest of it is large, and nobody reads it
        read["status"] = {field: status[field] for field in ("allocatable",) if field in status}
    try:
        return f"{kind} {named}", decode(read, GVK("", "v1", kind)).object
    except DecodeError as error:
        value = cut(repr(error.value), 60)
        raise ValueError(f"{kind} {named}: {error.path}: {value}: expected {error.expected}") from None


def _bad_word(where: str, part: Mapping[str, Any]) -> str:
    for field, words in _WORDS.items():
        value = part.get(field)
        if value and value not in words:
            return f"{where}.{field}: {value!r}: expected one of {', '.join(words)}"
    return ""


def _requests(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            for name, amount in ((container.get("resources") or {}).get("requests") or {}).items():
                yield f"spec.{field}[{index}].resources.requests.{name}", str(amount)
