"""What Karpenter wants written to the cluster. The caller carries them out in their order.

Upstream: none as such; the calls of the controllers in kubernetes-sigs/karpenter pkg/controllers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from k8slab.api.objects import Object

__all__ = ["DeletePod", "Effect", "EvictPod", "Note", "RemoveNode", "WriteNode"]


@dataclass(frozen=True, slots=True)
class WriteNode:
    """Another state of a Node: labels or taints."""

    node: Object


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
    """Nothing to do: a decision, for traces and events. `about` is a node, a claim or a Pod."""

    about: str
    reason: str
    message: str


Effect: TypeAlias = WriteNode | EvictPod | DeletePod | RemoveNode | Note
