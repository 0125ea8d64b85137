"""Object metadata: names, labels, annotations, owners, finalizers; what an update may change.

Upstream: apimachinery/pkg/api/validation/objectmeta.go, generic.go, apiserver/pkg/registry/rest/update.go
    (validateCommonFields), pkg/apis/core/validation/validation.go (ValidateObjectMeta)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.labels import go_quote
from k8slab.api.names import (
    is_dns1035_label,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    is_qualified_name,
)
from k8slab.api.objects import Frozen, FrozenList
from k8slab.api.validation.field import (
    IMMUTABLE,
    each,
    forbidden,
    in_go_order,
    invalid,
    not_negative,
    required,
    too_long,
)
from k8slab.api.validation.selectors import validate_labels

__all__ = [
    "NameRule",
    "dns_1035_label",
    "dns_label",
    "dns_subdomain",
    "path_segment",
    "validate_annotations",
    "validate_common_update",
    "validate_domain_prefixed_path",
    "validate_immutable",
    "validate_kube_finalizer",
    "validate_metadata",
    "validate_metadata_update",
]

NameRule = Callable[[str, bool], Sequence[str]]
"""Error texts for a name; the second argument says that it is a prefix, to which a suffix is added."""

TOTAL_ANNOTATION_SIZE_LIMIT = 256 * 1024
_NOTHING: Mapping[str, Any] = {}
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def _masked(name: str, prefix: bool) -> str:
    """A prefix may end with a hyphen, since letters follow."""
    return name[:-2] + "a" if prefix and len(name) > 1 and name.endswith("-") else name


def dns_subdomain(name: str, prefix: bool = False) -> Sequence[str]:
    return is_dns1123_subdomain(_masked(name, prefix))


def dns_label(name: str, prefix: bool = False) -> Sequence[str]:
    return is_dns1123_label(_masked(name, prefix))


def dns_1035_label(name: str, prefix: bool = False) -> Sequence[str]:
    return is_dns1035_label(_masked(name, prefix))


def path_segment(name: str, prefix: bool = False) -> Sequence[str]:
    if prefix:
        return [f"may not contain '{c}'" for c in "/%" if c in name]
    return is_path_segment_name(name)


def validate_metadata(metadata: Mapping[str, Any], namespaced: bool, rule: NameRule) -> list[Cause]:
    """What a new object's metadata must obey. `rule`: the syntax of the kind's names."""
    errors = _validate_object_meta(metadata, namespaced, rule)
    for index, finalizer in enumerate(metadata.get("finalizers", ())):
        errors += validate_kube_finalizer(f"metadata.finalizers[{index}]", finalizer)
    return errors


def _validate_object_meta(
    metadata: Mapping[str, Any], namespaced: bool, rule: NameRule, old: Mapping[str, Any] = _NOTHING
) -> list[Cause]:
    errors: list[Cause] = []
    if prefix := metadata.get("generateName", ""):
        errors += each("metadata.generateName", prefix, rule(prefix, True))
    if name := metadata.get("name", ""):
        errors += each("metadata.name", name, rule(name, False))
    else:
        errors.append(required("metadata.name", "name or generateName is required"))
    namespace = metadata.get("namespace", "")
    if not namespaced:
        if namespace:
            errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    elif namespace:
        errors += each("metadata.namespace", namespace, dns_label(namespace))
    else:
        errors.append(required("metadata.namespace"))
    errors += not_negative("metadata.generation", metadata.get("generation"))
    errors += _validate_parts(metadata, old)
    return errors


def _validate_parts(new: Mapping[str, Any], old: Mapping[str, Any], *, finalizers: bool = True) -> list[Cause]:
    """The parts of metadata that hold more than one value. What came from the server and is the very same in `old` was
    checked when it was stored."""
    errors: list[Cause] = []
    for name, rule in _RULES:
        part = new.get(name)
        if not part or (part is old.get(name) and isinstance(part, (Frozen, FrozenList))):
            continue
        if finalizers or name != "finalizers":
            errors += rule(f"metadata.{name}", part)
    return errors


def validate_annotations(path: str, annotations: Mapping[str, str] | None) -> list[Cause]:
    errors: list[Cause] = []
    size = 0
    for key, value in (annotations or {}).items():
        errors += each(path, key, is_qualified_name(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > TOTAL_ANNOTATION_SIZE_LIMIT:
        errors.append(too_long(path, TOTAL_ANNOTATION_SIZE_LIMIT))
    return errors


def _validate_owner_references(path: str, references: Sequence[Mapping[str, Any]]) -> list[Cause]:
    errors: list[Cause] = []
    controller = ""
    for reference in references:
        api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
        if not api_version.rpartition("/")[2]:
            errors.append(invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
        for key in ("kind", "name", "uid"):
            if not reference.get(key):
                errors.append(invalid(f"{path}.{key}", reference.get(key, ""), "must not be empty"))
        if (api_version, kind) == ("v1", "Event"):
            shown = in_go_order(reference, "meta.OwnerReference")
            errors.append(invalid(path, shown, "/v1, Kind=Event is disallowed from being an owner"))
        if reference.get("controller"):
            current = f"{kind}/{reference.get('name', '')}"
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {current}'
                )
                errors.append(invalid(path, [in_go_order(r, "meta.OwnerReference") for r in references], detail))
            else:
                controller = current
    return errors


def _validate_finalizers(path: str, finalizers: Sequence[str]) -> list[Cause]:
    errors = [error for name in finalizers for error in each(path, name, is_qualified_name(name))]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid(path, list(finalizers), detail))
    return errors


def validate_kube_finalizer(path: str, name: str) -> list[Cause]:
    """Finalizers without a domain must be well-known ones."""
    if "/" in name or name in _STANDARD_FINALIZERS:
        return []
    return [invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")]


def _validate_managed_fields(path: str, entries: Sequence[Mapping[str, Any]]) -> list[Cause]:
    errors: list[Cause] = []
    for index, entry in enumerate(entries):
        at = f"{path}[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            errors.append(invalid(f"{at}.operation", entry.get("operation", ""), "must be `Apply` or `Update`"))
        if entry.get("fieldsType", "FieldsV1") not in ("", "FieldsV1"):
            errors.append(invalid(f"{at}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        if len(entry.get("manager", "").encode()) > 128:
            errors.append(too_long(f"{at}.manager", 128))
    return errors


def validate_domain_prefixed_path(path: str, value: str) -> list[Cause]:
    domain, slash, rest = value.partition("/")
    if not slash or not domain or not rest:
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = each(path, domain, is_dns1123_subdomain(domain))
    if not re.fullmatch(r"([A-Za-z0-9/\-._~%!$&'()*+,;=:]+)", rest):
        detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
        errors.append(invalid(path, rest, detail))
    return errors


def validate_immutable(path: str, new: Any, old: Any) -> list[Cause]:
    """`new` must equal `old` (None, empty and absent are the same)."""
    return [] if (new or None) == (old or None) else [invalid(path, new, IMMUTABLE)]


def validate_metadata_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    """What an update of metadata must obey."""
    if new == old and isinstance(old, Frozen) and old.get("resourceVersion"):
        return []  # what the server had stored
    errors: list[Cause] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
        if added:
            shown = "[]string{" + ", ".join(map(go_quote, added)) + "}"
            detail = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
            errors.append(forbidden("metadata.finalizers", detail))
    if not new.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    if new.get("generation", 0) < old.get("generation", 0):
        errors.append(invalid("metadata.generation", new.get("generation", 0), "must not be decremented"))
    for key in ("name", "namespace", "uid"):
        errors += validate_immutable(f"metadata.{key}", new.get(key, ""), old.get(key, ""))
    for key in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(key) != old.get(key):
            errors.append(invalid(f"metadata.{key}", new.get(key), IMMUTABLE))
    return errors + _validate_parts(new, old, finalizers=False)


def validate_common_update(new: Mapping[str, Any], old: Mapping[str, Any], namespaced: bool) -> list[Cause]:
    """What the generic registry checks before the kind's own rules; they repeat part of it, and so do the causes."""
    return _validate_object_meta(new, namespaced, path_segment, old) + validate_metadata_update(new, old)


_RULES: tuple[tuple[str, Callable[[str, Any], list[Cause]]], ...] = (
    ("labels", validate_labels),
    ("annotations", validate_annotations),
    ("ownerReferences", _validate_owner_references),
    ("finalizers", _validate_finalizers),
    ("managedFields", _validate_managed_fields),
)
