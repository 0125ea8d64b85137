"""Scripts and styles: small enough, and readable by contrast."""

from __future__ import annotations

import re

import pytest

from k8slab.widgets import assets
from k8slab.widgets.story import ROLES

CORE, VIEW, QUIZ = 32 * 1024, 5 * 1024, 10 * 1024
THEME = (assets.STATIC / "theme.css").read_text(encoding="utf-8")
DRAW = (assets.STATIC / "draw.js").read_text(encoding="utf-8")


def test_the_core_is_small() -> None:
    assert len(assets._core().encode()) <= CORE


@pytest.mark.parametrize("view", assets.VIEWS)
def test_a_view_is_small(view: str) -> None:
    assert len(assets.squeezed(assets.VIEWS[view]).encode()) <= VIEW


def test_the_quiz_is_small() -> None:
    assert len(assets.quiz_esm().encode()) <= QUIZ


def test_scripts_can_stand_in_a_page() -> None:
    for text in (assets.stepper_esm(list(assets.VIEWS)), assets.quiz_esm()):
        assert "</script" not in text
        assert text.count("export default") == 1


def test_two_scripts_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match=r"view 'lanes': view_lanes\.js has that name already"):
        assets.register_view("lanes", assets.STATIC / "view_matrix.js")


# -- contrast, computed from the palette (WCAG 2.1: 1.4.3 text, 1.4.11 shapes) ----------------------


def palette(selector: str) -> dict[str, str]:
    block = re.search(re.escape(selector) + r" \{(.*?)\}", THEME, re.S)
    assert block is not None
    return {name: long_form(value) for name, value in re.findall(r"--(\w+): (#\w+)", block[1])}


def long_form(colour: str) -> str:
    return colour if len(colour) == 7 else "#" + "".join(c * 2 for c in colour[1:])


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


LIGHT, DARK = palette(".k"), palette(".k.dark")
FILLS: dict[str, str] = dict(re.findall(r"(\w+): \[\"(#\w{6})\", \"M", DRAW))
both = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


def test_the_formula_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@both
@pytest.mark.parametrize("ground", ["bg", "pane", "hot", "add"])
def test_text_is_readable(colours: dict[str, str], ground: str) -> None:
    assert contrast(colours["ink"], colours[ground]) >= 4.5
    if ground in ("bg", "pane"):
        assert contrast(colours["mute"], colours[ground]) >= 4.5


@both
def test_borders_of_controls_can_be_seen(colours: dict[str, str]) -> None:
    assert contrast(colours["rule"], colours["bg"]) >= 3


def test_every_role_has_a_colour_and_every_filled_mark_an_outline_that_can_be_seen() -> None:
    assert tuple(FILLS) == ROLES
    outline = {"light": "#14181e", "dark": "#f3f5f7"}
    style = (assets.STATIC / "stepper.css").read_text(encoding="utf-8")
    assert f".mark {{ stroke: {outline['light']}" in style
    assert f".dark .mark {{ stroke: {outline['dark']}" in style
    for ground, line in ((LIGHT, outline["light"]), (DARK, outline["dark"])):
        assert contrast(line, ground["bg"]) >= 3
        assert contrast(line, ground["pane"]) >= 3


def test_glyphs_can_be_told_from_their_chips() -> None:
    for role, fill in FILLS.items():
        assert contrast("#ffffff" if role == "api" else "#14181e", fill) >= 3
