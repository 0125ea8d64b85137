"""Golden topic hpa_normalize: windows, rates and bounds of one decision, with what was remembered before."""

from __future__ import annotations

from typing import Any

from k8slab.api.defaults import apply_defaults
from k8slab.autoscaling.hpa import Bounds, Condition, History, Recommendation, ScaleEvent

NOW_MS = 1_000_000_000
WINDOW_MS = 300_000


def run(case: dict[str, Any]) -> dict[str, Any]:
    spec = {key: case[key] for key in ("minReplicas", "maxReplicas", "behavior") if key in case}
    target = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    hpa = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    spec = apply_defaults({**hpa, "spec": {**target, **spec}})["spec"]
    history = History(
        WINDOW_MS,
        [Recommendation(value, _at(ago)) for value, ago in case.get("recommendations", ())],
        [ScaleEvent(change, _at(ago)) for change, ago in case.get("scaleUpEvents", ())],
        [ScaleEvent(change, _at(ago)) for change, ago in case.get("scaleDownEvents", ())],
    )
    found = history.normalize(Bounds.of(spec), case["currentReplicas"], case["desired"], now_ms=NOW_MS)
    answer = {
        "replicas": found.replicas,
        "AbleToScale": _shown(found.able_to_scale),
        "ScalingLimited": _shown(found.scaling_limited),
        "recommendationsAfter": [one.replicas for one in history.recommendations],
    }
    if "behavior" in spec:
        answer["defaultedBehavior"] = spec["behavior"]
    return answer


def _at(seconds_ago: float) -> int:
    return NOW_MS - round(1000 * seconds_ago)


def _shown(condition: Condition) -> dict[str, str]:
    return {"status": condition.status, "reason": condition.reason, "message": condition.message}
