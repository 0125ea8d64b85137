"""What a read answers while the group is split in two: a group of three that really is.

Simplified: see `k8slab.raft`; one key, one split, and the clocks of all but one member agree.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from k8slab.drill.answers import choice
from k8slab.drill.exercise import Draft
from k8slab.raft import RaftCluster

__all__ = ["Split", "read_in", "reads"]

NO_ANSWER = "no answer"
_WHO = {
    "old": "the old leader",
    "new": "the new leader",
    "follower": "the member that follows the new leader",
}
_HOW = {
    "serializable": "a serializable read",
    "linearizable": "a linearizable read",
    "lease": "a linearizable read, answered by lease (`ReadOnlyLeaseBased`); the old leader's clock runs at a "
    "tenth of the true rate",
}  # fmt: skip


class Split(NamedTuple):
    """`writes_to`: who is asked for the second write, `old` or `new`. `healed`: before the read the split is over."""

    writes_to: str
    healed: bool
    who: str
    how: str


def read_in(split: Split, first: str, second: str) -> str:
    """What the read answers, of `x=first` before the split and `x=second` during it."""
    raft = RaftCluster(3, seed="drill", trace=False, read_only="lease-based" if split.how == "lease" else "safe")
    raft.run(until=raft.has_leader)
    old = raft.leader
    raft.propose(f"x={first}")
    raft.run(for_ms=300)
    if split.how == "lease":
        raft.skew(old, 10)
    raft.isolate(old)
    raft.run(until=lambda: raft.leader != old and raft.has_leader())
    new = raft.leader
    raft.run(for_ms=200)
    raft.propose(f"x={second}", via=old if split.writes_to == "old" else new)
    raft.run(for_ms=300)
    if split.healed:
        raft.heal()
        raft.run(for_ms=3_000)
    follower = next(id for id in raft.members if id not in (old, new))
    via = {"old": old, "new": new, "follower": follower}[split.who]
    read = raft.read("x", via=via, how="serializable" if split.how == "serializable" else "linearizable")
    raft.run(for_ms=1_000)
    raft.close()
    return str(read.value) if read.state == "answered" else NO_ANSWER


def reads(rng: random.Random) -> Draft:
    """A write, a split, another write, and a read somewhere."""
    split = Split(
        rng.choice(["old", "new", "new"]),
        rng.random() < 0.25,
        rng.choice(["old", "old", "new", "follower"]),
        rng.choice([*_HOW, "serializable", "linearizable"]),
    )
    first, second = map(str, rng.sample(range(1, 100), 2))
    right = read_in(split, first, second)
    late = split.writes_to == "old"
    stale = "The old leader does not know what was written without it; a serializable read asks nobody."
    lease = "By its own slow clock the old leader's lease still runs: a lease is worth what the clocks are."
    lost = "The old leader alone is no majority: its write was never committed, and the next leader overwrites it."
    alone = "A linearizable read waits until a majority says who leads; one member alone waits for ever."
    seen = "Whoever is with the majority sees what was committed."
    if right == NO_ANSWER:
        why = alone
    elif split.who == "old" and not split.healed:
        why = lease if split.how == "lease" else lost if late else stale
    else:
        why = lost if late else seen
    return Draft(
        f"A group of three has written `x={first}`. Then its leader is cut off from both others; they elect another. "
        f"`x={second}` is sent to {_WHO[split.writes_to]}."
        f"{' The split ends, and three seconds pass.' if split.healed else ''} Now comes, at "
        f"{_WHO[split.who]}, {_HOW[split.how]}. What does it answer within a second: `{first}`, `{second}` or "
        f"`{NO_ANSWER}`?",
        choice(
            right,
            (first, second, NO_ANSWER),
            why,
            dict.fromkeys((first, second, NO_ANSWER), why),
            {"none": NO_ANSWER, "nothing": NO_ANSWER},
        ),
        f"{right}. {why}",
    )
