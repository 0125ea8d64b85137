"""Whatever a solution does: it is survived, and scored by what it does right."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from k8slab.lab import ChildRunner, Limits, Odd, Raised, Report, find_lab, verify
from k8slab.lab.runner import CHILD, _result
from k8slab.lab.show import report_text
from tests.unit.lab.hostile import CLOSED, HOSTILE, LIES, PRIES, right, with_line

LIMITS = Limits(seconds=0.25)


def judged(code: str, *only: str) -> Report:
    return verify(find_lab("09"), code, only=only, limits=LIMITS)


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_it_is_survived_and_does_not_pass(code: str) -> None:
    started = time.monotonic()
    report = judged(code)
    assert not report.passed
    assert report.points < report.possible
    assert time.monotonic() - started < 60
    again = judged(right(), "one-worker-a-key")
    assert again.passed, "the next solution is not touched by it"


def test_what_a_hostile_part_leaves_alone_keeps_its_points() -> None:
    """An endless loop in add: the rate limiter is right all the same."""
    report = judged(with_line("add", "while True: pass"))
    passed = [result.check.name for result in report.results if result.passed]
    assert passed[-2:] == ["backs-off", "forgets"]
    failure = report.results[0].failure
    assert failure is not None and failure.broken is not None
    assert failure.broken.why == "it did not end within 0.25 s and 512 MB, in 'add a'"


def test_printing_megabytes_costs_nothing() -> None:
    code = with_line("add", "print('x' * 50_000)")
    assert verify(find_lab("09"), code, limits=Limits(seconds=20)).passed


def test_what_was_refused_is_told() -> None:
    report = judged("import os\n" + with_line("add", "os.system('true')"), "first-in-first-out")
    assert report.notes == ("os.system: not in a lab",)
    report = judged(HOSTILE["imports the answer"])
    assert "k8slab.client" in report.problem
    assert any("this lab asks you to write it" in note for note in (*report.notes, report.problem))


def test_files_outside_are_not_written(tmp_path: Path) -> None:
    book = tmp_path / "gradebook.csv"
    book.write_text("student,points\nme,0\n")
    tricks = [
        f"open({str(book)!r}, 'w').write('me,16')",
        f"import os; os.close(os.open({str(book)!r}, os.O_WRONLY | os.O_TRUNC))",
        f"import os; os.remove({str(book)!r})",
        f"import os; os.rename({str(book)!r}, {str(tmp_path / 'gone')!r})",
        f"import shutil; shutil.rmtree({str(tmp_path)!r})",
        f"import os; os.truncate({str(book)!r}, 0)",
    ]
    for trick in tricks:
        report = judged(with_line("add", trick), "first-in-first-out")
        assert not report.passed, trick
    assert book.read_text() == "student,points\nme,0\n"


def test_a_file_of_its_own_may_be_written() -> None:
    report = judged(with_line("add", "open('notes.txt', 'a').write('x')"), "first-in-first-out")
    assert report.passed


def test_threads_are_refused_and_named() -> None:
    code = "import threading\n" + with_line("add", "threading.Thread(target=print).start()")
    report = judged(code, "first-in-first-out")
    assert not report.passed
    assert "starting a thread: not in a lab" in report.results[0].reason


def test_a_set_comes_out_in_the_same_order_every_time() -> None:
    """Hashes of texts are the same in every child: two runs of a wrong solution say the same."""
    code = right().replace("self.queue = []", "self.queue = set()").replace("self.queue.append", "self.queue.add")
    code = code.replace("self.queue.pop(0)", "self.queue.pop()")
    first, second = (report_text(find_lab("09"), judged(code, "first-in-first-out")) for _ in range(2))
    assert first == second
    assert "✗" in first


def test_a_tuple_is_named_as_one() -> None:
    """client-go's Get returns (item, shutdown)."""
    code = right() + "\n\nclass Both(WorkQueue):\n    def get(self):\n        return super().get(), False\n"
    report = judged(code + "\n\nWorkQueue = Both\n", "first-in-first-out")
    assert "returned a tuple, (None, False), expected a single plain value" in report.results[0].reason


def test_a_text_that_is_too_long_is_named_as_one() -> None:
    code = right() + "\n\nclass Long(WorkQueue):\n    def get(self):\n        return 'x' * 10_001\n"
    report = judged(code + "\n\nWorkQueue = Long\n", "first-in-first-out")
    assert "returned a text that is too long for an answer" in report.results[0].reason


HELD = "import __main__\n__main__.hog = []\ntry:\n    while True: __main__.hog.append(bytearray(1 << 12))\n"
HELD += "except MemoryError: pass\nwhile True: __main__.hog.append(bytearray(64))"


