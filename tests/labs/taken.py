"""Taking a lab in a test."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from k8slab.lab import Lab, Limits, Op, Report, Runner, parse_script, replay, verify

__all__ = ["Taken"]


@dataclass(frozen=True, slots=True)
class Taken:
    """A lab, and the usual things to do with it. `runner`: who plays scripts for `answers`; by default a child."""

    lab: Lab
    runner: Runner | None = None

    def judged(self, code: str, **options: Any) -> Report:
        """The report on `code`; a busy machine is given time."""
        return verify(self.lab, code, limits=Limits(seconds=5), **options)

    def changed(self, old: str, new: str) -> str:
        """The solution with one place written otherwise."""
        assert self.lab.solution.count(old) == 1
        return self.lab.solution.replace(old, new)

    def script(self, check: str, seed: int) -> list[Op]:
        """One of the schedules that a check makes for itself."""
        generate = self.lab.spec.check(check).generate
        assert generate is not None
        return list(generate(random.Random(seed)))

    def answers(self, check: str, script: str | Sequence[Op], code: str = "") -> list[Any]:
        """What the solution, or `code`, answers to each step."""
        one = self.lab.spec.check(check)
        steps = parse_script(script) if isinstance(script, str) else tuple(script)
        played = replay(self.lab, code or self.lab.solution, one, steps, runner=self.runner)
        return [step.result for step in played.record.steps]

    def passed_without(self, *methods: str) -> set[str]:
        """The checks that the solution passes while these methods are not written yet."""
        code = self.lab.solution
        for method in methods:
            head = f"    def {method}("
            assert code.count(head) == 1
            unwritten = f"    def {method}(self, *some):\n        raise NotImplementedError\n\n"
            code = code.replace(head, f"{unwritten}    def _{method}(")
        return {result.check.name for result in self.judged(code).results if result.passed}
