"""DeleteOptions: from a body or query parameters, checked.

Upstream: apimachinery/pkg/apis/meta/v1/types.go (DeleteOptions), apimachinery/pkg/apis/meta/v1/validation/validation.go
Simplified: ignoreStoreReadErrorWithClusterBreakingPotential is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.api.errors import BadRequestError, Cause, InvalidError
from k8slab.api.labels import go_quote, parse_int64

__all__ = ["DeleteOptions"]

_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(slots=True)
class DeleteOptions:
    """`grace_period_seconds` may be set by the strategy; None: the object's default."""

    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: bool = False

    def copy(self) -> DeleteOptions:
        return DeleteOptions(
            self.grace_period_seconds,
            self.uid,
            self.resource_version,
            self.orphan_dependents,
            self.propagation_policy,
            self.dry_run,
        )

    @classmethod
    def of(cls, body: Mapping[str, Any] | None, params: Mapping[str, str]) -> DeleteOptions:
        """A body wins over query parameters. Raises BadRequestError, InvalidError with upstream's texts."""
        options = cls._of_body(body) if body else cls._of_params(params)
        causes = options._problems()
        if causes:
            raise InvalidError.of("DeleteOptions", "", causes, "meta.k8s.io")
        return options

    @classmethod
    def _of_body(cls, body: Mapping[str, Any]) -> DeleteOptions:
        preconditions = body.get("preconditions") or {}
        grace = body.get("gracePeriodSeconds")
        if grace is not None and (isinstance(grace, bool) or not isinstance(grace, int)):
            kind = "string" if isinstance(grace, str) else "bool" if isinstance(grace, bool) else "number"
            raise BadRequestError(
                f"json: cannot unmarshal {kind} into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
            )
        return cls(
            grace_period_seconds=grace,
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            orphan_dependents=body.get("orphanDependents"),
            propagation_policy=body.get("propagationPolicy"),
            dry_run=_dry_run(list(body.get("dryRun") or ())),
        )

    @classmethod
    def _of_params(cls, params: Mapping[str, str]) -> DeleteOptions:
        grace = None
        text = params.get("gracePeriodSeconds", "")
        if text:
            grace = parse_int64(text)
            if grace is None:
                raise BadRequestError(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
        orphan = params.get("orphanDependents")
        return cls(
            grace_period_seconds=grace,
            orphan_dependents=None if orphan is None else orphan.lower() not in ("0", "false"),
            propagation_policy=params.get("propagationPolicy"),
            dry_run=_dry_run([params["dryRun"]] if params.get("dryRun") else []),
        )

    def _problems(self) -> list[Cause]:
        causes = []
        policy = self.propagation_policy
        if self.orphan_dependents is not None and policy is not None:
            text = f"Invalid value: {go_quote(policy)}: orphanDependents and deletionPropagation cannot be both set"
            causes.append(Cause("FieldValueInvalid", text, "propagationPolicy"))
        if policy is not None and policy not in _POLICIES:
            known = ", ".join(go_quote(name) for name in (*_POLICIES, "nil"))
            text = f"Unsupported value: {go_quote(policy)}: supported values: {known}"
            causes.append(Cause("FieldValueNotSupported", text, "propagationPolicy"))
        return causes


def _dry_run(values: list[str]) -> bool:
    if any(value != "All" for value in values):
        listed = ",".join(f'"{value}"' for value in values)
        text = f'Unsupported value: [{listed}]: supported values: "All"'
        raise InvalidError.of("DeleteOptions", "", [Cause("FieldValueNotSupported", text, "dryRun")], "meta.k8s.io")
    return bool(values)
