"""Which Pods go first when a ReplicaSet shrinks.

One table of comparisons, tried in order, decides. Ages are compared by their power of two, so "newest first" is
only roughly true: among Pods whose ages fall into one bucket the uid decides, which spreads the loss.

Upstream: pkg/controller/controller_utils.go (ActivePodsWithRanks), pkg/controller/replicaset/replica_set.go
(getPodsToDelete), pkg/apis/core/v1/helper/helpers.go (GetDeletionCostFromPodAnnotations)
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pods import get_condition, is_pod_active, pod_phase
from k8slab.api.times import parse_time

__all__ = ["DELETION_COST", "RankedPod", "compare", "deletion_cost", "pods_to_delete", "rank_pod", "scale_down_order"]

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_COST = re.compile(r"-[0-9]+|0|[1-9][0-9]*", re.ASCII)
_INSERTION_SORT = 12  # Go's sort uses insertion sort up to this length


class RankedPod(NamedTuple):
    """What the comparison looks at. Times are milliseconds, None where the Pod has none (then ready is False or
    the condition carries no time). `neighbours`: active Pods of the related ReplicaSets on its node."""

    name: str
    uid: str
    node: str
    phase: str
    ready: bool
    ready_ms: int | None
    cost: int
    neighbours: int
    restarts: int
    sidecar_restarts: int
    created_ms: int | None


def deletion_cost(pod: Object) -> int:
    """The annotation controller.kubernetes.io/pod-deletion-cost as int32; anything invalid (`+5`, `007`) is 0."""
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST)
    if text is None or _COST.fullmatch(text) is None:
        return 0
    cost = int(text)
    return cost if -(2**31) <= cost < 2**31 else 0


def _restarts(pod: Object) -> tuple[int, int]:
    """The highest restart count of the containers, and of the sidecars."""
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    sidecars = [c["name"] for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    regular = [c.get("restartCount", 0) for c in status.get("containerStatuses") or ()]
    init = [c.get("restartCount", 0) for c in status.get("initContainerStatuses") or () if c["name"] in sidecars]
    return max(regular, default=0), max(init, default=0)


def rank_pod(pod: Object, neighbours: int) -> RankedPod:
    metadata = pod["metadata"]
    ready = get_condition(pod, "Ready")
    is_ready = ready is not None and ready.get("status") == "True"
    ready_since = ready.get("lastTransitionTime") if ready is not None and is_ready else None
    created = metadata.get("creationTimestamp")
    restarts, sidecar_restarts = _restarts(pod)
    return RankedPod(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        node=(pod.get("spec") or {}).get("nodeName") or "",
        phase=pod_phase(pod),
        ready=is_ready,
        ready_ms=parse_time(ready_since) if ready_since else None,
        cost=deletion_cost(pod),
        neighbours=neighbours,
        restarts=restarts,
        sidecar_restarts=sidecar_restarts,
        created_ms=parse_time(created) if created else None,
    )


def _log_age(since_ms: int, now_ms: int) -> int:
    age = now_ms - since_ms
    return int(math.log2(age * 1_000_000)) if age > 0 else -1


def _compare_ages(one: int | None, other: int | None, one_uid: str, other_uid: str, now_ms: int) -> int:
    """Younger first, by power of two; equal powers by uid. A missing time comes first. Times differ."""
    if one is None:
        return -1
    if other is None:
        return 1
    by_age = _log_age(one, now_ms) - _log_age(other, now_ms)
    return by_age or (-1 if one_uid < other_uid else 1)


def compare(a: RankedPod, b: RankedPod, now_ms: int) -> int:
    """Negative: `a` is deleted before `b`. Not transitive in corner cases (equal ready times on one side, equal
    buckets on the other), so the result of a sort depends on the algorithm."""
    if a.node != b.node and not (a.node and b.node):
        return -1 if not a.node else 1  # not on a node yet
    by_phase = _PHASES.get(a.phase, 0) - _PHASES.get(b.phase, 0)
    if by_phase:
        return by_phase
    if a.ready != b.ready:
        return -1 if not a.ready else 1
    if a.cost != b.cost:
        return a.cost - b.cost
    if a.neighbours != b.neighbours:
        return b.neighbours - a.neighbours  # crowded nodes first
    if a.ready and a.ready_ms != b.ready_ms:
        return _compare_ages(a.ready_ms, b.ready_ms, a.uid, b.uid, now_ms)
    if a.restarts != b.restarts:
        return b.restarts - a.restarts
    if a.sidecar_restarts != b.sidecar_restarts:
        return b.sidecar_restarts - a.sidecar_restarts
    if a.created_ms != b.created_ms:
        return _compare_ages(a.created_ms, b.created_ms, a.uid, b.uid, now_ms)
    return 0


def _insertion_sort(pods: Iterable[RankedPod], before: Callable[[RankedPod, RankedPod], bool]) -> list[RankedPod]:
    result: list[RankedPod] = []
    for pod in pods:
        at = len(result)
        while at > 0 and before(pod, result[at - 1]):
            at -= 1
        result.insert(at, pod)
    return result


def scale_down_order(pods: Sequence[RankedPod], now_ms: int) -> list[RankedPod]:
    """First deleted first."""
    if len(pods) <= _INSERTION_SORT:
        return _insertion_sort(pods, lambda a, b: compare(a, b, now_ms) < 0)

    def order(a: RankedPod, b: RankedPod) -> int:
        return compare(a, b, now_ms)

    return sorted(pods, key=cmp_to_key(order))


def pods_to_delete(pods: Sequence[Object], related: Iterable[Object], count: int, now_ms: int) -> list[Object]:
    """The `count` Pods to delete. `related`: the Pods of all ReplicaSets with the same owner (of these only the
    active ones count), so that a rollout empties crowded nodes first."""
    if count >= len(pods):
        return list(pods)
    per_node = Counter((pod.get("spec") or {}).get("nodeName") or "" for pod in related if is_pod_active(pod))
    by_name = {pod["metadata"]["name"]: pod for pod in pods}
    ranked = [rank_pod(pod, per_node[(pod.get("spec") or {}).get("nodeName") or ""]) for pod in pods]
    return [by_name[rank.name] for rank in scale_down_order(ranked, now_ms)[:count]]
