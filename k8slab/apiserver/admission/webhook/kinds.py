"""The trace kinds of webhooks: failures are part of the main story, calls and answers are details.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

_ABOUT = ("webhook", "phase", "resource", "key")

add_kinds(
    {
        "webhook.call": Kind(
            "request", 2, _ABOUT, "asks {webhook}", "the API server asks the {phase} webhook {webhook} about {key}"
        ),
        "webhook.answer": Kind(
            "serve",
            2,
            (*_ABOUT, "says", "ms"),
            "{webhook}: {says}",
            "webhook {webhook} says {says} to {key} after {ms} ms",
        ),
        "webhook.failed": Kind(
            "wait", 1, (*_ABOUT, "ends", "why"), "{webhook} fails", "webhook {webhook} fails, the request {ends}: {why}"
        ),
    }
)
