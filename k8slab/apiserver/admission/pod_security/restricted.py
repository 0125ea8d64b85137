"""The checks that the level `restricted` adds: what a Pod has to give up by name.

Upstream: pod-security-admission/policy/check_*.go
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.apiserver.admission.pod_security.baseline import has_proc_mount, valid_seccomp
from k8slab.apiserver.admission.pod_security.checks import (
    Check,
    Finding,
    Test,
    containers,
    count,
    in_user_namespace,
    is_windows,
    quoted,
    security,
    setters,
)

__all__ = ["RESTRICTED_CHECKS"]

_ALLOWED_VOLUMES = frozenset(
    (
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
        *("persistentVolumeClaim", "projected", "secret"),
    )
)
_OTHER_VOLUMES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd"),
    *("flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk"),
    *("photonPersistentDisk", "portworxVolume", "scaleIO", "storageos"),
)


def _names(found: list[str]) -> str:
    return f"{count('container', found)} {quoted(found)}"


def _name(container: Object) -> str:
    return str(container.get("name", ""))


def _spec(pod: Object) -> Object:
    return pod.get("spec") or {}


def _unless_windows(test: Test) -> Test:
    return lambda pod: None if is_windows(pod) else test(pod)


def _unless_in_user_namespace(test: Test) -> Test:
    return lambda pod: None if in_user_namespace(pod) else test(pod)


def _privilege_escalation(pod: Object) -> Finding | None:
    bad = [_name(c) for c in containers(pod) if security(c).get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    return Finding(
        "allowPrivilegeEscalation != false", f"{_names(bad)} must set securityContext.allowPrivilegeEscalation=false"
    )


def _capabilities(pod: Object) -> Finding | None:
    missing: list[str] = []
    adding: list[str] = []
    forbidden: set[str] = set()
    for container in containers(pod):
        capabilities = security(container).get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or ()):
            missing.append(_name(container))
        added = {name for name in capabilities.get("add") or () if name != "NET_BIND_SERVICE"}
        if added:
            adding.append(_name(container))
            forbidden |= added
    details = [f'{_names(missing)} must set securityContext.capabilities.drop=["ALL"]'] if missing else []
    if adding:
        details.append(
            f"{_names(adding)} must not include {quoted(sorted(forbidden))} in securityContext.capabilities.add"
        )
    return Finding("unrestricted capabilities", "; ".join(details)) if details else None


def _volumes(pod: Object) -> Finding | None:
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in _spec(pod).get("volumes") or ():
        if any(volume.get(kind) is not None for kind in _ALLOWED_VOLUMES):
            continue
        bad.append(_name(volume))
        kinds.add(next((kind for kind in _OTHER_VOLUMES if volume.get(kind) is not None), "unknown"))
    if not bad:
        return None
    return Finding(
        "restricted volume types",
        f"{count('volume', bad)} {quoted(bad)} {count('uses', bad, 'use')} "
        f"{count('restricted volume type', sorted(kinds))} {quoted(sorted(kinds))}",
    )


def _non_root(pod: Object) -> Finding | None:
    of_pod = security(_spec(pod)).get("runAsNonRoot")
    given = [(_name(container), security(container).get("runAsNonRoot")) for container in containers(pod)]
    explicit = [name for name, value in given if value is False]
    if explicit or of_pod is False:
        who = setters(of_pod is False, explicit)
        return Finding("runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false")
    implicit = [name for name, value in given if value is None and not of_pod]
    if not implicit:
        return None
    return Finding("runAsNonRoot != true", f"pod or {_names(implicit)} must set securityContext.runAsNonRoot=true")


def _user(pod: Object) -> Finding | None:
    of_pod = security(_spec(pod)).get("runAsUser") == 0
    bad = [_name(container) for container in containers(pod) if security(container).get("runAsUser") == 0]
    return Finding("runAsUser=0", f"{setters(of_pod, bad)} must not set runAsUser=0") if of_pod or bad else None


def _seccomp(pod: Object) -> Finding | None:
    def kind(part: Object) -> str | None:
        profile = security(part).get("seccompProfile")
        return None if profile is None else profile.get("type") or ""

    of_pod = kind(_spec(pod))
    given = [(_name(container), kind(container)) for container in containers(pod)]
    explicit = [name for name, value in given if value is not None and not valid_seccomp(value)]
    pod_is_bad = of_pod is not None and not valid_seccomp(of_pod)
    if explicit or pod_is_bad:
        kinds = [of_pod, *(value for _, value in given)]
        values = sorted({value for value in kinds if value is not None and not valid_seccomp(value)})
        who = setters(pod_is_bad, explicit)
        return Finding("seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {quoted(values)}")
    implicit = [name for name, value in given if value is None and of_pod is None]
    if not implicit:
        return None
    return Finding(
        "seccompProfile",
        f'pod or {_names(implicit)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"',
    )


RESTRICTED_CHECKS = (
    Check("allowPrivilegeEscalation", [(8, _privilege_escalation), (25, _unless_windows(_privilege_escalation))]),
    Check(
        "capabilities_restricted", [(22, _capabilities), (25, _unless_windows(_capabilities))], "capabilities_baseline"
    ),
    Check("procMount_restricted", [(35, has_proc_mount)], "procMount"),
    Check("restrictedVolumes", [(0, _volumes)], "hostPathVolumes"),
    Check("runAsNonRoot", [(0, _non_root), (35, _unless_in_user_namespace(_non_root))]),
    Check("runAsUser", [(23, _user), (35, _unless_in_user_namespace(_user))]),
    Check("seccompProfile_restricted", [(19, _seccomp), (25, _unless_windows(_seccomp))], "seccompProfile_baseline"),
)
"""By id, in the order of the answers; they come after those of the baseline."""
