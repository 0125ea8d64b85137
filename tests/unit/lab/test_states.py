"""What the Stepper says holds after a step is what the lab's own solution holds inside then."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.lab import Check, InProcessRunner, Lab, Step, find_lab
from k8slab.lab.verify import setup_of

QUEUES, WRITERS = find_lab("09"), find_lab("05")


def listed(words: list[str]) -> str:
    return ", ".join(words) or "none"


def driven(check: Check) -> tuple[Any, dict[str, Any]]:
    """The lab's drive on the solution, and its object: made when the drive asks for its class."""
    names: dict[str, Any] = {}
    exec(QUEUES.solution, names)
    made: dict[str, Any] = {}

    def keeping(name: str) -> Any:
        def make() -> Any:
            made["it"] = names[name]()
            return made["it"]

        return make

    drive: dict[str, Any] = {}
    exec(QUEUES.drive, drive)
    return drive["drive"]({name: keeping(name) for name in QUEUES.spec.names}, check.setting), made


def inside(setting: str, it: Any) -> dict[str, str]:
    """Of the solution's attributes; `in work` without the workers, whom it does not know."""
    if setting == "limiter":
        return {"failures": listed([f"{item} {count}" for item, count in it.failures.items()])}
    if setting == "delays":
        later = sorted((at, item) for item, at in it.waiting.items())
        return {"for later": listed([f"{item} (at {at} ms)" for at, item in later]), "waiting": listed(it.queue)}
    return {
        "waiting": listed(it.queue),
        "in work": listed(sorted(it.processing)),
        "wanted again": listed(sorted(it.dirty & it.processing)),
    }


def without_workers(state: dict[str, str]) -> dict[str, str]:
    words = {key: value.split(", ") for key, value in state.items() if key in ("in work", "wanted again")}
    return {**state, **{key: listed(sorted(one.partition(" (")[0] for one in some)) for key, some in words.items()}}


@pytest.mark.parametrize("check", QUEUES.spec.checks, ids=lambda check: check.name)
def test_a_queues_state_is_what_the_solution_holds(check: Check) -> None:
    assert check.state is not None
    for case in check.cases("states"):
        do, made = driven(check)
        steps: list[Step] = []
        for number, op in enumerate(case.script, 1):
            steps.append(Step(number, op, do(*op)))
            told = dict(check.state(steps))
            told.pop("time", None)
            assert without_workers(told) == inside(check.setting, made["it"]), steps


@pytest.mark.parametrize("check", WRITERS.spec.checks, ids=lambda check: check.name)
def test_what_is_stored_is_what_a_rival_finds(check: Check) -> None:
    """A rival says what is stored after its write; a try is told by the step that ends it."""
    assert check.state is not None
    cases = check.cases("states")
    rivals = 0
    for case in cases:
        record = played(WRITERS, check, case.script)
        for position, step in enumerate(record, 1):
            state = check.state(record[:position])
            if step.verb == "rival":
                rivals += 1
                assert step.result == f"now {state['stored']}"
            elif step.verb != "start" and check.setting == "tries" and step.result is not None:
                assert state[step.op[1]].startswith(f"{tries(record[:position])} of ")
    assert rivals == sum(op[0] == "rival" for case in cases for op in case.script)


def tries(steps: tuple[Step, ...]) -> int:
    """Since the last start: how many steps ended a try."""
    count = 0
    for step in steps:
        if step.verb == "start" and step.result is not None:
            count = 0
        count += str(step.result).startswith("try ")
    return count


def played(lab: Lab, check: Check, script: Any) -> tuple[Step, ...]:
    session = InProcessRunner().open(setup_of(lab, lab.solution))
    return session.play(script, check.setting, lab.spec.needs(check)).steps
