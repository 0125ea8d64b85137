"""Pods and pod templates.

Upstream: pkg/apis/core/validation/validation.go (ValidatePodSpec, ValidatePodCreate, ValidatePodTemplateSpec)
Simplified: annotations of retired features (seccomp, AppArmor) are not compared with the fields that replaced them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name
from k8slab.api.priority_classes import PREEMPTION_POLICIES
from k8slab.api.validation.containers import (
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_image_spaces,
    validate_init_containers,
)
from k8slab.api.validation.field import GoStruct, duplicate, each, forbidden, invalid, not_supported, required
from k8slab.api.validation.metadata import dns_subdomain, validate_annotations, validate_metadata
from k8slab.api.validation.numbers import MAX_INT32, validate_ip
from k8slab.api.validation.resources import validate_pod_resources, validate_quantity_value, validate_resource_name
from k8slab.api.validation.scheduling import (
    validate_affinity,
    validate_scheduling_gates,
    validate_tolerations,
    validate_topology_spread,
)
from k8slab.api.validation.security import validate_operating_system, validate_pod_security_context
from k8slab.api.validation.selectors import validate_labels
from k8slab.api.validation.volumes import validate_volumes
from k8slab.api.validation.workload_groups import validate_scheduling_group

__all__ = ["validate_pod_create", "validate_pod_metadata_and_spec", "validate_pod_spec", "validate_pod_template"]

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_MIRROR_POD = "kubernetes.io/config.mirror"
_is_int32_text = re.compile("0|-?[1-9][0-9]*").fullmatch
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_UNDERSCORE_LABEL = "[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?"
_is_search_domain = re.compile(rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*").fullmatch
Spec = Mapping[str, Any]


def validate_pod_create(pod: Mapping[str, Any], *, allow_privileged: bool = True) -> list[Cause]:
    errors = validate_pod_metadata_and_spec(pod, allow_privileged=allow_privileged)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden("spec.nodeName", detail))
    return errors


def validate_pod_metadata_and_spec(pod: Mapping[str, Any], *, allow_privileged: bool = True) -> list[Cause]:
    """What holds for a Pod at any time."""
    metadata, spec = pod["metadata"], pod["spec"]
    errors = validate_metadata(metadata, True, dns_subdomain)
    errors += _validate_pod_annotations("metadata.annotations", metadata.get("annotations", {}), spec)
    errors += validate_pod_spec("spec", spec, is_pod=True, allow_privileged=allow_privileged)
    if not spec.get("serviceAccountName"):
        errors += _validate_no_tokens(spec)
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind, ())):
            errors += validate_image_spaces(f"spec.{kind}[{index}]", container)
    return errors


def _validate_no_tokens(spec: Spec) -> list[Cause]:
    return [
        forbidden(
            f"spec.volumes[{v}].projected.sources[{s}].serviceAccountToken",
            "must not be specified when serviceAccountName is not set",
        )
        for v, volume in enumerate(spec.get("volumes", ()))
        for s, source in enumerate(volume.get("projected", {}).get("sources") or ())
        if "serviceAccountToken" in source
    ]


def validate_pod_template(path: str, template: Mapping[str, Any], *, allow_privileged: bool = True) -> list[Cause]:
    metadata, spec = template.get("metadata", {}), template.get("spec", {})
    annotations = metadata.get("annotations", {})
    errors = validate_labels(f"{path}.labels", metadata.get("labels"))
    errors += validate_annotations(f"{path}.annotations", annotations)
    errors += _validate_pod_annotations(f"{path}.annotations", annotations, spec)
    errors += validate_pod_spec(f"{path}.spec", spec, is_pod=False, allow_privileged=allow_privileged)
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", detail))
    return errors


def _validate_pod_annotations(path: str, annotations: Mapping[str, str], spec: Spec) -> list[Cause]:
    errors: list[Cause] = []
    if _MIRROR_POD in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{_MIRROR_POD}]", annotations[_MIRROR_POD], detail))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not (_is_int32_text(cost) and -MAX_INT32 - 1 <= int(cost) <= MAX_INT32):
        errors.append(invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer"))
    return errors


def validate_pod_spec(path: str, spec: Spec, *, is_pod: bool, allow_privileged: bool = True) -> list[Cause]:
    """The spec of a Pod (`is_pod`) or of a template, in upstream's order."""
    errors: list[Cause] = []
    if "terminationGracePeriodSeconds" not in spec:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    volume_errors, volumes = validate_volumes(f"{path}.volumes", spec.get("volumes", ()))
    errors += volume_errors
    errors += _validate_resource_claims(f"{path}.resourceClaims", spec.get("resourceClaims", ()))
    errors += _validate_all_containers(path, spec, PodContext(spec, volumes, allow_privileged=allow_privileged))
    errors += validate_pod_resources(f"{path}.resources", spec)
    if spec.get("hostNetwork"):
        errors += _validate_host_network(path, spec, is_pod)
    errors += _validate_choice(f"{path}.restartPolicy", spec.get("restartPolicy"), ("Always", "OnFailure", "Never"))
    errors += _validate_choice(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    errors += validate_labels(f"{path}.nodeSelector", spec.get("nodeSelector"))
    errors += validate_pod_security_context(f"{path}.securityContext", spec)
    if "affinity" in spec:
        errors += validate_affinity(f"{path}.affinity", spec["affinity"])
    errors += _validate_dns_config(f"{path}.dnsConfig", spec)
    for index, gate in enumerate(spec.get("readinessGates", ())):
        condition = gate.get("conditionType", "")
        errors += each(f"{path}.readinessGates[{index}].conditionType", condition, is_qualified_name(condition))
    errors += validate_scheduling_gates(f"{path}.schedulingGates", spec.get("schedulingGates", ()))
    if spec.get("schedulingGroup") is not None:
        errors += validate_scheduling_group(f"{path}.schedulingGroup", spec["schedulingGroup"])
    errors += validate_topology_spread(f"{path}.topologySpreadConstraints", spec.get("topologySpreadConstraints", ()))
    if spec.get("hostUsers") is False:
        for key, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(key):
                errors.append(forbidden(f"{path}.{shown}", "when `pod.Spec.HostUsers` is false"))
    return errors + _validate_simple_fields(path, spec)


def _validate_all_containers(path: str, spec: Spec, pod: PodContext) -> list[Cause]:
    regular, init = spec.get("containers") or (), spec.get("initContainers", ())
    errors = validate_containers(f"{path}.containers", regular, pod)
    errors += validate_init_containers(f"{path}.initContainers", init, regular, pod)
    ephemeral = spec.get("ephemeralContainers", ())
    return errors + validate_ephemeral_containers(f"{path}.ephemeralContainers", ephemeral, [*regular, *init], pod)


def _validate_simple_fields(path: str, spec: Spec) -> list[Cause]:
    errors: list[Cause] = []
    for key in ("serviceAccountName", "nodeName"):
        if value := spec.get(key):
            errors += each(f"{path}.{key}", value, is_dns1123_subdomain(value))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        detail = f"must be between 1 and {MAX_INT32}, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, detail))
    if hostname := spec.get("hostname"):
        errors += each(f"{path}.hostname", hostname, is_dns1123_label(hostname))
    if subdomain := spec.get("subdomain"):
        errors += each(f"{path}.subdomain", subdomain, is_dns1123_label(subdomain))
    errors += validate_tolerations(f"{path}.tolerations", spec.get("tolerations", ()))
    for index, alias in enumerate(spec.get("hostAliases", ())):
        where = f"{path}.hostAliases[{index}]"
        errors += validate_ip(f"{where}.ip", alias.get("ip", ""))
        for number, name in enumerate(alias.get("hostnames", ())):
            errors += each(f"{where}.hostnames[{number}]", name, is_dns1123_subdomain(name))
    for key in ("priorityClassName", "runtimeClassName"):
        if value := spec.get(key):
            errors += each(f"{path}.{key}", value, is_dns1123_subdomain(value))
    if "preemptionPolicy" in spec:
        errors += _validate_choice(f"{path}.preemptionPolicy", spec["preemptionPolicy"], PREEMPTION_POLICIES)
    for name, amount in spec.get("overhead", {}).items():
        errors += validate_resource_name(f"{path}.overhead[{name}]", name)
        errors += validate_quantity_value(f"{path}.overhead[{name}]", name, amount)
    return errors + validate_operating_system(path, spec)


def _validate_choice(path: str, value: str | None, supported: Sequence[str]) -> list[Cause]:
    if value in supported:
        return []
    return [not_supported(path, value, supported)] if value else [required(path)]


def _validate_host_network(path: str, spec: Spec, is_pod: bool) -> list[Cause]:
    errors: list[Cause] = []
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports", ())):
            host_port = port.get("hostPort", 0)
            if (is_pod or host_port) and host_port != port.get("containerPort", 0):
                where = f"{path}.containers[{index}].ports[{number}].hostPort"
                errors.append(invalid(where, host_port, "must match `containerPort` when `hostNetwork` is true"))
    return errors


def _validate_dns_config(path: str, spec: Spec) -> list[Cause]:
    config = spec.get("dnsConfig")
    servers = config.get("nameservers", []) if config else []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not servers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", detail)]
    if config is None:
        return []
    errors: list[Cause] = []
    if len(servers) > 3:
        errors.append(invalid(f"{path}.nameservers", list(servers), "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        errors += validate_ip(f"{path}.nameservers[{index}]", server)
    searches = config.get("searches", [])
    if len(searches) > 32:
        errors.append(invalid(f"{path}.searches", list(searches), "must not have more than 32 search paths"))
    if len(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", list(searches), detail))
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        if search != "." and not _is_search_domain(name):
            errors += each(f"{path}.searches[{index}]", name, is_dns1123_subdomain(name))
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            errors.append(required(f"{path}.options[{index}]", "must not be empty"))
    return errors


def _validate_resource_claims(path: str, claims: Sequence[Mapping[str, Any]]) -> list[Cause]:
    errors: list[Cause] = []
    seen: list[str] = []
    for index, claim in enumerate(claims):
        where, name = f"{path}[{index}]", claim.get("name", "")
        if not name:
            errors.append(required(f"{where}.name"))
        elif name in seen:
            errors.append(duplicate(f"{where}.name", name))
        else:
            errors += each(f"{where}.name", name, is_dns1123_label(name))
        seen.append(name)
        sources = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if key in claim]
        if len(sources) > 1:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(where, GoStruct(claim), detail))
        if not sources:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid(where, GoStruct(claim), detail))
        for key in sources:
            errors += each(f"{where}.{key}", claim[key], is_dns1123_subdomain(claim[key]))
    return errors
