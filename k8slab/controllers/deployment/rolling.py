"""Rolling update: grow the new ReplicaSet, shrink the old ones, within the fenceposts.

Each decision looks at the numbers once and returns the writes to make. The surge bound is on the sum of
`spec.replicas`; the availability bound is on the Pods reported available. No decision waits: the next one is
taken when a ReplicaSet's status changed.

    10 replicas, surge 3, unavailable 2     old 10 new 0
    new may grow to 13 in total          →  old 10 new 3
    13 Pods, 8 must stay available       →  old  8 new 3      (the 3 new ones are not available yet)
    13 again                             →  old  8 new 5 …

Upstream: pkg/controller/deployment/rolling.go, pkg/controller/deployment/util/deployment_util.go (NewRSNewReplicas)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from k8slab.controllers.deployment.fenceposts import Fenceposts
from k8slab.controllers.deployment.sizes import Resize, Size, active, by_creation, total_available, total_replicas

__all__ = ["OldSizes", "new_replica_set_size", "old_replica_set_sizes", "simulate"]


def new_replica_set_size(desired: int, surge: int, sets: Sequence[Size], new: Size) -> int:
    """The size the new ReplicaSet should have now. `sets`: all ReplicaSets, the new one among them."""
    if new.replicas >= desired:
        return desired
    room = desired + surge - total_replicas(sets)
    return new.replicas if room <= 0 else new.replicas + min(room, desired - new.replicas)


class OldSizes(NamedTuple):
    """Writes in order, and whether upstream reports that it scaled anything (then it stops this sync here)."""

    resizes: list[Resize]
    scaled: bool


def old_replica_set_sizes(desired: int, unavailable: int, old: Sequence[Size], new: Size) -> OldSizes:
    """What to take from the old ReplicaSets: their unhealthy replicas first, then what availability allows.

    Unavailable Pods of the new ReplicaSet are subtracted from what may go, so that a broken new version cannot
    eat up the old one. `unavailable`: resolved fencepost.
    """
    old = sorted(active(old), key=by_creation)
    if not old:
        return OldSizes([], False)
    minimum = desired - unavailable
    everything = total_replicas(old) + new.replicas
    may_go = everything - minimum - (new.replicas - new.available)
    if may_go <= 0:
        return OldSizes([], False)
    resizes, cleaned, healthy = _clean_up_unhealthy(old, may_go)
    if not healthy:
        return OldSizes(resizes, False)
    sizes = {rs.name: rs.replicas for rs in old} | {resize.name: resize.replicas for resize in resizes}
    more = _scale_down([rs._replace(replicas=sizes[rs.name]) for rs in old], total_available([*old, new]) - minimum)
    gone = cleaned + sum(sizes[resize.name] - resize.replicas for resize in more)
    return OldSizes(resizes + more, gone > 0)


def _clean_up_unhealthy(old: Sequence[Size], limit: int) -> tuple[list[Resize], int, bool]:
    """Writes, replicas taken, and False when a status reports more available Pods than the spec wants: upstream
    refuses such a ReplicaSet with an error and tries again on the next sync."""
    resizes: list[Resize] = []
    taken = 0
    for rs in old:
        if taken >= limit:
            break
        if rs.replicas == rs.available:
            continue
        count = min(limit - taken, rs.replicas - rs.available)
        if count < 0:
            return resizes, taken, False
        resizes.append(Resize(rs.name, rs.replicas - count))
        taken += count
    return resizes, taken, True


def _scale_down(old: Sequence[Size], count: int) -> list[Resize]:
    """Take `count` replicas from the old ReplicaSets, oldest first."""
    resizes: list[Resize] = []
    for rs in old:
        if count <= 0:
            break
        if rs.replicas == 0:
            continue
        gone = min(rs.replicas, count)
        resizes.append(Resize(rs.name, rs.replicas - gone))
        count -= gone
    return resizes


def simulate(desired: int, fenceposts: Fenceposts, old: Sequence[Size], new: Size) -> Iterator[dict[str, int]]:
    """A whole rollout when every Pod becomes available at once: the sizes at the start and after every sync."""
    sets = {rs.name: rs for rs in (*old, new)}
    yield {name: rs.replicas for name, rs in sets.items()}
    while True:
        size = new_replica_set_size(desired, fenceposts.surge, list(sets.values()), sets[new.name])
        if size != sets[new.name].replicas:
            resizes = [Resize(new.name, size)]
        else:
            others = [rs for name, rs in sets.items() if name != new.name]
            resizes = old_replica_set_sizes(desired, fenceposts.unavailable, others, sets[new.name]).resizes
        if not resizes:
            return
        for name, replicas in resizes:
            sets[name] = sets[name]._replace(replicas=replicas)
        sets = {name: rs._replace(available=rs.replicas) for name, rs in sets.items()}
        yield {name: rs.replicas for name, rs in sets.items()}
