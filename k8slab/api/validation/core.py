"""ConfigMaps, Secrets, Namespaces, Nodes, ServiceAccounts, quotas, limits, claims.

Upstream: pkg/apis/core/validation/validation.go
Simplified: PersistentVolumes are checked for capacity, access modes and the presence of a source only.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.go_json import JSONError, json_kind, parse
from k8slab.api.names import is_config_map_key, is_dns1123_subdomain, is_qualified_name, is_valid_label_value
from k8slab.api.quantity import quantity as parse_quantity
from k8slab.api.tolerations import TAINT_EFFECTS
from k8slab.api.validation.field import (
    GoStruct,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from k8slab.api.validation.metadata import (
    dns_label,
    dns_subdomain,
    validate_kube_finalizer,
    validate_metadata,
    validate_metadata_update,
)
from k8slab.api.validation.numbers import validate_cidr
from k8slab.api.validation.resources import validate_quantity_value, validate_resource_name
from k8slab.api.validation.scheduling import validate_taint_effect
from k8slab.api.validation.selectors import validate_label_name, validate_label_selector

__all__ = [
    "validate_claim_create",
    "validate_claim_update",
    "validate_config_map_create",
    "validate_config_map_update",
    "validate_limit_range",
    "validate_namespace_create",
    "validate_namespace_status_update",
    "validate_node_create",
    "validate_node_update",
    "validate_persistent_volume_create",
    "validate_resource_quota_create",
    "validate_secret_create",
    "validate_secret_update",
    "validate_service_account_create",
]

MAX_SECRET_SIZE = 1024 * 1024
Object = Mapping[str, Any]


def validate_config_map_create(config_map: Object) -> list[Cause]:
    return validate_metadata(config_map["metadata"], True, dns_subdomain) + _validate_config_map_data(config_map)


def _validate_config_map_data(config_map: Object) -> list[Cause]:
    errors: list[Cause] = []
    size = 0
    data, binary = config_map.get("data", {}), config_map.get("binaryData", {})
    for key, text in data.items():
        errors += each(f"data[{key}]", key, is_config_map_key(key))
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(text.encode())
    for key, text in binary.items():
        errors += each(f"binaryData[{key}]", key, is_config_map_key(key))
        size += _decoded_length(text)
    if size > MAX_SECRET_SIZE:
        errors.append(too_long("", MAX_SECRET_SIZE))
    return errors


def _decoded_length(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=")


def validate_config_map_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    errors += _validate_frozen(new, old, ("data", "binaryData"))
    return errors + validate_config_map_create(new)


def _validate_frozen(new: Object, old: Object, keys: tuple[str, ...]) -> list[Cause]:
    """An object that was once marked immutable stays so."""
    if not old.get("immutable"):
        return []
    detail = "field is immutable when `immutable` is set"
    errors = [] if new.get("immutable") else [forbidden("immutable", detail)]
    changed = [key for key in keys if new.get(key, {}) != old.get(key, {})]
    return errors + [forbidden(key, detail) for key in changed]


_SECRET_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"


def validate_secret_create(secret: Object) -> list[Cause]:
    return validate_metadata(secret["metadata"], True, dns_subdomain) + _validate_secret_data(secret)


def _validate_secret_data(secret: Object) -> list[Cause]:
    errors: list[Cause] = []
    data = secret.get("data", {})
    size = 0
    for key, text in data.items():
        errors += each(f"data[{key}]", key, is_config_map_key(key))
        size += _decoded_length(text)
    if size > MAX_SECRET_SIZE:
        errors.append(too_long("data", MAX_SECRET_SIZE))
    kind = secret.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        if not secret["metadata"].get("annotations", {}).get(_SERVICE_ACCOUNT_NAME):
            errors.append(required(f"metadata.annotations[{_SERVICE_ACCOUNT_NAME}]"))
    elif kind in _SECRET_KEYS:
        errors += _validate_docker_config(f"data[{_SECRET_KEYS[kind]}]", data.get(_SECRET_KEYS[kind]))
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            errors += [required("data[username]"), required("data[password]")]
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            errors.append(required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/tls":
        errors += [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    return errors


def _validate_docker_config(path: str, text: str | None) -> list[Cause]:
    if text is None:
        return [required(path)]
    try:
        config, _ = parse(base64.b64decode(text))
    except JSONError as error:
        return [invalid(path, "<secret contents redacted>", str(error))]
    if config is None or isinstance(config, dict):
        return []
    why = f"json: cannot unmarshal {json_kind(config)} into Go value of type map[string]interface {{}}"
    return [invalid(path, "<secret contents redacted>", why)]


def validate_secret_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    if new.get("type", "") != old.get("type", ""):
        errors.append(invalid("type", new.get("type", ""), "field is immutable"))
    errors += _validate_frozen(new, old, ("data",))
    return errors + validate_secret_create(new)


def validate_namespace_create(namespace: Object) -> list[Cause]:
    errors = validate_metadata(namespace["metadata"], False, dns_label)
    for name in namespace.get("spec", {}).get("finalizers", ()):
        errors += each("spec.finalizers", name, is_qualified_name(name))
        errors += validate_kube_finalizer("spec.finalizers", name)
    return errors


def validate_namespace_status_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    phase = new.get("status", {}).get("phase", "")
    is_deleted = "deletionTimestamp" in new["metadata"]
    wanted = "Terminating" if is_deleted else "Active"
    if phase != wanted:
        detail = f"may only be '{wanted}' if `deletionTimestamp` is {'not empty' if is_deleted else 'empty'}"
        errors.append(invalid("status.Phase", phase, detail))
    return errors


def validate_node_create(node: Object) -> list[Cause]:
    errors = validate_metadata(node["metadata"], False, dns_subdomain)
    spec = node.get("spec", {})
    errors += _validate_taints("metadata.taints", spec)
    for kind in ("capacity", "allocatable"):
        for name, amount in node.get("status", {}).get(kind, {}).items():
            where = f"status.{kind}[{name}]"
            errors += validate_resource_name(where, name) + validate_quantity_value(where, name, amount)
    for index, cidr in enumerate(_pod_cidrs(spec)):
        errors += validate_cidr(f"spec.podCIDRs[{index}]", cidr)
    return errors


def _pod_cidrs(spec: Object) -> list[str]:
    """Upstream's conversion: an old client's podCIDR wins over podCIDRs that do not begin with it."""
    first, several = spec.get("podCIDR", ""), list(spec.get("podCIDRs", ()))
    if first and (not several or several[0] != first):
        return [first]
    return several


def _validate_taints(path: str, spec: Object) -> list[Cause]:
    errors: list[Cause] = []
    seen: list[tuple[str, str]] = []
    for index, taint in enumerate(spec.get("taints", ())):
        where, key, effect = f"{path}[{index}]", taint.get("key", ""), taint.get("effect", "")
        errors += validate_label_name(f"{where}.key", key)
        value = taint.get("value", "")
        if messages := is_valid_label_value(value):
            errors.append(invalid(f"{where}.value", value, ";".join(messages)))
        errors += validate_taint_effect(f"{where}.effect", effect)
        if effect in TAINT_EFFECTS and (effect, key) in seen:
            error = duplicate(where, GoStruct(taint))
            errors.append(error._replace(message=f"{error.message}: taints must be unique by key and effect pair"))
        seen.append((effect, key))
    return errors


def validate_node_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    spec, before = new.get("spec", {}), old.get("spec", {})
    for kind in ("capacity", "allocatable"):
        for name, amount in new.get("status", {}).get(kind, {}).items():
            errors += validate_quantity_value(f"status.{kind}[{name}]", name, amount)
    new_cidrs, old_cidrs = _pod_cidrs(spec), _pod_cidrs(before)
    if old_cidrs and new_cidrs != old_cidrs:
        detail = 'node updates may not change podCIDR except from "" to valid'
        errors.append(forbidden("spec.podCIDRs", detail))
    if before.get("providerID") and spec.get("providerID", "") != before["providerID"]:
        detail = 'node updates may not change providerID except from "" to valid'
        errors.append(forbidden("spec.providerID", detail))
    return errors + _validate_taints("metadata.taints", spec)


def validate_service_account_create(account: Object) -> list[Cause]:
    return validate_metadata(account["metadata"], True, dns_subdomain)


_QUOTA_RESOURCES = (
    *("cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage"),
    *("requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods"),
    *("resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims"),
    *("services.nodeports", "services.loadbalancers", "storage"),
)
_QUOTA_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
    *("CrossNamespacePodAffinity", "VolumeAttributesClass"),
)


_ONLY_EXISTS = (
    "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def validate_resource_quota_create(quota: Object) -> list[Cause]:
    errors = validate_metadata(quota["metadata"], True, dns_subdomain)
    spec = quota["spec"]
    for name, amount in spec.get("hard", {}).items():
        errors += _validate_quota_resource(f"spec.hard[{name}]", name)
        errors += validate_quantity_value(f"spec.hard[{name}]", name, amount)
    return errors + _validate_quota_scopes(spec)


def _validate_quota_resource(path: str, name: str) -> list[Cause]:
    errors = validate_resource_name(path, name)
    is_known = name in _QUOTA_RESOURCES or name.startswith(("requests.hugepages-", "hugepages-"))
    if "/" not in name and not is_known:
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def _validate_quota_scopes(spec: Object) -> list[Cause]:
    scopes = list(spec.get("scopes", ()))
    errors: list[Cause] = []
    for scope in scopes:
        if scope not in _QUOTA_SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
        for name in spec.get("hard", {}):
            if scope in _QUOTA_SCOPES and not _scope_allows(scope, name):
                errors.append(invalid("spec.scopes", scopes, "unsupported scope applied to resource"))
    for requirement in spec.get("scopeSelector", {}).get("matchExpressions", ()):
        errors += _validate_scope_requirement("spec.scopeSelector.matchExpressions", requirement)
    for pair in (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")):
        if all(scope in scopes for scope in pair):
            errors.append(invalid("spec.scopes", scopes, "conflicting scopes"))
    return errors


def _validate_scope_requirement(path: str, requirement: Object) -> list[Cause]:
    errors: list[Cause] = []
    scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
    values = requirement.get("values", [])
    if scope not in _QUOTA_SCOPES:
        errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
    elif scope not in ("PriorityClass", "VolumeAttributesClass") and operator != "Exists":
        detail = (
            "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
        )
        detail += "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
        detail += "ResourceQuotaScopeCrossNamespacePodAffinity"
        errors.append(invalid(f"{path}.operator", operator, detail))
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(required(f"{path}.values", detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector"
            errors.append(invalid(f"{path}.values", list(values), detail))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    return errors


def _scope_allows(scope: str, resource: str) -> bool:
    if scope == "BestEffort":
        return resource == "pods"
    if scope == "VolumeAttributesClass":
        return "storage" in resource or resource == "persistentvolumeclaims"
    computed = ("pods", "cpu", "memory", "ephemeral-storage")
    return resource.removeprefix("requests.").removeprefix("limits.") in computed


def validate_limit_range(limit_range: Object) -> list[Cause]:
    errors = validate_metadata(limit_range["metadata"], True, dns_subdomain)
    seen: list[str] = []
    for index, item in enumerate(limit_range["spec"].get("limits") or ()):
        where, kind = f"spec.limits[{index}]", item.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{where}.type", kind))
        seen.append(kind)
        names = dict.fromkeys(n for k in ("max", "min", "default", "defaultRequest") for n in item.get(k, {}))
        for name in names:
            errors += _validate_limits(where, name, item)
    return errors


def _validate_limits(path: str, name: str, item: Object) -> list[Cause]:
    """Upstream's messages name one value and show another."""
    amounts = {k: item[k][name] for k in ("min", "max", "default", "defaultRequest") if name in item.get(k, {})}
    words = {k: f"{w} value" for k, w in (("min", "min"), ("max", "max"), ("default", "default"))}
    words["defaultRequest"] = "default request value"

    def above(low: str, high: str, at: str, shown: str) -> list[Cause]:
        if low not in amounts or high not in amounts:
            return []
        if parse_quantity(amounts[low]).cmp(parse_quantity(amounts[high])) <= 0:
            return []
        detail = f"{words[low]} {amounts[low]} is greater than {words[high]} {amounts[high]}"
        return [invalid(f"{path}.{at}[{name}]", amounts[shown], detail)]

    errors = above("min", "max", "min", "min")
    errors += above("min", "defaultRequest", "defaultRequest", "defaultRequest")
    errors += above("defaultRequest", "max", "defaultRequest", "defaultRequest")
    errors += above("defaultRequest", "default", "defaultRequest", "defaultRequest")
    errors += above("min", "default", "default", "min")
    return errors + above("default", "max", "default", "max")


