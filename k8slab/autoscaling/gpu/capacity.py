"""GPUs that are not to be had: falling back from pool to pool, and all or nothing for gangs.

Upstream: aws/karpenter-provider-aws (the order of a launch), kubernetes/autoscaler ProvisioningRequest
(best-effort-atomic-scale-up.autoscaling.x-k8s.io: as many nodes as the gang needs, or none)
Simplified: a gang's nodes are of one pool; a rest that was bought is given back at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k8slab.autoscaling.cloud import Cloud, CloudError, Instance, InstanceType, LaunchFailedError, Pool

__all__ = ["Attempt", "GangLaunch", "Purchase", "buy", "buy_gang", "gpu_pools"]


def gpu_pools(
    types: Sequence[InstanceType], gpus: int, *, product: str = "", spot: bool = False, zones: Sequence[str] = ()
) -> list[Pool]:
    """Pools with at least so many GPUs in one machine, the cheapest first: spot before on demand only if `spot`.

    `product`: a part of the GPU's name ("A10G"). `zones`: only these. ValueError: no type has so many.
    """
    fitting = [one for one in types if one.gpus >= gpus and product in one.gpu_product]
    if not fitting:
        wanted = f"{gpus} GPUs" + (f" {product}" if product else "")
        raise ValueError(f"pools: no instance type has {wanted} in one machine")
    found = [
        (offering.price_micros, one.name, offering.zone, offering.capacity_type)
        for one in fitting
        for offering in one.offerings
        if (spot or offering.capacity_type == "on-demand") and (not zones or offering.zone in zones)
    ]
    return [Pool(name, zone, kind) for _, name, zone, kind in sorted(found)]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One pool that was asked. `error` "": it gave the instance."""

    at_ms: int
    pool: Pool
    error: str = ""


@dataclass(frozen=True, slots=True)
class Purchase:
    """How one instance was come by, or was not."""

    instance: Instance | None
    attempts: tuple[Attempt, ...]

    @property
    def at_ms(self) -> int:
        """When the last pool was asked."""
        return self.attempts[-1].at_ms


def buy(cloud: Cloud, pools: Sequence[Pool], now_ms: int, *, retry_ms: int = 60_000, rounds: int = 5) -> Purchase:
    """Ask the pools in their order, and all of them again every `retry_ms`, `rounds` times at most."""
    if not pools or rounds < 1:
        raise ValueError(f"pools {len(pools)}, rounds {rounds}: expected at least one of each")
    attempts: list[Attempt] = []
    for number in range(rounds):
        at_ms = now_ms + number * retry_ms
        try:
            bought = cloud.launch(pools, at_ms)
        except LaunchFailedError as error:
            attempts += [Attempt(at_ms, pool, one.code) for pool, one in zip(pools, error.errors, strict=True)]
            continue
        attempts += [Attempt(at_ms, pool, one.code) for pool, one in zip(pools, bought.refused, strict=False)]
        attempts.append(Attempt(at_ms, bought.instance.pool))
        return Purchase(bought.instance, tuple(attempts))
    return Purchase(None, tuple(attempts))


@dataclass(frozen=True, slots=True)
class GangLaunch:
    """`instances`: all that the gang needs, or none. `given_back`: what was bought and did not make a whole."""

    instances: tuple[Instance, ...]
    given_back: int
    message: str


def buy_gang(cloud: Cloud, pools: Sequence[Pool], count: int, now_ms: int) -> GangLaunch:
    """`count` instances of one pool, or nothing: pools are tried in turn, and halves of a gang are given back.

    >>> import random
    >>> from k8slab.autoscaling.cloud import Cloud, Pool, catalogue
    >>> cloud = Cloud(catalogue(), random.Random(1))
    >>> near, far = (Pool(name, "region-1b", "on-demand") for name in ("p5.48xlarge", "p4d.24xlarge"))
    >>> cloud.set_capacity(near, 3)
    >>> launch = buy_gang(cloud, [near, far], 4, now_ms=0)
    >>> len(launch.instances), launch.instances[0].instance_type.name, launch.given_back
    (4, 'p4d.24xlarge', 3)
    """
    if count < 1:
        raise ValueError(f"count: {count}: expected 1 or more")
    given_back, reasons = 0, []
    for pool in pools:
        bought: list[Instance] = []
        try:
            while len(bought) < count:
                bought.append(cloud.launch(pool, now_ms).instance)
        except CloudError as error:
            for one in bought:
                cloud.terminate(one.id, now_ms)
            given_back += len(bought)
            reasons.append(f"{pool}: {len(bought)} of {count}, then {error.code}")
            continue
        return GangLaunch(tuple(bought), given_back, f"{pool}: all {count}")
    return GangLaunch((), given_back, "; ".join(reasons))
