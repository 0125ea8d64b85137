"""Probes and lifecycle hooks.

Upstream: pkg/apis/core/validation/validation.go (validateProbe, validateHandler, validateLifecycle)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.validation.field import forbidden, invalid, not_negative, not_supported, required
from k8slab.api.validation.numbers import validate_port_num_or_name

__all__ = ["validate_lifecycle", "validate_probes"]

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_HEADER_NAME = re.compile("[-A-Za-z0-9]+").fullmatch
_BAD_HEADER = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
)


def validate_probes(path: str, container: Mapping[str, Any], grace_period: int | None) -> list[Cause]:
    errors: list[Cause] = []
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name not in container:
            continue
        probe, where = container[name], f"{path}.{name}"
        errors += _validate_probe(where, probe, grace_period)
        if name == "readinessProbe":
            if "terminationGracePeriodSeconds" in probe:
                value = probe["terminationGracePeriodSeconds"]
                detail = "must not be set for readinessProbes"
                errors.append(invalid(f"{where}.terminationGracePeriodSeconds", value, detail))
        elif probe.get("successThreshold", 0) != 1:
            errors.append(invalid(f"{where}.successThreshold", probe.get("successThreshold", 0), "must be 1"))
    return errors


def _validate_probe(path: str, probe: Mapping[str, Any], grace_period: int | None) -> list[Cause]:
    errors = _validate_handler(path, probe, grace_period)
    for key in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        errors += not_negative(f"{path}.{key}", probe.get(key))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return errors


def validate_lifecycle(path: str, lifecycle: Mapping[str, Any], grace_period: int | None) -> list[Cause]:
    errors: list[Cause] = []
    for hook in ("postStart", "preStop"):
        if hook in lifecycle:
            errors += _validate_handler(f"{path}.{hook}", lifecycle[hook], grace_period)
    return errors


def _validate_handler(path: str, handler: Mapping[str, Any], grace_period: int | None) -> list[Cause]:
    errors: list[Cause] = []
    found = 0
    for kind in _HANDLERS:
        if kind not in handler:
            continue
        where = f"{path}.{kind}"
        if found:
            errors.append(forbidden(where, "may not specify more than 1 handler type"))
            continue
        found += 1
        errors += _validate_action(where, kind, handler[kind], grace_period)
    if not found:
        errors.append(required(path, "must specify a handler type"))
    return errors


def _validate_action(path: str, kind: str, action: Mapping[str, Any], grace_period: int | None) -> list[Cause]:
    if kind == "exec":
        return [] if action.get("command") else [required(f"{path}.command")]
    if kind == "httpGet":
        return _validate_http_get(path, action)
    if kind in ("tcpSocket", "grpc"):
        return validate_port_num_or_name(f"{path}.port", action.get("port", 0))
    seconds = action.get("seconds", 0)
    if grace_period is not None and not 0 <= seconds <= grace_period:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
        return [invalid(path, seconds, detail)]
    return []


def _validate_http_get(path: str, action: Mapping[str, Any]) -> list[Cause]:
    errors: list[Cause] = []
    if not action.get("path"):
        errors.append(required(f"{path}.path"))
    errors += validate_port_num_or_name(f"{path}.port", action.get("port", 0))
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        errors.append(not_supported(f"{path}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders", ()):
        if not _HEADER_NAME(header.get("name", "")):
            errors.append(invalid(f"{path}.httpHeaders", header.get("name", ""), _BAD_HEADER))
    return errors
