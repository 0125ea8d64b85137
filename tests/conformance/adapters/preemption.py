"""Topic preemption: dry runs, the choice and the message, with the default profile and no API server."""

from __future__ import annotations

from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.scheduler import SUCCESS, CycleState, FitError, Framework, Snapshot
from k8slab.scheduler.diagnosis import Diagnosis
from k8slab.scheduler.plugins.default_preemption import DefaultPreemption
from k8slab.scheduler.preemption import best_candidates, dry_run_preemption

Json = dict[str, Any]


def run(case: Json) -> Json:
    pod = case["pod"]
    framework = Framework.from_profile(features=FeatureGates(release="1.36"))
    framework.pdbs = lambda: case.get("pdbs") or ()
    snapshot = Snapshot.of(case["nodes"], case.get("pods") or ())
    framework.use_snapshot(snapshot)
    state, diagnosis = CycleState(), Diagnosis()
    _, status, _ = framework.run_pre_filter(state, pod, snapshot.nodes)
    assert status is SUCCESS, status
    for node in snapshot.nodes:
        verdict = framework.run_filter_with_nominated(state, pod, node)
        if verdict is SUCCESS:
            return {"fits": True}
        diagnosis.node_to_status.set(node.name, verdict)
    return {
        "fits": False,
        "fitError": str(FitError(len(snapshot.nodes), diagnosis)),
        **_preempt(framework, state, pod, diagnosis),
    }


def _preempt(framework: Framework, state: CycleState, pod: Json, diagnosis: Diagnosis) -> Json:
    statuses, snapshot = diagnosis.node_to_status, framework.snapshot()
    plugin = framework.plugins["DefaultPreemption"]
    assert isinstance(plugin, DefaultPreemption)
    why_not = plugin._not_eligible(pod, statuses)
    out: Json = {"eligible": not why_not, **({"eligibleMessage": why_not} if why_not else {})}
    potential = [node for node in snapshot.nodes if statuses.get(node.name).code == "Unschedulable"]
    out["potentialNodes"] = sorted(node.name for node in potential)
    candidates, verdicts, errors = dry_run_preemption(framework, state, pod, potential, framework.pdbs())
    assert not errors, errors
    out["candidates"] = {
        found.node: {
            "victims": [info.pod["metadata"]["name"] for info in found.victims],
            "numPDBViolations": found.pdb_violations,
        }
        for found in candidates
    }
    out["nonCandidates"] = {
        name: {"code": status.code.value, "reasons": list(status.reasons)}
        for name, status in verdicts.explicit().items()
    }
    out["chosenOneOf"] = sorted(found.node for found in best_candidates(candidates))
    result, status = framework.run_post_filter(state, pod, statuses)
    out["postFilter"] = {"code": status.code.value, "reasons": list(status.reasons) or None}
    if result is not None:
        out["postFilter"] |= {"nominatedNodeName": result.nominated_node_name, "nominatingMode": 1}
    if status is not SUCCESS:
        diagnosis.post_filter_message = status.message
        out["failedSchedulingMessage"] = str(FitError(len(snapshot.nodes), diagnosis))
    return out
