"""What `explain-pending` says of Pods that were pending in real clusters of 1.36.2 is what their scheduler said.

Each recorded failure becomes a dump of the cluster at that moment: its Nodes, the bound Pods, the pending one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from k8slab.cluster import ClusterSnapshot, Finding, Pending, PodState
from tests.conformance.adapters.sched_preemption import _Replay, admitted

Json = dict[str, Any]
DATA = Path(__file__).parent / "data" / "live" / "sched-clusters.json"


def dumps(doc: Json) -> Iterator[tuple[str, list[Json], str]]:
    """(name of the case, objects of the dump, the recorded message)"""
    for cluster in doc["clusters"]:
        nodes = [{"apiVersion": "v1", "kind": "Node", **node} for node in cluster["nodes"]]
        pods: dict[str, Json] = {}
        gone = {
            step["deleted_before"]: step["pod"]["metadata"]["name"]
            for step in cluster["pods"]
            if "deleted_before" in step
        }
        for step in cluster["pods"]:
            pod = {"apiVersion": "v1", "kind": "Pod", **admitted(step["pod"])}
            name = pod["metadata"]["name"]
            pods.pop(gone.get(name, ""), None)
            if "unschedulable" in step:
                yield f"{cluster['seed']}/{name}", [*nodes, *pods.values(), pod], step["unschedulable"]
            elif not step.get("then_deleted"):
                pods[name] = {**pod, "spec": {**pod["spec"], "nodeName": step["node"]}}


@cache
def findings() -> dict[str, tuple[Finding, str]]:
    found = {}
    for name, objects, message in dumps(json.loads(DATA.read_text())):
        key = f"default/{name.partition('/')[2]}"
        found[name] = (Pending(ClusterSnapshot.of(objects)).explain(key), message)
    return found


def test_there_are_failures_of_many_kinds() -> None:
    assert len(findings()) >= 70
    plugins = {label.partition(":")[0] for finding, _ in findings().values() for label in finding.counts()}
    assert len(plugins) >= 6, plugins


def test_every_message_is_the_recorded_one() -> None:
    assert {name: finding.message for name, (finding, _) in findings().items()} == {
        name: message for name, (_, message) in findings().items()
    }


def test_every_node_is_counted_once() -> None:
    for name, (finding, _) in findings().items():
        assert finding.explanation is not None
        assert sum(finding.counts().values()) == len(finding.explanation.nodes), name
        assert "fits" not in finding.counts(), name


def test_the_smallest_change_of_every_failure_makes_it_fit() -> None:
    """Of the real clusters' Pods all but a few fit after one change; the rest after two."""
    sizes = [len(finding.remedies[0].changes) for finding, _ in findings().values() if finding.remedies]
    assert len(sizes) == len(findings())
    assert sizes.count(1) > 0.8 * len(sizes) and max(sizes) <= 2


@pytest.mark.parametrize("state", [PodState.UNSCHEDULABLE])
def test_all_of_them_fit_nowhere(state: PodState) -> None:
    assert {finding.state for finding, _ in findings().values()} == {state}


# -- preemption ------------------------------------------------------------------------------------


class Watching(_Replay):
    """A replay that asks for an explanation of every Pod that was refused, on a dump of the cluster just before it."""

    def __init__(self, cluster: Json) -> None:
        super().__init__(cluster)
        self.compared: list[tuple[Finding, Json]] = []

    def place(self, step: Json) -> Json:
        if "unschedulable" in step:
            pod = admitted(step["pod"])
            budgets = self._pdbs if pod["metadata"]["name"] not in self._fillers else []
            kinds = (("Node", self._nodes), ("Pod", [*self._pods.values(), pod]))
            objects = [{"apiVersion": "v1", "kind": kind, **obj} for kind, found in kinds for obj in found]
            objects += [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **obj} for obj in budgets]
            finding = Pending(ClusterSnapshot.of(objects)).explain(f"default/{pod['metadata']['name']}")
            self.compared.append((finding, step))
        return super().place(step)


def test_messages_and_victims_of_preemption_are_the_recorded_ones() -> None:
    """Where several Nodes do equal harm lots are drawn: victims are compared when ours fell on the recorded Node."""
    compared: list[tuple[Finding, Json]] = []
    for cluster in json.loads(DATA.with_name("sched-preemption.json").read_text())["clusters"]:
        replay = Watching(cluster)
        for step in (*cluster["filler"], *cluster["preemptors"]):
            replay.place(step)
        compared += replay.compared
    assert [finding.message for finding, _ in compared] == [step["unschedulable"] for _, step in compared]
    evictions = [(f.eviction, step) for f, step in compared if "victims" in step]
    same_node = [
        (eviction, step) for eviction, step in evictions if eviction and eviction.node == step["nominatedNodeName"]
    ]
    assert len(evictions) >= 20 and len(same_node) > len(evictions) / 2
    for eviction, step in same_node:
        assert sorted(key.partition("/")[2] for key in eviction.victims) == sorted(step["victims"])
    assert [f for f, step in compared if not step.get("nominatedNodeName") and f.eviction] == []
