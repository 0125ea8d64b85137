"""Defaults of Pods and pod templates.

Upstream: pkg/apis/core/v1/defaults.go (SetDefaults_Pod, _PodSpec, _Container, _Probe, _Volume, ...)
"""

from __future__ import annotations

import re
from typing import Any

from k8slab.api.pods import DEFAULT_SCHEDULER_NAME
from k8slab.api.quantity import Quantity

__all__ = ["image_tag", "round_up_resources", "set_claim_spec_defaults", "set_pod_defaults", "set_pod_spec_defaults"]

_COMPONENT = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_HOST_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])"
_IMAGE = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?P<tag>:[\w][\w.-]{0,127})?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
).fullmatch
_CONTAINER_LISTS = ("containers", "initContainers")
_POD_LEVEL_RESOURCES = ("cpu", "memory", "hugepages-")


def set_pod_defaults(pod: dict[str, Any]) -> None:
    """A Pod: what its spec gets, and what only Pods get (templates do not)."""
    spec = pod["spec"]
    for name in _CONTAINER_LISTS:
        for container in spec.get(name, ()):
            _default_requests_to_limits(container["resources"])
    _default_pod_level_resources(pod)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for name in _CONTAINER_LISTS:
            for container in spec.get(name, ()):
                for port in container.get("ports", ()):
                    port.setdefault("hostPort", port["containerPort"])
    set_pod_spec_defaults(spec)


def _default_requests_to_limits(resources: dict[str, Any]) -> None:
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **resources.get("requests", {})}


def _default_pod_level_resources(pod: dict[str, Any]) -> None:
    resources = pod["spec"].get("resources")
    if not resources or not (resources.get("limits") or resources.get("requests")):
        return
    from k8slab.api.pod_requests import aggregate_container_limits, aggregate_container_requests

    limits, requests = dict(resources.get("limits", {})), dict(resources.get("requests", {}))
    for name, total in aggregate_container_limits(pod).items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, str(total))
    if limits:
        for name, total in aggregate_container_requests(pod).items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, str(total))
        for name, limit in limits.items():
            if name.startswith(_POD_LEVEL_RESOURCES):
                requests.setdefault(name, limit)
        resources["limits"] = limits
    if requests:
        resources["requests"] = requests


def set_pod_spec_defaults(spec: dict[str, Any]) -> None:
    """A pod spec, in a Pod or in a template."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", DEFAULT_SCHEDULER_NAME)
    for volume in spec.get("volumes", ()):
        _set_volume_defaults(volume)
    for name in (*_CONTAINER_LISTS, "ephemeralContainers"):
        for container in spec.get(name, ()):
            _set_container_defaults(container)
    round_up_resources(spec.get("overhead"))
    for resources in (spec.get("resources") or {}).values():
        if isinstance(resources, dict):
            round_up_resources(resources)


def image_tag(image: str) -> str:
    """The tag of an image reference: `latest` when neither tag nor digest is there, empty when it cannot be parsed."""
    match = _IMAGE(image)
    if match is None:
        return ""
    tag, digest = match["tag"], match["digest"]
    return str(tag[1:]) if tag else "" if digest else "latest"


def _pull_policy(image: str) -> str:
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"


def _set_container_defaults(container: dict[str, Any]) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        source = variable.get("valueFrom", {})
        _set_field_ref_defaults(source)
        if "fileKeyRef" in source:
            source["fileKeyRef"].setdefault("optional", False)
    for kind in ("limits", "requests"):
        round_up_resources(container["resources"].get(kind))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            _set_probe_defaults(container[name])
    for handler in container.get("lifecycle", {}).values():
        if isinstance(handler, dict):
            _set_http_get_defaults(handler)


def round_up_resources(resources: dict[str, Any] | None) -> None:
    """Quantities with less than a thousandth are rounded up to one: the API keeps no finer values."""
    if resources:
        for name, quantity in resources.items():
            resources[name] = _rounded_up(quantity)


def _rounded_up(text: str) -> str:
    return str(Quantity.parse(text).round_up(-3)[0])


def _set_field_ref_defaults(source: dict[str, Any]) -> None:
    if "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")


def _set_probe_defaults(probe: dict[str, Any]) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        probe.setdefault(name, value)
    _set_http_get_defaults(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _set_http_get_defaults(handler: dict[str, Any]) -> None:
    if "httpGet" in handler:
        handler["httpGet"].setdefault("path", "/")
        handler["httpGet"].setdefault("scheme", "HTTP")


def _set_volume_defaults(volume: dict[str, Any]) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    for source in ("secret", "configMap", "downwardAPI", "projected"):
        if source in volume:
            volume[source].setdefault("defaultMode", 0o644)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if "image" in volume:
        volume["image"].setdefault("pullPolicy", _pull_policy(volume["image"].get("reference", "")))
    for item in volume.get("downwardAPI", {}).get("items", ()):
        _set_field_ref_defaults(item)
    for projection in volume.get("projected", {}).get("sources", ()):
        if "serviceAccountToken" in projection:
            projection["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        for item in projection.get("downwardAPI", {}).get("items", ()):
            _set_field_ref_defaults(item)
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if template:
        set_claim_spec_defaults(template["spec"])
    _set_published_defaults(volume)


_PUBLISHED: dict[str, dict[str, Any]] = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def _set_published_defaults(volume: dict[str, Any]) -> None:
    for source, values in _PUBLISHED.items():
        if source in volume:
            volume[source] = {**values, **volume[source]}


def set_claim_spec_defaults(spec: dict[str, Any]) -> None:
    """The spec of a PersistentVolumeClaim, alone or in a template."""
    spec.setdefault("volumeMode", "Filesystem")
    for kind in ("limits", "requests"):
        round_up_resources(spec["resources"].get(kind))
