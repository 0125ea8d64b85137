"""A Pod that is assigned to a node carries the node's zone and region.

Upstream: plugin/pkg/admission/podtopologylabels/admission.go
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister

__all__ = ["PodTopologyLabels"]

_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels:
    name = "PodTopologyLabels"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Copies the labels onto a binding (which hands them to its Pod), or onto a Pod created with a node."""
        obj = attributes.object
        if attributes.operation != "CREATE" or attributes.resource.resource not in ("pods", "bindings") or obj is None:
            return None
        if not attributes.context.env.features.enabled("PodTopologyLabelsAdmission"):
            return None
        is_binding = attributes.subresource == "binding" or attributes.resource.resource == "bindings"
        if attributes.subresource and not is_binding:
            return None
        where = (obj.get("target") or {}).get("name") if is_binding else (obj.get("spec") or {}).get("nodeName")
        node = lister.cached("nodes", "", where) if where else None
        if node is None:
            return None
        of_node = node["metadata"].get("labels") or {}
        copied = {label: of_node[label] for label in _LABELS if label in of_node}
        if not copied:
            return None
        metadata = obj.get("metadata") or {}
        return {**obj, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **copied}}}
