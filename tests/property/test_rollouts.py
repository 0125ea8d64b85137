"""Rollouts against a naive twin that moves one Pod at a time, and against their promises under any luck."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.controllers.deployment.fenceposts import Fenceposts, resolve_fenceposts
from k8slab.controllers.deployment.proportional import proportional_sizes
from k8slab.controllers.deployment.rolling import new_replica_set_size, old_replica_set_sizes, simulate
from k8slab.controllers.deployment.sizes import Size
from tests.counts import examples

numbers_or_percentages = st.one_of(st.integers(0, 20), st.integers(0, 120).map(lambda n: f"{n}%"))
replicas = st.integers(0, 30)
old_sizes = st.lists(st.integers(0, 15), min_size=1, max_size=3)


def fenceposts(surge: int | str, unavailable: int | str, desired: int) -> Fenceposts:
    found = resolve_fenceposts(surge, unavailable, desired)
    return Fenceposts(found.surge, min(found.unavailable, desired))


def one_by_one(desired: int, posts: Fenceposts, sizes: dict[str, int]) -> list[dict[str, int]]:
    """The twin: every Pod is available at once; add one, or if that never happened remove one, as long as allowed.
    `sizes` has the old ReplicaSets, oldest first, and `new` last."""
    history = [dict(sizes)]
    while True:
        before = dict(sizes)
        while sizes["new"] < desired and sum(sizes.values()) < desired + posts.surge:
            sizes["new"] += 1
        while sizes["new"] > desired:
            sizes["new"] -= 1
        if sizes == before:
            for name in [name for name in sizes if name != "new"]:
                while sizes[name] > 0 and sum(sizes.values()) > desired - posts.unavailable:
                    sizes[name] -= 1
        if sizes == before:
            return history
        history.append(dict(sizes))


@settings(max_examples=examples(300))
@given(
    replicas,
    numbers_or_percentages,
    numbers_or_percentages,
    st.lists(st.integers(0, 15), min_size=1, max_size=3),
    replicas,
)
def test_a_lucky_rollout_is_the_twins(
    desired: int, surge: int | str, unavailable: int | str, old: list[int], started: int
) -> None:
    posts = fenceposts(surge, unavailable, desired)
    sets = [Size(f"old{index}", size, size, index) for index, size in enumerate(old)]
    steps = list(simulate(desired, posts, sets, Size("new", started, started, 99)))
    twin = one_by_one(desired, posts, {**{rs.name: rs.replicas for rs in sets}, "new": started})
    assert steps == twin
    assert steps[-1] == {**{rs.name: 0 for rs in sets}, "new": desired}


@settings(max_examples=examples(300))
@given(st.data(), st.integers(1, 20), numbers_or_percentages, numbers_or_percentages)
def test_whatever_fails_the_bounds_hold_and_it_ends_when_pods_work_again(
    data: st.DataObject, desired: int, surge: int | str, unavailable: int | str
) -> None:
    """Pods become available or fail at random between syncs. The sum of spec.replicas never exceeds replicas + surge;
    a sync never takes available Pods below replicas - unavailable."""
    posts = fenceposts(surge, unavailable, desired)
    sets = {"old": Size("old", desired, desired, 1), "new": Size("new", 0, 0, 2)}
    for _ in range(data.draw(st.integers(0, 12), label="syncs under bad luck")):
        sets = _sync(desired, posts, sets)
        for name, rs in sets.items():
            sets[name] = rs._replace(available=data.draw(st.integers(0, rs.replicas), label=f"available {name}"))
    for _ in range(2 * desired + 10):
        sets = {name: rs._replace(available=rs.replicas) for name, rs in sets.items()}
        sets = _sync(desired, posts, sets)
    assert {name: rs.replicas for name, rs in sets.items()} == {"old": 0, "new": desired}


def _sync(desired: int, posts: Fenceposts, sets: dict[str, Size]) -> dict[str, Size]:
    """One sync, checking the bounds. Of a ReplicaSet that shrinks, the Pods that are not available go first."""
    sets = dict(sets)
    size = new_replica_set_size(desired, posts.surge, list(sets.values()), sets["new"])
    if size != sets["new"].replicas:
        sets["new"] = sets["new"]._replace(replicas=size)
        assert sum(rs.replicas for rs in sets.values()) <= desired + posts.surge
        return sets
    available = sum(rs.available for rs in sets.values())
    for name, smaller in old_replica_set_sizes(desired, posts.unavailable, [sets["old"]], sets["new"]).resizes:
        assert 0 <= smaller < sets[name].replicas
        sets[name] = sets[name]._replace(replicas=smaller, available=min(smaller, sets[name].available))
    left = sum(rs.available for rs in sets.values())
    assert left >= min(available, desired - posts.unavailable)
    assert sum(rs.replicas for rs in sets.values()) <= desired + posts.surge
    return sets


@settings(max_examples=examples(300))
@given(
    st.integers(0, 60),
    st.integers(0, 20),
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 3), st.integers(1, 60)), min_size=2, max_size=5),
)
def test_proportional_scaling_hits_its_total_and_never_goes_against_the_direction(
    desired: int, surge: int, found: list[tuple[int, int, int]]
) -> None:
    sets = [Size(f"rs{i}", size, 0, created, highest) for i, (size, created, highest) in enumerate(found)]
    before = {rs.name: rs.replicas for rs in sets}
    after = dict(proportional_sizes(desired, surge, sum(before.values()), sets))
    allowed = desired + surge if desired else 0
    change = allowed - sum(before.values())
    assert after.keys() == before.keys()
    assert all(size >= 0 for size in after.values())
    # what rounding leaves over is added to the largest one, and cut at zero there
    assert sum(after.values()) == allowed or (change < 0 and 0 in after.values() and sum(after.values()) > allowed)
