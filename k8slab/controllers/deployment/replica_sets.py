"""The ReplicaSets of a Deployment: which is the new one, how to make it, how to write a new size.

Upstream: pkg/controller/deployment/sync.go (getNewReplicaSet, scaleReplicaSet),
pkg/controller/deployment/util/deployment_util.go (FindNewReplicaSet, FindOldReplicaSets)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import GVK
from k8slab.api.times import parse_time
from k8slab.controllers.controller_ref import new_controller_ref
from k8slab.controllers.deployment.fenceposts import fenceposts_of, is_rolling_update
from k8slab.controllers.deployment.revisions import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    annotations_of,
    int_annotation,
    replica_annotations,
    synced_annotations,
)
from k8slab.controllers.deployment.rolling import new_replica_set_size
from k8slab.controllers.deployment.sizes import Size
from k8slab.controllers.deployment.template_hash import HASH_LABEL, equal_ignore_hash, pod_template_hash

__all__ = [
    "DEPLOYMENT",
    "cleanable",
    "find_new_replica_set",
    "is_saturated",
    "is_scaling_event",
    "new_replica_set",
    "replicas_of",
    "resized",
    "rollout_size",
    "size_of",
]

DEPLOYMENT = GVK("apps", "v1", "Deployment")


def replicas_of(replica_set: Object) -> int:
    replicas: int = replica_set["spec"]["replicas"]
    return replicas


def size_of(replica_set: Object) -> Size:
    """The numbers of a ReplicaSet object. One without creation time is about to be created: the newest."""
    metadata = replica_set["metadata"]
    created = metadata.get("creationTimestamp")
    return Size(
        name=metadata["name"],
        replicas=replicas_of(replica_set),
        available=(replica_set.get("status") or {}).get("availableReplicas") or 0,
        created=parse_time(created) if created else 2**63,
        max_replicas=int_annotation(replica_set, MAX_REPLICAS),
    )


def find_new_replica_set(deployment: Object, replica_sets: Sequence[Object]) -> Object | None:
    """The ReplicaSet with the Deployment's template; of several the oldest."""
    template = deployment["spec"]["template"]
    found = [rs for rs in replica_sets if equal_ignore_hash(rs["spec"]["template"], template)]
    return min(
        found, key=lambda rs: (rs["metadata"].get("creationTimestamp") or "", rs["metadata"]["name"]), default=None
    )


def rollout_size(deployment: Object, sets: Sequence[Size], new: Size) -> int:
    """The size the new ReplicaSet should have now under the Deployment's strategy (NewRSNewReplicas)."""
    desired: int = deployment["spec"]["replicas"]
    if not is_rolling_update(deployment):
        return desired
    return new_replica_set_size(desired, fenceposts_of(deployment).surge, sets, new)


def _with_label(labels: Mapping[str, str] | None, value: str) -> dict[str, str]:
    return {**(labels or {}), HASH_LABEL: value}


def new_replica_set(deployment: Object, old: Sequence[Object], revision: int) -> dict[str, Any]:
    """The ReplicaSet to create for the current template. Its name is the Deployment's and the template hash, so
    that two creations of the same one collide instead of making two."""
    spec = deployment["spec"]
    template = spec["template"]
    value = pod_template_hash(template, (deployment.get("status") or {}).get("collisionCount"))
    labels = _with_label((template.get("metadata") or {}).get("labels"), value)
    selector = spec["selector"]
    made: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment['metadata']['name']}-{value}",
            "namespace": deployment["metadata"].get("namespace") or "",
            "labels": labels,
            "ownerReferences": [new_controller_ref(deployment, DEPLOYMENT)],
        },
        "spec": {
            "replicas": 0,
            "selector": {**selector, "matchLabels": _with_label(selector.get("matchLabels"), value)},
            "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
        },
    }
    if spec.get("minReadySeconds"):
        made["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    size = size_of(made)
    made["spec"]["replicas"] = rollout_size(deployment, [*map(size_of, old), size], size)
    made["metadata"]["annotations"] = synced_annotations(deployment, made, revision) | replica_annotations(deployment)
    return made


def resized(deployment: Object, replica_set: Object, replicas: int) -> dict[str, Any] | None:
    """The ReplicaSet to write so that it has `replicas` and remembers the Deployment's size; None: nothing to do."""
    remembered = replica_annotations(deployment)
    before = annotations_of(replica_set)
    if replicas_of(replica_set) == replicas and all(before.get(key) == text for key, text in remembered.items()):
        return None
    return {
        **replica_set,
        "metadata": {**replica_set["metadata"], "annotations": {**before, **remembered}},
        "spec": {**replica_set["spec"], "replicas": replicas},
    }


def is_saturated(deployment: Object, replica_set: Object | None) -> bool:
    """The new ReplicaSet holds all desired replicas, available, and knows that these are all."""
    if replica_set is None:
        return False
    desired = deployment["spec"]["replicas"]
    available = (replica_set.get("status") or {}).get("availableReplicas") or 0
    return [replicas_of(replica_set), int_annotation(replica_set, DESIRED_REPLICAS), available] == [desired] * 3


def is_scaling_event(deployment: Object, replica_sets: Sequence[Object]) -> bool:
    """An active ReplicaSet remembers another size of the Deployment: scale first, then go on rolling out."""
    remembered = [int_annotation(rs, DESIRED_REPLICAS) for rs in replica_sets if replicas_of(rs) > 0]
    return any(desired is not None and desired != deployment["spec"]["replicas"] for desired in remembered)


def cleanable(deployment: Object, old: Sequence[Object]) -> list[Object]:
    """The old ReplicaSets to delete under revisionHistoryLimit: the lowest revisions, unless still in use."""
    limit = deployment["spec"].get("revisionHistoryLimit")
    if limit is None or limit == 2**31 - 1:
        return []
    alive = [rs for rs in old if rs["metadata"].get("deletionTimestamp") is None]
    surplus = len(alive) - limit
    if surplus <= 0:
        return []
    return [rs for rs in sorted(alive, key=_by_revision)[:surplus] if _is_unused(rs)]


def _by_revision(replica_set: Object) -> tuple[int, str, str]:
    metadata = replica_set["metadata"]
    revision = int_annotation(replica_set, "deployment.kubernetes.io/revision") or 0
    return revision, metadata.get("creationTimestamp") or "", metadata["name"]


def _is_unused(replica_set: Object) -> bool:
    status, metadata = replica_set.get("status") or {}, replica_set["metadata"]
    seen = metadata.get("generation", 0) <= status.get("observedGeneration", 0)
    return not status.get("replicas") and replicas_of(replica_set) == 0 and seen
