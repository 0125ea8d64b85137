"""What a new API server finds missing and creates: system namespaces, the kubernetes Service, priority classes.

Upstream: pkg/controlplane/controller/{systemnamespaces,kubernetesservice},
    pkg/registry/scheduling/rest/storage_scheduling.go
Simplified: no RBAC policy, no flow schemas, no Endpoints of the kubernetes Service.
"""

from __future__ import annotations

from collections.abc import Iterator

from k8slab.api.defaults import apply_defaults
from k8slab.api.priority_classes import SYSTEM_CLUSTER_CRITICAL, SYSTEM_NODE_CRITICAL, SYSTEM_PRIORITY_CLASSES
from k8slab.api.scheme import GVR, NAMESPACES, PRIORITYCLASSES, SERVICES
from k8slab.api.times import rfc3339
from k8slab.apiserver.registry import Draft, Environment, new_uid

__all__ = ["SYSTEM_NAMESPACES", "bootstrap_objects"]

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")

_ONLY_SYSTEM = "Used for system critical pods that must "
_DESCRIPTIONS = {
    SYSTEM_NODE_CRITICAL: _ONLY_SYSTEM + "not be moved from their current node.",
    SYSTEM_CLUSTER_CRITICAL: _ONLY_SYSTEM + "run in the cluster, but can be moved to another node if necessary.",
}


def bootstrap_objects(env: Environment) -> Iterator[tuple[GVR, Draft]]:
    """(resource, object) in the order of creation."""
    for name in SYSTEM_NAMESPACES:
        yield NAMESPACES, _finish(env, _namespace(name))
    for name in SYSTEM_PRIORITY_CLASSES:
        yield PRIORITYCLASSES, _finish(env, _priority_class(name), generation=1)
    yield SERVICES, _finish(env, _kubernetes_service(env))


def _finish(env: Environment, obj: Draft, *, generation: int = 0) -> Draft:
    obj = apply_defaults(obj)
    obj["metadata"] |= {"uid": new_uid(env.uids), "creationTimestamp": rfc3339(env.clock.now_ms)}
    if generation:
        obj["metadata"]["generation"] = generation
    return obj


def _namespace(name: str) -> Draft:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _priority_class(name: str) -> Draft:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": SYSTEM_PRIORITY_CLASSES[name],
        "description": _DESCRIPTIONS[name],
    }


def _kubernetes_service(env: Environment) -> Draft:
    address = env.services.kubernetes_address
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": [env.services.families[0]],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
        },
        "status": {"loadBalancer": {}},
    }
