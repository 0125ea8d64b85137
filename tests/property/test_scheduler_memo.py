"""Speed-ups change nothing: the memo, and the scorers that are written out for CPU and memory."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.scheduler import SUCCESS, Cache, Code, CycleState, Framework, NodeInfo, Snapshot, Status
from k8slab.scheduler.plugins.balanced_allocation import BalancedAllocation
from k8slab.scheduler.plugins.resource_allocation import (
    ResourceSpec,
    _weighted_mean,
    general_scorer,
    least_requested,
    strategy_scorer,
)
from tests.counts import examples
from tests.scheduling import Scripted, node, pod

TAINTS = [
    {"key": "k", "effect": "NoSchedule"},
    {"key": "k", "effect": "PreferNoSchedule"},
    {"key": "l", "value": "v", "effect": "PreferNoSchedule"},
]
CPUS = ["0", "100m", "1", "3"]


def preferring(zone: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term}]}}


nodes = st.lists(
    st.builds(
        lambda cpu, memory, taints, zone, cordoned: node(
            "n", cpu, memory, pods="5", taints=taints, labels={"zone": zone}, unschedulable=cordoned
        ),
        st.sampled_from(["0", "1", "4"]),
        st.sampled_from(["1Gi", "8Gi"]),
        st.lists(st.sampled_from(TAINTS), max_size=2),
        st.sampled_from("ab"),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
kinds_of_pods = st.builds(
    lambda cpu, tolerations, affinity, port: {
        "cpu": cpu,
        "tolerations": tolerations,
        "affinity": affinity,
        "host_port": port,
    },
    st.sampled_from([None, *CPUS]),
    st.sampled_from([[], [{"key": "k", "operator": "Exists"}]]),
    st.sampled_from([{}, preferring("a"), preferring("b")]),
    st.sampled_from([0, 0, 80]),
)


class Far(Scripted):
    """A plugin that is not node-local: its score depends on how many Pods there are in all."""

    name = "Far"

    def score(self, state: CycleState, pod: Any, node: NodeInfo) -> int:
        return min(100, 7 * sum(len(info.pods) for info in self.handle.snapshot().nodes) + len(node.name))


def play(
    raw: list[Any],
    pods: list[dict[str, Any]],
    percentage: int,
    far: bool,
    memo: bool,
    promised: Sequence[tuple[int, int, dict[str, Any]]] = (),
) -> list[Any]:
    """Schedule `pods` one after the other; what came out for each.

    `promised`: before which Pod, on which Node room is kept for a more important one that asks for this.
    """
    snapshot = Snapshot.of([{**n, "metadata": {**n["metadata"], "name": f"n{i}"}} for i, n in enumerate(raw)])
    profile: dict[str, Any] = {"percentageOfNodesToScore": percentage}
    if far:
        profile["plugins"] = {"multiPoint": {"enabled": [{"name": "Far"}]}}
    framework = Framework.from_profile(profile, registry={"Far": Far}, rng=random.Random(5), memo=memo)
    found = []
    for index, options in enumerate(pods):
        for number, (before, where, wanted) in enumerate(promised):
            if before == index:
                framework.nominator.add(pod(f"hi{number}", priority=10, **wanted), f"n{where % len(raw)}")
        incoming = pod(f"p{index}", **options)
        result = framework.schedule(incoming, snapshot)
        found.append((result.node, result.score, result.message, dict(result.scores), result.evaluated))
        if result.node:
            snapshot.assume(incoming, result.node)
    if framework.algorithm.memo is not None:
        framework.algorithm.memo.check_invariants(snapshot.nodes)
    snapshot.check_invariants()
    return found


@settings(max_examples=examples(120), deadline=None)
@given(
    nodes,
    st.lists(kinds_of_pods, max_size=12),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5), kinds_of_pods), max_size=3),
)
def test_placements_scores_and_messages_are_the_same_with_and_without_the_memo(
    raw: list[Any], pods: list[dict[str, Any]], far: bool, promised: list[tuple[int, int, dict[str, Any]]]
) -> None:
    assert play(raw, pods, 0, far, True, promised) == play(raw, pods, 0, far, False, promised)


HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
LOW = {"app": "low"}


def _term(app: str, key: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def _social(
    app: str, kind: str, other: str, key: str, required: bool, spread: str, selector: dict[str, str]
) -> dict[str, Any]:
    term = _term(other, key)
    terms = (
        {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        if required
        else {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": term}]}
    )
    constraint = {**_term(app, key), "maxSkew": 1, "whenUnsatisfiable": spread, "nodeTaintsPolicy": "Honor"}
    found: dict[str, Any] = {"app": app, "nodeSelector": selector}
    if kind:
        found["affinity"] = {kind: terms}
    if spread:
        found["topologySpreadConstraints"] = [constraint]
    return found


social_pods = st.builds(
    _social,
    st.sampled_from("xy"),
    st.sampled_from(["", "podAffinity", "podAntiAffinity"]),
    st.sampled_from("xy"),
    st.sampled_from([HOST, ZONE]),
    st.booleans(),
    st.sampled_from(["", "DoNotSchedule", "ScheduleAnyway"]),
    st.sampled_from([{}, {ZONE: "a"}]),
)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("come"), social_pods),
        st.tuples(st.just("leave"), st.integers(0, 9)),
        st.tuples(st.just("node"), st.integers(0, 9)),
    ),
    max_size=18,
)


def mingle(steps: list[tuple[str, Any]], memo: bool) -> list[Any]:
    """Pods with affinity and spreading come to a cache's cluster and leave it, and Nodes change; what came out."""
    cache, snapshot = Cache(), Snapshot()
    for index in range(5):
        cache.add_node(node(f"n{index}", labels={HOST: f"n{index}", ZONE: "ab"[index % 2]}))
    framework = Framework.from_profile(rng=random.Random(5), memo=memo)
    there: list[str] = []
    found: list[Any] = []
    for number, (what, how) in enumerate(steps):
        if what == "leave" and there:
            cache.remove_pod(there.pop(how % len(there)))
        elif what == "node":
            name = f"n{how % 5}"
            flipped = {HOST: name, ZONE: "ab"[(number + how) % 2]}
            cache.update_node(node(name, labels=flipped, taints=TAINTS[: number % 2]))
        elif what == "come":
            options = dict(how)
            incoming = pod(f"p{number}", labels={"app": options.pop("app")}, **options)
            incoming["metadata"]["labels"] = incoming["spec"].pop("labels")
            cache.update_snapshot(snapshot)
            result = framework.schedule(incoming, snapshot)
            found.append((result.node, result.score, result.message, dict(result.scores)))
            if result.node:
                placed = {**incoming, "spec": {**incoming["spec"], "nodeName": result.node}}
                cache.add_pod(placed)
                there.append(f"default/p{number}")
    snapshot.check_invariants()
    framework.check_invariants()
    return found


