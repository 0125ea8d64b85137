"""At the end the world is as it was asked to be, and nothing is left over.

Upstream: none; this is what "eventually" means for the controllers of the slice.
"""

from __future__ import annotations

from typing import Any

from k8slab.check.judge import Violation
from k8slab.check.ownership import controller_of, is_active
from k8slab.sim import Trace

__all__ = ["Convergence"]


class Convergence:
    """The last state of every object: Deployments are complete, ReplicaSets have their Pods, no object outlives its
    owners, and nothing that is being deleted is still there without a finalizer or a reason."""

    name = "convergence"

    def judge(self, trace: Trace) -> list[Violation]:
        last = {place: trace.history(*place)[-1][1] for place in trace.objects()}
        alive = {place: obj for place, obj in last.items() if obj is not None}
        uids = {obj["metadata"].get("uid") for obj in alive.values()}
        found = []
        for (resource, key), obj in alive.items():
            for text in _unfinished(resource, obj, alive, uids):
                found.append(Violation(self.name, None, f"{resource} {key} {text}"))
        return found


def _unfinished(resource: str, obj: Any, alive: dict[tuple[str, str], Any], uids: set[Any]) -> list[str]:
    metadata = obj["metadata"]
    texts = []
    owners = metadata.get("ownerReferences") or []
    if owners and not any(ref["uid"] in uids for ref in owners):
        texts.append(f"has outlived its owner {owners[0]['kind']} {owners[0]['name']}")
    if "deletionTimestamp" in metadata and not metadata.get("finalizers") and resource != "pods":
        texts.append("is being deleted and nothing holds it")
    if resource == "deployments.apps" and "deletionTimestamp" not in metadata:
        texts += _incomplete(obj)
    if resource == "replicasets.apps" and "deletionTimestamp" not in metadata:
        want = obj["spec"].get("replicas", 1)
        have = sum(
            1
            for (kind, _), pod in alive.items()
            if kind == "pods" and is_active(pod) and (controller_of(pod) or {}).get("uid") == metadata["uid"]
        )
        if have != want:
            texts.append(f"has {have} active Pods and wants {want}")
    return texts


def _incomplete(deployment: Any) -> list[str]:
    status, spec = deployment.get("status") or {}, deployment["spec"]
    want = spec.get("replicas", 1)
    if status.get("observedGeneration", 0) != deployment["metadata"].get("generation", 0):
        return ["was changed and the controller has not seen it"]
    return [
        f"has {field} {status.get(field, 0)} and wants {want}"
        for field in ("replicas", "updatedReplicas", "availableReplicas")
        if status.get(field, 0) != want and not spec.get("paused")
    ]
