"""Golden topic tainteviction: how long a Pod stays on a tainted node."""

from __future__ import annotations

from typing import Any

from k8slab.api.tolerations import min_toleration_seconds
from k8slab.controllers.taint_eviction import decide


def run(case: dict[str, Any]) -> dict[str, Any]:
    taints, tolerations = case.get("taints") or [], case.get("tolerations") or []
    decision = decide(taints, tolerations)
    stay = decision.stay_seconds
    return {
        "allTolerated": decision.all_tolerated,
        "usedTolerations": decision.used,
        "minTolerationSeconds": min_toleration_seconds(decision.used),
        "decision": "evictNow" if stay == 0 else "never" if stay < 0 else f"after {stay}",
        "minOfAll": min_toleration_seconds(tolerations),
    }