@settings(max_examples=examples(150), deadline=None)
@given(moves)
def test_sums_that_are_kept_are_those_that_are_added_up(steps: list[tuple[str, Any]]) -> None:
    assert mingle(steps, True) == mingle(steps, False)


def test_the_memo_scores_a_node_where_room_is_kept_as_it_is_now() -> None:
    """Equal Pods, one Node that grows full meanwhile: its remembered score is of before."""
    raw, small = [node("n", "4"), node("n", "4")], {"cpu": "100m"}
    pods = [small, small, small, {"cpu": "3"}, small, small]
    promised = [(4, 0, small), (4, 1, small)]
    assert play(raw, pods, 0, False, True, promised) == play(raw, pods, 0, False, False, promised)


def test_the_memo_changes_nothing_in_a_sampled_cluster_either() -> None:
    raw = [node("n", "2", taints=TAINTS[:1] if index % 7 == 0 else ()) for index in range(230)]
    pods = [{"cpu": "300m"} if index % 3 else {"cpu": "1"} for index in range(120)]
    assert play(raw, pods, 50, False, memo=True) == play(raw, pods, 50, False, memo=False)


def preempt(steps: list[tuple[str, Any]], far: bool, memo: bool) -> list[Any]:
    """On 4 Nodes full of Pods of priority 0 and 1 others make room for themselves; what came out.

    Steps: a Pod comes ("come": its cores and priority, whether it wants to be alone on its Node); one is promised a
    Node ("promise"); a Pod leaves ("leave"); a budget comes or goes ("budget").
    """
    cache, snapshot = Cache(), Snapshot()
    for index in range(16):
        if index < 4:
            cache.add_node(node(f"n{index}", "4", labels={HOST: f"n{index}"}))
        low = pod(f"low{index}", "1", node_name=f"n{index % 4}", priority=index // 4 % 2)
        low["metadata"]["labels"] = LOW
        cache.add_pod({**low, "status": {"startTime": f"2026-01-01T00:00:{index:02}Z"}})
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Crowd"}]}}} if far else {}
    framework = Framework.from_profile(profile, registry={"Crowd": Crowd}, rng=random.Random(5), memo=memo)
    budgets: list[dict[str, Any]] = []
    framework.pdbs = lambda: budgets
    found: list[Any] = []
    for number, (what, how) in enumerate(steps):
        if what == "leave":
            cache.remove_pod(f"default/low{how % 16}")
        elif what == "budget":
            budgets[:] = [] if budgets else [{"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": LOW}}}]
        elif what == "promise":
            framework.nominator.add(pod(f"hi{number}", "2", priority=5), f"n{how % 4}")
        else:
            cores, priority, alone = how
            apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term("low", HOST)]}}
            incoming = pod(f"p{number}", cores, priority=priority, affinity=apart if alone else {})
            cache.update_snapshot(snapshot)
            result = framework.schedule(incoming, snapshot)
            where, choice = result.node, result.post_filter.preemption if result.post_filter is not None else None
            if choice is not None:
                where = choice.node
                for victim in choice.victims:
                    cache.remove_pod(victim.key)
            if where:
                cache.add_pod({**incoming, "spec": {**incoming["spec"], "nodeName": where}})
            victims = [victim.key for victim in choice.victims] if choice is not None else []
            harm = choice.pdb_violations if choice is not None else 0
            found.append((result.node, where, result.message, victims, harm))
    return found


