"""Topic sched_defaultprofile: the whole default profile over a small cluster, every Node looked at."""

from __future__ import annotations

from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.scheme import NAMESPACES, SERVICES
from k8slab.scheduler.cycle import ScheduleResult
from k8slab.scheduler.diagnosis import FitError
from k8slab.scheduler.framework import Status
from k8slab.scheduler.listers import ObjectLister
from k8slab.scheduler.runtime import Framework
from k8slab.scheduler.snapshot import Snapshot

Json = dict[str, Any]


def _verdict(status: Status) -> Json:
    return {"code": status.code.value, **({"reasons": list(status.reasons)} if status.reasons else {})}


def run(case: Json) -> Json:
    lister = ObjectLister({NAMESPACES: case.get("namespaces") or (), SERVICES: case.get("services") or ()})
    framework = Framework.from_profile(
        {"percentageOfNodesToScore": 100}, features=FeatureGates(release="1.36"), lister=lister, memo=False
    )
    snapshot = Snapshot.of(case["nodes"], case.get("pods") or ())
    result = framework.schedule(case["pod"], snapshot)
    statuses = result.diagnosis.node_to_status
    reasons = {name: _verdict(status) for name, status in statuses.explicit().items()}
    out: Json = {"feasible": sorted(result.feasible), "nodeReasons": reasons}
    if not result.feasible:
        return {**out, **_failure(result, len(snapshot))}
    # One feasible Node is taken without scores; the recording computed them all the same.
    framework.run_pre_score(result.state, case["pod"], result.feasible_nodes)
    found, _ = framework.run_score(result.state, case["pod"], result.feasible_nodes)
    scores = {
        name: {score.plugin: score.weighted[index] for score in found} for index, name in enumerate(result.feasible)
    }
    totals = {name: sum(of_plugin.values()) for name, of_plugin in scores.items()}
    best = sorted(name for name, total in totals.items() if total == max(totals.values()))
    return {**out, "scores": scores, "totals": totals, "best": best}


def _failure(result: ScheduleResult, nodes: int) -> Json:
    diagnosis = result.diagnosis
    diagnosis.post_filter_message = ""
    out: Json = {
        "fitError": str(FitError(nodes, diagnosis)),
        "unschedulablePlugins": sorted(diagnosis.unschedulable_plugins),
    }
    if len(diagnosis.node_to_status) < nodes:
        out["absentNodes"] = _verdict(diagnosis.node_to_status.absent)
    return out
