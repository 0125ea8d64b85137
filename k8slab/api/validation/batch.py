"""Jobs and CronJobs.

A Job is validated after its selector and labels were generated from its uid.

Upstream: pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go
Simplified: `/status` is checked for negative counts only; a suspended Job's template stays immutable but for what
scheduling uses (upstream: resources too, behind a gate).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.labels import go_quote
from k8slab.api.names import is_dns1123_label, is_qualified_name
from k8slab.api.validation.cron import check_schedule, is_time_zone
from k8slab.api.validation.field import (
    IMMUTABLE,
    GoStruct,
    duplicate,
    each,
    in_go_order,
    invalid,
    not_negative,
    not_supported,
    omitted,
    required,
    too_long,
    too_many,
)
from k8slab.api.validation.metadata import (
    dns_subdomain,
    validate_domain_prefixed_path,
    validate_metadata,
    validate_metadata_update,
)
from k8slab.api.validation.pod import validate_pod_template
from k8slab.api.validation.selectors import validate_label_selector
from k8slab.api.validation.workloads import parse_selector, shown_selector

__all__ = [
    "validate_cron_job_create",
    "validate_cron_job_update",
    "validate_job_create",
    "validate_job_status_update",
    "validate_job_update",
]

Object = Mapping[str, Any]
MAX_PARALLELISM_OF_INDEXED = 100_000
MAX_FAILED_INDEXES = 100_000
COMPLETIONS_SOFT_LIMIT = 100_000
LIMIT_FOR_HIGH_COMPLETIONS = 10_000
MAX_RULES = 20
MAX_EXIT_CODES = 255
MAX_CRON_JOB_NAME = 52
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES = ("False", "True", "Unknown")
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def validate_job_create(job: Object) -> list[Cause]:
    metadata, spec = job["metadata"], job["spec"]
    errors = validate_metadata(metadata, True, dns_subdomain)
    errors += _validate_generated_selector(metadata, spec) + _validate_job_spec(spec)
    completions = spec.get("completions") or 0
    if _is_indexed(spec) and completions > 0:
        name = f"{metadata['name']}-{completions - 1}"
        if is_dns1123_label(name):
            detail = f"will not able to create pod with invalid DNS label: {name}"
            errors.append(invalid("metadata.name", metadata["name"], detail))
    return errors


def _is_indexed(spec: Object) -> bool:
    return bool(spec.get("completionMode") == "Indexed")


def _validate_generated_selector(metadata: Object, spec: Object) -> list[Cause]:
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    uid, name = metadata.get("uid", ""), metadata["name"]
    errors = [] if uid else [required("metadata.uid")]
    generated = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    labels = spec["template"].get("metadata", {}).get("labels") or {}
    for key, value in generated.items():
        path = "spec.template.metadata.labels"
        if key not in labels:
            errors.append(required(path, f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(invalid(path, dict(sorted(labels.items())), f"must be '{value}'"))
    parsed = parse_selector(selector)
    if parsed is not None and not parsed.matches(generated):
        errors.append(invalid("spec.selector", shown_selector(selector), "`selector` not auto-generated"))
    return errors


def _validate_job_spec(spec: Object) -> list[Cause]:
    errors = _validate_template_spec("spec", spec)
    selector = spec.get("selector")
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        errors += validate_label_selector("spec.selector", selector)
    parsed = parse_selector(selector)
    labels = spec["template"].get("metadata", {}).get("labels")
    if parsed is not None and (selector is None or not parsed.matches(labels or {})):
        shown = dict(sorted(labels.items())) if labels else None
        detail = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", shown, detail))
    return errors


_COUNTS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)


def _validate_template_spec(path: str, spec: Object) -> list[Cause]:
    """What Jobs and the templates of CronJobs have in common."""
    errors: list[Cause] = []
    for key in _COUNTS:
        errors += not_negative(f"{path}.{key}", spec.get(key))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if (manager := spec.get("managedBy")) is not None:
        errors += validate_domain_prefixed_path(f"{path}.managedBy", manager)
        if len(manager.encode()) > 63:
            errors.append(too_long(f"{path}.managedBy", 63))
    errors += _validate_completion_mode(path, spec)
    if (policy := spec.get("podFailurePolicy")) is not None:
        errors += _validate_failure_policy(f"{path}.podFailurePolicy.rules", policy.get("rules") or (), spec)
    if (policy := spec.get("successPolicy")) is not None:
        errors += _validate_success_policy(f"{path}.successPolicy", policy.get("rules") or [], spec)
    errors += _validate_replacement_policy(f"{path}.podReplacementPolicy", spec)
    errors += validate_pod_template(f"{path}.template", spec["template"])
    return errors + _validate_restart_policy(f"{path}.template.spec.restartPolicy", spec)


def _validate_completion_mode(path: str, spec: Object) -> list[Cause]:
    mode = spec.get("completionMode")
    errors: list[Cause] = []
    if mode not in (None, "NonIndexed", "Indexed"):
        errors.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        errors += _validate_indexed(path, spec)
    elif mode in (None, "NonIndexed"):
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(key) is not None:
                errors.append(invalid(f"{path}.{key}", spec[key], "requires indexed completion mode"))
    return errors


def _validate_indexed(path: str, spec: Object) -> list[Cause]:
    completions, parallelism, failed = (spec.get(k) for k in ("completions", "parallelism", "maxFailedIndexes"))
    errors: list[Cause] = []
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > MAX_PARALLELISM_OF_INDEXED:
        detail = f"must be less than or equal to {MAX_PARALLELISM_OF_INDEXED} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", parallelism, detail))
    where = f"{path}.maxFailedIndexes"
    if completions is not None and failed is not None and failed > completions:
        errors.append(invalid(where, failed, "must be less than or equal to completions"))
    if failed is not None and failed > MAX_FAILED_INDEXES:
        errors.append(invalid(where, failed, f"must be less than or equal to {MAX_FAILED_INDEXES}"))
    if (completions or 0) > COMPLETIONS_SOFT_LIMIT and spec.get("backoffLimitPerIndex") is not None:
        detail = (
            f"must be less than or equal to {LIMIT_FOR_HIGH_COMPLETIONS} when completions are above "
            f"{COMPLETIONS_SOFT_LIMIT} and used with backoff limit per index"
        )
        if failed is None:
            errors.append(required(where, f"must be specified when completions is above {COMPLETIONS_SOFT_LIMIT}"))
        if parallelism is not None and parallelism > LIMIT_FOR_HIGH_COMPLETIONS:
            errors.append(invalid(f"{path}.parallelism", parallelism, detail))
        if failed is not None and failed > LIMIT_FOR_HIGH_COMPLETIONS:
            errors.append(invalid(where, failed, detail))
    return errors


def _validate_restart_policy(path: str, spec: Object) -> list[Cause]:
    policy = spec["template"].get("spec", {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(path, policy, ("OnFailure", "Never"))]
    if policy != "Never" and spec.get("podFailurePolicy") is not None:
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _validate_replacement_policy(path: str, spec: Object) -> list[Cause]:
    policy = spec.get("podReplacementPolicy")
    supported = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return [] if policy is None or policy in supported else [not_supported(path, policy, supported)]


def _quoted(values: Sequence[str]) -> str:
    return "[" + " ".join(map(go_quote, values)) + "]"


def _validate_failure_policy(path: str, rules: Sequence[Object], spec: Object) -> list[Cause]:
    errors = [too_many(path, len(rules), MAX_RULES)] if len(rules) > MAX_RULES else []
    pod = spec["template"].get("spec", {})
    names = [c.get("name") for key in ("containers", "initContainers") for c in pod.get(key) or ()]
    for index, rule in enumerate(rules):
        where, action = f"{path}[{index}]", rule.get("action", "")
        if not action:
            errors.append(required(f"{where}.action", f"valid values: {_quoted(_ACTIONS)}"))
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            errors.append(invalid(f"{where}.action", action, "requires the backoffLimitPerIndex to be set"))
        elif action not in _ACTIONS:
            errors.append(not_supported(f"{where}.action", action, _ACTIONS))
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            errors += _validate_exit_codes(f"{where}.onExitCodes", codes, names)
        errors += _validate_conditions(f"{where}.onPodConditions", conditions)
        if codes is not None and conditions:
            errors.append(omitted(where, "specifying both OnExitCodes and OnPodConditions is not supported"))
        if codes is None and not conditions:
            errors.append(omitted(where, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _validate_conditions(path: str, patterns: Sequence[Object]) -> list[Cause]:
    errors = [too_many(path, len(patterns), MAX_RULES)] if len(patterns) > MAX_RULES else []
    for index, pattern in enumerate(patterns):
        kind, status = pattern.get("type", ""), pattern.get("status", "")
        errors += each(f"{path}[{index}].type", kind, is_qualified_name(kind))
        if not status:
            errors.append(required(f"{path}[{index}].status", f"valid values: {_quoted(_STATUSES)}"))
        elif status not in _STATUSES:
            errors.append(not_supported(f"{path}[{index}].status", status, _STATUSES))
    return errors


def _validate_exit_codes(path: str, codes: Object, names: Sequence[str | None]) -> list[Cause]:
    operator, container, values = codes.get("operator", ""), codes.get("containerName"), codes.get("values") or []
    errors: list[Cause] = []
    if not operator:
        errors.append(required(f"{path}.operator", f"valid values: {_quoted(('In', 'NotIn'))}"))
    elif operator not in ("In", "NotIn"):
        errors.append(not_supported(f"{path}.operator", operator, ("In", "NotIn")))
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", container, detail))
    where = f"{path}.values"
    if not values:
        errors.append(invalid(where, codes.get("values"), "at least one value is required"))
    elif len(values) > MAX_EXIT_CODES:
        errors.append(too_many(where, len(values), MAX_EXIT_CODES))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{where}[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            errors.append(duplicate(f"{where}[{index}]", value))
    if values != sorted(values):
        errors.append(invalid(where, values, "must be ordered"))
    return errors


def _validate_success_policy(path: str, rules: Sequence[Object], spec: Object) -> list[Cause]:
    if not _is_indexed(spec):
        keys = ("succeededIndexes", "succeededCount")
        shown = GoStruct({"rules": [{key: rule.get(key) for key in keys} for rule in rules]})
        return [invalid(path, shown, "requires indexed completion mode")]
    if spec.get("completions") is None:
        return []
    errors: list[Cause] = []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", detail))
    if len(rules) > MAX_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), MAX_RULES))
    for index, rule in enumerate(rules):
        errors += _validate_success_rule(f"{path}.rules[{index}]", rule, spec["completions"])
    return errors


def _validate_success_rule(path: str, rule: Object, completions: int) -> list[Cause]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        return [required(path, "at least one of succeededCount or succeededIndexes must be specified")]
    errors: list[Cause] = []
    total = 0
    if indexes is not None:
        where = f"{path}.succeededIndexes"
        if len(indexes) > 64 * 1024:
            errors.append(too_long(where, 64 * 1024))
        try:
            total = _count_indexes(indexes, completions)
        except ValueError as e:
            errors.append(invalid(where, indexes, f"error parsing succeededIndexes: {e}"))
    if count is not None:
        where = f"{path}.succeededCount"
        errors += not_negative(where, count)
        at_most = "must be less than or equal to"
        if count > completions:
            detail = f"{at_most} {completions} (the number of specified completions)"
            errors.append(invalid(where, count, detail))
        if indexes is not None and count > total:
            detail = f"{at_most} {total} (the number of indexes in the specified succeededIndexes field)"
            errors.append(invalid(where, count, detail))
    return errors


def _count_indexes(text: str, completions: int) -> int:
    """How many indexes `1,3-5` names."""
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        limits = interval.split("-")
        if len(limits) > 2:
            raise ValueError(
                f"the fragment {go_quote(interval)} violates the requirement that an index interval can have at most "
                "two parts separated by '-'"
            )
        numbers = [_index(limit, completions) for limit in limits]
        low, high = numbers[0], numbers[-1]
        if len(numbers) == 2 and low >= high:
            raise ValueError(f"non-increasing order, previous: {low}, current: {high}")
        if total and last >= low:
            raise ValueError(f"non-increasing order, previous: {last}, current: {low}")
        total, last = total + high - low + 1, high
    return total


def _index(text: str, completions: int) -> int:
    if not re.fullmatch(r"\+?[0-9]+", text):
        raise ValueError(f"cannot convert string to integer for index: {go_quote(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {go_quote(text)}")
    return int(text)


def validate_job_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    spec, before = new["spec"], old["spec"]
    errors += _validate_job_spec(spec) + _validate_completions_update(spec, before)
    errors += _validate_unchanged("selector", spec, before, "meta.LabelSelector")
    errors += _validate_template_update(new, old)
    for key in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += _validate_unchanged(key, spec, before)
    return errors


def _validate_unchanged(key: str, spec: Object, before: Object, struct: str = "") -> list[Cause]:
    value = spec.get(key)
    if value == before.get(key):
        return []
    return [invalid(f"spec.{key}", in_go_order(value, struct) if struct else value, IMMUTABLE)]


def _validate_completions_update(spec: Object, before: Object) -> list[Cause]:
    completions = spec.get("completions")
    if not _is_indexed(spec):
        return _validate_unchanged("completions", spec, before)
    if completions is None or completions in (before.get("completions"), spec.get("parallelism")):
        return []
    return [invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")]


def _validate_template_update(new: Object, old: Object) -> list[Cause]:
    """The template is immutable, but for scheduling directives of a Job that is suspended and never started."""
    is_startable = old["spec"].get("suspend") and not old.get("status", {}).get("startTime")
    shown = new["spec"]["template"]
    templates = [shown, old["spec"]["template"]]
    if is_startable:
        templates = [_without_scheduling(template) for template in templates]
    return [] if templates[0] == templates[1] else [invalid("spec.template", GoStruct(shown), IMMUTABLE)]


def _without_scheduling(template: Object) -> Object:
    spec = {key: value for key, value in template.get("spec", {}).items() if key not in _SCHEDULING}
    affinity = {key: value for key, value in spec.pop("affinity", {}).items() if key != "nodeAffinity"}
    metadata = {k: v for k, v in template.get("metadata", {}).items() if k not in ("labels", "annotations")}
    return {"metadata": metadata, "spec": spec, "affinity": affinity}


def validate_job_status_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    for key in ("active", "succeeded", "failed", "ready", "terminating"):
        errors += not_negative(f"status.{key}", new.get("status", {}).get(key))
    return errors


def validate_cron_job_create(cron_job: Object) -> list[Cause]:
    name = cron_job["metadata"].get("name", "")
    errors = validate_metadata(cron_job["metadata"], True, dns_subdomain) + _validate_cron_spec(cron_job["spec"], None)
    if len(name.encode()) > MAX_CRON_JOB_NAME:
        errors.append(invalid("metadata.name", name, f"must be no more than {MAX_CRON_JOB_NAME} characters"))
    return errors


def validate_cron_job_update(new: Object, old: Object) -> list[Cause]:
    return validate_metadata_update(new["metadata"], old["metadata"]) + _validate_cron_spec(new["spec"], old["spec"])


def _validate_cron_spec(spec: Object, before: Object | None) -> list[Cause]:
    errors = _validate_schedule(spec, before)
    errors += not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    zone = spec.get("timeZone")
    if zone is not None and (before is None or before.get("timeZone") != zone):
        errors += _validate_time_zone("spec.timeZone", zone)
    policy, supported = spec.get("concurrencyPolicy", ""), ("Allow", "Forbid", "Replace")
    if not policy:
        errors.append(required("spec.concurrencyPolicy"))
    elif policy not in supported:
        errors.append(not_supported("spec.concurrencyPolicy", policy, supported))
    template = spec["jobTemplate"]["spec"]
    errors += _validate_template_spec("spec.jobTemplate.spec", template)
    if (selector := template.get("selector")) is not None:
        detail = "`selector` will be auto-generated"
        errors.append(invalid("spec.jobTemplate.spec.selector", shown_selector(selector), detail))
    if template.get("manualSelector"):
        errors.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += not_negative(f"spec.{key}", spec.get(key))
    return errors


def _validate_schedule(spec: Object, before: Object | None) -> list[Cause]:
    schedule = spec.get("schedule", "")
    if not schedule:
        return [required("spec.schedule")]
    errors: list[Cause] = []
    try:
        check_schedule(schedule)
    except ValueError as e:
        errors.append(invalid("spec.schedule", schedule, str(e)))
    if "TZ" not in schedule:
        return errors
    if before is None or "TZ" not in before.get("schedule", ""):
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid("spec.schedule", schedule, detail))
    elif spec.get("timeZone") is not None:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        errors.append(invalid("spec.schedule", schedule, detail))
    return errors


def _validate_time_zone(path: str, zone: str) -> list[Cause]:
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    unknown = [invalid(path, zone, f"unknown time zone {zone}")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not re.fullmatch(r"[A-Za-z.\-_0-9+]{1,14}", part):
            return unknown
    errors: list[Cause] = []
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, zone, detail))
    return errors if is_time_zone(zone) else errors + unknown
