"""The DrillCard on a page without a kernel: answering, going on, the answer, by mouse and keyboard, accessibility."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from k8slab.drill import TOPICS, DrillCard
from k8slab.drill.answers import normal
from tests.browser.visits import (
    PHONE,
    Visitor,
    axe_violations,
    both_sizes,
    both_themes,
    focused,
    looks_well,
    widgets_drawn,
)
from tests.browser.widget_pages import write_page

CARD = DrillCard("quantities")
FIRST, SECOND = CARD.drills[:2]
WRITE = next(n for n, one in enumerate(DrillCard("selectors", 1, 50).drills) if one.kind == "write")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return write_page(tmp_path / "drill.html", [CARD, DrillCard("selectors", 1, 50)])


def card(page: Page, number: int = 0) -> Locator:
    widgets_drawn(page)
    return page.locator(".k8slab-widget").nth(number)


def says(root: Locator) -> str:
    return root.get_by_role("status").inner_text()


def plain(markdown: str) -> str:
    return markdown.replace("`", "")


def test_a_right_answer_is_told_and_explained(address: str, visit: Visitor) -> None:
    root = card(visit(address).page)
    assert root.locator(".task").inner_text().startswith(plain(FIRST.question)[:40])
    assert root.get_by_text(f"Exercise 1 of 12, level 1 of 3, seed {FIRST.seed}").is_visible()
    assert not root.locator(".why").is_visible()
    root.get_by_label("Your answer").fill(f" {FIRST.answer} ")
    root.get_by_role("button", name="Check").click()
    assert says(root) == "Right."
    assert f"Answer: {FIRST.answer}" in root.locator(".why").inner_text()
    assert root.get_by_text("1 right of 1 tried").is_visible()


def test_a_foreseen_mistake_is_told_what_it_confused(address: str, visit: Visitor) -> None:
    root = card(visit(address).page)
    mistake = FIRST.judge.mistakes[0]
    root.get_by_label("Your answer").fill(mistake.text)
    root.get_by_role("button", name="Check").click()
    assert says(root) == plain(mistake.why)
    assert not root.locator(".why").is_visible()
    assert root.get_by_text("0 right of 1 tried").is_visible()


def test_another_wrong_answer_gets_the_hint_and_may_be_corrected(address: str, visit: Visitor) -> None:
    root = card(visit(address).page)
    root.get_by_role("button", name="Check").click()
    assert says(root) == "Write an answer first."
    root.get_by_label("Your answer").fill("rubbish")
    root.get_by_role("button", name="Check").click()
    assert says(root).startswith(plain(FIRST.judge.hint))
    assert "compares spellings" in says(root)
    root.get_by_label("Your answer").fill(FIRST.judge.spellings[-1])
    root.get_by_role("button", name="Check").click()
    assert says(root) == "Right."


def test_one_goes_on_and_back_with_the_keyboard(address: str, visit: Visitor) -> None:
    page = visit(address).page
    root = card(page)
    root.get_by_label("Your answer").focus()
    page.keyboard.type(FIRST.answer)
    page.keyboard.press("Enter")
    assert says(root) == "Right."
    for _ in range(4):  # Check, Show the answer, Back, Next
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert root.locator(".task").inner_text().startswith(plain(SECOND.question)[:30])
    assert says(root) == ""
    expect(root.get_by_label("Your answer")).to_be_focused()
    assert root.get_by_label("Your answer").input_value() == ""
    root.get_by_role("button", name="Back").click()
    assert root.locator(".task").inner_text().startswith(plain(FIRST.question)[:30])


def test_the_focus_goes_through_the_card_in_order_and_is_seen(address: str, visit: Visitor) -> None:
    page = visit(address).page
    root = card(page)
    root.get_by_label("Your answer").focus()
    stops = [focused(page)]
    for _ in range(4):
        page.keyboard.press("Tab")
        stops.append(focused(page))
    assert [name for name, _ in stops] == ["Your answer", "Check", "Show the answer", "Back", "Next"]
    assert min(outline for _, outline in stops) >= 2


def test_a_screen_reader_hears_the_exercise_at_the_field_and_the_verdict_in_a_live_region(
    address: str, visit: Visitor
) -> None:
    page = visit(address).page
    root = card(page)
    field, status = root.get_by_label("Your answer"), root.get_by_role("status").element_handle()
    assert status is not None and status.inner_text() == "", "the region is there before it speaks"
    begins = re.escape(plain(FIRST.question)[:40])
    expect(field).to_have_accessible_description(re.compile(f"Exercise 1 of 12, level 1 of 3, seed .* {begins}"))
    field.fill(FIRST.answer)
    page.keyboard.press("Enter")
    assert status.inner_text() == "Right."
    shown = root.get_by_role("button", name="Hide the answer")
    expect(shown).to_have_attribute("aria-expanded", "true")
    root.get_by_role("button", name="Next").press("Enter")
    begins = re.escape(plain(SECOND.question)[:30])
    expect(field).to_have_accessible_description(re.compile(f"Exercise 2 of 12, .* {begins}"))
    expect(field).to_be_focused()
    assert status.inner_text() == ""


def test_tries_are_counted_and_right_once_stays_right(address: str, visit: Visitor) -> None:
    root = card(visit(address).page)
    for answer, score in [
        (FIRST.judge.mistakes[0].text, "0 right of 1 tried"),
        (FIRST.answer, "1 right of 1 tried, 2 tries"),
        (FIRST.judge.mistakes[0].text, "1 right of 1 tried, 3 tries"),
    ]:
        root.get_by_label("Your answer").fill(answer)
        root.get_by_role("button", name="Check").click()
        expect(root.locator(".head .mute")).to_have_text(score)


def test_the_ends_are_marked_and_do_nothing(address: str, visit: Visitor) -> None:
    root = card(visit(address).page)
    back, forth = root.get_by_role("button", name="Back"), root.get_by_role("button", name="Next")
    assert back.get_attribute("aria-disabled") == "true"
    back.click(force=True)
    assert root.get_by_text("Exercise 1 of 12").is_visible()
    for _ in range(14):
        forth.click(force=True)
    assert root.get_by_text("Exercise 12 of 12").is_visible()
    assert forth.get_attribute("aria-disabled") == "true"


def test_the_answer_can_be_shown_and_hidden(address: str, visit: Visitor) -> None:
    root = card(visit(address).page)
    root.get_by_role("button", name="Show the answer").click()
    assert "Upstream: " in root.locator(".why").inner_text()
    root.get_by_role("button", name="Hide the answer").click()
    assert not root.locator(".why").is_visible()


def test_an_answer_that_has_to_be_run_is_sent_to_the_shell(address: str, visit: Visitor) -> None:
    root = card(visit(address).page, 1)
    for _ in range(WRITE):
        root.get_by_role("button", name="Next").click()
    root.get_by_label("Your answer").fill("app,!app")
    root.get_by_role("button", name="Check").click()
    assert says(root).startswith("This page cannot run your answer. Try it in the shell: k8slab drill selectors --seed")


NORMAL = [
    ("  `web`, DB\t db ", "set"),
    ("b a;a", "list"),
    ("'Yes' ", "fold"),
    ('"1.50  Gi"', "exact"),
    (",,", "set"),
    ("ADDED/a, deleted/B", "list"),
    ("web and db.", "set"),
    ("web -> db → x", "list"),
    ("ACDB", "letter-list"),
    ("A > C > D > B", "letter-list"),
    ("A, C, D, B.", "letter-list"),
    ("CA, b", "letter-set"),
    ("none", "letter-set"),
    ("(C)", "fold"),
    ("c: ", "fold"),
    ("No.", "fold"),
]


def test_the_page_normalises_as_python_does(address: str, visit: Visitor) -> None:
    page = visit(address).page
    source = CARD.widget()._esm
    script = source[source.index("function normal") : source.index("export default")]
    for text, form in NORMAL:
        call = f"(() => {{ {script} return normal({json.dumps(text)}, {json.dumps(form)}); }})()"
        assert page.evaluate(call) == normal(text, form)


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    root = card(page)
    looks_well(page)
    root.get_by_label("Your answer").fill("rubbish")
    root.get_by_role("button", name="Check").click()
    root.get_by_role("button", name="Show the answer").click()
    looks_well(page)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_fits_a_phone_and_is_accessible(topic: str, tmp_path: Path, visit: Visitor) -> None:
    page = visit(write_page(tmp_path / "one.html", [DrillCard(topic)]), size=PHONE).page
    root = card(page)
    for number in range(12):
        root.get_by_role("button", name="Show the answer").click()
        if number in (0, 6, 11):
            assert axe_violations(page, best_practice=True) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        root.get_by_role("button", name="Next").click(force=True)
