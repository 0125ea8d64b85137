"""One sync of one Deployment: look, decide, write, report.

Upstream: pkg/controller/deployment/deployment_controller.go (syncDeployment), rolling.go (rolloutRolling)
"""

from __future__ import annotations

from k8slab.api.errors import StatusError
from k8slab.controllers.deployment.fenceposts import fenceposts_of, is_rolling_update
from k8slab.controllers.deployment.new_replica_set import find_revisions
from k8slab.controllers.deployment.picture import Picture
from k8slab.controllers.deployment.recreate import recreate
from k8slab.controllers.deployment.replica_sets import is_scaling_event, rollout_size, size_of
from k8slab.controllers.deployment.revisions import rollback_to
from k8slab.controllers.deployment.rollback import roll_back
from k8slab.controllers.deployment.rolling import old_replica_set_sizes
from k8slab.controllers.deployment.scaling import clean_up, scale, scale_and_report, write_size

__all__ = ["sync_deployment"]


async def sync_deployment(picture: Picture) -> None:
    """Bring the Deployment one step further."""
    if picture.deployment["metadata"].get("deletionTimestamp") is not None:
        await find_revisions(picture, create=False)
        await picture.report()
        return
    await picture.check_paused()
    if picture.deployment["spec"].get("paused"):
        await scale_and_report(picture)
        return
    if rollback_to(picture.deployment) is not None:
        await roll_back(picture)
        return
    await find_revisions(picture, create=False)
    if is_scaling_event(picture.deployment, picture.all):
        await scale_and_report(picture)
    elif is_rolling_update(picture.deployment):
        await _roll_out(picture)
    else:
        await recreate(picture)


async def _roll_out(picture: Picture) -> None:
    """Grow the new ReplicaSet if that is possible, else shrink the old ones; never both in one sync."""
    await find_revisions(picture, create=True)
    moved = await _grow_new(picture) or await _shrink_old(picture)
    if not moved and picture.is_complete:
        await clean_up(picture)
    await picture.report_rollout()


async def _grow_new(picture: Picture) -> bool:
    assert picture.new is not None, "the new ReplicaSet exists or was created"
    size = rollout_size(picture.deployment, [size_of(rs) for rs in picture.all], size_of(picture.new))
    return await scale(picture, picture.new, size)


async def _shrink_old(picture: Picture) -> bool:
    assert picture.new is not None, "the new ReplicaSet exists or was created"
    unavailable = fenceposts_of(picture.deployment).unavailable
    desired = picture.deployment["spec"]["replicas"]
    old = [size_of(rs) for rs in picture.old]
    resizes, scaled = old_replica_set_sizes(desired, unavailable, old, size_of(picture.new))
    current = {rs["metadata"]["name"]: rs for rs in picture.old}
    try:
        for name, replicas in resizes:
            current[name] = await write_size(picture, current[name], replicas)
    except (StatusError, TimeoutError):
        return False  # upstream swallows this error: the status is written and the next sync tries again
    return scaled
