"""Every page of the built book: nothing from other hosts, accessible in light and dark, searchable, not too heavy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.browser.visits import PHONE, Visit, axe_violations

ROOT = Path(__file__).resolve().parents[2]
HEAVIEST_BYTES = 1_500_000


def listed(entry: object) -> list[str]:
    """Every page that the table of contents names."""
    if isinstance(entry, list):
        return [page for item in entry for page in listed(item)]
    if not isinstance(entry, dict):
        return []
    own = [entry[key] for key in ("root", "file") if key in entry]
    return own + [page for key in ("parts", "chapters", "sections") for page in listed(entry.get(key))]


PAGES = listed(yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")))
each_page = pytest.mark.parametrize("name", PAGES)


@each_page
def test_a_page_loads_without_another_host_or_an_error(name: str, place: str, visit: Callable[..., Visit]) -> None:
    page = visit(f"{place}/{name}.html").page
    assert page.locator("article h1").count() == 1
    page.wait_for_load_state("networkidle")


@each_page
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_has_no_accessibility_violation(
    name: str, dark: bool, book_address: str, visit: Callable[..., Visit]
) -> None:
    page = visit(f"{book_address}/{name}.html", dark=dark).page
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    assert axe_violations(page) == []


@each_page
def test_a_page_fits_a_phone(name: str, book_address: str, visit: Callable[..., Visit]) -> None:
    page = visit(f"{book_address}/{name}.html", size=PHONE).page
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


@each_page
def test_a_page_is_not_too_heavy(name: str, book_html: Path) -> None:
    assert (book_html / f"{name}.html").stat().st_size < HEAVIEST_BYTES


def test_the_first_page_leads_to_the_book(place: str, visit: Callable[..., Visit]) -> None:
    page = visit(f"{place}/index.html").page
    page.wait_for_url("**/book/intro.html")


def test_a_search_finds_a_page(place: str, visit: Callable[..., Visit]) -> None:
    page = visit(f"{place}/search.html?q=kubernetes").page
    page.wait_for_selector("ul.search li a")
    assert page.locator("ul.search li a").count() >= 1


def test_the_theme_can_be_switched(book_address: str, visit: Callable[..., Visit]) -> None:
    page = visit(f"{book_address}/book/intro.html").page
    before = page.evaluate("document.documentElement.dataset.mode")
    page.locator("button.theme-switch-button:visible").first.click()
    assert page.evaluate("document.documentElement.dataset.mode") != before
