"""How many Pods a rollout may have too many, and how many too few.

Upstream: pkg/controller/deployment/util/deployment_util.go (ResolveFenceposts, MaxSurge, MaxUnavailable)
"""

from __future__ import annotations

from typing import NamedTuple

from k8slab.api.intstr import IntOrString, scaled_value
from k8slab.api.objects import Object

__all__ = ["Fenceposts", "fenceposts_of", "is_rolling_update", "resolve_fenceposts"]


class Fenceposts(NamedTuple):
    """`surge`: Pods above the desired number. `unavailable`: Pods below it that may be missing. Never both 0."""

    surge: int
    unavailable: int


def resolve_fenceposts(max_surge: IntOrString | None, max_unavailable: IntOrString | None, desired: int) -> Fenceposts:
    """Surge is rounded up, unavailable down; if both come out as 0, unavailable becomes 1: something must move.

    `None` counts as 0. ValueError with upstream's text for strings that are no percentage.

    >>> resolve_fenceposts("25%", "25%", 10), resolve_fenceposts(0, "25%", 2)
    (Fenceposts(surge=3, unavailable=2), Fenceposts(surge=0, unavailable=1))
    """
    surge = scaled_value(0 if max_surge is None else max_surge, desired, round_up=True)
    unavailable = scaled_value(0 if max_unavailable is None else max_unavailable, desired, round_up=False)
    return Fenceposts(surge, 1 if surge == 0 and unavailable == 0 else unavailable)


def is_rolling_update(deployment: Object) -> bool:
    return bool((deployment["spec"].get("strategy") or {}).get("type") == "RollingUpdate")


def fenceposts_of(deployment: Object) -> Fenceposts:
    """The fenceposts of a Deployment object: (0, 0) unless it is a rolling update; unavailable is 0 when it wants
    no replicas, and never more than it wants."""
    if not is_rolling_update(deployment):
        return Fenceposts(0, 0)
    spec = deployment["spec"]
    replicas: int = spec["replicas"]
    rolling = spec["strategy"].get("rollingUpdate") or {}
    surge, unavailable = resolve_fenceposts(rolling.get("maxSurge"), rolling.get("maxUnavailable"), replicas)
    return Fenceposts(surge, min(unavailable, replicas))
