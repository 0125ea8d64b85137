"""What exists in a cluster before anybody uses it: namespaces, priority classes, the Service `kubernetes`.

Upstream: pkg/controlplane/controller/systemnamespaces, pkg/registry/scheduling/rest (system priority classes),
pkg/controlplane/controller/kubernetesservice
Simplified: no RBAC objects, no flow schemas, no extension-apiserver-authentication ConfigMap.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import AlreadyExistsError
from k8slab.api.scheme import NAMESPACES, PRIORITYCLASSES, SERVICES
from k8slab.client import Client

__all__ = ["SYSTEM_NAMESPACES", "bootstrap"]

SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

_CRITICAL = (
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
)


def _priority_class(name: str, value: int, description: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
    }


_KUBERNETES = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {"ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]},
}


async def bootstrap(client: Client) -> None:
    """Create the system's own objects; those that exist are left as they are."""
    for name in SYSTEM_NAMESPACES:
        await _ensure(client, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for row in _CRITICAL:
        await _ensure(client, PRIORITYCLASSES, _priority_class(*row))
    await _ensure(client, SERVICES, _KUBERNETES)


async def _ensure(client: Client, resource: Any, obj: dict[str, Any]) -> None:
    try:
        await client.create(resource, obj)
    except AlreadyExistsError:
        return
