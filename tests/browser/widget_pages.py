"""Pages with widgets on them, as the book's build makes them: state and views in the page, the static loader."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["write_page"]

ROOT = Path(__file__).resolve().parents[2]
LOADER = ROOT / "book" / "_static" / "k8slab-static.js"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
# Themes style bare elements: the widgets must survive it. The column is as wide as the book's.
HOSTILE = """
html { color-scheme: light dark }
body { margin: 0; font: 16px/1.6 sans-serif; background: #fff; color: #1c2128 }
@media (prefers-color-scheme: dark) { body { background: #14181e; color: #e8ebef } }
main { max-width: 688px; margin: 0 auto; padding: 16px 8px }
table { width: 50%; border: 3px solid red } button { border: 3px solid red } p { margin: 0 0 1.15rem }
fieldset { border: 3px solid red } label { color: red }
"""


def write_page(path: Path, things: Sequence[Any]) -> str:
    """A page that shows Steppers and Quizzes; its file:// address."""
    spec = importlib.util.spec_from_file_location("k8slab_book", ROOT / "book" / "_ext" / "k8slab_book.py")
    assert spec is not None and spec.loader is not None
    book = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(book)
    state: dict[str, Any] = {}
    for number, thing in enumerate(things):
        values = {k: v for k, v in thing.widget().get_state().items() if k != "layout"}
        state[f"m{number}"] = {"model_module": "anywidget", "model_name": "AnyModel", "state": values}
    shared = book.share({"version_major": 2, "version_minor": 0, "state": state})
    text = json.dumps(shared, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    shutil.copy(LOADER, path.parent)
    views = book.say_where(
        "".join(f'<script type="{VIEW}">{{"model_id": "m{n}"}}</script>' for n in range(len(things)))
    )
    path.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Widgets</title><style>{HOSTILE}</style><body><main><h1>Widgets</h1>{views}</main>"
        f'<script type="{STATE}">{text}</script><script defer src="{LOADER.name}"></script>',
        encoding="utf-8",
    )
    return path.as_uri()
