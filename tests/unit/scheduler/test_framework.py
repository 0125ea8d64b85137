"""The framework: profiles, order and weights, Skip, errors, Reserve, Permit; and the sentence of a failure."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.scheduler import SKIP, SUCCESS, Code, CycleState, Framework, NodeInfo, PluginError, Snapshot, Status
from k8slab.scheduler.framework import ActionType, ClusterEvent, EventResource, pod_changes
from k8slab.scheduler.profile import default_plugins
from k8slab.sim.loop import Loop
from tests.scheduling import Scripted, node, pod, profile

NODES = [node("a"), node("b"), node("c")]


def points(framework: Framework, *names: str) -> list[str]:
    return [plugin.name for name in names for plugin in getattr(framework, f"{name}_plugins")]


# -- profiles ------------------------------------------------------------------------------------------


def test_the_default_profile_has_upstreams_order_and_weights() -> None:
    framework = Framework.from_profile()
    assert points(framework, "filter") == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    ]
    assert points(framework, "reserve", "pre_bind") == ["VolumeBinding", "VolumeBinding"]
    assert {plugin: framework.weight(plugin) for plugin in points(framework, "score")} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert points(framework, "post_filter") == ["DynamicResources", "DefaultPreemption"]


def test_dynamic_resources_is_in_the_default_profile_from_1_34_on() -> None:
    assert "DynamicResources" not in dict(default_plugins(FeatureGates("1.33")))
    assert "DynamicResources" in dict(default_plugins(FeatureGates("1.34")))


def test_a_profile_disables_reweighs_and_reorders() -> None:
    framework = Framework.from_profile(
        {
            "plugins": {
                "multiPoint": {
                    "enabled": [{"name": "NodeAffinity", "weight": 7}, {"name": "Scripted"}],
                    "disabled": [{"name": "NodePorts"}],
                },
                "score": {
                    "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
                    "disabled": [{"name": "TaintToleration"}],
                },
            }
        },
        registry={"Scripted": Scripted},
    )
    assert "NodePorts" not in points(framework, "filter", "pre_filter")
    assert "TaintToleration" in points(framework, "filter")
    # What is named at the point comes first, then what multiPoint brings, in its order.
    assert points(framework, "score") == [
        "NodeResourcesFit",
        "NodeAffinity",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
        "Scripted",
    ]
    assert [framework.weight(plugin) for plugin in points(framework, "score")] == [5, 7, 1, 2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param(
            {"plugins": {"socre": {}}},
            'strict decoding error: unknown field "profiles[0].plugins.socre"',
            id="an unknown extension point",
        ),
        pytest.param(
            {"plugins": {"multiPoint": {"enabled": [{"name": "Nope"}]}}},
            'PreFilterPlugin "Nope" does not exist',
            id="an unknown plugin",
        ),
        pytest.param(
            {"plugins": {"filter": {"enabled": [{"name": "DefaultBinder"}]}}},
            'plugin "DefaultBinder" does not extend FilterPlugin plugin',
            id="a plugin at a point it does not implement",
        ),
        pytest.param(
            {"plugins": {"queueSort": {"disabled": [{"name": "*"}]}}}, "only one queue sort plugin", id="no queue sort"
        ),
        pytest.param({"plugins": {"bind": {"disabled": [{"name": "*"}]}}}, "at least one bind plugin", id="no binder"),
        pytest.param(
            {"pluginConfig": [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]},
            "repeated config for plugin NodeAffinity",
            id="arguments given twice",
        ),
        pytest.param({"percentageOfNodesToScore": 101}, "not in valid range [0-100]", id="more than all nodes"),
        pytest.param(
            {"plugins": {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": "2"}]}}},
            "cannot unmarshal string into Go struct field Plugin.profiles.plugins.score.enabled.weight of type int32",
            id="a weight that is no number",
        ),
    ],
)
def test_malformed_profiles_are_refused(raw: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r".+") as error:
        Framework.from_profile(raw)
    assert text in str(error.value)


def test_a_registered_plugin_may_not_take_the_name_of_an_in_tree_one() -> None:
    with pytest.raises(ValueError, match="a plugin named NodeName already exists"):
        Framework.from_profile(registry={"NodeName": Scripted})


# -- running plugins -----------------------------------------------------------------------------------


def scripted(**args: Any) -> Framework:
    return Framework.from_profile(profile("Scripted", args={"Scripted": args}), registry={"Scripted": Scripted})


def test_an_error_in_filter_ends_the_cycle_and_names_the_plugin() -> None:
    framework = scripted(filter={"b": Status(Code.ERROR, "disk on fire")})
    result = framework.schedule(pod(), Snapshot.of(NODES))
    assert (result.node, result.status.code) == ("", Code.ERROR)
    assert result.message == 'running "Scripted" filter plugin: disk on fire'


def test_scores_outside_0_to_100_are_an_error() -> None:
    result = scripted(score={"a": 101}).schedule(pod(), Snapshot.of(NODES))
    assert result.message == (
        'applying score defaultWeights on Score plugins: plugin "Scripted" returns an invalid score 101, '
        "it should in the range of [0, 100] after normalizing"
    )


class Failing(Scripted):
    name = "Failing"

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        raise PluginError("no thermometer")


def test_a_score_plugin_that_cannot_answer_raises_plugin_error() -> None:
    framework = Framework.from_profile(profile("Failing"), registry={"Failing": Failing})
    result = framework.schedule(pod(), Snapshot.of(NODES))
    assert result.message == 'running Score plugins: plugin "Failing" failed with: no thermometer'


class Narrow(Scripted):
    """Narrows the Nodes to those in its args, or skips."""

    def pre_filter(self, state: CycleState, pod: Object, nodes: Any) -> Any:
        from k8slab.scheduler.framework import PreFilterResult

        names = self.args.get("nodes")
        return (None, SKIP) if names is None else (PreFilterResult(frozenset(names)), SUCCESS)


class One(Narrow):
    name = "One"


class Two(Narrow):
    name = "Two"


def narrowed(one: list[str] | None, two: list[str] | None) -> Framework:
    args = {"One": {"nodes": one, "filter": {"a": Status(Code.UNSCHEDULABLE, "no")}}, "Two": {"nodes": two}}
    return Framework.from_profile(profile("One", "Two", args=args), registry={"One": One, "Two": Two})


def test_pre_filter_plugins_narrow_the_nodes_together() -> None:
    result = narrowed(["a", "b"], ["b", "c"]).schedule(pod(), Snapshot.of(NODES))
    assert (result.node, result.evaluated) == ("b", 1)


def test_nodes_that_pre_filter_left_out_are_counted_as_such() -> None:
    result = narrowed(["a"], None).schedule(pod(), Snapshot.of(NODES))
    assert result.message == "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [One]."


def test_plugins_that_leave_no_node_together_are_named() -> None:
    result = narrowed(["a"], ["b"]).schedule(pod(), Snapshot.of(NODES))
    assert result.message == ("0/3 nodes are available: node(s) didn't satisfy plugin(s) [One Two] simultaneously.")
    assert list(result.diagnosis.unschedulable_plugins) == ["One", "Two"]


def test_a_plugin_that_skips_in_pre_filter_does_not_filter() -> None:
    result = narrowed(None, None).schedule(pod(), Snapshot.of(NODES))
    assert "a" in result.feasible


class Ledger:
    """Reserve and Permit, writing down what happens; args: `reserve`, `permit` (Status), `timeout_ms`."""

    name = "Ledger"

    def __init__(self, args: Any, handle: Any) -> None:
        self.args = args
        self.notes: list[str] = []

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        self.notes.append(f"reserve {node_name}")
        status: Status = self.args.get("reserve", SUCCESS)
        return status

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        self.notes.append(f"unreserve {node_name}")

    def permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, int]:
        return self.args.get("permit", SUCCESS), self.args.get("timeout_ms", 0)


def waiting(loop: Loop, timeout_ms: int) -> Framework:
    args = {"Ledger": {"permit": Status(Code.WAIT), "timeout_ms": timeout_ms}}
    return Framework.from_profile(profile("Ledger", args=args), registry={"Ledger": Ledger}, loop=loop)


@pytest.mark.parametrize(
    ("act", "expected", "at_ms"),
    [
        pytest.param("allow", SUCCESS, 40, id="allowed, it goes on"),
        pytest.param("reject", Status(Code.UNSCHEDULABLE, "no", plugin="Ledger"), 40, id="rejected, it goes back"),
        pytest.param(
            "nothing",
            Status(Code.UNSCHEDULABLE, "rejected due to timeout after waiting 100ms at plugin Ledger", plugin="Ledger"),
            100,
            id="left alone, it times out",
        ),
    ],
)
def test_permit_makes_a_pod_wait(act: str, expected: Status, at_ms: int) -> None:
    loop = Loop(seed=1)
    framework = waiting(loop, 100)
    assert framework.run_permit(CycleState(), pod(), "a").is_wait
    found: list[tuple[Status, int]] = []

    async def wait() -> None:
        found.append((await framework.wait_on_permit(pod()), loop.clock.now_ms))

    def later() -> None:
        (held,) = framework.waiting_pods()
        assert held.pending_plugins == ["Ledger"]
        if act == "allow":
            held.allow("Ledger")
        elif act == "reject":
            held.reject("Ledger", "no")

    loop.spawn("wait", wait())
    loop.call_later(40, later)
    loop.run(for_ms=200)
    assert found == [(expected, at_ms)]
    assert framework.waiting_pods() == []


# -- messages ------------------------------------------------------------------------------------------

NO_SCHEDULE = {"key": "dedicated", "effect": "NoSchedule"}
HELPLESS = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


@pytest.mark.parametrize(
    ("nodes", "there", "incoming", "text"),
    [
        pytest.param(
            [node("a"), node("b", unschedulable=True), node("c", taints=[NO_SCHEDULE])],
            [],
            pod(nodeSelector={"disk": "ssd"}),
            "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated "
            "taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: "
            f"3 {HELPLESS}.",
            id="reasons are sorted as text, and nothing that preemption could do helps",
        ),
        pytest.param(
            [node(f"n{i}", "1") for i in range(10)] + [node(f"m{i}", pods="0") for i in range(2)],
            [],
            pod(cpu="2"),
            "0/12 nodes are available: 10 Insufficient cpu, 2 Too many pods. no new claims to deallocate, preemption: "
            f"0/12 nodes are available: 10 {HELPLESS}, 2 {NO_VICTIMS}.",
            id="as text, ten comes before two",
        ),
        pytest.param(
            [node("a", "1"), node("b", "2")],
            [pod("x", "1", node_name="a"), pod("y", "1", node_name="b")],
            pod(cpu="1500m", preemptionPolicy="Never"),
            "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to "
            "preemptionPolicy=Never.",
            id="a polite pod does not preempt",
        ),
        pytest.param(
            [node("a", "1", pods="1")],
            [pod("x", "600m", node_name="a")],
            pod(cpu="500m"),
            "0/1 nodes are available: 1 Insufficient cpu, 1 Too many pods. no new claims to deallocate, preemption: "
            f"0/1 nodes are available: 1 {NO_VICTIMS}.",
            id="one node can give two reasons",
        ),
        pytest.param([], [], pod(), "no nodes available to schedule pods", id="a cluster without nodes"),
    ],
)
def test_failed_scheduling_reads_as_upstream_writes_it(
    nodes: list[Object], there: list[Object], incoming: Object, text: str
) -> None:
    result = Framework.from_profile().schedule(incoming, Snapshot.of(nodes, there))
    assert (result.node, result.message) == ("", text)


# -- cluster events --------------------------------------------------------------------------------------


def test_a_general_update_concerns_only_who_registered_for_every_update() -> None:
    general = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)
    assert ClusterEvent(EventResource.POD, ActionType.UPDATE).matches(general)
    assert not ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN).matches(general)
    assert not ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ALL).matches(general)
    assert general.label == "TargetPodUpdate"


def test_pod_changes_say_what_changed() -> None:
    before = pod(cpu="2", schedulingGates=[{"name": "wait"}])
    after = pod(cpu="1", tolerations=[{"operator": "Exists"}])
    assert [event.label for event in pod_changes(after, before)] == [
        "TargetPodUpdatePodScaleDown",
        "TargetPodUpdatePodSchedulingGatesEliminated",
        "TargetPodUpdatePodToleration",
    ]
    assert [event.label for event in pod_changes(before, before)] == ["TargetPodUpdate"]
