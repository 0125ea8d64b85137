"""Drills on the arithmetic of rollouts: bounds, the next sync, a rollout that is stuck, scaling in the middle of one.

Simplified: see `k8slab.controllers.deployment`; every answer is its functions'.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from k8slab.api.intstr import IntOrString, scaled_value
from k8slab.controllers.deployment.fenceposts import Fenceposts, fenceposts_of, resolve_fenceposts
from k8slab.controllers.deployment.proportional import find_active_or_latest, proportional_sizes
from k8slab.controllers.deployment.rolling import new_replica_set_size, old_replica_set_sizes, simulate
from k8slab.controllers.deployment.sizes import Size
from k8slab.drill.answers import numbers, whole
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block

__all__ = ["KINDS", "Rollout", "next_sizes", "rollout", "scaled_sizes", "stuck_sizes"]

_FENCEPOSTS = "pkg/controller/deployment/util/deployment_util.go (ResolveFenceposts)"
_ROLLING = "pkg/controller/deployment/rolling.go"


class Rollout(NamedTuple):
    """A Deployment in the middle of a rolling update, as the question shows it."""

    desired: int
    max_surge: IntOrString
    max_unavailable: IntOrString

    @property
    def fenceposts(self) -> Fenceposts:
        rolling = {"maxSurge": self.max_surge, "maxUnavailable": self.max_unavailable}
        strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
        return fenceposts_of({"spec": {"replicas": self.desired, "strategy": strategy}})

    def __str__(self) -> str:
        return f"`replicas: {self.desired}`, `maxSurge: {self.max_surge}`, `maxUnavailable: {self.max_unavailable}`"


def next_sizes(about: Rollout, old: Sequence[Size], new: Size) -> dict[str, int]:
    """Replicas by ReplicaSet after the next sync: the new one grows, or else the old ones shrink."""
    surge, unavailable = about.fenceposts
    sizes = {rs.name: rs.replicas for rs in (*old, new)}
    grown = new_replica_set_size(about.desired, surge, [*old, new], new)
    if grown != new.replicas:
        return {**sizes, new.name: grown}
    return {**sizes, **dict(old_replica_set_sizes(about.desired, unavailable, old, new).resizes)}


def stuck_sizes(about: Rollout) -> list[tuple[int, int]]:
    """(old, new) after every sync when no Pod of the new version ever becomes available."""
    found = [(about.desired, 0)]
    while True:
        old, new = found[-1]
        after = _pair(next_sizes(about, [Size("old", old, old)], Size("new", new, 0, 1)))
        if after == found[-1]:
            return found
        found.append(after)


def scaled_sizes(about: Rollout, old: Sequence[Size], new: Size | None, status_replicas: int) -> dict[str, int]:
    """Replicas by ReplicaSet once the Deployment was scaled to `about.desired` in the middle of a rollout.

    `status_replicas`: the Pods there are; it counts where a ReplicaSet has no max-replicas annotation.
    """
    everything = [*old, *([new] if new is not None else [])]
    sizes = {rs.name: rs.replicas for rs in everything}
    single = find_active_or_latest(new, old)
    if single is not None:
        return {**sizes, single.name: about.desired}
    return {**sizes, **dict(proportional_sizes(about.desired, about.fenceposts.surge, status_replicas, everything))}


def _pair(sizes: Mapping[str, int]) -> tuple[int, int]:
    return sizes["old"], sizes["new"]


def _share(rng: random.Random) -> IntOrString:
    shares: tuple[IntOrString, ...] = ("10%", "25%", "25%", "30%", "50%", 0, 1, 2)
    return rng.choice(shares)


def _some_share(rng: random.Random) -> IntOrString:
    """One that comes to 1 or more for 4 replicas or more."""
    shares: tuple[IntOrString, ...] = ("25%", "50%", 1, 2)
    return rng.choice(shares)


def _about(rng: random.Random, most: int = 20) -> Rollout:
    return Rollout(rng.randint(2, most), _share(rng), _share(rng))


def _resolved(rng: random.Random) -> Draft:
    about = _about(rng)
    surge, unavailable = resolve_fenceposts(about.max_surge, about.max_unavailable, about.desired)
    swapped = resolve_fenceposts(about.max_unavailable, about.max_surge, about.desired)
    answer = numbers(
        [surge, unavailable],
        "Surge is rounded up, unavailable down; if both are 0, unavailable becomes 1.",
        {
            (swapped.unavailable, swapped.surge): "The rounding is the wrong way: surge goes up, unavailable down.",
            (surge, unavailable + 1): "Unavailable is rounded down.",
            (max(surge - 1, 0), unavailable): "Surge is rounded up.",
            (0, 0): "Both 0 would never move: unavailable becomes 1.",
        },
    )
    return Draft(
        f"{about}. What do the two percentages or numbers come to? Answer with two numbers, surge first.",
        answer,
        f"Surge of {about.desired} by {about.max_surge}, rounded up: {surge}. Unavailable by {about.max_unavailable}, "
        f"rounded down: {scaled_value(about.max_unavailable, about.desired, round_up=False)}.{_bumped(about)}",
    )


def _bumped(about: Rollout) -> str:
    """A sentence where both came out as 0 and something was done about it."""
    alone = scaled_value(about.max_unavailable, about.desired, round_up=False)
    if about.fenceposts.unavailable == alone:
        return ""
    return " Both came out as 0, and nothing could ever move, so unavailable was raised to 1."


def _bounds(rng: random.Random) -> Draft:
    about = _about(rng)
    surge, unavailable = about.fenceposts
    most, least = about.desired + surge, about.desired - unavailable
    answer = numbers(
        [most, least],
        "Most is replicas plus surge, least is replicas minus unavailable.",
        {
            (least, most): "The other way round: asked is the most first.",
            (about.desired, least): "During the update there may be more than `replicas`: the surge.",
            (surge, unavailable): "Those are the surge and the unavailable ones; asked are numbers of Pods.",
        },
    )
    return Draft(
        f"{about}. During a rolling update, to how many replicas may the ReplicaSets add up at most, and how many Pods "
        "must stay available at least? Answer with two numbers.",
        answer,
        f"Surge {surge} (rounded up), unavailable {unavailable} (rounded down; 1 if both were 0): at most "
        f"{about.desired} + {surge} = {most}, at least {about.desired} - {unavailable} = {least}.",
    )


def _state(about: Rollout, old: Size, new: Size) -> str:
    rows = [(rs.name, rs.replicas, rs.available) for rs in (old, new)]
    return f"{about}.\n\n{table_block(rows, ('REPLICASET', 'REPLICAS', 'AVAILABLE'))}"


def _reached(rng: random.Random, about: Rollout) -> tuple[Size, Size]:
    """Some state of this rollout that really occurs, with some of the new Pods not available yet."""
    states = list(
        simulate(about.desired, about.fenceposts, [Size("old", about.desired, about.desired)], Size("new", 0, 0, 1))
    )
    sizes = rng.choice(states[:-1] or states)
    waiting = rng.randint(0, min(2, sizes["new"]))
    return Size("old", sizes["old"], sizes["old"]), Size("new", sizes["new"], sizes["new"] - waiting, 1)


def _next(rng: random.Random) -> Draft:
    about = _about(rng, 12)
    old, new = _reached(rng, about)
    right = _pair(next_sizes(about, [old], new))
    surge, unavailable = about.fenceposts
    most, least = about.desired + surge, about.desired - unavailable
    answer = numbers(
        right,
        f"At most {most} replicas together, at least {least} Pods available; one sync grows the new or shrinks "
        "the old.",
        {
            (0, about.desired): "That is the end of the rollout, not the next step.",
            (
                max(old.replicas - 1, 0),
                new.replicas + 1,
            ): "It does not go one by one: each step takes all there is room for.",
            (old.replicas, new.replicas): "There is room for a step.",
        },
    )
    room = min(most - old.replicas - new.replicas, about.desired - new.replicas)
    spare = old.available + new.available - least
    return Draft(
        f"{_state(about, old, new)}\n\nWhich replicas do the two have after the next sync? Answer with two numbers, "
        "`old` first.",
        answer,
        f"Up to {most} replicas are allowed, so the new one can grow by {max(room, 0)}. {least} Pods must stay "
        f"available, so {max(spare, 0)} may go. Growing comes first; only if the new one cannot grow does the old one "
        f"shrink. After the sync: old {right[0]}, new {right[1]}"
        f"{', as before: it waits for Pods to become available' if right == (old.replicas, new.replicas) else ''}.",
    )


def _all_steps(rng: random.Random) -> Draft:
    about = _about(rng, 10)
    steps = list(
        simulate(about.desired, about.fenceposts, [Size("old", about.desired, about.desired)], Size("new", 0, 0, 1))
    )
    path = ", ".join(f"{step['old']}/{step['new']}" for step in steps)
    answer = whole(
        len(steps) - 1,
        "Alternate: grow the new one as far as surge allows, shrink the old one as far as availability allows.",
        {
            len(steps): "Those are the states; the start is no change.",
            about.desired: "Not one Pod at a time.",
            2 * about.desired: "Not one Pod at a time.",
        },
    )
    return Draft(
        f"{about}. Every new Pod becomes available at once. How many times is a ReplicaSet's size changed until the "
        "rollout is done (each sync changes one of the two)?",
        answer,
        f"old/new: {path}. {len(steps) - 1} changes.",
    )


def _stuck(rng: random.Random) -> Draft:
    about = _about(rng, 12)
    path = stuck_sizes(about)
    old, new = path[-1]
    surge, unavailable = about.fenceposts
    answer = numbers(
        [old, new],
        "Grow and shrink until neither is allowed; new Pods take room but are never available.",
        {
            (0, about.desired): "The new Pods are never available, so the old ones may not all go.",
            (about.desired, 0): "It begins: there is room for the first step.",
            (about.desired, surge): "The old ones may also go down, by what `maxUnavailable` allows.",
            (about.desired - unavailable, surge): "The places of the old Pods that went are given to the new version.",
        },
    )
    return Draft(
        f"{about}. The new image does not exist, so none of its Pods ever becomes available. At which sizes does the "
        "rollout stop? Answer with two numbers, `old` first.",
        answer,
        f"old/new: {', '.join(f'{a}/{b}' for a, b in path)}. {about.desired} - {unavailable} old Pods must stay, and "
        f"all replicas together may be {about.desired + surge}: old {old}, new {new}. The old version goes on serving; "
        "nothing rolls back by itself.",
    )


def _scaled(rng: random.Random) -> Draft:
    before = Rollout(rng.choice([4, 6, 8, 10]), _some_share(rng), _some_share(rng))
    paths = stuck_sizes(before)
    old_count, new_count = paths[-1]
    annotation = before.desired + before.fenceposts.surge
    old = Size("old", old_count, old_count, 0, annotation)
    new = Size("new", new_count, 0, 1, annotation)
    about = before._replace(desired=rng.choice([before.desired * 2, before.desired + 5, before.desired + 10]))
    right = _pair(scaled_sizes(about, [old], new, old.replicas + new.replicas))
    more = about.desired - before.desired
    answer = numbers(
        right,
        "Everybody gets a share in proportion to its size; together they fill replicas plus surge.",
        {
            (
                old.replicas,
                new.replicas + more,
            ): "The new one does not get all of it: a bad version would get all the Pods.",
            (old.replicas + more, new.replicas): "The old one does not get all of it.",
            (old.replicas, new.replicas): "The new Pods are shared out at once, stuck or not.",
        },
    )
    return Draft(
        f"{_state(before, old, new)}\n\nThe rollout is stuck there, and somebody scales to `replicas: "
        f"{about.desired}`. "
        "Which sizes do the two ReplicaSets get? Answer with two numbers, `old` first.",
        answer,
        f"Allowed are {about.desired} + {about.fenceposts.surge} replicas, there are "
        f"{old.replicas + new.replicas}. Each "
        f"ReplicaSet is scaled by {about.desired + about.fenceposts.surge}/{annotation} and rounded, the larger first "
        "(of equals the newer); the last gets no more than is left, and the first what is left over. Old "
        f"{right[0]}, new {right[1]}.",
    )


def _sick_old(rng: random.Random) -> Draft:
    about = Rollout(rng.randint(4, 10), _some_share(rng), _some_share(rng))
    surge, unavailable = about.fenceposts
    sick = rng.randint(1, 3)
    old, new = Size("old", about.desired, about.desired - sick), Size("new", surge, 0, 1)
    right = _pair(next_sizes(about, [old], new))
    healthy = _pair(next_sizes(about, [old._replace(available=old.replicas)], new))
    answer = numbers(
        right,
        "Old Pods that are not available anyway go first, and count against what may be missing.",
        {
            healthy: "That is what would go if all old Pods were available.",
            (old.replicas - sick, surge): "No more Pods may be missing than `maxUnavailable` says, sick or not.",
            (old.replicas, surge): "Something may go.",
        },
    )
    return Draft(
        f"{_state(about, old, new)}\n\nWhich replicas do the two have after the next sync? Answer with two numbers, "
        "`old` first.",
        answer,
        f"{old.replicas + new.replicas} replicas are allowed and there, so the new one cannot grow. Of the old "
        "ones may "
        f"go: {old.replicas} + {new.replicas} - {about.desired - unavailable} (must stay) - {new.replicas} (new, not "
        f"available) = {unavailable}, unavailable ones first. Old {right[0]}, new {right[1]}.",
    )


KINDS: Sequence[Kind] = (
    Kind("resolved", 1, _FENCEPOSTS, _resolved),
    Kind("bounds", 1, f"{_ROLLING}, {_FENCEPOSTS}", _bounds),
    Kind("next", 2, f"{_ROLLING} (reconcileNewReplicaSet, reconcileOldReplicaSets)", _next),
    Kind("all-steps", 2, f"{_ROLLING} (rolloutRolling)", _all_steps),
    Kind("stuck", 3, f"{_ROLLING} (reconcileOldReplicaSets)", _stuck),
    Kind("sick-old", 3, f"{_ROLLING} (cleanupUnhealthyReplicas)", _sick_old),
    Kind("scaled", 3, "pkg/controller/deployment/sync.go (scale)", _scaled),
)


def rollout(rng: random.Random) -> Drill:
    """An exercise on the arithmetic of a rolling update."""
    return generate("rollout", KINDS, rng)
