"""What is told of a solution: nothing of hidden cases, nothing that is another text on another day or machine."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from k8slab.lab import Limits, Raised, Report, find_lab, verify
from k8slab.lab.child import notes as all_notes
from k8slab.lab.runner import default_runner, settled
from k8slab.lab.show import report_text
from k8slab.lab.verify import HIDDEN_NOTE, setup_of
from tests.unit.lab.hostile import right, with_line

LAB = find_lab("09")


def told(report: Report) -> str:
    return report_text(LAB, report) + "".join(result.reason for result in report.results)


def why(line: str, *, head: str = "", limits: Limits | None = None) -> str:
    """The reason of the first check, with a line in `add` of the right solution, and a text before it."""
    return verify(LAB, head + with_line("add", line), only=["first-in-first-out"], limits=limits).results[0].reason


# -- hidden cases ----------------------------------------------------------------------------------

PUBLIC = [
    ["".join(word) for op, *word in case.script if op == "when"]
    for case in LAB.spec.check("backs-off").cases("0")
    if not case.hidden
]
SPY = f"""

class Spy(RateLimiter):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.asked = []

    def when(self, item):
        self.asked.append(item)
        return super().when(item)

    def num_requeues(self, item):
        if not any(self.asked == one[: len(self.asked)] for one in {PUBLIC!r}):
            tell(self.asked)
        return super().num_requeues(item)


RateLimiter = Spy
"""
TELLERS = {
    "by exit codes": "import os\ndef tell(asked): os._exit(100 + len(asked))\n",
    "by signals": "import resource, faulthandler\ndef tell(asked):\n"
    "    [faulthandler._sigsegv, faulthandler._sigabrt][len(asked) % 2]()\n",
    "by notes in an order": "import sys\ndef tell(asked):\n    for item in asked:\n"
    "        for event in sorted(['os.system', 'os.fork', 'gc.'], key=lambda one: hash((item, one))):\n"
    "            try: sys.audit(event)\n            except PermissionError: pass\n",
    "by what is raised": "def tell(asked): raise ValueError(asked)\n",
    "by what is printed": "def tell(asked):\n    print(asked)\n    1 / 0\n",
    "by what it cannot load then": "import os\nif os.path.exists('said'): raise ValueError(open('said').read())\n"
    "def tell(asked):\n    open('said', 'w').write(str(asked))\n    os._exit(0)\n",
}


@pytest.mark.parametrize("teller", TELLERS.values(), ids=TELLERS)
def test_hidden_cases_tell_how_many_fail_by_which_cause_and_one_sentence(teller: str) -> None:
    report = verify(LAB, teller + right() + SPY, only=["backs-off"], seed="secret")
    assert report.notes in ((), (HIDDEN_NOTE,))
    assert report.results[0].public == (7, 7)
    assert re.fullmatch(r"(|(1 hidden case fails|\d+ hidden cases fail) \((ended|raised)\))", report.results[0].reason)
    words = re.escape(f"note: {HIDDEN_NOTE}")
    left = re.sub(words, "", told(report))
    assert not re.search(r"1\d\d|SIG|os\.|ValueError|said|\[", left)


def test_the_teacher_is_told_what_it_was_in_words_of_ours() -> None:
    found = {
        name: verify(LAB, teller + right() + SPY, only=["backs-off"], seed="secret") for name, teller in TELLERS.items()
    }
    assert found["by exit codes"].teacher_notes == ("its process ended",)
    assert found["by signals"].teacher_notes == ("its process was ended",)
    assert found["by notes in an order"].teacher_notes == (
        "gc: not in a lab",
        "os.fork: not in a lab",
        "os.system: not in a lab",
    )
    assert found["by what is raised"].teacher_notes == found["by what is printed"].teacher_notes == ()
    ends = {"its process ended", "its process was ended", "it ended early"}
    for report in found.values():
        assert {*report.teacher_notes} <= all_notes(LAB.spec.forbidden) | ends
        assert bool(report.teacher_notes) == (HIDDEN_NOTE in report.notes)


def test_what_public_cases_told_already_is_not_told_again() -> None:
    line = "import os\ntry: os.system('true')\nexcept PermissionError: pass"
    report = verify(LAB, with_line("add", line), only=["first-in-first-out"])
    assert (report.notes, report.teacher_notes) == (("os.system: not in a lab",), ())


# -- the channel -----------------------------------------------------------------------------------

FORGED = """import os
out, number = b'{"ready": true}\\n', 0
while True:
    number += 1
    out += b'{"number": %d, "raised": {"type": "E"}, "last": true}\\n{"number": %d, "end": true}\\n' % (number, number)
    if number % 100 == 0:
        while out:
            out = out[os.write(4, out):]
