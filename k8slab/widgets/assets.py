"""The JavaScript and styles of the widgets: plain files in `static/`, joined here, with no bundler.

A page carries one copy for every widget (the book's build stores equal copies once), so what only a reader of the
source needs is left out: indentation and lines that are comments.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

__all__ = ["VIEWS", "quiz_esm", "register_view", "stepper_esm"]

STATIC = Path(__file__).parent / "static"
VIEWS: dict[str, Path] = {}
"""The pictures a Stepper can show: name -> its JavaScript."""


def register_view(name: str, script: Path) -> None:
    """Add a picture. Its script calls `register(name, {label, css?, mount(host, ctx)})`; see `static/view_lanes.js`.

    ValueError: another script has that name already.
    """
    if VIEWS.setdefault(name, script) != script:
        raise ValueError(f"view {name!r}: {VIEWS[name].name} has that name already")


register_view("lanes", STATIC / "view_lanes.js")
register_view("matrix", STATIC / "view_matrix.js")
register_view("raft", STATIC / "view_raft.js")
register_view("mvcc", STATIC / "view_mvcc.js")
register_view("watches", STATIC / "view_watches.js")
register_view("gangs", STATIC / "view_gangs.js")
register_view("queue", STATIC / "view_queue.js")
register_view("spread", STATIC / "view_spread.js")
register_view("preempt", STATIC / "view_preempt.js")
register_view("memory", STATIC / "view_memory.js")
register_view("admission", STATIC / "view_admission.js")
register_view("hpa", STATIC / "view_hpa.js")
register_view("packing", STATIC / "view_packing.js")
register_view("consolidation", STATIC / "view_consolidation.js")
register_view("addresses", STATIC / "view_addresses.js")
register_view("walk", STATIC / "view_walk.js")
register_view("fragments", STATIC / "view_fragments.js")


def stepper_esm(views: Sequence[str]) -> str:
    """The module of a Stepper with these views. ValueError: an unknown view, or none."""
    unknown = [name for name in views if name not in VIEWS]
    if unknown or not views:
        raise ValueError(f"views {list(views)!r}: expected some of {', '.join(VIEWS)}")
    return "\n".join([_core(), *(squeezed(VIEWS[name]) for name in dict.fromkeys(views))])


@cache
def _core() -> str:
    return "\n".join(
        [_style("theme.css", "stepper.css"), *(squeezed(STATIC / f"{n}.js") for n in ("dom", "draw", "stepper"))]
    )


@cache
def quiz_esm() -> str:
    """The module of a Quiz."""
    return "\n".join([_style("theme.css", "quiz.css"), *(squeezed(STATIC / f"{n}.js") for n in ("dom", "quiz"))])


def _style(*names: str) -> str:
    return "const CSS = `" + "".join(squeezed(STATIC / name) for name in names) + "`;"


def squeezed(path: Path) -> str:
    """The text of a script or style sheet without indentation, empty lines and lines that are comments."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    kept = [line for line in lines if line and not line.startswith(("//", "/*"))]
    return ("" if path.suffix == ".css" else "\n").join(kept)
