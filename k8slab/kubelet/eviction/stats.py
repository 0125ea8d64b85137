"""What was measured on a node: the summary that eviction decisions rest on.

All amounts are whole numbers: bytes, inodes, processes. None: not measured.

Upstream: staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go
Simplified: the fields that eviction looks at. A Pod's statistics are found by its uid, or by namespace/name where a
manifest has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from k8slab.api.objects import Object

__all__ = ["ContainerStats", "FsStats", "PodStats", "StatsByPod", "Summary", "VolumeStats", "pod_id"]


@dataclass(frozen=True, slots=True)
class FsStats:
    """A file system, or the share of one that something uses."""

    used_bytes: int | None = None
    inodes_used: int | None = None
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerStats:
    """`memory`: working set. `rootfs`: the writable layer."""

    name: str
    memory: int | None = None
    rootfs: FsStats | None = None
    logs: FsStats | None = None


@dataclass(frozen=True, slots=True)
class VolumeStats:
    name: str
    fs: FsStats


@dataclass(frozen=True, slots=True)
class PodStats:
    """`memory`: working set of the Pod's cgroup. `ephemeral_storage`: bytes of its layers, logs and local volumes."""

    memory: int | None = None
    containers: tuple[ContainerStats, ...] = ()
    volumes: tuple[VolumeStats, ...] = ()
    ephemeral_storage: int | None = None
    processes: int | None = None


StatsByPod: TypeAlias = dict[str, PodStats]


@dataclass(frozen=True, slots=True)
class Summary:
    """A node at `time_ms`. `pods_memory_*`: of the cgroup that holds all Pods (node allocatable)."""

    time_ms: int = 0
    memory_available: int | None = None
    memory_working_set: int | None = None
    pods_memory_available: int | None = None
    pods_memory_working_set: int | None = None
    node_fs: FsStats | None = None
    image_fs: FsStats | None = None
    container_fs: FsStats | None = None
    max_pid: int | None = None
    processes: int | None = None
    pods: StatsByPod = field(default_factory=dict)


def pod_id(pod: Object) -> str:
    """The key of a Pod in `Summary.pods`."""
    metadata = pod["metadata"]
    return str(metadata.get("uid") or f"{metadata.get('namespace') or 'default'}/{metadata['name']}")
