"""From an instance type to the Node that a machine of it becomes: for templates, simulations and what-ifs.

Upstream: cluster-autoscaler/cloudprovider/aws/aws_manager.go (buildNodeFromTemplate)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.autoscaling.cloud.instance_types import MIB, InstanceType

__all__ = ["node_object", "resource_texts"]


def resource_texts(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts as a Node's status writes them: `{"cpu": 1930, "memory": 7238320128}` is 1930m and a number of Ki."""
    texts = {}
    for name, amount in amounts.items():
        if name == "cpu":
            texts[name] = f"{amount}m" if amount % 1_000 else str(amount // 1_000)
        elif name == "memory":
            texts[name] = f"{amount // MIB}Mi" if amount % MIB == 0 else f"{amount // 1_024}Ki"
        else:
            texts[name] = str(amount)
    return texts


def node_object(
    name: str,
    instance_type: InstanceType,
    zone: str,
    *,
    region: str = "region-1",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, Any]] = (),
    provider_id: str = "",
) -> Object:
    """A Ready Node of this type. `labels` come on top of the well-known ones; nothing runs on it."""
    spec: dict[str, Any] = {"taints": [dict(taint) for taint in taints]} if taints else {}
    if provider_id:
        spec["providerID"] = provider_id
    all_labels = {**instance_type.labels(zone, region), "kubernetes.io/hostname": name, **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": all_labels},
        "spec": spec,
        "status": {
            "capacity": resource_texts(instance_type.capacity()),
            "allocatable": resource_texts(instance_type.allocatable()),
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }
