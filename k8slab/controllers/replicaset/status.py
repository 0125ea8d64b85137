"""The status of a ReplicaSet: how many Pods, how many of them ready, available, ending.

Upstream: pkg/controller/replicaset/replica_set_utils.go, pkg/controller/controller_utils.go
(FindMinNextPodAvailabilityCheck)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pods import get_condition, is_pod_active, is_pod_terminating
from k8slab.api.times import parse_time, rfc3339
from k8slab.controllers.controller_ref import controller_of

__all__ = ["PodFacts", "calculate_status", "facts_of", "next_availability_check_ms", "status_differs"]

FAILURE = "ReplicaFailure"


class PodFacts(NamedTuple):
    """What a sync looks at in every Pod, read from the object once. `owner`: the uid of its controller, "" without.
    `labels`: its labels as pairs. `ready_ms`: since when it is ready; -1 not ready, None without time."""

    pod: Object
    owner: str
    active: bool
    terminating: bool
    labels: tuple[tuple[str, str], ...]
    ready_ms: int | None


def facts_of(pod: Object) -> PodFacts:
    reference = controller_of(pod)
    ready = get_condition(pod, "Ready")
    ready_ms: int | None = -1
    if ready is not None and ready.get("status") == "True":
        since = ready.get("lastTransitionTime")
        ready_ms = parse_time(since) if since else None
    return PodFacts(
        pod=pod,
        owner=reference["uid"] if reference is not None else "",
        active=is_pod_active(pod),
        terminating=is_pod_terminating(pod),
        labels=tuple((pod["metadata"].get("labels") or {}).items()),
        ready_ms=ready_ms,
    )


def _is_available(ready_ms: int | None, min_ready_ms: int, now_ms: int) -> bool:
    return min_ready_ms == 0 or (ready_ms is not None and ready_ms + min_ready_ms <= now_ms)


def calculate_status(
    replica_set: Object,
    pods: Sequence[PodFacts],
    terminating: int | None,
    failure: str | None,
    now_ms: int,
) -> dict[str, Any]:
    """The status that its active `pods` add up to. `terminating`: how many more are ending, None: not reported.

    `failure`: the text of what went wrong in this sync. Counts of 0 other than `replicas` and `terminatingReplicas`
    are left out, as the API server does when it stores the object.
    """
    old = replica_set.get("status") or {}
    wanted = ((replica_set["spec"]["template"].get("metadata") or {}).get("labels") or {}).items()
    min_ready_ms = 1000 * (replica_set["spec"].get("minReadySeconds") or 0)
    ready = [pod.ready_ms for pod in pods if pod.ready_ms != -1]
    labelled = Counter([pod.labels for pod in pods])
    counts = {
        "fullyLabeledReplicas": sum(count for labels, count in labelled.items() if wanted <= dict(labels).items()),
        "readyReplicas": len(ready),
        "availableReplicas": sum(_is_available(ready_ms, min_ready_ms, now_ms) for ready_ms in ready),
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }
    status: dict[str, Any] = {"replicas": len(pods)} | {key: value for key, value in counts.items() if value}
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    conditions = _conditions(replica_set, old.get("conditions") or (), len(pods), failure, now_ms)
    return {**status, "conditions": conditions} if conditions else status


def _conditions(replica_set: Object, old: Sequence[Object], have: int, failure: str | None, now_ms: int) -> list[Any]:
    """A failure is recorded once and stays as it is until a sync goes well."""
    known = any(condition["type"] == FAILURE for condition in old)
    if failure is None:
        return [condition for condition in old if condition["type"] != FAILURE]
    if known:
        return list(old)
    want = replica_set["spec"]["replicas"]
    condition = {
        "type": FAILURE,
        "status": "True",
        "lastTransitionTime": rfc3339(now_ms),
        "reason": "FailedCreate" if have < want else "FailedDelete" if have > want else "",
        "message": failure,
    }
    return [*old, condition]


_COMPARED = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "terminatingReplicas")


def status_differs(replica_set: Object, status: Object) -> bool:
    """Whether `status` says anything new: a count, a condition, or a generation that was not observed yet."""
    old = replica_set.get("status") or {}
    if any((old.get(field) or 0) != (status.get(field) or 0) for field in _COMPARED):
        return True
    if ("terminatingReplicas" in old) != ("terminatingReplicas" in status):
        return True
    unseen = replica_set["metadata"].get("generation", 0) != (old.get("observedGeneration") or 0)
    return unseen or list(old.get("conditions") or ()) != list(status.get("conditions") or ())


def next_availability_check_ms(pods: Iterable[PodFacts], min_ready_seconds: int, now_ms: int) -> int | None:
    """After how many milliseconds the next ready Pod becomes available; None: none is on its way."""
    due = [pod.ready_ms + 1000 * min_ready_seconds - now_ms for pod in pods if pod.ready_ms not in (None, -1)]
    return min((delay for delay in due if delay > 0), default=None)
