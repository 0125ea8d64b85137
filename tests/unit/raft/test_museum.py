"""The museum's tools: lines that stand in place of others, and schedules that are carried out step by step."""

from __future__ import annotations

import pytest

from k8slab.raft import museum
from k8slab.raft.chaos import Schedule, Staged, generate, play
from k8slab.raft.log import Log
from k8slab.raft.museum import EXHIBITS, in_place, lines, show

WIDTH = 80
"""Of a cell's output in a page, in characters."""


@pytest.mark.parametrize("name", EXHIBITS)
def test_an_exhibit_shows_few_lines_by_the_name_of_what_they_replace(name: str) -> None:
    shown = lines(EXHIBITS[name].wrong)
    owner, attribute, value = EXHIBITS[name].wrong[0]
    assert shown.startswith(f"# {owner.__name__.split('.')[-1]}.{attribute} becomes\ndef {value.__name__}(")
    assert len(shown.split("\n")) <= 17
    assert max(map(len, shown.split("\n"))) <= WIDTH


def test_what_was_in_place_comes_back_also_after_an_error() -> None:
    right = Log.is_up_to_date
    with pytest.raises(ZeroDivisionError), in_place(EXHIBITS["log-not-compared"].wrong):
        assert Log.is_up_to_date is not right
        raise ZeroDivisionError
    assert Log.is_up_to_date is right


def test_an_unknown_exhibit_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="mona-lisa"):
        show("mona-lisa")


@pytest.mark.parametrize("name", [name for name in EXHIBITS if name != "cuts-what-agrees"])
def test_a_staged_schedule_is_the_same_to_the_byte(name: str) -> None:
    schedule = Schedule.parse(EXHIBITS[name].schedule)
    with in_place(EXHIBITS[name].wrong):
        staged = Staged(schedule)
        while staged.step():
            pass
        assert staged.trace.to_jsonl() == play(schedule, heal=False).trace.to_jsonl()


def test_a_staged_schedule_of_any_kind_is_the_same_to_the_byte() -> None:
    for seed in range(6):
        schedule = generate(seed)
        staged = Staged(schedule)
        while staged.step():
            pass
        assert staged.trace.to_jsonl() == play(schedule, heal=False).trace.to_jsonl(), seed
        assert staged.view() == staged.raft.view()


def test_every_exhibit_names_its_check_and_its_source() -> None:
    for exhibit in museum.EXHIBITS.values():
        assert exhibit.check and exhibit.source and exhibit.story.endswith(".")
