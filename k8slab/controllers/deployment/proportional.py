"""Scaling a Deployment in the middle of a rollout: every ReplicaSet gets its share.

Upstream: pkg/controller/deployment/sync.go (scale), pkg/controller/deployment/util/deployment_util.go
(FindActiveOrLatest, GetReplicaSetProportion, getReplicaSetFraction)
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.controllers.deployment.sizes import (
    Resize,
    Size,
    active,
    by_creation,
    by_size_newer,
    by_size_older,
    total_replicas,
)

__all__ = ["find_active_or_latest", "proportion", "proportional_sizes"]


def find_active_or_latest(new: Size | None, old: Sequence[Size]) -> Size | None:
    """The only active ReplicaSet, or if none is active the newest. None when several are: then share."""
    candidates = active([*old, new])
    if len(candidates) == 1:
        return candidates[0]
    if candidates or (new is None and not old):
        return None
    return new if new is not None else max(old, key=by_creation)


def _round_half_away(value: float) -> int:
    return int(value - 0.5) if value < 0 else int(value + 0.5)


def _fraction(rs: Size, desired: int, surge: int, status_replicas: int) -> int:
    """By how much `rs` would change if it kept its share of the whole Deployment."""
    if desired == 0:
        return -rs.replicas
    before = rs.max_replicas or status_replicas
    if before == 0:
        return 0  # nobody knows how large the Deployment was: leave this one alone
    return _round_half_away(rs.replicas * (desired + surge) / before) - rs.replicas


def proportion(rs: Size, desired: int, surge: int, status_replicas: int, to_add: int, added: int) -> int:
    """The replicas `rs` gets of the `to_add` (negative: loses) of which `added` are given out already."""
    if rs.replicas == 0 or to_add == 0 or to_add == added:
        return 0
    fraction = _fraction(rs, desired, surge, status_replicas)
    return min(fraction, to_add - added) if to_add > 0 else max(fraction, to_add - added)


def proportional_sizes(desired: int, surge: int, status_replicas: int, sets: Sequence[Size]) -> list[Resize]:
    """The new size of every active ReplicaSet, in the order to write them; what rounding leaves over goes to the
    largest. All are listed, changed or not: their annotations need the new numbers too."""
    sets = active(sets)
    allowed = desired + surge if desired > 0 else 0
    to_add = allowed - total_replicas(sets)
    if to_add > 0:
        sets = by_size_newer(sets)
    elif to_add < 0:
        sets = by_size_older(sets)
    sizes: dict[str, int] = {}
    added = 0
    for rs in sets:
        share = proportion(rs, desired, surge, status_replicas, to_add, added)
        sizes[rs.name] = rs.replicas + share
        added += share
    if sets and to_add != 0:
        sizes[sets[0].name] = max(0, sizes[sets[0].name] + to_add - added)
    return [Resize(name, size) for name, size in sizes.items()]
