"""What the node can throw away before it evicts anybody: dead containers, then images that nothing runs from.

Upstream: pkg/kubelet/eviction/helpers.go (buildSignalToNodeReclaimFuncs)
"""

from __future__ import annotations

from k8slab.kubelet.eviction.signals import Signal

__all__ = ["DELETE_CONTAINERS", "DELETE_IMAGES", "reclaim_deeds"]

DELETE_CONTAINERS = "DeleteAllUnusedContainers"
DELETE_IMAGES = "DeleteUnusedImages"


def reclaim_deeds(*, image_fs: bool, separate_container_image_fs: bool) -> dict[str, tuple[str, ...]]:
    """For each signal of a disk, what helps, in order. Memory and processes: nothing but evictions."""
    node: tuple[str, ...]
    image: tuple[str, ...]
    container: tuple[str, ...]
    both = (DELETE_CONTAINERS, DELETE_IMAGES)
    if not image_fs:
        node = image = container = both
    elif separate_container_image_fs:
        node = container = (DELETE_CONTAINERS,)
        image = (DELETE_IMAGES,)
    else:
        node, image, container = (), both, both
    return {
        Signal.NODE_FS_AVAILABLE: node,
        Signal.NODE_FS_INODES_FREE: node,
        Signal.IMAGE_FS_AVAILABLE: image,
        Signal.IMAGE_FS_INODES_FREE: image,
        Signal.CONTAINER_FS_AVAILABLE: container,
        Signal.CONTAINER_FS_INODES_FREE: container,
    }
