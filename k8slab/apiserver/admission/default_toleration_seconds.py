"""Pods stay five minutes on a node that is not ready or unreachable, unless they say otherwise.

Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go
"""

from __future__ import annotations

from k8slab.api.objects import Object, freeze
from k8slab.apiserver.admission.attributes import Attributes, Lister

__all__ = ["DefaultTolerationSeconds"]

SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATIONS = {
    key: freeze({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS})
    for key in _TAINTS
}


class DefaultTolerationSeconds:
    name = "DefaultTolerationSeconds"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Adds the tolerations that are missing, on create and on update."""
        pod = attributes.object
        if attributes.operation == "DELETE" or attributes.resource.group_resource != "pods" or pod is None:
            return None
        if attributes.subresource:
            return None
        spec = pod.get("spec") or {}
        tolerations = spec.get("tolerations") or ()
        missing = [key for key in _TAINTS if not any(_covers(toleration, key) for toleration in tolerations)]
        if not missing:
            return None
        added = [_TOLERATIONS[key] for key in missing]
        return {**pod, "spec": {**spec, "tolerations": [*tolerations, *added]}}


def _covers(toleration: Object, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")
