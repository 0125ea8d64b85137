"""The trace kinds of Karpenter, in a story and in a cluster.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

add_kinds(
    {
        "karpenter.change": Kind("watch", 1, ("what",), "{what}", "you change the cluster: {what}"),
        "karpenter.decide": Kind(
            "work", 1, ("about", "reason", "why"), "{about}: {reason}", "Karpenter on {about}: {reason}, {why}"
        ),
        "karpenter.look": Kind(
            "wait", 2, ("about", "reason", "why"), "{about}: {reason}", "Karpenter on {about}: {reason}, {why}"
        ),
        "karpenter.node": Kind("state", 2, ("node", "what"), "{node} {what}", "the node {node} {what}"),
        "karpenter.bind": Kind(
            "work", 2, ("pod", "node"), "{pod} -> {node}", "the scheduler places Pod {pod} on {node}"
        ),
        "karpenter.wait": Kind(
            "wait", 2, ("pod", "why"), "no node for {pod}", "the scheduler has no node for Pod {pod}: {why}"
        ),
        "karpenter.evict": Kind("write", 1, ("pod", "node"), "{pod} evicted", "Pod {pod} is evicted from {node}"),
        "karpenter.cloud": Kind("watch", 1, ("node", "what"), "{node} {what}", "the cloud says that {node} {what}"),
        "karpenter.claim": Kind(
            "work",
            1,
            ("resource", "key", "why"),
            "new {key}",
            "Karpenter decides on a new NodeClaim, {key}: {why}",
        ),
        "karpenter.do": Kind(
            "work", 1, ("resource", "key", "reason", "why"), "{key}: {reason}", "Karpenter on {key}: {reason}, {why}"
        ),
        "karpenter.see": Kind(
            "wait", 2, ("resource", "key", "reason", "why"), "{key}: {reason}", "Karpenter on {key}: {reason}, {why}"
        ),
        "karpenter.drain": Kind(
            "work",
            2,
            ("resource", "key", "node"),
            "evict {key}",
            "Karpenter asks for the eviction of {key} from {node}",
        ),
        "karpenter.time": Kind("wait", 2, ("now",), "it is {now}", "time passes: it is {now}"),
    }
)
