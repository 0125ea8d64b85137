"""The trace kinds of the autoscalers.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

_OBJECT = ("resource", "key")

add_kinds(
    {
        "hpa.recommend": Kind(
            "work",
            2,
            (*_OBJECT, "before", "wanted", "chosen", "metric"),
            "{before}: wants {wanted}",
            "the HPA controller would have {wanted} {wanted:replica|replicas} for {key}, and settles on {chosen}",
        ),
        "hpa.scale": Kind(
            "work",
            1,
            (*_OBJECT, "target", "before", "after", "reason"),
            "{before} → {after}",
            "the HPA controller scales the target of {key} from {before} to {after}",
        ),
        "hpa.error": Kind(
            "work",
            2,
            (*_OBJECT, "error"),
            "no count",
            "the HPA controller cannot finish its round for {key} and tries again a period later",
        ),
        "metrics.scrape": Kind(
            "serve",
            2,
            ("nodes", "pods"),
            "scrape {pods} {pods:Pod|Pods}",
            "the metrics server reads {nodes} {nodes:node|nodes} and finds {pods} {pods:Pod|Pods}",
        ),
    }
)