"""
DEAF = """import os, time
os.write(4, b'{"ready": true}\\n')
while True: time.sleep(1)
"""


def test_answers_to_what_was_not_asked_yet_are_refused() -> None:
    started = time.monotonic()
    report = verify(LAB, LAB.starter_code + FORGED)
    assert time.monotonic() - started < 30
    assert report.points == 0 and report.counts()[0][0] == 0
    assert {one.reason.partition(", in")[0] for one in report.results} == {"it wrote into the channel of the answers"}


def test_who_does_not_read_is_ended_at_the_deadline() -> None:
    """A request that does not fit into the pipe: nobody waits for room in it."""
    from k8slab.lab import ChildRunner
    from k8slab.lab.verify import setup_of

    session = ChildRunner().open(setup_of(LAB, DEAF, Limits(seconds=0.2)))
    try:
        started = time.monotonic()
        record = session.play((("add", "x" * (1 << 20)),))
        assert record.ended == "it did not end within 0.2 s and 512 MB"
        assert time.monotonic() - started < 5
    finally:
        session.close()


# -- the same bytes --------------------------------------------------------------------------------

MISTAKES = {
    "raises with its own address": "raise ValueError(f'bad {self}')",
    "a key that is an object": "{}[self]",
    "prints itself": "print(self)\nraise ValueError",
    "a loop of many lines": "n = 0\nwhile True:\n    n += 1\n    n -= 1\n    n *= 2\n    n //= 2\n    n ^= 1",
    "where it is": "import os\nprint(os.getcwd(), os.path.dirname(os.getcwd()))\nraise ValueError(os.getcwd())",
    "where Python is": "import os\nraise ValueError(os.__file__)",
    "answers with itself": "return self",
    "a name that is not there": "from collections import orderddict",
}


@pytest.mark.parametrize("line", MISTAKES.values(), ids=MISTAKES)
def test_the_same_mistake_gives_the_same_bytes(line: str) -> None:
    code = with_line("add", line)
    only = ["first-in-first-out", "counts-what-waits"]
    first, second = (told(verify(LAB, code, only=only)) for _ in range(2))
    assert first == second
    assert not re.search(r"0x[0-9a-f]|/(usr|home|root|tmp|var|opt)/", first)


def test_an_answer_with_an_address_is_the_same_every_day() -> None:
    code = with_line("get", "return str(object())")
    assert "<object object at 0x…>" in told(verify(LAB, code, only=["first-in-first-out"]))


def test_of_paths_the_last_part_is_told() -> None:
    assert why("from collections import orderddict").startswith(
        "'add a' raised ImportError: cannot import name 'orderddict' from 'collections' (__init__.py) in WorkQueue.add"
    )
    assert "raised ValueError: k8slab-lab in" in why("import os\nraise ValueError(os.getcwd())")
    home = "/tmp/k8slab-lab-a1b2c3"
    for text, expected in {
        f"No such file: '{home}/data.txt'": "No such file: 'data.txt'",
        f"in {home}": "in k8slab-lab",
        f"{os.__file__}:12: it": f"{Path(os.__file__).name}:12: it",
        "/opt/ann/a/b.py, /usr/lib/x.so": "b.py, x.so",
        "/registry/pods/default/web is no path": "/registry/pods/default/web is no path",
        "https://example.org/usr/lib": "https://example.org/usr/lib",
        "a/b and /apis/apps/v1": "a/b and /apis/apps/v1",
        "<queue at 0x7f12ab> and <q at 0x7f": "<queue at 0x…> and <q at 0x…",
    }.items():
        assert settled(text) == expected


# -- honest mistakes are named ---------------------------------------------------------------------


def test_a_compiled_package_is_named_as_one() -> None:
    report = verify(LAB, "import numpy as np\n" + right())
    assert report.problem.startswith("ImportError: importing a compiled module: not in a lab in line 1: import numpy")
    assert report.notes == ("importing a compiled module: not in a lab",)


def test_what_the_package_tries_for_speed_is_refused_all_the_same() -> None:
    report = verify(LAB, "import yaml._yaml\n" + right())
    assert report.problem.startswith("ImportError: importing a compiled module: not in a lab in line 1")
    assert report.notes == ()


@pytest.mark.parametrize("line", ["import sys\nsys.stdout.close()", "import sys\nsys.stdout = None"])
def test_who_closes_its_output_is_checked_all_the_same(line: str) -> None:
    assert verify(LAB, line + "\n" + right()).passed
    assert verify(LAB, with_line("add", line), only=["first-in-first-out"]).passed


def test_what_is_printed_at_the_end_of_a_script_is_kept() -> None:
    report = verify(LAB, with_line("add", "print('here')\nraise ValueError"), only=["first-in-first-out"])
    assert "it printed: here" in told(report)


def test_a_long_answer_is_made_short() -> None:
    code = with_line("get", "return 'x' * 9_000")
    report = verify(LAB, code)
    assert all(len(result.reason) <= 300 for result in report.results)
    lines = report_text(LAB, report).split("\n")
    assert all(len(line) < 400 for line in lines if "--replay" not in line)
    assert report.results[0].reason.endswith("…")


def test_a_name_of_the_class_body_is_placed_in_the_module_or_the_class_that_ran_it() -> None:
    """Told without frames: by the line and the instruction at which a traceback stands."""
    cases = {
        "class A(missing):\n    x = 1": Raised("NameError", "name 'missing' is not defined", 1, where="<module>"),
        "class A:\n    x = missing": Raised("NameError", "name 'missing' is not defined", 2, where="A"),
        "def f(): return missing\nf()": Raised("NameError", "name 'missing' is not defined", 1, where="f"),
        "x = [missing for _ in 'a']": Raised("NameError", "name 'missing' is not defined", 1),
    }
    from k8slab.lab.child import Player

    for code, expected in cases.items():
        player = Player(code, "", {})
        with pytest.raises(NameError) as raised:
            player.names()
        found = player.described(raised.value)
        assert (found["type"], found["text"], found["line"]) == (expected.type, expected.text, expected.line), code
        assert not expected.where or found["where"] == expected.where, code


def test_what_a_script_prints_is_in_its_own_record() -> None:
    """However answers and prints come in: each of a hundred short scripts has its own line, and no other."""
    session = default_runner().open(setup_of(LAB, with_line("add", "print(item)")))
    check = LAB.spec.check("first-in-first-out")
    try:
        for number in range(100):
            script = (("add", f"k{number}"),)
            assert session.play(script, check.setting, LAB.spec.needs(check)).printed == f"k{number}\n"
    finally:
        session.close()
