"""The checks of the level `baseline`: what gives a Pod power over its node.

Upstream: pod-security-admission/policy/check_*.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.apiserver.admission.pod_security.checks import (
    Check,
    Finding,
    containers,
    count,
    in_user_namespace,
    quoted,
    security,
    setters,
)

__all__ = ["BASELINE_CHECKS", "has_proc_mount", "valid_seccomp"]

_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
_SELINUX_0 = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))
_SELINUX_31 = _SELINUX_0 | {"container_engine_t"}
_SYSCTLS_0 = frozenset(
    (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
        *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    )
)
_SYSCTLS_27 = _SYSCTLS_0 | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29 = _SYSCTLS_27 | {
    f"net.ipv4.tcp_{name}" for name in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")
}
_SYSCTLS_32 = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def _spec(pod: Object) -> Object:
    return pod.get("spec") or {}


def _annotations(pod: Object) -> Object:
    return (pod.get("metadata") or {}).get("annotations") or {}


def _bad(pod: Object, is_bad: Callable[[Object], Any]) -> list[str]:
    """The names of the containers of which it is true."""
    return [container.get("name", "") for container in containers(pod) if is_bad(container)]


def _app_armor(pod: Object) -> Finding | None:
    def profile(part: Object) -> str | None:
        found = security(part).get("appArmorProfile")
        kind = None if found is None else found.get("type") or ""
        return None if kind in ("RuntimeDefault", "Localhost") else kind

    of_pod = profile(_spec(pod))
    names = _bad(pod, lambda container: profile(container) is not None)
    kinds = [profile(_spec(pod)), *map(profile, containers(pod))]
    values = sorted({kind for kind in kinds if kind is not None})
    annotated = sorted(
        f"{key}={go_quote(value)}"
        for key, value in _annotations(pod).items()
        if key.startswith(_APPARMOR) and value and value != "runtime/default" and not value.startswith("localhost/")
    )
    who = [setters(of_pod is not None, names)] if of_pod is not None or names else []
    if annotated:
        values += annotated
        who.append(count("annotation", annotated))
    if not who:
        return None
    detail = f"{' and '.join(who)} must not set AppArmor profile type to {quoted(values)}"
    return Finding(count("forbidden AppArmor profile", values), detail)


def _capabilities(pod: Object) -> Finding | None:
    def added(container: Object) -> list[str]:
        return [c for c in (security(container).get("capabilities") or {}).get("add") or () if c not in _CAPABILITIES]

    names = _bad(pod, added)
    if not names:
        return None
    values = sorted({name for container in containers(pod) for name in added(container)})
    where = f"{count('container', names)} {quoted(names)}"
    return Finding(
        "non-default capabilities", f"{where} must not include {quoted(values)} in securityContext.capabilities.add"
    )


def _host_namespaces(pod: Object) -> Finding | None:
    found = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if _spec(pod).get(name)]
    return Finding("host namespaces", ", ".join(found)) if found else None


def _host_path(pod: Object) -> Finding | None:
    names = [v.get("name", "") for v in _spec(pod).get("volumes") or () if v.get("hostPath") is not None]
    return Finding("hostPath volumes", f"{count('volume', names)} {quoted(names)}") if names else None


def _host_ports(pod: Object) -> Finding | None:
    def ports(container: Object) -> list[str]:
        return [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")]

    names = _bad(pod, ports)
    if not names:
        return None
    values = sorted({port for container in containers(pod) for port in ports(container)})
    return Finding(
        "hostPort",
        f"{count('container', names)} {quoted(names)} {count('uses', names, 'use')} "
        f"{count('hostPort', values)} {', '.join(values)}",
    )


def _probe_hosts(pod: Object) -> Finding | None:
    def hosts(container: Object) -> Iterator[str]:
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(f"{probe}Probe") for probe in ("liveness", "readiness", "startup")]
        for handler in (*handlers, lifecycle.get("postStart"), lifecycle.get("preStop")):
            for kind in ("httpGet", "tcpSocket"):
                host = ((handler or {}).get(kind) or {}).get("host")
                if host:
                    yield host

    names = sorted(set(_bad(pod, lambda container: any(hosts(container)))))
    if not names:
        return None
    values = sorted({host for container in containers(pod) for host in hosts(container)})
    return Finding(
        "probe or lifecycle host",
        f"{count('container', names)} {quoted(names)} {count('uses', names, 'use')} "
        f"{count('probe or lifecycle host', values)} {quoted(values)}",
    )


def _privileged(pod: Object) -> Finding | None:
    names = _bad(pod, lambda container: security(container).get("privileged"))
    where = f"{count('container', names)} {quoted(names)}"
    return Finding("privileged", f"{where} must not set securityContext.privileged=true") if names else None


def has_proc_mount(pod: Object) -> Finding | None:
    def mount(container: Object) -> str | None:
        kind = security(container).get("procMount")
        return None if kind == "Default" else kind

    names = _bad(pod, lambda container: mount(container) is not None)
    if not names:
        return None
    values = sorted({kind for kind in map(mount, containers(pod)) if kind is not None})
    where = f"{count('container', names)} {quoted(names)}"
    return Finding("procMount", f"{where} must not set securityContext.procMount to {quoted(values)}")


def _proc_mount_35(pod: Object) -> Finding | None:
    return None if in_user_namespace(pod) else has_proc_mount(pod)


def _selinux(allowed: frozenset[str], pod: Object) -> Finding | None:
    def options(part: Object) -> Object:
        return security(part).get("seLinuxOptions") or {}

    def is_bad(part: Object) -> bool:
        given = options(part)
        return (given.get("type") or "") not in allowed or bool(given.get("user") or given.get("role"))

    names = _bad(pod, is_bad)
    of_pod = is_bad(_spec(pod))
    if not (names or of_pod):
        return None
    given = [options(part) for part in (_spec(pod), *containers(pod))]
    types = sorted({one.get("type") or "" for one in given} - allowed)
    data = [f"{count('type', types)} {quoted(types)}"] if types else []
    data += [f"{part} may not be set" for part in ("user", "role") if any(one.get(part) for one in given)]
    who = setters(of_pod, names)
    return Finding("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")


def valid_seccomp(kind: str) -> bool:
    return kind in ("RuntimeDefault", "Localhost")


def _seccomp_0(pod: Object) -> Finding | None:
    """Up to 1.18 there were only annotations."""
    keys = [_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{container.get('name', '')}" for container in containers(pod))]
    found = _annotations(pod)
    bad = {
        f"{key}={go_quote(found[key])}"
        for key in keys
        if key in found
        and found[key] not in ("runtime/default", "docker/default")
        and not found[key].startswith("localhost/")
    }
    return (
        Finding("seccompProfile", f"forbidden {count('annotation', list(bad))} {', '.join(sorted(bad))}")
        if bad
        else None
    )


def _seccomp_19(pod: Object) -> Finding | None:
    def kind(part: Object) -> str | None:
        found = security(part).get("seccompProfile")
        given = None if found is None else found.get("type") or ""
        return None if given is None or valid_seccomp(given) else given

    of_pod = kind(_spec(pod))
    names = _bad(pod, lambda container: kind(container) is not None)
    if of_pod is None and not names:
        return None
    values = sorted({one for one in (of_pod, *map(kind, containers(pod))) if one is not None})
    who = setters(of_pod is not None, names)
    return Finding("seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {quoted(values)}")


def _sysctls(allowed: frozenset[str], pod: Object) -> Finding | None:
    bad = [one.get("name", "") for one in security(_spec(pod)).get("sysctls") or () if one.get("name") not in allowed]
    return Finding("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(pod: Object) -> Finding | None:
    def is_set(part: Object) -> bool:
        return bool((security(part).get("windowsOptions") or {}).get("hostProcess"))

    names, of_pod = _bad(pod, is_set), is_set(_spec(pod))
    if not (names or of_pod):
        return None
    return Finding(
        "hostProcess", f"{setters(of_pod, names)} must not set securityContext.windowsOptions.hostProcess=true"
    )


BASELINE_CHECKS = (
    Check("appArmorProfile", [(0, _app_armor)]),
    Check("capabilities_baseline", [(0, _capabilities)]),
    Check("hostNamespaces", [(0, _host_namespaces)]),
    Check("hostPathVolumes", [(0, _host_path)]),
    Check("hostPorts", [(0, _host_ports)]),
    Check("hostProbesAndHostLifecycle", [(34, _probe_hosts)]),
    Check("privileged", [(0, _privileged)]),
    Check("procMount", [(0, has_proc_mount), (35, _proc_mount_35)]),
    Check("seLinuxOptions", [(0, partial(_selinux, _SELINUX_0)), (31, partial(_selinux, _SELINUX_31))]),
    Check("seccompProfile_baseline", [(0, _seccomp_0), (19, _seccomp_19)]),
    Check(
        "sysctls",
        [
            (0, partial(_sysctls, _SYSCTLS_0)),
            (27, partial(_sysctls, _SYSCTLS_27)),
            (29, partial(_sysctls, _SYSCTLS_29)),
            (32, partial(_sysctls, _SYSCTLS_32)),
        ],
    ),
    Check("windowsHostProcess", [(0, _host_process)]),
)
"""By id, in the order of the answers."""
