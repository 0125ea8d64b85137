"""The index that finds the Pods of a node.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (nodeNameKeyIndex)
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.api.objects import Object

__all__ = ["NODE_NAME", "node_name_index"]

NODE_NAME = "spec.nodeName"


def node_name_index(pod: Object) -> Sequence[str]:
    """For `informer.add_index(NODE_NAME, node_name_index)`: Pods that are bound, under their node."""
    node = (pod.get("spec") or {}).get("nodeName")
    return (node,) if node else ()
