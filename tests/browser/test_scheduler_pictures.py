"""The pictures of topology spread and of preemption, on a page without a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.api.objects import Object
from k8slab.scheduler import Framework, PreemptionStory, Snapshot, SpreadStory
from k8slab.widgets import Stepper
from k8slab.widgets.assets import VIEWS, squeezed
from tests.browser.pictures import Shown, every_step
from tests.browser.visits import Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page
from tests.scheduling import node, pod

ZONE = "topology.kubernetes.io/zone"


def spread(zones: int = 3, pods: int = 5) -> Stepper:
    nodes = [node(f"node-{n}", labels={ZONE: f"zone-{n}"}) for n in range(1, zones + 1)]
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}

    def web(number: int) -> Object:
        made = pod(f"web-{number}", "10m", "1Mi", topologySpreadConstraints=[{**constraint, **selector}])
        made["metadata"]["labels"] = {"app": "web"}
        return made

    return Stepper(SpreadStory(nodes, [*map(web, range(pods)), "terminate web-0", "delete web-1"]))


def preemption(count: int = 3) -> Stepper:
    """On each node two Pods; those on node-1 have a budget, those on node-2 a higher priority."""
    nodes = [node(f"node-{n}", cpu="2") for n in range(1, count + 1)]
    there = []
    for number in range(1, count + 1):
        for priority in (5 + (number == 2), 2):
            made = pod(f"app-{number}-{priority}", "1", node_name=f"node-{number}", priority=priority)
            made["metadata"]["labels"] = {"node": str(number)}
            there.append(made)
    budget = {
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"node": "1"}}},
        "status": {"disruptionsAllowed": 0},
    }
    vip = pod("vip", "2", priority=10)
    return Stepper(PreemptionStory(Framework.from_profile(), vip, Snapshot.of(nodes, there), pdbs=[budget]))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("pictures") / "page.html", [spread(), preemption()])


class Stage(Shown):
    """A Stepper whose picture is not one drawing alone: what is asked for is looked for in all of its stage."""

    def words(self) -> list[str]:
        return [text for text in self.root.locator(".stage svg text").all_text_contents() if text]

    def count(self, selector: str) -> int:
        return self.root.locator(f".stage {selector}").count()

    def row(self, name: str) -> list[str]:
        row = self.root.locator(".pre tbody tr", has=self.page.locator("th b", has_text=name))
        return row.locator("td").all_inner_texts()


@pytest.mark.parametrize("name", ["spread", "preempt"])
def test_a_picture_is_5_kb_at_most(name: str) -> None:
    assert len(squeezed(VIEWS[name]).encode()) <= 5_000


def test_boxes_are_pods_and_the_lines_stand_at_the_least_and_at_the_most(address: str, visit: Visitor) -> None:
    shown = Stage(visit(address).page)
    shown.root.get_by_role("slider").fill("4")
    # Five Pods in three zones: 2, 2, 1.
    assert shown.count("rect.counted") == 5
    words = shown.words()
    assert sorted(word for word in words if "skew" in word and "max" not in word) == [
        "1, skew 0",
        "2, skew 1",
        "2, skew 1",
    ]
    assert {"emptiest: 1", "no Pod above 2", "maxSkew 1, zone"} <= set(words)
    tops = [shown.root.locator(f"line.{name}").get_attribute("y1") for name in ("least", "most")]
    boxes = shown.root.locator("rect.counted")
    ys = sorted({float(str(boxes.nth(n).get_attribute("y"))) for n in range(5)})
    assert [float(str(top)) for top in tops] == [ys[1] - 1, ys[0] - 1]  # a box has a pixel of air at each end


def test_a_terminating_pod_is_hatched_and_a_deleted_one_is_gone(address: str, visit: Visitor) -> None:
    shown = Stage(visit(address).page)
    shown.root.get_by_role("slider").fill("5")
    assert (shown.count("rect.counted"), shown.count("rect.terminating.new")) == (4, 1)
    shown.root.get_by_role("slider").fill("6")
    assert (shown.count("rect.counted"), shown.count("rect.terminating")) == (3, 1)


def test_victims_are_marked_and_the_columns_fill_one_by_one(address: str, visit: Visitor) -> None:
    shown = Stage(visit(address).page, 1)
    shown.root.get_by_role("button", name="all").click()
    shown.go_to("Pod app-1-5 (priority 5) cannot stay on node-1: a victim.")
    assert (shown.count(".chip.victim"), shown.count(".chip.away")) == (1, 1)
    shown.go_to("By budgets broken: 2 nodes are left, 1 is out.")
    assert [shown.row(f"node-{n}")[0] for n in (1, 2, 3)] == ["2", "0", "0"]
    assert shown.row("node-2")[1] == "·"
    assert shown.count("tr.out") == 1
    shown.page.keyboard.press("End")
    assert shown.root.locator("tr.chosen th").inner_text() == "node-3 chosen"
    assert shown.row("node-2")[1:3] == ["6", "·"]  # out after the second column: nobody asks further


@both_sizes
def test_both_fit_with_many_domains_pods_and_nodes(tmp_path: Path, visit: Visitor, size: tuple[int, int]) -> None:
    address = write_page(tmp_path / "page.html", [spread(6, 40), preemption(8)])
    page = visit(address, size=size).page
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for number in (0, 1):
        shown = Stage(page, number)
        for _ in every_step(shown, 4):
            wide = shown.root.locator(".stage").evaluate("stage => stage.scrollWidth <= stage.clientWidth")
            assert wide
    assert "2 more nodes are not shown" in Stage(page, 1).root.locator("caption").inner_text()


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    for number in (0, 1):
        Stage(page, number).root.get_by_role("slider").fill("5")
    looks_well(page)
