"""A page opened in the browser with the network cut off, and what it complained about."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Route

__all__ = [
    "AXE",
    "LAPTOP",
    "NARROW",
    "PHONE",
    "Visit",
    "Visitor",
    "axe_violations",
    "both_sizes",
    "both_themes",
    "focused",
    "looks_well",
    "open_visit",
    "settled",
    "widgets_drawn",
]

LAPTOP = (1280, 900)
PHONE = (390, 844)
both_sizes = pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
both_themes = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
NARROW = {"phone": PHONE, "zoom 200 %": (640, 450), "zoom 400 %": (320, 225)}
"""Sizes at which a page must not scroll sideways: a phone, and a laptop whose reader needs larger text."""

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
FOCUSED = """(() => {
  let a = document.activeElement;
  while (a.shadowRoot?.activeElement) a = a.shadowRoot.activeElement;
  const shown = a.querySelector(":scope > .toctree-toggle") ?? a;  // a summary of the theme is outlined inside
  const style = getComputedStyle(shown);
  const shadow = [...style.boxShadow.matchAll(/([\\d.]+)px/g)].map(([, px]) => parseFloat(px));  // the theme's links
  const outline = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  const name = a.getAttribute("aria-label") ?? a.labels?.[0]?.textContent ?? a.textContent;
  return [a === document.body ? "" : name.trim(), Math.max(outline, ...shadow)];
})()"""
TEXTS = """[...document.querySelectorAll(".k8slab-widget")].flatMap(w => [...w.shadowRoot.querySelectorAll("*")])
  .filter(e => e.tagName !== "STYLE" && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
  .map(e => [parseFloat(getComputedStyle(e).fontSize), e.outerHTML.slice(0, 80)])"""
"""Font size and beginning of every element of a widget that has a text of its own."""
LOCAL = ("file:", "blob:", "data:", "http://127.0.0.1:", "ws://127.0.0.1:")


@dataclass(slots=True)
class Visit:
    """`refused`: addresses off this machine that the page asked for. `errors`: console errors and exceptions."""

    page: Page
    refused: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def complaints(self) -> list[str]:
        return [*(f"asked for {address}" for address in self.refused), *self.errors]


Visitor = Callable[..., Visit]
"""What the fixture `visit` is: opens an address."""


def open_visit(browser: Browser, *, size: tuple[int, int], dark: bool, reduced_motion: bool) -> Visit:
    """An empty page in a context of its own."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce" if reduced_motion else "no-preference",
    )
    visit = Visit(context.new_page())

    def route(route: Route) -> None:
        if route.request.url.startswith(LOCAL):
            route.continue_()
        else:
            visit.refused.append(route.request.url)
            route.abort()

    def console(message: ConsoleMessage) -> None:
        # Chromium asks every http server for an icon; a missing one is no fault of the page
        if message.type == "error" and "favicon.ico" not in str(message.location):
            visit.errors.append(message.text[:500])

    context.route("**/*", route)
    visit.page.on("console", console)
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)[:500]))
    return visit


def widgets_drawn(page: Page, timeout_ms: float = 10_000) -> int:
    """Wait until the static loader is done with the page; how many widgets it drew."""
    page.wait_for_function("document.documentElement.dataset.k8slabWidgets !== undefined", timeout=timeout_ms)
    return int(page.evaluate("document.documentElement.dataset.k8slabWidgets"))


def settled(page: Page, *, late_ms: int = 0) -> None:
    """Wait until widgets and fonts are there, and `late_ms` more for what scripts ask for late.

    Playwright's "networkidle" is not used: on a busy machine it missed the end of a request twice and waited 30 s.
    """
    if page.locator("script[src*=k8slab-static]").count():  # a page without widgets has no loader
        widgets_drawn(page, timeout_ms=30_000)
    page.evaluate("document.fonts.ready.then(() => null)")
    page.wait_for_timeout(late_ms)


def focused(page: Page) -> tuple[str, float]:
    """The name of what has the focus (nothing for the page itself), and how many pixels wide its ring is."""
    name, outline = page.evaluate(FOCUSED)
    return str(name), float(outline)


def axe_violations(
    page: Page, scope: str | None = None, *, best_practice: bool = False, colours_only: bool = False
) -> list[str]:
    """What axe-core finds against WCAG 2.1 A and AA in the page, or in the part that a CSS selector names.

    `colours_only`: by the rules that another theme can break, on a page that was judged by all of them before.
    """
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    tags = COLOUR_RULES if colours_only else [*RULES, *(["best-practice"] if best_practice else [])]
    options = json.dumps({"runOnly": tags, "preload": False})  # preload fetches style sheets, which file:// forbids
    call = f"axe.run({json.dumps(scope) if scope else 'document'}, {options})"
    found: list[dict[str, Any]] = page.evaluate(call)["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:160]} {node['target']}"
        for rule in found
        for node in rule["nodes"]
    ]


def looks_well(page: Page) -> None:
    """The page keeps nobody out, is not wider than the window, and no text of a widget is smaller than 12 px."""
    assert axe_violations(page, best_practice=True) == []
    assert page.viewport_size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    texts = page.evaluate(TEXTS)
    assert texts, "no widget with a text is on the page"
    assert [text for px, text in texts if px < 12] == []
