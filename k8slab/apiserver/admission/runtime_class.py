"""What a RuntimeClass adds to a Pod that names it: the overhead of its runtime, and where it may run.

>>> from k8slab.apiserver.admission import Chain, Objects
>>> scheduling = {"nodeSelector": {"vm": "yes"}}
>>> kata = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"}
>>> objects = Objects([{**kata, "overhead": {"podFixed": {"memory": "120Mi"}}, "scheduling": scheduling}])
>>> pod = {"metadata": {"name": "web"}, "spec": {"runtimeClassName": "kata", "containers": []}}
>>> for change in next(objects.passage(Chain([RuntimeClass()], objects), "pods", pod, namespace="default")).changes:
...     print(change)
spec.overhead: + {"memory":"120Mi"}
spec.nodeSelector: + {"vm":"yes"}

Upstream: plugin/pkg/admission/runtimeclass/admission.go, pkg/util/tolerations/tolerations.go (MergeTolerations)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.pod_requests import resource_list
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden

__all__ = ["RuntimeClass", "merge_tolerations"]

CLASSES = "runtimeclasses.node.k8s.io"
_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_OF_NOBODY = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClass:
    name = "RuntimeClass"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Sets overhead, node selector and tolerations of a new Pod. Refuses what contradicts the class."""
        pod = _new_pod(attributes)
        found = None if pod is None else await _class_of(pod, attributes, lister)
        if pod is None or found is None:
            return None
        spec, more = pod.get("spec") or {}, dict[str, Any]()
        if (overhead := _overhead(found)) is not None:
            if spec.get("overhead") and resource_list(spec["overhead"]) != resource_list(overhead):
                raise forbidden(attributes, _DIFFERS)
            more["overhead"] = overhead
        scheduling = found.get("scheduling") or {}
        if selector := scheduling.get("nodeSelector"):
            more["nodeSelector"] = _selector(spec.get("nodeSelector") or {}, selector, attributes)
        if scheduling.get("tolerations"):
            more["tolerations"] = merge_tolerations([*(spec.get("tolerations") or ()), *scheduling["tolerations"]])
        return {**pod, "spec": {**spec, **more}} if more else None

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """A Pod's overhead is that of its class, and nobody else's."""
        pod = _new_pod(attributes)
        if pod is None:
            return
        found = await _class_of(pod, attributes, lister)
        defined, given = None if found is None else _overhead(found), (pod.get("spec") or {}).get("overhead")
        if defined is not None:
            if resource_list(given) != resource_list(defined):
                raise forbidden(attributes, _DIFFERS)
        elif given is not None:
            raise forbidden(attributes, _OF_NOBODY)


def _new_pod(attributes: Attributes) -> Object | None:
    is_pod = attributes.resource.group_resource == "pods" and not attributes.subresource
    return attributes.object if is_pod and attributes.operation == "CREATE" else None


async def _class_of(pod: Object, attributes: Attributes, lister: Lister) -> Object | None:
    name = (pod.get("spec") or {}).get("runtimeClassName")
    if name is None:
        return None
    found = lister.cached(CLASSES, "", name) or await lister.live(CLASSES, "", name)
    if found is None:
        raise forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
    return found


def _overhead(runtime_class: Object) -> Object | None:
    """What a Pod of the class costs beside its containers; None where the class does not say."""
    overhead = runtime_class.get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _selector(own: Object, wanted: Object, attributes: Attributes) -> dict[str, str]:
    for key, value in wanted.items():
        if own.get(key, value) != value:
            why = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own[key]}"
            raise forbidden(attributes, f"conflict: {why}")
    return {**own, **wanted}


def merge_tolerations(tolerations: Sequence[Object]) -> list[Object]:
    """Without those that another one covers; of equal ones the first stays."""
    merged: list[Object] = []
    for i, one in enumerate(tolerations):
        later = (other for other in tolerations[i + 1 :] if other != one)
        if not any(_covers(other, one) for other in (*merged, *later)):
            merged.append(one)
    return merged


def _covers(wide: Object, narrow: Object) -> bool:
    """Whether `wide` tolerates all that `narrow` does."""
    if wide == narrow:
        return True
    operator = wide.get("operator") or ""
    if (wide.get("key") or "") != (narrow.get("key") or "") and (wide.get("key") or operator != "Exists"):
        return False
    if wide.get("effect") and wide.get("effect") != narrow.get("effect"):
        return False
    seconds, less = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    if wide.get("effect") == "NoExecute" and seconds is not None and (less is None or less > seconds):
        return False
    if operator in ("", "Equal"):
        return narrow.get("operator") == "Equal" and (narrow.get("value") or "") == (wide.get("value") or "")
    return bool(operator == "Exists")
