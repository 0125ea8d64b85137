"""Which PersistentVolumeClaims may grow.

Upstream: plugin/pkg/admission/storage/persistentvolume/resize/admission.go
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.api.pod_requests import resource_list
from k8slab.api.quantity import Quantity
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden

__all__ = ["PersistentVolumeClaimResize"]

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_NOT_BOUND = "Only bound persistent volume claims can be expanded"
_NOT_BY_CLASS = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class PersistentVolumeClaimResize:
    name = "PersistentVolumeClaimResize"

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """403 for a claim that is to grow and is not bound, or whose class does not allow it."""
        claim, old = attributes.object, attributes.old
        is_claim = attributes.resource.group_resource == "persistentvolumeclaims" and not attributes.subresource
        if not is_claim or attributes.operation != "UPDATE" or claim is None or old is None:
            return
        if _size(claim) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, _NOT_BOUND)
        name = _class_of(claim)
        found = lister.cached("storageclasses.storage.k8s.io", "", name) if name and name == _class_of(old) else None
        if found is None or not found.get("allowVolumeExpansion"):
            raise forbidden(attributes, _NOT_BY_CLASS)


def _size(claim: Object) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests")
    return resource_list(requests).get("storage", Quantity(0))


def _class_of(claim: Object) -> str:
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    if _BETA_CLASS in annotations:
        return str(annotations[_BETA_CLASS])
    return (claim.get("spec") or {}).get("storageClassName") or ""
