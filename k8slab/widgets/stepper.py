"""The Stepper: a recorded run of something, to step through forward and back.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.sim import Recording, TraceEvent, is_main
from k8slab.widgets.assets import stepper_esm
from k8slab.widgets.frames import MAIN_STEPS, STEPS, Chosen, Moment, Recorder, Steppable, choose, encode
from k8slab.widgets.matrix import steps_of
from k8slab.widgets.model import mimebundle, stepper_model
from k8slab.widgets.story import is_noise, lane_of

__all__ = ["Stepper"]

_PATIENCE_ACTIONS, _PATIENCE_MS = 20_000, 120_000  # how long "next" looks for something to show
_READY_MS = 300_000
_ORDER = "do: "


class Stepper:
    """Steps through what `thing` did, or does.

    `thing` has `view()`, `step()` and `trace` (a `Cluster`, a `RaftCluster`, a `StoreStory`, a scheduler's explanation
    of a Pod). What is recorded: events from number `since` on (None: from now on), then, with `until` or `for_ms`, what
    happens until the condition holds or the span has passed. With none of the three it runs until everything applied
    is ready (a Cluster, a RaftCluster) or nothing is left to do. `views`: the pictures offered, the first is shown.
    `only`: lanes to keep. `main`: how many steps the main story may have.

    `live`: pressing next at the end makes the next step; `thing` goes on where it stands. It starts with what
    `since`, `until` and `for_ms` name, or with the first step. A thing with `command(text)` takes orders from its
    picture, such as `crash 2`.

    ValueError: nothing happened, a title over 40 characters, an unknown view.
    """

    def __init__(
        self,
        thing: Any,
        *,
        until: Callable[[], bool] | None = None,
        for_ms: int | None = None,
        since: int | None = None,
        views: Sequence[str] = (),
        title: str = "",
        only: Sequence[str] = (),
        main: int = MAIN_STEPS,
        live: bool = False,
    ) -> None:
        self.thing: Steppable = steps_of(thing) if not hasattr(thing, "step") else thing
        self._views = tuple(views) or tuple(getattr(self.thing, "views", ("lanes",)))
        stepper_esm(self._views)  # a name that is no view fails here
        self._title = title or str(getattr(self.thing, "title", "")) or "Step by step"
        self._only = tuple(only)
        self._most = main
        self._index = 0
        self._model: Any = None
        self.live = live
        self._recorder = Recorder(self.thing, since=since)
        self._record(until, for_ms, since)
        self.frames: dict[str, Any] = self._encoded()

    def _record(self, until: Callable[[], bool] | None, for_ms: int | None, since: int | None) -> None:
        recorder = self._recorder
        if until is not None or for_ms is not None:
            recorder.run(until=until, for_ms=for_ms)
        elif not self.live and since is None:
            ready = getattr(self.thing, "all_ready", None)
            recorder.run(until=ready, for_ms=None if ready is None else _READY_MS)
        if self.live and not any(map(self._is_shown, recorder.moments)):
            self._advance()
        if not recorder.moments:
            raise ValueError("nothing happened: there is no step to show; apply something first, or name since=")

    # -- frames ------------------------------------------------------------------------------------

    def _chosen(self) -> Chosen:
        return choose(self._recorder.moments, main=self._most, only=self._only)

    def _encoded(self) -> dict[str, Any]:
        recorder = self._recorder
        chosen = self._chosen()
        if not chosen.kept:
            raise ValueError(f"nothing to show: {len(recorder.moments)} events, but none in the lanes {self._only!r}")
        ready = self._ready() if self.live else {}
        events = {m.event.seq: m.event for m in recorder.moments}
        frames = encode(chosen, recorder.state0, events, title=self._title, views=self._views, ready=ready)
        if self.live:
            shown = {lane["id"] for lane in frames["lanes"]}
            frames["ready"] = [[lane, what] for lane, what in ready.items() if lane in shown]
        return frames

    def _ready(self) -> dict[str, str]:
        """The lanes with a task that could act now, and the name that the first of these tasks has in it."""
        ready: dict[str, str] = {}
        for name in self.thing.view().get("ready", ()):
            lane = lane_of(name)
            ready.setdefault(lane, (name.removeprefix(f"{lane}/").removeprefix("kcm/").split("[")[0])[:24])
        return ready

    # -- going on ----------------------------------------------------------------------------------

    def step(self, actor: str | None = None, *, main: bool = False) -> str:
        """Make the next step and show it: of `actor` (a lane such as `kcm/deployment`) if it could act now.

        `main`: go on to the next step of the main story. `actor` may be an order to the thing instead, such as
        `do: crash 2`; ValueError when it cannot. Returns "" or why there is no step.
        """
        before = len(self.frames["steps"])
        if before >= STEPS:
            return f"A Stepper shows {STEPS:,} steps at most. Make a new one to go on."
        note = self._advance(actor, main=main)
        self.frames = self._encoded()
        if len(self.frames["steps"]) > before:
            self._index = len(self.frames["steps"]) - 1
        if self._model is not None:
            self._model.trace = self._json()
        return note

    def _advance(self, actor: str | None = None, *, main: bool = False) -> str:
        """Act until there is something new to show."""
        clock = self.thing.trace.clock
        end = clock.now_ms + _PATIENCE_MS
        if actor is not None and actor.startswith(_ORDER):
            if any(map(self._is_shown, self._recorder.command(actor.removeprefix(_ORDER)))):
                return ""
            actor = None
        for _ in range(_PATIENCE_ACTIONS):
            new, alive = self._recorder.step(actor)
            actor = None
            if any(self._is_shown(moment, main) for moment in new):
                return ""
            if not alive:
                return "Nothing is left to do."
            if clock.now_ms > end:
                break
        return f"Nothing {'of the main story ' if main else ''}happened up to t = {clock.now_ms:,} ms."

    def _is_shown(self, moment: Moment, main: bool = False) -> bool:
        event = moment.event
        if is_noise(event) or (self._only and lane_of(event.actor) not in self._only):
            return False
        return not main or is_main(event, self.thing.trace.get)

    # -- where the reader is -----------------------------------------------------------------------

    @property
    def index(self) -> int:
        """The number of the step shown, from 0. Set it to show another."""
        return int(self._model.index) if self._model is not None else self._index

    @index.setter
    def index(self, index: int) -> None:
        last = len(self.frames["steps"]) - 1
        if not 0 <= index <= last:
            raise ValueError(f"index {index}: expected 0 to {last}")
        self._index = index
        if self._model is not None:
            self._model.index = index

    @property
    def here(self) -> TraceEvent:
        """The event shown now."""
        return self.thing.trace[self.frames["steps"][self.index]["seq"]]

    def why(self) -> Any:
        """The causes of the event shown now, first cause first; print it."""
        from k8slab.cluster import Why

        return Why(tuple(reversed(self.thing.trace.causes(self.here.seq))))

    # -- taking it elsewhere -----------------------------------------------------------------------

    def share(self) -> str:
        """A line of text with which `Stepper.load` opens the same run at the step shown now. ValueError: what is
        shown cannot be recorded."""
        recording = getattr(self.thing, "recording", None)
        if recording is None:
            raise ValueError(f"{type(self.thing).__name__}: only a run of a Cluster can be shared")
        event = self.here
        return str(recording().until(event.action, event.seq).share())

    @classmethod
    def load(cls, text: str, **options: Any) -> Stepper:
        """A live Stepper on what `share` of a Stepper or a Cluster wrote, at the step it was shared from.

        `options` as for a Stepper. ValueError: no such text. TypeError: no text at all.
        """
        from k8slab.cluster import Cluster

        if not isinstance(text, str):
            raise TypeError(f"text: {text!r}: expected the text that `share` wrote")
        seen = Recording.load(text).seen
        cluster = Cluster.replay(text)
        stepper = cls(cluster, since=cluster.started_seq, live=True, **options)
        numbers = [step["seq"] for step in stepper.frames["steps"]]
        stepper.index = numbers.index(seen) if seen in numbers else len(numbers) - 1
        return stepper

    # -- showing -----------------------------------------------------------------------------------

    def __str__(self) -> str:
        """The story as text: a line for each step of the main story (or for each, when there is no main story)."""
        steps = self.frames["steps"]
        main = [step for step in steps if step.get("level") == 1] or steps
        labels = {lane["id"]: lane["label"] for lane in self.frames["lanes"]}
        width = max(len(f"{step['t']:,}") for step in main)
        lines = [f"{step['t']:>{width},} ms  {labels[step['actor']]:<15}  {step['text']}" for step in main]
        return "\n".join([f"{self._title} ({len(main)} of {len(steps)} steps)", *lines])

    def __repr__(self) -> str:
        steps = self.frames["steps"]
        main = sum(step.get("level") == 1 for step in steps)
        return f"Stepper({self._title!r}, {len(steps)} steps, {main} in the main story)"

    def _json(self) -> str:
        return json.dumps(self.frames, ensure_ascii=False, separators=(",", ":"))

    def widget(self) -> Any:
        """The Jupyter widget itself, for layouts; ImportError when anywidget is not installed."""
        if self._model is None:
            esm = stepper_esm(self._views)
            self._model = stepper_model()(_esm=esm, trace=self._json(), live=self.live, index=self._index)
            self._model.observe(self._on_command, names="command")
        return self._model

    def _on_command(self, change: Mapping[str, Any]) -> None:
        command = change["new"] or {}
        if command.get("do") == "step":
            self._model.status = ""
            try:
                note = self.step(command.get("actor"), main=bool(command.get("main")))
            except ValueError as error:
                if not str(command.get("actor")).startswith(_ORDER):
                    raise
                note = f"{error}."  # the reader's order: the reader is told
            self._model.status = note

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return mimebundle(self, **options)
