"""The priorities that Kubernetes itself defines, and what a Pod of a high one may do to others.

>>> SYSTEM_PRIORITY_CLASSES["system-node-critical"] > SYSTEM_CRITICAL_PRIORITY > HIGHEST_USER_DEFINABLE_PRIORITY
True

Upstream: pkg/apis/scheduling/types.go, pkg/apis/scheduling/v1/helpers.go, pkg/apis/core/types.go (PreemptionPolicy)
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "HIGHEST_USER_DEFINABLE_PRIORITY",
    "PREEMPTION_POLICIES",
    "PREEMPT_LOWER_PRIORITY",
    "SYSTEM_CLUSTER_CRITICAL",
    "SYSTEM_CRITICAL_PRIORITY",
    "SYSTEM_NODE_CRITICAL",
    "SYSTEM_PRIORITY_CLASSES",
]

HIGHEST_USER_DEFINABLE_PRIORITY = 1_000_000_000
SYSTEM_CRITICAL_PRIORITY = 2 * HIGHEST_USER_DEFINABLE_PRIORITY
SYSTEM_CLUSTER_CRITICAL = "system-cluster-critical"
SYSTEM_NODE_CRITICAL = "system-node-critical"
SYSTEM_PRIORITY_CLASSES: Mapping[str, int] = {
    SYSTEM_NODE_CRITICAL: SYSTEM_CRITICAL_PRIORITY + 1000,
    SYSTEM_CLUSTER_CRITICAL: SYSTEM_CRITICAL_PRIORITY,
}
"""In the order in which a new API server creates them."""

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
PREEMPTION_POLICIES = (PREEMPT_LOWER_PRIORITY, "Never")
