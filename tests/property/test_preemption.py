"""Preemption against a naive twin: victims by plain arithmetic on CPU, the Node by one sort over all criteria."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from k8slab.api.objects import Object
from k8slab.scheduler import Framework, Snapshot
from tests.counts import examples
from tests.scheduling import node, pod, profile

CPU = 4  # of every Node

victims = st.tuples(
    st.integers(1, 3),  # CPUs
    st.integers(-2, 4),  # priority
    st.integers(0, 59),  # the minute it started in
    st.sampled_from(["", "db"]),
)
layouts = st.lists(st.lists(victims, max_size=4), min_size=1, max_size=4)


def running(raw: tuple[int, int, int, str], name: str, where: str) -> Object:
    cpu, priority, minute, app = raw
    made = pod(name, str(cpu), node_name=where, priority=priority)
    made["metadata"]["labels"] = {"app": app} if app else {}
    made["status"] = {"startTime": f"2026-01-01T00:{minute:02}:00Z"}
    return made


def twin_of_a_node(pods: list[tuple[int, int, int, str]], wanted: int, mine: int, allowed: int) -> Any:
    """(victims, violations) as indices into `pods`, or None: not by evicting anybody.

    Among equals the protected come first, as they were tried first: upstream's sort leaves so few in their order.
    """

    def importance(i: int) -> tuple[int, int]:
        return -pods[i][1], pods[i][2]

    weaker = sorted((i for i, raw in enumerate(pods) if raw[1] < mine), key=importance)
    free = CPU - sum(raw[0] for raw in pods) + sum(pods[i][0] for i in weaker) - wanted
    if not weaker or free < 0:
        return None
    covered = [i for i in weaker if pods[i][3] == "db"]
    breaking = covered[allowed:]
    gone = []
    for i in [*breaking, *(i for i in weaker if i not in breaking)]:
        if pods[i][0] <= free:
            free -= pods[i][0]
        else:
            gone.append(i)
    return sorted(gone, key=importance), sum(i in breaking for i in gone)


def harm(pods: list[tuple[int, int, int, str]], gone: list[int], violations: int) -> tuple[int, ...]:
    top = max(pods[i][1] for i in gone)
    oldest = min(pods[i][2] for i in gone if pods[i][1] == top)
    return violations, top, sum(pods[i][1] + 2**31 for i in gone), len(gone), -oldest


@settings(max_examples=examples(150), deadline=None)
@example([[(1, 0, 0, ""), (1, 0, 0, "db")]], 4, 1, 0)  # equals, one of them protected
@given(layouts, st.integers(1, CPU), st.integers(-1, 5), st.integers(0, 2))
def test_victims_and_node_are_those_of_the_twin(
    layout: list[list[tuple[int, int, int, str]]], wanted: int, mine: int, allowed: int
) -> None:
    layout = [pods for pods in layout if CPU - sum(raw[0] for raw in pods) in range(wanted)]
    if not layout:
        return
    nodes = [node(f"n{i}", str(CPU)) for i in range(len(layout))]
    pods = [running(raw, f"p{i}-{j}", f"n{i}") for i, on in enumerate(layout) for j, raw in enumerate(on)]
    framework = Framework.from_profile(profile("NodeResourcesFit", "DefaultPreemption"))
    framework.pdbs = lambda: [
        {
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": allowed},
        }
    ]
    incoming = pod("incoming", str(wanted), priority=mine)
    snapshot = Snapshot.of(nodes, pods)
    found = framework.schedule(incoming, snapshot).post_filter
    snapshot.check_invariants()
    expected = {
        f"n{i}": (gone, harm(on, gone, violations))
        for i, on in enumerate(layout)
        if (answer := twin_of_a_node(on, wanted, mine, allowed)) is not None
        for gone, violations in [answer]
    }
    assert found is not None
    if not expected:
        assert (found.nominated_node_name, found.preemption) == ("", None)
        return
    least = min(value for _, value in expected.values())
    choice = found.preemption
    assert choice.node == found.nominated_node_name
    gone, value = expected[choice.node]
    assert value == least
    names = [info.pod["metadata"]["name"] for info in choice.victims]
    assert names == [f"p{choice.node[1:]}-{i}" for i in gone]
    assert choice.pdb_violations == value[0]
