"""Pictures of Steppers on a page: on one without a kernel, and with Python making the steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from k8slab.widgets import Stepper
from k8slab.widgets.assets import stepper_esm
from tests.browser.visits import axe_violations, widgets_drawn

__all__ = ["OUTSIDE", "Shown", "every_step", "live", "says", "takes_an_operation"]

OUTSIDE = """picture => {
  const box = picture.getBoundingClientRect();
  return [...picture.querySelectorAll("text, rect, circle")].filter(e => !e.matches(".band")).filter(e => {
    const r = e.getBoundingClientRect();
    return r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1;
  }).map(e => e.outerHTML.slice(0, 120));
}"""


class Shown:
    """One Stepper on a page."""

    def __init__(self, page: Page, number: int = 0) -> None:
        self.page = page
        widgets_drawn(page)
        self.root: Locator = page.locator(".k8slab-widget").nth(number)
        self.picture = self.root.locator(".stage svg").first

    def text(self, selector: str) -> str:
        return self.root.locator(selector).first.inner_text()

    def go_to(self, sentence: str) -> None:
        """To the first step with this sentence, by the keyboard."""
        self.root.get_by_role("button", name="Next step").focus()
        self.page.keyboard.press("Home")
        while self.text(".txt") != sentence:
            before = self.text(".when span")
            self.page.keyboard.press("ArrowRight")
            assert self.text(".when span") != before, f"no step says {sentence!r}"

    def words(self) -> list[str]:
        return [text for text in self.picture.locator("text").all_text_contents() if text]

    def count(self, selector: str) -> int:
        return self.picture.locator(selector).count()


def every_step(shown: Shown, every: int = 1) -> Iterator[None]:
    """The slider is at the first step, the next, ... (or at every so manieth)."""
    slider = shown.root.get_by_role("slider")
    for value in range(0, int(str(slider.get_attribute("max"))) + 1, every):
        slider.fill(str(value))
        yield


LIVE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Live</title><main><h1>Live</h1>
<div class="k8slab-widget"></div></main><script type="module">
const state = STATE, on = {};
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  on: (name, f) => { on[name] = f; },
  off: (name) => { delete on[name]; },
  async save_changes() {
    if (!state.command) return;
    const command = state.command;
    state.command = null;
    const [trace, index, status] = await kernel(JSON.stringify(command));
    Object.assign(state, { trace, index, status });
    for (const name of ["trace", "index", "status"]) on["change:" + name]?.();
  },
};
const module = await import(URL.createObjectURL(new Blob([ESM], { type: "text/javascript" })));
const el = document.querySelector(".k8slab-widget");
module.default.render({ model, el });
el.setAttribute("data-k8slab", "drawn");
</script>"""


def live(page: Page, folder: Path, stepper: Stepper) -> Shown:
    """A page whose model is the Stepper's, without a comm between them."""
    widget = stepper.widget()

    def kernel(command: str) -> list[Any]:
        widget.command = json.loads(command)
        return [widget.trace, widget.index, widget.status]

    page.expose_function("kernel", kernel)
    state = json.dumps({"trace": widget.trace, "index": widget.index, "live": True, "status": "", "command": None})
    esm = json.dumps(stepper_esm(stepper.frames["views"])).replace("</", "<\\/")
    path = folder / "live.html"
    path.write_text(LIVE.replace("STATE", state).replace("ESM", esm), encoding="utf-8")
    page.goto(path.as_uri())
    page.locator("[data-k8slab=drawn] .stage svg").wait_for()
    shown = Shown.__new__(Shown)
    shown.page, shown.root = page, page.locator(".k8slab-widget")
    shown.picture = shown.root.locator(".stage svg").first
    return shown


def says(shown: Shown, sentence: str) -> None:
    shown.root.locator(".txt", has_text=sentence).wait_for(timeout=5_000)


def takes_an_operation(shown: Shown, label: str, operation: str, sentence: str, refusal: str) -> None:
    """What is typed into the field with this label is done, and what nobody can do is refused."""
    field = shown.root.get_by_label(label)
    field.focus()
    shown.page.keyboard.type(operation)  # w, the space and the arrows are not the stepper's here
    shown.page.keyboard.press("Enter")
    says(shown, sentence)
    field.fill("fly")
    shown.root.get_by_role("button", name="do it").click()
    shown.root.locator(".rdy", has_text=f"operation 'fly': expected {refusal}").wait_for(timeout=5_000)
    assert axe_violations(shown.page, best_practice=True) == []
