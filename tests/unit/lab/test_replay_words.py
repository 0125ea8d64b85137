"""Which schedules `--replay` takes: in the words of all checks that play with the same setting, and none that a check
cannot judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.lab import Broken, Check, Lab, LabSpec, parse_script
from k8slab.lab.verify import replay, replay_script
from tests.unit.lab.toy import write_toy


def _holds(steps: object) -> Broken | None:
    return None


SPEC = LabSpec(
    "A lamp",
    "On or off?",
    {"Lamp": "class"},
    (
        Check("on", "On", 1, _holds, {"on": "press a 1"}),
        Check("off", "Off", 1, _holds, {"off": "press a 1 2; pull b"}),
        Check("many", "Many", 1, _holds, {"many": "street 3"}, setting="street"),
    ),
)


def test_a_check_takes_the_words_of_all_checks_of_its_setting() -> None:
    text = "press b 7; press b 7 8; pull a"
    assert SPEC.script(SPEC.check("on"), text) == SPEC.script(SPEC.check("off"), text) == parse_script(text)


@pytest.mark.parametrize(
    ("check", "text", "why"),
    [
        ("on", "street 3", "'street': expected one of press, pull"),
        ("many", "press a 1", "'press': expected one of street"),
        ("on", "pull", "'pull': pull takes words as in 'pull b'"),
        ("on", "press a b", "'press a b': press takes words as in 'press a 1 2' or 'press a 1'"),
        ("on", "press a", "'press a': press takes words as in 'press a 1 2' or 'press a 1'"),
    ],
)
def test_what_no_check_of_its_setting_plays_is_refused(check: str, text: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        SPEC.script(SPEC.check(check), text)
    assert str(refused.value) == why


@pytest.fixture
def toy(tmp_path: Path) -> Lab:
    """With a second check, whose judge counts on nobody counting down."""
    folder = write_toy(tmp_path)
    path = folder / "checks.py"
    second = '        Check("up-only", "It grows", 1, grows, {"two": "up; up"}),\n    ),\n)\n'
    grows = """def grows(steps):
    wrong = [step for step in steps if step.result != step.number]
    return Broken(wrong[0].number, "it did not grow", "shrank") if wrong else None


LAB = """
    text = path.read_text(encoding="utf-8").replace("LAB = ", grows)
    path.write_text(text.removesuffix("    ),\n)\n") + second, encoding="utf-8")
    return Lab(folder)


def test_a_schedule_of_other_words_is_judged_where_the_check_can(toy: Lab) -> None:
    check = toy.spec.check("counts")
    script = replay_script(toy, check, "up; down; down")
    assert replay(toy, toy.solution, check, script).broken is None
    below = next(mutant for mutant in toy.mutants() if mutant.name == "below-zero")
    assert replay(toy, below.code, check, script).broken == Broken(3, "the counter is at 0, and down says -1", "below")


def test_a_schedule_for_which_a_check_accuses_the_labs_own_solution_is_refused(toy: Lab) -> None:
    """Up and down again: 1, 0; the second check expects 1, 2."""
    check = toy.spec.check("up-only")
    assert replay_script(toy, check, "up; up; up") == (("up",),) * 3
    with pytest.raises(ValueError) as refused:
        replay_script(toy, check, "up; down")
    assert str(refused.value) == (
        "up-only cannot judge this schedule: at 'down' it accuses the lab's own solution, too; "
        "expected one like its own, of up"
    )


def test_a_schedule_in_which_the_labs_own_solution_does_not_end_is_left_to_the_learners(toy: Lab) -> None:
    slow = """def drive(names, setting):
    def do(verb):
        while verb == "down":
            pass
        return 1

    return do
"""
    (toy.folder / "drive.py").write_text(slow, encoding="utf-8")
    lab = Lab(toy.folder)
    assert replay_script(lab, lab.spec.check("counts"), "down") == (("down",),)


def test_operations_are_those_of_all_its_schedules() -> None:
    found = SPEC.check("off").operations()
    assert found == {"press": [("press", "a", "1", "2")], "pull": [("pull", "b")]}
