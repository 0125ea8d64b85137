"""The trace kinds of the workload controllers: their decisions.

Level 1 are the decisions that a rollout is told by; the writes that carry them out are the API server's rows.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

_OBJECT = ("resource", "key")

add_kinds(
    {
        "deployment.create": Kind(
            "work",
            1,
            (*_OBJECT, "replica_set", "replicas"),
            "new {replica_set}",
            "the Deployment controller creates ReplicaSet {replica_set} with {replicas} {replicas:replica|replicas} "
            "for {key}",
        ),
        "deployment.scale": Kind(
            "work",
            1,
            (*_OBJECT, "replica_set", "before", "after"),
            "{replica_set}: {before} → {after}",
            "the Deployment controller scales {replica_set} from {before} to {after}",
        ),
        "deployment.adopt": Kind(
            "work",
            1,
            (*_OBJECT, "replica_set", "revision"),
            "reuse {replica_set}",
            "the Deployment controller takes {replica_set} as revision {revision} of {key}",
        ),
        "deployment.rollback": Kind(
            "work",
            1,
            (*_OBJECT, "revision"),
            "roll back to {revision}",
            "the Deployment controller rolls {key} back to revision {revision}",
        ),
        "deployment.cleanup": Kind(
            "work",
            2,
            (*_OBJECT, "replica_set"),
            "forget {replica_set}",
            "the Deployment controller deletes {replica_set}: beyond the history limit of {key}",
        ),
        "deployment.collision": Kind(
            "work",
            1,
            (*_OBJECT, "replica_set", "count"),
            "hash collision",
            "the Deployment controller finds {replica_set} taken by another template and counts {count} "
            "{count:collision|collisions}",
        ),
        "deployment.status": Kind(
            "state",
            2,
            (*_OBJECT, "ready", "desired"),
            "{ready} of {desired} ready",
            "the Deployment controller reports {ready} of {desired} {desired:replica|replicas} of {key} ready",
        ),
        "replicaset.create": Kind(
            "work",
            1,
            (*_OBJECT, "have", "want", "count"),
            "create {count} {count:Pod|Pods}",
            "the ReplicaSet controller sees {have} of {want} {want:Pod|Pods} of {key} and creates {count}",
        ),
        "replicaset.delete": Kind(
            "work",
            1,
            (*_OBJECT, "have", "want", "count"),
            "delete {count} {count:Pod|Pods}",
            "the ReplicaSet controller sees {have} {have:Pod|Pods} of {key}, wants {want} and deletes {count}",
        ),
        "replicaset.wait": Kind(
            "wait",
            2,
            (*_OBJECT, "why"),
            "waits",
            "the ReplicaSet controller leaves {key} alone: {why}",
        ),
        "replicaset.status": Kind(
            "state",
            2,
            (*_OBJECT, "ready", "replicas"),
            "{ready} of {replicas} ready",
            "the ReplicaSet controller reports {ready} of {replicas} {replicas:Pod|Pods} of {key} ready",
        ),
        "endpointslice.write": Kind(
            "work",
            2,
            (*_OBJECT, "verb", "slice", "endpoints"),
            "{verb} slice: {endpoints}",
            "the EndpointSlice controller writes ({verb}) {slice}: {endpoints} {endpoints:endpoint|endpoints} "
            "of Service {key}",
        ),
    }
)
