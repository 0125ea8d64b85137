"""What the autoscaler reads off a Node: readiness, taints, age, annotations.

Upstream: cluster-autoscaler/utils/kubernetes/ready.go, utils/taints/taints.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.times import EPOCH, parse_time

__all__ = [
    "DELETION_CANDIDATE_TAINT",
    "SCALE_DOWN_DISABLED",
    "STARTUP_TAINT_PREFIXES",
    "STATUS_TAINT_PREFIX",
    "TO_BE_DELETED_TAINT",
    "created_ms",
    "has_scale_down_disabled",
    "has_taint",
    "is_ready",
    "is_startup_taint",
    "is_status_taint",
    "provider_id",
    "sanitized_taints",
    "taint_of",
    "taint_time_ms",
    "unix_seconds",
]

TO_BE_DELETED_TAINT = "ToBeDeletedByClusterAutoscaler"
DELETION_CANDIDATE_TAINT = "DeletionCandidateOfClusterAutoscaler"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
STARTUP_TAINT_PREFIXES = (
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
)
STATUS_TAINT_PREFIX = "status-taint.cluster-autoscaler.kubernetes.io/"
_CONDITION_TAINTS = frozenset(
    (
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/pid-pressure",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        "cloud.google.com/impending-node-termination",
        "NodeWithImpairedVolumes",
    )
)
_NOT_READY_TAINTS = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/network-unavailable",
)
_EPOCH_SECONDS = int(EPOCH.timestamp())


def unix_seconds(now_ms: int) -> int:
    """Virtual ms as Unix time: what the autoscaler's taints carry as their value."""
    return _EPOCH_SECONDS + now_ms // 1_000


def _taints(node: Object) -> Sequence[Mapping[str, Any]]:
    return (node.get("spec") or {}).get("taints") or ()


def taint_of(node: Object, key: str) -> Mapping[str, Any] | None:
    """The taint of this key, if the Node has it."""
    return next((taint for taint in _taints(node) if taint.get("key") == key), None)


def has_taint(node: Object, key: str) -> bool:
    return taint_of(node, key) is not None


def taint_time_ms(node: Object, key: str) -> int | None:
    """When the autoscaler set its taint, from the taint's value; None without taint or with another value."""
    taint = taint_of(node, key)
    text = str(taint.get("value", "")) if taint is not None else ""
    return (int(text) - _EPOCH_SECONDS) * 1_000 if text.isdecimal() else None


def is_startup_taint(key: str, more: Sequence[str] = ()) -> bool:
    """Whether Pods come only once somebody has removed it: until then the Node counts as not started."""
    return key.startswith(STARTUP_TAINT_PREFIXES) or key in more


def is_status_taint(key: str, more: Sequence[str] = ()) -> bool:
    """Whether it says that no Pods are wanted for now; a new Node will not have it."""
    return key.startswith(STATUS_TAINT_PREFIX) or key in more


def sanitized_taints(node: Object, startup: Sequence[str] = (), status: Sequence[str] = ()) -> list[Mapping[str, Any]]:
    """The taints that a fresh Node of the same group will have as well."""
    own = (TO_BE_DELETED_TAINT, DELETION_CANDIDATE_TAINT)
    return [
        taint
        for taint in _taints(node)
        if taint["key"] not in own
        and taint["key"] not in _CONDITION_TAINTS
        and not is_startup_taint(taint["key"], startup)
        and not is_status_taint(taint["key"], status)
    ]


def is_ready(node: Object, startup_taints: Sequence[str] = ()) -> bool:
    """Ready, no disk pressure, the network there, no startup taint. Without a Ready condition it is not."""
    found = False
    for condition in (node.get("status") or {}).get("conditions") or ():
        kind, status = condition.get("type"), condition.get("status")
        if kind == "Ready":
            found = True
            if status != "True":
                return False
        elif kind in ("DiskPressure", "NetworkUnavailable") and status == "True":
            return False
    keys = [taint["key"] for taint in _taints(node)]
    return found and not any(key in _NOT_READY_TAINTS or is_startup_taint(key, startup_taints) for key in keys)


def created_ms(obj: Object) -> int:
    """When an object was created, in virtual ms; one without a time was there from the beginning."""
    text = obj["metadata"].get("creationTimestamp")
    return parse_time(text) if text else 0


def has_scale_down_disabled(node: Object) -> bool:
    return (node["metadata"].get("annotations") or {}).get(SCALE_DOWN_DISABLED) == "true"


def provider_id(node: Object) -> str:
    """The cloud's name for the machine, "" while nobody has said."""
    found: str = (node.get("spec") or {}).get("providerID") or ""
    return found
