"""Pending Pods in groups that any simulation treats alike: one question for all of a Deployment's.

Upstream: cluster-autoscaler/core/scaleup/equivalence/groups.go, utils/utils.go (PodSpecSemanticallyEqual),
simulator/scheduling/similar_pods.go
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.objects import Object
from k8slab.autoscaling.cluster_autoscaler.pod_state import controller_of, is_daemon_set_pod
from k8slab.scheduler import PodInfo

__all__ = ["MAX_GROUPS_BY_CONTROLLER", "PodGroup", "SimilarPods", "build_pod_groups", "scheduling_key"]

MAX_GROUPS_BY_CONTROLLER = 10
"""So many kinds of Pods of one controller are told apart; what comes then stays alone."""


@dataclass(slots=True, eq=False)
class PodGroup:
    """Equivalent Pods. `errors`: by node group, why they do not fit there; `schedulable_groups`: where they do."""

    pods: list[PodInfo]
    errors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    schedulable_groups: list[str] = field(default_factory=list)
    is_schedulable: bool = False

    @property
    def exemplar(self) -> PodInfo:
        return self.pods[0]

    def mark_unschedulable(self, reason: str) -> None:
        """It was schedulable, and nothing came of it."""
        if self.is_schedulable:
            self.errors |= dict.fromkeys(self.schedulable_groups, (reason,))
            self.is_schedulable = False

    def mark_failed(self, groups: Collection[str], reason: str) -> None:
        """These node groups did not grow: it is unschedulable when it would have fit on no other."""
        failed = [group for group in self.schedulable_groups if group in groups]
        if self.is_schedulable and failed:
            self.errors |= dict.fromkeys(failed, (reason,))
            self.is_schedulable = len(failed) < len(self.schedulable_groups)


def scheduling_key(pod: Object) -> str:
    """Equal texts: equal labels and equal specs, but for what no plugin looks at (host names, environment, projected
    volumes: those carry a token of their own in every Pod)."""
    spec: Mapping[str, Any] = pod["spec"]
    projected = {v["name"] for v in spec.get("volumes") or () if v.get("projected") is not None}
    cleaned = {name: value for name, value in spec.items() if name not in ("hostname", "nodeName", *_CONTAINERS)}
    if projected:
        cleaned["volumes"] = [v for v in spec["volumes"] if v["name"] not in projected]
    for part in _CONTAINERS:
        cleaned[part] = [_cleaned(container, projected) for container in spec.get(part) or ()]
    return json.dumps([pod["metadata"].get("labels") or {}, cleaned], sort_keys=True)


_CONTAINERS = ("containers", "initContainers")


def _cleaned(container: Object, projected: Iterable[str]) -> dict[str, Any]:
    kept = {name: value for name, value in container.items() if name != "env"}
    if projected and container.get("volumeMounts"):
        kept["volumeMounts"] = [mount for mount in container["volumeMounts"] if mount.get("name") not in projected]
    return kept


def build_pod_groups(pods: Iterable[PodInfo]) -> list[PodGroup]:
    """In the order of their first Pods. Pods without a controller, and of DaemonSets, stand alone."""
    groups: list[PodGroup] = []
    by_controller: dict[str, dict[str, PodGroup]] = {}
    for info in pods:
        owner = controller_of(info.pod)
        if owner is None or is_daemon_set_pod(info.pod):
            groups.append(PodGroup([info]))
            continue
        known = by_controller.setdefault(str(owner.get("uid")), {})
        key = scheduling_key(info.pod)
        if key in known:
            known[key].pods.append(info)
            continue
        group = PodGroup([info])
        groups.append(group)
        if len(known) < MAX_GROUPS_BY_CONTROLLER:
            known[key] = group
    return groups


class SimilarPods:
    """Kinds of Pods that found no place a moment ago: nobody needs to look again for the next of them."""

    def __init__(self) -> None:
        self._unschedulable: dict[str, dict[str, None]] = {}

    def is_similar_unschedulable(self, pod: Object) -> bool:
        owner = controller_of(pod)
        known = self._unschedulable.get(str(owner.get("uid"))) if owner is not None else None
        return bool(known) and scheduling_key(pod) in (known or {})

    def set_unschedulable(self, pod: Object) -> None:
        owner = controller_of(pod)
        if owner is None or is_daemon_set_pod(pod):
            return
        known = self._unschedulable.setdefault(str(owner.get("uid")), {})
        if len(known) < MAX_GROUPS_BY_CONTROLLER:
            known[scheduling_key(pod)] = None
