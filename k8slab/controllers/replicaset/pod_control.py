"""Making a Pod from a template, creating and deleting Pods with an event about each.

Upstream: pkg/controller/controller_utils.go (RealPodControl, GetPodFromTemplate)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.names import is_dns1123_subdomain
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, PODS
from k8slab.client import Client, EventRecorder
from k8slab.controllers.controller_ref import new_controller_ref
from k8slab.controllers.status_cause import has_namespace_terminating_cause

__all__ = ["PodControl", "pod_from_template"]


def pod_from_template(template: Object, owner: Object, gvk: GVK) -> dict[str, Any]:
    """The Pod to create: labels, annotations, finalizers and spec of the template, a name to be generated, and
    `owner` as its controller."""
    metadata = template.get("metadata") or {}
    prefix = f"{owner['metadata']['name']}-"
    made: dict[str, Any] = {
        # the dash makes names prettier; it is dropped where the name would be too long for it
        "generateName": prefix if not is_dns1123_subdomain(prefix + "a") else prefix[:-1],
        "namespace": owner["metadata"].get("namespace") or "",
        "labels": dict(metadata.get("labels") or {}),
        "ownerReferences": [new_controller_ref(owner, gvk)],
    }
    if metadata.get("annotations"):
        made["annotations"] = dict(metadata["annotations"])
    if metadata.get("finalizers"):
        made["finalizers"] = list(metadata["finalizers"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template.get("spec") or {}}


class PodControl:
    """Creates and deletes the Pods of controllers. `on_write(owner, pod)` hears of every Pod written."""

    def __init__(self, client: Client, recorder: EventRecorder, on_write: Callable[[Object, Object], None]) -> None:
        self.client = client
        self.recorder = recorder
        self.on_write = on_write

    async def create(self, template: Object, owner: Object, gvk: GVK) -> None:
        """Raises what the creation failed with, after an event about it."""
        try:
            pod = await self.client.create(PODS, pod_from_template(template, owner, gvk))
        except (StatusError, TimeoutError) as error:
            if not has_namespace_terminating_cause(error):
                self.recorder.event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        self.on_write(owner, pod)
        self.recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")

    async def delete(self, pod: Object, owner: Object) -> None:
        """Raises what the deletion failed with; a Pod that is gone already makes no event."""
        name = pod["metadata"]["name"]
        try:
            await self.client.delete(PODS, name, pod["metadata"].get("namespace") or "")
        except NotFoundError:
            raise
        except (StatusError, TimeoutError) as error:
            self.recorder.event(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        self.recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")
