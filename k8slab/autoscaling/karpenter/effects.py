"""What Karpenter wants written to the cluster. The caller carries them out in their order.

Upstream: none as such; the calls of the controllers in kubernetes-sigs/karpenter pkg/controllers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from k8slab.api.objects import Object
from k8slab.autoscaling.karpenter.node_claim import NodeClaim

__all__ = ["CreateClaim", "DeletePod", "Effect", "EvictPod", "Nominate", "Note", "RemoveNode", "WriteNode"]


@dataclass(frozen=True, slots=True)
class CreateClaim:
    """Store the NodeClaim, then call `Karpenter.launch`. `reason`: of the disruption for which it
    is a replacement, "" for none."""

    claim: NodeClaim
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Nominate:
    """Nothing to do: the Pod is expected on this node or NodeClaim. The scheduler will bind it, or not."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class WriteNode:
    """Another state of a Node: labels or taints. `before`: the Node from which it was made."""

    node: Object
    before: Object | None = None


@dataclass(frozen=True, slots=True)
class EvictPod:
    """Call the eviction API, which asks the PodDisruptionBudgets. Asked again every second until the Pod is gone."""

    key: str
    node: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete the Pod whatever budgets and annotations say; it has so many seconds to end."""

    key: str
    node: str
    grace_period_seconds: int


@dataclass(frozen=True, slots=True)
class RemoveNode:
    """The instance is gone: remove the finalizer, and with it the Node and what is left on it."""

    name: str


@dataclass(frozen=True, slots=True)
class Note:
    """Nothing to do: a decision, for traces and events. `about` is a node, a claim or a Pod; `because`: what led to it,
    Pods or nodes."""

    about: str
    reason: str
    message: str
    because: tuple[str, ...] = ()


Effect: TypeAlias = CreateClaim | Nominate | WriteNode | EvictPod | DeletePod | RemoveNode | Note
