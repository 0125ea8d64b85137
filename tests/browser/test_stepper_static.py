"""The Stepper on a page without a kernel, network refused: steps, keys, why, looks, widths, accessibility."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from k8slab.scheduler import Explanation, NodeVerdict
from k8slab.scheduler.framework import SUCCESS, Code, Status
from k8slab.widgets import Stepper
from tests.browser.conftest import served
from tests.browser.visits import (
    LAPTOP,
    PHONE,
    Visitor,
    both_sizes,
    both_themes,
    focused,
    looks_well,
    widgets_drawn,
)
from tests.browser.widget_pages import write_page
from tests.toy_cluster import ToyCluster

WIDGET = "document.querySelector('.k8slab-widget').shadowRoot"
OVERLAPS = """picture => {
  const boxes = [...picture.querySelectorAll("text")].filter(t => /ms pass/.test(t.textContent) || t.matches(".label"))
    .map(t => t.getBoundingClientRect());
  return boxes.flatMap((a, n) => boxes.slice(n + 1).filter(b =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).map(b => b.x);
}"""


def explanation() -> Explanation:
    no = Status(Code.UNSCHEDULABLE, "Insufficient cpu", plugin="NodeResourcesFit")
    scores = {"NodeResourcesFit": 41}, {"NodeResourcesFit": 41}
    rows = [
        NodeVerdict("node-1", {"NodeName": SUCCESS, "NodeResourcesFit": no}),
        NodeVerdict("node-2", {"NodeName": SUCCESS, "NodeResourcesFit": SUCCESS}, *scores),
    ]
    return Explanation("default/web", rows, [], [], [], [], {"NodeResourcesFit": 1})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with two Steppers: the toy Deployment, one scheduling cycle."""
    folder = tmp_path_factory.mktemp("widgets")
    steppers = [Stepper(ToyCluster(), title="One Deployment, end to end"), Stepper(explanation())]
    write_page(folder / "page.html", steppers)
    return folder


@pytest.fixture
def address(folder: Path) -> str:
    return (folder / "page.html").as_uri()


@pytest.fixture(params=["http", "file"])
def anywhere(request: pytest.FixtureRequest, folder: Path, address: str) -> Iterator[str]:
    if request.param == "file":
        yield address
        return
    with served(folder) as place:
        yield f"{place}/page.html"


class Shown:
    """One Stepper on a page."""

    def __init__(self, page: Page, number: int = 0) -> None:
        self.page = page
        widgets_drawn(page)
        self.root: Locator = page.locator(".k8slab-widget").nth(number)

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name)

    def text(self, selector: str) -> str:
        return self.root.locator(selector).first.inner_text()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def at(self) -> str:
        """ "3 of 17", "step 5 of 56" among all steps, or "cause 2 of 9"."""
        return self.text(".when span")


@pytest.fixture
def toy(address: str, visit: Visitor) -> Shown:
    return Shown(visit(address).page)


def test_it_steps_without_a_kernel(anywhere: str, visit: Visitor) -> None:
    page = visit(anywhere).page
    assert widgets_drawn(page) == 2
    shown = Shown(page)
    assert (shown.at, shown.text(".ev")) == ("1 of 17", "event 1")
    assert shown.text(".txt") == "You create Deployment web."
    shown.button("Next step").click()
    assert shown.text(".txt").startswith("etcd commits revision 4")
    assert (shown.at, shown.text(".ev")) == ("2 of 17", "event 3")
    shown.button("Back one step").click()
    assert shown.at == "1 of 17"


def test_main_and_all_steps(toy: Shown) -> None:
    assert toy.root.get_by_role("slider").get_attribute("aria-valuetext") == "1 of 17"
    toy.button("all 56").click()
    assert toy.root.get_by_role("slider").get_attribute("aria-valuetext") == "1 of 56"
    toy.button("Next step").click()
    assert toy.at == "step 2 of 56"


def test_every_control_works_by_keyboard(toy: Shown) -> None:
    toy.button("all 56").click()
    toy.button("Next step").focus()
    toy.press("ArrowRight", "ArrowRight")
    assert toy.at == "step 3 of 56"
    toy.press("ArrowLeft")
    assert toy.at == "step 2 of 56"
    toy.press("End")
    assert toy.at == "step 56 of 56"
    toy.press("ArrowRight")  # the end: nothing happens, and the keys go on working
    toy.press("ArrowLeft")
    assert toy.at == "step 55 of 56"
    toy.press("w")
    assert toy.at == "the step itself"
    toy.press("Home")
    assert toy.at.startswith("cause 1 of ")
    toy.press("Escape", "Home")
    assert toy.at == "step 1 of 56"
    toy.root.get_by_role("slider").focus()
    toy.press("ArrowRight")
    assert toy.at == "step 2 of 56"


