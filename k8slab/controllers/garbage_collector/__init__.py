"""The garbage collector: a graph of who owns whom, and the rule that what has lost all its owners is deleted.

    >>> from k8slab.api.scheme import GVK
    >>> from k8slab.controllers.garbage_collector import EventType, GraphBuilder
    >>> graph, owner = GraphBuilder(), {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web", "uid": "u1"}
    >>> pod = {"metadata": {"name": "web-0", "namespace": "default", "uid": "u2", "ownerReferences": [owner]}}
    >>> effects = graph.changed(EventType.ADD, pod, GVK("", "v1", "Pod"))
    >>> [str(identity) for identity in effects.attempt_to_delete]
    ['ReplicaSet default/web']
    >>> effects = graph.virtually_deleted(effects.attempt_to_delete[0])
    >>> [str(identity) for identity in effects.attempt_to_delete]
    ['Pod default/web-0']

The Pod names an owner that nobody has seen: the owner is looked up, and when it is not there the Pod is looked at,
and goes. `decision` says what to do with an item; `GarbageCollectorController` reads and writes.

Upstream: pkg/controller/garbagecollector
Simplified: see `controller`; no debugging endpoint, no metrics.
"""

from k8slab.controllers.garbage_collector.controller import DEFAULT_RESOURCES, GarbageCollectorController
from k8slab.controllers.garbage_collector.decision import (
    DeleteItem,
    Examination,
    OwnerState,
    PatchItem,
    References,
    classify,
    collect,
    examine,
)
from k8slab.controllers.garbage_collector.graph import Node, ObjectReference
from k8slab.controllers.garbage_collector.graph_builder import EventType, GraphBuilder, GraphEffects

__all__ = [
    "DEFAULT_RESOURCES",
    "DeleteItem",
    "EventType",
    "Examination",
    "GarbageCollectorController",
    "GraphBuilder",
    "GraphEffects",
    "Node",
    "ObjectReference",
    "OwnerState",
    "PatchItem",
    "References",
    "classify",
    "collect",
    "examine",
]
