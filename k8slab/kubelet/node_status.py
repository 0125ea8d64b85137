"""The Node object that a kubelet registers, and the conditions it reports.

Upstream: pkg/kubelet/kubelet_node_status.go, pkg/kubelet/nodestatus/setters.go
Simplified: no images, volumes or runtime handlers in the status.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.quantity import ZERO, Quantity
from k8slab.api.times import rfc3339
from k8slab.kubelet.config import NodeConfig
from k8slab.kubelet.eviction import EvictionConfig, Signal, threshold_quantity

__all__ = ["new_node", "node_conditions", "node_resources", "pressure_event"]

VERSION = "v1.36.2"

_NOT_YET = "container runtime status check may not have completed yet"
_PRESSURES = {
    "MemoryPressure": (
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ),
    "DiskPressure": (
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    ),
    "PIDPressure": (
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
    ),
}


def pressure_event(condition: str, *, present: bool) -> str:
    """The reason of the Event that tells of a pressure that came or went: NodeHasInsufficientMemory."""
    return _PRESSURES[condition][present][0].replace("Kubelet", "Node", 1)


def node_conditions(
    now_ms: int, before: Sequence[Object], *, ready: bool, message: str = "", pressures: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The conditions to report at `now_ms`; `before` (what is in the status) gives times of what did not change.
    `pressures`: the types of those that are True."""
    old = {c["type"]: c for c in before}
    rows = []
    for kind, words in _PRESSURES.items():
        reason, text = words[kind in pressures]
        rows.append((kind, "True" if kind in pressures else "False", reason, text))
    rows.append(
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status")
        if ready
        else (
            "Ready",
            "False",
            "KubeletNotReady",
            message or "container runtime status check may not have completed yet",
        )
    )
    now = rfc3339(now_ms)
    conditions = []
    for kind, status, reason, text in rows:
        last = old.pop(kind, None)
        since = last["lastTransitionTime"] if last is not None and last["status"] == status else now
        conditions.append(
            {
                "type": kind,
                "status": status,
                "lastHeartbeatTime": now,
                "lastTransitionTime": since,
                "reason": reason,
                "message": text,
            }
        )
    return conditions + [dict(c) for c in old.values()]


def node_resources(config: NodeConfig) -> tuple[dict[str, str], dict[str, str]]:
    """(capacity, allocatable): allocatable is capacity less what is reserved for the system, and less the hard eviction
    thresholds where the kubelet evicts."""
    capacity = {
        "cpu": config.cpu,
        "ephemeral-storage": config.ephemeral_storage,
        "memory": config.memory,
        "pods": config.pods,
        **config.extended,
    }
    allocatable = dict(capacity)
    for name, reserved in (("cpu", config.reserved_cpu), ("memory", config.reserved_memory)):
        allocatable[name] = str(Quantity.parse(capacity[name]) - Quantity.parse(reserved))
    if config.kubelet_config is not None:
        for name, kept in _hard_thresholds(config, capacity).items():
            left = Quantity.parse(allocatable[name]) - kept
            allocatable[name] = str(left if left.sign > 0 else ZERO)
    return capacity, allocatable


def _hard_thresholds(config: NodeConfig, capacity: Mapping[str, str]) -> dict[str, Quantity]:
    """What no Pod may be promised because the kubelet would evict it."""
    thresholds = EvictionConfig.from_dict(config.kubelet_config or {}).thresholds
    signals = {Signal.MEMORY_AVAILABLE: "memory", Signal.NODE_FS_AVAILABLE: "ephemeral-storage"}
    return {
        name: threshold_quantity(t.value, Quantity.parse(capacity[name]))
        for t in thresholds
        if t.is_hard and (name := signals.get(Signal(t.signal)))
    }


def new_node(config: NodeConfig, now_ms: int) -> dict[str, Any]:
    """The Node as the kubelet first sends it, not ready yet."""
    capacity, allocatable = node_resources(config)
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": config.name,
        "kubernetes.io/os": "linux",
        **config.labels,
    }
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": config.name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": node_conditions(now_ms, (), ready=False),
            "addresses": [
                {"type": "InternalIP", "address": config.internal_ip},
                {"type": "Hostname", "address": config.name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
                "kernelVersion": "",
                "osImage": "k8slab",
                "containerRuntimeVersion": "sim://1",
                "kubeletVersion": VERSION,
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }
    if config.provider_id:
        node["spec"]["providerID"] = config.provider_id
    if config.taints:
        node["spec"]["taints"] = [dict(taint) for taint in config.taints]
    return node
