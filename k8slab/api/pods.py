"""Questions asked of Pods everywhere: is it ready, available, active, finished?

Upstream: pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.times import parse_time

__all__ = [
    "DEFAULT_SCHEDULER_NAME",
    "get_condition",
    "is_pod_active",
    "is_pod_available",
    "is_pod_ready",
    "is_pod_terminal",
    "is_pod_terminating",
    "pod_phase",
    "pod_priority",
    "set_condition",
]

DEFAULT_SCHEDULER_NAME = "default-scheduler"
"""The scheduler of a Pod that names none."""

_FINISHED = ("Succeeded", "Failed")


def pod_phase(pod: Object) -> str:
    """`status.phase`, or "" where no status was written yet."""
    phase: str = (pod.get("status") or {}).get("phase") or ""
    return phase


def pod_priority(pod: Object) -> int:
    """`spec.priority`; 0 for Pods made before there was a default priority class."""
    return (pod.get("spec") or {}).get("priority") or 0


def get_condition(obj: Object, condition_type: str) -> Mapping[str, Any] | None:
    """The first entry of `status.conditions` (of any kind of object) with this type."""
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] == condition_type:
            found: Mapping[str, Any] = condition
            return found
    return None


def set_condition(conditions: list[Any], new: Object) -> list[Any]:
    """`conditions` with `new` in the place of the entry of its type, or at the end.

    An entry that keeps its status keeps its lastTransitionTime.
    """
    for index, old in enumerate(conditions):
        if old["type"] == new["type"]:
            entry = dict(new)
            if old.get("status") == new.get("status") and "lastTransitionTime" in old:
                entry["lastTransitionTime"] = old["lastTransitionTime"]
            return [*conditions[:index], entry, *conditions[index + 1 :]]
    return [*conditions, dict(new)]


def is_pod_ready(pod: Object) -> bool:
    """The condition Ready is True."""
    condition = get_condition(pod, "Ready")
    return condition is not None and condition.get("status") == "True"


def is_pod_available(pod: Object, min_ready_seconds: int, now_ms: int) -> bool:
    """Ready for at least `min_ready_seconds`. A Pod whose Ready condition has no time only counts when that is 0."""
    condition = get_condition(pod, "Ready")
    if condition is None or condition.get("status") != "True":
        return False
    if min_ready_seconds == 0:
        return True
    since = condition.get("lastTransitionTime")
    return since is not None and parse_time(since) + 1000 * min_ready_seconds <= now_ms


def is_pod_terminal(pod: Object) -> bool:
    """Its containers ended for good: phase Succeeded or Failed."""
    return pod_phase(pod) in _FINISHED


def is_pod_terminating(pod: Object) -> bool:
    """Deletion was asked for, and its containers did not end yet."""
    return pod["metadata"].get("deletionTimestamp") is not None and not is_pod_terminal(pod)


def is_pod_active(pod: Object) -> bool:
    """Counts as a replica: neither finished nor being deleted."""
    return not is_pod_terminal(pod) and pod["metadata"].get("deletionTimestamp") is None
