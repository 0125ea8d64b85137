"""Pods and Nodes boiled down to the integers the scheduler compares.

Upstream: pkg/scheduler/framework/types.go (Resource, PodInfo, NodeInfo, HostPortInfo),
pkg/scheduler/util/pod_resources.go (the defaults), pkg/scheduler/util/utils.go (GetHostPorts)
Simplified: totals do not wrap at 64 bits (2^63 bytes of memory are out of reach), resources claimed through DRA
are not counted, no PVC reference counts; pod-level resources count in every release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pod_requests import (
    PodResourcesOptions,
    is_pod_level_requests_set,
    is_restartable_init_container,
    pod_requests,
)
from k8slab.api.pods import DEFAULT_SCHEDULER_NAME, pod_priority
from k8slab.api.quantity import Quantity, quantity
from k8slab.scheduler.framework.affinity_terms import NO_AFFINITY, pod_affinity_terms

__all__ = [
    "NON_MISSING_REQUESTS",
    "HostPort",
    "HostPorts",
    "NodeInfo",
    "PodInfo",
    "Resource",
    "host_ports",
    "image_sizes",
    "is_extended_resource",
    "is_scalar_resource",
    "labels_of",
    "namespace_of",
    "placed_on",
    "pod_key",
    "scheduler_name",
    "uid_of",
]

DEFAULT_MILLI_CPU_REQUEST = 100
DEFAULT_MEMORY_REQUEST = 200 * 1024 * 1024
NON_MISSING_REQUESTS: Mapping[str, Quantity] = {
    "cpu": Quantity.parse("100m"),
    "memory": Quantity.parse(str(DEFAULT_MEMORY_REQUEST)),
}
"""What scoring takes a container to use that says nothing: otherwise all such Pods would pile onto one node."""

_ASSIGNED: PodResourcesOptions = {
    "use_status_resources": True,
    "in_place_pod_level_resources_vertical_scaling": True,
}
"""A Pod on a Node counts with what it was given until a resize has arrived."""

_BUILT_IN = frozenset(("cpu", "memory", "ephemeral-storage", "pods"))


def pod_key(pod: Object) -> str:
    """`namespace/name`; a manifest without namespace counts as in `default`."""
    return f"{namespace_of(pod)}/{pod['metadata']['name']}"


def uid_of(pod: Object) -> str:
    """The Pod's uid; manifests without one are known by their key."""
    return pod["metadata"].get("uid") or pod_key(pod)


def namespace_of(pod: Object) -> str:
    """A manifest without namespace counts as in `default`."""
    return pod["metadata"].get("namespace") or "default"


def scheduler_name(pod: Object) -> str:
    """The scheduler that the Pod is for; a manifest that names none is for the default one."""
    name: str = (pod.get("spec") or {}).get("schedulerName") or DEFAULT_SCHEDULER_NAME
    return name


def placed_on(pod: Object, node_name: str) -> Object:
    """The Pod as it will be once it is bound to the Node; the one given stays as it is."""
    return {**pod, "spec": {**pod["spec"], "nodeName": node_name}}


def labels_of(obj: Object | None) -> Mapping[str, str]:
    """The labels of any object; none where there is no object or no labels."""
    labels: Mapping[str, str] = (obj or {}).get("metadata", {}).get("labels") or {}
    return labels


def _is_prefixed_native(name: str) -> bool:
    return "kubernetes.io/" in name


def is_extended_resource(name: str) -> bool:
    """A vendor's resource such as `example.com/gpu`: qualified, not under kubernetes.io, not a quota name."""
    return "/" in name and not _is_prefixed_native(name) and not name.startswith("requests.")


def is_scalar_resource(name: str) -> bool:
    """Counted by name: extended resources, huge pages, attachable volumes, kubernetes.io ones."""
    if name in _BUILT_IN:
        return False
    prefixed = name.startswith(("hugepages-", "attachable-volumes-"))
    return prefixed or is_extended_resource(name) or _is_prefixed_native(name)


