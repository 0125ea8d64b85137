"""Fields that are stored and change nothing here: "ready" means ready as far as the simulation looks.

Upstream: none. The list follows the `Simplified:` notes of the kubelet, the scheduler and the controllers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, gvk_of

__all__ = ["not_simulated"]

_TEMPLATED = (GVK("apps", "", "Deployment"), GVK("apps", "", "ReplicaSet"))
_POD_FIELDS = ("runtimeClassName", "resourceClaims")
_CONTAINER_FIELDS = ("command", "args", "envFrom", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_HARMLESS_VOLUMES = ("emptyDir", "projected", "downwardAPI", "persistentVolumeClaim", "ephemeral")


def not_simulated(obj: Object) -> list[str]:
    """Paths of the fields of `obj` that would matter in a real cluster and are ignored here, in its own order.

    >>> not_simulated({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [
    ...     {"name": "c", "command": ["false"], "readinessProbe": {"initialDelaySeconds": 5}}]}})
    ['spec.containers[0].command', 'spec.containers[0].readinessProbe']
    """
    kind = gvk_of(obj)._replace(version="")
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return []
    if kind == GVK("", "", "Pod"):
        return list(_of_pod(spec, "spec"))
    if kind in _TEMPLATED:
        template = spec.get("template")
        pod = template.get("spec") if isinstance(template, dict) else None
        return list(_of_pod(pod, "spec.template.spec")) if isinstance(pod, dict) else []
    if kind == GVK("", "", "Service") and spec.get("type") == "LoadBalancer":
        return ["spec.type: LoadBalancer"]
    return []


def _of_pod(spec: dict[str, Any], at: str) -> Iterator[str]:
    for name in _POD_FIELDS:
        if spec.get(name):
            yield f"{at}.{name}"
    for index, volume in enumerate(_dicts(spec.get("volumes"))):
        for source in volume:
            if source != "name" and source not in _HARMLESS_VOLUMES:
                yield f"{at}.volumes[{index}].{source}"
    for group in ("initContainers", "containers"):
        for index, container in enumerate(_dicts(spec.get(group))):
            yield from (f"{at}.{group}[{index}].{name}" for name in _CONTAINER_FIELDS if container.get(name))
            for number, variable in enumerate(_dicts(container.get("env"))):
                if "valueFrom" in variable:
                    yield f"{at}.{group}[{index}].env[{number}].valueFrom"


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
