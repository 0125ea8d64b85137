"""The variable `namespaceObject`: the Namespace of the request, as far as expressions may see it.

Upstream: apiserver/pkg/admission/plugin/cel/condition.go (CreateNamespaceObject)
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import NotFoundError
from k8slab.api.scheme import NAMESPACES
from k8slab.apiserver.admission.attributes import Attributes, Lister

__all__ = ["namespace_object"]

_SEEN = (
    "name",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


async def namespace_object(attributes: Attributes, lister: Lister) -> dict[str, Any] | None:
    """None for what lives in no namespace, and for Namespaces. Raises NotFoundError."""
    name = attributes.namespace
    if not name or attributes.resource == NAMESPACES:
        return None
    found = lister.cached("namespaces", "", name)
    found = await lister.live("namespaces", "", name) if found is None else found
    if found is None:
        raise NotFoundError.of("namespaces", name)
    metadata = {key: found["metadata"][key] for key in _SEEN if key in found["metadata"]}
    return {"metadata": metadata, "spec": found.get("spec") or {}, "status": found.get("status") or {}}
