"""What containers use: numbers from annotations, read as a kubelet's counters.

A Pod says what it uses by itself (`k8slab.dev/cpu-milli`, `k8slab.dev/memory-mi`; for one container
`k8slab.dev/<container>.cpu-milli`). A Service says what load arrives (`k8slab.dev/load-cpu-milli`): it is shared out
evenly over the ready Pods that the Service selects, on top. A value that is no whole number is ignored.

Upstream: none (programs at work). Spec: kubelet's /metrics/resource (counters of CPU time, working sets)
Simplified: load is for a Pod's first container; usage stops at the container's CPU limit; CPU between two readings is
what was used at the later one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.labels import selector_from_set
from k8slab.api.objects import Object
from k8slab.api.pods import is_pod_active, is_pod_ready
from k8slab.api.quantity import milli_value
from k8slab.api.scheme import PODS, SERVICES
from k8slab.autoscaling.hpa.metrics import ContainerPoint
from k8slab.cluster.mirror import Mirror
from k8slab.cluster.node import Machine
from k8slab.kubelet import Container, PodSandbox

__all__ = ["ContainerUsage"]

_PREFIX = "k8slab.dev/"
_MEBIBYTE = 1 << 20
Key = tuple[str, str, int]


class ContainerUsage:
    """The counters of all containers of all nodes; call it with the moment to read them."""

    def __init__(self, machines: Mapping[str, Machine], mirror: Mirror) -> None:
        self._machines = machines
        self._mirror = mirror
        self._counters: dict[Key, tuple[int, int]] = {}

    def __call__(self, now_ms: int) -> dict[str, dict[tuple[str, str], dict[str, ContainerPoint]]]:
        """Readings by node, Pod and container. Nodes whose kubelet is down do not answer."""
        shares = self.shares()
        counters: dict[Key, tuple[int, int]] = {}
        found: dict[str, dict[tuple[str, str], dict[str, ContainerPoint]]] = {}
        for name, machine in self._machines.items():
            if not (machine.is_on and machine.kubelet.is_alive):
                continue
            pods = found.setdefault(name, {})
            for sandbox in machine.runtime.sandboxes.values():
                namespace, _, pod = sandbox.key.partition("/")
                points = {
                    container.name: self._point(sandbox, container, shares.get(sandbox.key, 0), now_ms, counters)
                    for container in sandbox.containers
                    if container.is_up
                }
                if points:
                    pods[(namespace, pod)] = points
        self._counters = counters
        return found

    def shares(self) -> dict[str, int]:
        """Milli-cores of load that arrive at each Pod, by its key."""
        shares: dict[str, int] = {}
        for service in self._mirror.list(SERVICES.group_resource):
            load, selector = _integer(service, "load-cpu-milli"), service["spec"].get("selector")
            if load is None or not selector:
                continue
            matches = selector_from_set(selector).matches
            namespace = service["metadata"]["namespace"]
            ready = [
                pod["metadata"]["name"]
                for pod in self._mirror.list(PODS.group_resource, namespace)
                if matches(pod["metadata"].get("labels")) and is_pod_ready(pod) and is_pod_active(pod)
            ]
            for name in ready:
                key = f"{namespace}/{name}"
                shares[key] = shares.get(key, 0) + load // len(ready)
        return shares

    def _point(
        self, sandbox: PodSandbox, container: Container, share: int, now_ms: int, counters: dict[Key, tuple[int, int]]
    ) -> ContainerPoint:
        started = container.started_ms or 0
        key = (sandbox.uid, container.name, container.starts)
        at_ms, cpu_core_ns = self._counters.get(key, (started, 0))
        cpu_core_ns += _cpu_milli(sandbox, container, share) * (now_ms - at_ms) * 1000
        counters[key] = (now_ms, cpu_core_ns)
        memory = _number(sandbox.pod, container, "memory-mi") or 0
        return ContainerPoint(now_ms, started, cpu_core_ns, memory * _MEBIBYTE)


def _cpu_milli(sandbox: PodSandbox, container: Container, share: int) -> int:
    main = next((one for one in sandbox.containers if not one.is_init), None)
    used = (_number(sandbox.pod, container, "cpu-milli") or 0) + (share if container is main else 0)
    limit = ((container.spec.get("resources") or {}).get("limits") or {}).get("cpu")
    return used if limit is None else min(used, milli_value(limit))


def _number(pod: Object, container: Container, name: str) -> int | None:
    """What annotations say of one container; plain ones are for the Pod's main containers, each."""
    own = _integer(pod, f"{container.name}.{name}")
    return own if own is not None or container.is_init else _integer(pod, name)


def _integer(obj: Object, name: str) -> int | None:
    notes: Mapping[str, Any] = obj["metadata"].get("annotations") or {}
    text = notes.get(_PREFIX + name, "")
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 16 else None
