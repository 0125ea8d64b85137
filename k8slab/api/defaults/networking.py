"""Defaults of EndpointSlices, NetworkPolicies and IngressClasses.

Upstream: pkg/apis/discovery/v1/defaults.go, pkg/apis/networking/v1/defaults.go
"""

from __future__ import annotations

from typing import Any

__all__ = ["set_endpoint_slice_defaults", "set_ingress_class_defaults", "set_network_policy_defaults"]


def set_endpoint_slice_defaults(endpoint_slice: dict[str, Any]) -> None:
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def set_network_policy_defaults(policy: dict[str, Any]) -> None:
    spec = policy["spec"]
    for rule in (*spec.get("ingress", ()), *spec.get("egress", ())):
        for port in rule.get("ports", ()):
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def set_ingress_class_defaults(ingress_class: dict[str, Any]) -> None:
    parameters = ingress_class["spec"].get("parameters")
    if parameters:
        parameters.setdefault("scope", "Cluster")
