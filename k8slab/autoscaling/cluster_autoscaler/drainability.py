"""May this Pod be moved? One rule after the other; the first that says anything decides.

Mirror Pods and Pods that are nearly gone do not matter; DaemonSets', finished ones and those that say so may go; then
come the reasons against it. Whatever no rule speaks of may be moved.

Upstream: cluster-autoscaler/simulator/drainability/rules (release 1.36), simulator/drain.go, utils/drain/drain.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from k8slab.api.objects import Object
from k8slab.autoscaling.cluster_autoscaler.node_state import created_ms
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.pdb import RemainingPdbTracker
from k8slab.autoscaling.cluster_autoscaler.pod_state import (
    SAFE_TO_EVICT,
    annotation,
    controller_of,
    has_blocking_local_storage,
    is_daemon_set_pod,
    is_long_terminating,
    is_mirror_pod,
    is_terminal,
)
from k8slab.scheduler import PodInfo

__all__ = [
    "BlockingPod",
    "BlockingReason",
    "DrainContext",
    "Outcome",
    "PodMoveInfo",
    "Verdict",
    "drainable",
    "pods_to_move",
]


class Outcome(StrEnum):
    """What a rule says. `SkipDrain`: it neither has to go nor stands in the way."""

    UNDEFINED = "UndefinedOutcome"
    DRAIN_OK = "DrainOk"
    BLOCK_DRAIN = "BlockDrain"
    SKIP_DRAIN = "SkipDrain"
    WAIT_FOR_COMPLETION = "WaitForCompletion"


class BlockingReason(StrEnum):
    """Why a Pod keeps its Node."""

    CONTROLLER_NOT_FOUND = "ControllerNotFound"
    MIN_REPLICAS_REACHED = "MinReplicasReached"
    NOT_REPLICATED = "NotReplicated"
    LOCAL_STORAGE_REQUESTED = "LocalStorageRequested"
    NOT_SAFE_TO_EVICT_ANNOTATION = "NotSafeToEvictAnnotation"
    UNMOVABLE_KUBE_SYSTEM_POD = "UnmovableKubeSystemPod"
    NOT_ENOUGH_PDB = "NotEnoughPdb"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say of one Pod. `rule`: whose word it is; `message`: of a block, upstream's text."""

    outcome: Outcome
    rule: str = ""
    reason: BlockingReason | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class BlockingPod:
    """A Pod that keeps its Node, and why."""

    pod: PodInfo
    reason: BlockingReason
    message: str


@dataclass(slots=True)
class DrainContext:
    """What rules look at beside the Pod. `controllers`: by kind, namespace and name; None: do not ask for them."""

    options: AutoscalingOptions
    now_ms: int
    pdbs: RemainingPdbTracker = field(default_factory=RemainingPdbTracker)
    controllers: Mapping[tuple[str, str, str], Object] | None = None


@dataclass(slots=True)
class PodMoveInfo:
    """The Pods of a Node, sorted by what removing it would mean for them. `blocking`: the first that forbids it."""

    pods: list[PodInfo] = field(default_factory=list)
    daemon_set_pods: list[PodInfo] = field(default_factory=list)
    on_completion_pods: list[PodInfo] = field(default_factory=list)
    blocking: BlockingPod | None = None


Rule = Callable[[PodInfo, DrainContext], Verdict | None]

_OK = Outcome.DRAIN_OK


def _blocked(reason: BlockingReason, message: str) -> Verdict:
    return Verdict(Outcome.BLOCK_DRAIN, reason=reason, message=message)


def _mirror(info: PodInfo, context: DrainContext) -> Verdict | None:
    return Verdict(Outcome.SKIP_DRAIN) if is_mirror_pod(info.pod) else None


def _long_terminating(info: PodInfo, context: DrainContext) -> Verdict | None:
    return Verdict(Outcome.SKIP_DRAIN) if is_long_terminating(info.pod, context.now_ms) else None


_KNOWN = {
    "ReplicationController": "replication controller",
    "DaemonSet": "daemonset",
    "Job": "job",
    "ReplicaSet": "replication controller",
    "StatefulSet": "statefulset",
}
_ONLY_OF_APPS = ("DaemonSet", "StatefulSet")
"""Of these kinds, others than those of the group `apps` are not known here; of the rest the kind alone counts."""
_GROUPS = {"Job": "batch", "ReplicationController": ""}
_MISSING = {
    "DaemonSet": "is not present, ",
    "Job": "is not available: ",
    "StatefulSet": "is not available: ",
    "ReplicaSet": "is not available, ",
    "ReplicationController": "is not available, ",
}


def _replica_count(info: PodInfo, context: DrainContext) -> Verdict | None:
    """The controller must be there, and want enough replicas (--min-replica-count)."""
    owner = controller_of(info.pod)
    if owner is None or context.controllers is None or not context.options.skip_nodes_with_custom_controller_pods:
        return None
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    kind = str(owner.get("kind"))
    what = _KNOWN.get(kind)
    if what is None or (kind in _ONLY_OF_APPS and group != "apps"):
        return None
    if kind not in ("ReplicationController", "DaemonSet") and is_daemon_set_pod(info.pod):
        return None  # the annotation says that it is a DaemonSet's, of a kind that nobody lists here
    found = context.controllers.get((kind, info.namespace, str(owner.get("name"))))
    if found is None:
        known_group = _GROUPS.get(kind, "apps")
        resource = kind.lower() + (f".{known_group}" if known_group else "")
        text = f'{what} for {info.key} {_MISSING[kind]}err: {resource} "{owner.get("name")}" not found'
        return _blocked(BlockingReason.CONTROLLER_NOT_FOUND, text)
    if kind in ("ReplicaSet", "ReplicationController"):
        replicas, least = (found.get("spec") or {}).get("replicas"), context.options.min_replica_count
        if replicas is not None and replicas < least:
            text = f"{what} for {info.key} has too few replicas spec: {replicas} min: {least}"
            return _blocked(BlockingReason.MIN_REPLICAS_REACHED, text)
    return None


