"""The instance catalogue as Karpenter reads it: labels as requirements, and which types are left for a set of wishes.

A set of types is the bits of an int (`Mask`): what an attribute, a size or an offering leaves is worked out once for
the whole catalogue, and a wish is one AND away.

>>> from k8slab.autoscaling.cloud import small_catalogue
>>> from k8slab.autoscaling.karpenter import Catalogue, Requirements
>>> types = Catalogue(small_catalogue())
>>> arm = Requirements.of_labels({"kubernetes.io/arch": "arm64"})
>>> [one.name for one in types.select(types.compatible(arm) & types.fitting({"cpu": 2_000, "pods": 1}))]
['m6g.2xlarge']

Upstream: kubernetes-sigs/karpenter pkg/cloudprovider/types.go, pkg/controllers/provisioning/scheduling/nodeclaim.go
(filterInstanceTypesByRequirements); aws/karpenter-provider-aws pkg/providers/instancetype/types.go
(computeRequirements) Simplified: no reserved capacity; no offerings that change a type's capacity; no price overlays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from k8slab.autoscaling.cloud.instance_types import (
    MIB,
    ON_DEMAND,
    SPOT,
    InstanceType,
    Offering,
    Pool,
    check_instance_types,
)
from k8slab.autoscaling.karpenter.requirement import Requirement
from k8slab.autoscaling.karpenter.requirements import (
    ARCH,
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    ZONE,
    Requirements,
)

__all__ = ["UNKNOWN_PRICE", "Catalogue", "Mask", "instance_requirements"]

Mask: TypeAlias = int
"""A set of instance types: bit `i` stands for the one at place `i` of the catalogue."""

UNKNOWN_PRICE = 1 << 62
"""The price of what is not for sale: more than anything costs."""

_AWS = "karpenter.k8s.aws/instance-"
_GB = 1_000_000_000


def _gpu_name(product: str) -> str:
    """`NVIDIA-A100-SXM4-40GB` is an `a100`, `Tesla-T4` a `t4`."""
    parts = product.lower().split("-")
    return parts[1] if len(parts) > 1 else parts[0]


def instance_requirements(one: InstanceType) -> Requirements:
    """What a node of this type is: a value for each label that is known, DoesNotExist for those it will not have."""
    gpu = one.gpus > 0
    values = {
        "category": one.category,
        "family": one.family,
        "generation": str(one.generation),
        "size": one.size,
        "cpu": str(one.milli_cpu // 1_000),
        "memory": str(one.memory // MIB),
        "network-bandwidth": str(one.bandwidth_mbps) if one.bandwidth_mbps else "",
        "hypervisor": "" if one.is_bare_metal else "nitro",
        "local-nvme": str(one.local_nvme // _GB) if one.local_nvme else "",
        "gpu-name": _gpu_name(one.gpu_product) if gpu else "",
        "gpu-manufacturer": one.gpu_vendor.partition(".")[0] if gpu else "",
        "gpu-count": str(one.gpus) if gpu else "",
        "gpu-memory": str(one.gpu_memory) if gpu else "",
    }
    found = Requirements.of_labels({INSTANCE_TYPE: one.name, ARCH: one.architecture, "kubernetes.io/os": "linux"})
    for name, value in values.items():
        found.add(Requirement.of(f"{_AWS}{name}", "In" if value else "DoesNotExist", (value,) if value else ()))
    found.add(Requirement.of(ZONE, "In", (offering.zone for offering in one.offerings)))
    found.add(Requirement.of(CAPACITY_TYPE, "In", (offering.capacity_type for offering in one.offerings)))
    return found


class Catalogue:
    """Instance types in the order given. `unavailable`: pools that recently had no capacity, or that a quota closed.

    ValueError for an empty catalogue, or a name that is there twice.
    """

    def __init__(self, types: Iterable[InstanceType], unavailable: Collection[Pool] = ()) -> None:
        self.types: tuple[InstanceType, ...] = tuple(check_instance_types(types).values())
        self.everything: Mask = (1 << len(self.types)) - 1
        self.requirements: tuple[Requirements, ...] = tuple(map(instance_requirements, self.types))
        self.index: Mapping[str, int] = {one.name: place for place, one in enumerate(self.types)}
        self._keys = frozenset(one.key for requirements in self.requirements for one in requirements)
        self._by_requirement: dict[Requirement, Mask] = {}
        self._sizes = {
            name: self._thresholds(name) for name in sorted({n for t in self.types for n in t.allocatable()})
        }
        self._close(unavailable)

    def _close(self, unavailable: Collection[Pool]) -> None:
        self.unavailable = frozenset(unavailable)
        self.offerings: tuple[tuple[Offering, ...], ...] = tuple(
            tuple(o for o in one.offerings if Pool(one.name, o.zone, o.capacity_type) not in self.unavailable)
            for one in self.types
        )
        self._by_offer: dict[tuple[Requirement | None, Requirement | None], Mask] = {}
        self._orders: dict[tuple[Requirement | None, Requirement | None], list[tuple[int, int]]] = {}

    def without(self, unavailable: Collection[Pool]) -> Catalogue:
        """The same types, where just these pools have nothing to sell."""
        if self.unavailable == frozenset(unavailable):
            return self
        made: Catalogue = Catalogue.__new__(Catalogue)
        made.__dict__.update(self.__dict__)
        made._close(unavailable)
        return made

    def _thresholds(self, resource: str) -> tuple[list[int], list[Mask]]:
        """Ascending amounts of a resource, and for each the types that have at least as much for Pods."""
        amounts = [one.allocatable().get(resource, 0) for one in self.types]
        values = sorted(set(amounts))
        masks, mask = [], 0
        by_amount: dict[int, Mask] = {}
        for place, amount in enumerate(amounts):
            by_amount[amount] = by_amount.get(amount, 0) | 1 << place
        for value in reversed(values):
            mask |= by_amount[value]
            masks.append(mask)
        return values, masks[::-1]

    def select(self, mask: Mask) -> list[InstanceType]:
        """The types of a set, in the catalogue's order."""
        return [self.types[place] for place in self.places(mask)]

    @staticmethod
    def places(mask: Mask) -> Iterator[int]:
        """The places of a set's types, ascending."""
        while mask:
            low = mask & -mask
            yield low.bit_length() - 1
            mask ^= low

    def compatible(self, requirements: Requirements) -> Mask:
        """The types whose labels satisfy the requirements, as far as a type has a say in them."""
        mask = self.everything
        for one in requirements:
            if one.key in self._keys:
                mask &= self._compatible(one)
        return mask

    def _compatible(self, requirement: Requirement) -> Mask:
        found = self._by_requirement.get(requirement)
        if found is None:
            wanted = Requirements((requirement,))
            found = 0
            for place, own in enumerate(self.requirements):
                if own.intersects(wanted):
                    found |= 1 << place
            self._by_requirement[requirement] = found
        return found

    def fitting(self, requests: Mapping[str, int]) -> Mask:
        """The types that have at least these amounts for Pods (cpu in milli, others in units)."""
        mask = self.everything
        for name, amount in requests.items():
            if amount > 0:
                values, masks = self._sizes.get(name, ((), ()))
                place = bisect_left(values, amount)
                if place == len(values):
                    return 0
                mask &= masks[place]
        return mask

    def most(self, resource: str, mask: Mask) -> int:
        """The largest amount of a resource that a type of the set has for Pods."""
        values, masks = self._sizes.get(resource, ((), ()))
        return next(
            (value for value, with_it in zip(reversed(values), reversed(masks), strict=True) if with_it & mask), 0
        )

    def offered(self, requirements: Requirements) -> Mask:
        """The types with an available offering in a zone and of a capacity type that the requirements allow."""
        key = (requirements.find(ZONE), requirements.find(CAPACITY_TYPE))
        found = self._by_offer.get(key)
        if found is None:
            found = 0
            for place in range(len(self.types)):
                if any(True for _ in self._sold(place, requirements)):
                    found |= 1 << place
            self._by_offer[key] = found
        return found

    def _sold(self, place: int, requirements: Requirements) -> Iterator[Offering]:
        zone, capacity_type = requirements.find(ZONE), requirements.find(CAPACITY_TYPE)
        for offering in self.offerings[place]:
            if (zone is None or zone.has(offering.zone)) and (
                capacity_type is None or capacity_type.has(offering.capacity_type)
            ):
                yield offering

    def cheapest(self, place: int, requirements: Requirements) -> Offering | None:
        """The cheapest available offering of a type that the requirements allow; of equals the first zone's."""
        sold = list(self._sold(place, requirements))
        return min(sold, key=lambda one: (one.price_micros, one.zone, one.capacity_type), default=None)

    def by_price(self, mask: Mask, requirements: Requirements) -> list[int]:
        """The places of a set's types, cheapest first; equals in the catalogue's order (OrderByPrice)."""
        key = (requirements.find(ZONE), requirements.find(CAPACITY_TYPE))
        order = self._orders.get(key)
        if order is None:
            order = []
            for place in range(len(self.types)):
                offering = self.cheapest(place, requirements)
                order.append((UNKNOWN_PRICE if offering is None else offering.price_micros, place))
            order.sort()
            self._orders[key] = order
        return [place for _, place in order if mask >> place & 1]

    def worst_launch_price(self, place: int, requirements: Requirements) -> int:
        """The most a launch may cost: of spot offerings when one is allowed, else of those on demand."""
        sold = list(self._sold(place, requirements))
        for capacity_type in (SPOT, ON_DEMAND):
            prices = [offering.price_micros for offering in sold if offering.capacity_type == capacity_type]
            if prices:
                return max(prices)
        return UNKNOWN_PRICE

    def price(self, instance_type: str, zone: str, capacity_type: str) -> int | None:
        """What a running node costs; None when there is no such offering. Counts closed pools too."""
        place = self.index.get(instance_type)
        found = None if place is None else self.types[place].offering(zone, capacity_type)
        return None if found is None else found.price_micros

    def min_values_unmet(self, places: Sequence[int], requirements: Requirements) -> tuple[int, dict[str, int]]:
        """How many of these types, in their order, it takes to meet every `min_values`; and what was not met.

        The second: by key how many values there are. Empty: all is met (SatisfiesMinValues).
        """
        wanted = [one for one in requirements if one.min_values is not None]
        if not wanted:
            return 0, {}
        seen: dict[str, set[str]] = {one.key: set() for one in wanted}
        unmet: dict[str, int] = {one.key: 0 for one in wanted}
        for count, place in enumerate(places, 1):
            for one in wanted:
                seen[one.key].update(self.requirements[place].get(one.key).values)
            unmet = {one.key: len(seen[one.key]) for one in wanted if len(seen[one.key]) < (one.min_values or 0)}
            if not unmet:
                return count, {}
        return len(places), unmet
