"""Topics, seeds, and the names of the package."""

from __future__ import annotations

import pytest

from k8slab.drill import TOPICS, drill


def test_the_topics_are_those_of_the_book() -> None:
    assert list(TOPICS) == [
        "quantities", "selectors", "requests-qos", "resource-version", "admission", "workqueue-delays", "rollout",
        "filters", "scores", "failed-scheduling", "preemption", "eviction", "raft", "mvcc", "addresses", "hpa",
        "node-autoscaling",
        "gpus",
    ]  # fmt: skip


def test_an_exercise_knows_its_topic_and_seed() -> None:
    one = drill("rollout", 12)
    assert (one.topic, one.seed) == ("rollout", "12")
    assert one == drill("rollout", "12") != drill("rollout", "13")
    assert drill("rollout", "twelve") == drill("rollout", "twelve")


def test_an_unknown_topic_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"topic 'paxos': expected one of quantities, selectors, .*, gpus"):
        drill("paxos")


@pytest.mark.parametrize("seed", ["", "x" * 65, "a\nb", "\0"])
def test_a_seed_is_short_and_printable(seed: str) -> None:
    with pytest.raises(ValueError, match="expected a number, or 1 to 64 printable characters"):
        drill("scores", seed)


@pytest.mark.parametrize("seed", [0, -5, 10**60, "a b", "größe"])
def test_any_number_or_short_text_is_a_seed(seed: int | str) -> None:
    assert drill("quantities", seed).seed == str(seed)
