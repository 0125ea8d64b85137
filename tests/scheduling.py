"""Nodes, Pods and plugins for the scheduler's tests, as short as the tests can read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import SUCCESS, CycleState, NodeInfo, Status

__all__ = ["Scripted", "claim", "csi_node", "node", "pod", "profile", "storage_class", "volume"]


def node(
    name: str,
    cpu: str = "4",
    memory: str = "8Gi",
    *,
    pods: str = "110",
    taints: Sequence[dict[str, str]] = (),
    labels: dict[str, str] | None = None,
    unschedulable: bool = False,
    images: dict[str, int] | None = None,
    **more: str,
) -> dict[str, Any]:
    """A Node. `images`: their sizes in bytes.

    `more`: other allocatable resources by name (`__` stands for `/`, `_` for `.`).
    """
    extra = {key.replace("__", "/").replace("_", "."): amount for key, amount in more.items()}
    spec: dict[str, Any] = {}
    if taints:
        spec["taints"] = list(taints)
    if unschedulable:
        spec["unschedulable"] = True
    status: dict[str, Any] = {"allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **extra}}
    if images:
        status["images"] = [{"names": [image], "sizeBytes": size} for image, size in images.items()]
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": status}


def pod(
    name: str = "web",
    cpu: str | None = "100m",
    memory: str | None = "100Mi",
    *,
    node_name: str = "",
    namespace: str = "default",
    host_port: int = 0,
    **spec: Any,
) -> dict[str, Any]:
    """A Pod with one container; `spec`: more of its spec, as in YAML."""
    requests = {key: amount for key, amount in (("cpu", cpu), ("memory", memory)) if amount is not None}
    container: dict[str, Any] = {"name": "c", "image": "app", "resources": {"requests": requests}}
    if host_port:
        container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    placed = {"nodeName": node_name} if node_name else {}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"},
        "spec": {"containers": [container], **placed, **spec},
    }


def claim(
    name: str,
    volume_name: str = "",
    *,
    storage_class: str = "",
    size: str = "1Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    phase: str = "",
    selected: str = "",
    **metadata: Any,
) -> dict[str, Any]:
    """A PersistentVolumeClaim; with `volume_name` a fully bound one. `selected`: the Node to provision it for."""
    spec: dict[str, Any] = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}}
    annotations = {"volume.kubernetes.io/selected-node": selected} if selected else {}
    if volume_name:
        spec["volumeName"] = volume_name
        annotations["pv.kubernetes.io/bind-completed"] = "yes"
    if storage_class:
        spec["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            **({"annotations": annotations} if annotations else {}),
            **metadata,
        },
        "spec": spec,
        "status": {"phase": phase or ("Bound" if volume_name else "Pending")},
    }


def volume(
    name: str,
    *,
    claim_ref: str = "",
    zones: Sequence[str] = (),
    storage_class: str = "",
    size: str = "10Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    csi: str = "",
    labels: dict[str, str] | None = None,
) -> dict[str, Any]:
    """A PersistentVolume. `claim_ref`: the claim it is bound to. `zones`: where it may be used. `csi`: its driver."""
    spec: dict[str, Any] = {"accessModes": list(modes), "capacity": {"storage": size}}
    if csi:
        spec["csi"] = {"driver": csi, "volumeHandle": f"handle-{name}"}
    else:
        spec["hostPath"] = {"path": f"/{name}"}
    if claim_ref:
        spec["claimRef"] = {"name": claim_ref, "namespace": "default", "uid": f"uid-{claim_ref}"}
    if storage_class:
        spec["storageClassName"] = storage_class
    if zones:
        rule = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": list(zones)}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    metadata: dict[str, Any] = {"name": name, **({"labels": labels} if labels else {})}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Bound" if claim_ref else "Available"},
    }


def storage_class(
    name: str, *, provisioner: str = "csi.example.com", mode: str = "WaitForFirstConsumer", **more: Any
) -> dict[str, Any]:
    """A StorageClass; unless told otherwise its claims wait for their first consumer."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def csi_node(name: str, limits: dict[str, int | None]) -> dict[str, Any]:
    """A CSINode. `limits`: by driver how many volumes it attaches (None: it does not say)."""
    drivers = [
        {"name": driver, "nodeID": name, **({} if count is None else {"allocatable": {"count": count}})}
        for driver, count in limits.items()
    ]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def profile(*plugins: str, args: dict[str, dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """A profile of just these plugins, PrioritySort and DefaultBinder."""
    names = [{"name": name} for name in dict.fromkeys(("PrioritySort", *plugins, "DefaultBinder"))]
    return {
        "plugins": {"multiPoint": {"enabled": names, "disabled": [{"name": "*"}]}},
        "pluginConfig": [{"name": name, "args": value} for name, value in (args or {}).items()],
        **more,
    }


class Scripted:
    """A plugin that says what its args tell it: `filter` {node: Status}, `score` {node: int}. Not node-local."""

    name = "Scripted"

    def __init__(self, args: Any, handle: Any) -> None:
        self.args = args
        self.handle = handle

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        verdict: Status = self.args.get("filter", {}).get(node.name, SUCCESS)
        return verdict

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        score: int = self.args.get("score", {}).get(node.name, 0)
        return score
