"""Every object has at most one controller, and no ReplicaSet ever has more active Pods than it ever asked for.

Upstream: pkg/controller/controller_ref_manager.go, pkg/controller/replicaset (expectations are what keeps the second)
"""

from __future__ import annotations

from typing import Any

from k8slab.check.judge import Violation, timeline
from k8slab.sim import Trace

__all__ = ["Ownership", "RolloutBounds"]


def controller_of(obj: Any) -> Any:
    """The owner reference with `controller: true`, None when there is none."""
    return next((ref for ref in obj["metadata"].get("ownerReferences") or [] if ref.get("controller")), None)


def is_active(pod: Any) -> bool:
    """Counts as a replica: not ended, not being deleted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]


class Ownership:
    """At most one controller an object; at most as many active Pods as the ReplicaSet asked for at any time."""

    name = "ownership"

    def judge(self, trace: Trace) -> list[Violation]:
        asked: dict[str, int] = {}
        names: dict[str, str] = {}
        active: dict[str, dict[str, None]] = {}
        found: list[Violation] = []
        owner_of: dict[str, str] = {}
        worst: dict[str, int] = {}
        for revision, resource, key, obj in timeline(trace):
            seq = trace.of_revision.get(revision)
            if obj is not None:
                controllers = [r for r in obj["metadata"].get("ownerReferences") or [] if r.get("controller")]
                if len(controllers) > 1:
                    found.append(Violation(self.name, seq, f"{resource} {key} has {len(controllers)} controllers"))
            if resource == "replicasets.apps" and obj is not None:
                uid = obj["metadata"]["uid"]
                names[uid] = key
                asked[uid] = max(asked.get(uid, 0), obj["spec"].get("replicas", 1))
            elif resource == "pods":
                before = owner_of.pop(key, None)
                if before is not None:
                    active[before].pop(key, None)
                owner = controller_of(obj) if obj is not None and is_active(obj) else None
                if owner is not None and owner["kind"] == "ReplicaSet":
                    uid = owner_of[key] = owner["uid"]
                    pods = active.setdefault(uid, {})
                    pods[key] = None
                    if len(pods) > max(asked.get(uid, len(pods)), worst.get(uid, 0)):
                        worst[uid] = len(pods)
                        text = f"ReplicaSet {names[uid]} has {len(pods)} active Pods, and never asked for more than"
                        found.append(Violation(self.name, seq, f"{text} {asked[uid]}"))
        return found


class RolloutBounds:
    """The sum of `spec.replicas` over a Deployment's ReplicaSets stays within replicas + surge. The bound is on what
    is asked for, not on Pods that live: those may be more for a while, in the real system too."""

    name = "rollout bounds"

    def judge(self, trace: Trace) -> list[Violation]:
        limit: dict[str, int] = {}
        names: dict[str, str] = {}
        sizes: dict[str, dict[str, int]] = {}
        found = []
        for revision, resource, key, obj in timeline(trace):
            if resource == "deployments.apps" and obj is not None:
                uid = obj["metadata"]["uid"]
                names[uid] = key
                limit[uid] = max(limit.get(uid, 0), obj["spec"].get("replicas", 1) + _surge(obj))
            elif resource == "replicasets.apps":
                for of_one in sizes.values():
                    of_one.pop(key, None)
                owner = controller_of(obj) if obj is not None else None
                if owner is None or owner["uid"] not in limit:
                    continue
                of_one = sizes.setdefault(owner["uid"], {})
                of_one[key] = obj["spec"].get("replicas", 1)
                total = sum(of_one.values())
                if total > limit[owner["uid"]]:
                    text = f"the ReplicaSets of {names[owner['uid']]} ask for {total} Pods, more than"
                    where = trace.of_revision.get(revision)
                    found.append(Violation(self.name, where, f"{text} {limit[owner['uid']]}"))
        return found


def _surge(deployment: Any) -> int:
    """maxSurge as a number, rounded up; 0 for Recreate."""
    strategy = deployment["spec"].get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return 0
    surge = (strategy.get("rollingUpdate") or {}).get("maxSurge", "25%")
    if isinstance(surge, int):
        return surge
    replicas: int = deployment["spec"].get("replicas", 1)
    return -(-replicas * int(surge.rstrip("%")) // 100)
