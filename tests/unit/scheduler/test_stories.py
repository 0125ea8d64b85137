"""Spread and preemption told step by step: what the stories show is what the scheduler does."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from k8slab.api.objects import Object
from k8slab.scheduler import Framework, PreemptionStory, Snapshot, SpreadStory
from k8slab.widgets import Stepper
from tests.scheduling import node, pod

ZONE = "topology.kubernetes.io/zone"


def constraint(**more: Any) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }


def web(number: int, node_name: str = "", **more: Any) -> Object:
    made = pod(f"web-{number}", node_name=node_name, topologySpreadConstraints=[constraint(**more)])
    made["metadata"]["labels"] = {"app": "web"}
    return made


def zones(text: str, **more: Any) -> list[Object]:
    """A node in each zone: `a a b` are three nodes in two zones."""
    return [node(f"node-{n}", labels={ZONE: zone}, **more) for n, zone in enumerate(text.split(), 1)]


def run(story: Any) -> list[str]:
    while story.step():
        pass
    return [event.message for event in story.trace]


# -- spread ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_every_placement_keeps_the_skew_and_every_refusal_would_have_broken_it(seed: int) -> None:
    """A naive twin counts Pods by zone: after each placement no zone has more than the emptiest before, and maxSkew."""
    rng = random.Random(seed)
    skew = rng.randint(1, 2)
    story = SpreadStory(zones("a a b b c"), [web(n, maxSkew=skew) for n in range(12)], seed=seed)
    counts = dict.fromkeys("abc", 0)
    while story.step():
        event = list(story.trace)[-1]
        assert event.kind == "spread.place"
        before, domain = min(counts.values()), str(event.data["domain"])
        counts[domain] += 1
        assert counts[domain] - before <= skew
        shown = story.view()["spread"]
        assert {name: one["count"] for name, one in shown["domains"].items()} == counts
        assert shown["least"] == min(counts.values())
        assert event.data["skew"] == counts[domain] - min(counts.values())


def test_who_finds_no_place_is_shown_with_the_reason() -> None:
    nodes = [*zones("a"), node("node-2", cpu="100m", labels={ZONE: "b"})]
    story = SpreadStory(nodes, [web(0), web(1), web(2), web(3)])
    told = run(story)
    refused = [message for message in told if message.startswith("no node")]
    # One Pod fits on node-2. With it in b and one or two in a nobody may go to a before b has more.
    assert refused
    assert "1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints" in refused[-1]
    assert "preemption" not in refused[-1]
    assert story.view()["spread"]["last"] == {"pod": "web-3"}


def test_a_pod_that_terminates_runs_and_does_not_count() -> None:
    there = [web(0, "node-1"), web(1, "node-2")]
    story = SpreadStory(zones("a b"), ["terminate web-0", web(2)], pods=there)
    told = run(story)
    assert told[0] == "Pod web-0 is being deleted: it still runs and does not count, a has 0 now"
    domain = story.view()["spread"]["domains"]["a"]
    assert domain["pods"] == {"web-0": "terminating", "web-2": "counted"}
    assert domain["count"] == 1


def test_nodes_that_do_not_count_are_no_domains_and_too_few_domains_make_the_least_0() -> None:
    nodes = [*zones("a b"), node("node-3", labels={ZONE: "c"}, taints=[{"key": "gpu", "effect": "NoSchedule"}])]
    there = [web(0, "node-1"), web(1, "node-2")]
    honored = SpreadStory(nodes, [web(2, nodeTaintsPolicy="Honor")], pods=there).view()["spread"]
    assert {name: domain["counts"] for name, domain in honored["domains"].items()} == {"a": True, "b": True, "c": False}
    assert (honored["least"], honored["few"]) == (1, False)
    ignored = SpreadStory(nodes, [web(2)], pods=there).view()["spread"]
    assert ignored["least"] == 0
    few = SpreadStory(zones("a b"), [web(2, minDomains=3)], pods=there).view()["spread"]
    assert (few["least"], few["few"]) == (0, True)


def test_a_node_that_is_in_no_domain_that_counts_is_said_to_be() -> None:
    story = SpreadStory([node("node-1")], [web(0, whenUnsatisfiable="ScheduleAnyway")])
    assert run(story) == ["Pod web-0 goes to node-1, which is in none of the domains that count"]
    assert story.view()["spread"]["hard"] is False


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        (["fly web-0"], "operation 'fly web-0': expected a Pod, 'delete NAME' or 'terminate NAME'"),
        ([{"spec": {}}], "operation {'spec': {}}: expected a Pod, 'delete NAME' or 'terminate NAME'"),
        ([pod("a")], "operations: no Pod has spec.topologySpreadConstraints, expected one that has"),
    ],
)
def test_what_is_no_operation_is_refused(operations: list[Any], text: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(text)):
        SpreadStory(zones("a"), operations)


def test_a_pod_that_is_not_there_cannot_be_deleted_and_one_that_is_cannot_come_again() -> None:
    story = SpreadStory(zones("a"), ["delete web-7", web(0)])
    with pytest.raises(ValueError, match="Pod web-7 is not there, expected one of none"):
        story.step()
    story = SpreadStory(zones("a"), [web(0)], pods=[web(0, "node-1")])
    with pytest.raises(ValueError, match="Pod web-0 is there already"):
        story.step()


# -- preemption ------------------------------------------------------------------------------------


def low(name: str, priority: int, node_name: str, cpu: str = "1", start: int | None = None) -> Object:
    made = pod(name, cpu, node_name=node_name, priority=priority)
    made["metadata"]["labels"] = {"app": name.split("-")[0]}
    if start is not None:
        made["status"] = {"startTime": f"2026-01-01T00:00:{start:02}Z"}
    return made


def pdb(app: str, allowed: int) -> Object:
    selector = {"selector": {"matchLabels": {"app": app}}}
    return {
        "metadata": {"name": app, "namespace": "default"},
        "spec": selector,
        "status": {"disruptionsAllowed": allowed},
    }


def small(count: int) -> list[Object]:
    return [node(f"node-{n}", cpu="2") for n in range(1, count + 1)]


def test_each_victim_and_each_column_is_a_step() -> None:
    there = [low("db-0", 5, "node-1"), low("web-0", 3, "node-1"), low("web-1", 7, "node-2"), low("web-2", 2, "node-2")]
    there += [low("log-1", 5, "node-3", start=20), low("log-2", 2, "node-3", start=3), low("top", 50, "node-4", "2")]
    snapshot = Snapshot.of(small(4), there)
    vip = pod("vip", "2", priority=10)
    story = PreemptionStory(Framework.from_profile(), vip, snapshot, pdbs=[pdb("db", 0)])
    told = run(story)
    assert told[0] == "Pod vip (priority 10) fits on none of 4 nodes: who would have to go for it"
    assert "node-1 is a candidate: 2 victims, 1 of them against a budget" in told
    assert "node-4 is no candidate: No preemption victims found for incoming pod" in told
    # The budget rules node-1 out; of the others the highest victim is 7 and 5.
    assert told[-3:] == [
        "by budgets broken: 2 nodes are left, 1 is out",
        "by priority of the most important victim: 1 node is left, 1 is out",
        "node-3 is chosen: log-1, log-2 must go",
    ]
    rows = story.view()["preempt"]["nodes"]
    assert {name: row["state"] for name, row in rows.items()} == {
        "node-1": "out",
        "node-2": "out",
        "node-3": "chosen",
        "node-4": "no",
    }
    assert rows["node-3"]["cells"] == {"0": "0", "1": "5"}
    assert rows["node-1"]["pods"]["default/db-0"] == {"p": 5, "s": "victim", "b": True}


@pytest.mark.parametrize("seed", range(30))
def test_the_story_ends_where_the_scheduler_does(seed: int) -> None:
    rng = random.Random(seed)
    nodes = small(rng.randint(1, 5))
    places = [one["metadata"]["name"] for one in nodes for _ in range(4)]
    there = [
        low(f"{rng.choice(['db', 'web'])}-{n}", rng.randint(0, 9), place, "500m", rng.randint(0, 59))
        for n, place in enumerate(places)
    ]
    budgets = [pdb("db", rng.randint(0, 2))]
    vip = pod("vip", "2", priority=8)
    framework = Framework.from_profile(rng=random.Random(0))
    framework.pdbs = lambda: budgets
    result = framework.schedule(vip, Snapshot.of(nodes, there))
    found = PreemptionStory(Framework.from_profile(), vip, Snapshot.of(nodes, there), pdbs=budgets)
    told = run(found)
    choice = result.post_filter.preemption if result.post_filter is not None else None
    chosen = [name for name, row in found.view()["preempt"]["nodes"].items() if row["state"] == "chosen"]
    if choice is None:
        assert told[-1] == "no node can be cleared: Pod vip stays pending"
        assert chosen == []
    else:
        assert chosen == [choice.node] or f"; {choice.node} would do as well" in told[-1]
        victims = {
            key for key, one in found.view()["preempt"]["nodes"][choice.node]["pods"].items() if one["s"] == "victim"
        }
        assert victims == {info.key for info in choice.victims}


def test_who_may_not_preempt_is_told_so_and_nobody_is_asked() -> None:
    there = [low("web-0", 0, "node-1", "2")]
    never = pod("vip", "2", priority=10, preemptionPolicy="Never")
    story = PreemptionStory(Framework.from_profile(), never, Snapshot.of(small(1), there))
    assert run(story)[1:] == ["Pod vip may not preempt: not eligible due to preemptionPolicy=Never."]


def test_nodes_that_nobody_can_clear_say_why() -> None:
    tainted = node("node-2", cpu="2", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    there = [low("web-0", 0, "node-1", "2")]
    story = PreemptionStory(
        Framework.from_profile(), pod("vip", "2", priority=10), Snapshot.of([*small(1), tainted], there)
    )
    assert any(text.startswith("node-2 is no candidate: node(s) had untolerated taint(s)") for text in run(story))


def test_a_pod_that_fits_has_no_story() -> None:
    with pytest.raises(ValueError, match="pod default/web: it fits on node-1, expected one that fits nowhere"):
        PreemptionStory(Framework.from_profile(), pod(), Snapshot.of(small(1)))
    without = Framework.from_profile({"plugins": {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}})
    with pytest.raises(ValueError, match="profile default-scheduler has no DefaultPreemption"):
        PreemptionStory(without, pod("vip", "9"), Snapshot.of(small(1)))


def test_both_are_steppers_with_their_own_picture() -> None:
    spread = Stepper(SpreadStory(zones("a b"), [web(0)]))
    assert spread.frames["views"] == ["spread"]
    story = PreemptionStory(
        Framework.from_profile(), pod("vip", "2", priority=10), Snapshot.of(small(1), [low("web-0", 0, "node-1", "2")])
    )
    assert Stepper(story).frames["views"] == ["preempt"]


@pytest.mark.parametrize(("offset", "chosen"), [(0, "node-1"), (1, "node-2"), (2, "node-3"), (5, "node-3")])
def test_nodes_after_enough_candidates_are_not_tried(offset: int, chosen: str) -> None:
    """One candidate is enough here: it is the first from where the dry runs begin."""
    few = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1}
    profile = {"pluginConfig": [{"name": "DefaultPreemption", "args": few}]}
    there = [low(f"web-{n}", n, f"node-{n}", "2") for n in (1, 2, 3)]
    vip = pod("vip", "2", priority=10)
    story = PreemptionStory(Framework.from_profile(profile), vip, Snapshot.of(small(3), there), offset=offset)
    told = run(story)
    assert told[-1] == f"{chosen} is chosen: web-{chosen[-1]} must go"
    assert sum(text.endswith("is no candidate: not tried, 1 candidate is enough") for text in told) == 2
