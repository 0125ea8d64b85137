"""One scheduling cycle as steps."""

from __future__ import annotations

from k8slab.scheduler import Explanation, NodeVerdict
from k8slab.scheduler.framework import SUCCESS, Code, Status
from k8slab.widgets import SchedulingCycle, Stepper, expand


def explanation() -> Explanation:
    no = Status(Code.UNSCHEDULABLE, "Insufficient cpu", plugin="NodeResourcesFit")
    tainted = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had untolerated taint(s)", plugin="TaintToleration")
    rows = [
        NodeVerdict("node-1", {"TaintToleration": tainted, "NodeResourcesFit": no}),
        NodeVerdict("node-2", {"TaintToleration": SUCCESS, "NodeResourcesFit": SUCCESS}, {"Fit": 9}, {"Fit": 60}),
        NodeVerdict("node-3", {"TaintToleration": SUCCESS, "NodeResourcesFit": no}),
        NodeVerdict("node-4", {"TaintToleration": SUCCESS, "NodeResourcesFit": SUCCESS}, {"Fit": 9}, {"Fit": 80}),
    ]
    return Explanation("default/web-1", rows, [], [], [], [], {"Other": 1, "Fit": 2})


def test_a_node_is_asked_until_the_first_plugin_says_no() -> None:
    matrix = expand(Stepper(explanation()).frames)[-1]["matrix"]
    assert matrix["cell"]["node-1"] == {"f:TaintToleration": {"ok": False, "why": "node(s) had untolerated taint(s)"}}
    assert matrix["cell"]["node-3"]["f:TaintToleration"] == {"ok": True}
    assert matrix["cell"]["node-3"]["f:NodeResourcesFit"] == {"ok": False, "why": "Insufficient cpu"}


def test_scores_are_shown_of_feasible_nodes_with_their_weight() -> None:
    matrix = expand(Stepper(explanation()).frames)[-1]["matrix"]
    assert matrix["scores"] == [{"name": "Fit", "weight": 2}]
    assert matrix["cell"]["node-4"]["s:Fit"] == {"v": 40, "x": 80, "r": 9}
    assert matrix["total"] == {"node-2": 60, "node-4": 80}
    assert matrix["winner"] == "node-4"


def test_the_steps_tell_the_cycle() -> None:
    stepper = Stepper(explanation())
    assert [step["label"] for step in stepper.frames["steps"] if step.get("level") == 1] == [
        "take web-1",
        "TaintToleration rejects node-1",
        "node-2 is feasible",
        "NodeResourcesFit rejects node…",
        "node-4 is feasible",
        "Fit done",
        "node-4 wins",
    ]
    assert stepper.frames["views"] == ["matrix"]
    assert stepper.frames["title"] == "Which node for web-1?"


def test_no_node_fits() -> None:
    none = explanation()
    none.nodes = none.nodes[:1]
    stepper = Stepper(SchedulingCycle(none.view()))
    assert stepper.frames["steps"][-1]["text"] == "No node is feasible: web-1 stays pending."
    assert "winner" not in expand(stepper.frames)[-1]["matrix"]


def test_the_winner_is_told_with_its_lead() -> None:
    texts = [step["text"] for step in Stepper(explanation()).frames["steps"]]
    assert texts[-1] == "node-4 has the highest total, 80, 20 more than node-2."
    tied = explanation()
    tied.nodes[1].weighted["Fit"] = 80
    assert Stepper(tied).frames["steps"][-1]["text"] == (
        "node-2 has the highest total, 80; so has node-4: any of them will do."
    )


def test_a_single_feasible_node_is_not_scored() -> None:
    """Upstream: schedulePod returns before prioritizeNodes when one node is feasible."""
    alone = explanation()
    del alone.nodes[3]
    stepper = Stepper(alone)
    assert stepper.frames["steps"][-1]["text"] == "The only feasible node is node-2: it is taken, and nobody scores."
    matrix = expand(stepper.frames)[-1]["matrix"]
    assert (matrix["winner"], matrix["scores"], matrix["total"]) == ("node-2", [], {})


def test_each_step_shows_what_it_tells() -> None:
    stepper = Stepper(explanation())
    for step, state in zip(stepper.frames["steps"], expand(stepper.frames), strict=True):
        if step["text"].startswith("Fit gives node-4"):
            assert state["matrix"]["cell"]["node-4"]["s:Fit"]["x"] == 80
            assert "winner" not in state["matrix"]


def test_a_score_that_was_normalised_tells_its_raw_value() -> None:
    texts = [step["text"] for step in Stepper(explanation()).frames["steps"]]
    assert "Fit gives node-4 40 of 100 (normalised from 9); weight 2 makes it 80." in texts


def test_room_that_is_kept_for_others_is_part_of_the_reason() -> None:
    kept = explanation()
    kept.nodes[2].kept_for = ["default/important"]
    matrix = expand(Stepper(kept).frames)[-1]["matrix"]
    assert matrix["cell"]["node-3"]["f:NodeResourcesFit"]["why"] == "Insufficient cpu (room is kept for important)"


def test_plugins_that_sat_out_are_counted_once() -> None:
    idle = explanation()
    assert "idle" not in expand(Stepper(idle).frames)[-1]["matrix"]
    idle.skipped_filters, idle.skipped_scores = ["NodePorts", "NodeAffinity"], ["NodeAffinity"]
    assert expand(Stepper(idle).frames)[-1]["matrix"]["idle"] == 2
