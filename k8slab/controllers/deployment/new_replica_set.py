"""Finding the new ReplicaSet, giving it the highest revision, creating it where it is missing.

Upstream: pkg/controller/deployment/sync.go (getAllReplicaSetsAndSyncRevision, getNewReplicaSet)
"""

from __future__ import annotations

from k8slab.api.errors import AlreadyExistsError, NotFoundError, StatusError
from k8slab.api.objects import Object, key_of
from k8slab.api.scheme import REPLICASETS
from k8slab.controllers.controller_ref import is_controlled_by
from k8slab.controllers.deployment.picture import Picture
from k8slab.controllers.deployment.replica_sets import find_new_replica_set, new_replica_set
from k8slab.controllers.deployment.revisions import REVISION, annotations_of, max_revision, synced_annotations
from k8slab.controllers.deployment.status import condition_of, has_progress_deadline
from k8slab.controllers.deployment.template_hash import equal_ignore_hash
from k8slab.controllers.status_cause import has_namespace_terminating_cause

__all__ = ["find_revisions", "scaled_event"]


async def find_revisions(picture: Picture, *, create: bool) -> None:
    """Set `new` and `old`, with the new one's revision above all others; make it if asked to and missing."""
    existing = find_new_replica_set(picture.deployment, picture.replica_sets)
    uid = existing["metadata"]["uid"] if existing is not None else None
    picture.old = [rs for rs in picture.replica_sets if rs["metadata"]["uid"] != uid]
    picture.new = None
    revision = max_revision(picture.old) + 1
    if existing is not None:
        picture.new = await _sync_existing(picture, existing, revision)
    elif create:
        picture.new = await _create(picture, revision)


async def _sync_existing(picture: Picture, rs: Object, revision: int) -> Object:
    name = rs["metadata"]["name"]
    annotations = synced_annotations(picture.deployment, rs, revision)
    ready_seconds = picture.deployment["spec"].get("minReadySeconds") or 0
    if annotations != annotations_of(rs) or (rs["spec"].get("minReadySeconds") or 0) != ready_seconds:
        if annotations.get(REVISION) != annotations_of(rs).get(REVISION):
            picture.emit("deployment.adopt", replica_set=name, revision=revision)
        metadata = {**rs["metadata"], "annotations": annotations}
        spec = {**rs["spec"], "minReadySeconds": ready_seconds}
        return await picture.around.client.update(REPLICASETS, {**rs, "metadata": metadata, "spec": spec})
    changed = picture.set_revision(annotations_of(rs).get(REVISION, ""))
    if has_progress_deadline(picture.deployment) and condition_of(picture.status, "Progressing") is None:
        picture.set_progressing("True", "FoundNewReplicaSet", f'Found new replica set "{name}"')
        changed = True
    if changed:
        await picture.update_status()
    return rs


async def _create(picture: Picture, revision: int) -> Object:
    made = new_replica_set(picture.deployment, picture.old, revision)
    name, replicas = made["metadata"]["name"], made["spec"]["replicas"]
    picture.emit("deployment.create", replica_set=name, replicas=replicas)
    try:
        created = await picture.around.client.create(REPLICASETS, made)
    except AlreadyExistsError as error:
        created = await _existing_or_collision(picture, made, error)
        if picture.set_revision(str(revision)):
            await picture.update_status()
        return created
    except (StatusError, TimeoutError) as error:
        await _report_failed_create(picture, name, error)
        raise
    if replicas > 0:
        scaled_event(picture, name, 0, replicas)
    changed = picture.set_revision(str(revision))
    if has_progress_deadline(picture.deployment):
        picture.set_progressing("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
        changed = True
    if changed:
        await picture.update_status()
    return created


async def _existing_or_collision(picture: Picture, made: Object, error: AlreadyExistsError) -> Object:
    """The ReplicaSet of this name if it is ours with our template (the cache was behind); otherwise two templates have
    one hash: count that, so that the next sync makes another name, and raise."""
    existing = picture.around.replica_set(key_of(made))
    if existing is None:
        raise NotFoundError.of("replicasets", made["metadata"]["name"], "apps")
    same = equal_ignore_hash(existing["spec"]["template"], picture.deployment["spec"]["template"])
    if is_controlled_by(existing, picture.deployment) and same:
        return existing
    count = (picture.status.get("collisionCount") or 0) + 1
    picture.emit("deployment.collision", replica_set=made["metadata"]["name"], count=count)
    picture.set_status({**picture.status, "collisionCount": count})
    await _try_to_update_status(picture)
    raise error


async def _report_failed_create(picture: Picture, name: str, error: StatusError | TimeoutError) -> None:
    if has_namespace_terminating_cause(error):
        return
    message = f'Failed to create new replica set "{name}": {error}'
    if has_progress_deadline(picture.deployment):
        picture.set_progressing("False", "ReplicaSetCreateError", message)
        await _try_to_update_status(picture)
    picture.event("Warning", "ReplicaSetCreateError", message)


async def _try_to_update_status(picture: Picture) -> None:
    """There is a bigger failure to report than that this could not be written."""
    try:
        await picture.update_status()
    except (StatusError, TimeoutError):
        return


def scaled_event(picture: Picture, name: str, before: int, after: int) -> None:
    direction = "up" if after > before else "down"
    message = f"Scaled {direction} replica set {name} from {before} to {after}"
    picture.event("Normal", "ScalingReplicaSet", message)
