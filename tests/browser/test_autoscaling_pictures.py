"""The packing map of the Cluster Autoscaler, on a page without a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.autoscaling.cluster_autoscaler import NodeGroupConfig, PackingStory, RemovalStory, StaticAutoscaler
from k8slab.widgets import Stepper
from k8slab.widgets.assets import VIEWS, squeezed
from tests.autoscaling import CaWorld, groups_of, machine, waiting_pod
from tests.browser.pictures import Shown, every_step
from tests.browser.visits import Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page

TYPES = (machine("two", 2, 8), machine("four", 4, 16, price=210_000))


def packing(pods: int = 6) -> Stepper:
    """Pods of half a CPU and 2 GiB: two Nodes of `two`, or one of `four` and a bit; `gpu-only` cannot help."""
    taint = {"key": "gpu", "effect": "NoSchedule"}
    configs = (
        NodeGroupConfig("small", "two"),
        NodeGroupConfig("large", "four"),
        NodeGroupConfig("gpu-only", "four", taints=(taint,)),
    )
    w = CaWorld(groups_of(*configs, types=TYPES))
    w.add(waiting_pod(f"web-{n}", "500m", "2Gi", owner="rs") for n in range(pods))
    return Stepper(PackingStory(fresh(w), w.view(), w.now_ms))


def removal(nodes: int = 4) -> Stepper:
    """A busy node, nodes with one Pod that could move, and one whose Pod forbids it."""
    w = CaWorld(groups_of(NodeGroupConfig("pool", "two", size=nodes, max_size=20), types=TYPES))
    names = w.join()
    w.place(waiting_pod("busy", "1200m", "2Gi", owner="rs"), names[0])
    for number, name in enumerate(names[1:], 1):
        kept = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"} if number == 2 else {}
        w.place(waiting_pod(f"app-{number}", "300m", "1Gi", owner="rs", annotations=kept), name)
    return Stepper(RemovalStory(fresh(w), w.view(), w.now_ms))


def fresh(w: CaWorld) -> StaticAutoscaler:
    return w.ca


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(tmp_path_factory.mktemp("pictures") / "page.html", [packing(), removal()])


def test_the_picture_is_5_kb_at_most() -> None:
    assert len(squeezed(VIEWS["packing"]).encode()) <= 5_000


def test_each_group_fills_its_own_nodes_and_the_choice_is_marked(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.root.get_by_role("button", name="all").click()
    shown.go_to("web-0 opens node 1 of small.")
    assert (shown.count("rect.bin"), shown.count("rect.slice")) == (1, 2)  # a slice of CPU and one of memory
    assert shown.count("rect.slice.new") == 2
    shown.go_to("Small would need 2 nodes for 6 Pods: 25 % of the CPU and 25 % of the memory stay idle.")
    assert shown.count("rect.slice") == 12
    shown.page.keyboard.press("End")
    # Six Pods of half a CPU: two Nodes of 2 CPUs, or one of 4. Both idle 25 % and 25 %; chance decides.
    assert shown.count("rect.bin") == 3
    assert shown.count("rect.pick") == 1
    words = shown.words()
    assert sum(word.startswith("chosen: ") for word in words) == 1
    assert sum(word.startswith("not chosen: ") for word in words) == 1
    assert any(word.startswith("cannot help: node(s) had untolerated taint") for word in words)
    assert words[0].startswith("0 Pods wait.")


def test_nodes_that_could_go_are_emptied_and_those_that_stay_say_so(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page, 1)
    shown.root.get_by_role("button", name="all").click()
    assert shown.count("rect.bin") == 4
    shown.page.keyboard.press("End")
    assert shown.count("rect.gone") == 2
    assert shown.count("rect.stays") == 2
    assert sum("unneeded" in word for word in shown.words()) == 2
    text = shown.picture.get_attribute("aria-label")
    assert text is not None and "nodes" in text


@both_sizes
def test_it_fits_with_many_nodes(tmp_path: Path, visit: Visitor, size: tuple[int, int]) -> None:
    address = write_page(tmp_path / "page.html", [packing(40), removal(18)])
    page = visit(address, size=size).page
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for number in (0, 1):
        shown = Shown(page, number)
        for _ in every_step(shown, 6):
            assert shown.root.locator(".stage").evaluate("stage => stage.scrollWidth <= stage.clientWidth")


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    for number in (0, 1):
        Shown(page, number).root.get_by_role("slider").fill("3")
    looks_well(page)
