"""Every page of the built book: nothing from other hosts, accessible in light and dark, searchable, not too heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
import yaml
from playwright.sync_api import Browser

from k8slab.drill import TITLES, DrillCard
from tests.browser.visits import (
    LAPTOP,
    NARROW,
    PHONE,
    Visit,
    axe_violations,
    focused,
    open_visit,
    settled,
    widgets_drawn,
)
from tests.counts import SOAK

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


def is_reference(page: str) -> bool:
    return "/reference/" in f"/{page}"


# The reference pages last: so that a page has one index in every list, by which pytest groups the tests of a visit.
PAGES = sorted(listed(yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))), key=is_reference)
MADE_BY_SPHINX = ["genindex", "search"]
CHAPTERS = [page for page in PAGES if not is_reference(page)]
# The pages of the packages come out of one template: a soak opens all of them, other runs these.
ONE_TEMPLATE = [page for page in PAGES if "/reference/api/" in page and page != "book/reference/api/check"]
OPENED = PAGES if SOAK else [page for page in PAGES if page not in ONE_TEMPLATE]
# one page of each kind: a chapter, a lab, cards, tables, a reference page, the search
KINDS = ["start/objects-and-apis", "labs/09-workqueue", "practice/drills", "reference/status", "reference/api/check"]
MOST_STOPS = 400
THEME_IS = "theme => document.documentElement.dataset.theme === theme"
COLOURS_CHANGED = """() => Promise.all(
    document.getAnimations().filter((a) => a instanceof CSSTransition).map((a) => a.finished))"""


CODE = """<style>:root {{ --pst-color-surface: #fff; --pst-color-text-muted: #000 }} {css}</style>
<article><pre style="width: 200px; margin: 0; padding: 8px; overflow: auto">&nbsp;
{text}</pre></article>"""


def test_code_that_goes_on_behind_the_edge_has_a_shadow_there_until_it_is_scrolled_to_its_end(browser: Browser) -> None:
    css = (ROOT / "book" / "_static" / "k8slab.css").read_text(encoding="utf-8")
    page = browser.new_page()

    def edge(text: str, left: int = 0) -> bytes:
        """The last pixels of the first line, which is empty."""
        page.set_content(CODE.format(css=css, text=text))
        page.locator("pre").evaluate("(pre, left) => { pre.scrollLeft = left }", left)
        box = page.locator("pre").bounding_box()
        assert box is not None
        return page.screenshot(clip={"x": box["x"] + box["width"] - 8, "y": box["y"] + 2, "width": 8, "height": 10})

    fits = edge("short")
    assert edge("long " * 40) != fits
    assert edge("long " * 40, left=10_000) == fits
    page.close()


def test_every_built_page_is_tested(book_html: Path) -> None:
    built = {path.relative_to(book_html).with_suffix("").as_posix() for path in book_html.rglob("*.html")}
    built = {name for name in built if not name.startswith(("lite/", "_static/"))}
    assert built - {"index"} == {*PAGES, *MADE_BY_SPHINX}, "index leads to the first page"


@contextmanager
def visited(browser: Browser, address: str, size: tuple[int, int]) -> Iterator[Visit]:
    """A page that several tests look at. Its complaints are judged at the end, too."""
    visit = open_visit(browser, size=size, dark=False, reduced_motion=False)
    visit.page.goto(address)
    yield visit
    complaints = visit.complaints()
    visit.page.context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def on_a_laptop(browser: Browser, book_address: str, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """The page of the parameter, over http."""
    with visited(browser, f"{book_address}/{request.param}.html", LAPTOP) as visit:
        yield visit


@pytest.fixture(scope="module")
def on_a_phone(browser: Browser, book_html: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """The page of the parameter, straight from the disk."""
    with visited(browser, f"{book_html.as_uri()}/{request.param}.html", PHONE) as visit:
        yield visit


@pytest.mark.parametrize("on_a_laptop", OPENED, indirect=True)
def test_a_page_loads_without_another_host_or_an_error(on_a_laptop: Visit) -> None:
    assert on_a_laptop.page.locator("article h1").count() == 1
    settled(on_a_laptop.page, late_ms=500)
    assert on_a_laptop.complaints() == []


@pytest.mark.parametrize("on_a_laptop", [*OPENED, *MADE_BY_SPHINX], indirect=True)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_has_no_accessibility_violation(on_a_laptop: Visit, theme: Literal["light", "dark"]) -> None:
    page = on_a_laptop.page
    settled(page)
    page.emulate_media(color_scheme=theme)
    page.wait_for_function(THEME_IS, arg=theme)
    page.evaluate(COLOURS_CHANGED)
    assert axe_violations(page, colours_only=theme == "dark") == []


@pytest.mark.parametrize("on_a_phone", OPENED, indirect=True)
def test_a_page_loads_from_the_disk_without_an_error(on_a_phone: Visit) -> None:
    assert on_a_phone.page.locator("article h1").count() == 1
    settled(on_a_phone.page, late_ms=500)
    assert on_a_phone.complaints() == []


@pytest.mark.parametrize("on_a_phone", [*OPENED, *MADE_BY_SPHINX], indirect=True)
def test_a_page_fits_a_phone_and_large_text(on_a_phone: Visit) -> None:
    page = on_a_phone.page
    settled(page)
    widths = {}
    for what, (width, height) in NARROW.items():
        page.set_viewport_size({"width": width, "height": height})
        widths[what] = page.evaluate("document.documentElement.scrollWidth") - width
    assert {what: wider for what, wider in widths.items() if wider > 0} == {}


@pytest.mark.parametrize("name", [*(f"book/{kind}" for kind in KINDS), "search"])
def test_the_keyboard_goes_through_a_page_and_is_seen_everywhere(
    name: str, book_address: str, visit: Callable[..., Visit]
) -> None:
    page = visit(f"{book_address}/{name}.html", reduced_motion=True).page
    settled(page)
    stops = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        found, outline = focused(page)
        if not found:
            break
        stops.append((found, outline))
    else:
        pytest.fail(f"after {MOST_STOPS} stops the focus has not left the page: {stops[-3:]}")
    assert len(stops) > 20, "the navigation alone has more"
    assert [found for found, outline in stops if outline < 1] == []


def test_the_cards_of_the_drills_page_have_names_and_are_answered_by_keyboard_only(
    place: str, visit: Callable[..., Visit]
) -> None:
    page = visit(f"{place}/book/practice/drills.html").page
    assert widgets_drawn(page) == len(TITLES)
    for topic, title in TITLES.items():
        card = page.get_by_role("group", name=f"Drill: {title}", exact=True)
        card.get_by_label("Your answer").focus()
        page.keyboard.type(DrillCard(topic).drills[0].answer)
        page.keyboard.press("Enter")
        assert card.get_by_role("status").inner_text() == "Right."


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_not_too_heavy(name: str, book_html: Path) -> None:
    assert (book_html / f"{name}.html").stat().st_size < HEAVIEST_BYTES


CUT = """() => [
    ...[...document.querySelectorAll("article .highlight-text pre")].filter((e) => e.scrollWidth > e.clientWidth),
    ...[...document.querySelectorAll("article p code.literal .pre, article li code.literal .pre")].filter(
        (e) => !e.closest("td") && e.getClientRects().length > 1),
].map((e) => e.textContent)"""


@pytest.mark.parametrize("on_a_laptop", CHAPTERS, indirect=True)
def test_beside_the_contents_no_drawing_is_cut_and_no_flag_is_broken(on_a_laptop: Visit) -> None:
    """1280 px: a drawing that scrolls hides its end, and `--` at the end of a line is no flag."""
    page = on_a_laptop.page
    assert page.evaluate("document.fonts.ready.then(() => document.fonts.status)") == "loaded"
    assert page.evaluate(CUT) == []


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
