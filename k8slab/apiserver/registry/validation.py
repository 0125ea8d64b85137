"""The validation rules of `api`, as the registry asks for them.

Upstream: apiserver/pkg/registry/rest/{create,update}.go (validateCommonFields)
"""

from __future__ import annotations

from k8slab.api.errors import Cause
from k8slab.api.objects import Object
from k8slab.api.validation.metadata import path_segment, validate_common_update, validate_metadata

__all__ = ["validate_create", "validate_object_meta", "validate_object_meta_update", "validate_update"]

try:
    from k8slab.api.validation import validate_create, validate_update
except ImportError:

    def validate_create(obj: Object) -> list[Cause]:
        from k8slab.api.validation.metadata import dns_subdomain

        return validate_metadata(obj["metadata"], bool(obj["metadata"].get("namespace")), dns_subdomain)

    def validate_update(obj: Object, old: Object, subresource: str = "") -> list[Cause]:
        return []


def validate_object_meta(metadata: Object, namespaced: bool) -> list[Cause]:
    """What every object must obey, whatever its kind."""
    return validate_metadata(metadata, namespaced, path_segment)


def validate_object_meta_update(metadata: Object, old: Object, namespaced: bool) -> list[Cause]:
    """What no update may do to metadata, whatever the kind."""
    return validate_common_update(metadata, old, namespaced)
