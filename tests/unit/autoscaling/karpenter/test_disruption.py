"""The loop: order, validation window, replacements first, drain: website concepts/disruption.md (Control Flow)."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.times import rfc3339
from k8slab.autoscaling.karpenter import (
    VALIDATION_MS,
    ClusterState,
    Command,
    Disruption,
    Drain,
    Method,
    budgets_left,
    drain,
)
from k8slab.autoscaling.karpenter.node_claim import DRIFTED_CONDITION, INSTANCE_TERMINATING, NodeClaim
from k8slab.autoscaling.karpenter.state import StateNode
from k8slab.autoscaling.karpenter.termination import termination_ends_ms
from tests.karpenter import CAPACITY_TYPE, DO_NOT_DISRUPT, app_pod, cluster, node_pool, rule, run_node, waiting

MINUTE = 60_000


def state_of(**disruption: Any) -> ClusterState:
    spec = {"budgets": [{"nodes": "100%"}], **disruption}
    return cluster(node_pool("default", rule(CAPACITY_TYPE, "In", "on-demand"), disruption=spec))


class Loop:
    """A disruption loop that notes what it reports."""

    def __init__(self, state: ClusterState) -> None:
        self.reasons: dict[str, str] = {}
        self.loop = Disruption(state, report=self.reasons.__setitem__)

    def at(self, now_ms: int) -> str:
        found = self.loop.step(now_ms)
        return "" if found is None else str(found)


def test_empty_nodes_before_drift_before_consolidation() -> None:
    """NewMethods: Emptiness, Drift, multi-node, single-node; one method acts at a time."""
    state = state_of()
    run_node(state, "full", "m5.2xlarge", app_pod("a", "3"))
    claim = run_node(state, "old", "m5.2xlarge", app_pod("b", "6")).claim
    run_node(state, "empty")
    assert claim is not None
    claim.set(DRIFTED_CONDITION, "True", 0, "NodePoolDrifted")
    disruption = Disruption(state)
    found = [disruption.compute(method, 0) for method in Method]
    assert [one is not None and one.method.reason for one in found] == ["Empty", "Drifted", False, "Underutilized"]
    loop = Loop(state)
    assert loop.at(0) == ""
    assert loop.at(VALIDATION_MS).startswith("Empty: delete: [empty]")


def test_drift_does_not_wait() -> None:
    state = state_of()
    claim = run_node(state, "old", "m5.large", app_pod("b", "1")).claim
    assert claim is not None
    claim.set(DRIFTED_CONDITION, "True", 0, "NodePoolDrifted")
    assert Loop(state).at(0).startswith("Drifted: replace: [old]")


def test_a_consolidation_waits_15_seconds() -> None:
    """consolidation.go, commandValidationDelay."""
    state = state_of()
    run_node(state, "n1", "m5.2xlarge", app_pod("a", "3"))
    loop = Loop(state)
    assert (loop.at(0), loop.loop.next_due_ms(), loop.at(VALIDATION_MS - 1)) == ("", VALIDATION_MS, "")
    assert loop.at(VALIDATION_MS) == "Underutilized: replace: [n1] -> [1 replacement] (savings: $0.20)"


def churn(state: ClusterState) -> None:
    state.add_pod({**app_pod("new", "2", node_name="n1"), "status": {"phase": "Running"}})
    claim = state.nodes["n1"].claim
    assert claim is not None
    claim.clear("Consolidatable")


def protect(state: ClusterState) -> None:
    annotated = app_pod("a", "3", node_name="n1", annotations={DO_NOT_DISRUPT: "true"})
    state.add_pod({**annotated, "status": {"phase": "Running"}})


def grow(state: ClusterState) -> None:
    state.add_pod(waiting(app_pod("late", "7")))


def nominate(state: ClusterState) -> None:
    state.nodes["n1"].nominated_until_ms = MINUTE


def forbid(state: ClusterState) -> None:
    run_node(state, "n2", "m5.large", app_pod("z", "1900m", app="z")).is_marked_for_deletion = True


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        pytest.param(churn, "churn", id="a Pod came to the node"),
        pytest.param(protect, "churn", id="a Pod asks to be left alone"),
        pytest.param(nominate, "churn", id="a Pod is on its way to it"),
        pytest.param(grow, "scheduling", id="with the Pod that waits now, two nodes would be needed"),
        pytest.param(forbid, "budget", id="another node goes, and the budget is used up"),
    ],
)
def test_what_happens_within_the_window_stops_the_command(change: Any, kind: str) -> None:
    """validation.go: candidates, budgets, nominations and the simulation are looked at again."""
    state = state_of(budgets=[{"nodes": "1"}])
    run_node(state, "n1", "m5.2xlarge", app_pod("a", "3"))
    loop = Loop(state)
    loop.at(0)
    change(state)
    assert loop.at(VALIDATION_MS) == ""
    assert f"is rejected ({kind})" in loop.reasons["n1"]


def test_of_empty_nodes_those_go_that_are_still_empty() -> None:
    """EmptinessValidator."""
    state = state_of()
    run_node(state, "n1"), run_node(state, "n2")
    loop = Loop(state)
    loop.at(0)
    state.add_pod({**app_pod("new", node_name="n1"), "status": {"phase": "Running"}})
    assert loop.at(VALIDATION_MS) == "Empty: delete: [n2] (savings: $0.10)"


def test_behind_a_rejected_command_the_other_methods_have_their_turn() -> None:
    """controller.go, Reconcile: a method that comes to nothing is followed by the next one in the same round."""
    state = state_of()
    empty = run_node(state, "empty", "m5.2xlarge")
    loop = Loop(state)
    assert loop.at(0) == ""
    state.add_pod({**app_pod("new", "6", node_name="empty"), "status": {"phase": "Running"}})
    assert empty.claim is not None
    empty.claim.set(DRIFTED_CONDITION, "True", VALIDATION_MS, "NodePoolDrifted")
    assert loop.at(VALIDATION_MS).startswith("Drifted: replace: [empty]")
    assert "is rejected (churn)" in loop.reasons["empty"]


def test_nodes_whose_instance_is_given_back_do_not_count_for_budgets() -> None:
    """BuildDisruptionBudgetMapping skips InstanceTerminating: neither a node of the pool nor one that goes."""
    state = state_of(budgets=[{"nodes": "50%"}])
    for number in range(4):
        run_node(state, f"n{number}")
    assert budgets_left(state, "Empty", 0) == {"default": 2}
    going = state.nodes["n0"]
    assert going.claim is not None
    going.claim.deleted_ms = 0
    assert budgets_left(state, "Empty", 0) == {"default": 1}  # two of four, one is on its way
    going.claim.set(INSTANCE_TERMINATING, "True", 0)
    assert budgets_left(state, "Empty", 0) == {"default": 2}  # half of three, rounded up


def test_it_looks_again_every_ten_seconds() -> None:
    state = state_of()
    loop = Loop(state)
    loop.at(0)
    run_node(state, "n1")
    assert (loop.at(9_999), loop.loop.waiting) == ("", None)
    loop.at(10_000)
    assert loop.loop.waiting is not None


# -- carrying out ---------------------------------------------------------------------------------------


def started(state: ClusterState, replacement: str) -> tuple[Disruption, Any]:
    run_node(state, "n1", "m5.2xlarge", app_pod("a", "3"))
    disruption = Disruption(state)
    command = disruption.compute(Method.SINGLE, 0)
    assert isinstance(command, Command)
    state.add_node(StateNode(claim=NodeClaim(replacement, "default", 0)))
    return disruption, disruption.started(command, [replacement], 0)


def test_candidates_go_when_the_replacement_is_initialized() -> None:
    """disruption.md: pre-spin replacements, and wait for them to become ready."""
    state = state_of()
    disruption, running = started(state, "r1")
    assert (disruption.busy, disruption.progress(running, 1_000)) == (["n1"], "wait")
    state.nodes.pop("r1")
    run_node(state, "r1", "m5.xlarge")
    assert (disruption.progress(running, 2_000), disruption.busy) == ("done", [])


def test_without_the_replacement_nothing_happens() -> None:
    state = state_of()
    disruption, running = started(state, "r1")
    state.nodes.pop("r1")
    assert disruption.progress(running, 1_000) == "failed"


def test_a_command_has_ten_minutes() -> None:
    """queue.go: minRetryDuration."""
    state = state_of()
    disruption, running = started(state, "r1")
    assert disruption.progress(running, 10 * MINUTE) == "wait"
    assert disruption.progress(running, 10 * MINUTE + 1) == "failed"


def test_nodes_of_a_running_command_are_no_candidates() -> None:
    state = state_of()
    disruption, _ = started(state, "r1")
    assert disruption.compute(Method.SINGLE, 0) is None


# -- drain: disruption.md, Termination Controller and TerminationGracePeriod ---------------------------------


def of_daemon_set(name: str, **more: Any) -> Any:
    made = app_pod(name, **more)
    made["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet"
    return made


@pytest.mark.parametrize(
    ("pods", "asked"),
    [
        pytest.param([app_pod("a"), app_pod("b")], ["a", "b"], id="all Pods of a tier at once"),
        pytest.param([app_pod("a"), of_daemon_set("d")], ["a"], id="DaemonSets' after the others"),
        pytest.param([of_daemon_set("d"), app_pod("c", priorityClassName="system-cluster-critical")], ["d"],
                     id="critical ones after DaemonSets'"),
        pytest.param([app_pod("c", priorityClassName="system-node-critical"),
                      of_daemon_set("d", priorityClassName="system-node-critical")], ["c"],
                     id="critical DaemonSets' at last"),
        pytest.param([app_pod("a", tolerations=[{"operator": "Exists"}])], [],
                     id="who tolerates the taint is left in peace"),
        pytest.param([app_pod("a", annotations={DO_NOT_DISRUPT: "true"})], [],
                     id="who must not be disrupted is waited for"),
    ],
)  # fmt: skip
def test_who_is_evicted_first(pods: list[Any], asked: list[str]) -> None:
    assert drain(pods, 0).evict == tuple(f"default/{name}" for name in asked)


def test_a_drain_waits_for_pods_it_does_not_evict() -> None:
    protected = app_pod("a", annotations={DO_NOT_DISRUPT: "true"})
    found = drain([protected, app_pod("t", tolerations=[{"operator": "Exists"}])], 0)
    assert (found.waiting, found.message, found.is_done) == (("default/a",), "1 pods are waiting to be evicted", False)
    assert drain([], 0) == Drain()


def test_the_documents_hour() -> None:
    """disruption.md: 1 hour for the node, 300 s for the Pod: it is deleted after 55 minutes, budgets or not."""
    protected = app_pod("a", annotations={DO_NOT_DISRUPT: "true"}, terminationGracePeriodSeconds=300)
    ends_ms = 60 * MINUTE
    assert drain([protected], 55 * MINUTE, ends_ms).delete == ()
    assert drain([protected], 55 * MINUTE + 1_000, ends_ms).delete == (("default/a", 299),)
    longer = app_pod("b", terminationGracePeriodSeconds=7_200)
    assert drain([longer], 0, ends_ms).delete == (("default/b", 3_600),)  # longer than the node's: at once


def test_a_pod_that_ends_too_late_is_cut_short_and_one_that_hangs_is_left_behind() -> None:
    going = app_pod("a")
    going["metadata"]["deletionTimestamp"] = rfc3339(70 * MINUTE)
    assert drain([going], 0, 60 * MINUTE).delete == (("default/a", 3_600),)
    going["metadata"]["deletionTimestamp"] = rfc3339(0)
    assert not drain([going], MINUTE).is_done
    assert drain([going], MINUTE + 1_000).is_done


def test_the_grace_period_counts_from_the_deletion() -> None:
    claim = NodeClaim("c", "default", 0, termination_grace_period_ms=1_000, deleted_ms=5_000)
    assert termination_ends_ms(StateNode(claim=claim)) == 6_000
    claim.termination_grace_period_ms = None
    assert termination_ends_ms(StateNode(claim=claim)) is None
