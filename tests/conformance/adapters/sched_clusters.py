"""Live topic sched-clusters: small clusters, Pods one at a time under the default profile, each with its scores.

Decisions only, as in sched_preemption: a Framework over a Snapshot. Where the recorded scheduler drew lots among equal
Nodes, the Pod goes where it went there, so that the rest follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.scheduler import SUCCESS, Framework, Snapshot
from tests.conformance.adapters.sched_preemption import admitted, best, scores

Json = dict[str, Any]


def records(doc: Json) -> Iterator[tuple[str, Any]]:
    for cluster in doc["clusters"]:
        framework = Framework.from_profile(features=FeatureGates(release="1.36"))
        pods: dict[str, Json] = {}
        leaving: dict[str, list[str]] = {}
        for step in cluster["pods"]:
            if "deleted_before" in step:
                leaving.setdefault(step["deleted_before"], []).append(step["pod"]["metadata"]["name"])
        for step in cluster["pods"]:
            pod = admitted(step["pod"])
            name = pod["metadata"]["name"]
            for gone in leaving.get(name, ()):
                del pods[gone]
            result = framework.schedule(pod, Snapshot.of(cluster["nodes"], pods.values()))
            if result.status is SUCCESS:
                node = step["node"] if step.get("node") in best(result) else result.node
                pods[name] = {**pod, "spec": {**pod["spec"], "nodeName": node}}
                actual = {"node": node, **scores(result)}
            else:
                actual = {"unschedulable": result.message, "reason": "Unschedulable"}
            if step.get("then_deleted"):
                pods.pop(name, None)
            yield f"{cluster['seed']}/{name}", actual
