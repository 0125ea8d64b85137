"""NodePools and NodeClaims as objects of karpenter.sh/v1: their definitions, and a claim written and read.

>>> from k8slab.autoscaling.karpenter import NodeClaim
>>> from k8slab.autoscaling.karpenter.objects import claim_object, read_claim
>>> claim = NodeClaim("default-1", "default", created_ms=0, requests={"cpu": 1500}, expire_after_ms=3_600_000)
>>> written = claim_object(claim)
>>> written["spec"]["resources"], written["spec"]["expireAfter"]
({'requests': {'cpu': '1500m'}}, '1h0m0s')
>>> read_claim(written, now_ms=0).requests
{'cpu': 1500}

Upstream: kubernetes-sigs/karpenter pkg/apis/v1/nodeclaim.go, nodeclaim_status.go, pkg/apis/crds/
Simplified: the definitions carry no schema; whoever reads an object checks it. Moments in objects are whole seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.go_duration import format_duration_ms, parse_duration_ns
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, GVR, definition_of
from k8slab.api.times import parse_time, rfc3339
from k8slab.autoscaling.cloud.machines import resource_texts
from k8slab.autoscaling.karpenter.node_claim import Condition, NodeClaim
from k8slab.autoscaling.karpenter.nodepool import amounts
from k8slab.autoscaling.karpenter.requirements import NODEPOOL, Requirements

__all__ = [
    "DEFINITIONS",
    "NODECLAIMS",
    "NODEPOOLS",
    "NODE_CLAIM",
    "NODE_POOL",
    "TERMINATION_FINALIZER",
    "claim_object",
    "claim_status",
    "read_claim",
]

GROUP = "karpenter.sh"
NODE_POOL = GVK(GROUP, "v1", "NodePool")
NODE_CLAIM = GVK(GROUP, "v1", "NodeClaim")
NODEPOOLS = GVR(GROUP, "v1", "nodepools")
NODECLAIMS = GVR(GROUP, "v1", "nodeclaims")
TERMINATION_FINALIZER = "karpenter.sh/termination"
_HASH = "karpenter.sh/nodepool-hash"
_NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"

DEFINITIONS = (definition_of(NODE_POOL, NODEPOOLS, "Cluster"), definition_of(NODE_CLAIM, NODECLAIMS, "Cluster"))
"""The two kinds, both without namespaces."""


def _duration(ms: int | None) -> str:
    return "Never" if ms is None else format_duration_ms(ms)


def _milliseconds(text: Any) -> int | None:
    return None if text in (None, "Never") else parse_duration_ns(text) // 1_000_000


def claim_object(claim: NodeClaim, owner: Object | None = None) -> dict[str, Any]:
    """The claim as it is created, with an empty status. `owner`: its NodePool."""
    metadata: dict[str, Any] = {
        "name": claim.name,
        "labels": dict(claim.labels),
        "annotations": {**claim.annotations, _HASH: claim.pool_hash},
        "finalizers": [TERMINATION_FINALIZER],
    }
    if owner is not None:
        own = owner["metadata"]
        reference = {"apiVersion": NODE_POOL.api_version, "kind": NODE_POOL.kind, "name": own["name"]}
        metadata["ownerReferences"] = [{**reference, "uid": own["uid"], "blockOwnerDeletion": True}]
    spec: dict[str, Any] = {
        "requirements": claim.requirements.to_manifest(),
        "resources": {"requests": resource_texts(claim.requests)},
        "expireAfter": _duration(claim.expire_after_ms),
    }
    if claim.labels.get(_NODE_CLASS):
        node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": claim.labels[_NODE_CLASS]}
        spec["nodeClassRef"] = node_class
    if claim.termination_grace_period_ms is not None:
        spec["terminationGracePeriod"] = _duration(claim.termination_grace_period_ms)
    for name, taints in (("taints", claim.taints), ("startupTaints", claim.startup_taints)):
        if taints:
            spec[name] = [dict(taint) for taint in taints]
    return {"apiVersion": NODE_CLAIM.api_version, "kind": NODE_CLAIM.kind, "metadata": metadata, "spec": spec}


def claim_status(claim: NodeClaim) -> dict[str, Any]:
    """What is known of the claim now."""
    conditions = [
        {
            "type": name,
            "status": one.status,
            "lastTransitionTime": rfc3339(one.since_ms),
            "reason": one.reason or name,
            "message": one.message,
        }
        for name, one in claim.conditions.items()
    ]
    status: dict[str, Any] = {"conditions": conditions}
    if claim.provider_id:
        status["providerID"] = claim.provider_id
        status["capacity"] = resource_texts(claim.capacity)
        status["allocatable"] = resource_texts(claim.allocatable)
    if claim.node_name:
        status["nodeName"] = claim.node_name
    if claim.last_pod_event_ms is not None:
        status["lastPodEventTime"] = rfc3339(claim.last_pod_event_ms)
    return status


def read_claim(written: Object, now_ms: int) -> NodeClaim:
    """The claim that an object says. ValueError or TypeError names what cannot be read."""
    metadata, spec, status = (_part(written, name) for name in ("metadata", "spec", "status"))
    labels, notes = dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {})
    created, deleted = metadata.get("creationTimestamp"), metadata.get("deletionTimestamp")
    last = status.get("lastPodEventTime")
    conditions = {
        row["type"]: Condition(
            row["status"], parse_time(row["lastTransitionTime"]), row.get("reason", ""), row.get("message", "")
        )
        for row in status.get("conditions") or ()
    }
    pool_hash = notes.pop(_HASH, "")
    return NodeClaim(
        name=metadata["name"],
        pool=labels.get(NODEPOOL, ""),
        created_ms=now_ms if created is None else parse_time(created),
        requirements=Requirements.parse(spec.get("requirements"), "spec.requirements"),
        labels=labels,
        annotations=notes,
        taints=tuple(spec.get("taints") or ()),
        startup_taints=tuple(spec.get("startupTaints") or ()),
        requests=amounts((spec.get("resources") or {}).get("requests") or {}, "spec.resources.requests"),
        expire_after_ms=_milliseconds(spec.get("expireAfter")),
        termination_grace_period_ms=_milliseconds(spec.get("terminationGracePeriod")),
        pool_hash=pool_hash,
        conditions=conditions,
        provider_id=status.get("providerID", ""),
        capacity=amounts(status.get("capacity") or {}, "status.capacity"),
        allocatable=amounts(status.get("allocatable") or {}, "status.allocatable"),
        node_name=status.get("nodeName", ""),
        last_pod_event_ms=None if last is None else parse_time(last),
        deleted_ms=None if deleted is None else parse_time(deleted),
    )


def _part(written: Object, name: str) -> Mapping[str, Any]:
    found = written.get(name) or {}
    if not isinstance(found, Mapping):
        raise TypeError(f"{name}: {found!r}: expected a mapping")
    return found
