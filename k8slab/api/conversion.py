"""Versions of a kind: one is stored, the others are views of it.

>>> hpa = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
...        "spec": {"maxReplicas": 5, "targetCPUUtilizationPercentage": 70,
...                 "scaleTargetRef": {"kind": "Deployment", "name": "web"}}, "status": {}}
>>> v2 = convert(hpa, GVK("autoscaling", "v2", "HorizontalPodAutoscaler"))
>>> v2["spec"]["metrics"]
[{'type': 'Resource', 'resource': {'name': 'cpu', 'target': {'type': 'Utilization', 'averageUtilization': 70}}}]
>>> convert(v2, GVK("autoscaling", "v1", "HorizontalPodAutoscaler")) == hpa
True

What an old version has no field for travels in annotations, so that nothing is lost on the way there and back.

Upstream: pkg/apis/autoscaling/v1/conversion.go, pkg/apis/core/v1/conversion.go, apimachinery/pkg/runtime/converter.go
Simplified: versions convert directly, not through an internal one; autoscaling and Events are the only built-in groups
that still serve two versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.objects import thaw
from k8slab.api.scheme import GVK, SCHEME, gvk_of

__all__ = ["ConversionError", "convert", "to_storage_version"]

_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT_METRICS = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
Object = Mapping[str, Any]


class ConversionError(ValueError):
    """There is no way from one version to the other."""


def convert(obj: Object, to: GVK) -> dict[str, Any]:
    """A new object: `obj` as version `to` shows it. ConversionError when no conversion is known."""
    gvk = gvk_of(obj)
    if gvk == to:
        return thaw(obj)  # type: ignore[no-any-return]
    conversion = _CONVERSIONS.get((gvk, to))
    if conversion is None:
        raise ConversionError(f"{gvk.kind} in {gvk.api_version}: no conversion to {to.kind} in {to.api_version}")
    result = conversion(thaw(obj))
    return {"kind": to.kind, "apiVersion": to.api_version, **_without_type(result)}


def to_storage_version(obj: Object) -> dict[str, Any]:
    """A new object in the version that is stored (`SCHEME.storage_gvk`)."""
    return convert(obj, SCHEME.storage_gvk(gvk_of(obj)))


def _without_type(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def _take_annotation(metadata: dict[str, Any], name: str) -> Any:
    """The value behind an annotation, which is removed; None when it is absent or unreadable."""
    text = metadata.get("annotations", {}).pop(name, None)
    if not metadata.get("annotations", True):
        del metadata["annotations"]
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def _put_annotation(metadata: dict[str, Any], name: str, value: Any) -> None:
    if value:
        metadata.setdefault("annotations", {})[name] = json.dumps(value, separators=(",", ":"))


def _is_cpu_utilization(metric: Object) -> bool:
    resource = metric.get("resource", {})
    return resource.get("name") == "cpu" and "averageUtilization" in resource.get("target", {})


def _autoscaler_v1_to_v2(hpa: dict[str, Any]) -> dict[str, Any]:
    metadata, spec, status = hpa["metadata"], hpa["spec"], hpa.get("status", {})
    others = _take_annotation(metadata, _METRICS) or []
    current = _take_annotation(metadata, _CURRENT_METRICS) or []
    conditions = _take_annotation(metadata, _CONDITIONS)
    behavior = _take_annotation(metadata, _BEHAVIOR)
    metrics = [_metric_to_v2(metric) for metric in others]
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    if behavior is not None:
        spec["behavior"] = behavior
    percentage = status.pop("currentCPUUtilizationPercentage", None)
    shown = [_current_to_v2(metric) for metric in current]
    if percentage is not None and not any(m.get("resource", {}).get("name") == "cpu" for m in shown):
        shown.append({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percentage}}})
    if shown:
        status["currentMetrics"] = shown
    if conditions is not None:
        status["conditions"] = conditions
    return hpa


def _autoscaler_v2_to_v1(hpa: dict[str, Any]) -> dict[str, Any]:
    metadata, spec, status = hpa["metadata"], hpa["spec"], hpa.get("status", {})
    metrics = spec.pop("metrics", [])
    cpu = next((metric for metric in metrics if _is_cpu_utilization(metric)), None)
    if cpu is not None:
        spec["targetCPUUtilizationPercentage"] = cpu["resource"]["target"]["averageUtilization"]
    _put_annotation(metadata, _METRICS, [_metric_to_v1(metric) for metric in metrics if metric is not cpu])
    _put_annotation(metadata, _BEHAVIOR, spec.pop("behavior", None))
    current = status.pop("currentMetrics", None) or []
    for metric in current:
        resource = metric.get("resource", {})
        if resource.get("name") == "cpu" and "averageUtilization" in resource.get("current", {}):
            status["currentCPUUtilizationPercentage"] = resource["current"]["averageUtilization"]
    _put_annotation(metadata, _CURRENT_METRICS, [_current_to_v1(metric) for metric in current])
    _put_annotation(metadata, _CONDITIONS, status.pop("conditions", None))
    return hpa


_SOURCES = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
_TARGET_FIELDS = {
    "averageUtilization": "targetAverageUtilization",
    "averageValue": "targetAverageValue",
    "value": "targetValue",
}
_CURRENT_FIELDS = {
    "averageUtilization": "currentAverageUtilization",
    "averageValue": "currentAverageValue",
    "value": "currentValue",
}


def _names_to_v1(source: dict[str, Any], kind: str) -> dict[str, Any]:
    """v1 writes the metric's name beside its target: `metricName`, `selector`, and `target` for the object."""
    flat = {key: value for key, value in source.items() if key in ("name", "container")}
    metric = source.get("metric", {})
    if "name" in metric:
        flat["metricName"] = metric["name"]
    if "selector" in metric:
        flat["metricSelector" if kind == "External" else "selector"] = metric["selector"]
    if "describedObject" in source:
        flat["target"] = source["describedObject"]
    return flat


