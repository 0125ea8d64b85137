"""The widget models, built when the first widget is shown: `import k8slab` must work without ipywidgets.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["mimebundle", "quiz_model", "stepper_model"]

MISSING = (
    "The interactive figure needs the package anywidget (pip install 'k8slab[book]'). "
    "This is what it would show, as text:"
)


def mimebundle(shown: Any, **options: Any) -> dict[str, Any]:
    """What a notebook shows of a Stepper, a Quiz or a card: its widget; without anywidget its text."""
    try:
        bundle: dict[str, Any] = dict(shown.widget()._repr_mimebundle_(**options)[0])
    except ImportError:
        return {"text/plain": f"{MISSING}\n\n{shown}"}
    return {**bundle, "text/plain": repr(shown)}


@cache
def stepper_model() -> Any:
    """The model class of a Stepper; ImportError when anywidget is not installed.

    `trace`: the frames as JSON text (one string: short to store, parsed once). `index`: the step shown.
    `live`: whether Python makes further steps. `command`: what the reader asks for, `{n, do: "step", main, actor}`.
    `status`: why there is no further step, or nothing.
    """
    import anywidget
    import traitlets

    class StepperModel(anywidget.AnyWidget):
        _esm = traitlets.Unicode().tag(sync=True)
        trace = traitlets.Unicode().tag(sync=True)
        index = traitlets.Int(0).tag(sync=True)
        live = traitlets.Bool(False).tag(sync=True)
        command = traitlets.Dict().tag(sync=True)
        status = traitlets.Unicode().tag(sync=True)

    return StepperModel


@cache
def quiz_model() -> Any:
    """The model class of a Quiz; ImportError when anywidget is not installed.

    `bank`: the questions as JSON text. `chosen`: {question id: indices of the options ticked}, once checked.
    """
    import anywidget
    import traitlets

    class QuizModel(anywidget.AnyWidget):
        _esm = traitlets.Unicode().tag(sync=True)
        bank = traitlets.Unicode().tag(sync=True)
        chosen = traitlets.Dict().tag(sync=True)

    return QuizModel
