"""Consolidation and drift: website concepts/disruption.md; pkg/controllers/disruption;
designs/spot-consolidation.md."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.times import rfc3339
from k8slab.autoscaling.cloud import SPOT
from k8slab.autoscaling.karpenter import (
    ClusterState,
    Command,
    Consolidation,
    Method,
    budgets_left,
    candidates_of,
    simulate,
)
from k8slab.autoscaling.karpenter.node_claim import DRIFTED_CONDITION, LAUNCHED, update_consolidatable
from tests.karpenter import (
    CAPACITY_TYPE,
    DO_NOT_DISRUPT,
    app_pod,
    cluster,
    instance_type,
    ladder,
    node_pool,
    rule,
    run_node,
    waiting,
)

FREE: dict[str, Any] = {"budgets": [{"nodes": "100%"}]}


ON_DEMAND_ONLY = rule(CAPACITY_TYPE, "In", "on-demand")


def pool(*requirements: Any, template: Any = None, **disruption: Any) -> Any:
    """On demand only, unless the requirements say something about it; every node may go."""
    if not any(one["key"] == CAPACITY_TYPE for one in requirements):
        requirements = (*requirements, ON_DEMAND_ONLY)
    return node_pool("default", *requirements, template=template, disruption={**FREE, **disruption})


def command(
    state: ClusterState, method: Method, *, now_ms: int = 0, spot_to_spot: bool = False
) -> tuple[Command | None, dict[str, str]]:
    """What the method would do, and why other nodes stay."""
    reasons: dict[str, str] = {}
    consolidation = Consolidation(state, spot_to_spot=spot_to_spot, report=reasons.__setitem__)
    found = candidates_of(state, now_ms, disruption_class=method.disruption_class, blocked=reasons.__setitem__)
    return consolidation.command(method, found, now_ms), reasons


def text(state: ClusterState, method: Method, **more: Any) -> str:
    found = command(state, method, **more)[0]
    return "" if found is None else str(found)


# -- empty nodes -----------------------------------------------------------------------------------------


def test_empty_nodes_go_all_at_once() -> None:
    """disruption.md: Empty Node Consolidation deletes any entirely empty nodes in parallel."""
    state = cluster(pool())
    run_node(state, "n1"), run_node(state, "n2"), run_node(state, "n3", "m5.large", app_pod("a"))
    assert text(state, Method.EMPTINESS) == "Empty: delete: [n1, n2] (savings: $0.20)"


def test_a_node_with_daemon_sets_only_is_empty() -> None:
    daemon = app_pod("agent")
    daemon["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet"
    state = cluster(pool())
    run_node(state, "n1", "m5.large", daemon)
    assert text(state, Method.EMPTINESS) == "Empty: delete: [n1] (savings: $0.10)"


def test_a_node_with_pods_that_cost_nothing_to_move_is_empty() -> None:
    """disruption.md: ephemeral Pods that the user has annotated as cheap to disrupt."""
    cheap = app_pod("a", annotations={"controller.kubernetes.io/pod-deletion-cost": str(-(2**27))})
    state = cluster(pool())
    run_node(state, "n1", "m5.large", cheap)
    assert text(state, Method.EMPTINESS) != ""


@pytest.mark.parametrize(
    ("disruption", "reason"),
    [
        pytest.param({"consolidateAfter": "Never"}, 'NodePool "default" has consolidation disabled', id="Never"),
        pytest.param({"consolidateAfter": "30s"}, "", id="not quiet for long enough"),
        pytest.param({"budgets": [{"nodes": "0"}]}, "", id="the budget allows none"),
        pytest.param({"budgets": [{"nodes": "0", "reasons": ["Empty"]}]}, "", id="none that is empty"),
    ],
)
def test_empty_nodes_that_stay(disruption: dict[str, Any], reason: str) -> None:
    state = cluster(pool(**disruption))
    run_node(state, "n1")
    found, reasons = command(state, Method.EMPTINESS)
    assert (found, reasons.get("n1", "")) == (None, reason)


def test_the_default_budget_of_10_percent_takes_empty_nodes_in_portions() -> None:
    """disruption.md: roundup(total * percentage) - deleting - notready."""
    state = cluster(node_pool())
    for number in range(15):
        run_node(state, f"n{number:02d}")
    assert text(state, Method.EMPTINESS).startswith("Empty: delete: [n00, n01]")
    state.nodes["n14"].is_marked_for_deletion = True
    assert budgets_left(state, "Empty", 0) == {"default": 1}
    sick = state.nodes["n13"]
    assert sick.node is not None
    sick.set_node({**sick.node, "status": {**sick.node["status"], "conditions": []}})
    assert budgets_left(state, "Empty", 0) == {"default": 0}


# -- one node -------------------------------------------------------------------------------------------


def test_a_node_whose_pods_fit_elsewhere_is_deleted() -> None:
    state = cluster(pool())
    run_node(state, "n1", "m5.large", app_pod("a", "300m"))
    run_node(state, "n2", "m5.2xlarge", app_pod("b", "5"))
    assert text(state, Method.SINGLE) == "Underutilized: delete: [n1] (savings: $0.10)"


def test_a_node_is_replaced_by_a_cheaper_one() -> None:
    state = cluster(pool())
    run_node(state, "n1", "m5.2xlarge", app_pod("a", "3"))
    found = command(state, Method.SINGLE)[0]
    assert str(found) == "Underutilized: replace: [n1] -> [1 replacement] (savings: $0.20)"
    assert found is not None and [one.name for one in found.replacements[0].options()] == ["m5.xlarge"]


def test_not_by_one_that_costs_the_same() -> None:
    state = cluster(pool())
    run_node(state, "n1", "m5.large", app_pod("a", "1"))
    assert command(state, Method.SINGLE) == (None, {"n1": "Can't replace with a cheaper node"})


def test_not_by_two() -> None:
    """disruption.md: a node can be replaced by a combination of free capacity and a single node."""
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    ]}  # fmt: skip
    state = cluster(pool())
    run_node(state, "n1", "m5.2xlarge", app_pod("a"), app_pod("b", affinity={"podAntiAffinity": apart}))
    assert command(state, Method.SINGLE)[1] == {"n1": "Can't remove without creating 2 candidates"}


def test_from_on_demand_to_spot_only_to_spot() -> None:
    """consolidation.go: if spot has no capacity the launch shall fail, not buy something dearer on demand."""
    state = cluster(pool(rule(CAPACITY_TYPE, "In", "spot", "on-demand")))
    run_node(state, "n1", "m5.large", app_pod("a", "1"))
    found = command(state, Method.SINGLE)[0]
    assert found is not None
    assert found.replacements[0].requirements.get(CAPACITY_TYPE).listed() == ["spot"]
    assert found.savings_micros == 60_000


def test_a_pod_that_would_find_no_place_keeps_its_node() -> None:
    state = cluster(pool(rule("node.kubernetes.io/instance-type", "In", "m5.large")))
    run_node(state, "n1", "m5.2xlarge", app_pod("a", "5"))
    reason = command(state, Method.SINGLE)[1]["n1"]
    assert reason.startswith("Not all pods would schedule, default/a => no instance type has enough resources")


def test_pods_that_wait_anyway_do_not_stop_it() -> None:
    """AllNonPendingPodsScheduled."""
    state = cluster(pool())
    run_node(state, "n1", "m5.large", app_pod("a", "300m"))
    run_node(state, "n2", "m5.2xlarge", app_pod("b", "5"))
    state.add_pod(waiting(app_pod("hopeless", "100")))
    assert text(state, Method.SINGLE) == "Underutilized: delete: [n1] (savings: $0.10)"


def test_a_decision_is_not_built_on_a_node_that_may_never_come() -> None:
    """SimulateScheduling: NewUninitializedNodeError."""
    state = cluster(pool(rule("node.kubernetes.io/instance-type", "In", "m5.large")))
    run_node(state, "n1", "m5.large", app_pod("a", "1900m"))
    young = run_node(state, "n2", "m5.2xlarge")
    assert young.node is not None
    del young.node["metadata"]["labels"]["karpenter.sh/initialized"]
    reason = command(state, Method.SINGLE)[1]["n1"]
    assert (
        reason == "Not all pods would schedule, default/a => would schedule against uninitialized nodeclaim/n2, node/n2"
    )


def test_nodes_that_are_not_quiet_take_nobody_in() -> None:
    """scheduler.go, IsConsolidationSimulation: consolidateAfter protects destinations, too."""
    state = cluster(pool(rule("node.kubernetes.io/instance-type", "In", "m5.large"), consolidateAfter="30s"))
    run_node(state, "n1", "m5.large", app_pod("a", "1"))
    run_node(state, "n2", "m5.large", app_pod("b", "500m"))
    for one in state.nodes.values():
        assert one.claim is not None
        update_consolidatable(one.claim, state.pools["default"], 60_000)
    assert text(state, Method.SINGLE, now_ms=60_000) != ""
    busy = state.nodes["n2"].claim
    assert busy is not None
    busy.last_pod_event_ms = 50_000
    update_consolidatable(busy, state.pools["default"], 60_000)
    assert text(state, Method.SINGLE, now_ms=60_000) == ""


def test_when_empty_touches_no_node_with_pods() -> None:
    state = cluster(pool(consolidationPolicy="WhenEmpty"))
    run_node(state, "n1", "m5.large", app_pod("a", "300m")), run_node(state, "n2", "m5.2xlarge", app_pod("b"))
    found, reasons = command(state, Method.SINGLE)
    assert found is None
    assert reasons["n1"] == 'NodePool "default" has consolidation policy WhenEmpty, but node is not empty'


def test_who_saves_most_for_the_least_disruption_goes_first() -> None:
    """sortCandidates: price by cost, descending."""
    state = cluster(pool())
    run_node(state, "crowd", "m5.xlarge", *(app_pod(f"a{n}", "10m") for n in range(3)))
    run_node(state, "lonely", "m5.xlarge", app_pod("b", "10m"))
    run_node(state, "large", "m5.2xlarge", app_pod("c", "7"))
    order = sorted(candidates_of(state, 0), key=lambda one: -one.savings_ratio)
    assert [one.name for one in order] == ["large", "lonely", "crowd"]


# -- several nodes ---------------------------------------------------------------------------------------


def test_several_nodes_become_one_that_costs_less_than_all_of_them() -> None:
    """disruption.md: Multi Node Consolidation."""
    state = cluster(pool())
    for number in range(3):
        run_node(state, f"n{number}", "m5.xlarge", app_pod(f"p{number}", "1500m"))
    assert text(state, Method.MULTI) == "Underutilized: replace: [n0, n1, n2] -> [1 replacement] (savings: $0.20)"


def test_the_longest_beginning_that_can_go_is_found() -> None:
    """firstNConsolidationOption: a binary search over the sorted candidates."""
    state = cluster(pool(rule("node.kubernetes.io/instance-type", "In", "m5.large")))
    big = app_pod("big", "5900m")
    run_node(state, "room", "m5.2xlarge", big, annotations={DO_NOT_DISRUPT: "true"})  # three of the small Pods fit
    for number in range(6):
        run_node(state, f"n{number}", "m5.large", app_pod(f"p{number}", "600m"))
    # two more fit on n5; a sixth would need a node like those that go
    assert text(state, Method.MULTI) == "Underutilized: delete: [n0, n1, n2, n3, n4] (savings: $0.50)"


def test_no_replacement_by_one_of_the_same_type() -> None:
    """filterOutSameInstanceType: [2xlarge, large] -> [1 of large, xlarge] would only be a deletion in disguise."""
    state = cluster(pool())
    run_node(state, "n1", "m5.2xlarge", app_pod("a", "800m"))
    run_node(state, "n2", "m5.large", app_pod("b", "800m"), app_pod("c", "200m"))
    assert text(state, Method.MULTI) == ""
    assert text(state, Method.SINGLE) == "Underutilized: delete: [n1] (savings: $0.40)"


# -- spot to spot: disruption.md, Spot consolidation ---------------------------------------------------------


def spot_state(place: int, **more: Any) -> ClusterState:
    state = cluster(pool(rule(CAPACITY_TYPE, "In", "spot")), types=ladder(20, **more))
    run_node(state, "n1", f"t1.s{place:02d}", app_pod("a", "3"), capacity_type=SPOT)
    return state


def test_spot_is_not_replaced_by_spot_unless_the_gate_is_on() -> None:
    assert command(spot_state(20), Method.SINGLE)[1] == {
        "n1": "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
    }


@pytest.mark.parametrize(
    ("place", "options"),
    [
        pytest.param(20, 15, id="19 types are cheaper: the launch is left the 15 cheapest"),
        pytest.param(16, 15, id="15 are just enough"),
        pytest.param(15, 0, id="14 are too few"),
        pytest.param(1, 0, id="it is the cheapest already"),
    ],
)
def test_spot_to_spot_needs_15_cheaper_types(place: int, options: int) -> None:
    found, reasons = command(spot_state(place), Method.SINGLE, spot_to_spot=True)
    if options:
        assert found is not None
        assert [one.name for one in found.replacements[0].options()] == [f"t1.s{n:02d}" for n in range(1, 16)]
    elif place == 15:
        assert reasons == {
            "n1": "SpotToSpotConsolidation requires 15 cheaper instance type options than the current candidate to "
            "consolidate, got 14"
        }
    else:
        assert reasons == {"n1": "Can't replace with a cheaper node"}


def test_a_spot_node_whose_pods_fit_elsewhere_is_deleted_in_any_case() -> None:
    state = spot_state(20)
    run_node(state, "n2", "t1.s01", capacity_type=SPOT)
    assert text(state, Method.SINGLE) == "Underutilized: delete: [n1] (savings: $0.10)"


def test_several_spot_nodes_need_no_15_types() -> None:
    types = [*ladder(2), instance_type("t2.big", 16, 0.2, spot=0.011)]
    state = cluster(pool(rule(CAPACITY_TYPE, "In", "spot")), types=types)
    run_node(state, "n1", "t1.s02", app_pod("a", "3"), capacity_type=SPOT)
    run_node(state, "n2", "t1.s02", app_pod("b", "3"), capacity_type=SPOT)
    found = command(state, Method.MULTI, spot_to_spot=True)[0]
    assert found is not None and [one.name for one in found.replacements[0].options()] == ["t2.big"]


def test_min_values_are_kept_when_prices_are_compared() -> None:
    """RemoveInstanceTypeOptionsByPriceAndMinValues."""
    family = rule("karpenter.k8s.aws/instance-size", "Exists", minValues=3)
    state = cluster(pool(family), types=ladder(4))
    run_node(state, "n1", "t1.s03", app_pod("a", "3"))
    assert command(state, Method.SINGLE)[1] == {
        "n1": "Filtering by price: minValues requirement is not met for label(s) karpenter.k8s.aws/instance-size"
    }


# -- what blocks ------------------------------------------------------------------------------------------


def pdb(**spec: Any) -> Any:
    allowed = spec.pop("allowed", 0)
    return {
        "metadata": {"name": spec.pop("name", "b"), "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        "status": {"disruptionsAllowed": allowed},
    }


@pytest.mark.parametrize(
    ("pod", "budgets", "reason"),
    [
        pytest.param(app_pod("a"), [pdb(minAvailable=1)], "pdb default/b prevents pod evictions", id="a budget of 0"),
        pytest.param(app_pod("a"), [pdb(minAvailable=1, allowed=1)], "", id="a budget that allows it"),
        pytest.param(app_pod("a"), [pdb(name="b", allowed=1), pdb(name="c", allowed=1)],
                     "eviction does not support multiple PDBs (default/b, default/c)", id="two budgets"),
        pytest.param(app_pod("a", annotations={DO_NOT_DISRUPT: "true"}), [],
                     'pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/a)', id="do-not-disrupt"),
        pytest.param(app_pod("a", annotations={DO_NOT_DISRUPT: "maybe"}), [], "", id="a value that says nothing"),
        pytest.param(app_pod("a", annotations={DO_NOT_DISRUPT: "-5m"}), [], "", id="a duration below zero"),
        pytest.param(app_pod("a", annotations={DO_NOT_DISRUPT: "5m"}), [],
                     'pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/a)',
                     id="a duration, and no start is known"),
    ],
)  # fmt: skip
def test_pods_that_hold_their_node(pod: Any, budgets: list[Any], reason: str) -> None:
    """disruption.md, Pod-Level Controls."""
    state = cluster(pool(), pdbs=budgets)
    run_node(state, "n1", "m5.large", pod)
    reasons: dict[str, str] = {}
    found = candidates_of(state, 0, blocked=reasons.__setitem__)
    assert (reasons.get("n1", ""), [one.name for one in found]) == (reason, [] if reason else ["n1"])


def test_do_not_disrupt_for_a_while() -> None:
    """disruption.md: 30m protects for 30 minutes after the Pod started."""
    state = cluster(pool())
    run_node(state, "n1", "m5.large")
    pod = app_pod("a", annotations={DO_NOT_DISRUPT: "30m"}, node_name="n1")
    state.add_pod({**pod, "status": {"phase": "Running", "startTime": rfc3339(60_000)}})
    late = 31 * 60_000
    assert [one.name for one in candidates_of(state, late - 1)] == []
    assert [one.name for one in candidates_of(state, late)] == ["n1"]


def test_unhealthy_pods_do_not_count_where_the_budget_says_so() -> None:
    state = cluster(pool(), pdbs=[pdb(minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow")])
    run_node(state, "n1", "m5.large")
    sick = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    state.add_pod({**app_pod("a", node_name="n1"), "status": sick})
    assert [one.name for one in candidates_of(state, 0)] == ["n1"]


def test_a_pod_with_a_budget_that_never_allows_gets_no_new_capacity() -> None:
    """IsCurrentlyReschedulable: maxUnavailable 0."""
    state = cluster(pool(template={"terminationGracePeriod": "1h"}), pdbs=[pdb(maxUnavailable=0)])
    node = run_node(state, "n1", "m5.large", app_pod("a"), termination_grace_period_ms=3_600_000)
    assert node.claim is not None
    node.claim.set(DRIFTED_CONDITION, "True", 0, "NodePoolDrifted")
    found = command(state, Method.DRIFT)[0]
    assert found is not None and found.replacements == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"annotations": {DO_NOT_DISRUPT: "true"}},
                     'disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation', id="do-not-disrupt"),
        pytest.param({}, "", id="nothing"),
    ],
)  # fmt: skip
def test_nodes_that_are_left_alone(change: dict[str, Any], reason: str) -> None:
    """disruption.md, Node-Level Controls."""
    state = cluster(pool())
    assert run_node(state, "n1", **change).why_not_disruptable(0) == reason


def test_a_node_to_which_pods_are_on_their_way_is_left_alone() -> None:
    state = cluster(pool())
    node = run_node(state, "n1")
    node.nominated_until_ms = 20_000
    assert node.why_not_disruptable(19_999) == "node is nominated for a pending pod"
    assert node.why_not_disruptable(20_000) == ""


# -- drift ----------------------------------------------------------------------------------------------


def drifted(state: ClusterState, name: str, since_ms: int) -> None:
    claim = state.nodes[name].claim
    assert claim is not None and claim.is_true(LAUNCHED)
    claim.set(DRIFTED_CONDITION, "True", since_ms, "NodePoolDrifted")


def test_drifted_nodes_are_replaced_one_at_a_time_the_longest_drifted_first() -> None:
    state = cluster(pool())
    for number, since_ms in ((1, 300), (2, 100), (3, 200)):
        run_node(state, f"n{number}", "m5.xlarge", app_pod(f"p{number}", "3"))
        drifted(state, f"n{number}", since_ms)
    assert text(state, Method.DRIFT).startswith("Drifted: replace: [n2] -> [1 replacement]")
    run_node(state, "empty")
    drifted(state, "empty", 900)
    assert text(state, Method.DRIFT) == "Drifted: delete: [empty] (savings: $0.10)"


def test_drift_asks_no_price() -> None:
    state = cluster(pool())
    run_node(state, "n1", "m5.large", app_pod("a", "1"))
    drifted(state, "n1", 0)
    found = command(state, Method.DRIFT)[0]
    assert found is not None and found.savings_micros == 0


@pytest.mark.parametrize(
    ("grace_ms", "goes"),
    [
        pytest.param(None, False, id="without terminationGracePeriod the Pod holds its node"),
        pytest.param(3_600_000, True, id="with it the node may drift away all the same"),
    ],
)
def test_do_not_disrupt_against_drift(grace_ms: int | None, goes: bool) -> None:
    """disruption.md, TerminationGracePeriod: it changes who is eligible for drift."""
    state = cluster(pool())
    pod = app_pod("a", annotations={DO_NOT_DISRUPT: "true"})
    run_node(state, "n1", "m5.large", pod, termination_grace_period_ms=grace_ms)
    drifted(state, "n1", 0)
    assert (command(state, Method.DRIFT)[0] is not None) is goes
    assert command(state, Method.SINGLE)[0] is None  # consolidation is never for such a node


def test_simulation_says_where_pods_would_go() -> None:
    state = cluster(pool())
    run_node(state, "n1", "m5.large", app_pod("a", "300m"))
    run_node(state, "n2", "m5.2xlarge")
    found = simulate(state, [one for one in candidates_of(state, 0) if one.name == "n1"], 0)
    assert (found.packing.existing, found.message) == ({"n2": ["default/a"]}, "")
