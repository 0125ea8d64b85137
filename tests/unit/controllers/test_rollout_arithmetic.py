"""The numbers of a rollout: fenceposts, shares, steps."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.intstr import scaled_value
from k8slab.controllers.deployment.fenceposts import Fenceposts, fenceposts_of, resolve_fenceposts
from k8slab.controllers.deployment.proportional import find_active_or_latest, proportional_sizes
from k8slab.controllers.deployment.rolling import new_replica_set_size, old_replica_set_sizes, simulate
from k8slab.controllers.deployment.sizes import Resize, Size, by_size_newer, by_size_older


@pytest.mark.parametrize(
    ("surge", "unavailable", "desired", "expected"),
    [
        # the examples of ResolveFenceposts' comment upstream
        pytest.param("0%", "1%", 2, (0, 1), id="two zeros by rounding make one unavailable"),
        pytest.param("1%", "25%", 2, (1, 0), id="a surge of 1% of two is one Pod"),
        pytest.param("1%", "0%", 1, (1, 0), id="a surge of 1% of one is one Pod"),
        pytest.param(None, None, 5, (0, 1), id="nothing given counts as two zeros"),
        pytest.param("25%", "25%", 4, (1, 1), id="the defaults for four replicas"),
        pytest.param("25%", "25%", 10, (3, 2), id="surge is rounded up and unavailable down"),
    ],
)
def test_fenceposts(surge: Any, unavailable: Any, desired: int, expected: tuple[int, int]) -> None:
    assert resolve_fenceposts(surge, unavailable, desired) == expected


def test_a_percentage_of_a_text_without_percent_sign_is_an_error_with_upstreams_words() -> None:
    with pytest.raises(ValueError, match="invalid type: string is not a percentage"):
        scaled_value("3", 10, round_up=True)


def test_a_percentage_that_is_no_number_is_quoted_as_go_quotes() -> None:
    text = r'invalid value "\"x\"%": strconv.Atoi: parsing "\"x\"": invalid syntax'
    with pytest.raises(ValueError) as caught:
        scaled_value('"x"%', 10, round_up=True)
    assert str(caught.value) == f"invalid value for IntOrString: {text}"


@pytest.mark.parametrize(
    ("strategy", "replicas", "expected"),
    [
        pytest.param({"type": "Recreate"}, 5, (0, 0), id="recreate has no fenceposts"),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 7}},
            3,
            (1, 3),
            id="no more can be unavailable than there are",
        ),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
            0,
            (1, 0),
            id="none of zero replicas can be unavailable",
        ),
    ],
)
def test_fenceposts_of_a_deployment(strategy: Any, replicas: int, expected: tuple[int, int]) -> None:
    assert fenceposts_of({"spec": {"replicas": replicas, "strategy": strategy}}) == expected


def test_a_rollout_of_four_goes_as_the_surprises_page_says() -> None:
    steps = list(simulate(4, Fenceposts(1, 1), [Size("old", 4, 4, 1)], Size("new", 0, 0, 2)))
    assert [(step["old"], step["new"]) for step in steps] == [(4, 0), (4, 1), (2, 1), (2, 3), (0, 3), (0, 4)]


def test_a_broken_new_version_never_eats_up_the_old_one() -> None:
    """10 replicas, surge 3, unavailable 2 (case 1 of upstream's comment in rolling.go): none of the new ever start."""
    old, new = Size("old", 8, 8, 1), Size("new", 5, 0, 2)
    assert old_replica_set_sizes(10, 2, [old], new).resizes == []
    one_failed = old._replace(available=7)
    assert old_replica_set_sizes(10, 2, [one_failed], new).resizes == []


def test_rolling_back_from_a_broken_version_takes_its_pods_first() -> None:
    """The same comment goes on: after `rollout undo` the healthy ReplicaSet is the new one; 4 of the 5 can go."""
    broken, healthy = Size("broken", 5, 0, 2), Size("healthy", 8, 7, 1)
    sizes = old_replica_set_sizes(10, 2, [broken], healthy)
    assert sizes.resizes == [Resize("broken", 1)]
    assert sizes.scaled


def test_rolling_over_scales_down_both_old_replica_sets() -> None:
    """Case 2 of the comment: a third version starts with 0 of 13 Pods; five of the old ones can go."""
    oldest, broken, newest = Size("oldest", 8, 8, 1), Size("broken", 5, 0, 2), Size("newest", 0, 0, 3)
    assert new_replica_set_size(10, 3, [oldest, broken, newest], newest) == 0
    assert old_replica_set_sizes(10, 2, [oldest, broken], newest).resizes == [Resize("broken", 0)]


def test_a_status_ahead_of_the_spec_is_left_for_the_next_sync() -> None:
    """A ReplicaSet just scaled down still reports more available Pods than it wants: upstream refuses it."""
    sizes = old_replica_set_sizes(10, 2, [Size("old", 4, 10, 1)], Size("new", 8, 8, 2))
    assert sizes == ([], False)


def test_the_new_replica_set_is_scaled_down_when_the_deployment_was() -> None:
    new = Size("new", 7, 7, 1)
    assert new_replica_set_size(5, 1, [new], new) == 5


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(None, [], None, id="there is none"),
        pytest.param(Size("new", 0), [Size("a", 0, created=1)], "new", id="none is active: the new one"),
        pytest.param(
            None, [Size("a", 0, created=1), Size("b", 0, created=2)], "b", id="none active, no new: the newest"
        ),
        pytest.param(Size("new", 0), [Size("a", 3, created=1)], "a", id="the only active one, though it is old"),
        pytest.param(Size("new", 2), [Size("a", 3, created=1)], None, id="two are active: they share"),
    ],
)
def test_find_active_or_latest(new: Size | None, old: list[Size], expected: str | None) -> None:
    found = find_active_or_latest(new, old)
    assert (found.name if found else None) == expected


