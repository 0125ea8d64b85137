"""The Stepper's Python side: recording, going on live, asking where and why, text without ipywidgets."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from k8slab.sim import Clock, Trace
from k8slab.widgets import Stepper, expand
from tests.toy_cluster import ToyCluster


def test_a_stepper_records_until_nothing_is_left() -> None:
    stepper = Stepper(ToyCluster(), title="One Deployment")
    assert repr(stepper) == "Stepper('One Deployment', 56 steps, 17 in the main story)"
    assert json.loads(stepper.widget().trace) == stepper.frames


def test_recording_stops_at_a_condition_or_after_a_span() -> None:
    toy = ToyCluster()
    Stepper(toy, until=lambda: len(toy.objects) == 5)
    assert list(toy.objects)[-1].startswith("ReplicaSet/")
    toy = ToyCluster()
    start = toy.trace.clock.now_ms
    Stepper(toy, for_ms=10)
    assert start + 10 <= toy.trace.clock.now_ms < start + 13


def test_since_alone_shows_the_past_and_does_not_go_on() -> None:
    toy = ToyCluster()
    for _ in range(10):
        toy.step()
    before = len(toy.trace)
    stepper = Stepper(toy, since=toy.started_seq)
    assert len(toy.trace) == before
    assert len(stepper.frames["steps"]) == before - toy.started_seq


def test_here_and_why_speak_of_the_step_shown() -> None:
    stepper = Stepper(ToyCluster())
    stepper.index = len(stepper.frames["steps"]) - 1
    assert stepper.here.kind == "sync"
    walk = stepper.why()
    assert walk.events[0].kind == "write"
    assert walk.events[0].actor == "you"
    assert walk.events[-1] == stepper.here
    with pytest.raises(ValueError, match="index 56: expected 0 to 55"):
        stepper.index = 56


def test_live_goes_on_by_command() -> None:
    stepper = Stepper(ToyCluster(), live=True)
    assert len(stepper.frames["steps"]) == 1
    assert stepper.frames["ready"] == [["apiserver", "worker"]]
    widget = stepper.widget()
    widget.command = {"n": 1, "do": "step"}
    frames = json.loads(widget.trace)
    assert [step["kind"] for step in frames["steps"]] == ["write", "serve", "commit"]
    assert widget.status == ""
    widget.command = {"n": 2, "do": "step", "main": True}
    assert json.loads(widget.trace)["steps"][-1]["level"] == 1


def test_live_lets_the_reader_choose_who_acts() -> None:
    toy = ToyCluster()
    stepper = Stepper(toy, live=True)
    stepper.widget().command = {"n": 1, "do": "step", "actor": "apiserver"}
    assert toy.asked == "apiserver"


def test_an_order_to_what_takes_none_is_refused() -> None:
    with pytest.raises(ValueError, match="command 'crash 1': ToyCluster takes none"):
        Stepper(ToyCluster(), live=True).step("do: crash 1")


def test_a_thing_that_tells_before_it_acts_shows_a_state_for_each_event_of_an_action() -> None:
    class Counter:
        """Three events in one action; each counts, after it is told."""

        looks_within = True

        def __init__(self) -> None:
            self.trace, self.count = Trace(Clock()), 0

        def view(self) -> dict[str, int]:
            return {"count": self.count}

        def step(self) -> bool:
            if self.count:
                return False
            for _ in range(3):
                self.trace.emit("count", "you")
                self.count += 1
            return True

    assert [state["count"] for state in expand(Stepper(Counter()).frames)] == [1, 2, 3]
    Counter.looks_within = False
    assert [state["count"] for state in expand(Stepper(Counter()).frames)] == [0, 0, 3]


def test_live_says_when_nothing_is_left() -> None:
    stepper = Stepper(ToyCluster(pods=1), live=True)
    notes: list[str] = []
    while not notes or not notes[-1]:
        notes.append(stepper.step())
    assert notes[-1] == "Nothing is left to do."
    assert len(stepper.frames["steps"]) == len(Stepper(ToyCluster(pods=1)).frames["steps"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"views": ["moon"]}, r"views \['moon'\]: expected some of lanes, matrix"),
        ({"title": "x" * 41}, "41 characters, expected at most 40"),
        ({"only": ["kcm/none"]}, r"none in the lanes \('kcm/none',\)"),
        ({"for_ms": 0}, "nothing happened"),
    ],
)
def test_what_cannot_be_shown_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Stepper(ToyCluster(), **options)


def test_a_thing_that_cannot_be_stepped_is_refused() -> None:
    with pytest.raises(TypeError, match=r"dict: expected something with view\(\), step\(\) and trace"):
        Stepper({})


def test_the_repr_is_stable_and_the_text_tells_the_story() -> None:
    stepper = Stepper(ToyCluster(), title="One Deployment")
    assert stepper._repr_mimebundle_()["text/plain"] == repr(stepper)
    lines = str(stepper).splitlines()
    assert lines[0] == "One Deployment (17 of 56 steps)"
    assert lines[1].split(" ms ")[1] == " kubectl (you)    You create Deployment web."
    assert len(lines) == 1 + 17


WITHOUT = """
import sys
for name in ("anywidget", "ipywidgets", "traitlets"):
    sys.modules[name] = None
from k8slab.widgets import Quiz, Stepper
from tests.toy_cluster import ToyCluster
print(len(Stepper(ToyCluster()).frames["steps"]))
print(Stepper(ToyCluster())._repr_mimebundle_()["text/plain"])
"""


def test_without_anywidget_it_is_text() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "56"
    assert lines[1].startswith("The interactive figure needs the package anywidget (pip install 'k8slab[book]').")
    assert "kubectl (you)" in done.stdout


def test_importing_the_widgets_does_not_import_ipywidgets() -> None:
    code = (
        "import k8slab.widgets, sys; print(sorted({'anywidget', 'ipywidgets', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
