"""Ingresses that name no class get the default one.

Upstream: plugin/pkg/admission/network/defaultingressclass/admission.go
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister

__all__ = ["DefaultIngressClass"]

_NAMED = "kubernetes.io/ingress.class"
_IS_DEFAULT = "ingressclass.kubernetes.io/is-default-class"


class DefaultIngressClass:
    name = "DefaultIngressClass"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Sets `spec.ingressClassName` of a new Ingress; of several default classes the youngest."""
        ingress = attributes.object
        if attributes.operation != "CREATE" or attributes.resource.group_resource != "ingresses.networking.k8s.io":
            return None
        if ingress is None or attributes.subresource:
            return None
        spec = ingress.get("spec") or {}
        annotations = (ingress.get("metadata") or {}).get("annotations") or {}
        if spec.get("ingressClassName") is not None or _NAMED in annotations:
            return None
        classes = lister.cached_all("ingressclasses.networking.k8s.io")
        found = [one for one in classes if (one["metadata"].get("annotations") or {}).get(_IS_DEFAULT) == "true"]
        if not found:
            return None
        by_name = sorted(found, key=lambda one: one["metadata"]["name"])
        youngest = max(by_name, key=lambda one: one["metadata"].get("creationTimestamp") or "")
        return {**ingress, "spec": {**spec, "ingressClassName": youngest["metadata"]["name"]}}
