"""A DrillCard: a dozen exercises of one topic in a page, one at a time, easy ones first.

The page carries the exercises, the accepted spellings and what is said of foreseen mistakes, so it works without a
kernel. With one, an answer that the page does not know goes to the real judge.

Simplified: without Python an answer is compared by spelling, and one that has to be run (a selector) cannot be judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from k8slab.drill.exercise import Drill
from k8slab.drill.topics import TITLES, drill, seed_text
from k8slab.progress import Progress, remember
from k8slab.widgets import Score
from k8slab.widgets.assets import STATIC as SHARED
from k8slab.widgets.assets import squeezed
from k8slab.widgets.model import mimebundle

__all__ = ["DrillCard", "drill_esm"]

STATIC = Path(__file__).parent / "static"
_MOST = 50


@cache
def drill_esm() -> str:
    """The module of a DrillCard."""
    style = "".join(map(squeezed, (SHARED / "theme.css", SHARED / "quiz.css", STATIC / "drill.css")))
    return "\n".join([f"const CSS = `{style}`;", squeezed(SHARED / "dom.js"), squeezed(STATIC / "drill.js")])


@cache
def _model_class() -> Any:
    """The model class; ImportError when anywidget is not installed.

    `card`: the exercises as JSON text. `tried`: {seed: whether an answer was right}; `tries`: {seed: how many answers}.
    `asked`: an answer for Python to judge, {n, seed, text}. `verdict`: its judgement, {n, right, message, counts}.
    """
    import anywidget
    import traitlets

    class DrillModel(anywidget.AnyWidget):
        _esm = traitlets.Unicode().tag(sync=True)
        card = traitlets.Unicode().tag(sync=True)
        tried = traitlets.Dict().tag(sync=True)
        tries = traitlets.Dict().tag(sync=True)
        asked = traitlets.Dict().tag(sync=True)
        verdict = traitlets.Dict().tag(sync=True)

    return DrillModel


class DrillCard:
    """`count` exercises of a topic, from `seed` on. `drills`: the exercises; `score`: how many were answered right."""

    def __init__(self, topic: str, seed: int | str = 1, count: int = 12) -> None:
        if not 1 <= count <= _MOST:
            raise ValueError(f"count {count}: expected 1 to {_MOST}")
        seeds = [seed + n for n in range(count)] if isinstance(seed, int) else [f"{seed}-{n + 1}" for n in range(count)]
        self.topic = topic
        self.drills = tuple(sorted((drill(topic, seed_text(one)) for one in seeds), key=lambda d: d.level))
        self.title = TITLES[topic]
        self._model: Any = None

    @property
    def score(self) -> Score:
        """How many of the exercises were answered right."""
        tried = self._model.tried if self._model is not None else {}
        return Score(sum(map(bool, tried.values())), len(self.drills))

    def __str__(self) -> str:
        lines = [self.title]
        for number, one in enumerate(self.drills, 1):
            lines += ["", f"{number}. (seed {one.seed}) {one.question}"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"DrillCard({self.topic!r}, {len(self.drills)} exercise{'s' * (len(self.drills) != 1)})"

    def _json(self) -> str:
        card = {"topic": self.topic, "title": self.title, "drills": [_page(one) for one in self.drills]}
        return json.dumps(card, ensure_ascii=False, separators=(",", ":"))

    def widget(self) -> Any:
        """The Jupyter widget itself, for layouts; ImportError when anywidget is not installed."""
        if self._model is None:
            self._model = _model_class()(_esm=drill_esm(), card=self._json())
            self._model.observe(self._judge, "asked")
            self._model.observe(self._remember, "tries")
        return self._model

    def _judge(self, change: Mapping[str, Any]) -> None:
        asked = change["new"]
        for one in self.drills:
            if one.seed == asked.get("seed"):
                text = str(asked.get("text", ""))
                right, message = one.check(text)
                counts = not one.judge.problem(text)
                self._model.verdict = {"n": asked.get("n"), "right": right, "message": message, "counts": counts}

    def _remember(self, change: Mapping[str, Any]) -> None:
        """The page counts an answer in `tries` once it has set `tried`."""
        for one in self.drills:
            if change["new"].get(one.seed) != change["old"].get(one.seed):
                right, name = self._model.tried.get(one.seed) is True, f"{self.topic}/{one.seed}"
                remember(partial(Progress.done, kind="drill", name=name, right=right))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return mimebundle(self, **options)


def _page(one: Drill) -> dict[str, Any]:
    """What the page needs to show and to judge one exercise."""
    return {
        "seed": one.seed,
        "level": one.level,
        "question": one.question,
        "answer": one.answer,
        "why": one.explanation,
        "form": one.judge.form,
        "right": list(one.judge.spellings),
        "wrong": one.judge.foreseen(),
        "hint": one.judge.hint,
        "runs": one.judge.runs,
    }
