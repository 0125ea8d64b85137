"""The status of a Deployment: counts, the conditions Available, Progressing and ReplicaFailure.

Conditions are kept in upstream's order: a changed one moves to the end.

Upstream: pkg/controller/deployment/sync.go (calculateStatus), pkg/controller/deployment/progress.go,
pkg/controller/deployment/util/deployment_util.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.times import parse_time, rfc3339
from k8slab.controllers.deployment.fenceposts import fenceposts_of

__all__ = [
    "calculate_status",
    "condition_of",
    "deployment_complete",
    "has_progress_deadline",
    "new_condition",
    "paused_status",
    "progress_check_ms",
    "rollout_status",
    "set_deployment_condition",
]

MAX_INT32 = 2**31 - 1

Status = dict[str, Any]


def condition_of(status: Object, condition_type: str) -> Object | None:
    return next((c for c in status.get("conditions") or () if c["type"] == condition_type), None)


def new_condition(condition_type: str, status: str, reason: str, message: str, now_ms: int) -> dict[str, str]:
    now = rfc3339(now_ms)
    return {
        "type": condition_type,
        "status": status,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def set_deployment_condition(status: Object, new: Object) -> Status:
    """`status` with the condition, at the end; unchanged if one of its type has the same status and reason. The
    transition time stays when the status does."""
    old = condition_of(status, new["type"])
    if old is not None and old["status"] == new["status"] and old.get("reason") == new.get("reason"):
        return dict(status)
    entry = dict(new)
    if old is not None and old["status"] == new["status"]:
        entry["lastTransitionTime"] = old["lastTransitionTime"]
    return {**without_condition(status, new["type"]), "conditions": [*_others(status, new["type"]), entry]}


def _others(status: Object, condition_type: str) -> list[Any]:
    return [c for c in status.get("conditions") or () if c["type"] != condition_type]


def without_condition(status: Object, condition_type: str) -> Status:
    others = _others(status, condition_type)
    rest = {key: value for key, value in status.items() if key != "conditions"}
    return {**rest, "conditions": others} if others else rest


def has_progress_deadline(deployment: Object) -> bool:
    return deployment["spec"].get("progressDeadlineSeconds") not in (None, MAX_INT32)


def _sum(replica_sets: Iterable[Object], field: str) -> int:
    return sum((rs.get("status") or {}).get(field) or 0 for rs in replica_sets)


def _terminating(replica_sets: Iterable[Object]) -> int | None:
    """None when a ReplicaSet that was synced does not report the number (an older controller wrote it)."""
    total = 0
    for rs in replica_sets:
        status = rs.get("status") or {}
        count = status.get("terminatingReplicas")
        if count is not None:
            total += count
        elif status.get("observedGeneration"):
            return None
    return total


def calculate_status(
    deployment: Object, replica_sets: Sequence[Object], new: Object | None, now_ms: int, *, terminating: bool
) -> Status:
    """The status that the ReplicaSets add up to. `terminating`: report terminatingReplicas (a feature gate).

    Counts of 0 are left out, as the API server does when it stores the object.
    """
    available = _sum(replica_sets, "availableReplicas")
    wanted = sum(rs["spec"]["replicas"] for rs in replica_sets)
    old = deployment.get("status") or {}
    counts = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": _sum(replica_sets, "replicas"),
        "updatedReplicas": _sum([new], "replicas") if new is not None else 0,
        "readyReplicas": _sum(replica_sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, wanted - available),
    }
    status: Status = {key: value for key, value in counts.items() if value}
    gone = _terminating(replica_sets) if terminating else None
    if gone is not None:
        status["terminatingReplicas"] = gone
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    if old.get("conditions"):
        status["conditions"] = list(old["conditions"])
    return set_deployment_condition(status, _availability(deployment, available, now_ms))


def _availability(deployment: Object, available: int, now_ms: int) -> dict[str, str]:
    if available >= deployment["spec"]["replicas"] - fenceposts_of(deployment).unavailable:
        text = "Deployment has minimum availability."
        return new_condition("Available", "True", "MinimumReplicasAvailable", text, now_ms)
    text = "Deployment does not have minimum availability."
    return new_condition("Available", "False", "MinimumReplicasUnavailable", text, now_ms)


def deployment_complete(deployment: Object, status: Object) -> bool:
    """All desired replicas are of the new version and available, and no other Pods are left."""
    desired = deployment["spec"]["replicas"]
    counts = [status.get(field, 0) for field in ("updatedReplicas", "replicas", "availableReplicas")]
    seen: int = status.get("observedGeneration", 0)
    return counts == [desired] * 3 and seen >= deployment["metadata"].get("generation", 0)


def _progressing(old: Object, new: Object) -> bool:
    """More new Pods, fewer old ones, or more ready or available ones than at the last look."""

    def count(status: Object, field: str) -> int:
        return status.get(field) or 0

    def outdated(status: Object) -> int:
        return count(status, "replicas") - count(status, "updatedReplicas")

    return (
        count(new, "updatedReplicas") > count(old, "updatedReplicas")
        or outdated(new) < outdated(old)
        or count(new, "readyReplicas") > count(old, "readyReplicas")
        or count(new, "availableReplicas") > count(old, "availableReplicas")
    )


def _timed_out(deployment: Object, status: Object, now_ms: int) -> bool:
    progressing = condition_of(status, "Progressing")
    if progressing is None or progressing.get("reason") == "NewReplicaSetAvailable":
        return False  # nothing to measure from, or the last rollout ended well
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return True
    since = parse_time(progressing["lastUpdateTime"])
    return bool(since + 1000 * deployment["spec"]["progressDeadlineSeconds"] < now_ms)


def _progress(deployment: Object, status: Status, new: Object | None, now_ms: int) -> Status:
    """`status` with the Progressing condition brought up to date."""
    old_status = deployment.get("status") or {}
    current = condition_of(old_status, "Progressing")
    kind, named = ("ReplicaSet", new) if new is not None else ("Deployment", deployment)
    subject = f'{kind} "{named["metadata"]["name"]}"'
    if deployment_complete(deployment, status):
        text = f"{subject} has successfully progressed."
        done = new_condition("Progressing", "True", "NewReplicaSetAvailable", text, now_ms)
        return set_deployment_condition(status, done)
    if _progressing(old_status, status):
        moving = new_condition("Progressing", "True", "ReplicaSetUpdated", f"{subject} is progressing.", now_ms)
        if current is not None and current["status"] == "True":
            moving["lastTransitionTime"] = current["lastTransitionTime"]
        # also with an equal reason: each sign of progress renews lastUpdateTime, from which the deadline counts
        return set_deployment_condition(without_condition(status, "Progressing"), moving)
    if _timed_out(deployment, status, now_ms):
        text = f"{subject} has timed out progressing."
        late = new_condition("Progressing", "False", "ProgressDeadlineExceeded", text, now_ms)
        return set_deployment_condition(status, late)
    return status


def rollout_status(
    deployment: Object, replica_sets: Sequence[Object], new: Object | None, now_ms: int, *, terminating: bool
) -> Status:
    """The status during a rollout: `calculate_status`, progress against the deadline, failures of ReplicaSets."""
    status = calculate_status(deployment, replica_sets, new, now_ms, terminating=terminating)
    if has_progress_deadline(deployment):
        current = condition_of(deployment.get("status") or {}, "Progressing")
        finished = current is not None and current.get("reason") == "NewReplicaSetAvailable"
        if not (finished and status.get("replicas", 0) == status.get("updatedReplicas", 0)):
            status = _progress(deployment, status, new, now_ms)
    else:
        status = without_condition(status, "Progressing")
    failure = _replica_failure(replica_sets, new)
    if failure is not None:
        return set_deployment_condition(status, failure)
    return without_condition(status, "ReplicaFailure")


def _replica_failure(replica_sets: Sequence[Object], new: Object | None) -> dict[str, Any] | None:
    """The failure of the new ReplicaSet, else of any other, as a condition of the Deployment."""
    for rs in ([new] if new is not None else []) + list(replica_sets):
        found = condition_of(rs.get("status") or {}, "ReplicaFailure")
        if found is not None:
            since = found.get("lastTransitionTime")
            fields = {key: found[key] for key in ("type", "status", "reason", "message") if key in found}
            return {**fields, "lastTransitionTime": since, "lastUpdateTime": since}
    return None


def paused_status(deployment: Object, now_ms: int) -> Status | None:
    """The status with Progressing set to Unknown when a Deployment was just paused or resumed; else None."""
    if not has_progress_deadline(deployment):
        return None
    status = deployment.get("status") or {}
    progressing = condition_of(status, "Progressing")
    reason = progressing.get("reason") if progressing is not None else None
    if reason == "ProgressDeadlineExceeded":
        return None  # having reported lack of progress, don't hide it
    paused = bool(deployment["spec"].get("paused"))
    if paused == (reason == "DeploymentPaused"):
        return None
    word = "paused" if paused else "resumed"
    changed = new_condition("Progressing", "Unknown", f"Deployment{word.capitalize()}", f"Deployment is {word}", now_ms)
    return set_deployment_condition(status, changed)


def progress_check_ms(deployment: Object, status: Object, now_ms: int) -> int | None:
    """After how many milliseconds to look whether the rollout is stuck; 0: soon; None: no need."""
    current = condition_of(deployment.get("status") or {}, "Progressing")
    if not has_progress_deadline(deployment) or current is None:
        return None
    if deployment_complete(deployment, status) or current.get("reason") == "ProgressDeadlineExceeded":
        return None
    deadline = parse_time(current["lastUpdateTime"]) + 1000 * deployment["spec"]["progressDeadlineSeconds"]
    after = deadline - now_ms
    return 0 if after < 1000 else after + 1000
