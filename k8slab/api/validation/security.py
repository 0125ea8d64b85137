"""Security contexts of Pods and containers, and what the operating system forbids.

Upstream: pkg/apis/core/validation/validation.go (ValidateSecurityContext, validateWindows, ...)
Simplified: options of Windows containers (gmsa, runAsUserName) are not looked into.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.validation.field import GoStruct, duplicate, forbidden, invalid, not_supported, required, too_long
from k8slab.api.validation.numbers import validate_id
from k8slab.api.validation.volumes import validate_local_path

__all__ = ["validate_operating_system", "validate_pod_security_context", "validate_security_context"]

_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_is_sysctl = re.compile(_SYSCTL).match
_SECCOMP_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
Context = Mapping[str, Any]


def validate_security_context(
    path: str, context: Context | None, *, uses_host_users: bool = True, allow_privileged: bool = True
) -> list[Cause]:
    """A container's; `allow_privileged`: the API server's flag."""
    if context is None:
        return []
    errors: list[Cause] = []
    if context.get("privileged") and not allow_privileged:
        errors.append(forbidden(f"{path}.privileged", "disallowed by cluster policy"))
    errors += validate_id(f"{path}.runAsUser", context.get("runAsUser"))
    errors += validate_id(f"{path}.runAsGroup", context.get("runAsGroup"))
    errors += _validate_proc_mount(f"{path}.procMount", context.get("procMount"), uses_host_users)
    errors += _validate_seccomp(f"{path}.seccompProfile", context.get("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.append(invalid(path, GoStruct(context), detail))
        if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid(path, GoStruct(context), detail))
    return errors + _validate_app_armor(f"{path}.appArmorProfile", context.get("appArmorProfile"))


def _validate_proc_mount(path: str, value: str | None, uses_host_users: bool) -> list[Cause]:
    if value is None:
        return []
    errors: list[Cause] = []
    if value not in ("Default", "Unmasked"):
        errors.append(not_supported(path, value, ("Default", "Unmasked")))
    if uses_host_users and value == "Unmasked":
        errors.append(invalid(path, value, "`hostUsers` must be false to use `Unmasked`"))
    return errors


def validate_pod_security_context(path: str, spec: Context) -> list[Cause]:
    context = spec.get("securityContext")
    if context is None:
        return []
    errors: list[Cause] = []
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        errors += validate_id(f"{path}.{key}", context.get(key))
    for index, group in enumerate(context.get("supplementalGroups", ())):
        errors += validate_id(f"{path}.supplementalGroups[{index}]", group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, detail))
    errors += _validate_sysctls(f"{path}.sysctls", context.get("sysctls", ()))
    for key, supported in (("fsGroupChangePolicy", ("Always", "OnRootMismatch")),):
        if key in context and context[key] not in supported:
            errors.append(not_supported(f"{path}.{key}", context[key], supported))
    errors += _validate_seccomp(f"{path}.seccompProfile", context.get("seccompProfile"))
    errors += _validate_app_armor(f"{path}.appArmorProfile", context.get("appArmorProfile"))
    for key, supported in (
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    ):
        if key in context and context[key] not in supported:
            errors.append(not_supported(f"{path}.{key}", context[key], supported))
    return errors


def _validate_sysctls(path: str, sysctls: Any) -> list[Cause]:
    errors: list[Cause] = []
    seen: list[str] = []
    for index, sysctl in enumerate(sysctls):
        where, name = f"{path}[{index}].name", sysctl.get("name", "")
        if not name:
            errors.append(required(where))
        elif len(name) > 253 or not _is_sysctl(name):
            errors.append(invalid(where, name, f"must have at most 253 characters and match regex {_SYSCTL}"))
        elif name in seen:
            errors.append(duplicate(where, name))
        seen.append(name)
    return errors


def _validate_seccomp(path: str, profile: Context | None) -> list[Cause]:
    if profile is None:
        return []
    errors: list[Cause] = []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _SECCOMP_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _SECCOMP_TYPES))
    if kind == "Localhost":
        if local is None:
            errors.append(required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost"))
        else:
            errors += validate_local_path(f"{path}.localhostProfile", local)
    elif local is not None:
        detail = "can only be set when seccomp type is Localhost"
        errors.append(invalid(f"{path}.localhostProfile", GoStruct(profile), detail))
    return errors


def _validate_app_armor(path: str, profile: Context | None) -> list[Cause]:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if kind == "Localhost":
        if local is None or not local.strip():
            return [required(where, "must be set when AppArmor type is Localhost")]
        errors = [] if local == local.strip() else [invalid(where, local, "must not be padded with whitespace")]
        return errors + ([too_long(where, 4095)] if len(local.encode()) > 4095 else [])
    if kind in ("RuntimeDefault", "Unconfined"):
        return [] if local is None else [invalid(where, local, "can only be set when AppArmor type is Localhost")]
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    return [not_supported(f"{path}.type", kind, _SECCOMP_TYPES)]


_POD_CONTEXT_FOR_LINUX = (
    *("appArmorProfile", "seLinuxOptions"),
    *("hostUsers", "hostPID", "hostIPC"),
    *("seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"),
    "shareProcessNamespace",
    *("runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_OF_SPEC = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_CONTAINER_CONTEXT_FOR_LINUX = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem"),
    *("privileged", "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def _containers(path: str, spec: Context) -> Iterator[tuple[str, Context]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind, ())):
            yield f"{path}.{kind}[{index}].securityContext", container.get("securityContext", {})


def validate_operating_system(path: str, spec: Context) -> list[Cause]:
    """`spec.os`, and the fields that the other system has."""
    if "os" not in spec:
        return []
    name = spec["os"].get("name", "")
    if not name:
        return [required(f"{path}.os.name", "cannot be empty")]
    if name not in ("linux", "windows"):
        return [not_supported(f"{path}.os", name, ("linux", "windows"))]
    contexts = [(f"{path}.securityContext", spec.get("securityContext", {})), *_containers(path, spec)]
    if name == "linux":
        detail = "windows options cannot be set for a linux pod"
        return [forbidden(f"{where}.windowsOptions", detail) for where, c in contexts if "windowsOptions" in c]
    errors: list[Cause] = []
    for key in _POD_CONTEXT_FOR_LINUX:
        holder, where = (
            (spec, path) if key in _OF_SPEC else (spec.get("securityContext", {}), f"{path}.securityContext")
        )
        if key in holder:
            errors.append(forbidden(f"{where}.{key}", "cannot be set for a windows pod"))
    for where, context in contexts[1:]:
        keys = [key for key in _CONTAINER_CONTEXT_FOR_LINUX if key in context]
        errors += [forbidden(f"{where}.{key}", "cannot be set for a windows pod") for key in keys]
    return errors