_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def validate_claim_create(claim: Object) -> list[Cause]:
    return validate_metadata(claim["metadata"], True, dns_subdomain) + _validate_claim_spec(claim["spec"])


def _validate_claim_spec(spec: Object) -> list[Cause]:
    errors: list[Cause] = []
    modes = list(spec.get("accessModes", ()))
    if not modes:
        errors.append(required("spec.accessModes", "at least 1 access mode is required"))
    errors += validate_label_selector("spec.selector", spec.get("selector"))
    errors += [not_supported("spec.accessModes", mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        detail = "may not use ReadWriteOncePod with other access modes"
        errors.append(forbidden("spec.accessModes", detail))
    requests = spec.get("resources", {}).get("requests", {})
    if "storage" not in requests:
        errors.append(required("spec.resources[storage]"))
    else:
        amount = parse_quantity(requests["storage"])
        if amount.sign < 0 or amount.is_zero:
            errors.append(invalid("spec.resources[storage]", str(amount), "must be greater than zero"))
    name = spec.get("storageClassName", "")
    errors += each("spec.storageClassName", name, is_dns1123_subdomain(name)) if name else []
    mode = spec.get("volumeMode")
    if mode not in ("Block", "Filesystem", None):
        errors.append(not_supported("spec.volumeMode", mode, ("Block", "Filesystem")))
    return errors


def validate_claim_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    errors += validate_claim_create(new)
    spec, before = new["spec"], old["spec"]
    is_bound = new.get("status", {}).get("phase") == "Bound"
    fixed = dict(spec)
    if not before.get("volumeName"):
        fixed.pop("volumeName", None)
    if "storageClassName" not in before:
        fixed.pop("storageClassName", None)
    if is_bound:
        fixed["resources"] = before.get("resources", {})
    if fixed != {**before}:
        detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName"
        errors.append(forbidden("spec", f"{detail} for bound claims\nchanged"))
    size, was = (parse_quantity(s.get("resources", {}).get("requests", {}).get("storage", "0")) for s in (spec, before))
    status_size = parse_quantity(old.get("status", {}).get("capacity", {}).get("storage", "0"))
    if size.cmp(was) < 0 and size.cmp(status_size) <= 0:
        errors.append(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    return errors


_NOT_VOLUME_SOURCES = (
    *("accessModes", "capacity", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName"),
    *("mountOptions", "volumeMode", "nodeAffinity", "volumeAttributesClassName"),
)


def validate_persistent_volume_create(volume: Object) -> list[Cause]:
    errors = validate_metadata(volume["metadata"], False, dns_subdomain)
    spec = volume["spec"]
    if not spec.get("accessModes"):
        errors.append(required("spec.accessModes"))
    errors += [
        not_supported("spec.accessModes", mode, _ACCESS_MODES)
        for mode in spec.get("accessModes", ())
        if mode not in _ACCESS_MODES
    ]
    capacity = spec.get("capacity", {})
    if not capacity:
        errors.append(required("spec.capacity"))
    if "storage" not in capacity or len(capacity) > 1:
        errors.append(not_supported("spec.capacity", dict(capacity) or None, ("storage",)))
    for name, amount in capacity.items():
        errors += validate_quantity_value(f"spec.capacity[{name}]", name, amount)
    if all(key in _NOT_VOLUME_SOURCES for key in spec):
        errors.append(required("spec", "must specify a volume type"))
    return errors
