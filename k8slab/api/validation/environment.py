"""Environment variables of containers and what they may refer to.

Upstream: pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom, validateObjectFieldSelector),
    pkg/apis/core/pods/helpers.go (ConvertDownwardAPIFieldLabel)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_config_map_key, is_qualified_name, is_relaxed_env_var_name
from k8slab.api.quantity import quantity as parse_quantity
from k8slab.api.validation.field import each, invalid, not_supported, required
from k8slab.api.validation.metadata import dns_subdomain

__all__ = ["VOLUME_FIELDS", "validate_environment", "validate_field_ref", "validate_resource_field_ref"]

_ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
"""Fields that files of a downward API volume may show."""
_KNOWN_FIELDS = (
    *_ENV_FIELDS,
    *(
        "metadata.annotations",
        "metadata.labels",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
        "spec.host",
    ),
)
_SUBSCRIPT = re.compile(r"([^\[]+)\['([^']*)'\]").fullmatch
_RESOURCES = tuple(sorted(f"{k}.{n}" for k in ("limits", "requests") for n in ("cpu", "memory", "ephemeral-storage")))
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def validate_environment(path: str, container: Mapping[str, Any]) -> list[Cause]:
    """`env` and `envFrom` of a container at `path`."""
    errors: list[Cause] = []
    for index, variable in enumerate(container.get("env", ())):
        where = f"{path}.env[{index}]"
        if not variable.get("name"):
            errors.append(required(f"{where}.name"))
        else:
            errors += each(f"{where}.name", variable["name"], is_relaxed_env_var_name(variable["name"]))
        if "valueFrom" in variable:
            errors += _validate_value_from(f"{where}.valueFrom", variable)
    for index, source in enumerate(container.get("envFrom", ())):
        errors += _validate_env_from(f"{path}.envFrom", index, source)
    return errors


def _validate_value_from(path: str, variable: Mapping[str, Any]) -> list[Cause]:
    source = variable["valueFrom"]
    errors: list[Cause] = []
    if "fieldRef" in source:
        errors += validate_field_ref(f"{path}.fieldRef", source["fieldRef"], _ENV_FIELDS)
    if "resourceFieldRef" in source:
        errors += validate_resource_field_ref(f"{path}.resourceFieldRef", source["resourceFieldRef"])
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            errors += _validate_key_selector(f"{path}.{kind}", source[kind])
    if "fileKeyRef" in source:
        errors += _validate_file_key(f"{path}.fileKeyRef", source["fileKeyRef"])
    count = sum(kind in source for kind in _SOURCES)
    if not count:
        shown = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(invalid(path, "", f"must specify one of: {shown}"))
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def validate_field_ref(path: str, reference: Mapping[str, Any], supported: Sequence[str]) -> list[Cause]:
    if not reference.get("apiVersion"):
        return [required(f"{path}.apiVersion")]
    field = reference.get("fieldPath", "")
    if not field:
        return [required(f"{path}.fieldPath")]
    match = _SUBSCRIPT(field)
    base = match[1] if match else field
    if reference["apiVersion"] != "v1":
        detail = f"error converting fieldPath: unsupported pod version: {reference['apiVersion']}"
        return [invalid(f"{path}.fieldPath", field, detail)]
    if base not in _KNOWN_FIELDS or (match and base not in ("metadata.annotations", "metadata.labels")):
        problem = "field label does not support subscript" if match and base in _KNOWN_FIELDS else ""
        text = problem or "field label not supported"
        return [invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {text}: {field}")]
    if match:
        subscript = match[2].lower() if base == "metadata.annotations" else match[2]
        return each(path, subscript, is_qualified_name(subscript))
    if base not in supported:
        return [not_supported(f"{path}.fieldPath", field, supported)]
    return []


def validate_resource_field_ref(path: str, reference: Mapping[str, Any], *, is_volume: bool = False) -> list[Cause]:
    errors: list[Cause] = []
    resource = reference.get("resource", "")
    is_hugepages = resource.startswith(("requests.hugepages-", "limits.hugepages-"))
    if is_volume and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not is_hugepages:
        errors.append(not_supported(f"{path}.resource", resource, _RESOURCES))
    divisor = parse_quantity(reference.get("divisor", "0"))
    if divisor.is_zero:
        return errors
    if resource.endswith(".cpu"):
        if str(divisor) not in ("1m", "1"):
            detail = "only divisor's values 1m and 1 are supported with the cpu resource"
            errors.append(invalid(f"{path}.divisor", resource, detail))
    elif str(divisor) not in _SIZES:
        what = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(
            resource.partition(".")[2], "hugepages"
        )
        detail = f"only divisor's values {', '.join(_SIZES)} are supported with the {what} resource"
        errors.append(invalid(f"{path}.divisor", resource, detail))
    return errors


def _validate_key_selector(path: str, selector: Mapping[str, Any]) -> list[Cause]:
    name, key = selector.get("name", ""), selector.get("key", "")
    errors = each(f"{path}.name", name, dns_subdomain(name))
    return errors + (each(f"{path}.key", key, is_config_map_key(key)) if key else [required(f"{path}.key")])


def _validate_file_key(path: str, reference: Mapping[str, Any]) -> list[Cause]:
    errors: list[Cause] = []
    key = reference.get("key", "")
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        errors += each(f"{path}.key", key, is_relaxed_env_var_name(key))
    for name in ("volumeName", "path"):
        if not reference.get(name):
            errors.append(required(f"{path}.{name}"))
    return errors


def _validate_env_from(path: str, index: int, source: Mapping[str, Any]) -> list[Cause]:
    where = f"{path}[{index}]"
    errors: list[Cause] = []
    if prefix := source.get("prefix"):
        errors += each(f"{where}.prefix", prefix, is_relaxed_env_var_name(prefix))
    kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
    for kind in kinds:
        name = source[kind].get("name", "")
        if name:
            errors += each(f"{where}.{kind}.name", name, dns_subdomain(name, True))
        else:
            errors.append(required(f"{where}.{kind}.name"))
    if not kinds:
        errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif len(kinds) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors
