"""Volumes of a Pod, and what containers mount of them.

Upstream: pkg/apis/core/validation/validation.go (ValidateVolumes, validateVolumeSource, ValidateVolumeMounts)
Simplified: sources of cloud and storage plugins other than nfs and csi are only counted, not looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1123_label, is_dns1123_subdomain
from k8slab.api.quantity import quantity as parse_quantity
from k8slab.api.schema import fields_of
from k8slab.api.validation.environment import VOLUME_FIELDS, validate_field_ref, validate_resource_field_ref
from k8slab.api.validation.field import duplicate, each, forbidden, invalid, not_found, not_supported, required

__all__ = ["validate_local_path", "validate_volume_mounts", "validate_volumes"]

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_BAD_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
Source = Mapping[str, Any]


def validate_volumes(path: str, volumes: Sequence[Source]) -> tuple[list[Cause], dict[str, Source]]:
    """The errors, and the valid volumes by name: only those can be mounted."""
    errors: list[Cause] = []
    valid: dict[str, Source] = {}
    for index, volume in enumerate(volumes):
        where, name = f"{path}[{index}]", volume.get("name", "")
        found = _validate_source(where, volume)
        found += each(f"{where}.name", name, is_dns1123_label(name)) if name else [required(f"{where}.name")]
        if name in valid:
            found.append(duplicate(f"{where}.name", name))
        if found:
            errors += found
        else:
            valid[name] = volume
    return errors, valid


def _validate_source(path: str, volume: Source) -> list[Cause]:
    errors: list[Cause] = []
    kinds = [kind for kind in fields_of("core.Volume") if kind != "name" and kind in volume]
    kinds.sort(key=lambda kind: (kind != "emptyDir", _LATE.get(kind, 0)))
    for position, kind in enumerate(kinds):
        if position and kind != "emptyDir":
            errors.append(forbidden(f"{path}.{kind}", "may not specify more than 1 volume type"))
        elif kind in _SOURCES:
            errors += _SOURCES[kind](f"{path}.{kind}", volume[kind])
    if not kinds:
        errors.append(required(path, "must specify a volume type"))
    return errors


_LATE = {kind: n for n, kind in enumerate(("secret", "nfs", "persistentVolumeClaim", "downwardAPI", "configMap"), 1)}
_LATE |= {"projected": 6, "csi": 7, "ephemeral": 8, "image": 9}


def _no_backsteps(path: str, target: str) -> list[Cause]:
    return [invalid(path, target, "must not contain '..'")] if ".." in target.split("/") else []


def validate_local_path(path: str, target: str) -> list[Cause]:
    """A path below some folder: relative, and without `..`."""
    errors = [invalid(path, target, "must be a relative path")] if target.startswith("/") else []
    return errors + _no_backsteps(path, target)


def _validate_file_path(path: str, target: str) -> list[Cause]:
    errors = validate_local_path(path, target)
    if target.startswith("..") and not target.startswith("../") and target != "..":
        errors.append(invalid(path, target, "must not start with '..'"))
    return errors


def _empty_dir(path: str, source: Source) -> list[Cause]:
    if "sizeLimit" in source and parse_quantity(source["sizeLimit"]).sign < 0:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _host_path(path: str, source: Source) -> list[Cause]:
    target = source.get("path", "")
    if not target:
        return [required(f"{path}.path")]
    errors = _no_backsteps(f"{path}.path", target)
    if source.get("type", "") not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", source["type"], _HOST_PATH_TYPES))
    return errors


def _mode(path: str, source: Source, key: str) -> list[Cause]:
    mode = source.get(key)
    return [invalid(f"{path}.{key}", mode, _BAD_MODE)] if mode is not None and not 0 <= mode <= 0o777 else []


def _items(path: str, source: Source) -> list[Cause]:
    errors: list[Cause] = []
    for index, item in enumerate(source.get("items", ())):
        where = f"{path}.items[{index}]"
        if not item.get("key"):
            errors.append(required(f"{where}.key"))
        if item.get("path"):
            errors += _validate_file_path(f"{where}.path", item["path"])
        else:
            errors.append(required(f"{where}.path"))
        errors += _mode(where, item, "mode")
    return errors


def _secret(path: str, source: Source) -> list[Cause]:
    errors = [] if source.get("secretName") else [required(f"{path}.secretName")]
    return errors + _mode(path, source, "defaultMode") + _items(path, source)


def _config_map(path: str, source: Source) -> list[Cause]:
    errors = [] if source.get("name") else [required(f"{path}.name")]
    return errors + _mode(path, source, "defaultMode") + _items(path, source)


def _nfs(path: str, source: Source) -> list[Cause]:
    errors = [] if source.get("server") else [required(f"{path}.server")]
    target = source.get("path", "")
    if not target:
        errors.append(required(f"{path}.path"))
    elif not target.startswith("/"):
        errors.append(invalid(f"{path}.path", target, "must be an absolute path"))
    return errors


def _claim(path: str, source: Source) -> list[Cause]:
    return [] if source.get("claimName") else [required(f"{path}.claimName")]


def _downward_api(path: str, source: Source) -> list[Cause]:
    errors = _mode(path, source, "defaultMode")
    for item in source.get("items", ()):
        errors += _downward_file(path, item)
    return errors


def _downward_file(path: str, item: Source) -> list[Cause]:
    errors = _validate_file_path(f"{path}.path", item["path"]) if item.get("path") else [required(f"{path}.path")]
    if "fieldRef" in item:
        errors += validate_field_ref(f"{path}.fieldRef", item["fieldRef"], VOLUME_FIELDS)
        if "resourceFieldRef" in item:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", detail))
    elif "resourceFieldRef" in item:
        errors += validate_resource_field_ref(f"{path}.resourceFieldRef", item["resourceFieldRef"], is_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + _mode(path, item, "mode")


def _projected(path: str, source: Source) -> list[Cause]:
    errors = _mode(path, source, "defaultMode")
    for index, projection in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{index}]"
        for position, (kind, value) in enumerate(projection.items()):
            if position:
                errors.append(forbidden(f"{where}.{kind}", "may not specify more than 1 volume type"))
            else:
                errors += _projection(f"{where}.{kind}", kind, value)
    return errors


def _projection(path: str, kind: str, source: Source) -> list[Cause]:
    if kind in ("secret", "configMap"):
        return ([] if source.get("name") else [required(f"{path}.name")]) + _items(path, source)
    if kind == "downwardAPI":
        return [error for item in source.get("items", ()) for error in _downward_file(path, item)]
    errors: list[Cause] = []
    if kind == "serviceAccountToken":
        seconds = source.get("expirationSeconds", 3600)
        if seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, detail))
        if seconds > 1 << 32:
            detail = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, detail))
        if source.get("path"):
            errors += _validate_file_path(f"{path}.path", source["path"])
        else:
            errors.append(required(f"{path}.path"))
    return errors


def _csi(path: str, source: Source) -> list[Cause]:
    driver = source.get("driver", "")
    return (
        each(f"{path}.driver", driver, is_dns1123_subdomain(driver.lower())) if driver else [required(f"{path}.driver")]
    )


def _ephemeral(path: str, source: Source) -> list[Cause]:
    return [] if source.get("volumeClaimTemplate") else [required(f"{path}.volumeClaimTemplate")]


def _image(path: str, source: Source) -> list[Cause]:
    errors = [] if source.get("reference") else [required(f"{path}.reference")]
    policy = source.get("pullPolicy", "Always")
    if policy not in ("Always", "IfNotPresent", "Never"):
        errors.append(not_supported(f"{path}.pullPolicy", policy, ("Always", "IfNotPresent", "Never")))
    return errors


_SOURCES: dict[str, Callable[[str, Source], list[Cause]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _secret,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward_api,
    "configMap": _config_map,
    "projected": _projected,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}


def validate_volume_mounts(path: str, container: Source, volumes: Mapping[str, Source]) -> list[Cause]:
    """`volumeMounts` and `volumeDevices` of the container at `path`."""
    devices = container.get("volumeDevices", ())
    device_names = [device.get("name") for device in devices]
    device_paths = [device.get("devicePath") for device in devices]
    errors: list[Cause] = []
    seen: list[str] = []
    for index, mount in enumerate(container.get("volumeMounts", ())):
        where, name, target = f"{path}.volumeMounts[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{where}.name"))
        if name not in volumes:
            errors.append(not_found(f"{where}.name", name))
        if not target:
            errors.append(required(f"{where}.mountPath"))
        if target in seen:
            errors.append(invalid(f"{where}.mountPath", target, "must be unique"))
        seen.append(target)
        if name in device_names:
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeDevices"))
        if target in device_paths:
            errors.append(invalid(f"{where}.mountPath", target, "must not already exist as a path in volumeDevices"))
        errors += _validate_sub_paths(f"{path}.volumeMounts", where, mount, volumes.get(name, {}))
        errors += _validate_propagation(f"{path}.volumeMounts", mount, container)
    return errors + _validate_devices(path, container, volumes)


def _validate_sub_paths(list_path: str, path: str, mount: Source, volume: Source) -> list[Cause]:
    """Upstream names the list, not the element, in these errors."""
    errors: list[Cause] = []
    for key in ("subPath", "subPathExpr"):
        target = mount.get(key)
        if not target:
            continue
        if "image" in volume:
            errors.append(invalid(f"{path}.{key}", target, "not allowed in image volume sources"))
        if key == "subPathExpr" and mount.get("subPath"):
            errors.append(invalid(f"{path}.{key}", target, "subPathExpr and subPath are mutually exclusive"))
        errors += validate_local_path(f"{list_path}.{key}", target)
    return errors


def _validate_propagation(path: str, mount: Source, container: Source) -> list[Cause]:
    propagation = mount.get("mountPropagation")
    if propagation is None:
        return []
    supported = ("Bidirectional", "HostToContainer", "None")
    if propagation not in supported:
        return [not_supported(f"{path}.mountPropagation", propagation, supported)]
    if propagation == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        return [forbidden(f"{path}.mountPropagation", detail)]
    return []


def _validate_devices(path: str, container: Source, volumes: Mapping[str, Source]) -> list[Cause]:
    mounts = container.get("volumeMounts", ())
    errors: list[Cause] = []
    names: list[str] = []
    paths: list[str] = []
    for index, device in enumerate(container.get("volumeDevices", ())):
        where, name, target = f"{path}.volumeDevices[{index}]", device.get("name", ""), device.get("devicePath", "")
        volume = volumes.get(name)
        if not name:
            errors.append(required(f"{where}.name"))
        if name in names:
            errors.append(invalid(f"{where}.name", name, "must be unique"))
        if volume is None:
            errors.append(not_found(f"{where}.name", name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{where}.name", name, detail))
        if not target:
            errors.append(required(f"{where}.devicePath"))
        if target in paths:
            errors.append(invalid(f"{where}.devicePath", target, "must be unique"))
        if target and ".." in target.split("/"):
            errors.append(invalid(f"{where}.devicePath", target, "can not contain backsteps ('..')"))
        if any(mount.get("name") == name for mount in mounts):
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeMounts"))
        if any(mount.get("mountPath") == target for mount in mounts):
            errors.append(invalid(f"{where}.devicePath", target, "must not already exist as a path in volumeMounts"))
        names.append(name)
        paths.append(target)
    return errors
