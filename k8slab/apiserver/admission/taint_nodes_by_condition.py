"""A new node is tainted until the node lifecycle controller has seen it ready.

Upstream: plugin/pkg/admission/nodetaint/admission.go
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister

__all__ = ["TaintNodesByCondition"]

_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition:
    name = "TaintNodesByCondition"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Adds the taint `not-ready:NoSchedule` to a node that is being created."""
        node = attributes.object
        if attributes.operation != "CREATE" or attributes.resource.group_resource != "nodes" or node is None:
            return None
        spec = node.get("spec") or {}
        taints = spec.get("taints") or ()
        if any(t.get("key") == _TAINT["key"] and t.get("effect") == _TAINT["effect"] for t in taints):
            return None
        return {**node, "spec": {**spec, "taints": [*taints, dict(_TAINT)]}}
