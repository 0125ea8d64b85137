"""book/_static/k8slab-static.js draws anywidgets from a page's stored state, over file:// and without a kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.visits import Visit, widgets_drawn

ROOT = Path(__file__).resolve().parents[2]
LOADER = ROOT / "book" / "_static" / "k8slab-static.js"
COUNTER = """
export default {
  initialize({ model }) { model.set("started", (model.get("started") ?? 0) + 1); },
  render({ model, el }) {
    const button = el.ownerDocument.createElement("button");
    const show = () => { button.textContent = `${model.get("name")} ${model.get("n")} ${model.get("started")}`; };
    button.onclick = () => { model.set("n", model.get("n") + 1); model.save_changes(); };
    model.on("change:n", show);
    show();
    el.append(button);
  },
};
"""


def models(**esm: str) -> dict[str, Any]:
    """Widget state of one model a name."""
    state = {}
    for name, source in esm.items():
        values = {"_esm": source, "_css": "button { color: black }", "name": name, "n": 0}
        state[name] = {"model_module": "anywidget", "model_name": "AnyModel", "state": values}
    return {"version_major": 2, "version_minor": 0, "state": state}


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[..., str]:
    """page_of(widget-state document, *model ids shown) -> address of a page on the disk."""

    def write(widgets: dict[str, Any], *shown: str) -> str:
        view = "application/vnd.jupyter.widget-view+json"
        views = "".join(f'<script type="{view}">{json.dumps({"model_id": name})}</script>' for name in shown)
        state = json.dumps(widgets).replace("</", "<\\/")
        (tmp_path / "page.html").write_text(
            f"<!doctype html><html lang=en><title>t</title><body>{views}"
            f'<script type="application/vnd.jupyter.widget-state+json">{state}</script>'
            f"<script defer src={LOADER.as_uri()}></script>",
            encoding="utf-8",
        )
        return (tmp_path / "page.html").as_uri()

    return write


def test_widgets_are_drawn_and_answer(page_of: Callable[..., str], visit: Callable[..., Visit]) -> None:
    page = visit(page_of(models(one=COUNTER, two=COUNTER), "one", "two")).page
    assert widgets_drawn(page) == 2
    buttons = page.get_by_role("button")
    buttons.first.click()
    assert buttons.all_inner_texts() == ["one 1 1", "two 0 1"]


def test_two_views_of_one_model_follow_each_other(page_of: Callable[..., str], visit: Callable[..., Visit]) -> None:
    page = visit(page_of(models(one=COUNTER), "one", "one")).page
    assert widgets_drawn(page) == 2
    page.get_by_role("button").first.click()
    assert page.get_by_role("button").all_inner_texts() == ["one 1 1", "one 1 1"]


def test_strings_stored_once_are_put_back(page_of: Callable[..., str], visit: Callable[..., Visit]) -> None:
    widgets = models(one="k8slab-shared:0", two="k8slab-shared:0") | {"shared": {"0": COUNTER}}
    page = visit(page_of(widgets, "one", "two")).page
    assert widgets_drawn(page) == 2


def test_a_broken_widget_says_so_and_the_others_are_drawn(
    page_of: Callable[..., str], visit: Callable[..., Visit]
) -> None:
    broken = "export default { render() { throw new Error('no picture today'); } };"
    seen = visit(page_of(models(bad=broken, good=COUNTER), "bad", "good"), may_complain=True)
    assert widgets_drawn(seen.page) == 1
    assert "could not be drawn: Error: no picture today" in seen.page.locator(".k8slab-widget-error").inner_text()
    assert len(seen.errors) == 1


def test_other_widgets_are_left_alone(page_of: Callable[..., str], visit: Callable[..., Visit]) -> None:
    widgets = models(one=COUNTER)
    widgets["state"]["slider"] = {"model_module": "@jupyter-widgets/controls", "state": {}}
    assert widgets_drawn(visit(page_of(widgets, "slider", "one", "unknown")).page) == 1
