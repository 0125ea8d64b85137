"""Instance types as data: what a machine offers, where it is sold, and for how much.

Upstream: kubernetes-sigs/karpenter pkg/cloudprovider/types.go (InstanceType, Offering); the labels: k8s.io/api/core/v1
well_known_labels.go. What a node keeps for itself: the formulas that EKS and its node images publish.
Simplified: one operating system (linux); the price of an offering does not move with time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["GIB", "MIB", "ON_DEMAND", "QUOTAS", "SPOT", "InstanceType", "Offering", "Pool", "check_instance_types"]

MIB = 1024 * 1024
GIB = 1024 * MIB

ON_DEMAND = "on-demand"
SPOT = "spot"
_EVICTION_THRESHOLD = 100 * MIB
_CPU_STEPS = ((1_000, 60), (1_000, 10), (2_000, 5))  # (so many milli-CPU, per mille of them that are reserved)
_CPU_REST_PER_10_000 = 25
_STANDARD = "standard"
_OWN_QUOTAS = ("g", "p", "x", "u")

QUOTAS = tuple(f"{name}/{kind}" for name in (_STANDARD, *_OWN_QUOTAS) for kind in (ON_DEMAND, SPOT))
"""What an account may be limited in: CPUs of a family of types, bought in one way."""


@dataclass(frozen=True, slots=True, order=True)
class Pool:
    """Where capacity is bought: a type in a zone, for good (`on-demand`) or until it is taken back (`spot`)."""

    instance_type: str
    zone: str
    capacity_type: str

    def __str__(self) -> str:
        return f"{self.instance_type}/{self.zone}/{self.capacity_type}"


@dataclass(frozen=True, slots=True)
class Offering:
    """One way to buy a type. `price_micros`: millionths of a dollar an hour."""

    zone: str
    capacity_type: str
    price_micros: int


@dataclass(frozen=True, slots=True)
class InstanceType:
    """A size of machine. `memory`, `ephemeral_storage` and `local_nvme` in bytes, `gpu_memory` in MiB for each GPU.

    `memory` is what the data sheet says; `capacity` has what the virtual machine leaves of it. `pods` is the most Pods
    that its network takes.
    """

    name: str
    architecture: str
    category: str
    family: str
    generation: int
    size: str
    milli_cpu: int
    memory: int
    pods: int
    offerings: tuple[Offering, ...]
    gpus: int = 0
    gpu_product: str = ""
    gpu_memory: int = 0
    gpu_vendor: str = "nvidia.com"
    nvlink: bool = False
    ephemeral_storage: int = 80 * GIB
    local_nvme: int = 0
    bandwidth_mbps: int = 0
    is_bare_metal: bool = False

    def capacity(self) -> dict[str, int]:
        """By resource name: cpu in milli, the others in units. The hypervisor takes 7.5 % of the memory."""
        memory = self.memory if self.is_bare_metal else self.memory * 925 // 1_000
        amounts = {
            "cpu": self.milli_cpu,
            "memory": memory // MIB * MIB,
            "ephemeral-storage": self.ephemeral_storage,
            "pods": self.pods,
        }
        if self.gpus:
            amounts[f"{self.gpu_vendor}/gpu"] = self.gpus
        return amounts

    def reserved(self) -> dict[str, int]:
        """What system and kubelet keep for themselves (kube-reserved), and the hard eviction threshold."""
        left, cpu = self.milli_cpu, 0
        for size, per_mille in _CPU_STEPS:
            cpu += min(left, size) * per_mille // 1_000
            left = max(left - size, 0)
        cpu += left * _CPU_REST_PER_10_000 // 10_000
        memory = (255 + 11 * self.pods) * MIB + _EVICTION_THRESHOLD
        return {"cpu": cpu, "memory": memory, "ephemeral-storage": self.ephemeral_storage // 10 + GIB}

    def allocatable(self) -> dict[str, int]:
        """What is left for Pods, in the units of `capacity`."""
        reserved = self.reserved()
        return {name: max(amount - reserved.get(name, 0), 0) for name, amount in self.capacity().items()}

    def labels(self, zone: str = "", region: str = "") -> dict[str, str]:
        """The well-known labels that a node of this type carries; those of the place only where it is given."""
        labels = {
            "kubernetes.io/arch": self.architecture,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": self.name,
        }
        if zone:
            labels["topology.kubernetes.io/zone"] = zone
        if region:
            labels["topology.kubernetes.io/region"] = region
        return labels

    def offering(self, zone: str, capacity_type: str) -> Offering | None:
        """The offering in a zone, None when the type is not sold there in this way."""
        found = (one for one in self.offerings if one.zone == zone and one.capacity_type == capacity_type)
        return next(found, None)

    def cheapest(self, capacity_type: str = ON_DEMAND) -> Offering | None:
        """The cheapest offering of a capacity type; between equals the zone that sorts first."""
        sold = [one for one in self.offerings if one.capacity_type == capacity_type]
        return min(sold, key=lambda one: (one.price_micros, one.zone), default=None)

    @property
    def quota(self) -> str:
        """The quota that its CPUs count against: `standard`, or the letter of a family that has its own."""
        return self.category if self.category in _OWN_QUOTAS else _STANDARD


def check_instance_types(types: Iterable[InstanceType]) -> Mapping[str, InstanceType]:
    """The types by name, in their order. ValueError: an empty catalogue, a name that is there twice, impossible sizes,
    a type that is sold nowhere, or twice in one way, a price that is no whole number.

    >>> check_instance_types([])
    Traceback (most recent call last):
    ValueError: instance types: none, expected at least one
    """
    found: dict[str, InstanceType] = {}
    for one in types:
        if not isinstance(one, InstanceType):
            raise TypeError(f"instance types: {one!r}: expected an InstanceType")
        if not isinstance(one.name, str) or not one.name:
            raise ValueError(f"instance types: name {one.name!r}, expected a text")
        if one.name in found:
            raise ValueError(f"instance types: {one.name} is there twice, expected distinct names")
        for field in ("milli_cpu", "memory", "pods"):
            _check_number(f"instance type {one.name}: {field}", getattr(one, field), 1)
        for field in ("gpus", "gpu_memory", "ephemeral_storage", "local_nvme", "bandwidth_mbps"):
            _check_number(f"instance type {one.name}: {field}", getattr(one, field), 0)
        _check_offerings(one)
        found[one.name] = one
    if not found:
        raise ValueError("instance types: none, expected at least one")
    return found


def _check_number(what: str, number: object, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        more = "more than 0" if least else "0 or more"
        raise ValueError(f"{what} is {number}, expected a whole number, {more}")


def _check_offerings(one: InstanceType) -> None:
    if not one.offerings:
        raise ValueError(f"instance type {one.name}: offerings: none, expected at least one")
    ways: dict[tuple[str, str], None] = {}
    for offering in one.offerings:
        if not isinstance(offering.zone, str) or not offering.zone or "/" in offering.zone:
            raise ValueError(f"instance type {one.name}: zone {offering.zone!r}, expected a name")
        where = f"instance type {one.name}, offering in {offering.zone}"
        if offering.capacity_type not in (ON_DEMAND, SPOT):
            raise ValueError(f"{where}: capacity_type {offering.capacity_type!r}, expected on-demand or spot")
        _check_number(f"{where}: price_micros", offering.price_micros, 0)
        way = (offering.zone, offering.capacity_type)
        if way in ways:
            raise ValueError(f"{where}: {offering.capacity_type} is there twice, expected each way once")
        ways[way] = None
