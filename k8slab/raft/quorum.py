"""Majorities: which index is committed, and how a vote stands.

>>> committed_index((1, 2, 3), {1: 12, 2: 5, 3: 6}.get)
6
>>> vote_result((1, 2, 3), {1: True, 2: False})
'VotePending'

Upstream: go.etcd.io/raft/v3 quorum/majority.go, joint.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from k8slab.raft.messages import NO_LIMIT

__all__ = ["VoteResult", "committed_index", "joint_committed_index", "joint_vote_result", "quorum_size", "vote_result"]

VoteResult: TypeAlias = Literal["VotePending", "VoteLost", "VoteWon"]


def quorum_size(voters: int) -> int:
    """How many of so many voters are a majority.

    >>> [quorum_size(n) for n in (1, 2, 3, 4, 5)]
    [1, 2, 2, 3, 3]
    """
    return voters // 2 + 1


def committed_index(voters: Sequence[int], acked: Callable[[int], int | None]) -> int:
    """The highest index that a majority has. Nobody to ask commits everything, which is what a joint half needs."""
    if not voters:
        return NO_LIMIT
    indexes = sorted([acked(voter) or 0 for voter in voters], reverse=True)
    return indexes[len(voters) // 2]


def vote_result(voters: Sequence[int], votes: Mapping[int, bool]) -> VoteResult:
    """Won with a majority of yes, lost when that can no longer come. An empty electorate has voted yes."""
    if not voters:
        return "VoteWon"
    needed = quorum_size(len(voters))
    yes = sum(votes.get(voter) is True for voter in voters)
    if yes >= needed:
        return "VoteWon"
    missing = sum(voter not in votes for voter in voters)
    return "VotePending" if yes + missing >= needed else "VoteLost"


def joint_committed_index(incoming: Sequence[int], outgoing: Sequence[int], acked: Callable[[int], int | None]) -> int:
    """Committed is what both majorities have (an empty half agrees with everything)."""
    return min(committed_index(incoming, acked), committed_index(outgoing, acked))


def joint_vote_result(incoming: Sequence[int], outgoing: Sequence[int], votes: Mapping[int, bool]) -> VoteResult:
    """Won when both halves are won, lost when either is."""
    results = vote_result(incoming, votes), vote_result(outgoing, votes)
    if "VoteLost" in results:
        return "VoteLost"
    return "VotePending" if "VotePending" in results else "VoteWon"
