"""NetworkPolicies, Ingresses and IngressClasses.

Upstream: pkg/apis/networking/validation/validation.go, apimachinery/pkg/util/validation/validation.go
    (IsWildcardDNS1123Subdomain)
Simplified: an invalid value that an old object already had (CIDR, Secret name) is refused on update too.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_subdomain, is_path_segment_name, is_valid_port_name, is_valid_port_num
from k8slab.api.validation.field import IMMUTABLE, each, forbidden, invalid, not_supported, required, too_long
from k8slab.api.validation.metadata import (
    dns_label,
    dns_subdomain,
    validate_domain_prefixed_path,
    validate_metadata,
    validate_metadata_update,
)
from k8slab.api.validation.numbers import is_ip, validate_cidr
from k8slab.api.validation.selectors import validate_label_selector

__all__ = [
    "validate_ingress_class_create",
    "validate_ingress_class_update",
    "validate_ingress_create",
    "validate_ingress_update",
    "validate_network_policy_create",
    "validate_network_policy_update",
]

Object = Mapping[str, Any]
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_FORBIDDEN_IN_PATH = ("//", "/./", "/../", "%2f", "%2F")
_FORBIDDEN_AT_END = ("/..", "/.")
_WILDCARD = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NOT_A_WILDCARD = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character "
    f"(e.g. '*.example.com', regex used for validation is '{_WILDCARD}')"
)


def validate_network_policy_create(policy: Object) -> list[Cause]:
    return validate_metadata(policy["metadata"], True, dns_subdomain) + _validate_policy_spec(policy["spec"])


def validate_network_policy_update(new: Object, old: Object) -> list[Cause]:
    return validate_metadata_update(new["metadata"], old["metadata"]) + _validate_policy_spec(new["spec"])


def _validate_policy_spec(spec: Object) -> list[Cause]:
    errors = validate_label_selector("spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                errors += _validate_policy_port(f"{path}.ports[{number}]", port)
            for number, peer in enumerate(rule.get(peers) or ()):
                errors += _validate_peer(f"{path}.{peers}[{number}]", peer)
    types = spec.get("policyTypes") or ()
    if len(types) > 2:
        errors.append(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
        return errors
    for index, kind in enumerate(types):
        if kind not in ("Ingress", "Egress"):
            errors.append(not_supported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress")))
    return errors


def _validate_policy_port(path: str, spec: Object) -> list[Cause]:
    errors: list[Cause] = []
    protocol, port, end = spec.get("protocol"), spec.get("port"), spec.get("endPort")
    if protocol is not None and protocol not in ("TCP", "UDP", "SCTP"):
        errors.append(not_supported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP")))
    if isinstance(port, int):
        errors += each(f"{path}.port", port, is_valid_port_num(port))
        if end is not None:
            if end < port:
                errors.append(invalid(f"{path}.endPort", end, "must be greater than or equal to `port`"))
            errors += each(f"{path}.endPort", end, is_valid_port_num(end))
        return errors
    if end is not None:
        why = "specified" if port is None else "numeric"
        detail = f"may not be specified when `port` is {'not ' if port is None else 'non-'}{why}"
        errors.append(invalid(f"{path}.endPort", end, detail))
    if port is not None:
        errors += each(f"{path}.port", port, is_valid_port_name(port))
    return errors


def _validate_peer(path: str, peer: Object) -> list[Cause]:
    errors: list[Cause] = []
    for key in ("podSelector", "namespaceSelector"):
        errors += validate_label_selector(f"{path}.{key}", peer.get(key))
    block = peer.get("ipBlock")
    if block is not None:
        errors += _validate_ip_block(f"{path}.ipBlock", block)
    count = sum(peer.get(key) is not None for key in ("podSelector", "namespaceSelector", "ipBlock"))
    if count == 0:
        errors.append(required(path, "must specify a peer"))
    elif count > 1 and block is not None:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _network(cidr: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return None


def _validate_ip_block(path: str, block: Object) -> list[Cause]:
    cidr = block.get("cidr", "")
    if not cidr:
        return [required(f"{path}.cidr")]
    errors = validate_cidr(f"{path}.cidr", cidr)
    whole = _network(cidr)
    if whole is None:
        return errors
    for index, text in enumerate(block.get("except") or ()):
        where = f"{path}.except[{index}]"
        errors += validate_cidr(where, text)
        part = _network(text)
        if part is not None and (part.prefixlen <= whole.prefixlen or part.network_address not in whole):
            errors.append(invalid(where, text, "must be a strict subset of `cidr`"))
    return errors


def validate_ingress_create(ingress: Object) -> list[Cause]:
    errors = validate_metadata(ingress["metadata"], True, dns_subdomain) + _validate_ingress_spec(ingress["spec"])
    annotation = ingress["metadata"].get("annotations", {}).get(_CLASS_ANNOTATION)
    name = ingress["spec"].get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        detail = "must match `ingressClassName` when both are specified"
        errors.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, detail))
    return errors


def validate_ingress_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    return errors + validate_metadata(new["metadata"], True, dns_subdomain) + _validate_ingress_spec(new["spec"])


def _validate_ingress_spec(spec: Object) -> list[Cause]:
    errors: list[Cause] = []
    rules, backend = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and backend is None:
        errors.append(invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _validate_backend("spec.defaultBackend", backend)
    for index, rule in enumerate(rules):
        errors += _validate_rule(f"spec.rules[{index}]", rule)
    for index, tls in enumerate(spec.get("tls") or ()):
        for number, host in enumerate(tls.get("hosts") or ()):
            errors += _validate_host(f"spec.tls[{index}].hosts[{number}]", host)
        if name := tls.get("secretName"):
            errors += each(f"spec.tls[{index}].secretName", name, is_dns1123_subdomain(name))
    name = spec.get("ingressClassName")
    return errors if name is None else errors + each("spec.ingressClassName", name, dns_subdomain(name))


def _validate_host(path: str, host: str) -> list[Cause]:
    if "*" not in host:
        return each(path, host, is_dns1123_subdomain(host))
    errors = [invalid(path, host, "must be no more than 253 characters")] if len(host.encode()) > 253 else []
    if not re.fullmatch(_WILDCARD, host):
        errors.append(invalid(path, host, _NOT_A_WILDCARD))
    return errors


def _validate_rule(path: str, rule: Object) -> list[Cause]:
    errors: list[Cause] = []
    if host := rule.get("host"):
        if is_ip(host):
            errors.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        errors += _validate_host(f"{path}.host", host)
    http = rule.get("http")
    if http is None:
        return errors
    if not http.get("paths"):
        errors.append(required(f"{path}.http.paths"))
    for index, one in enumerate(http.get("paths") or ()):
        errors += _validate_path(f"{path}.http.paths[{index}]", one)
    return errors


def _validate_path(path: str, spec: Object) -> list[Cause]:
    kind, text = spec.get("pathType"), spec.get("path", "")
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: list[Cause] = []
    where = f"{path}.path"
    if kind in ("Exact", "Prefix"):
        if not text.startswith("/"):
            errors.append(invalid(where, text, "must be an absolute path"))
        errors += [invalid(where, text, f"must not contain '{part}'") for part in _FORBIDDEN_IN_PATH if part in text]
        ends = [end for end in _FORBIDDEN_AT_END if text.endswith(end)]
        errors += [invalid(where, text, f"cannot end with '{end}'") for end in ends]
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            errors.append(invalid(where, text, "must be an absolute path"))
    else:
        errors.append(not_supported(f"{path}.pathType", kind, ("Exact", "ImplementationSpecific", "Prefix")))
    return errors + _validate_backend(f"{path}.backend", spec.get("backend") or {})


def _validate_backend(path: str, backend: Object) -> list[Cause]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _validate_reference(f"{path}.resource", resource)
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name = service.get("name", "")
    where = f"{path}.service"
    errors = each(f"{where}.name", name, dns_label(name)) if name else [required(f"{where}.name")]
    port_name, number = service.get("port", {}).get("name", ""), service.get("port", {}).get("number", 0)
    if port_name and number:
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif port_name:
        errors += each(f"{where}.port.name", port_name, is_valid_port_name(port_name))
    elif number:
        errors += each(f"{where}.port.number", number, is_valid_port_num(number))
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _validate_reference(path: str, reference: Object) -> list[Cause]:
    errors: list[Cause] = []
    group = reference.get("apiGroup")
    if group is not None:
        errors += each(f"{path}.apiGroup", group, is_dns1123_subdomain(group))
    for key in ("kind", "name"):
        if value := reference.get(key, ""):
            errors += each(f"{path}.{key}", value, is_path_segment_name(value))
        else:
            errors.append(required(f"{path}.{key}"))
    return errors


def validate_ingress_class_create(ingress_class: Object) -> list[Cause]:
    errors = validate_metadata(ingress_class["metadata"], False, dns_subdomain)
    controller = ingress_class["spec"].get("controller", "")
    where = "spec.controller"
    if not controller:
        errors.append(required(where))
    else:
        if len(controller.encode()) > 250:
            errors.append(too_long(where, 250))
        errors += validate_domain_prefixed_path(where, controller)
    parameters = ingress_class["spec"].get("parameters")
    return errors + (_validate_parameters("spec.parameters", parameters) if parameters is not None else [])


def _validate_parameters(path: str, parameters: Object) -> list[Cause]:
    errors = _validate_reference(path, parameters)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        return [*errors, required(f"{path}.scope")]
    if scope not in ("Cluster", "Namespace"):
        return [*errors, not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"))]
    if scope == "Cluster":
        if namespace is not None:
            errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        errors += each(f"{path}.namespace", namespace, dns_label(namespace))
    return errors


def validate_ingress_class_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    controller = new["spec"].get("controller", "")
    if controller != old["spec"].get("controller", ""):
        errors.append(invalid("spec.controller", controller, IMMUTABLE))
    return errors + validate_ingress_class_create(new)