@pytest.mark.parametrize("place", [".title", ".txt", ".stage", "svg text >> nth=2", "li >> nth=0"])
def test_the_keys_work_after_a_click_beside_the_controls(address: str, visit: Visitor, place: str) -> None:
    shown = Shown(visit(address, size=(1280, 500)).page)
    shown.root.locator(place).first.click()
    top = shown.page.evaluate("scrollY")
    shown.press("ArrowRight", "ArrowRight", " ", " ")
    assert shown.at == "4 of 17"  # a space plays, which makes a step at once, and stops
    assert shown.page.evaluate("scrollY") == top


def test_tab_goes_through_the_controls_and_the_focus_can_be_seen(toy: Shown) -> None:
    toy.page.mouse.click(5, 5)
    names = []
    for _ in range(12):
        toy.press("Tab")
        name, outline = focused(toy.page)
        assert outline >= 1.5, f"no outline on {name}"
        names.append(name)
    controls = ["Back one step", "Next step", "Play", "Step", "Speed", "Why?", "Reset to the first step"]
    found = [control for name in names for control in controls if name == control or name.startswith(f"{control} ")]
    assert found == ["Back one step", "Next step", "Play", "Step", "Speed", "Why?", "Reset to the first step"]


def test_why_walks_from_the_first_cause_to_the_step(toy: Shown) -> None:
    toy.root.get_by_role("slider").fill("16")
    toy.button("Why? Walk back to the cause").click()
    assert toy.text(".title").startswith("Why event ")
    toy.press("Home")
    assert toy.text(".txt") == "You create Deployment web."
    assert "You did this" in toy.text(".bec")
    toy.button("Leave the why walk").click()
    assert toy.text(".title") == "One Deployment, end to end"


def test_why_counts_the_causes_without_what_they_led_to(toy: Shown) -> None:
    """In the title and beside the picture alike: a list of n causes and the step has n + 1 rows."""
    toy.button("all 56").click()
    toy.press("Home", "w")
    assert (toy.text(".title"), toy.at) == ("Why step 1? no causes", "the step itself")
    toy.press("w", "ArrowRight", "w")
    assert (toy.text(".title"), toy.at) == ("Why step 2? 1 cause", "the step itself")
    toy.press("ArrowLeft")
    assert toy.at == "cause 1 of 1"
    assert toy.root.get_by_role("slider").get_attribute("aria-valuetext") == "cause 1 of 1"
    toy.press("w", "End", "w")
    causes = int(toy.text(".title").removeprefix("Why step 56? ").removesuffix(" causes"))
    toy.press("ArrowLeft")
    assert toy.at == f"cause {causes} of {causes}" and causes > 1
    toy.press("Home")
    assert toy.at == f"cause 1 of {causes}"


def test_why_is_the_object_as_it_is(toy: Shown) -> None:
    toy.root.get_by_role("slider").fill("16")
    toy.root.get_by_label("Object shown").select_option("ReplicaSet/default/web-7d9c6b8f5d")
    toy.button("Why so?").click()
    assert toy.text(".txt") == "etcd commits revision 5: put ReplicaSet web-7d9c6b8f5d."
    assert toy.at == "the event itself"


def test_the_because_link_goes_to_the_cause(toy: Shown) -> None:
    toy.button("all 56").click()
    toy.root.get_by_role("slider").fill("3")
    toy.root.locator(".bec button").first.click()
    assert toy.at == "step 3 of 56"


def test_further_causes_are_named_and_drawn(toy: Shown) -> None:
    toy.button("all 56").click()
    toy.press("End")
    assert toy.text(".bec").startswith("because ReplicaSet ctl: queue web-7d9c6b8f5d, also kubelet node-1: runs web-")
    assert toy.root.locator("path.also").count() == 2


def test_play_runs_to_the_end_and_does_not_flood_a_screen_reader(toy: Shown) -> None:
    status = toy.root.locator(".txt")
    assert status.get_attribute("aria-live") == "polite"
    assert status.get_attribute("role") == "status"
    toy.root.get_by_role("slider").fill("13")
    toy.root.get_by_role("slider").focus()
    toy.press(" ")
    assert status.get_attribute("aria-live") == "off"
    toy.root.locator(".when span", has_text="17 of 17").wait_for()
    toy.button("Play").wait_for()
    assert status.get_attribute("aria-live") == "polite"


def test_the_inspector_marks_what_changed_since_the_last_step_shown(toy: Shown) -> None:
    for _ in range(7):
        toy.button("Next step").click()
    assert toy.text(".txt").startswith("etcd commits revision 7: put Pod")
    assert toy.text(".ph span") == "2 changed"
    assert toy.root.locator(".yaml .add").all_inner_texts() == ["  nodeName: node-1"]


def test_what_the_step_looked_at_is_outlined(toy: Shown) -> None:
    toy.button("all 56").click()
    toy.root.locator("li", has_text="create 3 Pods").first.evaluate("row => row.click()")
    assert toy.root.locator(".yaml .rd").all_inner_texts() == ["  replicas: 3"]


def test_the_future_is_hidden_until_stepped(toy: Shown) -> None:
    assert toy.root.locator("li:visible").count() == 1
    toy.button("Next step").click()
    assert toy.root.locator("li:visible").count() == 2


