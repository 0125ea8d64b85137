"""The trace kinds of the controllers that keep house: garbage, namespaces, nodes, taints.

Level 1 are the decisions worth telling; in the story of a healthy Deployment none of them occurs.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

_OBJECT = ("resource", "key")

add_kinds(
    {
        "gc.delete": Kind(
            "work",
            1,
            (*_OBJECT, "what", "policy", "why"),
            "collect {key}",
            "the garbage collector deletes {what} {key} ({policy}): {why}",
        ),
        "gc.unown": Kind(
            "work",
            2,
            (*_OBJECT, "what", "count"),
            "cut {count} {count:owner|owners}",
            "the garbage collector cuts {count} owner {count:reference|references} of {what} {key}",
        ),
        "gc.orphan": Kind(
            "work",
            1,
            (*_OBJECT, "what", "count"),
            "orphan {count}",
            "the garbage collector leaves the {count} {count:dependent|dependents} of {what} {key} without an owner",
        ),
        "gc.finalize": Kind(
            "work",
            1,
            (*_OBJECT, "what", "finalizer"),
            "finalize {key}",
            "the garbage collector takes the finalizer {finalizer} off {what} {key}",
        ),
        "gc.absent": Kind(
            "state",
            2,
            (*_OBJECT, "what"),
            "{key} is absent",
            "the garbage collector finds no {what} {key} at the API server",
        ),
        "namespace.empty": Kind(
            "work",
            1,
            (*_OBJECT, "remaining"),
            "empty {key}",
            "the namespace controller deletes what is in {key}; {remaining} {remaining:object remains|objects remain}",
        ),
        "namespace.finalize": Kind(
            "work",
            1,
            _OBJECT,
            "finalize {key}",
            "the namespace controller finds {key} empty and takes its finalizer off",
        ),
        "node.unknown": Kind(
            "state",
            1,
            (*_OBJECT, "silent_ms"),
            "{key}: Ready Unknown",
            "the node lifecycle controller heard nothing from {key} for {silent_ms} ms and marks it Unknown",
        ),
        "node.taint": Kind(
            "work",
            1,
            (*_OBJECT, "change"),
            "taint {key}",
            "the node lifecycle controller changes the taints of {key}: {change}",
        ),
        "node.pod-not-ready": Kind(
            "work",
            1,
            (*_OBJECT, "node"),
            "{key} not ready",
            "the node lifecycle controller marks Pod {key} not ready, because {node} is not",
        ),
        "node.zone": Kind(
            "state",
            2,
            ("zone", "before", "after"),
            "zone {after}",
            "the node lifecycle controller sees zone {zone} go from {before} to {after}",
        ),
        "taint.evict": Kind(
            "work",
            1,
            (*_OBJECT, "node"),
            "evict {key}",
            "the taint eviction controller deletes Pod {key}: it does not tolerate {node} any longer",
        ),
        "taint.schedule": Kind(
            "wait",
            2,
            (*_OBJECT, "node", "delay_ms"),
            "evict in {delay_ms} ms",
            "the taint eviction controller will delete Pod {key} on {node} in {delay_ms} ms",
        ),
        "taint.cancel": Kind(
            "work",
            1,
            _OBJECT,
            "keep {key}",
            "the taint eviction controller cancels the deletion of Pod {key}",
        ),
        "podgc.delete": Kind(
            "work",
            1,
            (*_OBJECT, "why"),
            "force delete {key}",
            "the Pod garbage collector deletes Pod {key} at once: {why}",
        ),
        "nodeipam.assign": Kind(
            "work",
            1,
            (*_OBJECT, "cidrs"),
            "{key} gets {cidrs}",
            "the node IPAM controller gives Node {key} the Pod range {cidrs}",
        ),
        "nodeipam.release": Kind(
            "work",
            2,
            (*_OBJECT, "cidrs"),
            "{cidrs} is free",
            "the node IPAM controller takes {cidrs} back from Node {key}",
        ),
        "nodeipam.refuse": Kind(
            "wait",
            2,
            (*_OBJECT, "why"),
            "leaves {key} alone",
            "the node IPAM controller cannot keep what Node {key} has: {why}",
        ),
    }
)
