"""The picture of gangs: who holds a place and who is bound, on a page without a kernel."""

from __future__ import annotations

import pytest

from k8slab.cluster import GangCluster
from k8slab.widgets import Stepper
from tests.browser.pictures import OUTSIDE, Shown
from tests.browser.visits import Visit, Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two gangs that hold half each until the timeout, and two that take turns."""
    things = []
    for in_tree in (False, True):
        args = {"podGroupRejectPercentage": 100, "permitWaitingTimeSeconds": 10}
        cluster = GangCluster({"node-1": 2, "node-2": 2}, args=args, in_tree=in_tree)
        cluster.submit({"red": 4, "blue": 4}, names="{number}-{gang}")
        cluster.run(for_ms=4)
        things.append(Stepper(cluster, for_ms=9_000, title="In tree" if in_tree else "Coscheduling"))
    return write_page(tmp_path_factory.mktemp("gangs") / "page.html", things)


def at_the_end(visit: Visit, number: int) -> Shown:
    shown = Shown(visit.page, number)
    shown.root.get_by_role("button", name="Next step").focus()
    visit.page.keyboard.press("End")
    return shown


def test_half_of_each_gang_holds_places_that_the_others_need(address: str, visit: Visitor) -> None:
    shown = at_the_end(visit(address), 0)
    assert shown.words().count("0 bound, 2 held, needs 4") == 2
    assert shown.count("rect.free") == 0
    assert shown.count("rect.run") == 0


def test_a_whole_gang_is_bound_or_none_of_it(address: str, visit: Visitor) -> None:
    shown = at_the_end(visit(address), 1)
    assert {"4 bound, 0 held, needs 4", "0 bound, 0 held, needs 4"} <= set(shown.words())
    assert shown.count("rect.run") == 4 + 4  # in the rows, and on the Nodes


@both_themes
@both_sizes
def test_it_fits_and_can_be_read(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    visited = visit(address, size=size, dark=dark)
    for number in (0, 1):
        shown = at_the_end(visited, number)
        assert shown.picture.evaluate(OUTSIDE) == []
    looks_well(visited.page)
