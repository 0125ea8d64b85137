"""APIServices: who serves a group and version of the API.

Upstream: kube-aggregator/pkg/apis/apiregistration/validation/validation.go
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.labels import go_quote
from k8slab.api.names import is_dns1035_label, is_dns1123_subdomain, is_path_segment_name, is_valid_port_num
from k8slab.api.validation.field import each, invalid, not_supported, required
from k8slab.api.validation.metadata import validate_metadata, validate_metadata_update

__all__ = ["validate_api_service_create", "validate_api_service_status_update"]

Object = Mapping[str, Any]
MAX_GROUP_PRIORITY, MAX_VERSION_PRIORITY = 20_000, 1_000


def validate_api_service_create(registered: Object) -> list[Cause]:
    """What is wrong with an APIService; an update must obey the same rules."""
    spec: Object = registered.get("spec") or {}
    group, version = spec.get("group", ""), spec.get("version", "")
    expected = f"{version}.{group}"

    def name_rule(name: str, prefix: bool) -> list[str]:
        if problems := list(is_path_segment_name(name)):
            return problems
        return [] if name == expected else [f'must be `spec.version+"."+spec.group`: {go_quote(expected)}']

    errors = validate_metadata(registered.get("metadata", {}), False, name_rule)
    if not group and version != "v1":
        errors.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    if group:
        errors += each("spec.group", group, is_dns1123_subdomain(group))
    errors += each("spec.version", version, is_dns1035_label(version))
    for key, most in (("groupPriorityMinimum", MAX_GROUP_PRIORITY), ("versionPriority", MAX_VERSION_PRIORITY)):
        if not 0 < spec.get(key, 0) <= most:
            errors.append(invalid(f"spec.{key}", spec.get(key, 0), f"must be positive and less than {most}"))
    return errors + _validate_service(spec)


def _validate_service(spec: Object) -> list[Cause]:
    """Whom it names, and how that server is to be trusted."""
    service, bundle = spec.get("service"), spec.get("caBundle", "")
    insecure = spec.get("insecureSkipTLSVerify", False)
    errors: list[Cause] = []
    if service is None:
        if bundle:
            shown = f"{len(b64decode(bundle))} bytes"
            errors.append(invalid("spec.caBundle", shown, "local APIServices may not have a caBundle"))
        if insecure:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid("spec.insecureSkipTLSVerify", insecure, detail))
        return errors
    errors += [required(f"spec.service.{key}") for key in ("namespace", "name") if not service.get(key)]
    port = service.get("port", 0)
    if problems := is_valid_port_num(port):
        errors.append(invalid("spec.service.port", port, f"port is not valid: {', '.join(problems)}"))
    if insecure and bundle:
        errors.append(invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present"))
    return errors


def validate_api_service_status_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    for index, condition in enumerate((new.get("status") or {}).get("conditions") or ()):
        status = condition.get("status", "")
        if status not in ("True", "False", "Unknown"):
            where = f"status.conditions[{index}].status"
            errors.append(not_supported(where, status, ("True", "False", "Unknown")))
    return errors
