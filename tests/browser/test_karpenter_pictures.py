"""The picture of nodes and prices, on a page without a kernel and with Python making the steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.autoscaling.cloud import small_catalogue
from k8slab.autoscaling.karpenter import KarpenterStory
from k8slab.widgets import Stepper
from k8slab.widgets.assets import VIEWS, squeezed
from tests.browser.pictures import Shown, every_step
from tests.browser.visits import Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page
from tests.karpenter import CAPACITY_TYPE, node_pool, rule

ON_DEMAND = rule(CAPACITY_TYPE, "In", "on-demand")
OPERATIONS = ["scale web 6 cpu=900m memory=1500Mi", "wait 90s", "scale web 2", "wait 4m"]


def bill(operations: list[str], *requirements: dict[str, object]) -> Stepper:
    pool = node_pool("default", *requirements, disruption={"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]})
    return Stepper(KarpenterStory([pool], small_catalogue(), operations))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page on which six Pods get a node, four leave, and the rest move to a cheaper one."""
    return write_page(tmp_path_factory.mktemp("bill") / "page.html", [bill(OPERATIONS, ON_DEMAND)])


class Stage(Shown):
    """What the table says."""

    def texts(self, selector: str) -> list[str]:
        return self.root.locator(f".stage {selector}").all_inner_texts()

    def count(self, selector: str) -> int:
        return self.root.locator(f".stage {selector}").count()


def test_the_picture_is_5_kb_at_most() -> None:
    assert len(squeezed(VIEWS["consolidation"]).encode()) <= 5_000


def test_a_node_comes_with_its_price_and_its_pods(address: str, visit: Visitor) -> None:
    shown = Stage(visit(address).page)
    shown.root.get_by_role("button", name="all").click()
    shown.go_to("Karpenter on default-1: Created, for 6 Pods, any of 7 instance types will do.")
    assert (shown.texts("tbody th")[0].split("\n")[1], shown.count("th.hot")) == ("not bought yet", 1)
    shown.go_to("Karpenter on default-1: Launched, m6g.2xlarge/region-1a/on-demand.")
    assert shown.texts("tbody th")[0].split("\n")[1:] == ["m6g.2xlarge", "region-1a, on-demand"]
    assert shown.texts("tfoot .num") == ["0.307"]
    shown.go_to("The scheduler places Pod web-1 on default-1.")
    assert shown.texts(".room i.new") == ["web-1"]
    assert shown.root.get_by_role("img").first.get_attribute("aria-label") == (
        "1 Pods use 900 of 7910 thousandths of a CPU: web-1"
    )


def test_what_goes_is_struck_out_and_the_bill_falls(address: str, visit: Visitor) -> None:
    shown = Stage(visit(address).page)
    shown.root.get_by_role("button", name="all").click()
    shown.go_to("Karpenter on default-2: Launched, m6g.large/region-1a/on-demand.")
    assert shown.texts("tr.goes b") == ["default-1"]
    assert shown.texts("tfoot th, tfoot td") == ["2 nodes", "", "0.384", "0.307 before, +0.077"]
    shown.page.keyboard.press("End")
    assert shown.texts("tfoot th, tfoot td")[:3] == ["1 node", "", "0.077"]


@both_sizes
def test_many_nodes_and_pods_fit(tmp_path: Path, visit: Visitor, size: tuple[int, int]) -> None:
    many = ["scale web-with-a-long-name 40 cpu=1500m memory=6Gi", "wait 90s", "scale web-with-a-long-name 3", "wait 4m"]
    small = rule("node.kubernetes.io/instance-type", "In", "m5.large", "r5.large", "m5.xlarge")
    shown = Stage(visit(write_page(tmp_path / "page.html", [bill(many, ON_DEMAND, small)]), size=size).page)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    hidden = False
    for _ in every_step(shown, 6):
        assert shown.root.locator(".stage").evaluate("stage => stage.scrollWidth <= stage.clientWidth")
        hidden |= "more nodes are not shown" in shown.texts("caption")[0]
    assert hidden


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    Stage(page).root.get_by_role("slider").fill("9")
    looks_well(page)