@pytest.mark.parametrize("seconds", [0.05, 20])
@pytest.mark.parametrize(
    "code",
    [HOSTILE["memory, bit by bit"], with_line("add", HELD)],
    ids=["let go", "held to the last byte"],
)
def test_memory_that_ends_says_the_same_as_time_that_ends(code: str, seconds: float) -> None:
    """Which of them is first, is another matter on another day: neither the counts nor the sentence may show it."""
    limits = Limits(seconds=seconds, megabytes=128)
    report = verify(find_lab("09"), code, only=["first-in-first-out"], limits=limits)
    assert report.results[0].reason == f"it did not end within {seconds:g} s and 128 MB, in 'add a'"
    assert report.results[0].counts == "public 0/7, hidden 0/10"
    assert report.notes == (f"it did not end within {seconds:g} s and 128 MB, in first-in-first-out",)


def test_nothing_is_left_of_one_case_in_the_next() -> None:
    """State in the class or the module does not reach another schedule."""
    code = right() + "\n\nSEEN = []\n\n\nclass Cheat(WorkQueue):\n    def add(self, item):\n        SEEN.append(item)\n"
    code += "        assert len(SEEN) < 60\n        super().add(item)\n\n\nWorkQueue = Cheat\n"
    assert judged(code, "first-in-first-out").passed


@pytest.mark.parametrize(("line", "note"), PRIES.values(), ids=PRIES)
def test_what_is_not_its_own_is_refused_and_noted(line: str, note: str) -> None:
    report = judged(with_line("add", line + "\nraise NotImplementedError(got)"), "first-in-first-out")
    assert any(one.startswith(note) for one in report.notes)
    assert "not written yet" not in report.results[0].reason, "it went past the line"
    assert not report.passed


@pytest.mark.parametrize(("line", "reason"), LIES.values(), ids=LIES)
def test_lies_are_scored_and_named(line: str, reason: str) -> None:
    report = judged(with_line("add", line), "first-in-first-out")
    assert reason in report.results[0].reason
    assert not report.passed
    assert report.results[0].causes in (("raised",), ("ended",), ("odd",)), "the process is there for each case"


def test_a_refusal_cannot_be_taken_back() -> None:
    """It leaves the process at once after it was refused."""
    line = "import os\ntry: os.system('true')\nfinally: os._exit(0)"
    report = judged(with_line("add", line), "first-in-first-out")
    assert report.notes[0] == "os.system: not in a lab"
    assert "its process ended with exit code 0" in report.results[0].reason


REACHED = """import builtins, os, signal, sys, threading, types, _imp, _io, _signal, _thread
seen, found, left = set(), [], [sys.modules, os.memfd_create, _imp.create_builtin, _signal.signal, os.mkfifo]
left += [getattr(type(one), '__subclasses__', lambda: [])() for one in (Exception(), iter([]))]
while left:
    one = left.pop()
    if id(one) in seen: continue
    seen.add(id(one))
    if isinstance(one, types.CodeType) or len(seen) > 400_000: continue
    if isinstance(one, types.FunctionType):
        cells = one.__closure__ or ()
        found += [one.__qualname__] if one.__qualname__.startswith(('refusals.', 'file_rules.', 'resolver.')) else []
        found += [one.__qualname__] if one.__qualname__.startswith('teller.') else []
        left += [cell.cell_contents for cell in cells] + [one.__globals__, one.__defaults__, one.__kwdefaults__]
        left += [one.__dict__]
    elif isinstance(one, (dict, types.MappingProxyType)): left += [*one.keys(), *one.values()]
    elif isinstance(one, (list, tuple, set, frozenset)): left += [*one]
    elif isinstance(one, (type, types.ModuleType)): left.append(type.__getattribute__(one, '__dict__')
        if isinstance(one, type) else vars(one))
    elif hasattr(one, '__self__'): left.append(one.__self__)
    elif hasattr(type(one), '__dict__') and isinstance(getattr(one, '__dict__', None), dict): left.append(vars(one))
assert len(seen) > 5_000 and not found, (len(seen), found)"""


def test_nothing_leads_to_the_hook() -> None:
    """From all modules and from all that stands in for something else, by everything that an object holds."""
    once = f"import __main__\nif not hasattr(__main__, 'walked'):\n    exec({REACHED!r})\n__main__.walked = True\n"
    code = f"{right()}\n{once}"
    report = judged(code, "first-in-first-out")
    assert report.passed, report


def test_frames_are_refused_and_what_asks_for_them_in_python_itself_goes_on() -> None:
    line = "import sys\ntry: sys._getframe()\nexcept ValueError as error: assert 'frames' in str(error)\n"
    line += "else: raise NotImplementedError\n"
    line += "import asyncio, collections, enum, logging, typing\n"
    line += "assert collections.namedtuple('Pair', 'a b')(1, 2).b == 2 and enum.Enum('E', 'X').X.value == 1\n"
    line += "typing.TypeVar('T'); logging.warning('x')\n"
    line += "async def one(): return 1\n"
    line += "assert typing.NamedTuple('N', [('a', int)])(3).a == 3"
    report = judged(with_line("add", line), "first-in-first-out")
    assert report.passed, report.results[0].reason
    assert report.notes == ()


