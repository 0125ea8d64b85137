"""A NodeClaim's life: Launched, Registered, Initialized; and what ends it early.

>>> from k8slab.autoscaling.karpenter import LIFE_CYCLE, NodeClaim
>>> claim = NodeClaim("default-1", "default", created_ms=0)
>>> [claim.conditions[name].status for name in LIFE_CYCLE]
['Unknown', 'Unknown', 'Unknown']

Upstream: kubernetes-sigs/karpenter pkg/apis/v1/nodeclaim_status.go, pkg/controllers/nodeclaim/lifecycle/ (launch.go,
registration.go, initialization.go, liveness.go), pkg/controllers/nodeclaim/disruption/, pkg/controllers/nodeclaim/
expiration/controller.go; website concepts/nodeclaims.md
Simplified: no registration hooks, no DRA drivers to wait for, no NodeRegistrationHealthy condition on NodePools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.pods import get_condition
from k8slab.api.quantity import quantity
from k8slab.api.tolerations import taint_exists, taint_matches
from k8slab.autoscaling.karpenter.instance_types import Catalogue
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.requirements import CAPACITY_TYPE, INSTANCE_TYPE, ZONE, Requirements

__all__ = [
    "CONSOLIDATABLE",
    "DISRUPTION_REASON",
    "DRIFTED_CONDITION",
    "INITIALIZED",
    "INITIALIZED_LABEL",
    "INSTANCE_TERMINATING",
    "LAUNCHED",
    "LAUNCH_TIMEOUT_MS",
    "LIFE_CYCLE",
    "REGISTERED",
    "REGISTERED_LABEL",
    "REGISTRATION_TIMEOUT_MS",
    "UNREGISTERED_TAINT",
    "Condition",
    "NodeClaim",
    "drift_reason",
    "expires_ms",
    "initialize",
    "is_known_ephemeral_taint",
    "register",
    "timed_out",
    "times_out_ms",
    "update_consolidatable",
    "update_drifted",
]

LAUNCHED = "Launched"
REGISTERED = "Registered"
INITIALIZED = "Initialized"
LIFE_CYCLE = (LAUNCHED, REGISTERED, INITIALIZED)
DRIFTED_CONDITION = "Drifted"
CONSOLIDATABLE = "Consolidatable"
DISRUPTION_REASON = "DisruptionReason"
INSTANCE_TERMINATING = "InstanceTerminating"

REGISTERED_LABEL = "karpenter.sh/registered"
INITIALIZED_LABEL = "karpenter.sh/initialized"
UNREGISTERED_TAINT: Object = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
LAUNCH_TIMEOUT_MS = 5 * 60_000
REGISTRATION_TIMEOUT_MS = 15 * 60_000
_INSTANCE_TYPE_CHECK_MS = 3_600_000

_EPHEMERAL: tuple[Object, ...] = (
    {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"},
    {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"},
    UNREGISTERED_TAINT,
)
_EPHEMERAL_PREFIX = "readiness.k8s.io/"


def is_known_ephemeral_taint(taint: Object) -> bool:
    """A taint that a node has only while it starts."""
    return taint_exists(_EPHEMERAL, taint) or str(taint.get("key")).startswith(_EPHEMERAL_PREFIX)


@dataclass(frozen=True, slots=True)
class Condition:
    """`status` True, False or Unknown, since `since_ms`."""

    status: str
    since_ms: int
    reason: str = ""
    message: str = ""


@dataclass(slots=True)
class NodeClaim:
    """A node that was asked for. `requests`: what its first Pods and the DaemonSets need (cpu in milli).

    `labels` has what is known of the node, the machine's type, zone and capacity type from the launch on. Moments are
    in virtual ms. `capacity` and `allocatable` are what the type promises.
    """

    name: str
    pool: str
    created_ms: int
    requirements: Requirements = field(default_factory=Requirements)
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    startup_taints: tuple[Object, ...] = ()
    requests: Mapping[str, int] = field(default_factory=dict)
    expire_after_ms: int | None = None
    termination_grace_period_ms: int | None = None
    pool_hash: str = ""
    conditions: dict[str, Condition] = field(default_factory=dict)
    provider_id: str = ""
    capacity: Mapping[str, int] = field(default_factory=dict)
    allocatable: Mapping[str, int] = field(default_factory=dict)
    node_name: str = ""
    last_pod_event_ms: int | None = None
    deleted_ms: int | None = None

    def __post_init__(self) -> None:
        for name in LIFE_CYCLE:
            self.conditions.setdefault(name, Condition("Unknown", self.created_ms, "AwaitingReconciliation"))

    def is_true(self, name: str) -> bool:
        condition = self.conditions.get(name)
        return condition is not None and condition.status == "True"

    def set(self, name: str, status: str, now_ms: int, reason: str = "", message: str = "") -> None:
        """Set a condition; its time moves only when the status does."""
        there = self.conditions.get(name)
        since_ms = there.since_ms if there is not None and there.status == status else now_ms
        self.conditions[name] = Condition(status, since_ms, reason or name, message)

    def clear(self, name: str) -> None:
        self.conditions.pop(name, None)

    @property
    def stage(self) -> str:
        """The last step of the life cycle that was reached; "Created" before the first."""
        reached = [name for name in LIFE_CYCLE if self.is_true(name)]
        return reached[-1] if reached else "Created"

    @property
    def instance_type(self) -> str:
        return self.labels.get(INSTANCE_TYPE, "")

    @property
    def zone(self) -> str:
        return self.labels.get(ZONE, "")

    @property
    def capacity_type(self) -> str:
        return self.labels.get(CAPACITY_TYPE, "")


def register(claim: NodeClaim, node: Object | None, now_ms: int) -> Object | None:
    """The node has joined: its next state, with the claim's labels and taints; None: there is nothing to write.

    The taint karpenter.sh/unregistered, which the machine starts with, goes last.
    """
    if claim.is_true(REGISTERED) or not claim.is_true(LAUNCHED):
        return None
    if node is None:
        claim.set(REGISTERED, "Unknown", now_ms, "NodeNotFound", "Node not registered with cluster")
        return None
    taints = [taint for taint in node["spec"].get("taints") or () if not taint_matches(taint, UNREGISTERED_TAINT)]
    taints += [taint for taint in (*claim.taints, *claim.startup_taints) if not taint_exists(taints, taint)]
    metadata = dict(node["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), **claim.labels, REGISTERED_LABEL: "true"}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **claim.annotations}
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), "karpenter.sh/termination"]
    claim.node_name = metadata["name"]
    claim.set(REGISTERED, "True", now_ms)
    return {**node, "metadata": metadata, "spec": {**node["spec"], "taints": taints}}


def _taint_text(taint: Object) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _not_initialized(claim: NodeClaim, node: Object) -> tuple[str, str] | None:
    """Reason and message of what is missing: ready, no start-up taints, no ephemeral ones, all resources there."""
    ready = get_condition(node, "Ready")
    if ready is None or ready.get("status") != "True":
        return "NodeNotReady", "Node status is NotReady"
    for taint in node["spec"].get("taints") or ():
        if taint_exists(claim.startup_taints, taint):
            return "StartupTaintsExist", f'StartupTaint "{_taint_text(taint)}" still exists'
    for taint in node["spec"].get("taints") or ():
        if is_known_ephemeral_taint(taint):
            return "KnownEphemeralTaintsExist", f'KnownEphemeralTaint "{_taint_text(taint)}" still exists'
    there: Mapping[str, Any] = (node.get("status") or {}).get("allocatable") or {}
    for name, amount in claim.requests.items():
        if amount and (name not in there or quantity(there[name]).is_zero):
            return "ResourceNotRegistered", f'Resource "{name}" was requested but not registered'
    return None


def initialize(claim: NodeClaim, node: Object | None, now_ms: int) -> Object | None:
    """The node is ready for Pods: its next state, with the label; None: not yet, and the condition says why."""
    if claim.is_true(INITIALIZED) or not claim.is_true(REGISTERED):
        return None
    if node is None:
        claim.set(INITIALIZED, "Unknown", now_ms, "NodeNotFound", "Node not registered with cluster")
        return None
    missing = _not_initialized(claim, node)
    if missing is not None:
        claim.set(INITIALIZED, "Unknown", now_ms, *missing)
        return None
    claim.set(INITIALIZED, "True", now_ms)
    metadata = node["metadata"]
    return {**node, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), INITIALIZED_LABEL: "true"}}}


def times_out_ms(claim: NodeClaim) -> int | None:
    """When it is given up: 5 minutes without an instance, 15 without a node. None: it has both."""
    if claim.is_true(REGISTERED):
        return None
    if not claim.is_true(LAUNCHED):
        return claim.conditions[LAUNCHED].since_ms + LAUNCH_TIMEOUT_MS
    return claim.conditions[REGISTERED].since_ms + REGISTRATION_TIMEOUT_MS


def timed_out(claim: NodeClaim, now_ms: int) -> str:
    """`launch_timeout` or `registration_timeout` when it is to be given up; else ""."""
    at_ms = times_out_ms(claim)
    if at_ms is None or now_ms < at_ms:
        return ""
    return "registration_timeout" if claim.is_true(LAUNCHED) else "launch_timeout"


def expires_ms(claim: NodeClaim) -> int | None:
    """When it is deleted for its age; None: never."""
    return None if claim.expire_after_ms is None else claim.created_ms + claim.expire_after_ms


def drift_reason(
    claim: NodeClaim,
    pool: NodePool,
    catalogue: Catalogue,
    now_ms: int,
    provider: Callable[[NodeClaim], str] = lambda claim: "",
) -> str:
    """Why the node is no longer what its NodePool asks for; "" when it is.

    In this order: another template (hash), labels that its requirements forbid, a type that is no longer sold (looked
    at after an hour), and what `provider` says (another image, another subnet).
    """
    if claim.pool_hash and pool.hash and claim.pool_hash != pool.hash:
        return "NodePoolDrifted"
    if not Requirements.of_labels(claim.labels).compatible(pool.static_requirements):
        return "RequirementsDrifted"
    is_old = now_ms - claim.created_ms > _INSTANCE_TYPE_CHECK_MS
    if is_old and catalogue.price(claim.instance_type, claim.zone, claim.capacity_type) is None:
        return "InstanceTypeNotFound"
    return provider(claim)


def update_drifted(claim: NodeClaim, reason: str, now_ms: int) -> None:
    """Set or clear the condition Drifted; a claim that is not launched has none."""
    if reason and claim.is_true(LAUNCHED):
        claim.set(DRIFTED_CONDITION, "True", now_ms, reason, reason)
    else:
        claim.clear(DRIFTED_CONDITION)


def is_under_consolidate_after(claim: NodeClaim, pool: NodePool | None, now_ms: int) -> bool:
    """Pods came or went, or the node was initialized, less than consolidateAfter ago."""
    if pool is None or not pool.consolidate_after_ms or not claim.is_true(INITIALIZED):
        return False
    since = claim.last_pod_event_ms
    if since is None:
        since = claim.conditions[INITIALIZED].since_ms
    return now_ms - since < pool.consolidate_after_ms


def update_consolidatable(claim: NodeClaim, pool: NodePool, now_ms: int) -> None:
    """Set or clear the condition Consolidatable."""
    if (
        pool.consolidate_after_ms is None
        or not claim.is_true(INITIALIZED)
        or is_under_consolidate_after(claim, pool, now_ms)
    ):
        claim.clear(CONSOLIDATABLE)
    else:
        claim.set(CONSOLIDATABLE, "True", now_ms)
