"""The trace kinds of policies: what they do to a request is a detail of its admission.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

add_kinds(
    {
        "policy.violated": Kind(
            "serve",
            2,
            ("policy", "binding", "resource", "key", "actions", "why"),
            "{policy} violated",
            "policy {policy}, bound by {binding}, is violated by {key} ({actions}): {why}",
        ),
        "policy.mutated": Kind(
            "serve",
            2,
            ("policy", "binding", "resource", "key"),
            "{policy} changes {key}",
            "policy {policy}, bound by {binding}, changes {resource} {key}",
        ),
    }
)
