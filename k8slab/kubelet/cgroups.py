"""What the kubelet writes into the cgroups of Pods: CPU shares and quotas, memory limits.

>>> from k8slab.kubelet.cgroups import cpu_shares_to_weight, milli_cpu_to_quota, milli_cpu_to_shares
>>> milli_cpu_to_shares(250), milli_cpu_to_quota(250), cpu_shares_to_weight(256)
(256, 25000, 35)

Upstream: pkg/kubelet/cm/helpers_linux.go (ResourceConfigForPod), opencontainers/cgroups utils.go (cpu.weight)
Simplified: no memory QoS (alpha), no huge pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from k8slab.api.objects import Object
from k8slab.api.pod_requests import (
    ResourceList,
    add_resources,
    is_pod_level_resources_set,
    is_restartable_init_container,
    pod_limits,
    pod_requests,
    resource_list,
)
from k8slab.api.qos import BURSTABLE, GUARANTEED, qos_class

__all__ = [
    "CGROUP_V1_REFUSED",
    "CgroupVersionError",
    "PodCgroup",
    "check_cgroup_version",
    "cpu_shares_to_weight",
    "memory_limit_file",
    "milli_cpu_to_quota",
    "milli_cpu_to_shares",
    "pod_cgroup",
]

MIN_SHARES, MAX_SHARES, SHARES_PER_CPU = 2, 262_144, 1024
QUOTA_PERIOD_US, MIN_QUOTA_US = 100_000, 1_000
CGROUP_V1_REFUSED = (
    "kubelet is configured to not run on a host using cgroup v1. "
    "cgroup v1 support is unsupported and will be removed in a future release"
)


class CgroupVersionError(RuntimeError):
    """The kubelet does not start on this host."""


def check_cgroup_version(version: int, *, fail_cgroup_v1: bool = True) -> None:
    """CgroupVersionError on a host with cgroup v1, unless failCgroupV1 is false (true by default since 1.35)."""
    if version not in (1, 2):
        raise ValueError(f"cgroup_version {version!r}: expected 1 or 2")
    if version == 1 and fail_cgroup_v1:
        raise CgroupVersionError(CGROUP_V1_REFUSED)


def memory_limit_file(version: int) -> str:
    """The file that holds a memory limit, seen from inside a container."""
    return "/sys/fs/cgroup/memory.max" if version == 2 else "/sys/fs/cgroup/memory/memory.limit_in_bytes"


def milli_cpu_to_shares(milli_cpu: int) -> int:
    """cgroup v1 cpu.shares for a CPU request; between 2 and 262144."""
    return min(max(milli_cpu * SHARES_PER_CPU // 1000, MIN_SHARES), MAX_SHARES)


def milli_cpu_to_quota(milli_cpu: int, period_us: int = QUOTA_PERIOD_US) -> int:
    """Microseconds of CPU in every period for a CPU limit; 0: no limit, else at least 1000."""
    return 0 if milli_cpu == 0 else max(milli_cpu * period_us // 1000, MIN_QUOTA_US)


def cpu_shares_to_weight(shares: int) -> int:
    """cgroup v2 cpu.weight: a curve through (2, 1), (1024, 100) and (262144, 10000); 0 stays "not set"."""
    if shares == 0:
        return 0
    if shares <= MIN_SHARES:
        return 1
    if shares >= MAX_SHARES:
        return 10_000
    log = math.log2(shares)
    return math.ceil(10 ** ((log * log + 125 * log) / 612.0 - 7.0 / 34.0))


@dataclass(frozen=True, slots=True)
class PodCgroup:
    """The cgroup of a whole Pod. `cpu_quota` in microseconds per 100 ms, `memory` in bytes; None: not set."""

    cpu_shares: int
    cpu_quota: int | None = None
    memory: int | None = None


def _effective_limits(pod: Object) -> Iterator[ResourceList]:
    """The limits by which each container is judged: an init container's beside those of the sidecars before it."""
    spec = pod.get("spec") or {}
    for container in spec.get("containers") or ():
        yield resource_list((container.get("resources") or {}).get("limits"))
    sidecars: ResourceList = {}
    for container in spec.get("initContainers") or ():
        limits = resource_list((container.get("resources") or {}).get("limits"))
        if is_restartable_init_container(container):
            add_resources(sidecars, limits)
            yield dict(sidecars)
        else:
            add_resources(limits, sidecars)
            yield limits


def _is_declared(pod: Object, name: str) -> bool:
    """Every container has a limit for it, or the Pod as a whole."""
    at_pod_level: Mapping[str, str] = ((pod.get("spec") or {}).get("resources") or {}).get("limits") or {}
    limit = resource_list(at_pod_level).get(name)
    if is_pod_level_resources_set(pod) and limit is not None and not limit.is_zero:
        return True
    return all(name in limits and not limits[name].is_zero for limits in _effective_limits(pod))


def pod_cgroup(pod: Object) -> PodCgroup:
    """What the kubelet sets for the Pod's own cgroup, with CPU limits enforced."""
    requests, limits, qos = pod_requests(pod), pod_limits(pod), qos_class(pod)
    if qos not in (GUARANTEED, BURSTABLE):
        return PodCgroup(MIN_SHARES)
    shares = milli_cpu_to_shares(requests["cpu"].milli_value() if "cpu" in requests else 0)
    quota = milli_cpu_to_quota(limits["cpu"].milli_value() if "cpu" in limits else 0)
    memory = limits["memory"].value() if "memory" in limits else 0
    everywhere = qos == GUARANTEED
    return PodCgroup(
        shares,
        quota if everywhere or _is_declared(pod, "cpu") else None,
        memory if everywhere or _is_declared(pod, "memory") else None,
    )
