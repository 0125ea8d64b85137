"""Defaults of HorizontalPodAutoscalers, in both versions.

Upstream: pkg/apis/autoscaling/v2/defaults.go, pkg/apis/autoscaling/v1/defaults.go
"""

from __future__ import annotations

from typing import Any

__all__ = ["set_v1_defaults", "set_v2_defaults"]

DEFAULT_CPU_UTILIZATION = 80


def set_v1_defaults(hpa: dict[str, Any]) -> None:
    hpa["spec"].setdefault("minReplicas", 1)


def set_v2_defaults(hpa: dict[str, Any]) -> None:
    spec = hpa["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": DEFAULT_CPU_UTILIZATION}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = {**_scale_up_rules(), **behavior.get("scaleUp", {})}
        behavior["scaleDown"] = {**_scale_down_rules(), **behavior.get("scaleDown", {})}


def _scale_up_rules() -> dict[str, Any]:
    return {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    }


def _scale_down_rules() -> dict[str, Any]:
    return {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
