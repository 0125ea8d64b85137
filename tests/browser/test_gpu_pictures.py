"""The map of fragments: the same tasks under two policies."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.autoscaling.gpu import GpuNode, PlacingStory, Policy, Task, TaskClass, Workload
from k8slab.widgets import Stepper
from k8slab.widgets.assets import VIEWS, squeezed
from tests.browser.pictures import OUTSIDE, Shown, every_step
from tests.browser.visits import Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page


def fragments(count: int = 3, gpus: int = 8) -> Stepper:
    def nodes() -> list[GpuNode]:
        return [GpuNode(f"node-{n}", 96_000, 786_432, [1_000] * gpus) for n in range(1, count + 1)]

    tasks = [Task(f"one-{n}", 4_000, 8_192, gpus=1) for n in range(1, 4)]
    shares = [Task(f"half-{n}", 4_000, 8_192, gpu_milli=500) for n in range(1, 4)]
    big = [Task(f"big-{n}", 32_000, 65_536, gpus=8) for n in range(1, 3)]
    to_come = Workload({TaskClass(32_000, 65_536, gpus=8): 1, TaskClass(4_000, 8_192, gpus=1): 2})
    return Stepper(PlacingStory(nodes, [*tasks, *shares, *big, "one-1"], (Policy.SPREAD, Policy.FGD), to_come))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("fragments") / "page.html", [fragments()])


def test_the_picture_is_5_kb_at_most() -> None:
    assert len(squeezed(VIEWS["fragments"]).encode()) <= 5_000


def test_spread_leaves_no_node_for_eight(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.go_to("Task one-3 (1 GPU): spread: node-3; fgd: node-1.")
    assert {"21 GPUs free, 7 of no use", "21 GPUs free, 1.7 of no use", "everything has a place"} <= set(shown.words())
    assert (shown.count("rect.gpu"), shown.count("rect.used"), shown.count("rect.bin.new")) == (48, 6, 2)
    shown.go_to("Task big-1 (8 GPUs): spread: nowhere; fgd: node-2.")
    assert "no place for big-1" in shown.words()
    shown.page.keyboard.press("End")
    label = str(shown.picture.get_attribute("aria-label"))
    assert label.startswith("spread: 20.5 GPUs free") and "2 tasks without a place; fgd:" in label


@both_sizes
def test_many_nodes_fit(tmp_path: Path, visit: Visitor, size: tuple[int, int]) -> None:
    shown = Shown(visit(write_page(tmp_path / "page.html", [fragments(14)]), size=size).page)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for _ in every_step(shown):
        assert shown.picture.evaluate(OUTSIDE) == []
    assert "2 more nodes are not shown" in shown.words()


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    Shown(page).root.get_by_role("slider").fill("6")
    looks_well(page)
