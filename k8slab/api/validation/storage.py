"""StorageClasses and CSINodes.

Upstream: pkg/apis/storage/validation/validation.go
Simplified: topology keys of CSINodes, CSIDrivers and CSIStorageCapacities are not looked into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_qualified_name
from k8slab.api.validation.field import (
    IMMUTABLE,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from k8slab.api.validation.metadata import dns_subdomain, validate_metadata, validate_metadata_update

__all__ = [
    "validate_csi_node_create",
    "validate_csi_node_update",
    "validate_storage_class_create",
    "validate_storage_class_update",
]

_RECLAIM = ("Delete", "Retain")
_BINDING = ("Immediate", "WaitForFirstConsumer")
_MOST_PARAMETERS = 512
_LONGEST_DRIVER, _LONGEST_NODE_ID = 63, 256
Object = Mapping[str, Any]


def validate_storage_class_create(storage_class: Object) -> list[Cause]:
    errors = validate_metadata(storage_class["metadata"], False, dns_subdomain)
    provisioner = storage_class.get("provisioner") or ""
    if provisioner:
        errors += each("provisioner", provisioner, is_qualified_name(provisioner.lower()))
    else:
        errors.append(required("provisioner"))
    parameters = storage_class.get("parameters") or {}
    if len(parameters) > _MOST_PARAMETERS:
        errors.append(too_long("parameters", _MOST_PARAMETERS))
    errors += [invalid("parameters", key, "field can not be empty.") for key in parameters if not key]
    if (policy := storage_class.get("reclaimPolicy")) not in _RECLAIM:
        errors.append(not_supported("reclaimPolicy", policy, _RECLAIM))
    mode = storage_class.get("volumeBindingMode")
    if mode is None:
        errors.append(required("volumeBindingMode"))
    elif mode not in _BINDING:
        errors.append(not_supported("volumeBindingMode", mode, _BINDING))
    for index, term in enumerate(storage_class.get("allowedTopologies") or ()):
        errors += _validate_topology(f"allowedTopologies[{index}]", term)
    return errors


def _validate_topology(path: str, term: Object) -> list[Cause]:
    errors: list[Cause] = []
    seen: list[str] = []
    for index, rule in enumerate(term.get("matchLabelExpressions") or ()):
        where, key = f"{path}.matchLabelExpressions[{index}]", rule.get("key") or ""
        values = rule.get("values") or ()
        if not values:
            errors.append(required(f"{where}.values"))
        errors += [
            duplicate(f"{where}.values[{number}]", value)
            for number, value in enumerate(values)
            if value in values[:number]
        ]
        errors += each(f"{where}.key", key, is_qualified_name(key))
        if key in seen:
            errors.append(duplicate(f"{where}.key", key))
        seen.append(key)
    return errors


def validate_storage_class_update(new: Object, old: Object) -> list[Cause]:
    """Only allowedTopologies, mountOptions and allowVolumeExpansion can change."""
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    errors += validate_storage_class_create(new)
    errors += [
        forbidden(name, f"updates to {name} are forbidden.")
        for name in ("parameters", "provisioner", "reclaimPolicy")
        if (new.get(name) or None) != (old.get(name) or None)
    ]
    mode = new.get("volumeBindingMode")
    return errors + ([invalid("volumeBindingMode", mode, IMMUTABLE)] if mode != old.get("volumeBindingMode") else [])


def validate_csi_node_create(csi_node: Object) -> list[Cause]:
    errors = validate_metadata(csi_node["metadata"], False, dns_subdomain)
    seen: list[str] = []
    for index, driver in enumerate(csi_node["spec"].get("drivers") or ()):
        where, name = f"spec.drivers[{index}]", driver.get("name") or ""
        errors += _validate_text(f"{where}.name", name, _LONGEST_DRIVER)
        errors += _validate_text(f"{where}.nodeID", driver.get("nodeID") or "", _LONGEST_NODE_ID)
        count = (driver.get("allocatable") or {}).get("count")
        if count is not None and count < 0:
            errors.append(invalid(f"{where}.allocatable.count", count, "must be greater than or equal to 0"))
        if name in seen:
            errors.append(duplicate(f"{where}.name", name))
        seen.append(name)
    return errors


def _validate_text(path: str, text: str, longest: int) -> list[Cause]:
    if not text:
        return [required(path)]
    return [too_long(path, longest)] if len(text) > longest else []


def validate_csi_node_update(new: Object, old: Object) -> list[Cause]:
    return validate_metadata_update(new["metadata"], old["metadata"]) + validate_csi_node_create(new)
