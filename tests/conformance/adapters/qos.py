"""Golden topic `qos`: QoS classes and OOM scores."""

from __future__ import annotations

from typing import Any

from k8slab.api.qos import compute_qos_class, oom_score_adj


def run(case_input: dict[str, Any]) -> Any:
    pod = case_input["pod"]
    spec = pod.get("spec") or {}
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return {
        "qosClass": compute_qos_class(pod),
        "oomScoreAdj": {c["name"]: oom_score_adj(pod, c, case_input["memoryCapacity"]) for c in containers},
    }
