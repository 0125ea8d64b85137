"""Drills on node autoscaling: what a wrong form is told, and cases whose answers upstream's FAQ gives."""

from __future__ import annotations

import random

import pytest

from k8slab.autoscaling.cluster_autoscaler import BlockingReason
from k8slab.drill.exercise import Draft
from k8slab.drill.node_autoscaling import KINDS


def asking(kind: str, *words: str) -> Draft:
    """The first question of a kind that holds these words."""
    (draft,) = (one.draft for one in KINDS if one.name == kind)
    every = (draft(random.Random(seed)) for seed in range(2_000))
    return next(one for one in every if all(word in one.question for word in words))


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        ("estimate", "several", "expected a whole number"),
        ("balance", "3, 4", "expected 3 whole numbers"),
        ("blocker", "perhaps", "expected one of may go, NotReplicated"),
        ("together", "a, z", "'z' is none of a, b, c, d"),
        ("when", "soon", "expected a whole number"),
    ],
)
def test_a_wrong_form_is_told_what_was_expected(kind: str, given: str, says: str) -> None:
    verdict = asking(kind).answer.check(given)
    assert not verdict.right
    assert verdict.message.startswith("Not an answer to this question") and says in verdict.message


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("owner", "a DaemonSet"), "may go"),
        (("safe-to-evict   true",), "may go"),
        (("OF THIS POD\nowner   nobody\n```",), "NotReplicated"),
        (("OF THIS POD\nnamespace   kube-system, 10 minutes old\n```",), "UnmovableKubeSystemPod"),
        (("OF THIS POD\nnamespace   kube-system, 90 minutes old\n```",), "may go"),
        (("OF THIS POD\nvolume   emptyDir in memory\n```",), "may go"),
    ],
    ids=[
        "a DaemonSet's Pod holds nothing",
        "true overrules what follows",
        "nobody's Pod holds",
        "kube-system holds in its first hour",
        "kube-system lets go after it",
        "memory is no local storage",
    ],
)
def test_the_faqs_list_of_what_prevents_a_removal(words: tuple[str, ...], answer: str) -> None:
    assert asking("blocker", *words).answer.canonical == answer


def test_answers_are_the_autoscalers_own_words() -> None:
    (draft,) = (one.draft for one in KINDS if one.name == "blocker")
    found = {draft(random.Random(seed)).answer.canonical for seed in range(300)}
    assert found - {"may go"} <= {one.value for one in BlockingReason}
    assert len(found) >= 5
