"""Containers of all three kinds.

Upstream: pkg/apis/core/validation/validation.go (validateContainerCommon, validateContainers, ...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_label, is_valid_port_name, is_valid_port_num
from k8slab.api.validation.environment import validate_environment
from k8slab.api.validation.field import (
    duplicate,
    each,
    forbidden,
    invalid,
    not_found,
    not_supported,
    one_of,
    required,
    too_many,
)
from k8slab.api.validation.handlers import validate_lifecycle, validate_probes
from k8slab.api.validation.resources import validate_container_resources
from k8slab.api.validation.security import validate_security_context
from k8slab.api.validation.volumes import validate_volume_mounts

__all__ = [
    "PodContext",
    "validate_containers",
    "validate_ephemeral_containers",
    "validate_image_spaces",
    "validate_init_containers",
]

Container = Mapping[str, Any]
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_NOT_FOR_EPHEMERAL = ("ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy")
_MAX_RESTART_RULES = 20


class PodContext:
    """What the rules for containers must know of the Pod around them."""

    def __init__(self, spec: Mapping[str, Any], volumes: Mapping[str, Any], *, allow_privileged: bool) -> None:
        self.volumes = volumes
        self.grace_period: int | None = spec.get("terminationGracePeriodSeconds")
        self.restart_policy: str = spec.get("restartPolicy", "")
        self.uses_host_users: bool = spec.get("hostUsers") is not False
        self.claim_names = [claim.get("name", "") for claim in spec.get("resourceClaims", ())]
        self.allow_privileged = allow_privileged


def validate_containers(path: str, containers: Sequence[Container], pod: PodContext) -> list[Cause]:
    if not containers:
        return [required(path)]
    errors: list[Cause] = []
    names: list[str] = []
    for index, container in enumerate(containers):
        where, name = f"{path}[{index}]", container.get("name", "")
        errors += _validate_common(where, container, pod) + _validate_restart_policy(where, container)
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.append(name)
        errors += _validate_hooks(where, container, pod)
    return errors + _validate_host_port_conflicts(path, list(enumerate(containers)))


def validate_init_containers(
    path: str, containers: Sequence[Container], regular: Sequence[Container], pod: PodContext
) -> list[Cause]:
    errors: list[Cause] = []
    names = [container.get("name", "") for container in regular]
    for index, container in enumerate(containers):
        where, name = f"{path}[{index}]", container.get("name", "")
        errors += _validate_common(where, container, pod) + _validate_restart_policy(where, container)
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        elif name:
            names.append(name)
        errors += _validate_host_port_conflicts(path, [(0, container)])
        if container.get("restartPolicy") == "Always":
            errors += _validate_hooks(where, container, pod)
            continue
        detail = "may not be set for init containers without restartPolicy=Always"
        hooks = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
        errors += [forbidden(f"{where}.{key}", detail) for key in hooks if key in container]
    return errors


def validate_ephemeral_containers(
    path: str, containers: Sequence[Container], others: Sequence[Container], pod: PodContext
) -> list[Cause]:
    errors: list[Cause] = []
    other_names = [container.get("name", "") for container in others]
    names = list(other_names)
    for index, container in enumerate(containers):
        where, name = f"{path}[{index}]", container.get("name", "")
        errors += _validate_common(where, container, pod)
        errors += validate_image_spaces(where, container)
        if name in names:
            errors.append(duplicate(f"{where}.name", name))
        names.append(name)
        target = container.get("targetContainerName", "")
        if target and target not in other_names:
            errors.append(not_found(f"{where}.targetContainerName", target))
        keys = [key for key in _NOT_FOR_EPHEMERAL if key in container]
        keys += ["resources"] if container.get("resources") else []
        errors += [forbidden(f"{where}.{key}", "cannot be set for an Ephemeral Container") for key in keys]
    return errors


def validate_image_spaces(path: str, container: Container) -> list[Cause]:
    """Only in Pods: templates tolerate spaces around an image."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [invalid(f"{path}.image", image, "must not have leading or trailing whitespace")]


def _validate_hooks(path: str, container: Container, pod: PodContext) -> list[Cause]:
    errors: list[Cause] = []
    if "lifecycle" in container:
        errors += validate_lifecycle(f"{path}.lifecycle", container["lifecycle"], pod.grace_period)
    return errors + validate_probes(path, container, pod.grace_period)


def _validate_common(path: str, container: Container, pod: PodContext) -> list[Cause]:
    name = container.get("name", "")
    errors = each(f"{path}.name", name, is_dns1123_label(name)) if name else [required(f"{path}.name")]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy", "")
    errors += one_of(f"{path}.terminationMessagePolicy", policy, ("File", "FallbackToLogsOnError"))
    errors += _validate_ports(f"{path}.ports", container.get("ports", ()))
    errors += validate_environment(path, container)
    errors += validate_volume_mounts(path, container, pod.volumes)
    errors += one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy", ""), _PULL_POLICIES)
    errors += validate_container_resources(f"{path}.resources", container.get("resources", {}), pod.claim_names)
    errors += _validate_resize_policy(f"{path}.resizePolicy", container.get("resizePolicy", ()), pod.restart_policy)
    return errors + validate_security_context(
        f"{path}.securityContext",
        container.get("securityContext"),
        uses_host_users=pod.uses_host_users,
        allow_privileged=pod.allow_privileged,
    )


def _validate_ports(path: str, ports: Sequence[Mapping[str, Any]]) -> list[Cause]:
    errors: list[Cause] = []
    names: list[str] = []
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        if name := port.get("name", ""):
            if messages := is_valid_port_name(name):
                errors += each(f"{where}.name", name, messages)
            elif name in names:
                errors.append(duplicate(f"{where}.name", name))
            else:
                names.append(name)
        if number := port.get("containerPort", 0):
            errors += each(f"{where}.containerPort", number, is_valid_port_num(number))
        else:
            errors.append(required(f"{where}.containerPort"))
        if number := port.get("hostPort", 0):
            errors += each(f"{where}.hostPort", number, is_valid_port_num(number))
        errors += one_of(f"{where}.protocol", port.get("protocol", ""), _PROTOCOLS)
    return errors


def _validate_host_port_conflicts(path: str, containers: Sequence[tuple[int, Container]]) -> list[Cause]:
    errors: list[Cause] = []
    seen: list[str] = []
    for number, container in containers:
        for index, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in seen:
                errors.append(duplicate(f"{path}[{number}].ports[{index}].hostPort", key))
            seen.append(key)
    return errors


def _validate_resize_policy(path: str, policies: Sequence[Mapping[str, Any]], restart_policy: str) -> list[Cause]:
    errors: list[Cause] = []
    seen: list[str] = []
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(duplicate(f"{path}[{index}]", resource))
        seen.append(resource)
        errors += one_of(path, resource, ("cpu", "memory"))
        errors += one_of(path, restart, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and restart != "NotRequired":
            errors.append(invalid(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'"))
    return errors


def _validate_restart_policy(path: str, container: Container) -> list[Cause]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    where = f"{path}.restartPolicy"
    if policy is None:
        return [required(where, "must specify restartPolicy when restart rules are used")] if rules else []
    if policy not in ("Always", "Never", "OnFailure"):
        return [not_supported(where, policy, ("Always", "Never", "OnFailure"))]
    if len(rules) > _MAX_RESTART_RULES:
        return [too_many(f"{path}.restartPolicyRules", len(rules), _MAX_RESTART_RULES)]
    return []
