"""Draining: in which order Pods leave a node that goes, and which of them are not asked any more.

>>> from k8slab.autoscaling.karpenter import forced_deletion_ms
>>> training = {"metadata": {"name": "train"}, "spec": {"terminationGracePeriodSeconds": 300}}
>>> forced_deletion_ms(training, ends_ms=3_600_000)
3300000

Upstream: kubernetes-sigs/karpenter pkg/controllers/node/termination/controller.go, terminator/terminator.go,
terminator/eviction.go; website concepts/disruption.md (Termination Controller, TerminationGracePeriod)
Simplified: no volumes to wait for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from k8slab.api.objects import Object
from k8slab.api.times import parse_time
from k8slab.autoscaling.karpenter.pods import is_drainable, is_evictable, is_of_daemon_set
from k8slab.autoscaling.karpenter.state import StateNode
from k8slab.scheduler.framework import pod_key

__all__ = ["MIN_DRAIN_MS", "Drain", "drain", "forced_deletion_ms", "termination_ends_ms"]

MIN_DRAIN_MS = 5_000
_CRITICAL = ("system-cluster-critical", "system-node-critical")


@dataclass(frozen=True, slots=True)
class Drain:
    """One look at a node that drains. `evict`: through the eviction API, which asks the budgets. `delete`: at once,
    with so many seconds' grace. `waiting`: Pods that must be gone before the instance is."""

    waiting: tuple[str, ...] = ()
    evict: tuple[str, ...] = ()
    delete: tuple[tuple[str, int], ...] = ()

    @property
    def is_done(self) -> bool:
        return not self.waiting

    @property
    def message(self) -> str:
        return f"{len(self.waiting)} pods are waiting to be evicted" if self.waiting else ""


def termination_ends_ms(node: StateNode) -> int | None:
    """When the node's Pods are no longer asked: terminationGracePeriod after the deletion. None: never."""
    claim = node.claim
    if claim is None or claim.deleted_ms is None or claim.termination_grace_period_ms is None:
        return None
    return claim.deleted_ms + claim.termination_grace_period_ms


def forced_deletion_ms(pod: Object, ends_ms: int | None) -> int | None:
    """When a Pod is deleted in spite of budgets and annotations, so that its own grace period ends with the node's."""
    grace = pod["spec"].get("terminationGracePeriodSeconds")
    return None if ends_ms is None or grace is None else ends_ms - 1_000 * grace


def _is_forced(pod: Object, ends_ms: int | None, now_ms: int) -> bool:
    deleted = pod["metadata"].get("deletionTimestamp")
    if deleted is not None:
        return ends_ms is not None and parse_time(deleted) > ends_ms
    at_ms = forced_deletion_ms(pod, ends_ms)
    return at_ms is not None and now_ms > at_ms


def _tier(pod: Object) -> int:
    """Other Pods, other DaemonSets' Pods, critical ones, critical ones of DaemonSets: one after the other."""
    return 2 * (pod["spec"].get("priorityClassName") in _CRITICAL) + is_of_daemon_set(pod)


def drain(pods: Iterable[Object], now_ms: int, ends_ms: int | None = None) -> Drain:
    """What to do about the Pods of a node that goes. Those whose time is up, all at once; the others, tier by tier."""
    waiting = [pod for pod in pods if is_drainable(pod, now_ms)]
    forced = [pod for pod in waiting if _is_forced(pod, ends_ms, now_ms)]
    asked = [pod for pod in waiting if not _is_forced(pod, ends_ms, now_ms)]
    first = min((_tier(pod) for pod in asked), default=0)
    evict = [pod for pod in asked if _tier(pod) == first and is_evictable(pod, now_ms)]
    seconds = max(((ends_ms or 0) - now_ms) // 1_000, 1)
    return Drain(
        tuple(map(pod_key, waiting)), tuple(map(pod_key, evict)), tuple((pod_key(pod), seconds) for pod in forced)
    )