def _daemon_set(info: PodInfo, context: DrainContext) -> Verdict | None:
    return Verdict(_OK) if is_daemon_set_pod(info.pod) else None


def _safe_to_evict(info: PodInfo, context: DrainContext) -> Verdict | None:
    return Verdict(_OK) if annotation(info.pod, SAFE_TO_EVICT) == "true" else None


def _terminal(info: PodInfo, context: DrainContext) -> Verdict | None:
    return Verdict(_OK) if is_terminal(info.pod) else None


def _on_completion(info: PodInfo, context: DrainContext) -> Verdict | None:
    waits = annotation(info.pod, SAFE_TO_EVICT) == "on-completion"
    return Verdict(Outcome.WAIT_FOR_COMPLETION) if waits else None


_REPLICATED_KINDS = ("ReplicationController", "Job", "ReplicaSet", "StatefulSet")


def _replicated(info: PodInfo, context: DrainContext) -> Verdict | None:
    owner = controller_of(info.pod)
    strict = context.options.skip_nodes_with_custom_controller_pods
    if owner is not None and (not strict or owner.get("kind") in _REPLICATED_KINDS):
        return None
    return _blocked(BlockingReason.NOT_REPLICATED, f"{info.key} is not replicated")


def _system(info: PodInfo, context: DrainContext) -> Verdict | None:
    """A kube-system Pod without a budget keeps its Node for an hour of its life, then it may go."""
    if not context.options.skip_nodes_with_system_pods or info.namespace != "kube-system":
        return None
    if context.pdbs.matching(info):
        return None
    timeout = context.options.blocking_system_pod_distruption_timeout_ms
    if info.pod["metadata"].get("creationTimestamp") and context.now_ms > created_ms(info.pod) + timeout:
        return Verdict(_OK)
    text = f"non-daemonset, non-mirrored, non-pdb-assigned kube-system pod present: {info.pod['metadata']['name']}"
    return _blocked(BlockingReason.UNMOVABLE_KUBE_SYSTEM_POD, text)


def _not_safe_to_evict(info: PodInfo, context: DrainContext) -> Verdict | None:
    if annotation(info.pod, SAFE_TO_EVICT) != "false":
        return None
    text = f"pod annotated as not safe to evict present: {info.pod['metadata']['name']}"
    return _blocked(BlockingReason.NOT_SAFE_TO_EVICT_ANNOTATION, text)


def _local_storage(info: PodInfo, context: DrainContext) -> Verdict | None:
    if not context.options.skip_nodes_with_local_storage or not has_blocking_local_storage(info.pod):
        return None
    text = f"pod with local storage present: {info.pod['metadata']['name']}"
    return _blocked(BlockingReason.LOCAL_STORAGE_REQUESTED, text)


def _pdb(info: PodInfo, context: DrainContext) -> Verdict | None:
    if not context.pdbs.blocks(info):
        return None
    return _blocked(BlockingReason.NOT_ENOUGH_PDB, f"not enough pod disruption budget to move {info.key}")


RULES: dict[str, Rule] = {
    "Mirror": _mirror,
    "LongTerminating": _long_terminating,
    "ReplicaCount": _replica_count,
    "DaemonSet": _daemon_set,
    "SafeToEvict": _safe_to_evict,
    "Terminal": _terminal,
    "OnCompletion": _on_completion,
    "Replicated": _replicated,
    "System": _system,
    "NotSafeToEvict": _not_safe_to_evict,
    "LocalStorage": _local_storage,
    "PDB": _pdb,
}
"""Upstream's rules by name, in its order."""


def drainable(info: PodInfo, context: DrainContext) -> Verdict:
    """What the rules say of a Pod; `UNDEFINED` when none says anything: then it may be moved."""
    for name, rule in RULES.items():
        verdict = rule(info, context)
        if verdict is not None:
            return Verdict(verdict.outcome, name, verdict.reason, verdict.message)
    return Verdict(Outcome.UNDEFINED)


def pods_to_move(pods: Iterable[PodInfo], context: DrainContext) -> PodMoveInfo:
    """Sort a Node's Pods; stops at the first that forbids removing it."""
    found = PodMoveInfo()
    for info in pods:
        verdict = drainable(info, context)
        if verdict.outcome is Outcome.BLOCK_DRAIN:
            assert verdict.reason is not None  # a block names its reason
            found.blocking = BlockingPod(info, verdict.reason, verdict.message)
            return found
        if verdict.outcome is Outcome.WAIT_FOR_COMPLETION:
            found.on_completion_pods.append(info)
        elif verdict.outcome is not Outcome.SKIP_DRAIN:
            (found.daemon_set_pods if is_daemon_set_pod(info.pod) else found.pods).append(info)
    return found
