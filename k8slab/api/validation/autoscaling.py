"""HorizontalPodAutoscalers in their stored version, autoscaling/v2; older versions are converted first.

Upstream: pkg/apis/autoscaling/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.conversion import to_storage_version
from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_label, is_path_segment_name
from k8slab.api.quantity import Quantity
from k8slab.api.validation.field import each, forbidden, invalid, not_negative, not_supported, required
from k8slab.api.validation.metadata import dns_subdomain, validate_metadata, validate_metadata_update
from k8slab.api.validation.resources import validate_container_resource_name

__all__ = ["validate_autoscaler_create", "validate_autoscaler_status_update", "validate_autoscaler_update"]

Object = Mapping[str, Any]
MAX_PERIOD_SECONDS = 1800
MAX_STABILIZATION_WINDOW_SECONDS = 3600
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
_FIELD_OF = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def validate_autoscaler_create(autoscaler: Object) -> list[Cause]:
    errors = validate_metadata(autoscaler["metadata"], True, dns_subdomain)
    return errors + _validate_spec(_stored(autoscaler)["spec"], {})


def validate_autoscaler_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    return errors + _validate_spec(_stored(new)["spec"], old["spec"])


def validate_autoscaler_status_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    for key in ("currentReplicas", "desiredReplicas"):
        errors += not_negative(f"status.{key}", new.get("status", {}).get(key))
    return errors


def _stored(autoscaler: Object) -> Object:
    return autoscaler if autoscaler["apiVersion"] == "autoscaling/v2" else to_storage_version(dict(autoscaler))


def _validate_spec(spec: Object, before: Object) -> list[Cause]:
    """`before`: the old spec; what was wrong there may stay."""
    errors: list[Cause] = []
    lowest = 0 if before.get("minReplicas") == 0 else 1
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < lowest:
        errors.append(invalid("spec.minReplicas", least, f"must be greater than or equal to {lowest}"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target = spec.get("scaleTargetRef") or {}
    needs_group = target.get("kind") != "ReplicationController"
    if before and "/" not in before.get("scaleTargetRef", {}).get("apiVersion", ""):
        needs_group = False
    errors += _validate_reference("spec.scaleTargetRef", target, needs_group=needs_group)
    metrics = spec.get("metrics") or ()
    for index, metric in enumerate(metrics):
        errors += _validate_metric(f"spec.metrics[{index}]", metric)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", detail))
    for key in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(key)
        if rules is not None:
            errors += _validate_rules(f"spec.behavior.{key}", rules)
    return errors


def _validate_reference(path: str, reference: Object, *, needs_group: bool = False) -> list[Cause]:
    errors: list[Cause] = []
    for key in ("kind", "name"):
        if value := reference.get(key, ""):
            errors += each(f"{path}.{key}", value, is_path_segment_name(value))
        else:
            errors.append(required(f"{path}.{key}"))
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    elif needs_group and not version.partition("/")[1]:
        errors.append(invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))
    return errors


def _validate_rules(path: str, rules: Object) -> list[Cause]:
    errors: list[Cause] = []
    window, policy, tolerance = (rules.get(k) for k in ("stabilizationWindowSeconds", "selectPolicy", "tolerance"))
    where = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.append(invalid(where, window, "must be greater than or equal to zero"))
    if window is not None and window > MAX_STABILIZATION_WINDOW_SECONDS:
        errors.append(invalid(where, window, f"must be less than or equal to {MAX_STABILIZATION_WINDOW_SECONDS}"))
    if policy is not None and policy not in ("Disabled", "Max", "Min"):
        errors.append(not_supported(f"{path}.selectPolicy", policy, ("Disabled", "Max", "Min")))
    policies = rules.get("policies") or ()
    if not policies:
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, one in enumerate(policies):
        errors += _validate_policy(f"{path}.policies[{index}]", one)
    if tolerance is not None and Quantity.parse(tolerance).sign < 0:
        errors.append(invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0"))
    return errors


def _validate_policy(path: str, policy: Object) -> list[Cause]:
    errors: list[Cause] = []
    if policy.get("type", "") not in ("Pods", "Percent"):
        errors.append(not_supported(f"{path}.type", policy.get("type", ""), ("Percent", "Pods")))
    for key in ("value", "periodSeconds"):
        if policy.get(key, 0) <= 0:
            errors.append(invalid(f"{path}.{key}", policy.get(key, 0), "must be greater than zero"))
    period = policy.get("periodSeconds", 0)
    if period > MAX_PERIOD_SECONDS:
        detail = f"must be less than or equal to {MAX_PERIOD_SECONDS}"
        errors.append(invalid(f"{path}.periodSeconds", period, detail))
    return errors


def _validate_metric(path: str, metric: Object) -> list[Cause]:
    errors: list[Cause] = []
    kind = metric.get("type", "")
    expected = _FIELD_OF.get(kind)
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric source type"))
    if expected is None:
        errors.append(not_supported(f"{path}.type", kind, sorted(_FIELD_OF)))
    present = [key for key in _FIELD_OF.values() if metric.get(key) is not None]
    if present:
        errors += _SOURCES[present[0]](f"{path}.{present[0]}", metric[present[0]])
    if expected is None:
        errors.append(not_supported(f"{path}.type", kind, sorted(_FIELD_OF)))
    elif expected not in present:
        detail = "must populate information for the given metric source"
        errors.append(required(f"{path}.{expected}", detail))
    if len(present) != 1:
        others = [key for key in present if key != expected]
        errors += [forbidden(f"{path}.{key}", "must populate the given metric source only") for key in others]
    return errors


def _validate_object(path: str, source: Object) -> list[Cause]:
    errors = _validate_reference(f"{path}.describedObject", source.get("describedObject") or {})
    errors += _validate_identifier(f"{path}.metric", source) + _validate_target(f"{path}.target", source)
    if not _has(source, "value") and not _has(source, "averageValue"):
        errors.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return errors


def _validate_external(path: str, source: Object) -> list[Cause]:
    errors = _validate_identifier(f"{path}.metric", source) + _validate_target(f"{path}.target", source)
    if not _has(source, "value") and not _has(source, "averageValue"):
        detail = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.target.averageValue", detail))
    if _has(source, "value") and _has(source, "averageValue"):
        detail = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.target.value", detail))
    return errors


def _validate_pods(path: str, source: Object) -> list[Cause]:
    errors = _validate_identifier(f"{path}.metric", source) + _validate_target(f"{path}.target", source)
    if not _has(source, "averageValue"):
        errors.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return errors


def _validate_resource(path: str, source: Object) -> list[Cause]:
    name = source.get("name", "")
    errors = [] if name else [required(f"{path}.name", "must specify a resource name")]
    return errors + _validate_target(f"{path}.target", source) + _validate_utilization(path, source)


def _validate_container_resource(path: str, source: Object) -> list[Cause]:
    name, container = source.get("name", ""), source.get("container", "")
    if name:
        errors = validate_container_resource_name(f"{path}.name", name)
    else:
        errors = [required(f"{path}.name", "must specify a resource name")]
    if container:
        errors += each(f"{path}.container", container, is_dns1123_label(container))
    else:
        errors.append(required(f"{path}.container", "must specify a container"))
    return errors + _validate_target(f"{path}.target", source) + _validate_utilization(path, source)


def _validate_utilization(path: str, source: Object) -> list[Cause]:
    utilization, value = _has(source, "averageUtilization"), _has(source, "averageValue")
    if not utilization and not value:
        detail = "must set either a target raw value or a target utilization"
        return [required(f"{path}.target.averageUtilization", detail)]
    if utilization and value:
        detail = "may not set both a target raw value and a target utilization"
        return [forbidden(f"{path}.target.averageValue", detail)]
    return []


def _has(source: Object, key: str) -> bool:
    return (source.get("target") or {}).get(key) is not None


def _validate_target(path: str, source: Object) -> list[Cause]:
    target: Object = source.get("target") or {}
    kind = target.get("type", "")
    errors: list[Cause] = []
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric target type"))
    if kind not in _TARGET_TYPES:
        errors.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for key in ("value", "averageValue"):
        amount = target.get(key)
        if amount is not None and Quantity.parse(amount).sign <= 0:
            errors.append(invalid(f"{path}.{key}", amount, "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return errors


def _validate_identifier(path: str, source: Object) -> list[Cause]:
    name = (source.get("metric") or {}).get("name", "")
    if not name:
        return [required(f"{path}.name", "must specify a metric name")]
    return each(f"{path}.name", name, is_path_segment_name(name))


_SOURCES: dict[str, Callable[[str, Object], list[Cause]]] = {
    "object": _validate_object,
    "external": _validate_external,
    "pods": _validate_pods,
    "resource": _validate_resource,
    "containerResource": _validate_container_resource,
}
