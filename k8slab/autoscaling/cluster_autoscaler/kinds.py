"""The trace kinds of the Cluster Autoscaler: what it decides. The writes that carry it out are the API server's rows.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

add_kinds(
    {
        "ca.scale-up": Kind(
            "work",
            1,
            ("group", "before", "after", "pods"),
            "{group}: {before} → {after}",
            "the Cluster Autoscaler grows {group} from {before} to {after} Nodes for {pods} pending {pods:Pod|Pods}",
        ),
        "ca.stuck": Kind(
            "state",
            1,
            ("pods", "why"),
            "no scale-up",
            "{pods} pending {pods:Pod|Pods} would fit on no new Node: {why}",
        ),
        "ca.unneeded": Kind(
            "state",
            1,
            ("resource", "key", "percent"),
            "{key} unneeded",
            "{key} is unneeded: {percent} % of it is requested, and its Pods would fit elsewhere",
        ),
        "ca.needed": Kind("state", 2, ("resource", "key", "why"), "{key} needed", "{key} is needed after all: {why}"),
        "ca.delete": Kind(
            "work",
            1,
            ("resource", "key", "group", "pods"),
            "remove {key}",
            "the Cluster Autoscaler begins to remove {key} of {group}; {pods} {pods:Pod has|Pods have} to move",
        ),
        "ca.evict": Kind("work", 2, ("resource", "key"), "evict {key}", "the Cluster Autoscaler evicts {key}"),
        "ca.deleted": Kind(
            "work", 1, ("resource", "key", "group"), "{key} given back", "the machine of {key} goes back to the cloud"
        ),
        "ca.delete-failed": Kind(
            "state", 1, ("resource", "key", "why"), "{key} stays", "{key} could not be removed: {why}"
        ),
    }
)
