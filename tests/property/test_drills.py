"""Drills over many seeds: the right answer is right, wrong ones are wrong, nothing crashes, equal seeds are equal."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from k8slab.drill import TITLES, TOPICS, Drill, drill
from k8slab.drill.answers import FORMS, normal
from tests.counts import examples
from tests.property import (
    drill_twins,
    drill_twins_addresses,
    drill_twins_admission,
    drill_twins_etcd,
    drill_twins_gpus,
    drill_twins_node,
    drill_twins_node_autoscaling,
    drill_twins_scaling,
    drill_twins_scheduling,
)

TWINS = (
    drill_twins.TWINS
    | drill_twins_addresses.TWINS
    | drill_twins_admission.TWINS
    | drill_twins_etcd.TWINS
    | drill_twins_gpus.TWINS
    | drill_twins_node.TWINS
    | drill_twins_node_autoscaling.TWINS
    | drill_twins_scaling.TWINS
    | drill_twins_scheduling.TWINS
)

SEEDS = range(examples(300, 3000))
each_topic = pytest.mark.parametrize("topic", TOPICS)
GARBAGE = [
    "",
    " ",
    "?",
    "`",
    "0x10",
    "NaN",
    "1e999",
    "٣",
    "\U0001d7d9",
    "\0",
    "-",
    "--",
    ",,,",
    "(",
    "a b c d",
    "null",
    "9" * 399,
]


@cache
def drills(topic: str) -> list[Drill]:
    return [drill(topic, seed) for seed in SEEDS]


@each_topic
def test_the_right_answer_is_right_in_every_spelling(topic: str) -> None:
    for one in drills(topic):
        for text in (one.answer, f"  {one.answer} ", f"`{one.answer}`", *one.judge.spellings):
            assert one.check(text).right, (one.seed, one.kind, text, one.check(text).message)


@each_topic
def test_wrong_answers_are_wrong_and_told_why(topic: str) -> None:
    for one in drills(topic):
        for text in wrong_answers(one):
            verdict = one.check(text)
            assert not verdict.right, (one.seed, one.kind, text)
            assert 10 < len(verdict.message) < 400, (one.seed, one.kind, text, verdict.message)
        for text, why in one.judge.mistakes:
            assert one.check(text).message == why, (one.seed, one.kind, text)


def wrong_answers(one: Drill) -> list[str]:
    """Foreseen mistakes, and answers beside the right one."""
    found = [mistake.text for mistake in one.judge.mistakes]
    if re.fullmatch(r"-?\d+", one.answer):
        found += [str(int(one.answer) + n) for n in (-1, 1)] if one.judge.form == "fold" else []
    if one.judge.form.endswith("list"):
        found.append(f"{one.answer}, {one.answer.split(', ')[-1]}")
    if one.answer in ("yes", "no"):
        found.append("no" if one.answer == "yes" else "yes")
    return found


@each_topic
def test_second_opinions_agree(topic: str) -> None:
    asked: Counter[str] = Counter()
    for one in drills(topic):
        twin = TWINS.get((topic, one.kind))
        if twin is not None:
            text = twin(one.question)
            assert one.check(text).right, (one.seed, one.kind, text, one.answer, one.question)
            asked[one.kind] += 1
    assert len(asked) >= 5
    assert min(asked.values()) >= 3


@each_topic
def test_garbage_is_no_answer_and_no_crash(topic: str) -> None:
    for one in drills(topic)[:100]:
        for text in GARBAGE:
            verdict = one.check(text)
            assert verdict.message
            assert not verdict.right or (text == "-" and one.answer == "none"), (one.seed, one.kind, text)


@settings(deadline=None, max_examples=examples(200))
@given(st.sampled_from(list(TOPICS)), st.integers(0, 60), st.text(max_size=60))
def test_any_text_can_be_judged(topic: str, number: int, text: str) -> None:
    verdict = drills(topic)[number].check(text)
    assert isinstance(verdict.right, bool) and verdict.message


@each_topic
def test_questions_are_varied_and_of_all_levels(topic: str) -> None:
    found = drills(topic)
    kinds = Counter(one.kind for one in found)
    assert len(kinds) >= 6
    assert min(kinds.values()) >= len(found) / len(kinds) / 4
    assert {one.level for one in found} == {1, 2, 3}
    assert len({one.question for one in found[:300]}) >= 150
    assert any(len({one.answer for one in found if one.kind == kind}) > 5 for kind in kinds)


@each_topic
def test_texts_have_sane_lengths_and_whole_blocks(topic: str) -> None:
    for one in drills(topic):
        where = (one.seed, one.kind)
        assert 20 <= len(one.question) <= 2500, where
        assert 1 <= len(one.answer) <= 120, where
        assert 60 <= len(one.explanation) <= 2500, where
        for text in (one.question, one.explanation):
            assert text.count("```") % 2 == 0, where
            assert max(map(len, text.split("\n"))) <= 800, where
            assert text == text.strip() and "  \n" not in text, where
            assert not re.search(r"\bNone\b|Fraction\(|Quantity\(|<class|Counter|\{'", text), (where, text)
        assert re.search(r"Upstream: `[\w./ ,()-]+`$", one.explanation), where
        assert ".go" in one.explanation.rsplit("Upstream: ", 1)[1], where
        assert one.judge.form in FORMS


@each_topic
def test_a_page_that_compares_spellings_judges_as_python_does(topic: str) -> None:
    for one in drills(topic):
        assert normal(one.answer, one.judge.form) == one.judge.spellings[0]
        for text in one.judge.foreseen():
            assert text not in one.judge.spellings, (one.seed, one.kind, text)
            assert not one.check(text).right


@each_topic
def test_some_wrong_answer_is_foreseen_for_most_questions(topic: str) -> None:
    foreseen = [one for one in drills(topic) if one.judge.mistakes]
    assert len(foreseen) >= 0.7 * len(drills(topic))


FINGERPRINT = """
import hashlib
from k8slab.drill import TOPICS, drill
made = [repr((d.kind, d.question, d.answer, d.explanation, d.judge.spellings, d.judge.mistakes))
        for topic in TOPICS for d in (drill(topic, seed) for seed in [*range(25), "deep", "deep-2"])]
print(hashlib.sha256("".join(made).encode()).hexdigest())
"""


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4711")
    }
    assert len(found) == 1
    assert len(found.pop().strip()) == len(hashlib.sha256().hexdigest())


def test_every_topic_has_a_title() -> None:
    assert list(TITLES) == list(TOPICS)
