"""The picture of an autoscaler: load, replicas and the window's recommendations, on a page without a kernel."""

from __future__ import annotations

import pytest

from k8slab.autoscaling import AutoscalerStory, LoadPoint, Workload
from k8slab.widgets import Stepper
from k8slab.widgets.assets import VIEWS, squeezed
from tests.browser.pictures import OUTSIDE, Shown, every_step
from tests.browser.visits import Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A burst of two minutes, and what is left of it after ten."""
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    spec = {"minReplicas": 1, "maxReplicas": 10, "metrics": [{"type": "Resource", "resource": cpu}]}
    load = [LoadPoint(0, 500), LoadPoint(60_000, 3_500), LoadPoint(200_000, 600)]
    hpa = {"metadata": {"name": "web"}, "spec": spec}
    story = AutoscalerStory(hpa, load, Workload(1_000, startup_ms=20_000), for_ms=600_000)
    return write_page(tmp_path_factory.mktemp("hpa") / "page.html", [Stepper(story, title="A burst")])


def test_a_picture_is_5_kb_at_most() -> None:
    assert len(squeezed(VIEWS["hpa"]).encode()) <= 5_000


def test_dots_are_what_the_metrics_asked_for_and_those_in_the_window_are_full(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.root.get_by_role("button", name="all").click()
    shown.root.get_by_role("slider").fill("38")
    # 39 rounds 15 s apart; those of the last 300 s are 21, with both ends.
    assert (shown.count("circle.dot"), shown.count("circle.dot.won")) == (39, 21)
    assert {"window 300 s", "min", "2"} <= set(shown.words())


def test_while_the_window_holds_the_count_the_line_says_so(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.root.get_by_role("slider").fill("25")
    assert shown.count("line.said") == 1 and "wants 2" in shown.words()


def test_what_no_pod_was_there_for_is_drawn(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.root.get_by_role("slider").fill("4")
    assert shown.count("path.lost") == 1 and "2.5 missed" in shown.words()


def test_nothing_leaves_the_picture_at_any_step(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address, size=(390, 844)).page)
    for _ in every_step(shown, 6):
        assert shown.picture.evaluate(OUTSIDE) == []


@both_themes
@both_sizes
def test_it_fits_and_can_be_read(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    looks_well(visit(address, size=size, dark=dark).page)
