"""The picture of nodes and plugins: nothing is cut off, and nothing lies over rows it does not belong to."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator

from k8slab.scheduler import Framework, Snapshot
from k8slab.widgets import Stepper
from tests.browser.pictures import Shown
from tests.browser.visits import Visitor, both_sizes, looks_well
from tests.browser.widget_pages import write_page
from tests.scheduling import node, pod


def refusals() -> Stepper:
    """Five nodes and none is feasible: three are too small, two have a taint."""
    taint = [{"key": "dedicated", "effect": "NoSchedule"}]
    small = [node(f"small-{n}", cpu="2") for n in range(3)]
    big = [node(f"big-{n}", cpu="16", taints=taint) for n in (1, 2)]
    return Stepper(Framework.from_profile().explain(pod("checkout", "4"), Snapshot.of([*small, *big])))


def scores() -> Stepper:
    """Three nodes; the first is full, the others are scored."""
    nodes = [node(name, cpu="4") for name in "abc"]
    full = Snapshot.of(nodes, [pod("old", "4", node_name="a")])
    return Stepper(Framework.from_profile().explain(pod("web", "1"), full))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("matrix") / "page.html", [refusals(), scores()])


def table(shown: Shown, step: str = "") -> Locator:
    slider = shown.root.get_by_role("slider")
    slider.fill(step or str(slider.get_attribute("max")))
    return shown.root.locator("table.matrix")


@both_sizes
@pytest.mark.parametrize("number", [0, 1])
def test_every_name_is_there_to_its_last_letter(
    address: str, visit: Visitor, size: tuple[int, int], number: int
) -> None:
    page = visit(address, size=size).page
    cells = table(Shown(page, number)).locator("th")
    cut = "cell => cell.scrollWidth > cell.clientWidth || getComputedStyle(cell).textOverflow === 'ellipsis'"
    assert [text for n, text in enumerate(cells.all_inner_texts()) if cells.nth(n).evaluate(cut)] == []
    looks_well(page)


def test_on_a_laptop_three_nodes_leave_the_names_of_plugins_on_one_line(address: str, visit: Visitor) -> None:
    rows = table(Shown(visit(address).page, 1)).locator("tbody th")
    heights = {rows.nth(n).bounding_box()["height"] for n in range(rows.count())}  # type: ignore[index]
    assert max(heights) < 30


@both_sizes
def test_a_reason_ends_above_the_last_row_where_nobody_scores(
    address: str, visit: Visitor, size: tuple[int, int]
) -> None:
    found = table(Shown(visit(address, size=size).page))
    last = found.locator("tr.sum").bounding_box()
    assert last is not None
    for cell in found.locator("td.no").all():
        box = cell.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= last["y"] + 1
    assert found.locator("tr.sum").inner_text().split() == ["winner"]
    assert found.get_by_text("weight").count() == 0


@pytest.mark.parametrize("number", [0, 1])
def test_the_dots_of_what_is_to_come_stand_in_the_middle_of_their_columns(
    address: str, visit: Visitor, number: int
) -> None:
    dots = table(Shown(visit(address).page, number), "1").locator("td", has_text="·")
    assert {dot.evaluate("cell => getComputedStyle(cell).textAlign") for dot in dots.all()} == {"center"}
