"""Golden topic nodelifecycle: zone states, eviction rates, taint constants."""

from __future__ import annotations

from typing import Any

from k8slab.controllers.node_lifecycle import ZoneSettings, compute_zone_state, reduced_qps
from k8slab.controllers.node_lifecycle.controller import RETRY_SLEEP_MS
from k8slab.controllers.node_taints import CONDITION_TO_TAINT, NOT_READY, UNREACHABLE


def run(case: dict[str, Any]) -> dict[str, Any]:
    if case["op"] == "zone":
        not_ready = case["notReady"] + case["unknown"]
        return {"state": compute_zone_state(case["ready"], not_ready).value, "unhealthy": not_ready}
    if case["op"] == "qps":
        return {"healthy": ZoneSettings().eviction_rate, "reduced": reduced_qps(case["clusterSize"])}
    return {
        "nodeConditionToTaintKey": CONDITION_TO_TAINT,
        "notReadyTaint": NOT_READY,
        "unreachableTaint": UNREACHABLE,
        "retrySleepTimeMs": RETRY_SLEEP_MS,
    }
