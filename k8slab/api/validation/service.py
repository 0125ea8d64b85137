"""Services and EndpointSlices.

Upstream: pkg/apis/core/validation/validation.go (ValidateService, ValidateServiceClusterIPsRelatedFields),
    pkg/apis/discovery/validation/validation.go
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name, is_valid_port_num
from k8slab.api.validation.field import (
    GoStruct,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    one_of,
    required,
    too_many,
)
from k8slab.api.validation.metadata import (
    dns_label,
    dns_subdomain,
    validate_immutable,
    validate_metadata,
    validate_metadata_update,
)
from k8slab.api.validation.numbers import (
    validate_cidr,
    validate_ip,
    validate_non_special_ip,
    validate_port_num_or_name,
)
from k8slab.api.validation.selectors import validate_labels

__all__ = [
    "validate_cluster_ips",
    "validate_endpoint_slice_create",
    "validate_endpoint_slice_update",
    "validate_service_create",
    "validate_service_update",
]

Object = Mapping[str, Any]
MAX_AFFINITY_SECONDS = 86400
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_POLICIES = ("Cluster", "Local")
_LOAD_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")


def _is_headless(spec: Object) -> bool:
    return list(spec.get("clusterIPs", ())) == ["None"]


def validate_service_create(service: Object) -> list[Cause]:
    return validate_metadata(service["metadata"], True, dns_label) + _validate_spec(
        service["metadata"], service["spec"]
    )


def _validate_spec(metadata: Object, spec: Object) -> list[Cause]:
    errors: list[Cause] = []
    kind, ports = spec.get("type", ""), spec.get("ports", ())
    if not ports and not _is_headless(spec) and kind != "ExternalName":
        errors.append(required("spec.ports"))
    errors += _validate_type_rules(spec, kind)
    names: list[str] = []
    for index, port in enumerate(ports):
        errors += _validate_port(f"spec.ports[{index}]", port, len(ports) > 1, names)
    errors += validate_labels("spec.selector", spec.get("selector"))
    errors += _validate_session_affinity(spec)
    errors += validate_cluster_ips(spec)
    for index, address in enumerate(spec.get("externalIPs", ())):
        where = f"spec.externalIPs[{index}]"
        errors += validate_ip(where, address) or validate_non_special_ip(where, address)
    errors += one_of("spec.type", kind, _TYPES)
    errors += _validate_node_ports(kind, ports)
    errors += _validate_load_balancer(metadata, spec, kind)
    return errors + _validate_traffic_policies(spec, kind)


def _validate_type_rules(spec: Object, kind: str) -> list[Cause]:
    if kind in ("LoadBalancer", "NodePort") and _is_headless(spec):
        return [invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")]
    if kind != "ExternalName":
        return []
    errors = [
        forbidden(f"spec.{key}", "may not be set for ExternalName services")
        for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(key)
    ]
    name = spec.get("externalName", "").removesuffix(".")
    errors += each("spec.externalName", name, is_dns1123_subdomain(name)) if name else [required("spec.externalName")]
    return errors


def _validate_port(path: str, port: Object, needs_name: bool, names: list[str]) -> list[Cause]:
    errors: list[Cause] = []
    name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
    if name:
        errors += each(f"{path}.name", name, is_dns1123_label(name))
        if name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.append(name)
    elif needs_name:
        errors.append(required(f"{path}.name"))
    errors += each(f"{path}.port", number, is_valid_port_num(number))
    errors += one_of(f"{path}.protocol", protocol, _PROTOCOLS)
    errors += validate_port_num_or_name(f"{path}.targetPort", port.get("targetPort", 0))
    if "appProtocol" in port:
        errors += each(f"{path}.appProtocol", port["appProtocol"], is_qualified_name(port["appProtocol"]))
    return errors


def _validate_session_affinity(spec: Object) -> list[Cause]:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    path = "spec.sessionAffinityConfig"
    if affinity == "None":
        return [] if config is None else [forbidden(path, "must not be set when session affinity is None")]
    if affinity != "ClientIP":
        return one_of("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    for step in ("", ".clientIP", ".clientIP.timeoutSeconds"):
        if step:
            config = (config or {}).get(step.rpartition(".")[2])
        if config is None:
            return [required(path + step, "when session affinity type is ClientIP")]
    if isinstance(config, int) and not 0 < config <= MAX_AFFINITY_SECONDS:
        detail = f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"
        return [invalid(f"{path}.clientIP.timeoutSeconds", config, detail)]
    return []


def validate_cluster_ips(spec: Object) -> list[Cause]:
    """Families and addresses by themselves; the registry asks this before it allocates, too."""
    errors: list[Cause] = []
    if spec.get("type") == "ExternalName":
        return errors
    families = spec.get("ipFamilies", ())
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            errors.append(not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6")))
        elif family in families[:index]:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", family))
    policy, policies = spec.get("ipFamilyPolicy"), ("PreferDualStack", "RequireDualStack", "SingleStack")
    if policy is not None and policy not in policies:
        errors.append(not_supported("spec.ipFamilyPolicy", policy, policies))
    return errors + _validate_addresses(spec.get("clusterIP", ""), list(spec.get("clusterIPs", ())), families)


def _validate_addresses(first: str, addresses: list[str], families: Sequence[str]) -> list[Cause]:
    path = "spec.clusterIPs"
    errors: list[Cause] = []
    if first and not addresses:
        return [required(path)]
    if addresses and not first:
        errors.append(invalid(path, addresses, "must be empty when `clusterIP` is not specified"))
    elif addresses and addresses[0] != first:
        errors.append(invalid(path, addresses, "first value must match `clusterIP`"))
    if "None" in addresses:
        if len(addresses) > 1:
            errors.append(invalid(path, addresses, "'None' must be the first and only value"))
        return errors
    for index, address in enumerate(addresses):
        if not address:
            errors.append(invalid(f"{path}[{index}]", address, "must be empty, 'None', or a valid IP address"))
        else:
            errors += validate_ip(f"{path}[{index}]", address)
    if errors:
        return errors
    versions = [ipaddress.ip_address(address).version for address in addresses]
    if len(addresses) > 2:
        errors.append(invalid(path, addresses, "may only hold up to 2 values"))
    if len(addresses) > 1 and len(set(versions)) < len(versions):
        errors.append(invalid(path, addresses, "may specify no more than one IP for each IP family"))
    for index, (version, family) in enumerate(zip(versions, families, strict=False)):
        if family != f"IPv{version}":
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid(f"{path}[{index}]", addresses[index], detail))
    return errors


def _validate_node_ports(kind: str, ports: Sequence[Object]) -> list[Cause]:
    errors: list[Cause] = []
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                detail = "may not be used when `type` is 'ClusterIP'"
                errors.append(forbidden(f"spec.ports[{index}].nodePort", detail))
    seen: list[tuple[str, int]] = []
    for index, port in enumerate(ports):
        if number := port.get("nodePort"):
            if (port.get("protocol", ""), number) in seen:
                errors.append(duplicate(f"spec.ports[{index}].nodePort", number))
            seen.append((port.get("protocol", ""), number))
    used: list[tuple[str, int]] = []
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in used:
            value = {
                "name": "",
                "protocol": key[0],
                "appProtocol": None,
                "port": key[1],
                "targetPort": 0,
                "nodePort": 0,
            }
            errors.append(duplicate(f"spec.ports[{index}]", GoStruct(value)))
        used.append(key)
    return errors


def _validate_load_balancer(metadata: Object, spec: Object, kind: str) -> list[Cause]:
    errors: list[Cause] = []
    ranges, annotation = spec.get("loadBalancerSourceRanges", ()), metadata.get("annotations", {}).get(_SOURCE_RANGES)
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        if kind != "LoadBalancer":
            errors.append(forbidden(path, _LOAD_BALANCER_ONLY))
        for index, value in enumerate(ranges):
            errors += validate_cidr(f"{path}[{index}]", value.strip())
    elif annotation is not None:
        path = f"metadata.annotations[{_SOURCE_RANGES}]"
        if kind != "LoadBalancer":
            errors.append(forbidden(path, _LOAD_BALANCER_ONLY))
        for value in filter(None, annotation.strip().split(",")):
            errors += validate_cidr(path, value.strip())
    if kind != "LoadBalancer" and "allocateLoadBalancerNodePorts" in spec:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _LOAD_BALANCER_ONLY))
    name = spec.get("loadBalancerClass")
    if name is not None:
        if kind != "LoadBalancer":
            errors.append(forbidden("spec.loadBalancerClass", _LOAD_BALANCER_ONLY))
        else:
            errors += each("spec.loadBalancerClass", name, is_qualified_name(name))
    return errors


def _validate_traffic_policies(spec: Object, kind: str) -> list[Cause]:
    errors: list[Cause] = []
    external, check = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort", 0)
    is_external = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    where = "spec.externalTrafficPolicy"
    if not is_external:
        if external:
            errors.append(invalid(where, external, "may only be set for externally-accessible services"))
    else:
        errors += one_of(where, external, _POLICIES)
    if not _needs_health_check(spec):
        if check:
            detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(invalid("spec.healthCheckNodePort", check, detail))
    elif not check:
        errors.append(required("spec.healthCheckNodePort"))
    else:
        errors += each("spec.healthCheckNodePort", check, is_valid_port_num(check))
    internal = spec.get("internalTrafficPolicy")
    if internal is None and kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        errors.append(required("spec.internalTrafficPolicy"))
    elif internal is not None and internal not in _POLICIES:
        errors.append(not_supported("spec.internalTrafficPolicy", internal, _POLICIES))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        errors.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
    return errors


def _needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def validate_service_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    spec, before = new["spec"], old["spec"]
    errors += _validate_kept_addresses(spec, before)
    name, was = spec.get("loadBalancerClass"), before.get("loadBalancerClass")
    if before.get("type") == spec.get("type") == "LoadBalancer" and name != was and was is not None:
        errors.append(invalid("spec.loadBalancerClass", name, "may not change once set"))
    if _needs_health_check(before) and _needs_health_check(spec):
        check, was_check = spec.get("healthCheckNodePort", 0), before.get("healthCheckNodePort", 0)
        if check != was_check:
            errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors + validate_service_create(new)


def _validate_kept_addresses(spec: Object, before: Object) -> list[Cause]:
    """While a Service keeps a type with cluster IPs, the first address and family may not change."""
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return []
    is_headless, was_headless = _is_headless(spec), _is_headless(before)
    errors: list[Cause] = []
    if not (is_headless and was_headless):
        errors += _validate_kept("clusterIP", "clusterIPs", spec, before)
    if not (is_headless or was_headless):
        errors += _validate_kept("ipFamily", "ipFamilies", spec, before)
    return errors


def _validate_kept(one: str, many: str, spec: Object, before: Object) -> list[Cause]:
    path, fixed = f"spec.{many}", "may not change once set"
    given = spec.get(many)
    old, new = list(before.get(many) or ()), list(given or ())
    if len(old) == len(new):
        where = range(len(old)) if one == "clusterIP" else [0] * len(old)
        return [invalid(f"{path}[{at}]", given, fixed) for at, a, b in zip(where, old, new, strict=True) if a != b]
    errors: list[Cause] = []
    if len(old) > len(new) and not spec.get("clusterIPs"):
        errors.append(invalid(f"{path}[0]", given, f"primary {one} can not be unset"))
    if old and new and old[0] != new[0]:
        errors.append(invalid(f"{path}[0]", spec.get("clusterIPs"), fixed))
    policy = spec.get("ipFamilyPolicy")
    if len(old) > len(new) == 1 and policy != "SingleStack":
        detail = f"must be set to 'SingleStack' when releasing the secondary {one}"
        errors.append(invalid("spec.ipFamilyPolicy", policy, detail))
    return errors


MAX_ENDPOINTS = 1000
MAX_ENDPOINT_PORTS = 20000


def validate_endpoint_slice_create(endpoint_slice: Object) -> list[Cause]:
    errors = validate_metadata(endpoint_slice["metadata"], True, dns_subdomain)
    kind = endpoint_slice.get("addressType", "")
    errors += one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    endpoints, ports = endpoint_slice.get("endpoints") or (), endpoint_slice.get("ports") or ()
    if len(endpoints) > MAX_ENDPOINTS:
        errors.append(too_many("endpoints", len(endpoints), MAX_ENDPOINTS))
    for index, endpoint in enumerate(endpoints):
        errors += _validate_endpoint(f"endpoints[{index}]", endpoint, kind)
    names: list[str] = []
    for index, port in enumerate(ports):
        where, name = f"ports[{index}]", port.get("name", "")
        if name:
            errors += each(f"{where}.name", name, is_dns1123_label(name))
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.append(name)
        if port.get("protocol") not in _PROTOCOLS:
            errors.append(not_supported(f"{where}.protocol", port.get("protocol", ""), _PROTOCOLS))
    return errors


def _validate_endpoint(path: str, endpoint: Object, kind: str) -> list[Cause]:
    addresses = endpoint.get("addresses") or ()
    errors: list[Cause] = []
    if not addresses:
        errors.append(required(f"{path}.addresses", "must contain at least 1 address"))
    if len(addresses) > 100:
        errors.append(too_many(f"{path}.addresses", len(addresses), 100))
    for index, address in enumerate(addresses):
        where = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            errors += each(where, address, is_dns1123_subdomain(address))
            continue
        found = validate_ip(where, address)
        if not found and f"IPv{ipaddress.ip_address(address).version}" != kind:
            found = [invalid(where, address, f"must be an {kind} address")]
        errors += found or validate_non_special_ip(where, address)
    for key in ("hostname", "nodeName"):
        if value := endpoint.get(key):
            rule = is_dns1123_label if key == "hostname" else is_dns1123_subdomain
            errors += each(f"{path}.{key}", value, rule(value))
    return errors


def validate_endpoint_slice_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    errors += validate_endpoint_slice_create(new)
    return errors + validate_immutable("addressType", new.get("addressType", ""), old.get("addressType", ""))
