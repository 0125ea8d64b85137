"""Defaults of Services, Namespaces, Nodes, Secrets, LimitRanges, quotas and Endpoints.

Upstream: pkg/apis/core/v1/defaults.go, pkg/api/v1/service/util.go (ExternallyAccessible)
"""

from __future__ import annotations

from typing import Any

from k8slab.api.defaults.pod import round_up_resources

__all__ = [
    "nothing",
    "set_endpoints_defaults",
    "set_limit_range_defaults",
    "set_namespace_defaults",
    "set_node_defaults",
    "set_resource_quota_defaults",
    "set_secret_defaults",
    "set_service_defaults",
]

_CLIENT_IP_AFFINITY_SECONDS = 10800


def nothing(obj: dict[str, Any]) -> None:
    """Kinds whose defaults leave no trace on the wire (an empty `data` of a ConfigMap)."""


def set_service_defaults(service: dict[str, Any]) -> None:
    spec = service["spec"]
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = spec.get("sessionAffinityConfig", {})
        if "timeoutSeconds" not in config.get("clientIP", {}):
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _CLIENT_IP_AFFINITY_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if port.get("targetPort", 0) in (0, ""):
            port["targetPort"] = port["port"]
    if _is_externally_accessible(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service["status"]["loadBalancer"].get("ingress", ()):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _is_externally_accessible(spec: dict[str, Any]) -> bool:
    return spec["type"] in ("LoadBalancer", "NodePort") or (
        spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def set_namespace_defaults(namespace: dict[str, Any]) -> None:
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata["name"]}
    namespace["status"].setdefault("phase", "Active")


def set_node_defaults(node: dict[str, Any]) -> None:
    status = node["status"]
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])
    round_up_resources(status.get("capacity"))
    round_up_resources(status.get("allocatable"))


def set_secret_defaults(secret: dict[str, Any]) -> None:
    secret.setdefault("type", "Opaque")


def set_resource_quota_defaults(quota: dict[str, Any]) -> None:
    round_up_resources(quota["spec"].get("hard"))
    round_up_resources(quota["status"].get("hard"))
    round_up_resources(quota["status"].get("used"))


def set_limit_range_defaults(limit_range: dict[str, Any]) -> None:
    for item in limit_range["spec"].get("limits") or ():
        if item.get("type") == "Container":
            default = {**item.get("max", {}), **item.get("default", {})}
            request = {**item.get("min", {}), **default, **item.get("defaultRequest", {})}
            for name, values in (("default", default), ("defaultRequest", request)):
                if values:
                    item[name] = values
        for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_up_resources(item.get(name))


def set_endpoints_defaults(endpoints: dict[str, Any]) -> None:
    for subset in endpoints.get("subsets", ()):
        for port in subset.get("ports", ()):
            port.setdefault("protocol", "TCP")
