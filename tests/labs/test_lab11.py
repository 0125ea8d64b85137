"""Lab 11: idle solutions earn nothing, wrong answers are named, and the package's own plugin is right, too."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

from k8slab.lab import Check, InProcessRunner, Step, find_lab, parse_script, verify
from k8slab.lab.show import report_text
from k8slab.scheduler import CycleState, NodeInfo, Status
from k8slab.scheduler.plugins.gpu_temperature import GPUTemperature
from tests.labs.taken import Taken

LAB = find_lab("11")
TAKEN = Taken(LAB, InProcessRunner())
judged, changed, answers = TAKEN.judged, TAKEN.changed, TAKEN.answers

IDLE = """
from k8slab.scheduler import SUCCESS, Code, Status
from k8slab.scheduler.framework import NODE_ADD, ActionType, ClusterEvent, ClusterEventWithHint, QueueingHint
update = ClusterEvent(NODE_ADD.resource, ActionType.UPDATE_NODE_ANNOTATION)

class GPUTemperature:
    name = "GPUTemperature"
    def __init__(self, args, handle): pass
    def filter(self, state, pod, node): return VERDICT
    def score(self, state, pod, node): return 50
    def normalize_score(self, state, pod, nodes, scores): return scores
    def after_node_change(self, pod, old, new): return QueueingHint.HINT
    def events_to_register(self):
        return [ClusterEventWithHint(event, self.after_node_change) for event in (NODE_ADD, update)]
