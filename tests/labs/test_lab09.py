"""Lab 09: no points for queues that do not work, and sentences that are true of what happened."""

from __future__ import annotations

import pytest

from k8slab.lab import find_lab, parse_script, replay, verify

LAB = find_lab("09")
DELAYS = LAB.solution[LAB.solution.index("class DelayingQueue") : LAB.solution.index("class RateLimiter")]
LIMITER = LAB.solution[LAB.solution.index("class RateLimiter") :]
QUEUES = {check.name for check in LAB.spec.checks if "WorkQueue" in check.needs}


def queue(get: str, add: str = "self.items.append(item)", length: str = "len(self.items)") -> str:
    """A work queue with these bodies; the other two classes are right."""
    return f"""class WorkQueue:
    def __init__(self):
        self.items = []
    def add(self, item):
        {add}
    def get(self):
        {get}
    def done(self, item):
        pass
    def __len__(self):
        return {length}
    def shut_down(self):
        pass

{DELAYS}
{LIMITER}"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(queue("return self.items[0] if self.items else None"), id="peeks"),
        pytest.param(
            queue("return self.items[0] if self.items else None", "self.items += [] if item in self.items else [item]"),
            id="peeks into a list without doubles",
        ),
        pytest.param(
            queue("self.items = self.items[1:] + self.items[:1]; return self.items[-1] if self.items else None"),
            id="goes round and keeps all",
        ),
        pytest.param(queue("return None"), id="hands nothing out"),
        pytest.param(
            queue("return None", "self.items += [] if item in self.items else [item]"), id="hands nothing out, counts"
        ),
        pytest.param(queue("return 7"), id="hands out what nobody added"),
        pytest.param(
            LAB.solution.replace("self.queue.pop(0)", "self.queue[0]").replace("dirty.remove", "dirty.discard"),
            id="the solution, peeking",
        ),
    ],
)
def test_a_queue_that_does_not_work_gets_no_point_of_any_check_that_plays_with_it(code: str) -> None:
    report = verify(LAB, code)
    assert report.problem == ""
    assert {result.check.name for result in report.results if result.passed} == {"backs-off", "forgets"}
    assert len(QUEUES) == len(LAB.spec.checks) - 2


def why(code: str, check: str, script: str) -> str:
    broken = replay(LAB, code, LAB.spec.check(check), parse_script(script)).broken
    assert broken is not None
    return f"{broken.cause}: {broken.why}"


@pytest.mark.parametrize("check", ["not-before-its-time", "earliest-wins", "by-due-time", "tells-the-next-time"])
def test_what_nobody_delayed_did_not_come_out_before(check: str) -> None:
    assert why(queue("return 7"), check, "get worker-1") == "invented: get handed out 7, which nobody added"


def test_what_came_out_twice_is_still_told_so() -> None:
    peeks = queue("return self.items[0] if self.items else None")
    told = why(peeks, "not-before-its-time", "later a 0; get worker-1; get worker-1")
    assert told == "twice: a came out at 0 ms, for a second time"


def test_a_queue_that_never_empties_is_told_so() -> None:
    peeks = queue("return self.items[0] if self.items else None")
    for check, script in (
        ("nothing-lost", "add a; get worker-1; done worker-1; get worker-1"),
        ("shuts-down", "add a; shut-down; get worker-1; get worker-1"),
    ):
        told = why(peeks, check, script)
        assert told == "never-empty: a was handed out more often than it was added: get does not take it out"


def test_ten_adds_that_are_ten_pieces_of_work_lose_nothing() -> None:
    """Another check's mistake: it costs that one's points alone."""
    mutant = next(one.code for one in LAB.mutants() if one.name == "every-add-counts")
    report = verify(LAB, mutant, only=["nothing-lost", "shuts-down"])
    assert report.passed
