"""Bind: write the Binding, which sets `spec.nodeName` on the server.

Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import GVR
from k8slab.scheduler.framework import SUCCESS, Code, CycleState, Handle, Status, namespace_of

__all__ = ["DefaultBinder", "bind"]

_PODS = GVR("", "v1", "pods")


class DefaultBinder:
    name = "DefaultBinder"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle

    async def bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """Error when the API server refuses (the Pod is bound already, or gone) or the outcome is unknown."""
        try:
            await bind(self._handle.client, pod, node_name)
        except (StatusError, TimeoutError) as error:
            return Status(Code.ERROR, str(error))
        return SUCCESS


async def bind(client: Any, pod: Object, node_name: str) -> None:
    """POST the Binding. Raises a StatusError, or TimeoutError: the outcome is unknown."""
    metadata = pod["metadata"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {key: metadata[key] for key in ("name", "namespace", "uid") if metadata.get(key)},
        "target": {"kind": "Node", "name": node_name},
    }
    await client.create_subresource(_PODS, namespace_of(pod), metadata["name"], "binding", binding)
