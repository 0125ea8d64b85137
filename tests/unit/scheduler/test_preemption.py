"""Preemption without an API server: victims, budgets, the choice of the Node, nominated Pods in Filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from k8slab.api.objects import Object
from k8slab.scheduler import SUCCESS, Code, CycleState, Framework, PodInfo, Snapshot, Status
from k8slab.scheduler.diagnosis import NodeToStatus
from k8slab.scheduler.framework import NodeInfo
from k8slab.scheduler.nominator import Nominator
from k8slab.scheduler.plugins.default_preemption import DefaultPreemption
from k8slab.scheduler.preemption import (
    Candidate,
    best_candidates,
    by_importance,
    dry_run_preemption,
    split_by_pdb_violation,
)
from tests.scheduling import node, pod, profile


def low(name: str, cpu: str, node_name: str, *, priority: int = 0, minute: int | None = 0, **labels: str) -> Object:
    """A running Pod that started in this minute (None: not yet)."""
    made = pod(name, cpu, node_name=node_name, priority=priority)
    made["metadata"]["labels"] = labels
    made["status"] = {} if minute is None else {"startTime": f"2026-01-01T00:{minute:02}:00Z"}
    return made


def budget(allowed: int, *, namespace: str = "default", disrupted: tuple[str, ...] = (), **labels: str) -> Object:
    return {
        "metadata": {"name": "b", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")},
    }


def ready(nodes: Sequence[Object], pods: Sequence[Object], **args: int) -> Framework:
    framework = Framework.from_profile(
        profile("NodeResourcesFit", "DefaultPreemption", args={"DefaultPreemption": args})
    )
    framework.use_snapshot(Snapshot.of(nodes, pods))
    return framework


def dry_run(framework: Framework, incoming: Object, pdbs: list[Object] | None = None, **how: int) -> Any:
    state = CycleState()
    framework.run_pre_filter(state, incoming, framework.snapshot().nodes)
    return dry_run_preemption(framework, state, incoming, framework.snapshot().nodes, pdbs or [], **how)


def names(pods: Any) -> list[str]:
    return [info.pod["metadata"]["name"] for info in pods]


# -- victims -------------------------------------------------------------------------------------------


def test_as_many_as_possible_stay_the_most_important_first() -> None:
    there = [low("old", "1", "n", minute=1), low("new", "1", "n", minute=2), low("vip", "1", "n", priority=5, minute=3)]
    framework = ready([node("n", "3")], there)
    (found,), _, errors = dry_run(framework, pod(cpu="1", priority=10))
    assert (names(found.victims), found.pdb_violations, errors) == (["new"], 0, [])
    (found,), _, _ = dry_run(framework, pod(cpu="2", priority=10))
    assert names(found.victims) == ["old", "new"]


def test_a_pod_of_equal_priority_is_no_victim_and_the_dry_run_changes_nothing() -> None:
    framework = ready(
        [node("n", "2"), node("m", "2")], [low("a", "2", "n", priority=10), low("b", "2", "m", priority=9)]
    )
    found, verdicts, _ = dry_run(framework, pod(cpu="1", priority=10))
    assert [candidate.node for candidate in found] == ["m"]
    assert verdicts.explicit() == {
        "n": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "No preemption victims found for incoming pod")
    }
    framework.snapshot().check_invariants()
    assert [list(info.pods) for info in framework.snapshot().nodes] == [["default/a"], ["default/b"]]


def test_a_node_that_stays_too_small_says_why() -> None:
    framework = ready([node("n", "3")], [low("vip", "2", "n", priority=20), low("a", "1", "n")])
    found, verdicts, _ = dry_run(framework, pod(cpu="2", priority=10))
    assert found == []
    assert verdicts.get("n").reasons == ("Insufficient cpu",)


def test_pods_under_a_budget_are_saved_before_more_important_ones() -> None:
    there = [low("kept", "1", "n", app="db"), low("vip", "1", "n", priority=5)]
    (found,), _, _ = dry_run(ready([node("n", "2")], there), pod(cpu="1", priority=10), [budget(0, app="db")])
    assert (names(found.victims), found.pdb_violations) == (["vip"], 0)
    (found,), _, _ = dry_run(ready([node("n", "2")], there), pod(cpu="2", priority=10), [budget(0, app="db")])
    assert (names(found.victims), found.pdb_violations) == (["vip", "kept"], 1)


@pytest.mark.parametrize(
    ("pdbs", "violating"),
    [
        pytest.param([budget(2, app="db")], [], id="a budget of two covers both"),
        pytest.param([budget(1, app="db")], ["b"], id="a budget of one covers the first"),
        pytest.param([budget(0, app="db")], ["a", "b"], id="an empty budget covers none"),
        pytest.param([budget(5, app="db"), budget(0, app="db")], ["a", "b"], id="the strictest budget decides"),
        pytest.param([budget(0, app="web")], [], id="a budget of others"),
        pytest.param([budget(0, namespace="prod", app="db")], [], id="a budget of another namespace"),
        pytest.param([budget(0)], [], id="an empty selector selects nothing here"),
        pytest.param([budget(0, disrupted=("a",), app="db")], ["b"], id="one that is being evicted was counted before"),
        pytest.param(
            [
                {
                    "metadata": {"name": "b"},
                    "spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Huh"}]}},
                }
            ],
            [],
            id="an invalid selector selects nothing",
        ),
    ],
)
def test_budgets_split_victims(pdbs: list[Object], violating: list[str]) -> None:
    pods = [PodInfo(low("a", "1", "n", app="db")), PodInfo(low("b", "1", "n", app="db")), PodInfo(low("c", "1", "n"))]
    bad, good = split_by_pdb_violation(pods, pdbs)
    assert names(bad) == violating
    assert names(good) == [name for name in ("a", "b", "c") if name not in violating]


def test_importance_is_priority_then_age_and_the_last_of_those_not_started_comes_first() -> None:
    pods = [low("x", "1", "n", minute=None), low("y", "1", "n", minute=None), low("old", "1", "n", minute=1)]
    pods += [low("new", "1", "n", minute=2), low("vip", "1", "n", priority=1, minute=9)]
    assert names(by_importance(map(PodInfo, pods))) == ["vip", "old", "new", "y", "x"]


# -- how many Nodes are tried --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "nodes", "enough"),
    [
        pytest.param({}, 50, 50, id="never more than there are"),
        pytest.param({}, 500, 100, id="a hundred at least"),
        pytest.param({}, 5_000, 500, id="ten percent of many"),
        pytest.param({"minCandidateNodesPercentage": 100}, 700, 700, id="all of them"),
        pytest.param({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 3}, 700, 3, id="just three"),
    ],
)
def test_how_many_candidates_are_enough(args: dict[str, int], nodes: int, enough: int) -> None:
    plugin = ready([node("n")], [], **args).plugins["DefaultPreemption"]
    assert isinstance(plugin, DefaultPreemption)
    assert plugin.num_candidates(nodes) == enough


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (
            {"minCandidateNodesPercentage": 101},
            r"minCandidateNodesPercentage: Invalid value: 101: not in valid range \[0, 100\]",
        ),
        (
            {"minCandidateNodesAbsolute": -1},
            r"minCandidateNodesAbsolute: Invalid value: -1: not in valid range \[0, inf\)",
        ),
        (
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "cannot be zero at the same time as minCandidateNodesAbsolute",
        ),
    ],
    ids=["a percentage above 100", "a negative number", "nothing to try"],
)
def test_bad_arguments_are_named(args: dict[str, int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ready([node("n")], [], **args)


def test_trying_starts_at_the_offset_and_ends_with_enough_of_which_one_is_harmless() -> None:
    nodes = [node(name, "1") for name in "abcd"]
    there = [low(f"on-{name}", "1", name, app="db" if name in "bc" else "web") for name in "abcd"]
    framework = ready(nodes, there)
    incoming, pdbs = pod(cpu="1", priority=1), [budget(0, app="db")]
    found, _, _ = dry_run(framework, incoming, pdbs, offset=1, enough=1)
    assert [candidate.node for candidate in found] == ["d", "b"]  # b and c break a budget; d ends the search
    found, _, _ = dry_run(framework, incoming, pdbs, offset=3, enough=2)
    assert [candidate.node for candidate in found] == ["d", "a"]


# -- the choice ----------------------------------------------------------------------------------------


def candidate(name: str, *pods: Object, violations: int = 0) -> Candidate:
    return Candidate(name, tuple(by_importance(map(PodInfo, pods))), violations)


@pytest.mark.parametrize(
    ("first", "second", "best"),
    [
        pytest.param(
            candidate("a", low("x", "1", "a"), violations=1),
            candidate("b", low("y", "1", "b", priority=9), violations=0),
            "b",
            id="a budget counts for more than a priority",
        ),
        pytest.param(
            candidate("a", low("x", "1", "a", priority=2)),
            candidate("b", low("y", "1", "b", priority=1), low("z", "1", "b", priority=1)),
            "b",
            id="the most important victim counts for more than the sum",
        ),
        pytest.param(
            candidate("a", low("x", "1", "a", priority=2), low("w", "1", "a", priority=1)),
            candidate("b", low("y", "1", "b", priority=2), low("z", "1", "b", priority=0)),
            "b",
            id="the smaller sum of priorities",
        ),
        pytest.param(
            candidate("a", low("x", "1", "a", priority=-5), low("w", "1", "a", priority=-5)),
            candidate("b", low("y", "1", "b", priority=-5)),
            "b",
            id="two of negative priority are not less than one",
        ),
        pytest.param(
            candidate("a", low("x", "1", "a", minute=1), low("w", "1", "a", minute=9)),
            candidate("b", low("y", "1", "b", minute=2), low("z", "1", "b", minute=2)),
            "b",
            id="the oldest of the most important started later",
        ),
        pytest.param(
            candidate("a", low("x", "1", "a", minute=1)),
            candidate("b", low("y", "1", "b", minute=None)),
            "b",
            id="one that has not started is the youngest",
        ),
    ],
)
def test_the_node_with_the_least_harm(first: Candidate, second: Candidate, best: str) -> None:
    assert [found.node for found in best_candidates([first, second])] == [best]
    assert [found.node for found in best_candidates([second, first])] == [best]


def test_a_tie_is_a_tie() -> None:
    pair = [candidate("a", low("x", "1", "a")), candidate("b", low("y", "1", "b"))]
    assert best_candidates(pair) == pair


# -- who may preempt -----------------------------------------------------------------------------------


def verdicts(**codes: Code) -> NodeToStatus:
    found = NodeToStatus()
    for name, code in codes.items():
        found.set(name, Status(code, "no"))
    return found


def terminating(name: str, reason: str, priority: int = 0) -> Object:
    made = low(name, "1", "n", priority=priority)
    made["metadata"]["deletionTimestamp"] = "2026-01-01T00:10:00Z"
    made["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": reason}]
    return made


@pytest.mark.parametrize(
    ("victim", "code", "waits"),
    [
        pytest.param(terminating("v", "PreemptionByScheduler"), Code.UNSCHEDULABLE, True, id="its victim still ends"),
        pytest.param(terminating("v", "EvictionByEvictionAPI"), Code.UNSCHEDULABLE, False, id="somebody else's victim"),
        pytest.param(
            terminating("v", "PreemptionByScheduler", 10),
            Code.UNSCHEDULABLE,
            False,
            id="not less important, not its victim",
        ),
        pytest.param(
            terminating("v", "PreemptionByScheduler"),
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            False,
            id="the node became useless meanwhile",
        ),
    ],
)
def test_a_nominated_pod_waits_for_its_victims(victim: Object, code: Code, waits: bool) -> None:
    framework = ready([node("n", "1"), node("m", "1")], [victim, low("other", "1", "m")])
    incoming = pod(cpu="1", priority=10)
    incoming["status"] = {"nominatedNodeName": "n"}
    state = CycleState()
    framework.run_pre_filter(state, incoming, framework.snapshot().nodes)
    result, status = framework.run_post_filter(state, incoming, verdicts(n=code, m=Code.UNSCHEDULABLE))
    if waits:
        assert result is None
        assert status.reasons == ("preemption: not eligible due to a terminating pod on the nominated node.",)
    else:
        assert status is SUCCESS and result is not None


def test_nodes_that_no_eviction_helps_are_left_out() -> None:
    framework = ready([node("n", "1"), node("m", "1")], [low("a", "1", "n"), low("b", "1", "m")])
    incoming = pod(cpu="1", priority=10)
    found = verdicts(n=Code.UNSCHEDULABLE_AND_UNRESOLVABLE, m=Code.UNSCHEDULABLE)
    state = CycleState()
    framework.run_pre_filter(state, incoming, framework.snapshot().nodes)
    result, _ = framework.run_post_filter(state, incoming, found)
    assert result is not None and (result.nominated_node_name, names(result.preemption.victims)) == ("m", ["b"])


# -- nominated Pods ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("priority", "fits"),
    [(9, False), (10, False), (11, True)],
    ids=["less important", "equally important", "more important"],
)
def test_room_made_for_a_pod_is_kept_from_pods_that_are_not_more_important(priority: int, fits: bool) -> None:
    framework = Framework.from_profile()
    framework.nominator.add(pod("waiting", "1", priority=10), "n")
    result = framework.schedule(pod("p", "1", priority=priority), Snapshot.of([node("n", "1")]))
    assert result.node == ("n" if fits else "")


def test_the_nominated_pod_itself_takes_its_room_and_no_other_node_is_looked_at() -> None:
    framework = Framework.from_profile()
    waiting = pod("waiting", "1", priority=10)
    waiting["status"] = {"nominatedNodeName": "n"}
    framework.nominator.add(waiting)
    result = framework.schedule(waiting, Snapshot.of([node("m", "8"), node("n", "1")]))
    assert (result.node, result.evaluated) == ("n", 1)


def test_a_pod_whose_nominated_node_is_taken_looks_at_all() -> None:
    framework = Framework.from_profile()
    waiting = pod("waiting", "1", priority=10)
    waiting["status"] = {"nominatedNodeName": "n"}
    there = [low("thief", "1", "n", priority=20)]
    assert framework.schedule(waiting, Snapshot.of([node("m", "8"), node("n", "1")], there)).node == "m"


class Needy:
    """Wants `friend` on the Node: its Filter passes only with it. Counts come and go as PreFilter is told."""

    name = "Needy"

    def __init__(self, args: Any, handle: Any) -> None:
        pass

    def pre_filter(self, state: CycleState, pod: Object, nodes: Any) -> tuple[None, Status]:
        state.write("needy", sum("default/friend" in info.pods for info in nodes))
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: Object, to_add: PodInfo, node: NodeInfo) -> Status:
        state.write("needy", state.read("needy") + (to_add.key == "default/friend"))
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Object, to_remove: PodInfo, node: NodeInfo) -> Status:
        state.write("needy", state.read("needy") - (to_remove.key == "default/friend"))
        return SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        return SUCCESS if state.read("needy") else Status(Code.UNSCHEDULABLE, "no friend")


def test_a_nominated_pod_is_no_friend_yet_both_passes_must_agree() -> None:
    framework = Framework.from_profile(profile("Needy"), registry={"Needy": Needy})
    framework.nominator.add(pod("friend", priority=10), "n")
    result = framework.schedule(pod("p"), Snapshot.of([node("n")]))
    assert result.message == "0/1 nodes are available: 1 no friend."
    framework.nominator.delete(pod("friend"))
    assert framework.schedule(pod("p"), Snapshot.of([node("n")], [pod("friend", node_name="n")])).node == "n"


def test_a_dry_run_tells_prefilter_who_left_and_who_came_back() -> None:
    framework = Framework.from_profile(
        profile("NodeResourcesFit", "Needy", "DefaultPreemption"), registry={"Needy": Needy}
    )
    there = [low("friend", "1", "n", priority=5), low("b", "1", "n")]
    framework.use_snapshot(Snapshot.of([node("n", "2")], there))
    found, told, _ = dry_run(framework, pod(cpu="1", priority=10))
    assert found == []  # without the friend, who would have to leave in thought first, it does not fit
    assert told.get("n").reasons == ("no friend",)


def test_a_nomination_not_yet_written_outlives_an_update_and_ends_with_a_change_or_the_pod() -> None:
    nominator, plain = Nominator(), pod("p")
    named = {**plain, "status": {"nominatedNodeName": "m"}}
    nominator.add(plain, "n")
    nominator.update(plain, {**plain, "status": {"phase": "Pending"}})
    assert nominator.node_of("uid-default-p") == "n"
    nominator.update(plain, named)
    assert nominator.view() == {"default/p": "m"}
    nominator.update(named, plain)
    assert nominator.view() == {} and not nominator
    nominator.add(named)
    nominator.check_invariants()
    nominator.delete(named)
    nominator.delete(named)
    assert nominator.for_node("m") == []
    nominator.add({**named, "spec": {**named["spec"], "nodeName": "m"}})
    assert not nominator, "a Pod with a Node needs no nomination"
