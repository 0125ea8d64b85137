"""Writing sizes: one ReplicaSet, all of them in proportion, and deleting those nobody needs.

Upstream: pkg/controller/deployment/sync.go (sync, scale, scaleReplicaSet, cleanupDeployment)
"""

from __future__ import annotations

from k8slab.api.errors import NotFoundError
from k8slab.api.objects import Object
from k8slab.api.scheme import REPLICASETS
from k8slab.controllers.deployment.fenceposts import fenceposts_of, is_rolling_update
from k8slab.controllers.deployment.new_replica_set import find_revisions, scaled_event
from k8slab.controllers.deployment.picture import Picture
from k8slab.controllers.deployment.proportional import find_active_or_latest, proportional_sizes
from k8slab.controllers.deployment.replica_sets import cleanable, is_saturated, replicas_of, resized, size_of
from k8slab.controllers.deployment.revisions import rollback_to

__all__ = ["clean_up", "scale", "scale_and_report", "write_size"]


async def scale_and_report(picture: Picture) -> None:
    """For a change of spec.replicas, and while paused: no rolling, only proportional scaling."""
    await find_revisions(picture, create=False)
    await _scale_proportionally(picture)
    if picture.deployment["spec"].get("paused") and rollback_to(picture.deployment) is None:
        await clean_up(picture)
    await picture.report()


async def _scale_proportionally(picture: Picture) -> None:
    deployment = picture.deployment
    desired = deployment["spec"]["replicas"]
    new = size_of(picture.new) if picture.new is not None else None
    single = find_active_or_latest(new, [size_of(rs) for rs in picture.old])
    by_name = {rs["metadata"]["name"]: rs for rs in picture.all}
    if single is not None:
        await scale(picture, by_name[single.name], desired)
    elif is_saturated(deployment, picture.new):
        for rs in picture.old:
            await scale(picture, rs, 0)
    elif is_rolling_update(deployment):
        surge = fenceposts_of(deployment).surge
        total = picture.status.get("replicas") or 0
        for name, size in proportional_sizes(desired, surge, total, [size_of(rs) for rs in picture.all]):
            await write_size(picture, by_name[name], size)


async def scale(picture: Picture, rs: Object, replicas: int) -> bool:
    """Whether a new size was written."""
    if replicas_of(rs) == replicas:
        return False
    await write_size(picture, rs, replicas)
    return True


async def write_size(picture: Picture, rs: Object, replicas: int) -> Object:
    """Write the size and the annotations about the Deployment's size, if either differs. Returns the ReplicaSet as it
    is then."""
    changed = resized(picture.deployment, rs, replicas)
    if changed is None:
        return rs
    name, before = rs["metadata"]["name"], replicas_of(rs)
    if before != replicas:
        picture.emit("deployment.scale", replica_set=name, before=before, after=replicas)
    written = await picture.around.client.update(REPLICASETS, changed)
    if before != replicas:
        scaled_event(picture, name, before, replicas)
    return written


async def clean_up(picture: Picture) -> None:
    """Delete old ReplicaSets beyond the history limit."""
    for rs in cleanable(picture.deployment, picture.old):
        metadata = rs["metadata"]
        picture.emit("deployment.cleanup", replica_set=metadata["name"])
        try:
            await picture.around.client.delete(REPLICASETS, metadata["name"], metadata["namespace"])
        except NotFoundError:
            continue
