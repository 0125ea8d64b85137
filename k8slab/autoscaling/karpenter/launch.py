"""From a planned node to an instance: the claim, the pools that are asked, what is done when none has capacity.

Upstream: kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go (ToNodeClaim),
pkg/controllers/nodeclaim/lifecycle/launch.go; aws/karpenter-provider-aws pkg/providers/instance (getCapacityType,
filter/), pkg/cache/unavailableofferings.go
Simplified: spot pools are asked by price (the strategy price-capacity-optimized also looks at how much they have).
"""

from __future__ import annotations

from collections.abc import Iterable

from k8slab.autoscaling.cloud import ON_DEMAND, SPOT, InstanceType, Offering, Pool
from k8slab.autoscaling.karpenter.candidates import MAX_INSTANCE_TYPES
from k8slab.autoscaling.karpenter.instance_types import Catalogue
from k8slab.autoscaling.karpenter.node_claim import NodeClaim
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.packing import NewNode
from k8slab.autoscaling.karpenter.requirement import Requirement
from k8slab.autoscaling.karpenter.requirements import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    WELL_KNOWN_LABELS,
    ZONE,
    Requirements,
)

__all__ = ["LAUNCH_TYPES", "UNAVAILABLE_MS", "UnavailableOfferings", "claim_for", "launch_labels", "pools_to_ask"]

LAUNCH_TYPES = 60
"""A request names the cheapest types, so many at most."""

UNAVAILABLE_MS = 3 * 60_000
"""So long a pool that had no capacity is left out."""


def claim_for(new: NewNode, name: str, now_ms: int) -> NodeClaim:
    """The NodeClaim of a planned node: its requirements name the types that will do, cheapest first, 600 at most."""
    pool: NodePool = new.pool
    requirements = new.requirements.copy()
    places = new.places()[:MAX_INSTANCE_TYPES]
    requirements.add(Requirement.of(INSTANCE_TYPE, "In", (new.catalogue.types[place].name for place in places)))
    labels = dict(pool.labels)
    for one in requirements:
        if one.key not in WELL_KNOWN_LABELS and one.key not in labels and one.any():
            labels[one.key] = one.any()
    return NodeClaim(
        name=name,
        pool=pool.name,
        created_ms=now_ms,
        requirements=requirements,
        labels=labels,
        annotations=dict(pool.annotations),
        taints=pool.taints,
        startup_taints=pool.startup_taints,
        requests=dict(new.requests),
        expire_after_ms=pool.expire_after_ms,
        termination_grace_period_ms=pool.termination_grace_period_ms,
        pool_hash=pool.hash,
    )


def _is_exotic(one: InstanceType) -> bool:
    return one.gpus > 0 or "metal" in one.size


def pools_to_ask(claim: NodeClaim, catalogue: Catalogue) -> list[Pool]:
    """Where the launch asks, in order: spot if a spot offering is left, else on demand; the cheapest 60 types.

    GPUs and bare metal only when nothing else will do; no spot that costs more than the cheapest offering on demand.
    """
    requirements = claim.requirements
    mask = catalogue.compatible(requirements) & catalogue.offered(requirements) & catalogue.fitting(claim.requests)
    places = catalogue.by_price(mask, requirements)
    if not requirements.has_min_values:
        plain = [place for place in places if not _is_exotic(catalogue.types[place])]
        places = plain or places
    places = places[:LAUNCH_TYPES]
    found = [(offering, catalogue.types[place].name) for place in places for offering in _sold(catalogue, place, claim)]
    spot = [pair for pair in found if pair[0].capacity_type == SPOT]
    on_demand = [pair for pair in found if pair[0].capacity_type == ON_DEMAND]
    if spot and on_demand:
        most = min(offering.price_micros for offering, _ in on_demand)
        spot = [pair for pair in spot if pair[0].price_micros <= most]
    chosen = sorted(spot or on_demand, key=lambda pair: (pair[0].price_micros, pair[1], pair[0].zone))
    return [Pool(name, offering.zone, offering.capacity_type) for offering, name in chosen]


def _sold(catalogue: Catalogue, place: int, claim: NodeClaim) -> list[Offering]:
    zone, capacity_type = claim.requirements.get(ZONE), claim.requirements.get(CAPACITY_TYPE)
    return [one for one in catalogue.offerings[place] if zone.has(one.zone) and capacity_type.has(one.capacity_type)]


def launch_labels(one: InstanceType, pool: Pool, region: str, own: Requirements) -> dict[str, str]:
    """What the instance that was bought settles: `own` are its type's requirements, each with one value."""
    labels = {requirement.key: requirement.only for requirement in own if requirement.only is not None}
    return {**labels, **one.labels(pool.zone, region), CAPACITY_TYPE: pool.capacity_type}


class UnavailableOfferings:
    """Pools that lately had no capacity, or took a spot instance back: three minutes long nobody asks them."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[Pool, int] = {}

    def mark(self, pools: Iterable[Pool], now_ms: int) -> None:
        for pool in pools:
            self._until[pool] = now_ms + UNAVAILABLE_MS

    def at(self, now_ms: int) -> frozenset[Pool]:
        return frozenset(pool for pool, until in self._until.items() if until > now_ms)
