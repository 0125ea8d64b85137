"""A Pod as the packing sees it: requests, requirements, tolerations, host ports, worked out once.

Upstream: kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/scheduler.go (PodData), preferences.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.tolerations import any_tolerates, find_matching_untolerated_taint
from k8slab.autoscaling.karpenter.requirements import pod_requirements, strict_pod_requirements
from k8slab.scheduler.framework import PodInfo

__all__ = ["PREFER_NO_SCHEDULE_TOLERATION", "PodData", "relaxed", "requests_of", "tolerates"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PREFER_NO_SCHEDULE_TOLERATION: Object = {"operator": "Exists", "effect": "PreferNoSchedule"}


class PodData:
    """`requests`: cpu in milli, others in units, and one of `pods`. `strict` leaves preferences out."""

    __slots__ = ("created", "info", "key", "pod", "requests", "requirements", "strict", "tolerations", "uid")

    def __init__(self, pod: Object, info: PodInfo | None = None) -> None:
        """`info`: what the scheduler made of the same Pod's requests, if that is known."""
        self.pod = pod
        self.info = PodInfo(pod) if info is None else info
        self.key = self.info.key
        self.uid = self.info.uid
        self.requests = requests_of(self.info)
        self.requirements = pod_requirements(pod)
        self.strict = strict_pod_requirements(pod)
        self.tolerations = pod["spec"].get("tolerations") or ()
        self.created: str = pod["metadata"].get("creationTimestamp") or ""

    def __repr__(self) -> str:
        return f"PodData({self.key})"


def requests_of(info: PodInfo) -> dict[str, int]:
    """What a node must have left for the Pod."""
    return {**info.requested.as_dict(), "pods": 1}


def tolerates(data: PodData, taints: Iterable[Object]) -> bool:
    """Whether the Pod tolerates all of these taints, PreferNoSchedule ones included."""
    return find_matching_untolerated_taint(taints, data.tolerations) is None


def _without(pod: Object, *path: str, terms: Any) -> Object:
    """The Pod with another value at `spec.affinity.<path>`."""
    affinity: dict[str, Any] = dict(pod["spec"]["affinity"])
    inner = affinity
    for name in path[:-1]:
        inner[name] = dict(inner[name])
        inner = inner[name]
    inner[path[-1]] = terms
    return {**pod, "spec": {**pod["spec"], "affinity": affinity}}


def _heaviest_last(terms: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Preferred terms without the heaviest."""
    return sorted(terms, key=lambda term: -(term.get("weight") or 0))[1:]


def relaxed(pod: Object, *, tolerate_prefer_no_schedule: bool = False) -> tuple[Object, str] | None:
    """The Pod with its next wish dropped, and which it was; None: nothing is left that could be dropped.

    In this order: one of several required node terms, preferred Pod affinity, anti-affinity, node affinity (the
    heaviest first), a ScheduleAnyway constraint, and at last the taints PreferNoSchedule.
    """
    spec = pod["spec"]
    affinity = spec.get("affinity") or {}
    node = affinity.get("nodeAffinity") or {}
    terms = (node.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    if len(terms) > 1:
        where = ("nodeAffinity", _REQUIRED, "nodeSelectorTerms")
        return _without(pod, *where, terms=list(terms[1:])), f"removing: spec.affinity.nodeAffinity.{_REQUIRED}[0]"
    for side in ("podAffinity", "podAntiAffinity", "nodeAffinity"):
        preferred = (affinity.get(side) or {}).get(_PREFERRED)
        if preferred:
            rest = _heaviest_last(preferred)
            return _without(pod, side, _PREFERRED, terms=rest), f"removing: spec.affinity.{side}.{_PREFERRED}[0]"
    constraints = list(spec.get("topologySpreadConstraints") or ())
    for index, constraint in enumerate(constraints):
        if constraint.get("whenUnsatisfiable") == "ScheduleAnyway":
            constraints[index] = constraints[-1]
            changed = {**spec, "topologySpreadConstraints": constraints[:-1]}
            return {**pod, "spec": changed}, f"removing: spec.topologySpreadConstraints[{index}]"
    tolerations = list(spec.get("tolerations") or ())
    if tolerate_prefer_no_schedule and not any_tolerates(tolerations, {"effect": "PreferNoSchedule", "key": ""}):
        return {**pod, "spec": {**spec, "tolerations": [*tolerations, PREFER_NO_SCHEDULE_TOLERATION]}}, (
            "adding: toleration for PreferNoSchedule taints"
        )
    return None
