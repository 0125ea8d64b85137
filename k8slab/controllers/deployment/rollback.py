"""Rollback by annotation: put the template of an old ReplicaSet back into the Deployment.

Upstream: pkg/controller/deployment/rollback.go
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.api.scheme import DEPLOYMENTS
from k8slab.controllers.deployment.new_replica_set import find_revisions
from k8slab.controllers.deployment.picture import Picture
from k8slab.controllers.deployment.revisions import (
    ROLLBACK_TO,
    annotations_of,
    last_revision,
    revision_of,
    rollback_annotations,
    rollback_to,
)
from k8slab.controllers.deployment.template_hash import HASH_LABEL, equal_ignore_hash

__all__ = ["roll_back"]


async def roll_back(picture: Picture) -> None:
    """Carry out the annotation deprecated.deployment.rollback.to and remove it. The rollout that follows is that of
    any change of the template; the old ReplicaSet is found by its template and reused."""
    await find_revisions(picture, create=True)
    revision = rollback_to(picture.deployment) or last_revision(picture.all)
    if revision == 0:
        await _give_up(picture, "DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
        return
    found = next((rs for rs in picture.all if revision_of(rs) == revision), None)
    if found is None:
        await _give_up(picture, "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")
    else:
        await _roll_back_to(picture, found, revision)


async def _roll_back_to(picture: Picture, rs: Object, revision: int) -> None:
    deployment = picture.deployment
    name, template = deployment["metadata"]["name"], rs["spec"]["template"]
    if equal_ignore_hash(template, deployment["spec"]["template"]):
        message = f'The rollback revision contains the same template as current deployment "{name}"'
        await _give_up(picture, "DeploymentRollbackTemplateUnchanged", message)
        return
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    restored = {**template, "metadata": {**metadata, "labels": labels}}
    picture.deployment = {**deployment, "spec": {**deployment["spec"], "template": restored}}
    picture.annotate(rollback_annotations(deployment, rs))
    picture.emit("deployment.rollback", revision=revision)
    await _clear(picture)
    picture.event("Normal", "DeploymentRollback", f'Rolled back deployment "{name}" to revision {revision}')


async def _give_up(picture: Picture, reason: str, message: str) -> None:
    picture.event("Warning", reason, message)
    await _clear(picture)


async def _clear(picture: Picture) -> None:
    """Send the Deployment without the annotation."""
    kept = {key: value for key, value in annotations_of(picture.deployment).items() if key != ROLLBACK_TO}
    picture.annotate(kept)
    await picture.around.client.update(DEPLOYMENTS, picture.deployment)
