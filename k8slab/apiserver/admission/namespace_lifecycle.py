"""Nothing is created in a namespace that does not exist or is going; three namespaces stay for ever.

Upstream: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go
Simplified: no 50 ms wait for a cache that lags, the live lookup that follows it upstream is done at once.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import ForbiddenError, NotFoundError
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden

__all__ = ["IMMORTAL", "NamespaceLifecycle"]

IMMORTAL = ("default", "kube-system", "kube-public")


class NamespaceLifecycle:
    name = "NamespaceLifecycle"

    async def admit(self, attributes: Attributes, lister: Lister) -> None:
        """Refuses; changes nothing. It comes first, so that nothing else looks at such a request."""
        is_namespace = attributes.resource.group_resource == "namespaces"
        if attributes.operation == "DELETE" and is_namespace and attributes.name in IMMORTAL:
            raise forbidden(attributes, "this namespace may not be deleted")
        if attributes.operation != "CREATE" or is_namespace or not attributes.namespace:
            return
        namespace = lister.cached("namespaces", "", attributes.namespace)
        if namespace is None or _is_terminating(namespace):
            namespace = await lister.live("namespaces", "", attributes.namespace)
        if namespace is None:
            raise NotFoundError.of("namespaces", attributes.namespace)
        if _is_terminating(namespace):
            raise _terminating(attributes)


def _is_terminating(namespace: Any) -> bool:
    return bool((namespace.get("status") or {}).get("phase") == "Terminating")


def _terminating(attributes: Attributes) -> ForbiddenError:
    namespace = attributes.namespace
    error = forbidden(
        attributes, f"unable to create new content in namespace {namespace} because it is being terminated"
    )
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    error.details = {**(error.details or {}), "causes": [cause]}
    return error
