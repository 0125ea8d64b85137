"""Lab 14: idle solutions earn nothing, wrong answers are named, and the rules are those of the Coscheduling plugin."""

from __future__ import annotations

import random

import pytest

from k8slab.api.scheme import NODES, PODS
from k8slab.lab import InProcessRunner, find_lab, parse_script, replay, verify
from k8slab.scheduler.plugins.coscheduling import PODGROUPS
from tests.gangs import GangWorld, group, member
from tests.labs.taken import Taken
from tests.scheduling import node

LAB = find_lab("14")
TAKEN = Taken(LAB, InProcessRunner())
judged, changed = TAKEN.judged, TAKEN.changed

IDLE = """
class GangPermit:
    def __init__(self, wait_ms): pass
    def permit(self, gang, need, pod, now_ms): return PERMIT
    def tick(self, now_ms): return []
    def unreserve(self, pod): return []
    def waiting(self): return []
    def count(self, gang): return 0
"""


@pytest.mark.parametrize("permit", ["[]", "[pod]", "[pod] if need == 1 else []"], ids=["waits", "goes", "by need"])
def test_an_idle_solution_earns_nothing(permit: str) -> None:
    assert judged(IDLE.replace("PERMIT", permit)).points == 0


def test_who_knows_nothing_of_time_and_of_losses_earns_the_first_checks() -> None:
    code = changed(
        "        return [pod for gang in sorted(late) for pod in self.send_back(gang)]\n", "        return []\n"
    )
    code = code.replace("        gang = self.goes.pop(pod, None)\n", "        return []\n")
    passed = {result.check.name for result in judged(code).results if result.passed}
    assert passed == {"nobody-goes-early", "who-comes-later", "gangs-apart", "counts-once"}


WRONG = {
    "no list": ("            return []\n", "            return None\n", "permit: expected a list of Pods, found None"),
    "a text": ("        return go\n", "        return pod\n", "permit: expected a list of Pods, found 'red-"),
    "pairs": ("        return go\n", "        return [(gang, pod)]\n", "permit: expected the name of a Pod in"),
    "a number": ("        return list(self.waits)\n", "        return 3\n", "waiting: expected a list of Pods"),
    "a fraction": (
        "        return len(self.of_gang(gang)) +", "        return 1.0 * len(self.of_gang(gang)) +",
        "count: expected a whole number, found 0.0",
    ),
    "a boolean": (
        "        return len(self.of_gang(gang)) +", "        return 1 == len(self.of_gang(gang)) +",
        "count: expected a whole number, found False",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, said: str) -> None:
    report = verify(LAB, changed(old, new), runner=InProcessRunner())
    assert any(said in result.reason for result in report.results)


GONE = {
    "who was let go comes back": ("gang red 2; place red-0; place red-1; lose red-0; lose red-1; place red-0", "waits"),
    "another one comes": ("gang red 2; place red-0; place red-1; lose red-0; lose red-1; place red-2", "waits"),
    "who was let go is missed": (
        "gang red 3; place red-0; place red-1; place red-2; lose red-0; lose red-1; place red-3; lose red-2",
        "sent back: red-3",
    ),
    "who was let go is asked for again": (
        "gang red 3; place red-0; place red-1; place red-2; lose red-1; lose red-2; place red-3; place red-0",
        "go: red-0",
    ),
}


@pytest.mark.parametrize(("script", "said"), GONE.values(), ids=GONE)
def test_after_a_gang_was_let_go_its_members_count_one_by_one(script: str, said: str) -> None:
    assert TAKEN.answers("one-is-gone", script)[-1] == said


def test_state_tells_who_waits_since_when() -> None:
    check = LAB.spec.check("back-together")
    script = "gang red 3; gang blue 1; place red-0; clock 50; place red-1; place blue-0"
    steps = replay(LAB, LAB.solution, check, parse_script(script), runner=InProcessRunner()).record.steps
    assert check.state is not None
    assert check.state(steps) == {
        "time": "50 ms",
        "red": "needs 3; waits: red-0 since 0 ms, red-1 since 50 ms; may go: nobody",
        "blue": "needs 1; waits: nobody; may go: blue-0",
    }


def test_the_solution_lets_go_and_sends_back_as_the_coscheduling_plugin_does() -> None:
    """One gang, Pods that come one by one with pauses, one that is deleted while it waits: who is bound, who holds."""
    for seed in range(8):
        rng = random.Random(seed)
        need, world = rng.randint(2, 4), GangWorld({"permitWaitingTimeSeconds": 100, "podGroupRejectPercentage": 100})
        world.server.put(NODES, node("a", "64"))
        world.server.put(PODGROUPS, group("red", need))
        blocked = [f"red-{number}" for number in range(10, 10 + need)]
        for name in blocked:  # they exist, so that the group has its siblings, and fit nowhere
            world.server.put(PODS, member(name, "red", cpu="100"))
        world.run(2_000)
        script, at = [f"gang red {need}"], 0
        for number in range(rng.randint(1, 4)):
            script.append(f"place red-{number}")
            world.server.put(PODS, member(f"red-{number}", "red"))
            world.run(1_000)
            if rng.random() < 0.3 and not world.bound():
                script.append(f"lose red-{number}")
                world.server.remove(PODS, f"default/red-{number}")
                world.run(0)
                at = 1
                break
        script += ["count red", "waiting"]
        answers = TAKEN.answers("one-is-gone", "; ".join(script))
        held = {*world.held(), *world.bound()}
        if not at:
            assert answers[-2] == len(held), f"seed {seed}: {script}"
            waits = sorted(world.held())
            assert answers[-1] == (f"waiting: {' '.join(waits)}" if waits else "nobody"), f"seed {seed}: {script}"
        else:
            assert (answers[-2], answers[-1]) == (0, "nobody"), f"seed {seed}: {script}"