def _metric_to_v1(metric: dict[str, Any]) -> dict[str, Any]:
    kind = metric["type"]
    source = metric.get(_SOURCES[kind], {})
    flat = _names_to_v1(source, kind)
    for new, old in _TARGET_FIELDS.items():
        if new in source.get("target", {}):
            flat[old if kind != "Object" or new != "averageValue" else "averageValue"] = source["target"][new]
    return {"type": kind, _SOURCES[kind]: flat}


def _current_to_v1(metric: dict[str, Any]) -> dict[str, Any]:
    kind = metric["type"]
    source = metric.get(_SOURCES[kind], {})
    flat = _names_to_v1(source, kind)
    for new, old in _CURRENT_FIELDS.items():
        if new in source.get("current", {}):
            flat[old if kind != "Object" or new != "averageValue" else "averageValue"] = source["current"][new]
    return {"type": kind, _SOURCES[kind]: flat}


def _names_to_v2(flat: dict[str, Any], kind: str) -> dict[str, Any]:
    source = {key: value for key, value in flat.items() if key in ("name", "container")}
    metric: dict[str, Any] = {}
    if "metricName" in flat:
        metric["name"] = flat["metricName"]
    selector = flat.get("metricSelector" if kind == "External" else "selector")
    if selector is not None:
        metric["selector"] = selector
    if kind in ("Pods", "Object", "External"):
        source["metric"] = metric
    if kind == "Object":
        source["describedObject"] = flat.get("target", {})
    return source


def _metric_to_v2(metric: dict[str, Any]) -> dict[str, Any]:
    kind = metric["type"]
    flat = metric.get(_SOURCES[kind], {})
    source = _names_to_v2(flat, kind)
    target: dict[str, Any] = {"type": "AverageValue"}
    for new, old in _TARGET_FIELDS.items():
        value = flat.get(old, flat.get(new) if kind == "Object" and new == "averageValue" else None)
        if value is not None:
            target[new] = value
    if "averageUtilization" in target:
        target["type"] = "Utilization"
    elif "averageValue" not in target:
        target["type"] = "Value"
    source["target"] = target
    return {"type": kind, _SOURCES[kind]: source}


def _current_to_v2(metric: dict[str, Any]) -> dict[str, Any]:
    kind = metric["type"]
    flat = metric.get(_SOURCES[kind], {})
    source = _names_to_v2(flat, kind)
    source["current"] = {new: flat[old] for new, old in _CURRENT_FIELDS.items() if old in flat}
    if kind == "Object" and "averageValue" in flat:
        source["current"]["averageValue"] = flat["averageValue"]
    return {"type": kind, _SOURCES[kind]: source}


_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def _event_to_new(event: dict[str, Any]) -> dict[str, Any]:
    return {_EVENT_FIELDS.get(key, key): value for key, value in event.items()}


def _event_to_core(event: dict[str, Any]) -> dict[str, Any]:
    old = {new: core for core, new in _EVENT_FIELDS.items()}
    return {old.get(key, key): value for key, value in event.items()}


_HPA_V1 = GVK("autoscaling", "v1", "HorizontalPodAutoscaler")
_HPA_V2 = GVK("autoscaling", "v2", "HorizontalPodAutoscaler")
_EVENT = GVK("", "v1", "Event")
_NEW_EVENT = GVK("events.k8s.io", "v1", "Event")
_CONVERSIONS: dict[tuple[GVK, GVK], Callable[[dict[str, Any]], dict[str, Any]]] = {
    (_HPA_V1, _HPA_V2): _autoscaler_v1_to_v2,
    (_HPA_V2, _HPA_V1): _autoscaler_v2_to_v1,
    (_EVENT, _NEW_EVENT): _event_to_new,
    (_NEW_EVENT, _EVENT): _event_to_core,
}
