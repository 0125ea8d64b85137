"""Revisions: annotations that say which rollout a ReplicaSet belongs to, and which it served before.

Upstream: pkg/controller/deployment/util/deployment_util.go (SetNewReplicaSetAnnotations, MaxRevision, LastRevision,
SetDeploymentAnnotationsTo), pkg/controller/deployment/rollback.go (getRollbackTo)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from k8slab.api.labels import parse_int64
from k8slab.api.objects import Object
from k8slab.controllers.deployment.fenceposts import fenceposts_of

__all__ = [
    "DESIRED_REPLICAS",
    "MAX_REPLICAS",
    "REVISION",
    "REVISION_HISTORY",
    "ROLLBACK_TO",
    "annotations_of",
    "int_annotation",
    "last_revision",
    "max_revision",
    "replica_annotations",
    "revision_of",
    "rollback_annotations",
    "rollback_to",
    "synced_annotations",
]

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
MAX_HISTORY_CHARACTERS = 2000

_NOT_COPIED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    ROLLBACK_TO,
)


def annotations_of(obj: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = obj["metadata"].get("annotations") or {}
    return found


def int_annotation(obj: Object, key: str) -> int | None:
    """The annotation as a number; None where it is missing or none."""
    text = annotations_of(obj).get(key)
    return None if text is None else parse_int64(text)


def revision_of(replica_set: Object) -> int | None:
    """0 without the annotation, None when it is no number."""
    return 0 if REVISION not in annotations_of(replica_set) else int_annotation(replica_set, REVISION)


def max_revision(replica_sets: Iterable[Object]) -> int:
    return max((revision_of(rs) or 0 for rs in replica_sets), default=0)


def last_revision(replica_sets: Iterable[Object]) -> int:
    """The second highest revision, 0 if there is none: where a plain `rollout undo` goes."""
    revisions = sorted((revision for rs in replica_sets if (revision := revision_of(rs)) is not None), reverse=True)
    return max(0, revisions[1]) if len(revisions) > 1 else 0


def rollback_to(deployment: Object) -> int | None:
    """The revision the annotation deprecated.deployment.rollback.to asks for (0: the last one), else None."""
    return int_annotation(deployment, ROLLBACK_TO)


def replica_annotations(deployment: Object) -> dict[str, str]:
    """What every ReplicaSet of the Deployment remembers of its size: it tells scaling from rolling out."""
    desired = deployment["spec"]["replicas"]
    return {DESIRED_REPLICAS: str(desired), MAX_REPLICAS: str(desired + fenceposts_of(deployment).surge)}


def _with_revision(history: str, revision: str) -> str | None:
    """`history` with `revision` at its end, oldest entries dropped beyond 2,000 characters; None: no room at all."""
    if not history:
        return revision
    kept = history.split(",")
    length = len(history) + len(revision) + 1
    while length > MAX_HISTORY_CHARACTERS and kept:
        length -= len(kept.pop(0)) + 1
    return ",".join([*kept, revision]) if length <= MAX_HISTORY_CHARACTERS else None


def synced_annotations(deployment: Object, replica_set: Object, revision: int) -> dict[str, str]:
    """The annotations the new ReplicaSet should have: the Deployment's own, and the revision if that is higher.

    A ReplicaSet that had an older revision is being rolled back to: its old number goes into the history.
    The caller compares with what is there, and adds `replica_annotations` to one it is about to create.
    """
    before = annotations_of(replica_set)
    after = dict(before)
    after.update({key: value for key, value in annotations_of(deployment).items() if key not in _NOT_COPIED})
    old_text = before.get(REVISION, "")
    old = parse_int64(old_text) if old_text else 0
    if old is None:
        return dict(before)  # somebody wrote a revision that is no number: upstream leaves such a ReplicaSet alone
    if old >= revision:
        return after
    after[REVISION] = str(revision)
    if REVISION in before:
        history = _with_revision(before.get(REVISION_HISTORY, ""), old_text)
        if history is not None:
            after[REVISION_HISTORY] = history
    return after


def rollback_annotations(deployment: Object, replica_set: Object) -> dict[str, Any]:
    """The Deployment's annotations after a rollback to `replica_set`: the ReplicaSet's own replace the copied ones."""
    kept = {key: value for key, value in annotations_of(deployment).items() if key in _NOT_COPIED}
    return kept | {key: value for key, value in annotations_of(replica_set).items() if key not in _NOT_COPIED}
