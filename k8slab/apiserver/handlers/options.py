"""Query parameters of every verb, parsed and checked.

Upstream: apimachinery/pkg/apis/meta/internalversion/validation/validation.go, apimachinery/pkg/apis/meta/v1/validation
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from k8slab.api.errors import BadRequestError, Cause, InvalidError
from k8slab.api.fields import FieldSelector
from k8slab.api.labels import Selector, go_quote, parse_int64, parse_selector, parse_uint64
from k8slab.api.transport import Request
from k8slab.apiserver.handlers.routing import is_true
from k8slab.apiserver.registry import parse_fields

__all__ = ["ListOptions", "check_write_options", "parse_resource_version", "write_options"]

_MATCH = "resourceVersionMatch"
_FORBIDDEN = "FieldValueForbidden"


class ListOptions(NamedTuple):
    """Options of list, watch and deletecollection. `send_initial_events` None: not given."""

    labels: Selector
    fields: FieldSelector
    limit: int
    continue_token: str
    resource_version: str
    match: str
    is_watch: bool
    allow_bookmarks: bool
    send_initial_events: bool | None
    timeout_seconds: int

    @property
    def selects(self) -> bool:
        return not (self.labels.empty and self.fields.empty)

    @classmethod
    def parse(
        cls,
        params: Mapping[str, str],
        resource: str,
        *,
        name: str = "",
        is_watch: bool = False,
        is_custom: bool = False,
    ) -> ListOptions:
        """Raises BadRequestError, InvalidError with upstream's texts."""
        initial = is_true(params, "sendInitialEvents") if "sendInitialEvents" in params else None
        causes = _problems(params, is_watch, initial)
        try:
            labels = parse_selector(params.get("labelSelector", ""))
        except ValueError as error:
            raise BadRequestError(str(error)) from None
        limit, timeout = _integer(params, "limit"), _integer(params, "timeoutSeconds")
        if causes:
            raise InvalidError.of("ListOptions", "", causes, "meta.k8s.io")
        fields = parse_fields(resource, params.get("fieldSelector", ""), is_custom=is_custom)
        if name:
            selected = fields.requires_exact_match("metadata.name")
            if not fields.empty and selected != name:
                raise BadRequestError("fieldSelector metadata.name doesn't match requested name")
            fields = parse_fields(resource, f"metadata.name={name}") if fields.empty else fields
        return cls(
            labels=labels,
            fields=fields,
            limit=max(limit, 0),
            continue_token=params.get("continue", ""),
            resource_version=params.get("resourceVersion", ""),
            match=params.get(_MATCH, ""),
            is_watch=is_watch,
            allow_bookmarks=is_true(params, "allowWatchBookmarks"),
            send_initial_events=initial,
            timeout_seconds=timeout,
        )


def _integer(params: Mapping[str, str], name: str) -> int:
    text = params.get(name, "")
    if not text:
        return 0
    value = parse_int64(text)
    if value is None:
        raise BadRequestError(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    return value


def _problems(params: Mapping[str, str], is_watch: bool, initial: bool | None) -> list[Cause]:
    match, revision = params.get(_MATCH, ""), params.get("resourceVersion", "")
    return _watch_problems(params, match, initial) if is_watch else _list_problems(params, match, revision, initial)


def _list_problems(params: Mapping[str, str], match: str, revision: str, initial: bool | None) -> list[Cause]:
    causes = []
    if match:
        if not revision:
            causes.append(_forbid("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if params.get("continue"):
            causes.append(_forbid("resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            causes.append(_unsupported(match, '"Exact", "NotOlderThan", ""'))
        if match == "Exact" and revision == "0":
            causes.append(_forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if initial is not None:
        text = "Forbidden: sendInitialEvents is forbidden for list"
        causes.append(Cause(_FORBIDDEN, text, "sendInitialEvents"))
    return causes


def _watch_problems(params: Mapping[str, str], match: str, initial: bool | None) -> list[Cause]:
    causes = []
    if initial is not None and match != "NotOlderThan":
        causes.append(_forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if initial is None:
            causes.append(_forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
        if match != "NotOlderThan":
            causes.append(_unsupported(match, '"NotOlderThan"'))
        if params.get("continue"):
            causes.append(_forbid("resourceVersionMatch is forbidden when continue is provided"))
    return causes


def _forbid(text: str) -> Cause:
    return Cause(_FORBIDDEN, f"Forbidden: {text}", _MATCH)


def _unsupported(match: str, known: str) -> Cause:
    return Cause("FieldValueNotSupported", f"Unsupported value: {go_quote(match)}: supported values: {known}", _MATCH)


def parse_resource_version(text: str) -> int:
    """Empty is 0. ValueError with upstream's text."""
    if not text:
        return 0
    try:
        return parse_uint64(text)
    except ValueError as error:
        raise ValueError(f"resourceVersion: Invalid value: {go_quote(text)}: {error}") from None


def write_options(request: Request) -> dict[str, Any]:
    """The fields of CreateOptions, UpdateOptions or DeleteOptions that a request sets, as admission sees them."""
    given: Mapping[str, Any] = request.params
    if request.verb in ("delete", "deletecollection") and isinstance(request.body, Mapping) and request.body:
        return {name: request.body[name] for name in _DELETE_OPTIONS if request.body.get(name) is not None}
    found = {name: given[name] for name in _WRITE_OPTIONS if given.get(name)}
    return found | ({"dryRun": ["All"]} if given.get("dryRun") else {})


_WRITE_OPTIONS = ("fieldManager", "fieldValidation", "propagationPolicy")
_DELETE_OPTIONS = ("gracePeriodSeconds", "preconditions", "orphanDependents", "propagationPolicy", "dryRun")


def check_write_options(params: Mapping[str, str], kind: str) -> bool:
    """Whether this is a dry run. `kind`: CreateOptions, UpdateOptions or PatchOptions. Raises InvalidError."""
    causes = []
    if kind == "PatchOptions" and "force" in params:
        text = "Forbidden: may not be specified for non-apply patch"
        causes.append(Cause(_FORBIDDEN, text, "force"))
    manager = params.get("fieldManager", "")
    if len(manager) > 128:
        causes.append(Cause("FieldValueTooLong", "Too long: may not be more than 128 bytes", "fieldManager"))
    dry_run = params.get("dryRun", "")
    if dry_run not in ("", "All"):
        text = f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        causes.append(Cause("FieldValueNotSupported", text, "dryRun"))
    validation = params.get("fieldValidation", "")
    if validation not in ("", "Ignore", "Warn", "Strict"):
        text = f'Unsupported value: {go_quote(validation)}: supported values: "", "Ignore", "Strict", "Warn"'
        causes.append(Cause("FieldValueNotSupported", text, "fieldValidation"))
    if causes:
        raise InvalidError.of(kind, "", causes, "meta.k8s.io")
    return bool(dry_run)