def test_the_matrix_shows_the_short_circuit_and_the_winner(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page, 1)
    shown.button("Next step").focus()
    shown.press("End")
    table = shown.root.get_by_role("table")
    assert "Insufficient cpu" in table.inner_text()
    assert table.locator("th.win").inner_text() == "node-2"
    # the last filter's row: where one node is left nobody scores, and the last row only says which
    assert table.locator("td.no").get_attribute("rowspan") == "1"
    assert table.locator("tr.sum").all_text_contents() == ["winner✓"]


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    shown = Shown(page)
    looks_well(page)
    shown.root.get_by_role("slider").fill("15")
    shown.button("Why? Walk back to the cause").click()
    looks_well(page)


@pytest.mark.parametrize("width", [320, 390, 900])
def test_it_looks_well_in_the_middle_of_the_story(address: str, visit: Visitor, width: int) -> None:
    page = visit(address, size=(width, 844)).page
    Shown(page).root.get_by_role("slider").fill("15")
    looks_well(page)


def test_a_laptop_sees_a_stepper_of_fixed_height_and_a_phone_tabs(address: str, visit: Visitor) -> None:
    laptop = Shown(visit(address).page)
    heights = set()
    for value in (0, 7, 12, 16):
        laptop.root.get_by_role("slider").fill(str(value))
        heights.add(laptop.root.locator("section").bounding_box()["height"])  # type: ignore[index]
    assert heights == {560}
    phone = Shown(visit(address, size=PHONE).page)
    heights.clear()
    for value in range(17):
        phone.root.get_by_role("slider").fill(str(value))
        heights.add(phone.root.locator("section").bounding_box()["height"])  # type: ignore[index]
    assert len(heights) == 1
    assert phone.root.locator(".yaml").is_visible()
    phone.button("Log").click()
    assert not phone.root.locator(".yaml").is_visible()
    assert phone.root.locator("li[aria-current]").is_visible()


@both_themes
def test_it_follows_the_theme_of_the_page(address: str, visit: Visitor, dark: bool) -> None:
    page = visit(address, dark=dark).page
    root = Shown(page).root.locator("section")
    assert ("dark" in str(root.get_attribute("class")).split()) is dark
    page.evaluate(f"document.documentElement.dataset.theme = '{'light' if dark else 'dark'}'")
    page.wait_for_function(
        f"dark => {WIDGET}.querySelector('.k').classList.contains('dark') === dark",
        arg=not dark,
    )


def test_less_motion_when_the_reader_wants_less(address: str, visit: Visitor) -> None:
    seconds = f"getComputedStyle({WIDGET}.querySelector('.scene')).transitionDuration"
    moving, still = visit(address).page, visit(address, reduced_motion=True).page
    for page, wanted in ((moving, "0.18s"), (still, "0s")):
        Shown(page)
        assert page.evaluate(seconds) == wanted


def test_pressed_buttons_can_be_told_in_forced_colours(browser: Browser, address: str) -> None:
    context = browser.new_context(forced_colors="active")
    page = context.new_page()
    page.goto(address)
    shown = Shown(page)
    colour = "button => getComputedStyle(button).backgroundColor"
    assert shown.button("all 56").evaluate(colour) != shown.button("main 17").evaluate(colour)
    for _ in range(7):
        shown.button("Next step").click()
    bar = "line => getComputedStyle(line).borderLeftColor"
    changed, same = shown.root.locator(".yaml .add").first, shown.root.locator(".yaml div:not(.add)").first
    assert changed.evaluate(bar) != same.evaluate(bar)
    context.close()


def test_a_live_stepper_does_not_wait_for_a_kernel_that_is_not_there(tmp_path: Path, visit: Visitor) -> None:
    address = write_page(tmp_path / "live.html", [Stepper(ToyCluster(), for_ms=20, live=True)])
    shown = Shown(visit(address).page)
    shown.button("Next step").focus()
    shown.press("End")
    assert shown.button("Next step").get_attribute("aria-disabled") == "true"
    assert not shown.root.get_by_role("group", name="Who acts next").is_visible()


def test_without_javascript_the_page_says_where_a_figure_is(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    sentence = "Here stands an interactive figure, which needs JavaScript"
    assert page.locator("main").inner_text().count(sentence) == 2
    context.close()


def test_the_label_of_a_pause_has_a_ground_and_is_not_under_the_label_of_the_step(
    tmp_path: Path, visit: Visitor
) -> None:
    address = write_page(tmp_path / "page.html", [Stepper(ToyCluster(), title="One Deployment, end to end")])
    for size in (LAPTOP, PHONE):
        shown = Shown(visit(address, size=size).page)
        assert shown.root.locator("g:has(> .pill + text)").count() >= 1
        for value in range(17):
            shown.root.get_by_role("slider").fill(str(value))
            assert shown.root.locator("svg").first.evaluate(OVERLAPS) == []
