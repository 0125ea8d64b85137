"""The picture of a node's memory, on a page without a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from k8slab.kubelet import NodeConfig, NodePressure, Use, parse_growth
from k8slab.widgets import Stepper
from k8slab.widgets.assets import VIEWS, squeezed
from tests.browser.pictures import Shown, every_step
from tests.browser.visits import Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page

CONFIG = {
    "evictionHard": {"memory.available": "100Mi"},
    "evictionSoft": {"memory.available": "200Mi"},
    "evictionSoftGracePeriod": {"memory.available": "1m"},
}


def pod(name: str, request: str = "", limit: str = "", priority: int = 0) -> dict[str, Any]:
    resources = {"requests": {"memory": request}} if request else {}
    if limit:
        resources["limits"] = {"memory": limit}
    return {
        "metadata": {"name": name},
        "spec": {"priority": priority, "containers": [{"name": "c", "resources": resources}]},
    }


def pressure(more: int = 0) -> Stepper:
    """db below its request, web above, batch above and growing, scratch without a request; `more` small ones."""
    pods = [pod("db", "400Mi", "400Mi", 1000), pod("web", "100Mi", "300Mi"), pod("batch", "100Mi", priority=500)]
    pods += [pod("scratch"), *(pod(f"a-rather-long-name-of-a-pod-{n}", "10Mi") for n in range(more))]
    sizes = {"db": "380Mi", "web": "90Mi+1Mi/s", "batch": "50Mi+4Mi/s", "scratch": "60Mi"}
    uses = {f"default/{name}": Use(memory=parse_growth(text)) for name, text in sizes.items()}
    node = NodeConfig("node-1", memory="1Gi", system_memory="100Mi", reserved_memory="100Mi", kubelet_config=CONFIG)
    return Stepper(NodePressure(node, pods, uses, for_ms=240_000))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("memory") / "page.html", [pressure()])


def test_the_picture_is_5_kb_at_most() -> None:
    assert len(squeezed(VIEWS["memory"]).encode()) <= 5_000


def test_pods_stand_in_the_order_in_which_they_would_go(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.root.get_by_role("button", name="all").click()
    shown.go_to("The kubelet on node-1 looks: 94Mi of memory are free.")
    words = shown.words()
    rows = [words.index(f"{number}.") for number in (1, 2, 3, 4)]
    assert [words[row + 1] for row in rows] == ["scratch", "web", "batch", "db"]
    assert {"60Mi, asks nothing", "140Mi, asks 100Mi", "250Mi, asks 100Mi", "380Mi, asks 400Mi"} <= set(words)
    assert "MemoryPressure" in words and "node-1: 94Mi of 1Gi free" in words
    assert (shown.count("rect.over"), shown.count("line.bound")) == (3, 2)


def test_whoever_is_evicted_ends_and_then_is_struck_out_and_stands_last(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.root.get_by_role("button", name="all").click()
    shown.go_to("The kubelet on node-1 evicts Pod scratch for want of memory.available.")
    assert "evicted, ends" in shown.words() and shown.count("text.gone") == 0
    shown.page.keyboard.press("ArrowRight")
    assert shown.picture.locator("text.gone").all_text_contents() == ["scratch"]
    places = [word for word in shown.words() if word in ("1.", "2.", "3.", "4.", "\u00d7")]
    assert places == ["1.", "2.", "3.", "\u00d7"]


CROSSED = """() => {
  const all = (what) => [...document.querySelectorAll(`svg ${what}`)];
  const boxes = (what) => all(what).map((one) => [one, one.getBoundingClientRect()]);
  const lines = boxes("line.bound").map(([, box]) => box);
  return boxes("text").filter(([, text]) => lines.some((line) =>
    line.left > text.left && line.left < text.right && line.bottom > text.top + 2 && line.top < text.bottom - 2))
    .map(([one]) => one.textContent);
}"""


@both_sizes
def test_no_threshold_runs_through_a_word(address: str, visit: Visitor, size: tuple[int, int]) -> None:
    page = visit(address, size=size).page
    for _ in every_step(Shown(page), 5):
        assert page.evaluate(CROSSED) == []


@both_sizes
def test_it_fits_with_many_pods(tmp_path: Path, visit: Visitor, size: tuple[int, int]) -> None:
    page = visit(write_page(tmp_path / "page.html", [pressure(8)]), size=size).page
    shown = Shown(page)
    for _ in every_step(shown, 5):
        assert shown.root.locator(".stage").evaluate("stage => stage.scrollWidth <= stage.clientWidth")


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    Shown(page).root.get_by_role("slider").fill("4")
    looks_well(page)
