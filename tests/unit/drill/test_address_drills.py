"""Drills on addresses: what a wrong form is told, and cases whose answers upstream's documents give."""

from __future__ import annotations

import pytest

from k8slab.drill import Drill, drill
from k8slab.drill.addresses import KINDS


def first(kind: str) -> Drill:
    """The exercise of a kind with the smallest seed."""
    return next(one for one in (drill("addresses", seed) for seed in range(500)) if one.kind == kind)


def asking(kind: str, *words: str) -> Drill:
    """The exercise of a kind with the smallest seed whose question holds these words."""
    every = (drill("addresses", seed) for seed in range(5_000))
    return next(one for one in every if one.kind == kind and all(word in one.question for word in words))


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        ("usable", "many", "expected a whole number"),
        ("next", "10.244.0.2", "expected a whole number"),
        ("until-the-band", "perhaps", "expected one of yes, no"),
        ("cluster-ip", "409", "expected one of yes, no"),
        ("source", "the moon", "expected one of its own block, a new block, another node's block, nowhere"),
    ],
)
def test_a_wrong_form_is_told_what_was_expected(kind: str, given: str, says: str) -> None:
    verdict = first(kind).check(given)
    assert not verdict.right
    assert verdict.message.startswith("Not an answer to this question") and says in verdict.message


@pytest.mark.parametrize(
    ("kind", "words", "answer"),
    [
        pytest.param("band", ("10.96.0.0/20`",), "256", id="KEP-3070: 256 of a /20"),
        pytest.param("band", ("10.96.0.0/24`",), "16", id="KEP-3070: 16 of a /24"),
        pytest.param("band", ("(2768 ports)",), "86", id="KEP-3668: 86 of the default node ports"),
        pytest.param("cluster-ip", ("10.96.0.255`",), "no", id="the last address of a Service range"),
        pytest.param("cluster-ip", ("RequireDualStack",), "no", id="two families on a cluster with one"),
        pytest.param("cluster-ip", ("PreferDualStack",), "yes", id="who prefers two families takes one"),
        pytest.param("usable", ("/24`",), "253", id="host-local's README: .2 to .254 of a /24"),
    ],
)
def test_what_upstream_says_is_what_is_answered(kind: str, words: tuple[str, ...], answer: str) -> None:
    assert asking(kind, *words).answer == answer


def test_mistakes_are_told_apart() -> None:
    one = first("usable")
    size = int(one.answer) + 3
    assert "The bridge has one as well" in one.check(str(size - 2)).message
    again = asking("next", "DEL")
    assert any("lowest free one" in mistake.why for mistake in again.judge.mistakes) or again.answer == "2"


def test_every_kind_names_its_source() -> None:
    assert len(KINDS) == 11 and all(kind.source for kind in KINDS)
