"""The trace kinds of block IPAM: claims, what is assigned from where, conflicts.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

add_kinds(
    {
        "ipam.claim": Kind(
            "work", 1, ("node", "block"), "{node} claims {block}", "{node} claims the block {block} for its Pods"
        ),
        "ipam.lose": Kind(
            "wait",
            1,
            ("node", "block", "owner"),
            "{block} is {owner}'s",
            "{node} wanted the block {block}, and {owner} was first",
        ),
        "ipam.give-up": Kind(
            "work",
            1,
            ("node", "block", "rest"),
            "{node} gives up {block}",
            "{node} gives up the block {block}: {rest}",
        ),
        "ipam.assign": Kind(
            "work",
            1,
            ("node", "block", "addresses", "owner"),
            "{addresses}",
            "{node} takes {addresses} from the block {block}, which is {owner}",
        ),
        "ipam.conflict": Kind(
            "wait",
            2,
            ("node", "block"),
            "{block} has changed",
            "{node} based a write on an old {block}: it reads the block again",
        ),
        "ipam.release": Kind(
            "work",
            1,
            ("node", "block", "count"),
            "{count} back",
            "{count} {count:address|addresses} of {block} came back",
        ),
    }
)