class Resource:
    """A vector of resources: CPU in milli, memory and storage in bytes, the rest by name."""

    __slots__ = ("allowed_pod_number", "ephemeral_storage", "memory", "milli_cpu", "scalar")

    def __init__(self, milli_cpu: int = 0, memory: int = 0, ephemeral_storage: int = 0) -> None:
        self.milli_cpu = milli_cpu
        self.memory = memory
        self.ephemeral_storage = ephemeral_storage
        self.allowed_pod_number = 0
        self.scalar: dict[str, int] = {}

    @classmethod
    def of(cls, amounts: Mapping[str, Quantity]) -> Resource:
        """From a resource list with parsed quantities."""
        found = cls()
        for name, amount in amounts.items():
            if name == "cpu":
                found.milli_cpu = amount.milli_value()
            elif name == "memory":
                found.memory = amount.value()
            elif name == "ephemeral-storage":
                found.ephemeral_storage = amount.value()
            elif name == "pods":
                found.allowed_pod_number = amount.value()
            elif is_scalar_resource(name):
                found.scalar[name] = amount.value()
        return found

    def get(self, name: str) -> int:
        """The amount of one resource, in its unit; 0 when absent."""
        if name == "cpu":
            return self.milli_cpu
        if name == "memory":
            return self.memory
        if name == "ephemeral-storage":
            return self.ephemeral_storage
        return self.scalar.get(name, 0)

    def add(self, other: Resource, sign: int = 1) -> None:
        """Add `other`, or subtract it with `sign` -1."""
        self.milli_cpu += sign * other.milli_cpu
        self.memory += sign * other.memory
        self.ephemeral_storage += sign * other.ephemeral_storage
        for name, amount in other.scalar.items():
            self.scalar[name] = self.scalar.get(name, 0) + sign * amount

    def clone(self) -> Resource:
        copy = Resource(self.milli_cpu, self.memory, self.ephemeral_storage)
        copy.allowed_pod_number = self.allowed_pod_number
        if self.scalar:
            copy.scalar = dict(self.scalar)
        return copy

    def as_dict(self) -> dict[str, int]:
        """All amounts that are not 0, for views and comparisons."""
        amounts = {"cpu": self.milli_cpu, "memory": self.memory, "ephemeral-storage": self.ephemeral_storage}
        return {name: amount for name, amount in {**amounts, **self.scalar}.items() if amount}


class HostPort(NamedTuple):
    """A port of the node's own address a Pod takes. `ip` 0.0.0.0 is every address."""

    ip: str
    protocol: str
    port: int


