"""Limits of local storage: a Pod that wrote more than it may is evicted, however much room the node has.

Upstream: pkg/kubelet/eviction/eviction_manager.go (localStorageEviction)
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.api.pod_requests import pod_limits, resource_list
from k8slab.api.quantity import Quantity, quantity
from k8slab.kubelet.eviction.stats import FsStats, PodStats

__all__ = ["exceeded_limit"]


def exceeded_limit(pod: Object, stats: PodStats, *, dedicated_image_fs: bool) -> tuple[str, str] | None:
    """(signal, message) of the first limit that is exceeded: an emptyDir's, the Pod's, a container's. None: none is."""
    return (
        _empty_dir(pod, stats) or _whole_pod(pod, stats) or _container(pod, stats, with_rootfs=not dedicated_image_fs)
    )


def _empty_dir(pod: Object, stats: PodStats) -> tuple[str, str] | None:
    used = {volume.name: volume.fs.used_bytes or 0 for volume in stats.volumes}
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        limit = (volume.get("emptyDir") or {}).get("sizeLimit")
        name = volume["name"]
        if limit is None or name not in used:
            continue
        size = quantity(limit)
        if size.sign > 0 and Quantity(used[name]).cmp(size) > 0:
            return "emptydirfs.limit", f'Usage of EmptyDir volume "{name}" exceeds the limit "{size}". '
    return None


def _whole_pod(pod: Object, stats: PodStats) -> tuple[str, str] | None:
    limit = pod_limits(pod).get("ephemeral-storage")
    if limit is None or Quantity(stats.ephemeral_storage or 0).cmp(limit) <= 0:
        return None
    return "ephemeralpodfs.limit", f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "


def _container(pod: Object, stats: PodStats, *, with_rootfs: bool) -> tuple[str, str] | None:
    limits = {}
    for container in (pod.get("spec") or {}).get("containers") or ():
        limit = resource_list((container.get("resources") or {}).get("limits")).get("ephemeral-storage")
        if limit is not None and limit.value() != 0:
            limits[container["name"]] = limit
    for one in stats.containers:
        used = _used(one.logs) + (_used(one.rootfs) if with_rootfs else 0)
        if one.name in limits and limits[one.name].cmp(Quantity(used)) < 0:
            text = f'Container {one.name} exceeded its local ephemeral storage limit "{limits[one.name]}". '
            return "ephemeralcontainerfs.limit", text
    return None


def _used(disk: FsStats | None) -> int:
    return (disk.used_bytes or 0) if disk is not None else 0
