"""Whether a node takes a Pod that is bound to it. The scheduler has judged before; whoever sets nodeName has not.

>>> from k8slab.api.pod_requests import resource_list
>>> room = resource_list({"pods": "110", "cpu": "4"})
>>> admit({"spec": {"containers": [{"resources": {"requests": {"cpu": "5"}}}]}}, [], room)
Rejection(reason='OutOfcpu', message="Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000")

Upstream: pkg/kubelet/lifecycle/predicate.go, pkg/scheduler/framework/plugins/noderesources/fit.go
Simplified: resources only: node affinity, host ports, taints and the operating system are not looked at; a critical
Pod preempts nobody; a Pod counts with what it asked for when it was admitted, whatever a resize makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pod_requests import pod_requests
from k8slab.api.quantity import Quantity

__all__ = ["Rejection", "admit"]

_FIRST = ("cpu", "memory", "ephemeral-storage")


class Rejection(NamedTuple):
    """Why a Pod is refused: `status.reason`, and the message of the Event."""

    reason: str
    message: str


def admit(
    pod: Object, others: Sequence[Mapping[str, Quantity]], allocatable: Mapping[str, Quantity]
) -> Rejection | None:
    """None: `pod` fits. `others`: what each Pod that is active on the node asks for."""
    capacity = allocatable["pods"].value()
    if len(others) + 1 > capacity:
        return _rejection("pods", 1, len(others), capacity)
    requests = pod_requests(pod)
    for name in (*_FIRST, *(name for name in requests if name not in _FIRST)):
        if name not in requests or name not in allocatable:
            continue  # extended resources that the node does not know are the cluster's
        asked, room = _amount(name, requests[name]), _amount(name, allocatable[name])
        used = sum(_amount(name, other[name]) for other in others if name in other)
        if asked > 0 and asked > room - used:
            return _rejection(name, asked, used, room)
    return None


def _amount(name: str, quantity: Quantity) -> int:
    return quantity.milli_value() if name == "cpu" else quantity.value()


def _rejection(name: str, requested: int, used: int, capacity: int) -> Rejection:
    text = f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"
    return Rejection(f"OutOf{name}", text)
