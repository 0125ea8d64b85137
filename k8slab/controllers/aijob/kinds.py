"""The trace kinds of the AIJob operator.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

add_kinds(
    {
        "aijob.worker": Kind(
            "work",
            1,
            ("resource", "key", "pod"),
            "new {pod}",
            "the AIJob operator creates worker {pod} for {key}",
        ),
        "aijob.predict": Kind(
            "work",
            1,
            ("resource", "key", "signature", "seconds"),
            "{key}: {seconds} s",
            "the AIJob operator predicts that {key} ({signature}) runs for {seconds} s",
        ),
    }
)
