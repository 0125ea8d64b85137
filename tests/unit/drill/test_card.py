"""DrillCards: what a page gets, and what Python judges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from k8slab.drill import DrillCard
from k8slab.drill.card import drill_esm
from k8slab.progress import Progress
from k8slab.widgets import Score

JAVASCRIPT = 6 * 1024


def test_a_card_holds_a_dozen_easy_ones_first() -> None:
    card = DrillCard("quantities")
    assert len(card.drills) == 12
    assert [one.level for one in card.drills] == sorted(one.level for one in card.drills)
    assert sorted(int(one.seed) for one in card.drills) == list(range(1, 13))
    assert len({one.kind for one in card.drills}) >= 5


def test_a_text_seed_is_numbered() -> None:
    assert {one.seed for one in DrillCard("rollout", "deep", 3).drills} == {"deep-1", "deep-2", "deep-3"}


@pytest.mark.parametrize("count", [0, -1, 51])
def test_the_count_has_bounds(count: int) -> None:
    with pytest.raises(ValueError, match=f"count {count}: expected 1 to 50"):
        DrillCard("rollout", 1, count)


def test_an_unknown_topic_is_named() -> None:
    with pytest.raises(ValueError, match="topic 'paxos': expected one of"):
        DrillCard("paxos")


def test_the_page_gets_what_it_needs_to_judge_alone() -> None:
    card = DrillCard("selectors", 1, 3)
    page = json.loads(card.widget().card)
    assert (page["topic"], page["title"]) == ("selectors", "Label selectors")
    for one, shown in zip(card.drills, page["drills"], strict=True):
        assert shown["right"] == list(one.judge.spellings)
        assert shown["wrong"] == one.judge.foreseen()
        assert (shown["answer"], shown["why"], shown["seed"]) == (one.answer, one.explanation, one.seed)
    assert len(DrillCard("selectors")._json().encode()) < 40_000


def test_python_judges_what_the_page_does_not_know() -> None:
    card = DrillCard("quantities", 1, 4)
    one, model = card.drills[0], card.widget()
    model.asked = {"n": 7, "seed": one.seed, "text": one.answer}
    assert model.verdict == {"n": 7, "right": True, "message": "Right.", "counts": True}
    model.asked = {"n": 8, "seed": one.seed, "text": one.judge.mistakes[0].text}
    assert [model.verdict[key] for key in ("n", "right", "counts")] == [8, False, True]
    model.asked = {"n": 9, "seed": one.seed, "text": "x" * 500}
    assert [model.verdict[key] for key in ("n", "right", "counts")] == [9, False, False]
    assert card.score == Score(0, 4)
    model.tried = {one.seed: True, card.drills[1].seed: False}
    assert str(card.score) == "1 of 4"


def test_what_is_answered_on_a_live_card_is_in_the_readers_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("K8SLAB_HOME", str(tmp_path))
    card = DrillCard("quantities", 1, 4)
    one, two = (drill.seed for drill in card.drills[:2])

    def answer(tried: dict[str, bool], tries: dict[str, int]) -> None:
        card.widget().set_state({"tried": tried, "tries": tries})  # as a message of the page does

    answer({one: False}, {one: 1})
    answer({one: False}, {one: 2})
    answer({one: True}, {one: 3})
    answer({one: True, two: False}, {one: 3, two: 1})
    assert [row[:3] for row in Progress().summary().rows] == [("drill", "quantities", "1 right of 2, 4 tries")]


def test_the_repr_is_stable_and_the_text_has_all_questions() -> None:
    card = DrillCard("scores", 3, 2)
    assert repr(card) == "DrillCard('scores', 2 exercises)"
    assert repr(DrillCard("scores", 3, 1)) == "DrillCard('scores', 1 exercise)"
    assert card._repr_mimebundle_()["text/plain"] == repr(card)
    assert all(one.question in str(card) for one in card.drills)


def test_the_script_is_small_and_can_stand_in_a_page() -> None:
    script = drill_esm()
    own = script[script.index("let cards") :]
    assert len(own.encode()) <= JAVASCRIPT
    assert "</script" not in script
    assert script.count("export default") == 1
