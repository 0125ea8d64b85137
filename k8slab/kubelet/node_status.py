"""The Node object that a kubelet registers, and the conditions it reports.

Upstream: pkg/kubelet/kubelet_node_status.go, pkg/kubelet/nodestatus/setters.go
Simplified: no images, volumes or runtime handlers in the status; pressures are never reported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity
from k8slab.api.times import rfc3339
from k8slab.kubelet.config import NodeConfig

__all__ = ["new_node", "node_conditions", "node_resources"]

VERSION = "v1.36.2"

_NOT_YET = "container runtime status check may not have completed yet"
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def node_conditions(now_ms: int, before: Sequence[Object], *, ready: bool, message: str = "") -> list[dict[str, Any]]:
    """The conditions to report at `now_ms`; `before` (what is in the status) gives times of what did not change."""
    old = {c["type"]: c for c in before}
    rows = [(kind, "False", reason, text) for kind, reason, text in _PRESSURES]
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
    """(capacity, allocatable): allocatable is capacity less what is reserved for the system."""
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
    return capacity, allocatable


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