"""


@pytest.mark.parametrize("verdict", ["SUCCESS", "Status(Code.UNSCHEDULABLE, 'no')"], ids=["always yes", "always no"])
@pytest.mark.parametrize("hint", ["QUEUE", "QUEUE_SKIP"])
def test_an_idle_solution_earns_nothing(verdict: str, hint: str) -> None:
    assert judged(IDLE.replace("VERDICT", verdict).replace("HINT", hint)).points == 0


WRONG = {
    "a boolean": (
        "        return SUCCESS\n", "        return True\n", "hot-nodes-are-out",
        "filter: expected a Status, found True",
    ),
    "an error": (
        'Code.UNSCHEDULABLE, f"node', 'Code.ERROR, f"node', "hot-nodes-are-out",
        "filter: expected SUCCESS or a Status of Code.UNSCHEDULABLE, found Status(Error",
    ),
    "a fraction": (
        "return self.most - self.celsius(node.node)", "return (self.most - self.celsius(node.node)) / 2",
        "cooler-is-better", "score: expected a whole number, found",
    ),
    "nothing normalised": (
        "        return [100 * score // most if most else 0 for score in scores]", "        most",
        "cooler-is-better", "normalize_score: expected a list of",
    ),
    "fractions": (
        "100 * score // most", "100 * score / most", "scores-fill-the-scale",
        "normalize_score: expected a whole number, found",
    ),
    "a boolean hint": (
        "return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP", "return helps", "a-pod-comes-back",
        "the hint: expected QueueingHint.QUEUE or QueueingHint.QUEUE_SKIP, found",
    ),
    "an event without a hint's wrapping": (
        "return [ClusterEventWithHint(event, self.after_node_change)]", "return ['Node']", "a-pod-comes-back",
        "events_to_register: expected a list of ClusterEventWithHint, with 'Node' in it",
    ),
    "no events": (
        "return [ClusterEventWithHint(event, self.after_node_change)]", "return None", "a-pod-comes-back",
        "events_to_register: expected a list of ClusterEventWithHint, found None",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


AS_GOOD = {
    "a Status of success": ("        return SUCCESS\n", "        return Status(Code.SUCCESS)\n"),
    "a tuple of scores": (
        "        return [100 * score // most if most else 0 for score in scores]",
        "        return tuple(100 * score // most if most else 0 for score in scores)",
    ),
    "a generator of events": (
        "return [ClusterEventWithHint(event, self.after_node_change)]",
        "yield ClusterEventWithHint(event, self.after_node_change)",
    ),
}


@pytest.mark.parametrize(("old", "new"), AS_GOOD.values(), ids=AS_GOOD)
def test_what_the_framework_takes_is_taken(old: str, new: str) -> None:
    assert verify(LAB, changed(old, new), runner=InProcessRunner()).passed


def test_seconds_for_milliseconds_are_not_taken_for_another_mistake() -> None:
    code = changed('args.get("maxMetricAgeSeconds", 15) * 1000', 'args.get("maxMetricAgeSeconds", 15)')
    checks = ["old-reports-do-not-count", "the-arguments-decide"]
    report = verify(LAB, code, only=checks, runner=InProcessRunner())
    text = report_text(LAB, report)
    assert [result.failure.broken.cause for result in report.results if result.failure and result.failure.broken] == [
        "young-rejected",
        "young-rejected",
    ]
    assert "Looks like 'seconds-for-milliseconds'" in text
    assert text.count("Looks like") == 1


@pytest.mark.parametrize("celsius", ["0", "-5"])
def test_what_is_cold_is_a_temperature(celsius: str) -> None:
    assert answers("hot-nodes-are-out", f"report a {celsius}; ask a")[-1] == "fits"
    assert answers("a-pod-comes-back", f"report a 90; report a {celsius}")[-1] == "Queue"
    assert answers("scores-fill-the-scale", f"report a {celsius}; report b 85; rank")[-1] == "a=100 b=0"


def test_what_is_not_written_yet_costs_only_the_checks_that_use_it() -> None:
    """As the text says: first the filter, then the scores, then the hint."""
    names = [check.name for check in LAB.spec.checks]
    assert TAKEN.passed_without("after_node_change") == {*names[:-1]}
    assert TAKEN.passed_without("after_node_change", "normalize_score") == {*names[:5]}


def test_answers_are_what_the_text_shows() -> None:
    assert answers("cooler-is-better", "report a 25; report b 55; rank")[-1] == "a=100 b=50"
    assert answers("a-pod-comes-back", "report a 90; report a 60") == ["QueueSkip", "Queue"]
    assert answers("hot-nodes-are-out", "report a 85; ask a; ask b") == [None, "fits", None]


WITHOUT_EVENTS = ("        return [ClusterEventWithHint(event, self.after_node_change)]", "        return []")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (LAB.solution, "rejected, then placed 0 s after the node cooled"),
        (changed(*WITHOUT_EVENTS), "rejected, then not placed 600 s after the node cooled"),
    ],
    ids=["as it is", "without events"],
)
def test_the_last_cells_say_what_happened(code: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    cells = ["".join(cell["source"]) for cell in LAB.notebook["cells"] if cell["cell_type"] == "code"]
    space: dict[str, Any] = {}
    for text in (code, *cells[-2:]):
        exec(text, space)
    assert capsys.readouterr().out == f"{said}\n"


# -- the package's own plugin ------------------------------------------------------------------------


class AsTheLabAsks(GPUTemperature):
    """The package's plugin keeps the time of the cycle in its state: PreFilter is asked before each Filter."""

    def filter(self, state: CycleState, pod: Any, node: NodeInfo) -> Status:
        self.pre_filter(state, pod, [node])
        return super().filter(state, pod, node)


@pytest.mark.parametrize("check", LAB.spec.checks, ids=lambda check: check.name)
def test_the_packages_own_plugin_is_right(check: Check) -> None:
    drive = runpy.run_path(str(LAB.folder / "drive.py"))["drive"]
    for case in (one for seed in range(10) for one in check.cases(str(seed))):
        do = drive({"GPUTemperature": AsTheLabAsks}, check.setting)
        steps = [Step(number, op, do(*op)) for number, op in enumerate(case.script, 1)]
        assert check.judge(steps) is None, case.script


def test_the_state_beside_a_failure_is_the_table_of_reports() -> None:
    check = LAB.spec.check("old-reports-do-not-count")
    steps = [Step(n, op, None) for n, op in enumerate(parse_script("report a 60; clock 7; silent b; report c warm"), 1)]
    assert check.state is not None
    assert check.state(steps) == {
        "limits": "at most 85 degrees, 15 s old",
        "node a": "60 degrees, 7 s ago",
        "node b": "no report",
        "node c": "'warm'",
    }
