"""The signals that can lead to evictions, and how they are observed.

>>> from k8slab.kubelet.eviction import Summary, signal_observations
>>> node = Summary(memory_available=300, memory_working_set=700, max_pid=100, processes=91)
>>> for signal, seen in signal_observations(node).items():
...     print(signal, seen.available, "of", seen.capacity)
memory.available 300 of 1k
pid.available 9 of 100

Upstream: pkg/kubelet/eviction/api/types.go, pkg/kubelet/eviction/helpers.go (makeSignalObservations,
    signalToResource, signalToNodeCondition)
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from k8slab.api.quantity import BINARY_SI, DECIMAL_SI, Quantity
from k8slab.kubelet.eviction.stats import FsStats, Summary

__all__ = [
    "CONDITION_OF",
    "NODE_CONDITIONS",
    "RESOURCE_OF",
    "Observation",
    "Observations",
    "Signal",
    "signal_observations",
]


class Signal(StrEnum):
    """What thresholds are set for."""

    MEMORY_AVAILABLE = "memory.available"
    NODE_FS_AVAILABLE = "nodefs.available"
    NODE_FS_INODES_FREE = "nodefs.inodesFree"
    IMAGE_FS_AVAILABLE = "imagefs.available"
    IMAGE_FS_INODES_FREE = "imagefs.inodesFree"
    CONTAINER_FS_AVAILABLE = "containerfs.available"
    CONTAINER_FS_INODES_FREE = "containerfs.inodesFree"
    ALLOCATABLE_MEMORY_AVAILABLE = "allocatableMemory.available"
    PID_AVAILABLE = "pid.available"


NODE_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure")

_MEMORY = (Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE)
_BYTES = (Signal.NODE_FS_AVAILABLE, Signal.IMAGE_FS_AVAILABLE, Signal.CONTAINER_FS_AVAILABLE)
_INODES = (Signal.NODE_FS_INODES_FREE, Signal.IMAGE_FS_INODES_FREE, Signal.CONTAINER_FS_INODES_FREE)

RESOURCE_OF: dict[str, str] = {
    **dict.fromkeys(_MEMORY, "memory"),
    **dict.fromkeys(_BYTES, "ephemeral-storage"),
    **dict.fromkeys(_INODES, "inodes"),
    Signal.PID_AVAILABLE: "pids",
}
"""The resource that is short when a signal's threshold is met."""

CONDITION_OF: dict[str, str] = {
    **dict.fromkeys(_MEMORY, "MemoryPressure"),
    **dict.fromkeys((*_BYTES, *_INODES), "DiskPressure"),
    Signal.PID_AVAILABLE: "PIDPressure",
}
"""The condition of the Node that tells of it."""


class Observation(NamedTuple):
    """`time_ms`: when it was measured; None: not known."""

    available: Quantity
    capacity: Quantity
    time_ms: int | None = None


Observations = dict[str, Observation]


def _bytes(available: int, capacity: int, time_ms: int) -> Observation:
    return Observation(Quantity(available, 0, BINARY_SI), Quantity(capacity, 0, BINARY_SI), time_ms)


def _count(available: int, capacity: int, time_ms: int) -> Observation:
    return Observation(Quantity(available, 0, DECIMAL_SI), Quantity(capacity, 0, DECIMAL_SI), time_ms)


def signal_observations(summary: Summary) -> Observations:
    """What of `summary` the signals say; a signal whose numbers are not all there is left out."""
    seen: Observations = {}
    now = summary.time_ms
    for signal, available, used in (
        (Signal.MEMORY_AVAILABLE, summary.memory_available, summary.memory_working_set),
        (Signal.ALLOCATABLE_MEMORY_AVAILABLE, summary.pods_memory_available, summary.pods_memory_working_set),
    ):
        if available is not None and used is not None:
            seen[signal] = _bytes(available, available + used, now)
    disks = (summary.node_fs, summary.image_fs, summary.container_fs)
    for disk, space, inodes in zip(disks, _BYTES, _INODES, strict=True):
        _observe(seen, disk or FsStats(), space, inodes, now)
    if summary.max_pid is not None and summary.processes is not None:
        seen[Signal.PID_AVAILABLE] = _count(summary.max_pid - summary.processes, summary.max_pid, now)
    return seen


def _observe(seen: Observations, disk: FsStats, space: Signal, inodes: Signal, now: int) -> None:
    if disk.available_bytes is not None and disk.capacity_bytes is not None:
        seen[space] = _bytes(disk.available_bytes, disk.capacity_bytes, now)
    if disk.inodes_free is not None and disk.inodes is not None:
        seen[inodes] = _count(disk.inodes_free, disk.inodes, now)
