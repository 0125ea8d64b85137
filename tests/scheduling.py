"""Nodes, Pods and plugins for the scheduler's tests, as short as the tests can read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import SUCCESS, CycleState, NodeInfo, Status

__all__ = ["Scripted", "node", "pod", "profile"]


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
