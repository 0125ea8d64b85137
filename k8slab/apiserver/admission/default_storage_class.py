"""A claim that names no class gets the default one, if there is one.

Upstream: plugin/pkg/admission/storage/storageclass/setdefault/admission.go, pkg/volume/util/storageclass.go
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister

__all__ = ["DefaultStorageClass"]

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


class DefaultStorageClass:
    name = "DefaultStorageClass"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Sets `spec.storageClassName` of a new claim; of several default classes the youngest."""
        claim = attributes.object
        if attributes.operation != "CREATE" or attributes.resource.group_resource != "persistentvolumeclaims":
            return None
        if claim is None or attributes.subresource:
            return None
        spec = claim.get("spec") or {}
        annotations = (claim.get("metadata") or {}).get("annotations") or {}
        if _BETA_CLASS in annotations or spec.get("storageClassName") is not None:
            return None
        found = [one for one in lister.cached_all("storageclasses.storage.k8s.io") if _is_default(one)]
        if not found:
            return None
        by_name = sorted(found, key=lambda one: one["metadata"]["name"])
        youngest = max(by_name, key=lambda one: one["metadata"].get("creationTimestamp") or "")
        return {**claim, "spec": {**spec, "storageClassName": youngest["metadata"]["name"]}}


def _is_default(storage_class: Object) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(key) == "true" for key in _IS_DEFAULT)
