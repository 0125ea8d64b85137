"""The picture of a scheduling queue: lanes, moves with their event, assumed Pods, on a laptop and a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.scheduler import QueueStory
from k8slab.widgets import Stepper
from tests.browser.pictures import OUTSIDE, Shown, every_step, live, takes_an_operation
from tests.browser.visits import LAPTOP, Visitor, both_sizes, both_themes, looks_well
from tests.browser.widget_pages import write_page

OPERATIONS = ["node small cpu=1", "pod web cpu=2", "pop", "decide", "node big cpu=4", "wait 2s", "pop", "decide"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with a Pod that waits, backs off and is assumed."""
    return write_page(tmp_path_factory.mktemp("queue") / "page.html", [Stepper(QueueStory(OPERATIONS))])


def test_a_move_is_an_arrow_and_names_its_event(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.go_to("ScheduleAttemptFailure puts Pod web into Unschedulable: NodeResourcesFit rejected it.")
    assert "NodeResourcesFit" in shown.words()
    assert (shown.count("path.move"), shown.count("rect.ghost")) == (1, 1)
    shown.go_to("NodeAdd puts Pod web into Backoff: NodeResourcesFit says Queue.")
    assert {"event: NodeAdd", "until 2 s", "big: 0 of 4 CPU"} <= set(shown.words())
    assert shown.picture.get_attribute("aria-label") == (
        "0 active, 0 in flight, 0 unschedulable, 1 back-off, 0 on a node. As the text says."
    )


def test_an_assumed_pod_is_dashed_and_counts_on_its_node(address: str, visit: Visitor) -> None:
    shown = Shown(visit(address).page)
    shown.root.get_by_role("button", name="Next step").focus()
    shown.page.keyboard.press("End")
    assert shown.count("rect.card.assumed") == 1
    assert {"big, assumed", "big: 2 of 4 CPU"} <= set(shown.words())


@both_sizes
def test_many_pods_and_nodes_fit(tmp_path: Path, visit: Visitor, size: tuple[int, int]) -> None:
    nodes = [f"node a-node-with-a-long-name-{n} cpu=1" for n in range(9)]
    pods = [f"pod a-pod-with-a-rather-long-name-{n} cpu={1 + n % 2} priority={n}" for n in range(12)]
    address = write_page(tmp_path / "page.html", [Stepper(QueueStory([*nodes, *pods, *["next"] * 12]))])
    shown = Shown(visit(address, size=size).page)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    seen: set[str] = set()
    for _ in every_step(shown):
        assert shown.picture.evaluate(OUTSIDE) == []
        seen.update(shown.words())
    hidden = 7 if size == LAPTOP else 8  # of at least 10 active Pods all but 3 or 2 share the last place
    assert any(word == f"and {number} more" for word in seen for number in range(hidden, 11))


@both_sizes
@both_themes
def test_it_looks_well(address: str, visit: Visitor, size: tuple[int, int], dark: bool) -> None:
    page = visit(address, size=size, dark=dark).page
    Shown(page).root.get_by_role("slider").fill("6")
    looks_well(page)


def test_live_an_operation_is_typed_below(tmp_path: Path, visit: Visitor) -> None:
    shown = live(visit("about:blank").page, tmp_path, Stepper(QueueStory(["node n cpu=4"]), live=True))
    takes_an_operation(
        shown, "An operation for the queue", "pod web gate=x", "SchedulingGates keeps it out", "node NAME"
    )
