"""Conversion: autoscaling/v1 and v2 show one stored object. Rules from pkg/apis/autoscaling/v1/conversion.go."""

import json
from typing import Any

import pytest

from k8slab.api.conversion import ConversionError, convert, to_storage_version
from k8slab.api.scheme import GVK

V1 = GVK("autoscaling", "v1", "HorizontalPodAutoscaler")
V2 = GVK("autoscaling", "v2", "HorizontalPodAutoscaler")

AUTOSCALER: dict[str, Any] = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "h", "annotations": {"mine": "1"}},
    "spec": {
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        "minReplicas": 1,
        "maxReplicas": 5,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
            },
            {
                "type": "Pods",
                "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "5"}},
            },
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
            },
        ],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
    },
    "status": {
        "currentReplicas": 0,
        "desiredReplicas": 0,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 30}}}],
        "conditions": [{"type": "AbleToScale", "status": "True"}],
    },
}


def test_v1_has_fields_for_cpu_and_annotations_for_the_rest() -> None:
    old = convert(AUTOSCALER, V1)
    assert old["spec"]["targetCPUUtilizationPercentage"] == 80
    assert old["status"] == {"currentReplicas": 0, "desiredReplicas": 0, "currentCPUUtilizationPercentage": 30}
    annotations = old["metadata"]["annotations"]
    assert json.loads(annotations["autoscaling.alpha.kubernetes.io/metrics"]) == [
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
        {"type": "Pods", "pods": {"metricName": "q", "targetAverageValue": "5"}},
    ]
    assert "metrics" not in old["spec"] and "behavior" not in old["spec"]


def test_there_and_back_loses_nothing() -> None:
    assert convert(convert(AUTOSCALER, V1), V2) == AUTOSCALER


def test_a_recorded_answer_in_v1() -> None:
    spec = {**AUTOSCALER["spec"], "metrics": AUTOSCALER["spec"]["metrics"][2:]}
    del spec["behavior"]
    plain = {
        **AUTOSCALER,
        "metadata": {"name": "h"},
        "spec": spec,
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    }
    assert convert(plain, V1) == {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "h"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
            "minReplicas": 1,
            "maxReplicas": 5,
            "targetCPUUtilizationPercentage": 80,
        },
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    }


def test_what_is_stored_is_the_storage_version() -> None:
    old = convert(AUTOSCALER, V1)
    assert to_storage_version(old)["apiVersion"] == "autoscaling/v2"
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert to_storage_version(config_map) == config_map


def test_events_have_two_groups_and_one_storage() -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p"},
        "message": "m",
        "count": 2,
    }
    new = convert(event, GVK("events.k8s.io", "v1", "Event"))
    assert (new["regarding"]["name"], new["note"], new["deprecatedCount"]) == ("p", "m", 2)
    assert to_storage_version(new) == event


def test_no_way_is_an_error() -> None:
    with pytest.raises(ConversionError, match="no conversion to Pod in v1"):
        convert(AUTOSCALER, GVK("", "v1", "Pod"))
