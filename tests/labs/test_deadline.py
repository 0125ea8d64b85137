"""The time that a script may take: wall time, but on a busy machine nobody loses points for having had no turn."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from k8slab.lab import Limits, Problem, child, find_lab, runner, verify
from k8slab.lab.grade import grade_folder
from k8slab.lab.verify import setup_of
from tests.labs.test_grade import Here, hand_in

LAB = find_lab("09")
LOOPS = LAB.solution.replace(
    "        if not self.queue:\n", "        while not self.queue: pass\n        if not self.queue:\n", 1
)


def test_waiting_for_a_turn_does_not_count_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = [1.0]
    monkeypatch.setattr(runner, "_waited", lambda pid: waited[0])
    deadline = runner._Deadline(0.05, pid=1)
    waited[0] += 0.3
    time.sleep(0.06)
    assert 0 < deadline.left() < 0.3
    waited[0] += 9
    assert 0.3 < deadline.left() < 9 * 0.05
    time.sleep(0.45)
    assert deadline.left() <= 0, "ten times as much, and no more"


def test_without_a_process_it_is_wall_time() -> None:
    deadline = runner._Deadline(0.02)
    time.sleep(0.03)
    assert deadline.left() <= 0


def test_sleeping_is_no_waiting() -> None:
    before = runner._waited(os.getpid())
    time.sleep(0.2)
    assert 0 <= runner._waited(os.getpid()) - before < 0.15
    assert runner._waited(0) == runner._waited(2**22 + 1) == 0


def test_who_sleeps_in_one_class_keeps_the_points_of_the_others() -> None:
    """`get` that blocks as client-go's does, and would wait for ever here."""
    code = LAB.solution.replace("            return None\n", "            import time\n            time.sleep(60)\n", 1)
    assert LAB.solution != code
    report = verify(LAB, code)
    points = {one.check.name: one.passed for one in report.results}
    assert points["backs-off"] and points["forgets"]


def test_an_endless_loop_ends_as_soon_as_before() -> None:
    assert LAB.solution != LOOPS
    started = time.monotonic()
    report = verify(LAB, LOOPS, only=["first-in-first-out"], limits=Limits(seconds=0.3))
    assert report.results[0].failure is not None and report.results[0].failure.record.ended.startswith("it did not end")
    assert time.monotonic() - started < 20


def test_one_load_without_a_turn_is_not_called_slow() -> None:
    player = child.Player("class A: pass", "", {"A": "class"})
    waits = iter([0.0, 9.0, 9.0, 9.0])  # the first load took nine seconds of waiting, the second none
    assert not child.is_slow_to_load(player, lambda: next(waits), lambda: 0.0)
    waits = iter([0.0, 9.0, 9.0, 18.0])
    assert child.is_slow_to_load(player, lambda: next(waits), lambda: 0.0)


def test_waiting_for_a_turn_while_it_is_loaded_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = setup_of(LAB, f"import time\ntime.sleep(0.3)\n{LAB.solution}")
    monkeypatch.setattr(runner, "_LOAD_SECONDS", 0.4)  # it is loaded twice
    with pytest.raises(Problem, match=f"^{runner.LATE} 0.4 s"):
        runner.ChildRunner().open(setup)
    monkeypatch.setattr(runner, "_waited", lambda pid: time.monotonic() if pid else 0.0)  # as if it never had a turn
    runner.ChildRunner().open(setup).close()


def test_what_was_not_loaded_in_time_is_told_the_teacher_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(tmp_path / "in", "ann")
    with monkeypatch.context() as busy:
        busy.setattr(runner, "_LOAD_SECONDS", 0.0)
        first = grade_folder(LAB, tmp_path / "in", out=tmp_path / "out", executor=Here()).rows[0]
    assert first["points"] == 0 and first["problem"].startswith(runner.LATE)
    assert first["notes"] == ["the machine may have been too busy to load it: graded anew the next time"]
    second = grade_folder(LAB, tmp_path / "in", out=tmp_path / "out", executor=Here()).rows[0]
    assert (second["points"], second["notes"]) == (LAB.spec.points, [])
