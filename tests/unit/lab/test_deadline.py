"""The time that a script may take: wall time, but on a busy machine nobody loses points for having had no turn."""

from __future__ import annotations

import os
import time

import pytest

from k8slab.lab import Limits, child, find_lab, runner, verify

LAB = find_lab("09")
LOOPS = LAB.solution.replace(
    "        if not self.queue:\n", "        while not self.queue: pass\n        if not self.queue:\n", 1
)


def test_who_had_no_turn_gets_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_worked", lambda pid: 0.0)
    deadline = runner._Deadline(0.05, pid=1)
    time.sleep(0.06)
    assert deadline.left() > 0
    time.sleep(0.5)
    while deadline.left() > 0:
        time.sleep(0.01)
    assert deadline.left() <= 0, "ten times as much, and no more"


def test_who_worked_all_the_time_gets_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_worked", lambda pid: time.monotonic())
    deadline = runner._Deadline(0.05, pid=1)
    time.sleep(0.06)
    assert deadline.left() <= 0


def test_without_a_process_it_is_wall_time() -> None:
    deadline = runner._Deadline(0.02)
    time.sleep(0.03)
    assert deadline.left() <= 0


def test_work_is_counted_where_the_system_tells() -> None:
    before = runner._worked(os.getpid())
    if before is None:
        assert runner._worked(0) is None
        return
    until = time.process_time() + 0.1
    while time.process_time() < until:
        sum(range(1_000))
    after = runner._worked(os.getpid())
    assert after is not None and 0.05 < after - before < 5
    assert runner._worked(2**22 + 1) is None


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
