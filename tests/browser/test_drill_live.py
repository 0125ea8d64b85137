"""The DrillCard in a live JupyterLab: what the page does not know is judged by Python, and Python learns the score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from k8slab.drill import DrillCard
from k8slab.progress import Progress
from tests.browser.conftest import Lab, run_all
from tests.browser.test_lab_live import ask, notebook
from tests.browser.visits import Visit

ROOT = Path(__file__).resolve().parents[2]
CARD = DrillCard("selectors", 1, 50)
PLACE = next(n for n, one in enumerate(CARD.drills) if one.kind == "write")
SET_UP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from k8slab.drill import DrillCard
card = DrillCard("selectors", 1, 50)
card
"""


def test_an_answer_that_has_to_be_run_is_run(lab: Lab, visit: Callable[..., Visit]) -> None:
    page = visit(lab.notebook(notebook(lab.folder, SET_UP, "print(card.score)")), may_complain=True).page
    run_all(page)
    root = page.locator("[role=group][aria-label='Drill: Label selectors']")
    for _ in range(PLACE):
        root.get_by_role("button", name="Next").click()
    answer = f" {CARD.drills[PLACE].answer},!no-such-label "  # matches the same, and no page could know it
    root.get_by_label("Your answer").fill(answer)
    root.get_by_role("button", name="Check").click()
    expect(root.get_by_role("status")).to_have_text("Right.")
    assert ask(page) == "1 of 50"
    root.get_by_label("Your answer").fill("app in web")
    page.keyboard.press("Enter")
    expect(root.get_by_role("status")).to_contain_text("expected a selector (unable to parse requirement")
    kept = Progress().export()["entries"]["drill"][f"selectors/{CARD.drills[PLACE].seed}"]
    assert (kept["times"], kept["detail"]) == (1, {"right": True}), "what is no answer is no try"
