"""From a Pod and a Service to an endpoint: addresses, ports, conditions.

A Pod that is being deleted stays in the slice until it ended: not ready any more, but still serving as long as it is
ready itself, so that open connections have somewhere to go.

Upstream: endpointslice/utils.go (staging/src/k8s.io/endpointslice), endpointslice/util/controller_utils.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.pods import is_pod_ready, is_pod_terminal

__all__ = [
    "EndpointKey",
    "PortKey",
    "address_types",
    "endpoint_key",
    "endpoint_of",
    "endpoint_ports",
    "find_port",
    "is_equal_beyond_key",
    "port_key",
    "should_be_in_endpoints",
]

EndpointKey = tuple[tuple[str, ...], str, str, str]
PortKey = tuple[tuple[str, ...], ...]

ZONE = "topology.kubernetes.io/zone"


def _ips(pod: Object) -> list[str]:
    return [entry["ip"] for entry in (pod.get("status") or {}).get("podIPs") or () if entry.get("ip")]


def should_be_in_endpoints(pod: Object) -> bool:
    """It has an address and has not ended; terminating ones count."""
    return not is_pod_terminal(pod) and bool((pod.get("status") or {}).get("podIP") or _ips(pod))


def address_types(service: Object) -> list[str]:
    """IPv4, IPv6 or both, in the order of spec.ipFamilies; without that field by the cluster IP, for a headless
    Service both."""
    spec = service["spec"]
    families = [family for family in spec.get("ipFamilies") or () if family in ("IPv4", "IPv6")]
    if families:
        return list(dict.fromkeys(families))
    cluster_ip = spec.get("clusterIP") or ""
    if cluster_ip and cluster_ip != "None":
        return [f"IPv{ip_address(cluster_ip).version}"]
    return ["IPv4", "IPv6"]


def find_port(pod: Object, service_port: Object) -> int | None:
    """The number behind targetPort: itself, or the container port of that name and protocol (of sidecars too)."""
    target = service_port.get("targetPort")
    if not isinstance(target, str):
        return target or 0
    spec = pod["spec"]
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    protocol = service_port.get("protocol") or ""
    for container in [*(spec.get("containers") or ()), *sidecars]:
        for port in container.get("ports") or ():
            if port.get("name") == target and (port.get("protocol") or "") == protocol:
                return int(port["containerPort"])
    return None


def endpoint_ports(service: Object, pod: Object) -> list[dict[str, Any]]:
    """The ports of a slice that `pod` goes into. A name that the Pod has no port for is left out."""
    ports = []
    for service_port in service["spec"].get("ports") or ():
        number = find_port(pod, service_port)
        if number is None:
            continue
        port = {"name": service_port.get("name") or "", "protocol": service_port.get("protocol") or "", "port": number}
        if service_port.get("appProtocol"):
            port["appProtocol"] = service_port["appProtocol"]
        ports.append(port)
    return ports


def port_key(ports: Iterable[Mapping[str, Any]] | None) -> PortKey:
    """Equal for equal sets of ports: endpoints with equal ports share slices."""
    fields = ("name", "protocol", "port", "appProtocol")
    return tuple(sorted(tuple(str(port.get(field, "")) for field in fields) for port in ports or ()))


def endpoint_of(pod: Object, node: Object | None, service: Object, address_type: str) -> dict[str, Any] | None:
    """The endpoint, None when the Pod has no address of this type."""
    addresses = [str(ip) for ip in map(ip_address, _ips(pod)) if f"IPv{ip.version}" == address_type]
    if not addresses:
        return None
    metadata, spec = pod["metadata"], pod["spec"]
    serving = is_pod_ready(pod)
    terminating = metadata.get("deletionTimestamp") is not None
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    reference = {
        "kind": "Pod",
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    endpoint: dict[str, Any] = {
        "addresses": addresses,
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": reference,
    }
    if spec.get("nodeName"):
        endpoint["nodeName"] = spec["nodeName"]
    zone = (node["metadata"].get("labels") or {}).get(ZONE) if node is not None else None
    if zone:
        endpoint["zone"] = zone
    if _has_host_name(pod, service):
        endpoint["hostname"] = spec["hostname"]
    return endpoint


def _has_host_name(pod: Object, service: Object) -> bool:
    """The Pod names itself and its subdomain is this Service: it gets a DNS name of its own."""
    spec, metadata = pod["spec"], service["metadata"]
    same_namespace = pod["metadata"].get("namespace") == metadata.get("namespace")
    return bool(spec.get("hostname")) and spec.get("subdomain", "") == metadata["name"] and same_namespace


def endpoint_key(endpoint: Object) -> EndpointKey:
    """What identifies an endpoint: a change of anything else is an update in place."""
    target = endpoint.get("targetRef") or {}
    addresses = tuple(sorted(endpoint["addresses"]))
    return addresses, endpoint.get("hostname") or "", target.get("namespace") or "", target.get("name") or ""


def is_equal_beyond_key(endpoint: Object, other: Object) -> bool:
    """Whether what the key does not cover is equal too; hints are not compared."""
    fields = ("nodeName", "zone", "targetRef")
    if any(endpoint.get(field) != other.get(field) for field in fields):
        return False
    conditions, others = endpoint.get("conditions") or {}, other.get("conditions") or {}
    return all(conditions.get(name) == others.get(name) for name in ("ready", "serving", "terminating"))
