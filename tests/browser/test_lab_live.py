"""Live in JupyterLab: steps made by the kernel, answers in the kernel, keys left alone; a lab's check that fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from k8slab.lab import find_lab
from tests.browser.conftest import Lab, run_all
from tests.browser.visits import Visit, axe_violations

ROOT = Path(__file__).resolve().parents[2]
SET_UP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.toy_cluster import ToyCluster
from k8slab.widgets import Quiz, Stepper
toy = ToyCluster()
stepper = Stepper(toy, live=True, title="Live")
stepper
"""
QUIZ = """
quiz = Quiz({"title": "Two", "questions": [{"id": "q", "source": "M1", "question": "Which?", "evidence": "1",
    "options": [{"text": "one", "correct": True, "explanation": "It is.", "holds": "value == 1"},
                {"text": "two", "correct": False, "explanation": "It is not.", "holds": "value == 2"}]}]})
quiz
"""
ASK = "print(stepper.here.kind, len(stepper.frames['steps']), getattr(toy, 'asked', None), quiz.chosen, quiz.score)"


def notebook(folder: Path, *cells: str) -> str:
    """A notebook of these cells, not run; its name."""
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "execution_count": None, "outputs": [], "source": cell}
        for n, cell in enumerate(cells)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    text = json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})
    (folder / "live.ipynb").write_text(text, encoding="utf-8")
    return "live.ipynb"


def shows(root: Locator, text: str) -> None:
    root.locator(".when", has_text=text).wait_for()


def ask(page: Page) -> str:
    """Run the last cell; what it prints."""
    page.locator(".jp-CodeCell").last.locator(".cm-content").click()
    before = page.locator(".jp-CodeCell").last.locator(".jp-InputArea-prompt").inner_text()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "before => { const p = [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')].at(-1).innerText;"
        " return /\\d/.test(p) && p !== before; }",
        arg=before,
    )
    return page.locator(".jp-CodeCell").last.locator(".jp-OutputArea-output").inner_text().strip()


def test_the_kernel_makes_the_steps_and_learns_the_answers(lab: Lab, visit: Callable[..., Visit]) -> None:
    page = visit(lab.notebook(notebook(lab.folder, SET_UP, QUIZ, ASK)), may_complain=True).page
    run_all(page)
    stepper = page.locator("section[aria-label='Stepper: Live']")
    shows(stepper, "step 1 of 1")
    stepper.get_by_role("button", name="Next step").click()
    shows(stepper, "step 3 of 3")  # the API server's action was two events
    stepper.get_by_role("group", name="Who acts next").get_by_role("button").first.click()
    shows(stepper, "step 4 of 4")
    cells = page.locator(".jp-Cell").count()
    stepper.get_by_role("button", name="Next step").focus()
    for key in ("ArrowRight", "ArrowLeft", "w", "Escape", "Home", "a", "b", "d", "d", "End"):
        page.keyboard.press(key)
    assert page.locator(".jp-Cell").count() == cells, "a key of the Stepper reached JupyterLab"
    shows(stepper, "step 5 of 5")
    stepper.locator(".title").click()
    page.keyboard.press("ArrowLeft")
    shows(stepper, "step 4 of 5")
    page.keyboard.press("ArrowRight")
    quiz = page.get_by_role("group", name="Quiz: Two")
    quiz.get_by_label("two").check()
    quiz.get_by_role("button", name="Check").click()
    quiz.get_by_text("Not so: see why.").wait_for()
    assert ask(page) == "queue.add 5 kcm/informers {'q': [1]} 0 of 1"
    assert axe_violations(page, ".jp-OutputArea-output") == []


BEGIN = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from k8slab.lab.inside import begin
check = begin("09")
check
"""


def test_a_check_that_fails_shows_its_text_and_a_stepper_for_the_keyboard(
    lab: Lab, visit: Callable[..., Visit]
) -> None:
    """The wrong queue hands a to worker-2 while worker-1 holds it: step 4 of `add a; get worker-1; add a; get
    worker-2`."""
    wrong = next(mutant.code for mutant in find_lab("09").mutants() if mutant.name == "parallel-processing")
    page = visit(lab.notebook(notebook(lab.folder, BEGIN, wrong, 'check("one-worker-a-key")')), may_complain=True).page
    run_all(page)
    stepper = page.locator("section[aria-label='Stepper: No two workers hold the same item']")
    shows(stepper, "step 4 of 4")
    sentence = stepper.get_by_role("status").first
    assert sentence.inner_text() == "Here it breaks: worker-1 still works on a, and worker-2 was given it too."
    assert "in work: a (worker-1)a (worker-1 and worker-2)\n" in held(stepper), "what was (struck), and what is"
    assert "with the solution: \n  answer: None\n  in work: a (worker-1)\n  wanted again: a" in held(stepper)
    report = page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").inner_text()
    assert "\u2717 No two workers hold the same item: public " in report and "step 4 of 4:" in report
    assert "Looks like 'parallel-processing'" in report and "Traceback" not in report
    cells = page.locator(".jp-Cell").count()
    stepper.get_by_role("button", name="Next step").focus()
    page.keyboard.press("ArrowLeft")
    shows(stepper, "step 3 of 4")
    assert sentence.inner_text() == "Add a."
    assert "a (worker-1)" in held(stepper) and "the solution" not in held(stepper)
    page.keyboard.press("End")
    shows(stepper, "step 4 of 4")
    page.keyboard.press("w")
    shows(stepper, "the step itself")
    page.keyboard.press("Home")
    shows(stepper, "cause 1 of 3")
    assert stepper.locator(".bec").inner_text() == "Nothing earlier shown here caused it."
    page.keyboard.press("Escape")
    shows(stepper, "step 1 of 4")
    assert page.locator(".jp-Cell").count() == cells, "a key of the Stepper reached JupyterLab"
    assert axe_violations(page, ".jp-OutputArea-output") == []


def held(stepper: Locator) -> str:
    """What the Stepper's inspector shows."""
    return stepper.get_by_role("group", name="Object, changes marked").inner_text()