def host_ports(pod: Object) -> tuple[HostPort, ...]:
    """The host ports of the containers that stay: sidecars (restartable init containers) and containers."""
    spec = pod.get("spec") or {}
    sidecars = filter(is_restartable_init_container, spec.get("initContainers") or ())
    found = []
    for container in (*sidecars, *(spec.get("containers") or ())):
        for port in container.get("ports") or ():
            if (port.get("hostPort") or 0) > 0:
                found.append(HostPort(port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"]))
    return tuple(found)


class HostPorts:
    """The host ports in use on one node, with how many Pods use each."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[HostPort, int] = {}

    def __iter__(self) -> Iterator[HostPort]:
        return iter(self._counts)

    def __bool__(self) -> bool:
        return bool(self._counts)

    def conflicts(self, want: HostPort) -> bool:
        """Whether `want` is taken: the same port and protocol on the same address, or on all addresses."""
        return any(
            used.port == want.port
            and used.protocol == want.protocol
            and (want.ip == "0.0.0.0" or used.ip in ("0.0.0.0", want.ip))
            for used in self._counts
        )

    def add(self, ports: Iterable[HostPort]) -> None:
        for port in ports:
            self._counts[port] = self._counts.get(port, 0) + 1

    def remove(self, ports: Iterable[HostPort]) -> None:
        for port in ports:
            if self._counts.get(port, 0) <= 1:
                self._counts.pop(port, None)
            else:
                self._counts[port] -= 1

    def clone(self) -> HostPorts:
        copy = HostPorts()
        copy._counts = dict(self._counts)
        return copy


def image_sizes(node: Object) -> dict[str, int]:
    """The images on a Node (`status.images`): every name of each, and its size in bytes."""
    sizes: dict[str, int] = {}
    for image in (node.get("status") or {}).get("images") or ():
        sizes.update(dict.fromkeys(image.get("names") or (), image.get("sizeBytes") or 0))
    return sizes


class PodInfo:
    """A Pod with what every cycle asks of it worked out once.

    `requested`: what Filter counts. `non_zero_cpu`, `non_zero_memory`: the same with defaults for containers that
    ask for nothing, as the *neighbours* of an incoming Pod are scored. (The incoming Pod itself is scored by what
    the scoring plugin computes: NodeResourcesFit leaves its pod-level resources out.) `affinity`: its terms of Pod
    affinity and anti-affinity. `is_terminating`: it is being deleted.
    """

    __slots__ = (
        "affinity",
        "host_ports",
        "is_terminating",
        "key",
        "labels",
        "namespace",
        "non_zero_cpu",
        "non_zero_memory",
        "pod",
        "priority",
        "requested",
        "uid",
    )

    def __init__(self, pod: Object) -> None:
        self._see(pod)
        self.key = pod_key(pod)
        self.namespace: str = pod["metadata"].get("namespace") or "default"
        self.affinity = pod_affinity_terms(pod)
        self.uid = uid_of(pod)
        self.priority = pod_priority(pod)
        self.host_ports = host_ports(pod)
        requests = pod_requests(pod, **_ASSIGNED)
        self.requested = Resource.of(requests)
        missing = NON_MISSING_REQUESTS
        if is_pod_level_requests_set(pod):
            # Pod-level requests already speak for the silent containers, of the resources anybody named.
            missing = {name: amount for name, amount in NON_MISSING_REQUESTS.items() if name not in requests}
        non_zero = requests
        if missing:
            options: PodResourcesOptions = {**_ASSIGNED, "non_missing_container_requests": missing}
            non_zero = pod_requests(pod, **options)
        self.non_zero_cpu = non_zero["cpu"].milli_value() if "cpu" in non_zero else 0
        self.non_zero_memory = non_zero["memory"].value() if "memory" in non_zero else 0

    def _see(self, pod: Object) -> None:
        """What may change while the Pod asks for the same."""
        self.pod = pod
        self.labels: Mapping[str, str] = pod["metadata"].get("labels") or {}
        self.is_terminating = pod["metadata"].get("deletionTimestamp") is not None

    def with_pod(self, pod: Object) -> PodInfo:
        """The same numbers for another state of the same Pod whose spec asks for the same."""
        copy: PodInfo = PodInfo.__new__(PodInfo)
        for name in PodInfo.__slots__:
            setattr(copy, name, getattr(self, name))
        copy._see(pod)
        return copy

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


class NodeInfo:
    """A Node and the totals of the Pods on it, assumed ones included.

    Bump `generation` with every change (the cache does): snapshots and memos go by it. `node` None: Pods are
    known of a Node that was deleted, or has not been seen yet.
    """

    __slots__ = (
        "allocatable",
        "generation",
        "images",
        "labels",
        "name",
        "node",
        "non_zero_cpu",
        "non_zero_memory",
        "pods",
        "requested",
        "taints",
        "unschedulable",
        "used_ports",
        "with_affinity",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: Object | None = None
        self.labels: Mapping[str, str] = {}
        self.generation = 0
        self.allocatable = Resource()
        self.requested = Resource()
        self.non_zero_cpu = 0
        self.non_zero_memory = 0
        self.pods: dict[str, PodInfo] = {}
        self.with_affinity: dict[str, None] = {}
        """Keys of the Pods that have terms of Pod affinity or anti-affinity."""
        self.used_ports = HostPorts()
        self.images: Mapping[str, int] = {}
        self.taints: tuple[Mapping[str, Any], ...] = ()
        self.unschedulable = False

    @classmethod
    def of(cls, node: Object, pods: Iterable[Object] = ()) -> NodeInfo:
        """A Node with these Pods on it."""
        info = cls(node["metadata"]["name"])
        info.set_node(node)
        for pod in pods:
            info.add_pod(PodInfo(pod))
        return info

    def set_node(self, node: Object | None) -> None:
        """Take over a new state of the Node; None: it is gone."""
        self.node = node
        self.labels = (node or {}).get("metadata", {}).get("labels") or {}
        spec = (node or {}).get("spec") or {}
        amounts = ((node or {}).get("status") or {}).get("allocatable") or {}
        self.allocatable = Resource.of({name: quantity(text) for name, text in amounts.items()})
        self.images = image_sizes(node or {})
        self.taints = tuple(spec.get("taints") or ())
        self.unschedulable = bool(spec.get("unschedulable"))

    def add_pod(self, info: PodInfo) -> None:
        """Count a Pod. Counting one twice is a ValueError."""
        if info.key in self.pods:
            raise ValueError(f"node {self.name}: pod {info.key} is counted already")
        self.pods[info.key] = info
        self.requested.add(info.requested)
        self.non_zero_cpu += info.non_zero_cpu
        self.non_zero_memory += info.non_zero_memory
        if info.host_ports:
            self.used_ports.add(info.host_ports)
        if info.affinity is not NO_AFFINITY:
            self.with_affinity[info.key] = None

    def remove_pod(self, key: str) -> PodInfo:
        """No longer count a Pod. KeyError when it is not here."""
        info = self.pods.pop(key)
        self.requested.add(info.requested, -1)
        self.non_zero_cpu -= info.non_zero_cpu
        self.non_zero_memory -= info.non_zero_memory
        if info.host_ports:
            self.used_ports.remove(info.host_ports)
        self.with_affinity.pop(key, None)
        return info

    def clone(self) -> NodeInfo:
        """A copy that may be changed; PodInfos and the Node are shared, they never change."""
        copy: NodeInfo = NodeInfo.__new__(NodeInfo)
        copy.name, copy.node, copy.labels, copy.generation = self.name, self.node, self.labels, self.generation
        copy.allocatable = self.allocatable
        copy.requested = self.requested.clone()
        copy.non_zero_cpu, copy.non_zero_memory = self.non_zero_cpu, self.non_zero_memory
        copy.pods = dict(self.pods)
        copy.with_affinity = dict(self.with_affinity)
        copy.used_ports = self.used_ports.clone()
        copy.taints, copy.unschedulable, copy.images = self.taints, self.unschedulable, self.images
        return copy

    def check_invariants(self) -> None:
        """The totals are the sums over the Pods."""
        recount = NodeInfo(self.name)
        for info in self.pods.values():
            recount.add_pod(info)
        pairs: Mapping[str, Callable[[NodeInfo], Any]] = {
            "requested": lambda n: n.requested.as_dict(),
            "non_zero": lambda n: (n.non_zero_cpu, n.non_zero_memory),
            "used_ports": lambda n: dict(n.used_ports._counts),
            "with_affinity": lambda n: set(n.with_affinity),
        }
        for what, read in pairs.items():
            assert read(self) == read(recount), f"node {self.name}: {what} {read(self)}, the Pods say {read(recount)}"

    def __repr__(self) -> str:
        return f"NodeInfo({self.name}, {len(self.pods)} pods, generation {self.generation})"
