"""The time that a script may take: its work and its sleep. On a busy machine nobody loses points for having had no
turn, nor because whoever watches had none."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from k8slab.lab import Limits, Problem, child, deadline, find_lab, runner, verify
from k8slab.lab.deadline import Deadline
from k8slab.lab.grade import grade_folder
from k8slab.lab.verify import setup_of
from tests.labs.test_grade import Here, hand_in

LAB = find_lab("09")
LOOPS = LAB.solution.replace(
    "        if not self.queue:\n", "        while not self.queue: pass\n        if not self.queue:\n", 1
)


def session(code: str = LAB.solution, **setup: Any) -> runner.Session:
    return runner.ChildRunner().open(replace(setup_of(LAB, code), **setup))


def pid_of(one: runner.Session) -> int:
    assert isinstance(one, runner._ChildSession) and one._process is not None
    return one._process.pid


def test_a_process_that_has_no_turn_for_a_while_loses_nothing() -> None:
    one = session(limits=Limits(seconds=0.2))
    pid = pid_of(one)
    os.kill(pid, signal.SIGSTOP)
    later = Timer(1.0, os.kill, (pid, signal.SIGCONT))
    later.start()
    try:
        record = one.play((("add", "a"), ("get", "w")))
    finally:
        later.join()
        one.close()
    assert (record.ended, len(record.steps)) == ("", 2)
    assert one.spent < 0.2


def test_a_watcher_that_has_no_turn_reads_what_came_before_it_says_late(monkeypatch: pytest.MonkeyPatch) -> None:
    one = session(limits=Limits(seconds=0.1))
    send = runner._ChildSession._send

    def slowly(self: Any, *arguments: Any) -> None:
        send(self, *arguments)
        time.sleep(0.4)

    monkeypatch.setattr(runner._ChildSession, "_send", slowly)
    records = [one.play((("add", "a"), ("get", "w"))) for _ in range(3)]
    one.close()
    assert [record.ended for record in records] == ["", "", ""]


def test_what_the_drive_imports_is_no_work_of_a_script() -> None:
    """Else one who was ended once is ended in every later script: a new process has everything to import again."""
    heavy = (
        "import sys, time\n"
        "if not hasattr(sys, 'imported'):\n"
        "    sys.imported, until = 1, time.process_time() + 0.4\n"
        "    while time.process_time() < until: pass\n"
    )
    one = session(LOOPS, drive=heavy + LAB.drive, limits=Limits(seconds=0.3))
    scripts = ((("get", "w"),), (("add", "a"), ("get", "w")), (("get", "w"),), (("add", "b"), ("get", "w")))
    ended = [bool(one.play(script).ended) for script in scripts]
    one.close()
    assert ended == [True, False, True, False]


def test_work_and_sleep_add_up() -> None:
    naps = "            import time\n            for _ in range(1000): time.sleep(0.005)\n"
    one = session(LAB.solution.replace("            return None\n", naps, 1), limits=Limits(seconds=0.2))
    started = time.monotonic()
    record = one.play((("get", "w"),))
    one.close()
    assert record.ended.startswith("it did not end within 0.2 s")
    assert time.monotonic() - started < 4, "not the 5 s it would sleep"


def test_without_a_process_it_is_wall_time() -> None:
    over = Deadline(0.02)
    assert not over.is_over(heard=False)
    time.sleep(0.03)
    assert not over.is_over(heard=True), "what came is read first"
    assert over.is_over(heard=False)


def test_where_the_system_does_not_tell_wall_time_counts_four_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "figures", lambda pid: None)
    over = Deadline(0.05, os.getpid())
    time.sleep(0.1)
    assert not over.is_over(heard=False)
    time.sleep(0.12)
    assert over.is_over(heard=False) and over.spent > 0.05


def test_the_figures_of_a_process_that_is_not_there() -> None:
    assert deadline.figures(2**22 + 1) is None
    mine = deadline.figures(os.getpid())
    assert mine is not None and mine.worked > 0 and not mine.sleeps


def test_a_busy_machine_gives_no_verdict_on_the_later_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a solution may lose is counted as its scripts are: without what it waited."""
    play = runner._ChildSession.play

    def waits(self: Any, *arguments: Any) -> Any:
        time.sleep(0.02)
        return play(self, *arguments)

    monkeypatch.setattr(runner._ChildSession, "play", waits)
    verifying = sys.modules["k8slab.lab.verify"]  # the package's own name for it is the function
    monkeypatch.setattr(verifying, "_SLOW_SECONDS", 0.015)
    monkeypatch.setattr(verifying, "_LOST_SECONDS", 0.05)
    assert verify(LAB, LAB.solution, only=["first-in-first-out"]).passed


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

    def is_slow(clock: list[float], slept: list[int]) -> bool:
        times, naps = iter(clock), iter(slept)
        return child.is_slow_to_load(player, lambda: next(times), lambda: 0.0, lambda: next(naps))

    assert not is_slow([0, 9, 9, 9], [0, 1, 1, 1]), "it slept or waited for nine seconds once"
    assert is_slow([0, 9, 9, 18], [0, 1, 1, 2]), "it slept twice"
    assert not is_slow([0, 9], [5, 5]), "nine seconds, and it never slept: it had no turn"
    assert is_slow([0, 9, 9, 18], [-1, -1, -1, -1]), "nobody knows"


def test_waiting_for_a_turn_while_it_is_loaded_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = setup_of(LAB, f"import time\ntime.sleep(0.5)\n{LAB.solution}")
    monkeypatch.setattr(runner, "_LOAD_SECONDS", 0.4)
    with pytest.raises(Problem, match=f"^{runner.LATE} 0.4 s"):
        runner.ChildRunner().open(setup)
    # as if it had no turn while it sleeps
    monkeypatch.setattr(deadline, "figures", lambda pid: deadline.Figures(0.0, sleeps=False))
    runner.ChildRunner().open(replace(setup, code=LAB.solution)).close()


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


def test_where_the_system_does_not_count_who_gives_its_turn_away_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser's Python has the module and not the function."""
    assert child.naps() >= 0
    monkeypatch.delattr("resource.getrusage")
    assert child.naps() == -1
