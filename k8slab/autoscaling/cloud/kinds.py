"""The trace kinds of the cloud: machines that come, and go.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

add_kinds(
    {
        "cloud.launch": Kind(
            "work", 2, ("instance", "type", "zone", "how"), "{type} bought", "the cloud sells a {type} in {zone}, {how}"
        ),
        "cloud.boot": Kind(
            "state", 1, ("instance", "type", "node"), "{node} boots", "the machine of {node}, a {type}, has booted"
        ),
        "cloud.notice": Kind(
            "state",
            1,
            ("instance", "node", "seconds"),
            "{node} taken back",
            "the cloud will take the spot machine of {node} back in {seconds} s",
        ),
        "cloud.gone": Kind(
            "state", 1, ("instance", "node", "why"), "{node} off", "the machine of {node} is switched off ({why})"
        ),
    }
)
