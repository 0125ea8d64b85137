"""The Quiz on a page without a kernel: answering by mouse and keyboard, feedback, trying again, accessibility."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from k8slab.widgets import Quiz
from tests.browser.visits import Visitor, both_sizes, both_themes, looks_well, widgets_drawn
from tests.browser.widget_pages import write_page
from tests.unit.widgets.test_quiz import BANK


@pytest.fixture
def address(tmp_path: Path) -> str:
    return write_page(tmp_path / "quiz.html", [Quiz(BANK), Quiz(BANK, only=["which"])])


def quiz(page: Page) -> Locator:
    widgets_drawn(page)
    return page.locator(".k8slab-widget").first


def test_an_answer_is_judged_and_every_option_explains_itself(address: str, visit: Visitor) -> None:
    root = quiz(visit(address).page)
    first = root.get_by_role("group", name="Who creates Pods?")
    assert not root.get_by_text("It owns them.").is_visible()
    first.get_by_label("b", exact=True).check()
    first.get_by_role("button", name="Check").click()
    assert first.get_by_role("status").inner_text() == "Not so: see why."
    assert first.locator(".ex:visible").all_inner_texts() == ["Right. It owns them.", "Wrong. It scales."]
    assert root.get_by_text("0 of 2 right").is_visible()


def test_one_can_try_again(address: str, visit: Visitor) -> None:
    first = quiz(visit(address).page).get_by_role("group", name="Who creates Pods?")
    first.get_by_label("b", exact=True).check()
    first.get_by_role("button", name="Check").click()
    first.get_by_role("button", name="Try again").click()
    assert first.locator(".ex:visible").count() == 0
    assert first.get_by_role("status").inner_text() == ""
    first.get_by_label("a", exact=True).check()
    first.get_by_role("button", name="Check").click()
    assert first.get_by_role("status").inner_text() == "Right."


def test_several_right_options_are_told_and_must_all_be_found(address: str, visit: Visitor) -> None:
    second = quiz(visit(address).page).get_by_role("group", name="Which are even?")
    assert second.get_by_text("Choose all that hold.").is_visible()
    second.get_by_label("2").check()
    second.get_by_role("button", name="Check").click()
    assert second.get_by_role("status").inner_text() == "Partly: see which hold and why."
    second.get_by_role("button", name="Try again").click()
    for name in ("2", "4"):
        second.get_by_label(name).check()
    second.get_by_role("button", name="Check").click()
    assert second.get_by_role("status").inner_text() == "Right."


def test_it_works_by_keyboard(address: str, visit: Visitor) -> None:
    page = visit(address).page
    root = quiz(page)
    root.get_by_label("a", exact=True).focus()
    page.keyboard.press(" ")
    page.keyboard.press("ArrowDown")
    assert root.get_by_label("b", exact=True).is_checked()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert root.get_by_role("status").first.inner_text() == "Right."
    page.keyboard.press("Enter")  # the focus went on to "Try again"
    assert root.get_by_role("status").first.inner_text() == ""


def test_an_empty_answer_is_not_judged(address: str, visit: Visitor) -> None:
    root = quiz(visit(address).page)
    root.get_by_role("button", name="Check").first.click()
    assert root.get_by_role("status").first.inner_text() == "Choose an option first."
    assert root.locator(".ex:visible").count() == 0


def test_two_quizzes_with_one_question_do_not_share_their_radios(address: str, visit: Visitor) -> None:
    page = visit(address).page
    widgets_drawn(page)
    one, two = page.locator(".k8slab-widget").all()
    one.get_by_label("2").check()
    assert not two.get_by_label("2").is_checked()


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    root = quiz(page)
    looks_well(page)
    root.get_by_label("b", exact=True).check()
    root.get_by_role("button", name="Check").first.click()
    root.get_by_text("The code that decides it").first.click()
    looks_well(page)
