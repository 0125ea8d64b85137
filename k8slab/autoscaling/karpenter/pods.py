"""Questions that Karpenter asks of Pods: may it be moved, does it need a node, does it hold its node back?

Upstream: kubernetes-sigs/karpenter pkg/utils/pod/scheduling.go, pkg/utils/disruption/disruption.go,
pkg/utils/pdb/pdb.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.labels import Selector, selector_from_dict
from k8slab.api.objects import Object
from k8slab.api.pods import get_condition, is_pod_active, is_pod_terminal, pod_phase
from k8slab.api.times import parse_time
from k8slab.api.tolerations import any_tolerates
from k8slab.scheduler.framework import labels_of, namespace_of

__all__ = [
    "DISRUPTED_TAINT",
    "DO_NOT_DISRUPT",
    "Limits",
    "eviction_cost",
    "is_disruptable",
    "is_drainable",
    "is_evictable",
    "is_of_daemon_set",
    "is_pending",
    "is_provisionable",
    "is_reschedulable",
]

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DISRUPTED_TAINT: Object = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_STUCK_MS = 60_000


def _owned_by(pod: Object, api_version: str, kind: str) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(one.get("apiVersion") == api_version and one.get("kind") == kind for one in owners)


def is_of_daemon_set(pod: Object) -> bool:
    return _owned_by(pod, "apps/v1", "DaemonSet")


def _is_static(pod: Object) -> bool:
    return _owned_by(pod, "v1", "Node")


def is_pending(pod: Object) -> bool:
    return pod_phase(pod) == "Pending"


def is_provisionable(pod: Object) -> bool:
    """It waits for a node that only new capacity can be: the scheduler found none and preempts nobody for it."""
    condition = get_condition(pod, "PodScheduled")
    return (
        condition is not None
        and condition.get("reason") == "Unschedulable"
        and not pod["spec"].get("nodeName")
        and not (pod.get("status") or {}).get("nominatedNodeName")
        and not is_of_daemon_set(pod)
        and not _is_static(pod)
    )


def is_reschedulable(pod: Object) -> bool:
    """Whoever made it will make another elsewhere; of a StatefulSet that holds while it terminates, too."""
    is_terminating = pod["metadata"].get("deletionTimestamp") is not None
    returns = is_terminating and _owned_by(pod, "apps/v1", "StatefulSet")
    return (is_pod_active(pod) or returns) and not is_of_daemon_set(pod) and not _is_static(pod)


def is_do_not_disrupt_active(pod: Object, now_ms: int) -> bool:
    """The annotation is "true", or a duration that the Pod has not run for yet; anything else counts for nothing."""
    value = (pod["metadata"].get("annotations") or {}).get(DO_NOT_DISRUPT)
    if value is None:
        return False
    if value == "true":
        return True
    try:
        lasts_ms = parse_duration_ns(value) / 1_000_000
    except ValueError:
        return False
    started = (pod.get("status") or {}).get("startTime")
    return lasts_ms > 0 and (started is None or now_ms - parse_time(started) < lasts_ms)


def is_disruptable(pod: Object, now_ms: int) -> bool:
    """It does not ask to be left alone. DaemonSets' and static Pods may ask for it, too."""
    return not is_pod_active(pod) or not is_do_not_disrupt_active(pod, now_ms)


def _tolerates_disruption(pod: Object) -> bool:
    return any_tolerates(pod["spec"].get("tolerations") or (), DISRUPTED_TAINT)


def is_evictable(pod: Object, now_ms: int) -> bool:
    """A drain calls the eviction API for it."""
    return (
        is_pod_active(pod)
        and not _tolerates_disruption(pod)
        and not _is_static(pod)
        and not is_do_not_disrupt_active(pod, now_ms)
    )


def is_drainable(pod: Object, now_ms: int) -> bool:
    """A drain waits until it is gone: all but static Pods, those that tolerate the taint, and those stuck for a
    minute."""
    deleted = pod["metadata"].get("deletionTimestamp")
    is_stuck = deleted is not None and now_ms - parse_time(deleted) > _STUCK_MS
    return not is_pod_terminal(pod) and not _tolerates_disruption(pod) and not is_stuck and not _is_static(pod)


def eviction_cost(pod: Object) -> float:
    """1 for most Pods; the deletion cost's annotation and the priority move it between -10 and 10."""
    cost = 1.0
    text = (pod["metadata"].get("annotations") or {}).get(_DELETION_COST)
    if text is not None:
        with suppress(ValueError):  # upstream logs it and counts nothing
            cost += float(text) / 2**27
    priority = pod["spec"].get("priority")
    if priority is not None:
        cost += priority / 2**25
    return min(max(cost, -10.0), 10.0)


@dataclass(frozen=True, slots=True)
class _Budget:
    key: str
    namespace: str
    selector: Selector
    disruptions_allowed: int
    is_fully_blocking: bool
    can_always_evict_unhealthy: bool


def _read(pdb: Object) -> _Budget:
    spec, status = pdb.get("spec") or {}, pdb.get("status") or {}
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    return _Budget(
        f"{namespace_of(pdb)}/{pdb['metadata']['name']}",
        namespace_of(pdb),
        selector_from_dict(spec.get("selector")),
        status.get("disruptionsAllowed") or 0,
        most in (0, "0%") or least == "100%",
        spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )


class Limits:
    """PodDisruptionBudgets, asked whether Pods may be evicted. They may not all be evictable at once."""

    def __init__(self, pdbs: Iterable[Object] = ()) -> None:
        self._budgets = tuple(map(_read, pdbs))

    def why_not(self, pods: Iterable[Object], now_ms: int) -> str:
        """The first reason not to evict one of these Pods, "" when there is none."""
        for pod in pods:
            blocking = self._blocking(pod, now_ms)
            if len(blocking) > 1:
                return f"eviction does not support multiple PDBs ({', '.join(one.key for one in blocking)})"
            if blocking:
                return f"pdb {blocking[0].key} prevents pod evictions"
        return ""

    def _matching(self, pod: Object) -> Sequence[_Budget]:
        labels: Mapping[str, str] = labels_of(pod)
        return [one for one in self._budgets if one.namespace == namespace_of(pod) and one.selector.matches(labels)]

    def _blocking(self, pod: Object, now_ms: int, *, fully: bool = False) -> Sequence[_Budget]:
        if not self._budgets or not is_evictable(pod, now_ms):
            return ()
        matching = self._matching(pod)
        if len(matching) > 1:
            return matching
        for one in matching:
            ready = get_condition(pod, "Ready")
            if one.can_always_evict_unhealthy and ready is not None and ready.get("status") == "False":
                return ()
            if one.is_fully_blocking if fully else one.disruptions_allowed == 0:
                return matching
        return ()

    def is_currently_reschedulable(self, pod: Object, now_ms: int) -> bool:
        """`is_reschedulable`, and nothing that stays forbids the eviction: no annotation, no budget that never
        allows."""
        return is_reschedulable(pod) and is_disruptable(pod, now_ms) and not self._blocking(pod, now_ms, fully=True)
