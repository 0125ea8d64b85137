"""Options of requests: of deletes as objects, of other verbs as query parameters.

Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go (ValidateDeleteOptions, ValidateCreateOptions, ...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.validation.field import forbidden, invalid, not_supported, required, too_long

__all__ = ["validate_delete_options", "validate_request_options"]

_POLICIES = ("Foreground", "Background", "Orphan")
_READ_ERROR = "ignoreStoreReadErrorWithClusterBreakingPotential"
MAX_FIELD_MANAGER_LENGTH = 128


def _validate_dry_run(dry_run: Sequence[str]) -> list[Cause]:
    if all(value == "All" for value in dry_run):
        return []
    return [not_supported("dryRun", list(dry_run), ("All",))]


def validate_delete_options(options: Mapping[str, Any]) -> list[Cause]:
    errors: list[Cause] = []
    policy = options.get("propagationPolicy")
    if "orphanDependents" in options and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors += _validate_dry_run(options.get("dryRun", ()))
    if options.get(_READ_ERROR):
        for key in ("dryRun", "propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions"):
            if options.get(key) is not None:
                errors.append(invalid(_READ_ERROR, True, f"cannot be set together with .{key}"))
    return errors


def validate_request_options(
    params: Mapping[str, str], *, is_patch: bool = False, is_apply: bool = False
) -> list[Cause]:
    """`fieldManager`, `dryRun`, `fieldValidation` and `force` of create, update and patch."""
    errors: list[Cause] = []
    manager = params.get("fieldManager", "")
    if is_apply and not manager:
        errors.append(required("fieldManager", "is required for apply patch"))
    if is_patch and not is_apply and "force" in params:
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    if len(manager.encode()) > MAX_FIELD_MANAGER_LENGTH:
        errors.append(too_long("fieldManager", MAX_FIELD_MANAGER_LENGTH))
    for position, character in enumerate(manager):
        if not character.isprintable():
            detail = f"invalid character U+{ord(character):04X} (at position {position})"
            errors.append(invalid("fieldManager", manager, detail))
    if "dryRun" in params:
        errors += _validate_dry_run([params["dryRun"]])
    validation = params.get("fieldValidation", "")
    if validation not in ("", "Ignore", "Strict", "Warn"):
        errors.append(not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    return errors
