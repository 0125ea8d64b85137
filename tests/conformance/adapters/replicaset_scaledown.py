"""Golden topic replicaset_scaledown: the order in which a ReplicaSet gives up its Pods."""

from __future__ import annotations

from typing import Any

from k8slab.api.times import rfc3339
from k8slab.controllers.replicaset.scale_down import DELETION_COST, pods_to_delete

NOW_MS = 10**9


def _pod(case: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": case["name"],
        "uid": case["uid"],
        "creationTimestamp": rfc3339(NOW_MS - 1000 * case["createdSecondsAgo"]),
    }
    if case.get("deletionCost") is not None:
        metadata["annotations"] = {DELETION_COST: case["deletionCost"]}
    ready = {
        "type": "Ready",
        "status": "True" if case["ready"] else "False",
        "lastTransitionTime": rfc3339(NOW_MS - 1000 * case["readySecondsAgo"]),
    }
    status = {
        "phase": case["phase"],
        "conditions": [ready],
        "containerStatuses": [{"name": "c", "restartCount": case["restarts"]}],
    }
    return {"metadata": metadata, "spec": {"nodeName": case["node"]}, "status": status}


def _order(pods: list[dict[str, Any]], now_ms: int) -> list[str]:
    # deleting all but one sorts; the last is the one that stays
    gone = [pod["metadata"]["name"] for pod in pods_to_delete(pods, pods, len(pods) - 1, now_ms)]
    return [*gone, *(pod["metadata"]["name"] for pod in pods if pod["metadata"]["name"] not in gone)]


def run(case: dict[str, Any]) -> Any:
    return {"order": _order([_pod(pod) for pod in case["pods"]], NOW_MS)}