def test_a_deployment_scaled_in_mid_rollout_keeps_the_proportions() -> None:
    """10 → 15 with surge 3 while 8 are old and 5 new: 18 / 13 of each, 11.08 and 6.92, rounded: no leftover."""
    sets = [Size("old", 8, 8, 1, max_replicas=13), Size("new", 5, 5, 2, max_replicas=13)]
    assert dict(proportional_sizes(15, 3, 13, sets)) == {"old": 11, "new": 7}


def test_what_rounding_leaves_over_goes_to_the_largest() -> None:
    """3 ReplicaSets of 1 scaled from 3 to 10 without surge: 3.33 each rounds to 3, one is left."""
    sets = [Size(name, 1, 1, created, max_replicas=3) for created, name in enumerate("abc")]
    assert proportional_sizes(10, 0, 3, sets) == [Resize("c", 4), Resize("b", 3), Resize("a", 3)]


def test_scaling_to_zero_takes_everything() -> None:
    sets = [Size("old", 8, 8, 1, max_replicas=13), Size("new", 5, 5, 2, max_replicas=13)]
    assert proportional_sizes(0, 3, 13, sets) == [Resize("old", 0), Resize("new", 0)]


def test_without_the_annotation_the_status_is_the_base_and_without_both_nothing_changes_but_the_leftover() -> None:
    sets = [Size("old", 4, 4, 1), Size("new", 2, 2, 2)]
    assert dict(proportional_sizes(12, 0, 6, sets)) == {"old": 8, "new": 4}
    assert dict(proportional_sizes(12, 0, 0, sets)) == {"old": 10, "new": 2}


def test_equal_sizes_are_ordered_by_age_in_the_direction_of_the_scaling() -> None:
    older, newer = Size("older", 3, created=1), Size("newer", 3, created=2)
    assert [rs.name for rs in by_size_newer([older, newer])] == ["newer", "older"]
    assert [rs.name for rs in by_size_older([newer, older])] == ["older", "newer"]
