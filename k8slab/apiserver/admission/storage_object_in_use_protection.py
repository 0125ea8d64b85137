"""Volumes and claims get the finalizer that keeps them while they are in use.

Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go
Simplified: off unless it is asked for, since the controllers that take the finalizers off are not simulated.
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister

__all__ = ["StorageObjectInUseProtection"]

_FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
}


class StorageObjectInUseProtection:
    name = "StorageObjectInUseProtection"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Adds the finalizer to a new object that does not have it."""
        finalizer = _FINALIZERS.get(attributes.resource.group_resource)
        obj = attributes.object
        if attributes.operation != "CREATE" or attributes.subresource or finalizer is None or obj is None:
            return None
        metadata = obj.get("metadata") or {}
        finalizers = metadata.get("finalizers") or ()
        if finalizer in finalizers:
            return None
        return {**obj, "metadata": {**metadata, "finalizers": [*finalizers, finalizer]}}
