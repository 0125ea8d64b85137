"""The name of a PriorityClass becomes the number the scheduler compares.

Upstream: plugin/pkg/admission/priority/admission.go
"""

from __future__ import annotations

from typing import NamedTuple

from k8slab.api.objects import Object
from k8slab.api.priority_classes import PREEMPT_LOWER_PRIORITY, SYSTEM_PRIORITY_CLASSES
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden

__all__ = ["Priority"]

CLASSES = "priorityclasses.scheduling.k8s.io"


class _Resolved(NamedTuple):
    class_name: str
    value: int
    preemption: str


class Priority:
    name = "Priority"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Resolves the class of a new Pod, or keeps that of an old one."""
        pod = attributes.object
        if attributes.resource.group_resource != "pods" or attributes.subresource or pod is None:
            return None
        spec = pod.get("spec") or {}
        if attributes.operation == "UPDATE":
            old = {} if attributes.old is None else attributes.old["spec"]
            carried = {k: old[k] for k in ("priority", "preemptionPolicy") if spec.get(k) is None and k in old}
            return {**pod, "spec": {**spec, **carried}} if carried else None
        found = self._resolve(attributes, lister, spec.get("priorityClassName") or "")
        given, policy = spec.get("priority"), spec.get("preemptionPolicy")
        if given is not None and given != found.value:
            raise forbidden(
                attributes,
                f"the integer value of priority ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {found.value} from the given PriorityClass name",
            )
        if policy is not None and policy != found.preemption:
            raise forbidden(
                attributes,
                f"the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; "
                f"priority admission controller computed {found.preemption} from the given PriorityClass name",
            )
        resolved = {"priority": found.value, "preemptionPolicy": found.preemption}
        if found.class_name:
            resolved["priorityClassName"] = found.class_name
        return {**pod, "spec": {**spec, **resolved}}

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """There is at most one global default; system classes stay."""
        if attributes.resource.group_resource != CLASSES:
            return
        if attributes.operation == "DELETE":
            if attributes.name in SYSTEM_PRIORITY_CLASSES:
                raise forbidden(attributes, "this is a system priority class and cannot be deleted")
        elif attributes.object is not None and attributes.object.get("globalDefault"):
            default = _default(lister)
            is_new = attributes.operation == "CREATE"
            if default is not None and (is_new or default["metadata"]["name"] != attributes.name):
                name = default["metadata"]["name"]
                raise forbidden(
                    attributes, f"PriorityClass {name} is already marked as default. Only one default can exist"
                )

    def _resolve(self, attributes: Attributes, lister: Lister, name: str) -> _Resolved:
        if not name:
            default = _default(lister)
            return _of(default) if default is not None else _Resolved("", 0, PREEMPT_LOWER_PRIORITY)
        found = lister.cached(CLASSES, "", name)
        if found is not None:
            return _of(found)
        if name in SYSTEM_PRIORITY_CLASSES:
            return _Resolved(name, SYSTEM_PRIORITY_CLASSES[name], PREEMPT_LOWER_PRIORITY)
        raise forbidden(attributes, f"no PriorityClass with name {name} was found")


def _of(priority_class: Object) -> _Resolved:
    policy = priority_class.get("preemptionPolicy") or PREEMPT_LOWER_PRIORITY
    return _Resolved(priority_class["metadata"]["name"], priority_class.get("value", 0), policy)


def _default(lister: Lister) -> Object | None:
    """The global default; of several the one with the lowest value."""
    found = [c for c in lister.cached_all(CLASSES) if c.get("globalDefault")]
    return min(found, key=lambda c: c.get("value", 0), default=None)
