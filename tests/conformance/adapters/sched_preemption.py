"""Live topic sched-preemption: small clusters, Pods one at a time, evictions carried out between them.

Decisions only: each Pod is scheduled by a Framework over a Snapshot; victims leave it at once (their grace is 0), and
the nominated Pod is scheduled again. Where the recorded scheduler drew lots, the Pod goes where it went there.
The recording has no `related` in its events, although upstream's executor gives the recorder the preemptor.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.scheduler import SUCCESS, Framework, ScheduleResult, Snapshot
from k8slab.scheduler.preemption import Candidate

Json = dict[str, Any]

PRIORITIES = {"low": -10, "mid": 100, "high": 1000, "polite": 1000}


def records(doc: Json) -> Iterator[tuple[str, Any]]:
    for cluster in doc["clusters"]:
        replay = _Replay(cluster)
        for step in (*cluster["filler"], *cluster["preemptors"]):
            yield f"{cluster['seed']}/{step['pod']['metadata']['name']}", replay.place(step)
        yield f"{cluster['seed']}/events", replay.events


class _RecordedLots(random.Random):
    """Between Nodes where an eviction does equal harm, the recorded one; upstream takes what Go's map gives first."""

    node: str | None = None

    def choice(self, candidates: Any) -> Any:
        recorded = [found for found in candidates if isinstance(found, Candidate) and found.node == self.node]
        return recorded[0] if recorded else super().choice(candidates)


class _Replay:
    """One cluster: its Pods so far, and what was said about them."""

    def __init__(self, cluster: Json) -> None:
        self._nodes = cluster["nodes"]
        self._pods: dict[str, Json] = {}
        self._framework = Framework.from_profile(features=FeatureGates(release="1.36"))
        self._framework.rng = self._lots = _RecordedLots(0)
        self._fillers = {step["pod"]["metadata"]["name"] for step in cluster["filler"]}
        self._pdbs: list[Json] = [cluster["pdb"]] if cluster.get("pdb") else []
        self.events: list[Json] = []

    def place(self, step: Json) -> Json:
        """What became of one Pod, in the shape of its record."""
        pod = admitted(step["pod"])
        self._lots.node = step.get("nominatedNodeName")
        if pod["metadata"]["name"] not in self._fillers:  # the budget was made after these
            self._framework.pdbs = lambda: self._pdbs
        result = self._schedule(pod)
        if result.status is SUCCESS:
            # Where lots were drawn the Pod goes where it went then, so that the rest follows.
            node = step["node"] if step.get("node") in best(result) else result.node
            self._bind(pod, node, step)
            return {"node": node, **scores(result)}
        out: Json = {"unschedulable": result.message, "reason": "Unschedulable", "nominatedNodeName": None}
        self._say("FailedScheduling", "Warning", pod, result.message, "Scheduling")
        found = result.post_filter
        victims = [info.pod for info in found.preemption.victims] if found is not None and found.preemption else []
        out["victims"] = sorted(victim["metadata"]["name"] for victim in victims)
        if found is not None and found.nominated_node_name:
            out["nominatedNodeName"] = found.nominated_node_name
        for victim in victims:
            del self._pods[victim["metadata"]["name"]]
            note = f"Preempted by pod <uid> on node {out['nominatedNodeName']}"
            self._say("Preempted", "Normal", victim, note, "Preempting")
        if victims and not step.get("then_deleted"):
            again = self._schedule({**pod, "status": {"nominatedNodeName": out["nominatedNodeName"]}})
            out["finally_node"] = again.node
            self._bind(pod, again.node, step)
        if step.get("final_status"):
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": result.message,
            }
            out["final_status"] = {"conditions": [condition]}
        return out

    def _schedule(self, pod: Json) -> ScheduleResult:
        return self._framework.schedule(pod, Snapshot.of(self._nodes, self._pods.values()))

    def _bind(self, pod: Json, node: str, step: Json) -> None:
        status = {"startTime": step["startTime"]} if "startTime" in step else {}
        self._pods[pod["metadata"]["name"]] = {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status}

    def _say(self, reason: str, type: str, pod: Json, message: str, action: str) -> None:
        self.events.append(
            {
                "reason": reason,
                "type": type,
                "on": pod["metadata"]["name"],
                "message": message,
                "action": action,
                "related": None,
                "reporter": "default-scheduler",
            }
        )


def admitted(pod: Json) -> Json:
    """The Pod as admission makes it: with the priority and the policy of its class."""
    name = pod["spec"].get("priorityClassName")
    policy = {"preemptionPolicy": "Never"} if name == "polite" else {}
    metadata = {"namespace": "default", **pod["metadata"]}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "priority": PRIORITIES.get(name, 0), **policy}}


def best(result: ScheduleResult) -> list[str]:
    totals = result.totals
    return [node for node, total in totals.items() if total == max(totals.values())]


def scores(result: ScheduleResult) -> Json:
    """Totals and weighted scores by plugin; nobody scores a single feasible Node."""
    if not result.weighted:
        return {}
    by_plugin = {score.plugin: dict(zip(result.feasible, score.weighted, strict=True)) for score in result.weighted}
    return {"total": dict(result.totals), "plugins": by_plugin}
