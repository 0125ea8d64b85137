"""Score: Nodes that have the Pod's images already.

Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go
Simplified: an image counts with the size its own Node reports; upstream's cache keeps the size it saw first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import MAX_NODE_SCORE, CycleState, Handle, NodeInfo

__all__ = ["ImageLocality"]

_MB = 1024 * 1024
MIN_THRESHOLD = 23 * _MB
MAX_CONTAINER_THRESHOLD = 1000 * _MB


def normalized_image_name(name: str) -> str:
    """An image name with its tag: `:latest` where there is none.

    >>> normalized_image_name("reg.io:5000/a"), normalized_image_name("a:1")
    ('reg.io:5000/a:latest', 'a:1')
    """
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


class ImageLocality:
    """0 up to 23 MB of the Pod's images on the Node, 100 from 1,000 MB an image on.

    An image that only few Nodes have counts for less, by their share of all Nodes. Otherwise the first Node to pull
    an image would draw all its Pods.
    """

    name = "ImageLocality"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        """The megabytes already there, between the thresholds, scaled to 0 to 100."""
        if not node.images:
            return 0
        spec = pod["spec"]
        containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
        volumes = [volume["image"] for volume in spec.get("volumes") or () if volume.get("image") is not None]
        wanted = [container.get("image") or "" for container in containers]
        wanted += [image.get("reference") or "" for image in volumes]
        present = sum(self._scaled_size(node, normalized_image_name(image)) for image in wanted)
        most = MAX_CONTAINER_THRESHOLD * len(containers)  # image volumes add to what is there, not to the most
        if present < MIN_THRESHOLD:
            return 0
        return MAX_NODE_SCORE * (min(present, most) - MIN_THRESHOLD) // (most - MIN_THRESHOLD)

    def _scaled_size(self, node: NodeInfo, name: str) -> int:
        """The bytes of an image on the Node, times the share of Nodes that have it; 0 when it is not there."""
        if name not in node.images:
            return 0
        snapshot = self._handle.snapshot()
        # In upstream's order of operations: the quotient is rounded before it meets the size.
        return int(float(node.images[name]) * (snapshot.image_nodes[name] / len(snapshot.nodes)))
