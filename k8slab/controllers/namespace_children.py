"""Controllers that keep one object in every namespace: what they have in common.

Upstream: pkg/controller/serviceaccount/serviceaccounts_controller.go,
    pkg/controller/certificates/rootcacertpublisher/publisher.go
"""

from __future__ import annotations

from k8slab.api.errors import AlreadyExistsError, NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import GVR
from k8slab.client import Client
from k8slab.controllers.status_cause import has_namespace_terminating_cause

__all__ = ["create_in_namespace", "is_active"]


def is_active(namespace: Object) -> bool:
    return (namespace.get("status") or {}).get("phase") == "Active"


async def create_in_namespace(client: Client, gvr: GVR, obj: Object, namespace: str) -> None:
    """Create `obj`, unless it is there by now or the namespace is going or gone."""
    try:
        await client.create(gvr, obj, namespace)
    except (AlreadyExistsError, NotFoundError):
        return
    except StatusError as error:
        if not has_namespace_terminating_cause(error):
            raise