class Crowd(Scripted):
    """Its verdict depends on more than the Node: an odd number of Pods everywhere is one too many."""

    name = "Crowd"

    def filter(self, state: CycleState, pod: Any, node: NodeInfo) -> Status:
        everywhere = sum(len(info.pods) for info in self.handle.snapshot().nodes)
        return Status(Code.UNSCHEDULABLE, "crowded") if everywhere % 2 else SUCCESS


preemptions = st.lists(
    st.one_of(
        st.tuples(
            st.just("come"), st.tuples(st.sampled_from(["1", "3"]), st.sampled_from([1, 5, 5, 5, 9]), st.just(False))
        ),
        st.tuples(st.just("come"), st.tuples(st.sampled_from(["1", "2"]), st.just(5), st.booleans())),
        st.tuples(st.sampled_from(["promise", "leave", "budget"]), st.integers(0, 15)),
    ),
    max_size=14,
)


@settings(max_examples=examples(150), deadline=None)
@given(preemptions, st.booleans())
def test_preemption_is_the_same_with_and_without_the_memo(steps: list[tuple[str, Any]], far: bool) -> None:
    assert preempt(steps, far, True) == preempt(steps, far, False)


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(
            [("promise", 0), ("promise", 1), ("promise", 2), ("promise", 3)], id="room was promised meanwhile"
        ),
        pytest.param([("budget", 0)], id="a budget came"),
        pytest.param([("leave", 4), ("leave", 5), ("leave", 6), ("leave", 7)], id="Pods left"),
    ],
)
def test_what_was_found_before_does_not_count_when_something_has_changed(between: list[tuple[str, Any]]) -> None:
    """Three equal Pods fill the memo (it takes them from the second on); a fourth comes after the change."""
    equal = ("come", ("1", 5, False))
    steps = [equal, equal, equal, *between, equal, equal]
    assert preempt(steps, False, True) == preempt(steps, False, False)


class Counting(Framework):
    """Notes for which Nodes dry runs ask Filter."""

    asked: set[str]

    def run_filter_with_nominated(self, state: CycleState, pod: Any, node: NodeInfo) -> Status:
        self.asked.add(node.name)
        return super().run_filter_with_nominated(state, pod, node)


def test_for_equal_pods_only_nodes_that_changed_are_run_again() -> None:
    names = [f"n{index}" for index in range(5)]
    there = [pod(f"low-{name}", "3", node_name=name, priority=0) for name in names]
    snapshot = Snapshot.of([node(name, "4") for name in names], there)
    framework = Counting.from_profile()
    assert isinstance(framework, Counting)

    def asked(name: str, priority: int = 1) -> list[str]:
        framework.asked = set()
        assert framework.schedule(pod(name, "2", priority=priority), snapshot).post_filter is not None
        return sorted(framework.asked)

    assert (asked("first"), asked("second"), asked("third")) == (names, names, [])
    snapshot.assume(pod("small", "500m", priority=0), "n3")
    assert asked("fourth") == ["n3"]
    assert asked("more important", priority=2) == names, "that one may have other victims"
    framework.algorithm.memo = None
    assert asked("fifth") == names, "the switch"


amounts = st.integers(0, 3000)
weights = st.integers(1, 100)


@settings(max_examples=examples(300), deadline=None)
@given(amounts, amounts, amounts, amounts, amounts, amounts, weights, weights)
def test_the_written_out_scorers_equal_the_general_ones(
    cpu: int, memory: int, used_cpu: int, used_memory: int, want_cpu: int, want_memory: int, w0: int, w1: int
) -> None:
    there = [pod("there", f"{used_cpu}m", str(used_memory))]
    target = NodeInfo.of(node("n", f"{cpu}m", str(memory)), there)
    specs = (ResourceSpec("cpu", w0), ResourceSpec("memory", w1))
    requests = (want_cpu, want_memory)
    fast = strategy_scorer({"type": "LeastAllocated"}, specs)(target, requests)
    assert fast == general_scorer(specs, _weighted_mean(specs, least_requested))(target, requests)

    plugin = Framework.from_profile().plugins["NodeResourcesBalancedAllocation"]
    assert isinstance(plugin, BalancedAllocation)
    state = CycleState()
    incoming = pod("new", f"{want_cpu}m", str(want_memory))
    if plugin.pre_score(state, incoming, [target]).is_success:
        assert plugin.score(state, incoming, target) == plugin.general_score(requests, target)
