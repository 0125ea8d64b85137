"""Deployments, ReplicaSets, StatefulSets and DaemonSets.

Upstream: pkg/apis/apps/validation/validation.go, pkg/registry/apps/*/strategy.go
Simplified: a StatefulSet's maxUnavailable is not looked at (the gate that makes it count is off).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.labels import Selector, selector_from_dict
from k8slab.api.validation.field import (
    IMMUTABLE,
    GoStruct,
    forbidden,
    in_go_order,
    invalid,
    not_negative,
    not_supported,
    required,
)
from k8slab.api.validation.metadata import dns_label, dns_subdomain, validate_metadata, validate_metadata_update
from k8slab.api.validation.numbers import (
    int_or_percent_value,
    validate_not_more_than_100_percent,
    validate_positive_int_or_percent,
)
from k8slab.api.validation.pod import validate_pod_template
from k8slab.api.validation.selectors import validate_label_selector

__all__ = [
    "parse_selector",
    "shown_selector",
    "validate_daemon_set_create",
    "validate_daemon_set_update",
    "validate_deployment_create",
    "validate_deployment_update",
    "validate_replica_set_create",
    "validate_replica_set_update",
    "validate_stateful_set_create",
    "validate_stateful_set_update",
    "validate_workload_status_update",
]

Object = Mapping[str, Any]
_UPDATABLE = (
    *("replicas", "ordinals", "template", "updateStrategy", "minReadySeconds", "revisionHistoryLimit"),
    "persistentVolumeClaimRetentionPolicy",
)
_STATEFUL_SET_UPDATABLE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def shown_selector(selector: Object | None) -> Any:
    return None if selector is None else in_go_order(selector, "meta.LabelSelector")


def _validate_selector(path: str, selector: Object | None, empty: str) -> list[Cause]:
    if selector is None:
        return [required(path)]
    errors = validate_label_selector(path, selector)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid(path, shown_selector(selector), empty))
    return errors


def parse_selector(selector: Object | None) -> Selector | None:
    try:
        return selector_from_dict(selector)
    except ValueError:
        return None


def _validate_labels_match(path: str, template: Object, selector: Selector) -> list[Cause]:
    labels = template.get("metadata", {}).get("labels")
    if selector.empty or selector.matches(labels or {}):
        return []
    shown = dict(sorted(labels.items())) if labels else None
    return [invalid(f"{path}.metadata.labels", shown, "`selector` does not match template `labels`")]


def _validate_always_running(path: str, template: Object, kind: str) -> list[Cause]:
    spec = template.get("spec", {})
    errors: list[Cause] = []
    if spec.get("restartPolicy") != "Always":
        errors.append(not_supported(f"{path}.spec.restartPolicy", spec.get("restartPolicy", ""), ("Always",)))
    if "activeDeadlineSeconds" in spec:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{path}.spec.activeDeadlineSeconds", detail))
    return errors


def _validate_template_for_replica_set(path: str, template: Object, selector: Selector) -> list[Cause]:
    errors = _validate_labels_match(path, template, selector)
    errors += validate_pod_template(path, template)
    return errors + _validate_always_running(path, template, "ReplicaSet")


def _validate_selector_and_template(spec: Object, empty: str) -> list[Cause]:
    selector = spec.get("selector")
    errors = _validate_selector("spec.selector", selector, empty)
    parsed = parse_selector(selector)
    if parsed is None:
        errors.append(invalid("spec.selector", shown_selector(selector), "invalid label selector"))
        return errors
    return errors + _validate_template_for_replica_set("spec.template", spec["template"], parsed)


def validate_deployment_create(deployment: Object) -> list[Cause]:
    errors = validate_metadata(deployment["metadata"], True, dns_subdomain)
    return errors + _validate_deployment_spec(deployment["spec"])


def _validate_deployment_spec(spec: Object) -> list[Cause]:
    errors = not_negative("spec.replicas", spec.get("replicas"))
    errors += _validate_selector_and_template(spec, "empty selector is invalid for deployment")
    errors += _validate_strategy("spec.strategy", spec["strategy"])
    errors += not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors += not_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= spec.get("minReadySeconds", 0):
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _validate_strategy(path: str, strategy: Object) -> list[Cause]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is None:
            return []
        return [forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
    if kind != "RollingUpdate":
        return [not_supported(path, GoStruct(strategy), ("Recreate", "RollingUpdate"))]
    if rolling is None:
        return [required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")]
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    where = f"{path}.rollingUpdate.maxUnavailable"
    errors = validate_positive_int_or_percent(where, unavailable)
    errors += validate_positive_int_or_percent(f"{path}.rollingUpdate.maxSurge", surge)
    if int_or_percent_value(unavailable) == 0 and int_or_percent_value(surge) == 0:
        errors.append(invalid(where, unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + validate_not_more_than_100_percent(where, unavailable)


def _validate_immutable_selector(new: Object, old: Object) -> list[Cause]:
    selector = new["spec"].get("selector")
    if selector == old["spec"].get("selector"):
        return []
    return [invalid("spec.selector", shown_selector(selector), IMMUTABLE)]


def validate_deployment_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    return errors + _validate_deployment_spec(new["spec"]) + _validate_immutable_selector(new, old)


def _validate_replica_set_spec(spec: Object) -> list[Cause]:
    errors = not_negative("spec.replicas", spec.get("replicas"))
    errors += not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    return errors + _validate_selector_and_template(spec, "empty selector is invalid for deployment")


def validate_replica_set_create(replica_set: Object) -> list[Cause]:
    errors = validate_metadata(replica_set["metadata"], True, dns_subdomain)
    return errors + _validate_replica_set_spec(replica_set["spec"])


def validate_replica_set_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    return errors + _validate_replica_set_spec(new["spec"]) + _validate_immutable_selector(new, old)


def validate_daemon_set_create(daemon_set: Object) -> list[Cause]:
    errors = validate_metadata(daemon_set["metadata"], True, dns_subdomain)
    return errors + _validate_daemon_set_spec(daemon_set["spec"])


def _validate_daemon_set_spec(spec: Object) -> list[Cause]:
    selector, template = spec.get("selector"), spec["template"]
    errors = validate_label_selector("spec.selector", selector)
    parsed = parse_selector(selector)
    if parsed is not None and not parsed.matches(template.get("metadata", {}).get("labels", {})):
        labels = template.get("metadata", {}).get("labels")
        shown = dict(sorted(labels.items())) if labels else None
        errors.append(invalid("spec.template.metadata.labels", shown, "`selector` does not match template `labels`"))
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        detail = "empty selector is invalid for daemonset"
        errors.append(invalid("spec.selector", shown_selector(selector), detail))
    errors += validate_pod_template("spec.template", template)
    errors += _validate_always_running("spec.template", template, "DaemonSet")
    errors += not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += _validate_daemon_set_strategy("spec.updateStrategy", spec["updateStrategy"])
    return errors + not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _validate_daemon_set_strategy(path: str, strategy: Object) -> list[Cause]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [not_supported(path, GoStruct(strategy), ("RollingUpdate", "OnDelete"))]
    if rolling is None:
        return [required(f"{path}.rollingUpdate")]
    where = f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors: list[Cause] = []
    for key, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        errors += validate_positive_int_or_percent(f"{where}.{key}", value)
        errors += validate_not_more_than_100_percent(f"{where}.{key}", value)
    has_unavailable, has_surge = int_or_percent_value(unavailable) != 0, int_or_percent_value(surge) != 0
    if has_unavailable and has_surge:
        errors.append(invalid(f"{where}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not has_unavailable and not has_surge:
        errors.append(required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def validate_daemon_set_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    return errors + _validate_daemon_set_spec(new["spec"]) + _validate_immutable_selector(new, old)


def validate_stateful_set_create(stateful_set: Object) -> list[Cause]:
    errors = validate_metadata(stateful_set["metadata"], True, dns_label)
    return errors + _validate_stateful_set_spec(stateful_set["spec"])


def _validate_stateful_set_spec(spec: Object) -> list[Cause]:
    errors: list[Cause] = []
    policy = spec.get("podManagementPolicy", "")
    if not policy:
        errors.append(required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        errors.append(invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    errors += _validate_stateful_set_strategy("spec.updateStrategy", spec["updateStrategy"])
    retention = spec.get("persistentVolumeClaimRetentionPolicy", {})
    for key in ("whenDeleted", "whenScaled"):
        if retention.get(key, "Retain") not in ("Retain", "Delete"):
            where = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
            errors.append(not_supported(where, retention[key], ("Retain", "Delete")))
    errors += not_negative("spec.replicas", spec.get("replicas"))
    errors += not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += not_negative("spec.ordinals.start", spec.get("ordinals", {}).get("start"))
    selector = spec.get("selector")
    errors += _validate_selector("spec.selector", selector, "empty selector is invalid for statefulset")
    parsed = parse_selector(selector)
    if parsed is None:
        errors.append(invalid("spec.selector", shown_selector(selector), ""))
    else:
        errors += _validate_labels_match("spec.template", spec["template"], parsed)
        errors += _validate_stateful_set_template(spec)
    return errors + _validate_always_running("spec.template", spec["template"], "StatefulSet")


def _validate_stateful_set_template(spec: Object) -> list[Cause]:
    """The template with a volume for each claim template, since its containers may mount those."""
    template = spec["template"]
    names = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates", ())]
    volumes = [v for v in template["spec"].get("volumes", []) if v.get("name") not in names]
    claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    return validate_pod_template(
        "spec.template", {**template, "spec": {**template["spec"], "volumes": [*volumes, *claims]}}
    )


def _validate_stateful_set_strategy(path: str, strategy: Object) -> list[Cause]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if not kind:
        return [required(path)]
    if kind == "OnDelete":
        if rolling is None:
            return []
        detail = "only allowed for updateStrategy 'RollingUpdate'"
        return [invalid(f"{path}.rollingUpdate", GoStruct(rolling), detail)]
    if kind != "RollingUpdate":
        return [invalid(path, GoStruct(strategy), "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    return not_negative(f"{path}.rollingUpdate.partition", rolling.get("partition"))


def validate_stateful_set_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    errors += _validate_stateful_set_spec(new["spec"])
    fixed = [{k: v for k, v in spec.items() if k not in _UPDATABLE} for spec in (new["spec"], old["spec"])]
    if fixed[0] != fixed[1]:
        errors.append(forbidden("spec", _STATEFUL_SET_UPDATABLE))
    return errors


_STATUS_COUNTS = (
    *("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"),
    *("fullyLabeledReplicas", "currentReplicas", "currentNumberScheduled", "numberMisscheduled"),
    *("desiredNumberScheduled", "numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable"),
    *("numberUnavailable", "terminatingReplicas", "collisionCount"),
)


def validate_workload_status_update(new: Object, old: Object) -> list[Cause]:
    """A write to `/status` of any of these kinds: counts are not negative and not above the number of replicas."""
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    status = new.get("status", {})
    for key in _STATUS_COUNTS:
        errors += not_negative(f"status.{key}", status.get(key))
    replicas = status.get("replicas", 0)
    if "replicas" in new["spec"]:
        for key in ("updatedReplicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"):
            if status.get(key, 0) > replicas:
                detail = "cannot be greater than status.replicas"
                errors.append(invalid(f"status.{key}", status[key], detail))
        if status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
            detail = "cannot be greater than readyReplicas"
            errors.append(invalid("status.availableReplicas", status["availableReplicas"], detail))
    if status.get("collisionCount", 0) < old.get("status", {}).get("collisionCount", 0):
        errors.append(invalid("status.collisionCount", status.get("collisionCount", 0), "cannot be decremented"))
    return errors
