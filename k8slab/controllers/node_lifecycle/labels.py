"""Old labels of a node that follow new ones.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (labelReconcileInfo, reconcileNodeLabels)
"""

from __future__ import annotations

from k8slab.api.objects import Object

__all__ = ["RECONCILED", "labels_to_update"]

RECONCILED = (
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
)
"""(primary, secondary): the secondary label always exists and has the primary's value."""


def labels_to_update(node: Object) -> dict[str, str]:
    """Secondary labels that are missing or differ, with the value they should have."""
    labels = node["metadata"].get("labels") or {}
    return {
        secondary: labels[primary]
        for primary, secondary in RECONCILED
        if primary in labels and labels.get(secondary) != labels[primary]
    }
