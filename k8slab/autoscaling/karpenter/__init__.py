"""Karpenter: nodes made to measure for the Pods that wait, and taken away when they cost more than they must.

    >>> from k8slab.autoscaling.cloud import small_catalogue
    >>> from k8slab.autoscaling.karpenter import Catalogue, ClusterState, NodePool, pack
    >>> pool = NodePool.parse({"metadata": {"name": "default"}, "spec": {"template": {"spec": {"requirements": []}}}})
    >>> def pod(name, cpu):
    ...     requests = {"cpu": cpu, "memory": "1Gi"}
    ...     return {"metadata": {"name": name}, "spec": {"containers": [{"resources": {"requests": requests}}]}}
    >>> state = ClusterState([pool], Catalogue(small_catalogue()))
    >>> packing = pack([pod("a", "1500m"), pod("b", "900m"), pod("c", "7")], state)
    >>> [([p["metadata"]["name"] for p in new.pods], new.cheapest()[0].name) for new in packing.new]
    [(['c', 'a', 'b'], 'c5.4xlarge')]

`pack` decides; `Karpenter` lives: it buys instances from a `cloud.Cloud`, watches over `NodeClaim`s, consolidates and
drains. `KarpenterOperator` is the process that runs it before an API server, with NodePools and NodeClaims as objects:
`Cluster(karpenter=...)`. `KarpenterStory` plays it with a scheduler and a fake kubelet around it.

Duties of the caller of `Karpenter`: keep the `ClusterState` as the cluster is, call `step` when `next_due_ms` says so,
and carry out the effects in their order.

Upstream: kubernetes-sigs/karpenter (August 2026), aws/karpenter-provider-aws
Simplified: see the modules; volumes, reserved capacity, static NodePools and the policy Balanced are left out.
"""

from k8slab.autoscaling.karpenter.budgets import Budget, allowed_disruptions
from k8slab.autoscaling.karpenter.candidates import Candidate, Simulation, budgets_left, candidates_of, simulate
from k8slab.autoscaling.karpenter.consolidation import Command, Consolidation, Decision, Method
from k8slab.autoscaling.karpenter.controller import Karpenter
from k8slab.autoscaling.karpenter.disruption import VALIDATION_MS, Disruption, ValidationError
from k8slab.autoscaling.karpenter.effects import (
    CreateClaim,
    DeletePod,
    Effect,
    EvictPod,
    Nominate,
    Note,
    RemoveNode,
    WriteNode,
)
from k8slab.autoscaling.karpenter.instance_types import Catalogue
from k8slab.autoscaling.karpenter.launch import claim_for, pools_to_ask
from k8slab.autoscaling.karpenter.node_claim import LIFE_CYCLE, Condition, NodeClaim
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.operator import KarpenterOperator
from k8slab.autoscaling.karpenter.packing import NewNode, Packing, pack
from k8slab.autoscaling.karpenter.requirement import Requirement
from k8slab.autoscaling.karpenter.requirements import WELL_KNOWN_LABELS, Requirements
from k8slab.autoscaling.karpenter.small_world import SmallWorld
from k8slab.autoscaling.karpenter.state import ClusterState, StateNode
from k8slab.autoscaling.karpenter.story import KarpenterStory, dollars
from k8slab.autoscaling.karpenter.termination import Drain, drain, forced_deletion_ms

__all__ = [
    "LIFE_CYCLE",
    "VALIDATION_MS",
    "WELL_KNOWN_LABELS",
    "Budget",
    "Candidate",
    "Catalogue",
    "ClusterState",
    "Command",
    "Condition",
    "Consolidation",
    "CreateClaim",
    "Decision",
    "DeletePod",
    "Disruption",
    "Drain",
    "Effect",
    "EvictPod",
    "Karpenter",
    "KarpenterOperator",
    "KarpenterStory",
    "Method",
    "NewNode",
    "NodeClaim",
    "NodePool",
    "Nominate",
    "Note",
    "Packing",
    "RemoveNode",
    "Requirement",
    "Requirements",
    "Simulation",
    "SmallWorld",
    "StateNode",
    "ValidationError",
    "WriteNode",
    "allowed_disruptions",
    "budgets_left",
    "candidates_of",
    "claim_for",
    "dollars",
    "drain",
    "forced_deletion_ms",
    "pack",
    "pools_to_ask",
    "simulate",
]
