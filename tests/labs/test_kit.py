"""`check-kit`: a lab that does not keep what labs promise is told what it breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from k8slab.lab import Lab, kit
from k8slab.lab.kit import check_kit
from k8slab.lab.lazy import lazy_solutions
from tests.unit.lab.toy import write_toy


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kit, "LEAST_MACHINE_MUTANTS", 5)
    return write_toy(tmp_path)


BALANCED = '[("up",)] * 5 + [("down",)] * 5'


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def problems(toy: Path) -> list[str]:
    return check_kit(Lab(toy)).problems


def test_the_toy_is_sound(toy: Path) -> None:
    found = check_kit(Lab(toy))
    assert (found.problems, found.survivors, found.killed) == ([], [], 1)
    assert "is sound: 1 named mutants killed" in str(found)


def test_a_check_that_notices_nothing(toy: Path) -> None:
    change(toy / "checks.py", "if step.result != value:", "if step.result is None:")
    found = problems(toy)
    assert "mutant below-zero: counts does not notice" in found
    assert any("machine-made mutant lives and survivors.txt does not say why" in text for text in found)


def test_a_judge_that_accuses_the_right_solution_in_a_part_of_a_script(toy: Path) -> None:
    """It counts on the script as it was made: never more downs than ups."""
    change(toy / "checks.py", "max(0, value - 1)", "value - 1")
    change(toy / "checks.py", '"below": "down; up"', '"below": "up; down"')
    change(toy / "checks.py", '[(rng.choice(["up", "down"]),) for _ in range(rng.randint(1, 12))]', BALANCED)
    assert any("accuses the right solution in a part of a script" in text for text in problems(toy))


def test_a_second_solution_that_is_wrong(toy: Path) -> None:
    change(toy / "second.py", "del self.marks[:1]", "self.marks = []")
    assert any(text.startswith("second.py does not pass") for text in problems(toy))


def test_a_starter_that_holds_the_answer(toy: Path) -> None:
    change(toy / "77-counter.ipynb", "### BEGIN SOLUTION", "### SOLUTION")
    change(toy / "77-counter.ipynb", "### END SOLUTION", "### THE END")
    assert "the starter passes counts" in problems(toy)


def test_a_judge_that_gives_points_for_nothing(toy: Path) -> None:
    """It accuses wrong answers, and None is none."""
    change(toy / "checks.py", "if step.result != value:", "if step.result not in (None, value):")
    assert "every function returns None: passes counts" in problems(toy)


def test_lazy_solutions_have_all_names_and_do_nothing() -> None:
    code = "A = 5\n\nclass Box:\n    def __init__(self, a): self.a = a\n    def get(self, b, c=1): return c\n"
    code += "    def __len__(self): return 1\n\nasync def f(x, *, y): return y\n\ndef g(): return 5\n"
    found = dict(lazy_solutions(code))
    names: dict[str, Any] = {}
    exec(found["every function returns 1"], names)
    box = names["Box"](3)
    assert (box.get(4), len(box), names["g"](), vars(box)) == (1, 1, 1, {})
    exec(found["every function returns its first argument"], names)
    assert (names["Box"](3).get(4), names["g"]()) == (4, None)
    with pytest.raises(StopIteration) as end:
        names["f"](7, y=8).send(None)
    assert end.value.value == 7


def test_a_mutant_with_another_cause(toy: Path) -> None:
    change(toy / "mutants" / "below_zero.py", 'CAUSE = "below"', 'CAUSE = "wrong"')
    assert "mutant below-zero: noticed by cause 'below', expected 'wrong'" in problems(toy)


def test_a_mutant_meant_for_a_check_that_does_not_exist(toy: Path) -> None:
    change(toy / "mutants" / "below_zero.py", '"counts"', '"count"')
    assert "mutant below-zero: there is no check 'count'" in problems(toy)


def test_a_mutant_without_a_hint(toy: Path) -> None:
    change(toy / "checks.py", '{"below": ["What is down of zero?"], "": ["Look at one step."]}', "{}")
    assert "mutant below-zero: no hint for 'below'" in problems(toy)


def test_a_mutant_whose_change_is_not_in_the_solution(toy: Path) -> None:
    change(toy / "mutants" / "below_zero.py", "self.value > 0", "self.amount > 0")
    with pytest.raises(ValueError, match="expected once in the solution, found 0 times"):
        problems(toy)


def test_a_mutant_that_lives_has_to_be_explained(toy: Path) -> None:
    """`>= 1` is `> 0` for whole numbers: no check can tell them apart."""
    change(toy / "77-counter.ipynb", "self.value > 0:", "self.value > 0 and self.value > -5:")
    change(toy / "mutants" / "below_zero.py", "self.value > 0:", "self.value > 0 and self.value > -5:")
    found = check_kit(Lab(toy))
    lives = [text.partition(" (")[0] for text in found.survivors]
    assert lives and len(found.problems) == len(lives)
    (toy / "survivors.txt").write_text("".join(f"{one} | -5 is never reached\n" for one in lives))
    assert check_kit(Lab(toy)).problems == []
    (toy / "survivors.txt").write_text("line 99: no such thing | because\n")
    assert any("explains a mutant that dies or is none" in text for text in problems(toy))