def test_who_runs_while_the_hook_runs_sees_no_frame_of_it() -> None:
    """The garbage collector calls a solution in the midst of anything."""
    line = "import gc, sys\nasked, got = [], []\ndef spy(phase, info):\n    asked.append(1)\n"
    line += "    try: got.append(sys._getframe(1))\n    except ValueError: pass\n"
    line += "gc.set_threshold(1, 1, 1)\ngc.callbacks.append(spy)\n"
    line += "for _ in range(5):\n    try: open('/etc/' + 'x/' * 50)\n    except OSError: pass\n"
    line += "gc.callbacks.clear()\nassert asked and not got"
    report = judged(with_line("add", line), "first-in-first-out")
    assert report.results[0].failure is None, report.results[0].reason


def test_who_takes_the_channel_away_to_be_refused_in_silence_is_ended() -> None:
    for away in ("os.dup2(os.open(os.devnull, os.O_WRONLY), 4)", "os.close(4)"):
        line = f"import os\nkept = os.dup(4)\n{away}\n"
        line += "try: os.system('true')\nexcept OSError: pass\nos.dup2(kept, 4)"
        report = judged(with_line("add", line), "first-in-first-out")
        assert report.results[0].reason == "its process ended with exit code 1, in 'add a'"


def test_many_refusals_do_not_hide_another() -> None:
    line = "import os, sys\nfor word in 'fork exec spawn kill remove rename rmdir mkdir'.split() * 9:\n"
    line += "    name = 'os.' + word\n    try: sys.audit(name)\n    except PermissionError: pass\n"
    line += "try: open('/etc/passwd')\nexcept PermissionError: pass"
    assert "opening a file that is not its own" in judged(with_line("add", line), "first-in-first-out").notes


def test_each_refusal_is_told_once_and_does_not_flood() -> None:
    line = "import os\nfor _ in range(200):\n    try: os.system('true')\n    except PermissionError: pass"
    assert judged(with_line("add", line), "first-in-first-out").notes == ("os.system: not in a lab",)


@pytest.mark.parametrize("depth", [30, 300, 900])
def test_answers_that_no_plain_value_gives_are_odd_in_the_grader(depth: int) -> None:
    """Written past the child's own rules; RecursionError would end the grading of everybody."""
    nested: Any = 1
    for _ in range(depth):
        nested = [nested]
    for value in (nested, float("nan"), 1 << 80, {"x": nested}, "x" * 20_000):
        assert isinstance(_result({"v": value}), Odd)
    assert _result({"raised": {"type": nested, "text": nested, "line": 1 << 80}}) == Raised("Exception", "")
    assert str(_result({"odd": nested, "shown": nested})) == "an object of type "


def copied(folder: Path) -> Path:
    """A package somewhere else, as in a container's image, with a module that holds the answer."""
    (folder / "k8slab" / "lab").mkdir(parents=True)
    (folder / "k8slab" / "client" / "__pycache__").mkdir(parents=True)
    for name in ("client/indexer.py", "client/__pycache__/x.pyc", "client.py", "__pycache__/client.cpython-311.pyc"):
        (folder / "k8slab" / name).parent.mkdir(exist_ok=True)
        (folder / "k8slab" / name).write_text("the answer")
    (folder / "k8slab" / "other.py").write_text("something else")
    return Path(shutil.copy(CHILD, folder / "k8slab" / "lab" / "child.py"))


def test_the_answer_is_closed_in_a_containers_own_copy_too(tmp_path: Path) -> None:
    runner = ChildRunner([sys.executable, "-s", "-P", str(copied(tmp_path))])
    for name, is_open in (
        ("client/indexer.py", False),
        ("client/__pycache__/x.pyc", False),
        ("client.py", False),
        ("__pycache__/client.cpython-311.pyc", False),
        ("other.py", True),
    ):
        code = with_line("add", f"open({str(tmp_path / 'k8slab' / name)!r}).read()")
        report = verify(find_lab("09"), code, only=["first-in-first-out"], runner=runner)
        assert report.passed == is_open, name
        assert report.notes == (() if is_open else (CLOSED,)), name


def test_the_command_that_starts_a_container_knows_its_daemon_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for docker, found by PATH, that writes down its variables."""
    seen = tmp_path / "variables"
    fake = tmp_path / "bin" / "dockerlike"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nenv > {seen}\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/1000/docker.sock")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("K8SLAB_RUNNER", f"dockerlike run {sys.executable} -s -P {CHILD}")
    assert judged(right(), "first-in-first-out").passed
    names = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert names["DOCKER_HOST"] == "unix:///run/user/1000/docker.sock"
    assert "SECRET_TOKEN" not in names
    line = "import os\nassert 'DOCKER_HOST' not in os.environ and 'SECRET_TOKEN' not in os.environ"
    monkeypatch.delenv("K8SLAB_RUNNER")
    assert judged(with_line("add", line), "first-in-first-out").passed, "without a command nothing is handed on"
